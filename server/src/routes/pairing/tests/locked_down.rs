use super::harness::{code_of, works, world};

#[tokio::test]
async fn a_lock_down_ends_a_pairing_that_is_just_being_committed() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let token = exchanged.token.expose();
    let held = world.access.store.hold_writes();
    let lock_down = async {
        while world.access.commits.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        crate::lockdown::end_all(&world.access);
        drop(held);
    };
    let (committed, ()) = tokio::join!(world.commit(phone.id(), token), lock_down);
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
