//! Devices whose time is over by itself.

use harness::{DaemonOptions, TestDaemon, until};
use pairing::Role;
use protocol::attach::Mode;

#[tokio::test]
async fn a_device_that_was_not_seen_for_the_configured_time_expires_and_one_that_stays_connected_does_not() {
    let config = "[pairing]\nidle_expiry = \"5s\"\n".to_owned();
    let options = DaemonOptions {
        config,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let session = daemon.owner().shell("cat").await;
    let here = daemon.device(Role::Viewer).await;
    let _attached = here.attach(&session.id, Mode::View, "screen").await;
    // Paired later, so it ends later, unless the other is kept for being there.
    let away = daemon.device(Role::Viewer).await;
    let left = until("the end of who is away", || async {
        let devices = daemon.owner().devices().await;
        devices
            .iter()
            .all(|device| device.id != away.id())
            .then_some(devices)
    })
    .await;
    assert_eq!(
        left.iter().map(|device| device.id).collect::<Vec<_>>(),
        [here.id()]
    );
    assert_eq!(away.get("/v1/whoami").await.verdict(), "401 expired");
    assert_eq!(here.get("/v1/whoami").await.verdict(), "200");
}
