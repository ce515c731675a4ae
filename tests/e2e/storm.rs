//! The daemon killed again and again, at moments that nobody chose. `STORM` says how often, `STORM_SEED` chooses the same
//! moments again.

mod counted;
mod remote;

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{SystemTime, UNIX_EPOCH},
};

use harness::{
    Chance, DaemonOptions, Finished, Gate, Owner, Pacer, TerminalOf, TestDaemon, another_build, until,
};
use protocol::sessions::{Output, Session};
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    task::JoinHandle,
};

use self::{counted::Counted, remote::Remotes};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_their_clients_go_on_however_often_the_daemon_is_killed() {
    storm(&[DaemonOptions::default()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn they_go_on_where_each_next_daemon_is_of_another_build_than_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("transom");
    another_build(&other);
    let earlier = DaemonOptions {
        // The keeper is of this one, and speaks as those of the time before did.
        arguments: ["--keeper-speaks", "1"].map(str::to_owned).to_vec(),
        ..DaemonOptions::default()
    };
    let later = DaemonOptions {
        program: Some(other),
        ..DaemonOptions::default()
    };
    storm(&[earlier, later]).await;
}

/// Kills daemons of these builds, one after the other, under sessions and those who follow them.
async fn storm(builds: &[DaemonOptions]) {
    let mut chance = chance();
    let kills: usize = std::env::var("STORM").map_or(20, |count| count.parse().unwrap());
    let mut builds = builds.iter().cycle();
    let mut next_build = || builds.next().unwrap();
    let mut daemon = TestDaemon::start_with(next_build().clone()).await;
    let mut pacer = Pacer::start(daemon.folder(), COUNTERS);
    let counters = Counters::start(&daemon, &pacer).await;
    let typists = Typists::start(&daemon, &pacer).await;
    let mut remotes = Remotes::start(&daemon, &counters.sessions[1]).await;
    let (mut brief, mut deaths) = (Vec::new(), kills);
    for round in 0..kills {
        let code = i32::try_from(round % 50).unwrap() + 3;
        let gate = Gate::at(daemon.folder().join(format!("brief.{round}")));
        let script = format!("read x <{}; exit {code}", gate.path().display());
        let session = daemon.owner().shell(&script).await;
        typists
            .at_a_terminal
            .types(format!("{round:08}\r").as_bytes())
            .await;
        pacer.after(chance.below(200)).await;
        if chance.below(2) == 0 {
            gate.pass("");
        }
        daemon.kill().await;
        gate.pass("");
        if chance.below(3) == 0 {
            deaths += 1;
            let moment = pacer.after(chance.below(60));
            daemon.start_until(next_build(), moment).await;
        }
        daemon.start_again_with(next_build()).await;
        remotes.follow(&daemon);
        brief.push((session, code, gate));
    }
    println!(
        "{kills} daemons were killed that served, {} that did not yet",
        deaths - kills
    );
    for (session, code, _gate) in &brief {
        let ended = daemon.owner().ended(&session.id).await;
        assert_eq!(ended.exit.unwrap().code, Some(*code), "{}", session.name);
    }
    println!(
        "{} programs ended meanwhile, all with their exit codes",
        brief.len()
    );
    typists.finish(&daemon, kills, deaths).await;
    remotes.finish_typing(&daemon, deaths).await;
    pacer.stop();
    counters.finish(&daemon, &pacer, remotes, deaths).await;
}

/// Sessions that print numbers for ever, the first of them followed by a command that passes its output on.
struct Counters {
    sessions: Vec<Session>,
    programs: Vec<u32>,
    followed: JoinHandle<Finished>,
}

impl Counters {
    async fn start(daemon: &TestDaemon, pacer: &Pacer) -> Self {
        let script = |index: usize| counter(pacer.gate(index).path(), 40 + index);
        let mut run = daemon.command(&["run", "--name", "counter-0", "--", "/bin/sh", "-c", &script(0)]);
        let child = piped(run.stdin(Stdio::null()));
        let followed = tokio::spawn(Finished::of_child(child));
        let owner = daemon.owner();
        let first = until("the first counter", || async {
            let sessions: Vec<Session> = owner.get("/v1/sessions").await.ok();
            sessions.into_iter().find(|session| session.name == "counter-0")
        });
        let mut sessions = vec![first.await];
        for index in 1..COUNTERS {
            sessions.push(owner.shell(&script(index)).await);
        }
        Self {
            sessions,
            programs: daemon.programs(),
            followed,
        }
    }

    async fn finish(self, daemon: &TestDaemon, pacer: &Pacer, remotes: Remotes, most: usize) {
        let owner = daemon.owner();
        let programs = daemon.programs();
        let all_live = self.programs.iter().all(|program| programs.contains(program));
        assert!(all_live, "{:?} became {programs:?}", self.programs);
        let (mut gaps, mut bytes) = (0, 0);
        for (index, session) in self.sessions.iter().enumerate() {
            until("room for the last step", || async {
                pacer.gate(index).pass("end").then_some(())
            })
            .await;
            let ended = owner.ended(&session.id).await;
            assert_eq!(ended.exit.unwrap().code, Some(40 + i32::try_from(index).unwrap()));
            let output = whole_output(&owner, session).await;
            gaps += Counted::new(&output).assert_whole(&session.name, most);
            bytes += output.len();
        }
        println!(
            "{COUNTERS} of {COUNTERS} counting sessions live: {gaps} reads lost of {bytes} bytes, none doubled, none reordered"
        );
        let followed = self.followed.await.unwrap();
        assert_eq!(followed.code, 40, "{}", followed.stderr);
        let output = whole_output(&owner, &self.sessions[0]).await;
        assert!(
            followed.stdout.as_bytes() == output,
            "the client saw what is kept"
        );
        let watched = remotes.watched().await;
        let output = whole_output(&owner, &self.sessions[1]).await;
        assert_eq!(watched.code, Some(41));
        assert!(watched.output == output, "the device saw what is kept");
        println!(
            "a command and a device saw each byte once, the device over {} connections",
            watched.connections
        );
    }
}

/// Two who type numbers: a command with its input in a pipe, and a person at a terminal.
struct Typists {
    command: JoinHandle<Finished>,
    typing: JoinHandle<u64>,
    stop: tokio::sync::oneshot::Sender<()>,
    at_a_terminal: TerminalOf,
}

impl Typists {
    async fn start(daemon: &TestDaemon, pacer: &Pacer) -> Self {
        let script = listener(&daemon.folder().join("piped"));
        let mut run = daemon.command(&["run", "--", "/bin/sh", "-c", &script]);
        let mut child = piped(run.stdin(Stdio::piped()));
        let mut input = child.stdin.take().unwrap();
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let mut ticks = pacer.ticks();
        let typing = tokio::spawn(async move {
            let mut number = 0;
            while stopped.try_recv().is_err() {
                input
                    .write_all(format!("{number:08}\n").as_bytes())
                    .await
                    .unwrap();
                number += 1;
                ticks.changed().await.unwrap();
            }
            number
        });
        let command = tokio::spawn(Finished::of_child(child));
        let session = daemon
            .owner()
            .shell(&listener(&daemon.folder().join("typed")))
            .await;
        let attach = daemon.command(&["attach", &session.name]);
        let at_a_terminal = TerminalOf::start(&attach, 80, 24).await;
        at_a_terminal.until_shows("listening").await;
        Self {
            command,
            typing,
            stop,
            at_a_terminal,
        }
    }

    async fn finish(self, daemon: &TestDaemon, rounds: usize, deaths: usize) {
        self.stop.send(()).unwrap();
        let typed = self.typing.await.unwrap();
        let command = self.command.await.unwrap();
        assert_eq!(command.code, 9, "{}", command.stderr);
        let piped = fs::read(daemon.folder().join("piped")).unwrap();
        let gaps = Counted::new(&piped).assert_whole_to("piped", typed, deaths);
        println!("a pipe typed {typed} lines: {gaps} pieces lost, none doubled");
        self.at_a_terminal.types(b"last words\r").await;
        self.at_a_terminal.until_shows("heard last words").await;
        let typed = fs::read_to_string(daemon.folder().join("typed")).unwrap();
        let numbers: Vec<usize> = typed.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        println!(
            "a person typed {rounds} lines: {} lost, none doubled",
            rounds - numbers.len()
        );
        // Few of them are being written at the very moment of a kill.
        assert!(rounds - numbers.len() <= rounds / 2, "{numbers:?}");
        self.at_a_terminal.types(b"\x1cd").await;
        assert_eq!(self.at_a_terminal.exit().await.code, Some(0));
    }
}

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}

/// Prints ten numbers for each line from a pipe, and how many there were after the last.
fn counter(gate: &Path, code: usize) -> String {
    format!(
        "exec 3<{}; i=0; while read x <&3; do [ \"$x\" ] && break; n=0; \
         while [ $n -lt 10 ]; do printf '%08d\\n' $i; i=$((i+1)); n=$((n+1)); done; done; \
         echo \"end $i\"; exit {code}",
        gate.display()
    )
}

/// Keeps what it hears, and says it.
fn listener(file: &Path) -> String {
    format!(
        "stty -echo; echo listening; while read line; do echo \"$line\" >>{}; echo \"heard $line\"; done; exit 9",
        file.display()
    )
}

async fn whole_output(owner: &Owner, session: &Session) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let path = format!("/v1/sessions/{}/output?from={}", session.id, all.len());
        let output: Output = owner.get(&path).await.ok();
        assert!(!output.truncated, "{} is kept whole", session.name);
        assert_eq!(output.offset, all.len() as u64);
        all.extend_from_slice(&output.data.0);
        if output.next_offset >= output.end {
            return all;
        }
    }
}

/// Chance from the seed that was asked for, else from the clock; says which.
fn chance() -> Chance {
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .subsec_nanos()
    };
    let seed = std::env::var("STORM_SEED").map_or_else(|_| now().into(), |seed| seed.parse().unwrap());
    eprintln!("STORM_SEED={seed} chooses the same moments again");
    Chance::new(seed)
}

const COUNTERS: usize = 10;
