//! What access tokens open, where, and until when.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use harness::{Answer, DaemonOptions, Device, TestDaemon, TlsClient};
use pairing::Role;
use protocol::{
    access::Proven,
    attach::{CLOSE_REVOKED, Mode},
};
use tokio::{net::TcpStream, sync::mpsc};

#[tokio::test]
async fn twenty_renewals_at_once_all_succeed_and_leave_the_other_tokens_alone() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let mut challenges = Vec::new();
    for _ in 0..20 {
        challenges.push(device.challenge().await);
    }
    let renewals = challenges.iter().map(|challenge| {
        let (client, proof) = (device.client(), device.proof(challenge));
        let token = device.token().to_owned();
        tokio::spawn(async move { client.post("/v1/auth/proof", Some(&token), &proof).await })
    });
    let renewals: Vec<_> = renewals.collect();
    let mut tokens = Vec::new();
    for renewal in renewals {
        let proven: Proven = renewal.await.unwrap().ok();
        tokens.push(proven.access_token.expose().to_owned());
    }
    let client = device.client();
    for token in &tokens {
        assert_eq!(client.get("/v1/whoami", Some(token)).await.verdict(), "200");
    }
}

#[tokio::test]
async fn an_attached_websocket_outlives_the_access_token_that_opened_it() {
    let daemon = TestDaemon::start().await;
    let session = daemon
        .owner()
        .shell("stty -echo; while read x; do echo got-$x; done")
        .await;
    let device = daemon.device(Role::Operator).await;
    let opened_by = device.access().await;
    let mut native = device.attach(&session.id, Mode::Write, "screen").await;
    let mut page = device
        .attach_like_a_browser(&session.id, Mode::View, "screen")
        .await;
    for attached in [&mut native, &mut page] {
        attached.next().await.unwrap();
    }
    // A device has so many access tokens; one more ends the oldest.
    let mut challenge = device.challenge().await;
    for _ in 0..256 {
        let proven: Proven = device.prove(&device.proof(&challenge)).await.ok();
        challenge = proven.challenge;
    }
    let ended = device.client().get("/v1/whoami", Some(&opened_by)).await;
    assert_eq!(ended.verdict(), "401 access_ended");
    native.send_input(b"on\n").await;
    for attached in [&mut native, &mut page] {
        attached.until("got-on").await;
    }
    let mut late = device.attach_with_first_frame(&session.id, &opened_by).await;
    assert_eq!(
        late.until_closed_for().await,
        (CLOSE_REVOKED, "access_ended".to_owned())
    );
    // It ends with the device, as it began with it.
    daemon.owner().revoke(device.id()).await;
    for attached in [&mut native, &mut page] {
        assert!([CLOSE_REVOKED, 1006].contains(&attached.until_closed().await));
    }
}

