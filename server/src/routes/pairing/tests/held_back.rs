//! The owner's lists, held back until they are other ones.

use std::{future::pending, task::Poll, time::Duration};

use axum::{body::to_bytes, response::Response};
use http::{
    HeaderMap, StatusCode,
    header::{ETAG, IF_NONE_MATCH},
};
use pairing::{OfferId, OfferSecret, PollStatus};
use protocol::{WireSecret, pairing as wire};

use super::{
    super::{
        held_back::{Asked, Listed},
        list_offers, list_requests,
    },
    harness::{Phone, World, fragment, world},
};
use crate::{access::Access, clock};

/// The headers of who knows this answer.
fn knowing(answer: &Response) -> HeaderMap {
    let tag = answer.headers()[ETAG].clone();
    HeaderMap::from_iter([(IF_NONE_MATCH, tag)])
}

async fn offers(world: &World, wait: u64, headers: &HeaderMap) -> Response {
    let asked = Asked::new(wait, headers);
    let answer = asked.until_other(&world.access, list_offers::listed, pending());
    answer.await.unwrap()
}

async fn requests(world: &World, wait: u64, headers: &HeaderMap) -> Response {
    let asked = Asked::new(wait, headers);
    let answer = asked.until_other(&world.access, list_requests::listed, pending());
    answer.await.unwrap()
}

async fn body(answer: Response) -> Vec<wire::OfferView> {
    serde_json::from_slice(&to_bytes(answer.into_body(), 65_536).await.unwrap()).unwrap()
}

#[tokio::test]
async fn who_knows_nothing_is_answered_at_once() {
    let world = world();
    let answer = requests(&world, 25, &HeaderMap::new()).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(to_bytes(answer.into_body(), 64).await.unwrap(), "[]");
}

#[tokio::test]
async fn a_list_that_is_the_known_one_is_304_once_the_wait_is_over() {
    let world = world();
    world.offer(wire::NewOffer::default()).await.unwrap();
    let known = knowing(&offers(&world, 0, &HeaderMap::new()).await);
    let answer = offers(&world, 0, &known).await;
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(knowing(&answer), known);
}

