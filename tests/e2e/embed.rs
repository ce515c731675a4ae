//! The access layer around somebody else's application: `server/examples/embed.rs`, as a native device meets it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use harness::{DeviceKey, Elsewhere, Invitation, Owner, Pairing, TlsClient, example, within};
use protocol::guests::NewInvitation;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

#[tokio::test]
async fn an_embedded_application_is_behind_paired_devices_and_their_revocation() {
    let (_kept, folder) = folder();
    let Embedded { address, pin, .. } = &Embedded::start(&folder).await;
    let owner = Owner::new(folder.join("transom.sock"));
    let stranger = TlsClient::new(*address, pin).get("/hello/world", None).await;
    assert_eq!(stranger.verdict(), "401 unauthenticated");

    let mut pairing = Pairing::without_offer(*address, pin);
    let code = pairing.ask().await;
    assert_eq!(
        owner.pairing_request(pairing.id()).await.code,
        Some(code.to_string())
    );
    assert_eq!(owner.approve(pairing.id()).await.status / 100, 2);
    let exchanged = pairing.exchange().await;
    assert_eq!(
        pairing.try_commit(exchanged.token.expose()).await.verdict(),
        "204"
    );
    let device = pairing.into_device(&exchanged);

    let hello = device.get("/hello/moon").await;
    assert_eq!((hello.status, hello.body.as_str()), (200, "Hello, moon!"));
    let unproven = TlsClient::new(*address, pin)
        .get("/hello/world", Some(device.token()))
        .await;
    assert_eq!(unproven.verdict(), "401 proof_required");
    let access = device.access().await;
    owner.revoke(device.id()).await;
    let dead = TlsClient::new(*address, pin)
        .get("/hello/world", Some(&access))
        .await;
    assert_eq!(dead.verdict(), "401 revoked");
}

#[tokio::test]
async fn a_guest_of_an_embedded_application_sees_what_it_was_invited_to_and_nothing_else_until_it_is_ended() {
    let (_kept, folder) = folder();
    let Embedded { address, pin, .. } = &Embedded::start(&folder).await;
    let owner = Owner::new(folder.join("transom.sock"));
    let mut wish = NewInvitation {
        sessions: vec!["nothing".to_owned()],
        expires_in: 3600,
        count: None,
        with_scrollback: false,
        login: None,
    };
    let nowhere = owner.post("/v1/guests", &wish).await;
    assert_eq!(nowhere.verdict(), "404 not_found");
    wish.sessions = vec!["world".to_owned()];
    let invitation = Invitation::by(&owner, &wish).await.remove(0);
    assert_eq!(&invitation.pin, pin);
    let guest = invitation.open_at(*address, DeviceKey::generate()).await;
    let guest = guest.unwrap_or_else(|refused| panic!("{refused:?}"));

    let hello = guest.get("/hello/world").await;
    assert_eq!((hello.status, hello.body.as_str()), (200, "Hello, world!"));
    for path in [
        "/hello/moon",
        "/hello/nothing",
        "/v1/devices",
        "/v1/guests",
        "/v1/audit",
    ] {
        assert_eq!(guest.get(path).await.verdict(), "403 not_permitted", "{path}");
    }
    let again = invitation.open_at(*address, DeviceKey::generate()).await;
    assert_eq!(again.err().expect("it is used").verdict(), "409 invitation_used");

    let path = format!("/v1/guests/{}", guest.guest_id());
    let ended = owner.request("DELETE", &path, None::<&()>).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    assert_eq!(guest.get("/hello/world").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn the_command_line_pairs_with_an_embedded_application_and_revokes_from_it() {
    let (_kept, folder) = folder();
    let Embedded { address, pin, .. } = &Embedded::start(&folder).await;
    let owner = Owner::new(folder.join("transom.sock"));
    let elsewhere = Elsewhere::new();
    let address = address.to_string();
    let arguments = ["remote", "add", "--name", "desk", "--pin", pin, &address];
    let (added, approved) = tokio::join!(elsewhere.cli(&arguments), async {
        owner.approve(owner.asked().await.id).await
    });
    assert_eq!((added.code, approved.status / 100), (0, 2), "{added:?}");
    let me = elsewhere.on_desk(&["whoami", "--json"]).await;
    assert_eq!(me.json()["scopes"][2], "greeting:view", "{me:?}");
    let devices = owner.devices().await;
    owner.revoke(devices[0].id).await;
    let refused = elsewhere.on_desk(&["whoami"]).await;
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("revoked"), "{refused:?}");
}

#[tokio::test]
async fn a_second_embedder_does_not_take_the_folder_of_one_that_runs() {
    let (_kept, folder) = folder();
    let _first = Embedded::start(&folder).await;
    let second = command(&folder).stderr(Stdio::null()).status();
    assert!(!within("its end", second).await.unwrap().success());
    Owner::new(folder.join("transom.sock")).devices().await;
}

/// A folder that the example is to make, and what keeps the one around it.
fn folder() -> (TempDir, PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("embedded");
    (around, folder)
}

/// The running example. Dropping it kills it.
struct Embedded {
    address: SocketAddr,
    pin: String,
    _child: Child,
}

impl Embedded {
    async fn start(folder: &Path) -> Self {
        let mut child = command(folder).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let line = within("the example's first line", output.lines().next_line()).await;
        let line = line.unwrap().expect("the example says where it is");
        let (address, pin) = line.split_once(' ').unwrap();
        Self {
            address: address.parse().unwrap(),
            pin: pin.to_owned(),
            _child: child,
        }
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(example("server", "embed"));
    command.arg(folder).kill_on_drop(true);
    command
}
