//! `DELETE /v1/devices/{id}` and `/v1/devices/self`.

use std::time::Instant;

use harness::{Invitation, Pairing, StampingProxy, TestDaemon, TlsClient};
use pairing::Role;
use protocol::{
    access::Revoked,
    attach::{CLOSE_REVOKED, Mode, ServerMessage},
};

/// Prints a number a line, forever, faster than anybody reads.
const COUNTER: &str = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.005; done";

#[tokio::test]
async fn revoking_a_device_closes_its_open_streams() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(COUNTER).await;
    let lost = daemon.device(Role::Operator).await;
    let mut streams = [
        lost.attach(&session.id, Mode::View, "screen").await,
        lost.attach(&session.id, Mode::Write, "screen").await,
        lost.attach_like_a_browser(&session.id, Mode::View, "screen")
            .await,
    ];
    for stream in &mut streams {
        stream.until("3").await;
    }
    streams[1].send_input(b"x").await;
    streams[1].until("x").await;
    let revoked = daemon.owner().revoke(lost.id()).await;
    assert!(revoked.closed >= 3, "{revoked:?}");
    assert_eq!(revoked.sessions, [session.id], "it typed there");
    for stream in &mut streams {
        let code = stream.until_closed().await;
        assert!([CLOSE_REVOKED, 1006].contains(&code), "{code}");
    }
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn the_command_names_the_sessions_that_the_device_typed_into_as_lists_do() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x; echo got-$x; sleep 600").await;
    let device = daemon.device(Role::Operator).await;
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.send_input(b"this\n").await;
    attached.until("got-this").await;
    let id = device.id().to_string();
    let revoked = daemon.cli(&["revoke", "--yes", &id]).await;
    let named = format!("made or typed into {}\n", session.name);
    assert!(revoked.stdout.ends_with(&named), "{revoked:?}");
}

#[tokio::test]
async fn no_byte_leaves_for_a_revoked_device_after_the_reply() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(COUNTER).await;
    let proxy = StampingProxy::to(daemon.address()).await;
    let mut lost = daemon.device(Role::Viewer).await;
    lost.go_by(proxy.address());
    let mut attached = lost.attach(&session.id, Mode::View, "screen").await;
    let mut witness = daemon.owner().attach(&session.id, Mode::View, "screen").await;
    attached.until("5").await;
    daemon.owner().revoke(lost.id()).await;
    let replied = Instant::now();
    let closed = tokio::spawn(async move { attached.until_closed().await });
    // The counter goes on, as somebody else sees: there was something to send.
    let Ok(ServerMessage::Hello(hello)) = witness.next().await else {
        panic!("hello comes first")
    };
    while witness.output().len() as u64 + hello.offset < hello.offset + 400 {
        witness.next().await.expect("the owner's attachment lives");
    }
    closed.await.unwrap();
    // What had left before may still have been on its way through the proxy: its stamps are within a moment of the reply.
    let late = proxy.bytes_after(replied + std::time::Duration::from_millis(20));
    assert_eq!(late, 0, "bytes came after the reply");
    assert!(proxy.bytes() > 0);
}

#[tokio::test]
async fn another_devices_attachment_misses_no_number() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(COUNTER).await;
    let lost = daemon.device(Role::Viewer).await;
    let kept = daemon.device(Role::Viewer).await;
    let mut lost_stream = lost.attach(&session.id, Mode::View, "0").await;
    let mut kept_stream = kept.attach(&session.id, Mode::View, "0").await;
    lost_stream.until("10\r\n").await;
    daemon.owner().revoke(lost.id()).await;
    kept_stream.until("\r\n60\r\n").await;
    let text = kept_stream.text();
    let numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(
        numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{numbers:?}"
    );
}

