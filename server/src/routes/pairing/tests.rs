mod any_order;
mod harness;
mod held_back;
mod locked_down;

use std::{future::pending, task::Poll, time::Duration};

use http::StatusCode;
use pairing::{DeviceId, OfferId, PollStatus, Principal, RequestSecret, Role};
use protocol::{WireSecret, pairing as wire};

use self::harness::{Bytes64Text, Phone, code_of, fragment, local, works, world, world_with};
use super::{poll, withdraw_offer};
use crate::{clock, extract};

#[tokio::test]
async fn an_offer_makes_a_device_with_its_terms_and_both_screens_show_one_code() {
    let world = world();
    let terms = wire::NewOffer {
        role: Some(Role::Operator),
        label: Some("my phone".to_owned()),
        ..Default::default()
    };
    let made = world.offer(terms).await.unwrap();
    let (proof, pin) = fragment(&made);
    assert_eq!(pin, world.access.pin().to_string());
    let phone = world.revealed(Some(proof)).await;
    let shown = &world.requests().await[0];
    assert_eq!(shown.code.as_deref(), Some(phone.code(&pin).as_str()));
    assert_eq!(
        (shown.peer.as_str(), shown.offer_id),
        ("192.0.2.1", Some(made.id))
    );
    world.approve(phone.id(), wire::Approve::default()).await.unwrap();
    let exchanged = phone.exchange(&world).await.unwrap();
    assert_eq!(
        world.commit(phone.id(), exchanged.token.expose()).await.unwrap(),
        StatusCode::NO_CONTENT
    );
    let devices = world.access.devices();
    let device = devices.get(exchanged.device_id).unwrap();
    assert_eq!(
        (device.label.as_str(), device.role, device.can_revoke),
        ("my phone", Role::Operator, false)
    );
}

#[tokio::test]
async fn each_step_leaves_its_row() {
    let world = world();
    let (proof, _) = fragment(&world.offer(wire::NewOffer::default()).await.unwrap());
    let phone = world.revealed(Some(proof)).await;
    phone.reveal(&world).await.unwrap();
    let yes = || {
        world.approve(
            phone.id(),
            wire::Approve {
                role: Some(Role::Operator),
                ..Default::default()
            },
        )
    };
    assert_eq!(yes().await.unwrap().device_id, yes().await.unwrap().device_id);
    let exchanged = phone.exchange(&world).await.unwrap();
    world.commit(phone.id(), exchanged.token.expose()).await.unwrap();
    let expected = [
        "offer_made",
        "pairing_requested",
        "pairing_revealed",
        "pairing_approved",
        "pairing_exchanged",
        "pairing_committed",
    ];
    assert_eq!(world.actions().await, expected);
    let rows = world.access.store.audit_rows(100).await.unwrap();
    assert_eq!(
        rows[3].detail.as_deref(),
        Some("role operator, can_revoke false, any_path false")
    );
    assert_eq!(
        (rows[3].principal.as_str(), rows[4].principal.as_str()),
        ("owner", "nobody")
    );
    assert_eq!(rows[5].target, exchanged.device_id.to_string());
}

