//! What people read and type while pairing: labels, codes, and the command line.

use harness::{Finished, Pairing, Running, TestDaemon, until};
use pairing::Role;
use protocol::pairing::{PollStatus, RequestStatus};
use serde_json::json;

use super::{fragment, status};

#[tokio::test]
async fn labels_that_could_deceive_are_refused_at_the_door() {
    let daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    let long = "x".repeat(65);
    for label in HOSTILE.iter().copied().chain(["", "   ", &long]) {
        let answer = device.try_request(label).await;
        assert_eq!(answer.verdict(), "400 malformed_label", "{label:?}");
        assert_plain(&answer.body);
        let offer = daemon
            .owner()
            .post("/v1/pairing/offers", &json!({"label": label}))
            .await;
        assert_eq!(offer.verdict(), "400 malformed_label", "{label:?}");
    }
    device.ask().await;
    let path = format!("/v1/pairing/requests/{}/approve", device.id());
    for label in HOSTILE {
        let answer = daemon.owner().post(&path, &json!({"label": label})).await;
        assert_eq!(answer.verdict(), "400 malformed_label", "{label:?}");
    }
    device.finish_revealed(&daemon).await;
}

#[tokio::test]
async fn no_remote_string_reaches_the_owners_terminal_unescaped() {
    let daemon = TestDaemon::start().await;
    let mut pair = Running::start(&mut daemon.command(&["pair", "--role", "operator"]));
    let link = pair.line_with("https://").await;
    let mut device = Pairing::with_fragment(&daemon, link.split_once('#').unwrap().1);
    assert_eq!(
        device.try_request("telefon \u{1b}]0;x\u{7}").await.verdict(),
        "400 malformed_label"
    );
    let code = device.ask_as("❤ Büro 電話").await.to_string();
    pair.line_with(&format!("{}-{}", &code[..3], &code[3..])).await;
    assert_eq!(daemon.cli(&["approve", &code]).await.code, 0);
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    let pair = pair.finish().await;
    assert!(
        pair.code == 0 && pair.stdout.contains("\"❤ Büro 電話\""),
        "{pair:?}"
    );
    // What a program says of itself is as foreign as a label.
    let script = "printf '\\033]0;title \\342\\200\\256evil\\007red \\342\\200\\256 line'; sleep 600";
    let session = daemon.owner().shell(script).await;
    let mut attached = daemon
        .owner()
        .attach(&session.id, protocol::attach::Mode::View, "0")
        .await;
    attached.until("line").await;
    until("the list to know the last line", || async {
        Some(daemon.cli(&["ls"]).await).filter(|ls| ls.stdout.contains("line"))
    })
    .await;
    for verb in [&["devices"][..], &["ls"], &["status"], &["revoke", "❤", "--yes"]] {
        let finished = daemon.cli(verb).await;
        assert_eq!(finished.code, 0, "{finished:?}");
        assert_plain_output(&finished);
    }
    assert_plain_output(&pair);
}

#[tokio::test]
async fn the_command_line_approves_the_request_whose_code_it_is_given() {
    let daemon = TestDaemon::start().await;
    let mut wanted = daemon.pairing(Role::Viewer).await;
    let mut other = daemon.pairing(Role::Viewer).await;
    other.ask().await;
    let code = wanted.ask().await.to_string();
    let typed = format!("{}-{}", &code[..3], &code[3..]);
    let approved = daemon.cli(&["approve", &typed, "--json"]).await;
    assert_eq!(approved.json()["id"], wanted.id().to_string(), "{approved:?}");
    assert_eq!(status(&wanted.poll(25).await), PollStatus::Approved);
    assert_eq!(
        daemon.owner().pairing_request(other.id()).await.state,
        RequestStatus::Pending
    );
    let rejected = daemon.cli(&["reject", &other.code().to_string()]).await;
    assert_eq!(rejected.code, 0, "{rejected:?}");
    assert_eq!(status(&other.poll(25).await), PollStatus::AccessDenied);
    let nobody = daemon.cli(&["approve", &code]).await;
    assert_eq!(
        nobody.code, 1,
        "it is approved already, so nobody waits under it: {nobody:?}"
    );
}

#[tokio::test]
async fn transom_pair_shows_the_code_that_the_device_computes_and_reports_the_device() {
    let daemon = TestDaemon::start().await;
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json", "--yes"]));
    let offer: protocol::pairing::OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    let mut device = Pairing::with_fragment(&daemon, &fragment(&offer));
    let code = device.ask().await;
    let shown: serde_json::Value = serde_json::from_str(&pair.line_with("pending").await).unwrap();
    assert_eq!(shown["code"], code.to_string());
    let approved: serde_json::Value = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    assert_eq!(
        (&approved["state"], &approved["id"]),
        (&"approved".into(), &shown["id"])
    );
    let exchanged = device.exchange_when_approved().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    let last: serde_json::Value = serde_json::from_str(&pair.line_with("committed").await).unwrap();
    assert_eq!(last["device_id"], exchanged.device_id.to_string());
    assert_eq!(pair.finish().await.code, 0);
}

#[tokio::test]
async fn transom_pair_says_when_the_device_was_rejected() {
    let daemon = TestDaemon::start().await;
    let mut pair = Running::start(&mut daemon.command(&["pair"]));
    let link = pair.line_with("https://").await;
    let mut device = Pairing::with_fragment(&daemon, link.split_once('#').unwrap().1);
    let code = device.ask().await.to_string();
    pair.line_with("asks to be paired as viewer").await;
    assert_eq!(daemon.cli(&["reject", &code]).await.code, 0);
    let finished = pair.finish().await;
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.stderr.contains("rejected"), "{finished:?}");
}

const HOSTILE: [&str; 9] = [
    "red \u{1b}[31mphone",
    "title \u{1b}]0;x\u{7}",
    "c1 \u{9b}31m",
    "line\nbreak",
    "carriage\rreturn",
    "bidi \u{202e}enohp",
    "isolate \u{2066}x\u{2069}",
    "zero\u{200b}width",
    "nul\0",
];

fn assert_plain_output(finished: &Finished) {
    assert_plain(&finished.stdout);
    assert_plain(&finished.stderr);
}

/// Nothing in it but line ends acts on a terminal or reorders what stands there.
fn assert_plain(text: &str) {
    let acts = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(acts), None, "{text:?}");
}
