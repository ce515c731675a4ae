//! `/v1/guests` and below: what a guest sees, and when that ends.

mod link;
mod restart;

use harness::{Guest, Invitation, Pairing, TestDaemon};
use pairing::Role;
use protocol::{
    access::WhoAmI,
    attach::{CLOSE_NOT_PERMITTED, CLOSE_REVOKED, Mode},
    events::Event,
    guests::{GuestEnded, GuestRecord, GuestSelf, GuestState, NewInvitation},
    sessions::{Output, Session},
};

/// Prints `secret`, and after a line of input each line of it again.
const SHELL: &str = "echo secret; while read -r line; do echo \"now $line\"; done";

async fn type_in(daemon: &TestDaemon, session: &Session, line: &str) {
    let body = serde_json::json!({ "text": format!("{line}\n") });
    let path = format!("/v1/sessions/{}/input", session.id);
    assert_eq!(daemon.owner().post(&path, &body).await.status, 204);
    let mut owner = daemon.owner().attach(&session.id, Mode::View, "screen").await;
    owner.until(&format!("now {line}")).await;
}

async fn shell(daemon: &TestDaemon) -> Session {
    let session = daemon.owner().shell(SHELL).await;
    let mut owner = daemon.owner().attach(&session.id, Mode::View, "screen").await;
    owner.until("secret").await;
    session
}

async fn listed(daemon: &TestDaemon) -> Vec<GuestRecord> {
    daemon.owner().get("/v1/guests").await.ok()
}

#[tokio::test]
async fn a_guest_sees_what_is_printed_from_the_invitation_on_and_nothing_of_before() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 3600).await;
    type_in(&daemon, &session, "between").await;
    let guest = invitation.open(&daemon).await.ok().unwrap();
    let mut attached = guest.attach(&session.id, Mode::View, "screen").await;
    attached.until("now between").await;
    type_in(&daemon, &session, "live").await;
    attached.until("now live").await;
    assert!(!attached.text().contains("secret"), "{}", attached.text());
    let mut again = guest.attach(&session.id, Mode::View, "0").await;
    again.until("now live").await;
    let mut browser = guest
        .attach_like_a_browser(&session.id, Mode::Lossless, "screen")
        .await;
    browser.until("now live").await;
    for seen in [again.text(), browser.text()] {
        assert!(!seen.contains("secret"), "{seen}");
    }
    let path = |rest: &str| format!("/v1/sessions/{}{rest}", session.id);
    let screen = guest.get(&path("/screen?lines=100")).await.body;
    assert!(
        screen.contains("now live") && !screen.contains("secret"),
        "{screen}"
    );
    let output: Output = guest.get(&path("/output?from=0")).await.ok();
    let output = String::from_utf8_lossy(&output.data.0).into_owned();
    assert!(
        output.contains("now live") && !output.contains("secret"),
        "{output}"
    );
    let recording = guest.get(&path("/recording")).await.body;
    assert!(
        recording.contains("now live") && !recording.contains("secret"),
        "{recording}"
    );
    let waited = guest.get(&path("/wait?text=secret&timeout_ms=100")).await;
    assert_eq!(waited.verdict(), "403 not_permitted");
    let shown: Session = guest.get(&path("")).await.ok();
    assert_eq!(
        (shown.last_line.as_str(), shown.args.len(), shown.cwd.as_str()),
        ("", 0, "")
    );
}

#[tokio::test]
async fn a_guests_recording_begins_with_the_size_that_the_session_had_when_it_was_invited() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let path = format!("/v1/sessions/{}", session.id);
    let resize = async |columns: u16, rows: u16| {
        let size = serde_json::json!({ "columns": columns, "rows": rows });
        assert!(daemon.owner().post(&format!("{path}/size"), &size).await.status < 300);
    };
    resize(60, 15).await;
    type_in(&daemon, &session, "before").await;
    resize(70, 20).await;
    let guest = Guest::of(&daemon, &[&session.id]).await;
    type_in(&daemon, &session, "between").await;
    resize(90, 30).await;
    type_in(&daemon, &session, "behind").await;
    let recording = guest.get(&format!("{path}/recording")).await.body;
    let mut lines = recording.lines();
    let head: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(
        (&head["term"]["cols"], &head["term"]["rows"]),
        (&70.into(), &20.into())
    );
    let sizes: Vec<&str> = lines.filter(|line| line.contains(", \"r\", ")).collect();
    assert_eq!(sizes.len(), 1, "{recording}");
    assert!(sizes[0].contains("90x30"), "{recording}");
}

