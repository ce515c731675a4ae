//! What makes a machine a device stays in its one file.

use std::{fs, path::Path, process::Stdio};

use harness::{DaemonOptions, Elsewhere, TestDaemon};
use pairing::Role;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::Child,
};

#[tokio::test]
async fn offer_token_and_key_are_in_no_argument_no_output_no_log_and_no_other_file() {
    let options = DaemonOptions {
        environment: vec![("TRANSOM_LOG".to_owned(), "trace".to_owned())],
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let elsewhere = Elsewhere::new();
    let link = Elsewhere::link(&daemon, Role::Operator, daemon.address()).await;
    let mut child = add(&elsewhere, &link).await;
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    // It waits for the owner: now other processes can look at it.
    let mut places = vec![said.next_line().await.unwrap().unwrap()];
    let pid = child.id().unwrap();
    for file in ["cmdline", "environ"] {
        places.push(text(Path::new(&format!("/proc/{pid}/{file}"))));
    }
    daemon.owner().approve(daemon.owner().asked().await.id).await;
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    places.push(String::from_utf8(output.stdout).unwrap());
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(elsewhere.desk_file()).unwrap()).unwrap();
    let secret = |name: &str| record[name].as_str().unwrap().to_owned();
    let token = secret("token").trim_start_matches("tsm_dev_").to_owned();
    let offer = link.split('.').rev().nth(1).unwrap().to_owned();
    for verb in [
        &["whoami", "--json"][..],
        &["new", "--", "cat"],
        &["ls"],
        &["stop", "none"],
    ] {
        let done = elsewhere.on_desk(verb).await;
        places.push(format!("{}{}", done.stdout, done.stderr));
    }
    for verb in [
        &["remote", "list"][..],
        &["remote", "list", "--json"],
        &["remote", "add", "-"],
    ] {
        let done = elsewhere.cli_with(verb, &link[..link.len() - 1]).await;
        places.push(format!("{}{}", done.stdout, done.stderr));
    }
    for folder in [
        daemon.folder().join("log"),
        daemon.folder().to_owned(),
        elsewhere.folder().join("remotes"),
    ] {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let others = files.filter(|path| path.is_file() && *path != elsewhere.desk_file());
        places.extend(others.map(|path| text(&path)));
    }
    assert!(
        places.iter().any(|place| place.contains("remote\0add")),
        "the arguments were looked at"
    );
    assert!(
        places.iter().any(|place| place.contains("paired a device")),
        "the log was looked at"
    );
    for (name, secret) in [("token", &token), ("key", &secret("key")), ("offer", &offer)] {
        assert!(secret.len() > 40);
        assert!(
            !places.iter().any(|place| place.contains(secret)),
            "{name} is elsewhere too"
        );
    }
}

/// Begins to add the daemon of the link, which it is told on its input.
async fn add(elsewhere: &Elsewhere, link: &str) -> Child {
    let mut command = elsewhere.command(&["remote", "add", "--name", "desk", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(format!("{link}\n").as_bytes()).await.unwrap();
    child
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    bytes.into_iter().map(char::from).collect()
}