#[tokio::test]
async fn input_that_a_revoked_writer_left_in_a_queue_never_reaches_the_program() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let go = daemon.folder().join("go");
    rustix::fs::mknodat(rustix::fs::CWD, &go, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let session = owner.shell(&reads_only_once_told(&go)).await;
    let lost = daemon.device(Role::Operator).await;
    let mut writer = lost.attach(&session.id, Mode::Write, "0").await;
    writer.until("ready").await;
    for _ in 0..64 {
        writer.send_input(&[b'x'; 4096]).await;
    }
    owner.revoke(lost.id()).await;
    let mut own = owner.attach(&session.id, Mode::Write, "0").await;
    own.send_input(b"Z").await;
    std::fs::write(&go, "go\n").unwrap();
    own.until("bytes").await;
    let text = own.text();
    let count = text.split_whitespace().rev().nth(1).unwrap();
    // The kernel's own queue of a terminal held what it took before (at most 64 KiB and a line's buffer).
    assert!(count.parse::<usize>().unwrap() <= 80 * 1024, "{text}");
}

/// A program that leaves its input alone until a line comes by the pipe, then counts what comes before a `Z`.
pub(super) fn reads_only_once_told(pipe: &std::path::Path) -> String {
    format!(
        "stty raw -echo; echo ready; read -r line < {}; exec python3 -c '
import os
count = 0
while True:
    piece = os.read(0, 65536)
    if b\"Z\" in piece:
        print(count + piece.index(b\"Z\"), \"bytes\", flush=True)
        break
    count += len(piece)
'",
        pipe.display()
    )
}

#[tokio::test]
async fn a_device_that_signs_out_on_its_own_connection_gets_its_answer() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    assert_eq!(device.get("/v1/devices/self").await.verdict(), "200");
    let revoked: Revoked = device.delete("/v1/devices/self").await.ok();
    assert_eq!(revoked.device_id, device.id());
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
    assert!(daemon.owner().devices().await.is_empty());
}

#[tokio::test]
async fn a_device_that_may_revoke_revokes_itself_on_the_connection_that_must_close() {
    let daemon = TestDaemon::start().await;
    let device = Pairing::with_terms(&daemon, Role::Viewer, true)
        .await
        .finish(&daemon)
        .await;
    let revoked: Revoked = device.delete(&format!("/v1/devices/{}", device.id())).await.ok();
    assert_eq!(revoked.device_id, device.id());
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn a_connection_belongs_to_the_first_principal_and_the_second_works_on_a_new_one() {
    let daemon = TestDaemon::start().await;
    let first = daemon.device(Role::Viewer).await;
    let second = daemon.device(Role::Viewer).await;
    let shared: TlsClient = first.client();
    assert_eq!(shared.get("/v1/health", None).await.verdict(), "200");
    assert_eq!(
        shared
            .get("/v1/whoami", Some(&first.access().await))
            .await
            .verdict(),
        "200"
    );
    let foreign = shared.get("/v1/whoami", Some(&second.access().await)).await;
    assert_eq!(foreign.verdict(), "421 other_principal");
    assert_eq!(
        second
            .client()
            .get("/v1/whoami", Some(&second.access().await))
            .await
            .verdict(),
        "200"
    );
    daemon.owner().revoke(first.id()).await;
    assert_eq!(second.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn a_device_that_calls_itself_like_a_guest_is_revoked_by_that_name_and_hides_no_guest() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let invitation = Invitation::to(&daemon, &[&session.id], 60).await;
    let guest = invitation.id.to_string();
    let device = daemon.device(Role::Viewer).await;
    for (label, is_revoked) in [(guest.as_str(), false), ("gst_x", true)] {
        let name = serde_json::json!({ "label": label });
        let renamed = device.request("PATCH", "/v1/devices/self", Some(&name)).await;
        assert_eq!(renamed.status, 200);
        let done = daemon.cli(&["revoke", label, "--yes"]).await;
        assert_eq!(done.code, 0, "{}", done.stderr);
        let device = device.id().to_string();
        assert_eq!(done.stdout.contains(&device), is_revoked, "{}", done.stdout);
    }
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
}
