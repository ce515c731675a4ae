//! `transom certs next` and `certs rotate`, and the command line as a device that knows the pin.

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{Elsewhere, TestDaemon, shown};
use pairing::Role;
use protocol::certificates::{Certificates, Knowing, KnowsBy, Rotated};

async fn rotate(daemon: &TestDaemon) -> Rotated {
    let rotated = daemon.cli(&["certs", "rotate", "--yes", "--json"]).await;
    serde_json::from_str(&rotated.stdout).unwrap_or_else(|_| panic!("{rotated:?}"))
}

async fn pin_shown(daemon: &TestDaemon) -> String {
    let leaf = shown(daemon.address(), IDENTITY_SERVER_NAME).await;
    SpkiPin::of_certificate(&leaf).unwrap().to_string()
}

fn by(devices: &[Knowing], label: &str) -> Option<KnowsBy> {
    devices
        .iter()
        .find(|device| device.label == label)
        .map(|device| device.by)
}

#[tokio::test]
async fn a_machine_that_kept_the_announced_pin_goes_on_and_one_that_did_not_must_pair_again() {
    let mut daemon = TestDaemon::start().await;
    let told = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let untold = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let announced = daemon.cli(&["certs", "next", "--json"]).await;
    let announced: Certificates = serde_json::from_str(&announced.stdout).unwrap();
    let next = announced.next_pin.unwrap();
    assert_ne!(next, daemon.pin());
    assert_eq!(pin_shown(&daemon).await, daemon.pin(), "it is not served yet");
    let device = told.on_desk(&["whoami"]).await;
    assert_eq!(device.code, 0, "{device:?}");
    let kept = std::fs::read_to_string(told.desk_file()).unwrap();
    assert!(kept.contains(&next), "{kept}");
    daemon.kill_and_restart().await;
    let late = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let kept = std::fs::read_to_string(late.desk_file()).unwrap();
    assert!(kept.contains(&next), "who pairs later keeps it at once: {kept}");
    told.go_by(daemon.address());
    untold.go_by(daemon.address());
    assert_eq!(told.on_desk(&["whoami"]).await.code, 0);
    let rotated = rotate(&daemon).await;
    assert_eq!(
        (rotated.pin.as_str(), rotated.former_pin.as_str()),
        (next.as_str(), daemon.pin())
    );
    assert_eq!(pin_shown(&daemon).await, next);
    let goes_on = told.on_desk(&["whoami"]).await;
    assert_eq!(goes_on.code, 0, "{goes_on:?}");
    assert_eq!(late.on_desk(&["whoami"]).await.code, 0);
    let refused = untold.on_desk(&["whoami", "--json"]).await;
    assert_eq!(
        (refused.code, refused.json()["code"].as_str()),
        (4, Some("wrong_pin")),
        "{refused:?}"
    );
    let kept = std::fs::read_to_string(told.desk_file()).unwrap();
    assert!(kept.contains(&next) && !kept.contains(daemon.pin()), "{kept}");
    assert_eq!(told.on_desk(&["whoami"]).await.code, 0);
}

#[tokio::test]
async fn what_is_done_is_done_where_the_pin_that_comes_next_cannot_be_kept() {
    let daemon = TestDaemon::start().await;
    let laptop = Elsewhere::paired_with(&daemon, Role::Operator).await;
    daemon.cli(&["certs", "next", "--json"]).await;
    // Whoever changes the folder opens this file for writing, which fails for root as well.
    let lock = laptop.desk_file().with_file_name("lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let made = laptop.on_desk(&["new", "--json", "--", "cat"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(made.stderr.matches("could not be kept").count(), 1, "{made:?}");
    std::fs::remove_dir(&lock).unwrap();
    assert_eq!(laptop.on_desk(&["whoami"]).await.code, 0);
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    let kept = std::fs::read_to_string(laptop.desk_file()).unwrap();
    assert!(
        kept.contains(&told.next_pin.unwrap()),
        "the next command tries again"
    );
}

#[tokio::test]
async fn who_must_pair_again_is_said_and_whoever_is_connected_is_cut_off() {
    let daemon = TestDaemon::start().await;
    let laptop = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    assert_eq!(laptop.on_desk(&["whoami"]).await.code, 0);
    let asked = daemon.cli(&["certs", "rotate"]).await;
    assert_eq!(asked.code, 2, "nobody can be asked: {asked:?}");
    let (named, _) = asked.stderr.split_once("error:").unwrap();
    assert!(
        named.contains("a laptop") && named.contains("must pair again"),
        "{asked:?}"
    );
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("cat").await;
    let mut attached = device
        .attach(&session.id, protocol::attach::Mode::View, "screen")
        .await;
    attached.next().await.unwrap();
    let rotated = rotate(&daemon).await;
    assert_eq!(
        by(&rotated.devices, "a laptop"),
        Some(KnowsBy::Pin),
        "{rotated:?}"
    );
    assert!(rotated.closed >= 1 && !rotated.root_stays);
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    assert_eq!(
        by(&told.devices, "a laptop"),
        Some(KnowsBy::FormerPin),
        "{told:?}"
    );
    attached.until_closed().await;
    let again = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    assert_eq!(again.on_desk(&["whoami"]).await.code, 0);
    let rows = daemon
        .cli(&["audit", "--action", "key_rotated", "--json"])
        .await
        .json();
    assert!(
        rows[0]["detail"].as_str().unwrap().contains(&rotated.pin),
        "{rows}"
    );
}

#[tokio::test]
async fn a_key_that_was_rotated_outlives_a_kill_and_so_does_what_devices_trust() {
    let mut daemon = TestDaemon::start().await;
    daemon.cli(&["certs", "trust", "--json"]).await;
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    let pem = told.root.unwrap().pem;
    let root = rustls::pki_types::pem::PemObject::from_pem_slice(pem.as_bytes()).unwrap();
    let rotated = rotate(&daemon).await;
    assert!(rotated.root_stays, "it vouches for the new key too");
    assert_eq!(
        harness::accepts(daemon.address(), "localhost", &root).await,
        Ok(())
    );
    daemon.kill_and_restart().await;
    assert_eq!(
        (pin_shown(&daemon).await, daemon.pin().to_owned()),
        (rotated.pin.clone(), rotated.pin)
    );
    assert_eq!(
        harness::accepts(daemon.address(), "localhost", &root).await,
        Ok(())
    );
    assert!(!daemon.folder().join("keys/next.pem").exists());
}