#[tokio::test]
async fn the_numbers_of_a_guests_events_say_nothing_of_what_happens_elsewhere() {
    let daemon = TestDaemon::start().await;
    let (named, other) = (shell(&daemon).await, shell(&daemon).await);
    let guest = Guest::of(&daemon, &[&named.id]).await;
    for after in [None, Some(0), Some(7)] {
        let mut events = guest.events(after).await;
        assert_eq!(events.next().await, Some((1, Event::Gap)), "{after:?}");
        let line = format!("unseen {after:?}");
        type_in(&daemon, &other, &line).await;
        daemon.device(Role::Viewer).await;
        type_in(&daemon, &named, &line).await;
        for number in 2..=3 {
            let (told, event) = events.next().await.expect("the stream goes on");
            assert_eq!(told, number, "{event:?}");
            if number == 2 {
                type_in(&daemon, &other, "and again").await;
                type_in(&daemon, &named, &format!("{line} again")).await;
            }
        }
    }
}

#[tokio::test]
async fn with_scrollback_a_guest_sees_all_of_the_session() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let wish = NewInvitation {
        sessions: vec![session.id.clone()],
        expires_in: 60,
        count: Some(2),
        with_scrollback: true,
        login: None,
    };
    let links = Invitation::by(&daemon.owner(), &wish).await;
    assert_eq!(links.len(), 2);
    for link in links {
        let guest = link.open(&daemon).await.ok().unwrap();
        let mut attached = guest.attach(&session.id, Mode::View, "screen").await;
        attached.until("secret").await;
    }
}

#[tokio::test]
async fn a_guest_sees_no_other_session_in_lists_or_events_and_acts_on_nothing() {
    let daemon = TestDaemon::start().await;
    let (named, other) = (shell(&daemon).await, shell(&daemon).await);
    let guest = Guest::of(&daemon, &[&named.id]).await;
    let who: WhoAmI = guest.get("/v1/whoami").await.ok();
    assert_eq!(who.principal, protocol::access::PrincipalKind::Guest);
    let list: Vec<Session> = guest.get("/v1/sessions").await.ok();
    assert_eq!(list.iter().map(|one| &one.id).collect::<Vec<_>>(), [&named.id]);
    let own: GuestSelf = guest.get("/v1/guests/self").await.ok();
    assert_eq!(own.sessions, std::slice::from_ref(&named.id));
    let mut events = guest.events(None).await;
    assert!(matches!(events.next().await, Some((_, Event::Gap))));
    type_in(&daemon, &other, "unseen").await;
    // Nor of devices.
    daemon.device(Role::Viewer).await;
    type_in(&daemon, &named, "seen").await;
    let Some((_, Event::Session { session })) = events.next().await else {
        panic!("it is told of the named session first")
    };
    assert_eq!(session.id, named.id);
    let away = guest.get(&format!("/v1/sessions/{}", other.id)).await;
    assert_eq!(away.verdict(), "403 not_permitted");
    let typing = guest
        .attach(&named.id, Mode::Write, "screen")
        .await
        .until_closed()
        .await;
    assert_eq!(typing, CLOSE_NOT_PERMITTED);
    let input = serde_json::json!({ "text": "x" });
    let path = format!("/v1/sessions/{}/input", named.id);
    assert_eq!(guest.post(&path, &input).await.verdict(), "403 not_permitted");
    for path in ["/v1/guests", "/v1/devices", "/v1/status"] {
        assert_eq!(guest.get(path).await.verdict(), "403 not_permitted", "{path}");
    }
}

#[tokio::test]
async fn a_guest_ends_at_its_second_with_what_it_has_open() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let invitation = Invitation::to(&daemon, &[&session.id], 2).await;
    let guest = invitation.open(&daemon).await.ok().unwrap();
    let mut attached = guest.attach(&session.id, Mode::View, "screen").await;
    let code = attached.until_closed().await;
    assert!([CLOSE_REVOKED, 1006].contains(&code), "{code}");
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 expired");
    assert_eq!(listed(&daemon).await[0].state, GuestState::Expired);
}

#[tokio::test]
async fn ending_a_guest_closes_its_streams_and_its_token_says_why() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let guest = Guest::of(&daemon, &[&session.id]).await;
    let witness = Guest::of(&daemon, &[&session.id]).await;
    let mut attached = guest.attach(&session.id, Mode::View, "screen").await;
    let mut stays = witness.attach(&session.id, Mode::View, "screen").await;
    let path = format!("/v1/guests/{}", guest.guest_id());
    let ended: GuestEnded = daemon.owner().request("DELETE", &path, None::<&()>).await.ok();
    assert!(ended.closed >= 1, "{ended:?}");
    let code = attached.until_closed().await;
    assert!([CLOSE_REVOKED, 1006].contains(&code), "{code}");
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 revoked");
    type_in(&daemon, &session, "on").await;
    stays.until("now on").await;
    let again = daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert_eq!(again.verdict(), "404 unknown_guest");
}

