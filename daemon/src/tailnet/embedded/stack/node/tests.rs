use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use tokio::net::TcpSocket;

use super::{auth_key, is_over, keys, start};
use crate::config::NodeOptions;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn its_keys_are_made_once_and_are_its_owners_alone() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tailnet");
    let made = keys(&folder).unwrap();
    assert_eq!((mode(&folder), mode(&folder.join("keys.json"))), (0o700, 0o600));
    let kept = keys(&folder).unwrap();
    let written = |keys| serde_json::to_vec(keys).unwrap();
    assert_eq!(written(&kept), written(&made));
}

#[test]
fn keys_that_cannot_be_read_are_said_and_left_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tailnet");
    keys(&folder).unwrap();
    let path = folder.join("keys.json");
    fs::write(&path, "secret").unwrap();
    let error = keys(&folder).unwrap_err().to_string();
    assert!(
        error.contains("holds no keys") && !error.contains("secret"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(keys(&folder).unwrap_err().to_string().contains("0600"));
}

#[tokio::test]
async fn where_its_keys_cannot_be_kept_it_does_not_start_and_names_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tailnet");
    fs::write(&folder, "in the way").unwrap();
    let refused = start(Arc::default(), folder.clone()).await;
    let error = refused.err().unwrap().to_string();
    assert!(error.contains(folder.to_str().unwrap()), "{error}");
}

#[test]
fn the_key_that_takes_it_in_is_its_owners_alone_and_needed_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth-key");
    assert_eq!(auth_key(None, true), Ok(None));
    assert!(
        auth_key(Some(&path), true)
            .unwrap_err()
            .to_string()
            .contains("is not there")
    );
    assert_eq!(auth_key(Some(&path), false), Ok(None));
    fs::write(&path, "tskey-auth-1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = auth_key(Some(&path), false).unwrap_err().to_string();
    assert!(error.contains("0600") && !error.contains("tskey"), "{error}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(auth_key(Some(&path), true), Ok(Some("tskey-auth-1".to_owned())));
}

#[tokio::test]
async fn what_takes_it_in_is_missed_each_time_it_shall_start_and_no_keys_are_made() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tailnet");
    let options = Arc::new(NodeOptions {
        auth_key: Some(home.path().join("auth-key")),
        ..NodeOptions::default()
    });
    for _ in 0..2 {
        let refused = start(Arc::clone(&options), folder.clone()).await;
        let error = refused.err().unwrap().to_string();
        assert!(error.contains("is not there"), "{error}");
        assert!(!folder.join("keys.json").exists());
    }
}

#[tokio::test]
async fn without_a_control_server_it_does_not_start_and_says_why() {
    // Bound, so that nobody else is there either, and not listened at.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = socket.local_addr().unwrap();
    let home = tempfile::tempdir().unwrap();
    let options = NodeOptions {
        control: Some(format!("http://{gone}")),
        ..NodeOptions::default()
    };
    let refused = start(Arc::new(options), home.path().join("tailnet")).await;
    let error = refused.err().unwrap().to_string();
    assert!(
        error.contains(&gone.to_string()) && error.contains("cannot be reached"),
        "{error}"
    );
}

#[test]
fn a_key_is_over_at_its_end_and_one_that_never_ends_never() {
    let (now, year_one) = (1_790_000_000, -62_135_596_800);
    assert!(is_over(now - 1, now) && is_over(now, now));
    assert!(!is_over(now + 1, now) && !is_over(year_one, now) && !is_over(0, now));
}
