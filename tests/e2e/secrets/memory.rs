//! Who may look into the processes.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt, chown},
    sync::Arc,
    thread,
};

use harness::{DaemonOptions, Finished, Running, TestDaemon, binary, descendants};
use rustix::{
    process::{Gid, Uid},
    thread::{set_thread_res_gid, set_thread_res_uid},
};
use tokio::process::Command;

#[tokio::test]
async fn no_process_of_the_same_user_looks_into_daemon_keeper_or_command_line() {
    // Root looks into everything: where the test is root, all of it is another user.
    let user = rustix::process::geteuid().is_root().then_some(NOBODY);
    let mut private = tempfile::Builder::new();
    let private = private
        .prefix("transom")
        .permissions(Permissions::from_mode(0o700));
    let folder = private.tempdir().unwrap();
    let program = folder.path().join("transom-of-the-test");
    fs::copy(binary(), &program).unwrap();
    if let Some(user) = user {
        chown(folder.path(), Some(user), Some(user)).unwrap();
    }
    let options = DaemonOptions {
        program: Some(program.clone()),
        user,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_in(Arc::new(folder), &options).await;
    let as_user = |verb: &[&str]| {
        let mut command = Command::new(&program);
        command
            .env_clear()
            .env("TRANSOM_DIR", daemon.folder())
            .env("HOME", daemon.folder())
            .current_dir("/")
            .args(verb);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command
    };
    let mut run = Running::start(&mut as_user(&["run", "--", "/bin/sh", "-c", "echo runs; read x"]));
    run.line_with("runs").await;
    let keeper = daemon.keeper().unwrap();
    let programs = daemon.programs();
    for (name, pid) in [
        ("the daemon", daemon.pid()),
        ("the keeper", keeper),
        ("the reaper", descendants(keeper)[0]),
        ("transom run", run.pid()),
    ] {
        let refused = looks_into(user, pid).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::PermissionDenied), "{name}");
    }
    // It is no matter of the test's own doing: what is a person's own can be looked into.
    assert!(looks_into(user, programs[0]).is_ok());
    drop(run);
    let ended = Finished::of(&mut as_user(&["shutdown", "--sessions"])).await;
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// What a process was started with, as another of this user reads it: the kernel asks for the same right as for its memory.
fn looks_into(user: Option<u32>, pid: u32) -> io::Result<()> {
    let looking = thread::spawn(move || {
        if let Some(user) = user {
            // The kernel compares the groups, too.
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(user));
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
        }
        fs::read(format!("/proc/{pid}/environ")).map(drop)
    });
    looking.join().expect("it only reads")
}

/// The user that owns nothing (Debian's and Fedora's `nobody`).
const NOBODY: u32 = 65534;
