use super::harness::{World, code_of, works, world};

/// A lock-down as it comes while a commit waits for the store, which goes on only after.
async fn lock_down_during_the_commit(world: &World, held: std::sync::mpsc::Sender<()>) {
    during_the_commit(world, held, || drop(crate::lockdown::end_all(&world.access))).await;
}

async fn during_the_commit(world: &World, held: std::sync::mpsc::Sender<()>, act: impl FnOnce()) {
    while world.access.commits.try_lock().is_ok() {
        tokio::task::yield_now().await;
    }
    act();
    drop(held);
}

#[tokio::test]
async fn another_identity_key_ends_a_pairing_that_is_just_being_committed() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let token = exchanged.token.expose();
    let held = world.access.store.hold_writes();
    let pin = format!("sha256/{}", "A".repeat(43)).parse().unwrap();
    let (committed, ()) = tokio::join!(
        world.commit(phone.id(), token),
        during_the_commit(&world, held, || world.access.rotate_pin(pin))
    );
    assert_eq!(code_of(committed), "unknown_token");
    assert_eq!(works(&world, token).unwrap_err(), pairing::AuthError::Revoked);
    let world = world.restarted();
    assert_eq!(works(&world, token).unwrap_err(), pairing::AuthError::Revoked);
}

#[tokio::test]
async fn a_lock_down_ends_a_pairing_that_is_just_being_committed() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let token = exchanged.token.expose();
    let held = world.access.store.hold_writes();
    let (committed, ()) = tokio::join!(
        world.commit(phone.id(), token),
        lock_down_during_the_commit(&world, held)
    );
    assert_eq!(code_of(committed), "locked_down");
    assert_eq!(works(&world, token).unwrap_err(), pairing::AuthError::Revoked);
    assert_eq!(code_of(world.commit(phone.id(), token).await), "revoked");
    let said = world.actions().await;
    assert!(
        said.ends_with(&["pairing_committed".to_owned(), "device_revoked".to_owned()]),
        "{said:?}"
    );
    let world = world.restarted();
    assert_eq!(works(&world, token).unwrap_err(), pairing::AuthError::Revoked);
}

#[tokio::test]
async fn a_commit_that_failed_while_it_was_locked_down_is_not_tried_again() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let token = exchanged.token.expose();
    world.access.store.break_writes().await;
    let held = world.access.store.hold_writes();
    let (committed, ()) = tokio::join!(
        world.commit(phone.id(), token),
        lock_down_during_the_commit(&world, held)
    );
    assert_eq!(code_of(committed), "store_failed");
    world.access.store.mend_writes().await;
    assert_eq!(code_of(world.commit(phone.id(), token).await), "locked_down");
    world.lifted();
    assert_eq!(code_of(world.commit(phone.id(), token).await), "unknown_token");
    assert_eq!(code_of(phone.exchange(&world).await), "locked_down");
    assert!(works(&world, token).is_err());
}

#[tokio::test]
async fn nothing_that_waited_goes_on_during_a_lock_down_or_after_it() {
    let world = world();
    let (approved, exchanged) = (world.approved().await, world.approved_as(2).await);
    let token = exchanged.exchange(&world).await.unwrap().token;
    crate::lockdown::end_all(&world.access);
    for _ in 0..2 {
        assert_eq!(code_of(approved.exchange(&world).await), "locked_down");
        assert!(world.commit(exchanged.id(), token.expose()).await.is_err());
        world.lifted();
    }
    assert_eq!(world.access.device_count(), 0);
}