#[tokio::test]
async fn no_secret_reaches_the_store() {
    let world = world();
    let made = world.offer(wire::NewOffer::default()).await.unwrap();
    let (proof, _) = fragment(&made);
    let offer_secret = proof.secret.clone();
    let phone = world.revealed(Some(proof)).await;
    world.approve(phone.id(), wire::Approve::default()).await.unwrap();
    let token = phone.exchange(&world).await.unwrap().token;
    world.commit(phone.id(), token.expose()).await.unwrap();
    let raw = pairing::DeviceToken::parse(token.expose()).unwrap();
    assert_eq!(format!("{raw:?}").matches("redacted").count(), 1);
    for name in ["transom.db", "transom.db-wal"] {
        let bytes = std::fs::read(world.home.path().join(name)).unwrap();
        for secret in [offer_secret.expose(), phone.secret(), token.expose()] {
            assert!(
                !bytes
                    .windows(secret.len())
                    .any(|window| window == secret.as_bytes()),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn nothing_is_stored_or_usable_before_the_commit() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    assert!(works(&world, exchanged.token.expose()).is_err());
    assert_eq!(world.restarted().access.device_count(), 0);
}

#[tokio::test]
async fn asking_again_gives_a_token_that_works_and_kills_the_lost_one() {
    let world = world();
    let phone = world.approved().await;
    let lost = phone.exchange(&world).await.unwrap();
    let kept = phone.exchange(&world).await.unwrap();
    assert_eq!(lost.device_id, kept.device_id);
    assert_eq!(
        code_of(world.commit(phone.id(), lost.token.expose()).await),
        "unknown_token"
    );
    world.commit(phone.id(), kept.token.expose()).await.unwrap();
    assert!(works(&world, kept.token.expose()).is_ok());
    assert!(works(&world, lost.token.expose()).is_err());
    assert_eq!(code_of(phone.exchange(&world).await), "already_committed");
}

#[tokio::test]
async fn a_commit_repeats_its_answer_also_after_a_restart() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let (id, token) = (phone.id(), exchanged.token.expose());
    world.commit(id, token).await.unwrap();
    world.commit(id, token).await.unwrap();
    let world = world.restarted();
    assert_eq!(world.commit(id, token).await.unwrap(), StatusCode::NO_CONTENT);
    assert_eq!(world.access.device_count(), 1);
    assert_eq!(
        world
            .actions()
            .await
            .iter()
            .filter(|action| *action == "pairing_committed")
            .count(),
        1
    );
}

#[tokio::test]
async fn two_commits_at_once_make_one_device_and_both_are_answered() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    let commit = || world.commit(phone.id(), exchanged.token.expose());
    let (first, second) = tokio::join!(commit(), commit());
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    assert_eq!(world.access.device_count(), 1);
}

#[tokio::test]
async fn a_commit_before_the_exchange_or_for_another_request_never_commits() {
    let world = world();
    let phone = world.approved().await;
    let invented = pairing::DeviceToken::generate(DeviceId::from_bytes([1; 8]), &mut crate::random::rng());
    assert_eq!(
        code_of(world.commit(phone.id(), &invented.reveal()).await),
        "unknown_token"
    );
    let exchanged = phone.exchange(&world).await.unwrap();
    let mut other = Phone::new(2);
    other.ask(&world, "other", None).await.unwrap();
    assert_eq!(
        code_of(world.commit(other.id(), exchanged.token.expose()).await),
        "unknown_token"
    );
    assert_eq!(world.access.device_count(), 0);
    world.commit(phone.id(), exchanged.token.expose()).await.unwrap();
    assert_eq!(
        code_of(world.commit(other.id(), exchanged.token.expose()).await),
        "unknown_token"
    );
}

#[tokio::test]
async fn a_commit_with_the_token_of_a_revoked_device_says_so() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    world.commit(phone.id(), exchanged.token.expose()).await.unwrap();
    world
        .access
        .devices()
        .revoke(&Principal::Owner, exchanged.device_id, clock::latest())
        .unwrap();
    assert_eq!(
        code_of(world.commit(phone.id(), exchanged.token.expose()).await),
        "revoked"
    );
}

#[tokio::test]
async fn without_its_row_nothing_is_given() {
    let world = world();
    let asked = world.revealed(None).await;
    let mut late = Phone::new(2);
    world.access.store.break_writes().await;
    assert_eq!(
        code_of(world.offer(wire::NewOffer::default()).await),
        "store_failed"
    );
    assert_eq!(code_of(late.ask(&world, "late", None).await), "store_failed");
    assert_eq!(
        code_of(world.approve(asked.id(), wire::Approve::default()).await),
        "store_failed"
    );
    assert_eq!(
        asked.poll(&world, Duration::ZERO).await.status,
        PollStatus::AuthorizationPending
    );
    let pending = world
        .requests()
        .await
        .into_iter()
        .filter(|request| request.state == wire::RequestStatus::Pending);
    assert_eq!(pending.count(), 1);
    assert!(
        world
            .offers()
            .await
            .iter()
            .all(|offer| offer.state == "withdrawn")
    );
}

#[tokio::test]
async fn a_device_whose_reveal_could_not_be_written_is_told_so_and_not_that_the_owner_said_no() {
    let world = world();
    let mut phone = Phone::new(1);
    phone.ask(&world, "phone", None).await.unwrap();
    world.access.store.break_writes().await;
    assert_eq!(code_of(phone.reveal(&world).await), "store_failed");
    let news = phone.poll(&world, Duration::ZERO).await;
    assert_eq!(
        (news.status, news.cause),
        (PollStatus::AccessDenied, Some(pairing::RejectCause::StoreFailed))
    );
}

#[tokio::test]
async fn a_commit_that_the_store_refuses_makes_no_device_and_may_be_tried_again() {
    let world = world();
    let phone = world.approved().await;
    let exchanged = phone.exchange(&world).await.unwrap();
    world.access.store.break_writes().await;
    let commit = || world.commit(phone.id(), exchanged.token.expose());
    assert_eq!(code_of(commit().await), "store_failed");
    assert!(works(&world, exchanged.token.expose()).is_err());
    world.access.store.mend_writes().await;
    commit().await.unwrap();
    assert!(works(&world, exchanged.token.expose()).is_ok());
}