#[tokio::test]
async fn a_restart_ends_access_tokens_and_the_device_proves_itself_anew() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    let access = device.access().await;
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    let refused = device.client().get("/v1/whoami", Some(&access)).await;
    assert_eq!(refused.verdict(), "401 access_ended");
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn an_access_token_is_good_on_the_listener_that_gave_it_only() {
    let options = DaemonOptions {
        arguments: ["--tls", "[::1]:0"].map(str::to_owned).to_vec(),
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let mut device = daemon.device(Role::Viewer).await;
    let access = device.access().await;
    let other: std::net::SocketAddr = daemon.ready().tls[1].address.parse().unwrap();
    let elsewhere = TlsClient::new(other, daemon.pin());
    let refused = elsewhere.get("/v1/whoami", Some(&access)).await;
    assert_eq!(refused.verdict(), "401 access_ended");
    // A challenge is as little good there.
    let proof = device.proof(&device.challenge().await);
    let refused = elsewhere
        .post("/v1/auth/proof", Some(device.token()), &proof)
        .await;
    assert_eq!(refused.verdict(), "401 unknown_challenge");
    device.go_by(other);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn an_access_token_of_a_revoked_device_says_so_on_every_way_in() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let (lost, kept) = (
        daemon.device(Role::Operator).await,
        daemon.device(Role::Viewer).await,
    );
    let access = lost.access().await;
    kept.access().await;
    let proof = lost.proof(&lost.challenge().await);
    daemon.owner().revoke(lost.id()).await;
    let client = lost.client();
    for path in ["/v1/whoami", "/v1/sessions"] {
        assert_eq!(client.get(path, Some(&access)).await.verdict(), "401 revoked");
    }
    assert_eq!(lost.prove(&proof).await.verdict(), "401 revoked");
    let attached = lost.try_attach(&session.id, Mode::View, "screen").await;
    assert_eq!(
        attached.err().as_ref().map(Answer::verdict).unwrap(),
        "401 revoked"
    );
    let mut page = lost.attach_with_first_frame(&session.id, &access).await;
    assert_eq!(
        page.until_closed_for().await,
        (CLOSE_REVOKED, "revoked".to_owned())
    );
    assert_eq!(kept.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn a_guess_at_an_access_token_answers_as_one_that_is_over() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let access = device.access().await;
    let body = bs58::decode(access.rsplit('_').next().unwrap())
        .into_vec()
        .unwrap();
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let cut = &access[..access.len() - 2];
    assert_eq!(
        client.get("/v1/whoami", Some(cut)).await.verdict(),
        "401 malformed_token"
    );
    let mut known_id = [0x11; 8];
    known_id.copy_from_slice(&body[..8]);
    for id in [known_id, [0x22; 8]] {
        let guess =
            pairing::AccessToken::generate(pairing::AccessId::from_bytes(id), &mut server::random::rng());
        let answer = client.get("/v1/whoami", Some(&guess.reveal())).await;
        assert_eq!(answer.verdict(), "401 access_ended");
    }
}

#[tokio::test]
async fn a_page_that_opens_a_websocket_and_says_nothing_is_closed_after_five_seconds() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let device = daemon.device(Role::Viewer).await;
    let begun = Instant::now();
    let mut silent = device.attach_silently(&session.id).await;
    assert_eq!(
        silent.until_closed_for().await,
        (CLOSE_REVOKED, "unauthenticated".to_owned())
    );
    let waited = begun.elapsed();
    assert!(
        waited > Duration::from_millis(4_500) && waited < Duration::from_secs(10),
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_websocket_that_has_not_authenticated_goes_first_when_the_pool_is_full() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let device = daemon.device(Role::Viewer).await;
    let mut known = device.attach_like_a_browser(&session.id, Mode::View, "0").await;
    known.next().await.unwrap();
    let begun = Instant::now();
    let mut silent = device.attach_silently(&session.id).await;
    let mut crowd = Vec::new();
    for _ in 0..260 {
        crowd.push(TcpStream::connect(daemon.address()).await.unwrap());
    }
    assert_eq!(silent.until_closed().await, 1006);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it went for room, before its time was over"
    );
    daemon
        .owner()
        .post(&format!("/v1/sessions/{}/stop", session.id), &())
        .await;
    known.until_exit().await;
}

#[tokio::test]
async fn a_proof_that_races_a_revocation_gives_nothing_that_lives() {
    let daemon = TestDaemon::start().await;
    for _ in 0..5 {
        let lost = Arc::new(daemon.device(Role::Operator).await);
        let (proven, mut first) = mpsc::channel(1);
        let proving: Vec<_> = (0..6)
            .map(|_| tokio::spawn(prove_until_revoked(lost.clone(), proven.clone())))
            .collect();
        first
            .recv()
            .await
            .expect("a proof was made, and others are under way");
        daemon.owner().revoke(lost.id()).await;
        for task in proving {
            for token in task.await.unwrap() {
                let answer = lost.client().get("/v1/whoami", Some(&token)).await;
                assert_eq!(answer.verdict(), "401 revoked");
            }
        }
    }
}

/// Proves its key again and again; the access tokens that it got.
async fn prove_until_revoked(device: Arc<Device>, proven: mpsc::Sender<()>) -> Vec<String> {
    let mut tokens = Vec::new();
    loop {
        let client = device.client();
        let refused = client.get("/v1/whoami", None).await;
        let proof = device.proof(&refused.problem().challenge.unwrap());
        let request = client.build("POST", "/v1/auth/proof", Some(device.token()), Some(&proof));
        // A connection that was cut in the middle says nothing.
        let Ok(response) = request.send().await else {
            continue;
        };
        let Ok(answer) = Answer::read(response).await else {
            continue;
        };
        if answer.status == 401 {
            let verdict = answer.verdict();
            assert!(
                ["401 revoked", "401 authentication_ended"].contains(&verdict.as_str()),
                "{verdict}"
            );
            return tokens;
        }
        tokens.push(answer.ok::<Proven>().access_token.expose().to_owned());
        // Only the first is waited for.
        let _ = proven.try_send(());
    }
}

#[tokio::test]
async fn no_restart_and_nothing_from_before_brings_a_revoked_device_back() {
    let mut daemon = TestDaemon::start().await;
    let mut lost = daemon.device(Role::Operator).await;
    let access = lost.access().await;
    let before = lost.proof(&lost.challenge().await);
    daemon.owner().revoke(lost.id()).await;
    daemon.kill_and_restart().await;
    lost.follow(&daemon);
    let client = lost.client();
    assert_eq!(
        client.get("/v1/whoami", Some(&access)).await.verdict(),
        "401 access_ended"
    );
    for proof in [before, lost.proof(&lost.challenge().await)] {
        assert_eq!(lost.prove(&proof).await.verdict(), "401 revoked");
    }
    assert!(daemon.owner().devices().await.is_empty());
}
