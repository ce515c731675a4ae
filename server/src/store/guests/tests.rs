use std::{path::Path, time::Duration};

use pairing::{GuestEnd, GuestId, GuestKey, GuestRecord, PublicKey, Refusal, Sight, TokenHash, UnixMillis};

use crate::{
    audit::{AuditRow, action},
    store::{Opened, Store, StoreError},
};

const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn open_at(home: &Path, now: UnixMillis) -> Result<Opened, StoreError> {
    Store::open(&home.join("transom.db"), &home.join("keys"), now)
}

fn open(home: &Path) -> Opened {
    open_at(home, NOW).unwrap()
}

fn invited(n: u8) -> GuestRecord {
    let sight = |resource: &str, since| Sight {
        resource: resource.parse().unwrap(),
        since,
    };
    GuestRecord {
        id: GuestId::from_bytes([n; 8]),
        sights: [sight("ses_2", Some(100)), sight("ses_1", None)].into(),
        login: (n == 2).then(|| "alice@example.com".parse().unwrap()),
        secret_hash: TokenHash::from_bytes([n; 32]),
        created: NOW,
        expires_at: NOW.plus(Duration::from_secs(3600)),
        joined: None,
        refused: None,
        ended: None,
    }
}

fn joined(n: u8) -> GuestRecord {
    let mut key = [n; 65];
    key[0] = 4;
    GuestRecord {
        joined: Some(GuestKey {
            public_key: PublicKey::from_bytes(key).unwrap(),
            token_hash: TokenHash::from_bytes([n + 100; 32]),
            from: "198.51.100.7".to_owned(),
            at: NOW,
        }),
        ..invited(n)
    }
}

fn ended(guest: GuestRecord, cause: GuestEnd) -> GuestRecord {
    GuestRecord {
        ended: Some((cause, NOW)),
        ..guest
    }
}

fn row(action: &'static str, n: u8) -> AuditRow {
    AuditRow::new(NOW, "owner", "unix:uid=1000", action, invited(n).id)
}

async fn invite(store: &Store, n: u8) {
    let all = vec![(invited(n), row(action::GUEST_INVITED, n))];
    store.invite_guests(all).await.unwrap();
}

async fn end(store: &Store, guest: GuestRecord, n: u8) {
    store.end_guest(guest, row(action::GUEST_ENDED, n)).await.unwrap();
}

/// All of it but the hashes, which tell nothing of themselves.
fn told(guests: &[GuestRecord]) -> Vec<String> {
    guests.iter().map(|guest| format!("{guest:?}")).collect()
}

#[tokio::test]
async fn a_guest_comes_back_whole() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    let both = [1, 2].map(|n| (invited(n), row(action::GUEST_INVITED, n)));
    store.invite_guests(both.into()).await.unwrap();
    store
        .guest_joined(joined(2), Some(row(action::GUEST_JOINED, 2)))
        .await
        .unwrap();
    let refused = GuestRecord {
        refused: Some(Refusal {
            count: 3,
            at: NOW,
            from: "198.51.100.8".to_owned(),
        }),
        ..joined(2)
    };
    // Without the key, as it was before: only who was refused is written.
    let stale = GuestRecord {
        joined: None,
        ..refused.clone()
    };
    store
        .guest_refused(stale, row(action::GUEST_REFUSED, 2))
        .await
        .unwrap();
    drop(store);
    let again = open(home.path()).guests;
    assert_eq!(told(&again), told(&[invited(1), refused]));
    assert!(again[0].secret_hash.matches(&invited(1).secret_hash));
    let token_hash = |guest: &GuestRecord| guest.joined.as_ref().unwrap().token_hash.clone();
    assert!(token_hash(&again[1]).matches(&token_hash(&joined(2))));
}

#[tokio::test]
async fn an_ended_guest_is_told_so_for_ninety_days() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    invite(&store, 1).await;
    let gone = ended(joined(1), GuestEnd::Left);
    end(&store, gone.clone(), 1).await;
    drop(store);
    let at = |days| open_at(home.path(), NOW.plus(DAY * days)).unwrap().guests;
    assert_eq!(told(&at(90)), told(&[gone]));
    assert!(at(91).is_empty());
}

#[tokio::test]
async fn what_waits_behind_an_end_brings_nobody_back() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    invite(&store, 1).await;
    let gone = ended(joined(1), GuestEnd::Revoked);
    let never = ended(invited(2), GuestEnd::Revoked);
    end(&store, gone.clone(), 1).await;
    end(&store, never.clone(), 2).await;
    store
        .guest_joined(joined(1), Some(row(action::GUEST_JOINED, 1)))
        .await
        .unwrap();
    invite(&store, 2).await;
    drop(store);
    assert_eq!(told(&open(home.path()).guests), told(&[gone, never]));
}

#[tokio::test]
async fn a_lock_down_ends_whom_it_names_and_whoever_else_is_stored() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    for n in [1, 2, 3] {
        invite(&store, n).await;
    }
    let left = ended(invited(1), GuestEnd::Left);
    end(&store, left.clone(), 1).await;
    let [two, three] = [joined(2), invited(3)].map(|guest| ended(guest, GuestEnd::LockedDown));
    store
        .end_guests(vec![two.clone()], NOW, row(action::LOCKED_DOWN, 0))
        .await
        .unwrap();
    drop(store);
    assert_eq!(told(&open(home.path()).guests), told(&[left, two, three]));
    let epoch = std::fs::read_to_string(home.path().join("keys/epoch")).unwrap();
    assert!(epoch.ends_with(" 3\n"), "each of them counts as ended: {epoch}");
}

#[tokio::test]
async fn a_store_of_before_an_end_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    invite(&store, 1).await;
    drop(store);
    let copy = std::fs::read(home.path().join("transom.db")).unwrap();
    let store = open(home.path()).store;
    end(&store, ended(invited(1), GuestEnd::Revoked), 1).await;
    drop(store);
    std::fs::write(home.path().join("transom.db"), copy).unwrap();
    let refused = open_at(home.path(), NOW).unwrap_err();
    assert!(matches!(refused, StoreError::Older { .. }), "{refused}");
}

#[tokio::test]
async fn a_missing_token_key_is_refused_while_there_are_guests() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    invite(&store, 1).await;
    drop(store);
    std::fs::remove_file(home.path().join("keys/token.key")).unwrap();
    let refused = open_at(home.path(), NOW).unwrap_err();
    assert!(matches!(refused, StoreError::TokenKey { .. }), "{refused}");
}

#[tokio::test]
async fn invitations_are_stored_all_or_none() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).store;
    store.break_writes().await;
    let both = [1, 2].map(|n| (invited(n), row(action::GUEST_INVITED, n)));
    assert!(store.invite_guests(both.into()).await.is_err());
    store.mend_writes().await;
    drop(store);
    assert!(open(home.path()).guests.is_empty());
}