#[tokio::test]
async fn the_owners_no_goes_on_when_the_store_fails() {
    let world = world();
    let phone = world.revealed(None).await;
    world.access.store.break_writes().await;
    world.reject(phone.id()).await.unwrap();
    assert_eq!(
        phone.poll(&world, Duration::ZERO).await.status,
        PollStatus::AccessDenied
    );
}

#[tokio::test]
async fn what_the_owner_takes_back_is_gone_before_the_disk_has_answered_and_without_it() {
    for hangs in [true, false] {
        let world = world();
        let phone = world.revealed(None).await;
        let made = world.offer(wire::NewOffer::default()).await.unwrap();
        let before = world.actions().await.len();
        if !hangs {
            world.access.store.break_writes().await;
        }
        let held = hangs.then(|| world.access.store.hold_writes());
        let withdraw = world.withdraw_as(world.owner(), made.id);
        let mut both = Box::pin(futures_util::future::join(world.reject(phone.id()), withdraw));
        let at_once = futures_util::poll!(&mut both);
        let news = phone.poll(&world, Duration::ZERO).await;
        assert_eq!(news.status, PollStatus::AccessDenied);
        assert_eq!(world.offers().await[0].state, "withdrawn");
        let (no, withdrawn) = match at_once {
            Poll::Ready(answers) => answers,
            Poll::Pending => both.await,
        };
        no.unwrap();
        withdrawn.unwrap();
        drop(held);
        while hangs && world.actions().await.len() < before + 2 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_waiting_poll_ends_with_the_owners_yes() {
    let world = world();
    let phone = world.revealed(None).await;
    let yes = async { world.approve(phone.id(), wire::Approve::default()).await.unwrap() };
    let (news, _) = tokio::join!(phone.poll(&world, Duration::from_secs(600)), yes);
    assert_eq!(news.status, PollStatus::Approved);
    assert!(news.exchange_nonce.is_some());
}

#[tokio::test]
async fn a_waiting_poll_ends_with_the_owners_no() {
    let world = world();
    let phone = world.revealed(None).await;
    let no = async { world.reject(phone.id()).await.unwrap() };
    let (news, _) = tokio::join!(phone.poll(&world, Duration::from_secs(600)), no);
    assert_eq!(news.status, PollStatus::AccessDenied);
}

#[tokio::test]
async fn a_waiting_poll_ends_with_the_daemon_or_its_connection() {
    let world = world();
    let phone = world.revealed(None).await;
    let secret = RequestSecret::parse(phone.secret()).unwrap();
    let (say, over) = tokio::sync::oneshot::channel::<()>();
    let over = async { over.await.unwrap_or_default() };
    let poll = poll::until_news(&world.access, phone.id(), &secret, Duration::from_secs(600), over);
    let (news, ()) = tokio::join!(poll, async { say.send(()).unwrap() });
    assert_eq!(news.unwrap().status, PollStatus::AuthorizationPending);
}

#[tokio::test]
async fn a_poll_with_another_secret_learns_nothing() {
    let world = world();
    let phone = world.approved().await;
    let guess = RequestSecret::generate(phone.id(), &mut crate::random::rng());
    let poll = poll::until_news(&world.access, phone.id(), &guess, Duration::ZERO, pending());
    assert_eq!(code_of(poll.await), "unknown_request");
}

#[tokio::test]
async fn a_yes_is_answered_when_the_epoch_names_it_and_holds_before() {
    let world = world();
    let phone = world.revealed(None).await;
    // Nothing of this name can be made where a folder has it.
    let blocker = world.home.path().join("keys/epoch.partial");
    std::fs::create_dir(&blocker).unwrap();
    let mut yes = std::pin::pin!(world.approve(phone.id(), wire::Approve::default()));
    let is_approved = async {
        let news = phone.poll(&world, Duration::from_secs(600)).await;
        assert_eq!(news.status, PollStatus::Approved);
    };
    tokio::select! {
        biased;
        answer = &mut yes => panic!("it is not in keys/epoch: {answer:?}"),
        () = is_approved => {}
    }
    std::fs::remove_dir(&blocker).unwrap();
    yes.await.unwrap();
    let epoch = std::fs::read_to_string(world.home.path().join("keys/epoch")).unwrap();
    let rows = world.actions().await;
    assert_eq!(rows.last().map(String::as_str), Some("pairing_approved"));
    assert!(epoch.starts_with(&format!("1 {} ", rows.len())), "{epoch}");
}

#[tokio::test]
async fn of_two_yeses_at_once_the_trail_says_the_one_that_gave_something() {
    let world = world();
    let phone = world.revealed(None).await;
    let yes = |role| {
        world.approve(
            phone.id(),
            wire::Approve {
                role: Some(role),
                ..Default::default()
            },
        )
    };
    let (one, other) = tokio::join!(yes(Role::Viewer), yes(Role::Operator));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.device_id, one.role), (other.device_id, other.role));
    let rows = world.access.store.audit_rows(100).await.unwrap();
    let yeses = rows.iter().filter(|row| row.action == "pairing_approved");
    let details: Vec<_> = yeses.map(|row| row.detail.as_deref().unwrap()).collect();
    let expected = format!("role {}, can_revoke false, any_path false", one.role);
    assert_eq!(details, [expected]);
}

