//! Sessions outlive the daemon, and end with their keeper.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use harness::{DaemonOptions, Gate, TestDaemon, until};
use protocol::{
    access::Status,
    attach::{CLOSE_GONE, ClientMessage, LOST, Mode},
    sessions::{Output, Session, SessionState, Size, Waited, WaitedFor},
};
use rustix::process::{Pid, Signal, kill_process};

#[tokio::test]
async fn a_program_goes_on_when_the_daemon_is_killed_and_its_output_has_no_gap() {
    let mut daemon = TestDaemon::start().await;
    let script = "seq 1 500; read line; seq 501 1000; read line; exit 7";
    let session = daemon.owner().shell(script).await;
    daemon
        .owner()
        .attach(&session.id, Mode::View, "0")
        .await
        .until("\n500\r\n")
        .await;
    let programs = daemon.programs();
    daemon.kill_and_restart().await;
    assert_eq!(daemon.programs(), programs);
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "0").await;
    attached.send_input(b"\n").await;
    attached.until("\n1000\r\n").await;
    attached.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(7));
    let text = attached.text();
    let numbers = text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse::<u32>().ok());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=1000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_program_that_ends_while_no_daemon_runs_leaves_its_code() {
    let mut daemon = TestDaemon::start().await;
    let gate = daemon.folder().join("gate");
    let script = format!(
        "mkfifo {0}; echo first; read line <{0}; echo last; exit 5",
        gate.display()
    );
    let session = daemon.owner().shell(&script).await;
    daemon
        .owner()
        .attach(&session.id, Mode::View, "0")
        .await
        .until("first")
        .await;
    daemon.signal(Signal::TERM);
    assert!(daemon.ended().await.success());
    // Opening it waits for the program, which reads.
    std::fs::write(&gate, "\n").unwrap();
    until("the program's end", || async {
        daemon.programs().is_empty().then_some(())
    })
    .await;
    daemon.start_again().await;
    let ended = daemon.owner().ended(&session.id).await;
    assert_eq!(ended.exit.unwrap().code, Some(5));
    // A start does not wait for screens that are drawn again.
    until("its last line", || async {
        let ended = daemon.owner().ended(&session.id).await;
        (ended.last_line == "last").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_full_screen_is_the_same_after_a_kill() {
    let mut daemon = TestDaemon::start().await;
    let modes = "\\033[?1049h\\033[?1000h\\033[?1006h\\033[?2004h\\033[?25l\\033[?1h\\033=\\033[>1u";
    let script = format!(
        "printf '{modes}\\033[2J\\033[3;20r\\033[5;7H\\033[1;38;5;99mwide \\344\\270\\255'; \
         seq -s ' ' 1 4000; printf '\\033]2;titled\\007\\033[9;9Hdrawn'; read x; echo on"
    );
    let session = daemon.owner().shell(&script).await;
    let path = format!("/v1/sessions/{}/screen?format=ansi", session.id);
    let drawn = until("the screen", || async {
        let screen = daemon.owner().get(&path).await;
        screen.body.contains("drawn").then_some(screen.body)
    })
    .await;
    daemon.kill_and_restart().await;
    assert_eq!(daemon.owner().get(&path).await.body, drawn);
    assert_eq!(
        daemon.owner().session(&session.id).await.title,
        Some("titled".to_owned())
    );
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "screen").await;
    attached.until("drawn").await.send_input(b"\n").await;
    attached.until("on").await;
}

#[tokio::test]
async fn a_list_right_after_a_kill_has_titles_and_last_lines() {
    let mut daemon = TestDaemon::start().await;
    for number in 0..5 {
        let script = format!(r"printf '\033]0;title {number}\007one\nline {number}\n'; read x");
        let session = daemon.owner().shell(&script).await;
        let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
        attached.until(&format!("line {number}\r\n")).await;
    }
    daemon.kill_and_restart().await;
    let listed: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    for (number, seen) in listed.iter().enumerate() {
        assert_eq!(seen.title, Some(format!("title {number}")));
        assert_eq!(seen.last_line, format!("line {number}"));
    }
    assert_eq!(listed.len(), 5);
    daemon.kill_and_restart().await;
    let seen = daemon.owner().session(&listed[0].id).await;
    assert_eq!(seen.last_line, "line 0");
}

#[tokio::test]
async fn a_query_that_was_answered_is_not_answered_again_by_the_next_daemon() {
    let mut daemon = TestDaemon::start().await;
    let gate = Gate::at(daemon.folder().join("gate"));
    let script = format!(
        "stty raw -echo min 0 time 50; printf '\\033[6n'; dd bs=64 count=1 2>/dev/null | wc -c; read x <{}; \
         stty min 0 time 3; printf 'again:%s.' $(dd bs=64 count=1 2>/dev/null | wc -c); stty min 0 time 50; \
         printf '\\033[6n'; printf 'new:%s.' $(dd bs=64 count=1 2>/dev/null | wc -c)",
        gate.path().display()
    );
    let session = daemon.owner().shell(&script).await;
    daemon
        .owner()
        .attach(&session.id, Mode::View, "0")
        .await
        .until("6\n")
        .await;
    daemon.kill_and_restart().await;
    let screen = format!("/v1/sessions/{}/screen", session.id);
    assert_eq!(daemon.owner().get(&screen).await.status, 200);
    gate.pass("");
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until("again:0.").await.until("new:7.").await;
}

#[tokio::test]
async fn the_daemon_of_another_build_drives_the_keeper_of_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = folder.path().join("earlier");
    std::fs::copy(harness::binary(), &earlier).unwrap();
    let options = DaemonOptions {
        program: Some(earlier.clone()),
        arguments: ["--keeper-speaks", "1"].map(str::to_owned).to_vec(),
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_with(options).await;
    let script = "seq 1 500; read line; seq 501 1000; exit 7";
    let session = daemon.owner().shell(script).await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until("\n500\r\n").await;
    let keeper = daemon.keeper();
    std::fs::remove_file(earlier).unwrap();
    daemon.kill_and_restart().await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    let spoken = status.keeper.unwrap();
    assert_eq!((Some(spoken.pid), spoken.version), (keeper, None));
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "0").await;
    attached.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(7));
    let text = attached.text();
    let numbers = text
        .split_ascii_whitespace()
        .filter_map(|word| word.parse::<u32>().ok());
    assert!(numbers.eq(1..=1000), "{text}");
    let another = daemon.owner().shell("setsid -f sleep 600; sleep 600").await;
    let stop = format!("/v1/sessions/{}/stop", another.id);
    assert_eq!(daemon.owner().post(&stop, &()).await.status, 200);
    assert_eq!((daemon.keeper(), daemon.programs()), (keeper, vec![]));
    let shown = daemon.cli(&["status"]).await;
    assert!(shown.stdout.contains("of an earlier version"), "{shown:?}");
}

