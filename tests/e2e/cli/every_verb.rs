//! Every verb in a real terminal, and into a pipe that nobody reads.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use harness::{Invitation, TerminalOf, TestDaemon, within};
use pairing::Role;
use tokio::{
    io::{AsyncReadExt, BufReader},
    process::Command,
};

/// What a verb does in a terminal and into a closed pipe. The rows are done one after the other, with the same daemon.
#[derive(Clone, Copy)]
struct Row {
    /// The command line; a word in braces stands for what [`Stage::word`] makes.
    words: &'static str,
    /// What a person types once the screen shows the text.
    typed: Option<(&'static str, &'static [u8])>,
    /// How it ends in a terminal.
    code: i32,
    /// What the terminal shows then.
    shows: &'static str,
    /// How it ends where nobody reads its output; none where that is not for it.
    piped: Option<i32>,
    /// What it says all the same on standard error then; an error where it fails, else nothing.
    notes: &'static str,
    /// It prints what must not be broken between two lines.
    is_wide: bool,
}

/// A verb that ends by itself, with the same code in a terminal and into a pipe.
const fn row(words: &'static str, code: i32, shows: &'static str) -> Row {
    let notes = if code == 0 { "" } else { "error: " };
    Row {
        words,
        typed: None,
        code,
        shows,
        piped: Some(code),
        notes,
        is_wide: false,
    }
}

impl Row {
    const fn typing(mut self, shown: &'static str, keys: &'static [u8]) -> Self {
        self.typed = Some((shown, keys));
        self
    }

    const fn piped(mut self, code: i32, notes: &'static str) -> Self {
        (self.piped, self.notes) = (Some(code), notes);
        self
    }

    const fn in_a_terminal_alone(mut self) -> Self {
        self.piped = None;
        self
    }

    const fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }
}

/// A session `build` has ended and one `serve` runs.
const ROWS: &[Row] = &[
    row("up", 1, "error:"),
    row("up --dir {folder} --tls 127.0.0.1:0", 0, "ready")
        .typing("ready", b"\x03")
        .in_a_terminal_alone(),
    row("run true", 0, ""),
    // For who reads no more of it, see `pipes`.
    row("run -- sh -c {colours}", 3, "green").in_a_terminal_alone(),
    row("new sleep 600", 0, ""),
    row("ls", 0, "serve"),
    row("ls --watch", 0, "").typing("serve", b"q").piped(2, "error: "),
    row("attach serve", 0, "detached from serve")
        .typing("Ctrl-\\", b"\x1cd")
        .piped(2, "error: "),
    row("view serve", 0, "detached from serve")
        .typing("Ctrl-\\", b"\x1cd")
        .piped(2, "error: "),
    row("send serve x", 0, ""),
    row("keys serve Enter", 0, ""),
    row("wait build", 0, "build"),
    row("logs -n 3 build", 0, "100000"),
    row("screen build", 0, "100000"),
    row("record build {file}", 0, "wrote"),
    row("record build", 2, "error:").piped(0, ""),
    row("shell-init bash", 0, "133").wide(),
    row("note serve hello", 0, ""),
    row("rename {session} {name}", 0, ""),
    row("stop {session}", 0, "SIG"),
    row("rm {session}", 0, "brings it back"),
    row("restore {deleted}", 0, ""),
    row("pair", 1, "nothing was paired")
        .typing("Waiting for the device", b"\x03")
        .piped(0, ""),
    row("approve {code}", 0, ""),
    row("reject {code}", 0, ""),
    row("devices", 0, "a test's phone"),
    row("devices list", 0, "a test's phone"),
    row("devices add a-script", 0, "a-script").wide(),
    row("devices role {device} operator", 0, "operator"),
    row("devices rename {device} another", 0, "another"),
    row("devices renew {device} --for 2d", 0, ""),
    row("devices rebind {device} --unbind", 0, ""),
    row("disconnect {device}", 0, "closed"),
    row("revoke {device}", 0, "revoked")
        .typing("?", b"y\r")
        .piped(2, "error: "),
    row("invite serve --for 1h", 0, "https://").wide(),
    row("guests", 0, "invited"),
    row("guests list", 0, "invited"),
    row("guests end {guest}", 0, "ended"),
    row("remote", 2, "Usage").piped(2, ""),
    row("remote add not-a-host.invalid:1 --name nowhere", 3, "error:"),
    row("remote list", 0, "no remotes").piped(0, "no remotes"),
    row("remote rm nowhere", 1, "error:"),
    row("remote rename nowhere elsewhere", 1, "error:"),
    row("open nowhere.invalid", 3, "error:"),
    row("whoami", 0, "the owner"),
    row("status", 0, "daemon"),
    row("doctor", 0, ""),
    row("certs", 0, "sha256/").wide(),
    row("certs show", 0, "sha256/").wide(),
    row("certs trust", 0, "").wide(),
    row("certs next", 0, ""),
    row("certs export", 0, "BEGIN CERTIFICATE"),
    row("certs rotate", 1, "nothing was changed")
        .typing("?", b"n\r")
        .piped(2, ""),
    row("config", 2, "Usage").piped(2, ""),
    row("config show", 0, "listen.tls"),
    row("backup", 2, "Usage").piped(2, ""),
    row("backup create {file} --plain", 0, "wrote"),
    row("backup restore {file}", 1, "error:"),
    row("audit", 0, "WHOM"),
    row("daemon-log --level info", 0, "INFO").wide(),
    row("lockdown", 0, "closed"),
    row("lockdown --lift", 0, ""),
    row("service", 2, "Usage").piped(2, ""),
    row("service install --no-start", 0, "").wide(),
    row("service status", 0, "transom.service"),
    row("service uninstall", 0, "").wide(),
    row("reload", 0, ""),
    row("restart", 0, ""),
    row("shutdown", 0, ""),
];

