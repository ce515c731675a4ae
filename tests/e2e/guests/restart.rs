//! What is left of guests and links when the daemon ends and another begins.

use harness::{Guest, Invitation, TestDaemon, until};
use protocol::{access::Status, attach::Mode, guests::GuestState};
use rustix::process::Signal;

use super::{listed, shell, type_in};

/// The state of the one guest of that id.
async fn state_of(daemon: &TestDaemon, guest: pairing::GuestId) -> GuestState {
    let all = listed(daemon).await;
    all.iter().find(|one| one.id == guest).unwrap().state
}

#[tokio::test]
async fn a_guest_looks_on_after_a_kill_and_sees_nothing_of_before_the_invitation() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let mut guest = Guest::of(&daemon, &[&session.id]).await;
    type_in(&daemon, &session, "before").await;
    for life in ["one", "two"] {
        daemon.kill_and_restart().await;
        guest.follow(&daemon);
        let mut attached = guest.attach(&session.id, Mode::View, "0").await;
        attached.until("now before").await;
        type_in(&daemon, &session, life).await;
        attached.until(&format!("now {life}")).await;
        assert!(!attached.text().contains("secret"), "{}", attached.text());
    }
    let other = shell(&daemon).await;
    let away = guest.get(&format!("/v1/sessions/{}", other.id)).await;
    assert_eq!(away.verdict(), "403 not_permitted");
    let record = listed(&daemon).await.remove(0);
    assert_eq!(
        (record.state, record.sessions),
        (GuestState::Joined, vec![session.id])
    );
    assert!(record.joined_at.is_some() && record.address.is_some());
}

#[tokio::test]
async fn a_guest_looks_on_after_the_command_restarts_the_daemon_and_after_a_signal() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let mut guest = Guest::of(&daemon, &[&session.id]).await;
    let done = daemon.cli(&["restart"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    guest.go_by(status.tls[0].address.parse().unwrap());
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "200");
    daemon.signal(Signal::TERM);
    daemon.start_again().await;
    guest.follow(&daemon);
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn a_link_that_nobody_used_opens_once_in_the_next_life_and_shows_from_the_invitation_on() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let (used, unused) = (
        Invitation::to(&daemon, &[&session.id], 3600).await,
        Invitation::to(&daemon, &[&session.id], 3600).await,
    );
    used.open(&daemon).await.ok().unwrap();
    assert!(used.open(&daemon).await.is_err());
    type_in(&daemon, &session, "between").await;
    daemon.kill_and_restart().await;
    let again = used.open(&daemon).await.err().unwrap();
    assert_eq!(again.verdict(), "409 invitation_used");
    let record = listed(&daemon).await.remove(0);
    assert_eq!(
        record.refused.unwrap().count,
        2,
        "who tried before is not forgotten"
    );
    let guest = unused.open(&daemon).await.ok().unwrap();
    let mut attached = guest.attach(&session.id, Mode::View, "0").await;
    attached.until("now between").await;
    assert!(!attached.text().contains("secret"), "{}", attached.text());
    assert_eq!(
        unused.open(&daemon).await.err().unwrap().verdict(),
        "409 invitation_used"
    );
}

#[tokio::test]
async fn who_has_ended_stays_so_and_is_told_why() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let (ended, burned) = (
        Invitation::to(&daemon, &[&session.id], 3600).await,
        Invitation::to(&daemon, &[&session.id], 3600).await,
    );
    let mut guest = ended.open(&daemon).await.ok().unwrap();
    let path = format!("/v1/guests/{}", ended.id);
    let answer = daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert_eq!(answer.status, 200);
    let mut guessed = burned.clone();
    guessed.secret = "A".repeat(43);
    for _ in 0..5 {
        assert!(guessed.open(&daemon).await.is_err());
    }
    daemon.kill_and_restart().await;
    guest.follow(&daemon);
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 revoked");
    for (link, code) in [
        (&ended, "409 invitation_ended"),
        (&burned, "409 invitation_burned"),
        (&guessed, "401 unknown_invitation"),
    ] {
        assert_eq!(link.open(&daemon).await.err().unwrap().verdict(), code);
    }
    let rows = daemon.cli(&["audit", "--action", "guest_burned", "--json"]).await;
    assert_eq!(rows.json()[0]["target"], burned.id.to_string(), "{rows:?}");
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0);
}

#[tokio::test]
async fn a_guest_whose_time_ends_while_no_daemon_runs_does_not_come_back() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let mut guest = Guest::of(&daemon, &[&session.id]).await;
    daemon.kill().await;
    rusqlite::Connection::open(daemon.folder().join("transom.db"))
        .unwrap()
        .execute("UPDATE guests SET expires_at = created_at + 1", [])
        .unwrap();
    daemon.start_again().await;
    guest.follow(&daemon);
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 expired");
    let row = until("the row of its end", async || {
        let rows = daemon
            .cli(&["audit", "--action", "guest_expired", "--json"])
            .await;
        rows.json().as_array()?.first().cloned()
    })
    .await;
    assert_eq!(row["target"], guest.guest_id().to_string());
}

#[tokio::test]
async fn a_lock_down_with_and_without_a_daemon_ends_guests_for_good() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    for runs in [true, false] {
        let mut guest = Guest::of(&daemon, &[&session.id]).await;
        let unused = Invitation::to(&daemon, &[&session.id], 3600).await;
        if !runs {
            daemon.kill().await;
        }
        assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
        if runs {
            daemon.kill().await;
        }
        daemon.start_again().await;
        let invited = daemon
            .cli(&["invite", &session.name, "--for", "1h", "--json"])
            .await;
        assert_eq!(invited.json()["code"], "locked_down", "{invited:?}");
        for id in [guest.guest_id(), unused.id] {
            assert_eq!(state_of(&daemon, id).await, GuestState::LockedDown);
        }
        assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
        daemon.kill_and_restart().await;
        guest.follow(&daemon);
        assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 revoked");
        assert_eq!(
            unused.open(&daemon).await.err().unwrap().verdict(),
            "409 invitation_ended"
        );
    }
}