#[tokio::test]
async fn an_exchange_is_for_this_daemon_only() {
    let world = world();
    let phone = world.approved().await;
    let other_pin = format!("pin:{}", certs::SpkiPin::of_spki(b"another key"));
    for foreign in [
        other_pin.as_str(),
        "origin:https://evil.example",
        "origin:https://192.0.2.200:7444",
        "origin:https://192.0.2.201:7443",
    ] {
        assert_eq!(
            code_of(phone.exchange_as(&world, foreign).await),
            "wrong_audience",
            "{foreign}"
        );
    }
    for own in ["origin:https://localhost:9000", "origin:https://192.0.2.200:7443"] {
        phone.exchange_as(&world, own).await.unwrap();
    }
}

#[tokio::test]
async fn an_exchange_needs_the_key_that_was_revealed() {
    let world = world();
    let phone = world.approved().await;
    let thief = Phone {
        key: Phone::new(1).key,
        request: phone.request.clone(),
        ..Phone::new(1)
    };
    assert_eq!(code_of(thief.exchange(&world).await), "bad_signature");
    let rows = world.access.store.audit_rows(100).await.unwrap();
    let last = rows.last().map(|row| (row.action.as_ref(), row.outcome.as_ref()));
    assert_eq!(
        last,
        Some(("pairing_exchanged", "bad_signature")),
        "a failed proof is written down"
    );
    phone.exchange(&world).await.unwrap();
}

#[tokio::test]
async fn an_exchange_before_the_yes_and_a_yes_before_the_reveal_are_refused() {
    let world = world();
    let mut phone = Phone::new(1);
    phone.ask(&world, "phone", None).await.unwrap();
    assert_eq!(
        code_of(world.approve(phone.id(), wire::Approve::default()).await),
        "not_revealed"
    );
    phone.reveal(&world).await.unwrap();
    assert_eq!(code_of(phone.exchange(&world).await), "not_approved");
}

#[tokio::test]
async fn five_wrong_secrets_burn_an_offer_wherever_they_come_from() {
    let world = world();
    let (proof, _) = fragment(&world.offer(wire::NewOffer::default()).await.unwrap());
    let wrong = || WireSecret::new(Bytes64Text([7; 32]).to_string());
    for host in 1..=5 {
        let guess = wire::OfferProof {
            id: proof.id,
            secret: wrong(),
        };
        assert_eq!(
            code_of(Phone::new(host).ask(&world, "guesser", Some(guess)).await),
            "unknown_offer"
        );
    }
    assert_eq!(
        code_of(Phone::new(9).ask(&world, "phone", Some(proof)).await),
        "offer_burned"
    );
    assert_eq!(world.offers().await[0].state, "burned");
}

#[tokio::test]
async fn an_offer_gives_one_device() {
    let world = world();
    let made = world.offer(wire::NewOffer::default()).await.unwrap();
    let phone = world.revealed(Some(fragment(&made).0)).await;
    let mut second = Phone::new(2);
    second
        .ask(&world, "second", Some(fragment(&made).0))
        .await
        .unwrap();
    assert_eq!(code_of(second.reveal(&world).await), "offer_claimed");
    world.approve(phone.id(), wire::Approve::default()).await.unwrap();
    let exchanged = phone.exchange(&world).await.unwrap();
    world.commit(phone.id(), exchanged.token.expose()).await.unwrap();
    assert_eq!(
        code_of(Phone::new(3).ask(&world, "third", Some(fragment(&made).0)).await),
        "offer_used"
    );
}