#[tokio::test]
async fn a_guest_leaves_and_a_device_that_may_revoke_ends_one() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let (leaves, stays) = (
        Guest::of(&daemon, &[&session.id]).await,
        Guest::of(&daemon, &[&session.id]).await,
    );
    let left: GuestEnded = leaves.delete("/v1/guests/self").await.ok();
    assert_eq!(left.guest_id, leaves.guest_id());
    assert_eq!(leaves.get("/v1/whoami").await.verdict(), "401 revoked");
    let path = format!("/v1/guests/{}", stays.guest_id());
    let plain = daemon.device(Role::Operator).await;
    assert_eq!(plain.delete(&path).await.verdict(), "403 not_permitted");
    let revoker = Pairing::with_terms(&daemon, Role::Viewer, true)
        .await
        .finish(&daemon)
        .await;
    assert_eq!(revoker.delete(&path).await.status, 200);
    assert_eq!(stays.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn a_lock_down_ends_guests_and_their_links() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let guest = Guest::of(&daemon, &[&session.id]).await;
    Invitation::to(&daemon, &[&session.id], 3600).await;
    let mut attached = guest.attach(&session.id, Mode::View, "screen").await;
    let locked = daemon.owner().request("POST", "/v1/lockdown", None::<&()>).await;
    assert_eq!(locked.status, 200, "{}", locked.body);
    attached.until_closed().await;
    let records = listed(&daemon).await;
    assert_eq!(records.len(), 2);
    assert!(
        records.iter().all(|one| one.state == GuestState::LockedDown),
        "{records:?}"
    );
}

#[tokio::test]
async fn a_guest_is_revoked_by_the_beginning_of_its_id_with_and_without_a_daemon() {
    let mut daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let device = daemon.device(Role::Viewer).await;
    let (first, mut second) = (
        Guest::of(&daemon, &[&session.id]).await,
        Guest::of(&daemon, &[&session.id]).await,
    );
    let [one, two] = [&first, &second].map(|guest| guest.guest_id().to_string());
    let revoked = daemon
        .cli(&["revoke", "--yes", "--json", &one[..16], &device.id().to_string()])
        .await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    let ended = revoked.json();
    assert_eq!(ended[0]["device_id"], device.id().to_string(), "{revoked:?}");
    assert_eq!(ended[1]["guest_id"], one, "{revoked:?}");
    assert_eq!(first.get("/v1/whoami").await.verdict(), "401 revoked");
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
    assert_eq!(second.get("/v1/whoami").await.verdict(), "200");
    let unknown = daemon.cli(&["revoke", "--yes", "gst_none"]).await;
    assert!(unknown.stderr.contains("there is no guest"), "{unknown:?}");
    daemon.kill().await;
    let revoked = daemon.cli(&["revoke", "--yes", &two]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert!(revoked.stdout.contains(&two), "{revoked:?}");
    daemon.start_again().await;
    second.follow(&daemon);
    assert_eq!(second.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn the_command_invites_lists_and_ends() {
    let daemon = TestDaemon::start().await;
    let session = shell(&daemon).await;
    let made = daemon
        .cli(&["invite", &session.name, "--for", "1h", "--count", "2"])
        .await;
    assert!(made.code == 0, "{}", made.stderr);
    let links: Vec<Invitation> = made.stdout.lines().map(Invitation::parse).collect();
    assert_eq!(links.len(), 2);
    let guest = links[0].open(&daemon).await.ok().unwrap();
    let list = daemon.cli(&["guests"]).await;
    assert!(
        list.stdout.contains("joined") && list.stdout.contains("invited"),
        "{}",
        list.stdout
    );
    assert!(list.stdout.contains(&session.name), "{}", list.stdout);
    let ended = daemon
        .cli(&["guests", "end", &guest.guest_id().to_string()])
        .await;
    assert!(ended.code == 0, "{}", ended.stderr);
    assert_eq!(guest.get("/v1/whoami").await.verdict(), "401 revoked");
    assert!(daemon.cli(&["guests", "end", "--all"]).await.code == 0);
    assert!(
        listed(&daemon)
            .await
            .iter()
            .all(|one| one.state == GuestState::Revoked)
    );
    let nothing = daemon.cli(&["invite", "nosuch", "--for", "1h"]).await;
    assert!(nothing.code != 0);
}