/// A daemon, and what rows ask for.
struct Stage {
    daemon: TestDaemon,
    made: usize,
}

impl Stage {
    async fn new() -> Self {
        let daemon = TestDaemon::start().await;
        let script = "printf '\\033[32mgreen\\033[m'; seq 1 100000";
        let build = daemon
            .cli(&["run", "--name", "build", "--", "sh", "-c", script])
            .await;
        assert_eq!(build.code, 0, "{}", build.stderr);
        let serve = daemon.cli(&["new", "--name", "serve", "cat"]).await;
        assert_eq!(serve.code, 0, "{serve:?}");
        daemon.device(Role::Viewer).await;
        let tools = daemon.folder().join("tools");
        fs::create_dir(&tools).unwrap();
        let systemctl = tools.join("systemctl");
        fs::write(
            &systemctl,
            "#!/bin/sh\ncase \"$*\" in *is-*) echo inactive;; esac\n",
        )
        .unwrap();
        fs::set_permissions(systemctl, Permissions::from_mode(0o755)).unwrap();
        Self { daemon, made: 0 }
    }

    /// The command line of a row, not yet started.
    async fn command(&mut self, row: &Row) -> Command {
        let mut words = Vec::new();
        for word in row.words.split(' ') {
            words.push(self.word(word).await);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.daemon.command(&words);
        if words[0] == "service" {
            let folder = self.daemon.folder();
            let path = std::env::var("PATH").unwrap();
            command
                .env("TRANSOM_DIR", "")
                .env("XDG_RUNTIME_DIR", folder)
                .env("PATH", format!("{}:{path}", folder.join("tools").display()));
        }
        command
    }

    async fn word(&mut self, word: &str) -> String {
        self.made += 1;
        let unique = self.daemon.folder().join(format!("made-{}", self.made));
        let owner = self.daemon.owner();
        match word {
            "{colours}" => "printf '\\033[32mgreen'; exit 3".to_owned(),
            "{name}" => format!("named-{}", self.made),
            "{file}" => unique.display().to_string(),
            "{folder}" => {
                fs::create_dir(&unique).unwrap();
                fs::set_permissions(&unique, Permissions::from_mode(0o700)).unwrap();
                unique.display().to_string()
            }
            "{session}" => owner.shell("read x").await.name,
            "{deleted}" => {
                let session = owner.shell("exit").await;
                owner.ended(&session.id).await;
                assert_eq!(self.daemon.cli(&["rm", &session.name]).await.code, 0);
                session.name
            }
            "{code}" => self.daemon.pairing(Role::Viewer).await.ask().await.grouped(),
            "{device}" => self.daemon.device(Role::Viewer).await.id().to_string(),
            "{guest}" => {
                let serve = owner
                    .get("/v1/sessions")
                    .await
                    .ok::<Vec<protocol::sessions::Session>>();
                let serve = serve.iter().find(|session| session.name == "serve").unwrap();
                Invitation::to(&self.daemon, &[&serve.id], 3600)
                    .await
                    .id
                    .to_string()
            }
            word => word.to_owned(),
        }
    }
}

/// Every verb and verb of a verb that the help names, in words.
async fn verbs(daemon: &TestDaemon) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![String::new()];
    while let Some(verb) = open.pop() {
        let words: Vec<&str> = verb
            .split(' ')
            .chain(["--help"])
            .filter(|word| !word.is_empty())
            .collect();
        let help = daemon.cli(&words).await;
        assert_eq!(help.code, 0, "{help:?}");
        let listed = help
            .stdout
            .lines()
            .take_while(|line| !line.starts_with("Options:"));
        for line in listed {
            let is_verb = |line: &str| line.starts_with(|letter: char| letter.is_ascii_lowercase());
            let Some(line) = line.strip_prefix("  ").filter(|line| is_verb(line)) else {
                continue;
            };
            let name = line.split(' ').next().unwrap_or_default();
            if name != "help" {
                open.push(format!("{verb} {name}").trim_start().to_owned());
            }
        }
        found.insert(verb);
    }
    found.remove("");
    found
}