#[tokio::test]
async fn each_change_ends_the_wait() {
    let world = world();
    let known = knowing(&requests(&world, 0, &HeaderMap::new()).await);
    let known_offers = knowing(&offers(&world, 0, &HeaderMap::new()).await);
    let (answer, made) = tokio::join!(
        offers(&world, 25, &known_offers),
        world.offer(wire::NewOffer::default())
    );
    assert_eq!(body(answer).await[0].id, made.unwrap().id);
    let (answer, phone) = tokio::join!(requests(&world, 25, &known), world.revealed(None));
    assert_eq!(answer.status(), StatusCode::OK);
    let known = knowing(&requests(&world, 0, &HeaderMap::new()).await);
    let (answer, rejected) = tokio::join!(requests(&world, 25, &known), world.reject(phone.id()));
    rejected.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_offer_that_is_burned_ends_the_wait() {
    let world = world();
    let (proof, _) = fragment(&world.offer(wire::NewOffer::default()).await.unwrap());
    let known = knowing(&offers(&world, 0, &HeaderMap::new()).await);
    let guesses = async {
        for _ in 0..5 {
            let secret = OfferSecret::generate(&mut crate::random::rng());
            let secret = WireSecret::new(secret.reveal().as_str());
            let guess = wire::OfferProof { id: proof.id, secret };
            assert!(Phone::new(1).ask(&world, "guesser", Some(guess)).await.is_err());
        }
    };
    let (answer, ()) = tokio::join!(offers(&world, 25, &known), guesses);
    assert_eq!(body(answer).await[0].state, "burned");
}

/// Whether somebody who waits for a change is woken by it.
async fn wakes<T>(world: &World, act: impl Future<Output = T>) -> bool {
    let mut changed = std::pin::pin!(world.access.pairing_changed.notified());
    changed.as_mut().enable();
    act.await;
    futures_util::poll!(changed).is_ready()
}

#[tokio::test]
async fn who_asks_by_an_offer_that_is_none_or_reveals_once_more_wakes_nobody() {
    let world = world();
    let (proof, _) = fragment(&world.offer(wire::NewOffer::default()).await.unwrap());
    let guess = |id| wire::OfferProof {
        id,
        secret: WireSecret::new(OfferSecret::generate(&mut crate::random::rng()).reveal().as_str()),
    };
    let mut guesser = Phone::new(2);
    for id in [OfferId::from_bytes([9; 8]), proof.id] {
        assert!(!wakes(&world, guesser.ask(&world, "guesser", Some(guess(id)))).await);
    }
    let mut phone = Phone::new(1);
    assert!(wakes(&world, phone.ask(&world, "phone", Some(proof))).await);
    assert!(wakes(&world, phone.reveal(&world)).await);
    assert!(!wakes(&world, phone.reveal(&world)).await);
}

#[tokio::test]
async fn a_reveal_that_ends_its_request_ends_the_wait() {
    let world = world();
    let made = world.offer(wire::NewOffer::default()).await.unwrap();
    world.revealed(Some(fragment(&made).0)).await;
    let mut second = Phone::new(2);
    second
        .ask(&world, "second", Some(fragment(&made).0))
        .await
        .unwrap();
    assert!(wakes(&world, second.reveal(&world)).await);
    assert!(!wakes(&world, second.reveal(&world)).await, "it is over already");
}

#[tokio::test]
async fn of_one_request_one_poll_is_held_and_the_newer_one_ends_the_older() {
    let world = world();
    let (phone, other) = (world.revealed(None).await, world.approved_as(2).await);
    let long = Duration::from_secs(600);
    let mut first = std::pin::pin!(phone.poll(&world, long));
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    let mut second = std::pin::pin!(phone.poll(&world, long));
    assert!(futures_util::poll!(second.as_mut()).is_pending());
    let Poll::Ready(displaced) = futures_util::poll!(first.as_mut()) else {
        panic!("it is held still")
    };
    assert_eq!(displaced.status, PollStatus::AuthorizationPending);
    assert_eq!(world.access.held_polls.count(), 1);
    assert_eq!(other.poll(&world, long).await.status, PollStatus::Approved);
    assert!(
        futures_util::poll!(second.as_mut()).is_pending(),
        "others' are not its own"
    );
    world.approve(phone.id(), wire::Approve::default()).await.unwrap();
    assert_eq!(second.await.status, PollStatus::Approved);
    assert_eq!(world.access.held_polls.count(), 0);
}

#[tokio::test]
async fn what_ends_by_itself_ends_the_wait() {
    let world = world();
    let end = clock::latest().plus(Duration::from_millis(30));
    let list = |_: &Access| Listed {
        entries: vec![clock::latest() >= end],
        ends: vec![end],
    };
    let first = Asked::new(0, &HeaderMap::new());
    let first = first.until_other(&world.access, list, pending()).await.unwrap();
    let asked = Asked::new(25, &knowing(&first));
    let answer = asked.until_other(&world.access, list, pending()).await.unwrap();
    assert_eq!(to_bytes(answer.into_body(), 64).await.unwrap(), "[true]");
}

#[tokio::test]
async fn the_end_of_the_connection_ends_the_wait() {
    let world = world();
    let known = knowing(&requests(&world, 0, &HeaderMap::new()).await);
    let asked = Asked::new(25, &known);
    let over = std::future::ready(());
    let answer = asked
        .until_other(&world.access, list_requests::listed, over)
        .await;
    assert_eq!(answer.unwrap().status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn a_time_for_people_that_moves_with_the_wall_clock_makes_no_other_list() {
    let world = world();
    let list = |shown: &'static str| {
        move |_: &Access| Listed {
            entries: vec![serde_json::json!({ "id": 1, "expires_at": shown })],
            ends: vec![pairing::UnixMillis(1)],
        }
    };
    let first = Asked::new(0, &HeaderMap::new());
    let first = first
        .until_other(&world.access, list("12:00"), pending())
        .await
        .unwrap();
    let asked = Asked::new(0, &knowing(&first));
    let same = asked.until_other(&world.access, list("12:01"), pending()).await;
    assert_eq!(same.unwrap().status(), StatusCode::NOT_MODIFIED);
}