#[tokio::test]
async fn the_status_says_which_keeper_holds_the_sessions() {
    let daemon = TestDaemon::start().await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!(status.keeper, None);
    daemon.owner().shell("read x").await;
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    let keeper = status.keeper.unwrap();
    assert_eq!(Some(keeper.pid), daemon.keeper());
    assert_eq!(keeper.version, Some(status.version));
}

#[tokio::test]
async fn when_the_keeper_is_killed_its_sessions_are_lost_and_new_ones_have_another() {
    for arguments in [vec![], vec!["--no-cgroups".to_owned()]] {
        let options = DaemonOptions {
            arguments,
            ..DaemonOptions::default()
        };
        let daemon = TestDaemon::start_with(options).await;
        let session = daemon.owner().shell("setsid -f sleep 600; sleep 600").await;
        until("both programs", || async {
            (daemon.programs().len() >= 2).then_some(())
        })
        .await;
        let programs = daemon.programs();
        let keeper = daemon.keeper().unwrap();
        kill_process(Pid::from_raw(keeper.cast_signed()).unwrap(), Signal::KILL).unwrap();
        until("the session to be lost", || async {
            let session = daemon.owner().get(&format!("/v1/sessions/{}", session.id)).await;
            // While what the keeper held is ended, nobody is the owner.
            let lost = session.status == 200
                && session.ok::<protocol::sessions::Session>().state == SessionState::Lost;
            lost.then_some(())
        })
        .await;
        for program in programs {
            // Whom nobody has waited for yet has no command line any more.
            let line = std::fs::read(format!("/proc/{program}/cmdline")).unwrap_or_default();
            assert!(line.is_empty(), "{program} lives");
        }
        let again = daemon.owner().shell("exit 3").await;
        assert_eq!(daemon.owner().ended(&again.id).await.exit.unwrap().code, Some(3));
    }
}

#[tokio::test]
async fn all_of_a_session_is_in_its_own_cgroup_where_there_can_be_one() {
    let Some(own) = own_cgroup() else {
        eprintln!("skipped: this user may not divide the cgroup of this test");
        return;
    };
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("setsid -f sleep 600; sleep 600").await;
    let instance = &daemon.ready().instance;
    let directory = own.join(format!("transom-{instance}")).join(&session.id);
    let members = || {
        let text = std::fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
        text.lines()
            .map(|line| line.parse().unwrap())
            .collect::<BTreeSet<u32>>()
    };
    // The shell and both programs: the one that left its parents, too.
    until("all of the session to be in it", || async {
        let programs: BTreeSet<u32> = daemon.programs().into_iter().collect();
        (programs.len() == 3 && programs == members()).then_some(())
    })
    .await;
    let keeper = daemon.keeper().unwrap();
    assert!(!members().contains(&keeper));
    let path = format!("/v1/sessions/{}/stop", session.id);
    assert_eq!(daemon.owner().post(&path, &()).await.status, 200);
    until("the end of the cgroup", || async {
        (!directory.exists()).then_some(())
    })
    .await;
}