#[tokio::test]
async fn every_verb_has_a_row() {
    let verbs = verbs(&TestDaemon::start().await).await;
    assert!(verbs.len() > 50 && verbs.contains("service install"), "{verbs:?}");
    let of = |row: &Row| {
        let begun = verbs
            .iter()
            .filter(|verb| format!("{} ", row.words).starts_with(&format!("{verb} ")));
        begun.max_by_key(|verb| verb.len()).cloned()
    };
    let shown: BTreeSet<String> = ROWS.iter().filter_map(of).collect();
    let missing: Vec<&String> = verbs.difference(&shown).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[tokio::test]
async fn every_verb_leaves_a_terminal_as_it_found_it_and_writes_no_line_wider_than_it() {
    let mut stage = Stage::new().await;
    for row in ROWS {
        let terminal = TerminalOf::start(&stage.command(row).await, 80, 24).await;
        if let Some((shown, keys)) = row.typed {
            terminal.until_shows(shown).await;
            terminal.types(keys).await;
        }
        let exit = terminal.exit().await;
        let left = terminal.left().await;
        assert_eq!(exit.code, Some(row.code), "{}: {:#?}", row.words, left.lines);
        let shows = left.lines.iter().any(|line| line.contains(row.shows));
        assert!(shows, "{} shows no {:?}: {:#?}", row.words, row.shows, left.lines);
        assert!(left.is_on.is_empty(), "{} leaves {:?}", row.words, left.is_on);
        assert!(
            left.wide.is_empty() || row.is_wide,
            "{}: {:#?}",
            row.words,
            left.wide
        );
    }
}

#[tokio::test]
async fn the_help_of_every_verb_fits_a_terminal() {
    let daemon = TestDaemon::start().await;
    for verb in verbs(&daemon).await {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let terminal = TerminalOf::start(&daemon.command(&words), 80, 24).await;
        assert_eq!(terminal.exit().await.code, Some(0), "{verb}");
        let left = terminal.left().await;
        assert!(left.is_on.is_empty() && left.wide.is_empty(), "{verb}: {left:#?}");
    }
}

#[tokio::test]
async fn every_verb_ends_in_good_order_where_nobody_reads_what_it_prints() {
    let mut stage = Stage::new().await;
    for row in ROWS {
        let Some(code) = row.piped else { continue };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = stage.command(row).await;
        command
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let child = command.spawn().unwrap();
        drop(command);
        let output = within(row.words, child.wait_with_output()).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{}: {said}", row.words);
        assert!(said.starts_with(row.notes), "{}: {said}", row.words);
        let may_speak = code != 0 || !row.notes.is_empty();
        assert!(may_speak || said.is_empty(), "{}: {said}", row.words);
    }
}

#[tokio::test]
async fn a_reader_that_leaves_midway_is_no_failure() {
    let stage = Stage::new().await;
    for words in [
        "logs build",
        "record build",
        "ls --watch --json",
        "audit --follow --json",
        "daemon-log --follow --json",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = stage.daemon.command(&words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first = [0; 10];
        within("its first bytes", output.read_exact(&mut first))
            .await
            .unwrap();
        drop(output);
        // Something more to write for those that follow.
        let owner = stage.daemon.owner();
        let goes_on = tokio::spawn(async move {
            loop {
                owner.ended(&owner.shell("exit").await.id).await;
            }
        });
        let output = within("its end", child.wait_with_output()).await.unwrap();
        goes_on.abort();
        let code = output.status.code();
        assert_eq!(code, Some(0), "{words:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}
