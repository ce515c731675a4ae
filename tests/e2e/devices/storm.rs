//! Revocations under connections that come and go. `REVOCATIONS` says how many, `CONNECTIONS` how many tasks open and close at
//! once: 100 of 1,000 are a run of some 20 min.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use harness::{DaemonOptions, Device, TestDaemon, Unattached, raise_descriptors, until, within};
use pairing::Role;
use protocol::attach::{CLOSE_REVOKED, Mode};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoking_a_device_whose_connections_open_and_close_ends_each_time_and_leaves_none() {
    raise_descriptors();
    let [rounds, connections] = [("REVOCATIONS", 6), ("CONNECTIONS", 60)]
        .map(|(name, usual)| std::env::var(name).map_or(usual, |text| text.parse().unwrap()));
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: format!("[limits]\nper_principal = {}\n", 2 * connections),
        ..DaemonOptions::default()
    })
    .await;
    let owner = daemon.owner();
    let session = owner.shell("while :; do echo on; sleep 0.1; done").await;
    let other = daemon.device(Role::Viewer).await;
    let mut beside = other.attach(&session.id, Mode::View, "screen").await;
    let mut longest = Duration::ZERO;
    for _ in 0..rounds {
        let lost = Arc::new(daemon.device(Role::Viewer).await);
        let comings = Arc::new(AtomicUsize::new(0));
        let mut comers = JoinSet::new();
        for number in 0..connections {
            let (lost, comings, session) = (lost.clone(), comings.clone(), session.id.clone());
            comers.spawn(async move { come_and_go(number, &lost, &session, &comings).await });
        }
        until("each to have come and some to have gone", || async {
            (comings.load(Ordering::Relaxed) > connections).then_some(())
        })
        .await;
        let revoked = owner.revoke(lost.id()).await;
        longest = longest.max(Duration::from_micros(revoked.elapsed_us));
        within("everybody to be told", comers.join_all()).await;
        assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
        // Another device on the same daemon goes on.
        beside.next().await.unwrap();
    }
    println!("{rounds} revocations under {connections} tasks, the longest took {longest:?}");
    drop(beside);
    until("no viewer to be left", || async {
        Some(owner.session(&session.id).await).filter(|session| session.viewers == 0)
    })
    .await;
}

/// Opens and closes connections of one kind, until it is told that the device is revoked.
async fn come_and_go(number: usize, device: &Device, session: &str, comings: &AtomicUsize) {
    loop {
        let told = match number % 3 {
            0 => attaches(device, session).await,
            1 => device.glance("/v1/whoami").await,
            // An answer without end, which is left after its first bytes.
            _ => device.glance("/v1/events").await,
        };
        match told {
            Ok(()) => comings.fetch_add(1, Ordering::Relaxed),
            Err(Unattached::Refused(answer)) => match answer.verdict().as_str() {
                "401 revoked" => return,
                // It was authenticated, and the device ended before the connection was its own: it asks once more.
                "401 authentication_ended" => 0,
                other => panic!("{other}"),
            },
            // Cut off in the middle, or as the oldest stranger of a full pool: it comes again.
            Err(Unattached::Broken(_)) => 0,
        };
    }
}

async fn attaches(device: &Device, session: &str) -> Result<(), Unattached> {
    let mut attached = device.reach(session, Mode::View, "screen").await?;
    if let Err(code) = attached.next().await {
        assert!([CLOSE_REVOKED, 1006].contains(&code), "{code}");
    }
    Ok(())
}