/// The cgroup of this process in the unified hierarchy, if a cgroup for processes can be made in it (cgroups(7)).
fn own_cgroup() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    let directory = Path::new(mount.split(' ').nth(1)?).join(own);
    let probe = directory.join(format!("transom-probe-{}", std::process::id()));
    std::fs::create_dir(&probe).ok()?;
    let kind = std::fs::read_to_string(probe.join("cgroup.type"));
    std::fs::remove_dir(&probe).ok();
    (kind.ok()?.trim_end() == "domain").then_some(directory)
}

#[tokio::test]
async fn whoever_follows_a_lost_session_is_told_and_what_it_showed_stays() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = r"printf '\033]0;a title\007one\ntwo\n'; read x";
    let session = owner.shell(script).await;
    let (columns, rows) = (90, 25);
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    writer.until("two").await;
    writer.send(&ClientMessage::Size { columns, rows }).await;
    writer.until_size(Size { columns, rows }).await;
    let path = format!("/v1/sessions/{}", session.id);
    let (_, closed) = tokio::join!(
        async {
            let keeper = daemon.keeper().unwrap();
            kill_process(Pid::from_raw(keeper.cast_signed()).unwrap(), Signal::KILL).unwrap();
        },
        writer.until_closed_for(),
    );
    assert_eq!(closed, (CLOSE_GONE, LOST.to_owned()));
    let waited: Waited = until("an answer", || async {
        let answer = owner.get(&format!("{path}/wait")).await;
        // While what the keeper held is ended, nobody is the owner.
        (answer.status == 200).then(|| answer.ok())
    })
    .await;
    assert_eq!(waited.reason, WaitedFor::Exit);
    for _ in 0..2 {
        let seen = daemon.owner().session(&session.id).await;
        assert_eq!((seen.state, seen.exit), (SessionState::Lost, None));
        assert_eq!(
            (seen.title.as_deref(), seen.last_line.as_str()),
            (Some("a title"), "two")
        );
        assert_eq!(seen.size, Size { columns, rows });
        let mut late = daemon.owner().attach(&session.id, Mode::View, "screen").await;
        late.until("two").await;
        assert_eq!(late.until_closed_for().await, (CLOSE_GONE, LOST.to_owned()));
        let output: Output = daemon.owner().get(&format!("{path}/output")).await.ok();
        assert!(output.data.0.ends_with(b"one\r\ntwo\r\n"));
        daemon.kill_and_restart().await;
    }
}

#[tokio::test]
async fn what_a_machine_that_fell_over_left_of_a_session_is_shown() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell(r"printf '\033]0;a title\007one\ntwo\n'; read x")
        .await;
    let size = owner.session(&session.id).await.size;
    owner
        .attach(&session.id, Mode::View, "0")
        .await
        .until("two")
        .await;
    let folder = daemon.folder().join("sessions").join(&session.id);
    until("the output on the disk", || async {
        let mut files = std::fs::read_dir(&folder).ok()?.flatten();
        let has_all = |file: std::fs::DirEntry| {
            let bytes = std::fs::read(file.path()).unwrap_or_default();
            bytes.windows(5).any(|window| window == b"two\r\n")
        };
        files.any(has_all).then_some(())
    })
    .await;
    let keeper = Pid::from_raw(daemon.keeper().unwrap().cast_signed()).unwrap();
    daemon.signal(Signal::KILL);
    kill_process(keeper, Signal::KILL).unwrap();
    daemon.start_again().await;
    let seen = daemon.owner().session(&session.id).await;
    assert_eq!((seen.state, seen.exit), (SessionState::Lost, None));
    assert_eq!(
        (seen.title.as_deref(), seen.last_line.as_str()),
        (Some("a title"), "two")
    );
    assert_eq!(seen.size, size);
}

#[tokio::test]
async fn sessions_go_on_when_the_runtime_directory_went_with_the_last_login() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let login = DaemonOptions {
        environment: vec![
            ("TRANSOM_DIR".to_owned(), String::new()),
            ("XDG_RUNTIME_DIR".to_owned(), runtime.display().to_string()),
        ],
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_with(login.clone()).await;
    assert!(daemon.socket().starts_with(&runtime), "as for who logs in");
    let session = daemon.owner().shell("echo ready; read x; exit 7").await;
    daemon
        .owner()
        .attach(&session.id, Mode::View, "0")
        .await
        .until("ready")
        .await;
    let no_login = DaemonOptions {
        environment: login.environment[..1].to_vec(),
        ..DaemonOptions::default()
    };
    for again in [&login, &no_login] {
        daemon.signal(Signal::KILL);
        std::fs::remove_dir_all(&runtime).unwrap();
        std::fs::create_dir(&runtime).unwrap();
        daemon.start_again_with(again).await;
        let seen = daemon.owner().session(&session.id).await;
        assert_eq!(seen.state, SessionState::Running);
    }
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "0").await;
    attached.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(7));
}