#[tokio::test]
async fn a_withdrawn_offer_is_dead_and_an_unknown_one_is_not_found() {
    let world = world();
    let made = world.offer(wire::NewOffer::default()).await.unwrap();
    let withdraw = |id| withdraw_offer::withdraw(world.app(), world.owner(), local(), extract::Path(id));
    assert_eq!(withdraw(made.id).await.unwrap(), StatusCode::NO_CONTENT);
    assert_eq!(
        code_of(Phone::new(1).ask(&world, "phone", Some(fragment(&made).0)).await),
        "offer_withdrawn"
    );
    let unknown = withdraw(OfferId::from_bytes([9; 8])).await.unwrap_err();
    assert_eq!(unknown.problem().status, 404);
}

#[tokio::test]
async fn one_peer_has_two_requests_without_an_offer_and_is_told_when_to_come_again() {
    let world = world();
    for _ in 0..2 {
        Phone::new(1).ask(&world, "phone", None).await.unwrap();
    }
    let refused = Phone::new(1)
        .ask(&world, "phone", None)
        .await
        .unwrap_err()
        .problem();
    assert_eq!((refused.status, refused.code.as_str()), (429, "too_many_pending"));
    assert!(refused.retry_after.is_some());
    Phone::new(2).ask(&world, "phone", None).await.unwrap();
    assert_eq!(world.actions().await.len(), 3, "a refused request fills no table");
}

#[tokio::test]
async fn a_label_that_could_move_other_text_is_refused() {
    let world = world();
    assert_eq!(
        code_of(Phone::new(1).ask(&world, "ph\u{1b}[2Jone", None).await),
        "malformed_label"
    );
    let terms = wire::NewOffer {
        label: Some("a\u{202e}b".to_owned()),
        ..Default::default()
    };
    assert_eq!(code_of(world.offer(terms).await), "malformed_label");
}

#[tokio::test]
async fn a_yes_that_no_device_made_use_of_in_time_leaves_nothing_but_its_rows() {
    let limits = pairing::PairingLimits {
        completion: Duration::ZERO,
        ..Default::default()
    };
    let world = world_with(limits);
    let phone = world.approved().await;
    assert_eq!(
        phone.poll(&world, Duration::ZERO).await.status,
        PollStatus::ExpiredToken
    );
    assert_eq!(code_of(phone.exchange(&world).await), "request_expired");
    for _ in 0..2 {
        crate::expiry::note_lapsed(&world.access).await;
    }
    let rows = world.actions().await;
    let expected = [
        "pairing_requested",
        "pairing_revealed",
        "pairing_approved",
        "pairing_lapsed",
    ];
    assert_eq!(rows, expected);
    assert_eq!(world.access.device_count(), 0);
    assert_eq!(world.restarted().access.device_count(), 0);
}

#[tokio::test]
async fn no_device_is_offered_or_approved_that_would_be_over_at_once() {
    let world = world();
    let terms = wire::NewOffer {
        expires_in: Some(0),
        ..Default::default()
    };
    assert_eq!(code_of(world.offer(terms).await), "malformed_request");
    let phone = world.revealed(None).await;
    let terms = wire::Approve {
        expires_in: Some(0),
        ..Default::default()
    };
    assert_eq!(
        code_of(world.approve(phone.id(), terms).await),
        "malformed_request"
    );
}

#[tokio::test]
async fn a_restart_forgets_offers_and_requests() {
    let world = world();
    let made = world.offer(wire::NewOffer::default()).await.unwrap();
    let phone = world.revealed(None).await;
    let world = world.restarted();
    assert!(world.offers().await.is_empty() && world.requests().await.is_empty());
    assert_eq!(
        code_of(Phone::new(1).ask(&world, "phone", Some(fragment(&made).0)).await),
        "unknown_offer"
    );
    assert_eq!(code_of(phone.reveal(&world).await), "unknown_request");
}

#[tokio::test]
async fn one_peer_that_begins_anew_without_end_writes_a_bounded_number_of_rows() {
    let world = world();
    let mut phone = Phone::new(1);
    for _ in 0..60 {
        phone.ask(&world, "phone", None).await.unwrap();
        phone.reveal(&world).await.unwrap();
    }
    let rows = world.access.store.audit_rows(1000).await.unwrap();
    assert_eq!(rows.len(), 60, "a request and a reveal have one each");
    crate::audit::upkeep::finish(&world.access).await;
    let last = world.access.store.audit_rows(1).await.unwrap();
    assert_eq!(last[0].action, "rows_omitted");
    let detail = last[0].detail.as_deref().unwrap();
    assert!(
        detail.starts_with("30 of pairing_requested, 30 of pairing_revealed"),
        "{detail}"
    );
}
