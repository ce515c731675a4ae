//! The marks of real shells.

use std::{collections::BTreeMap, fs, path::Path};

use harness::{Attached, TestDaemon};
use protocol::{
    attach::Mode,
    sessions::{NewSession, Session},
};

#[tokio::test]
async fn bash_marks_prompts_commands_and_their_codes() {
    let mut shell = Shell::start("bash", BASH).await.expect("bash is everywhere");
    assert_eq!(shell.marks_of(&LINES).await, MARKS);
    // PROMPT_COMMAND wrote the prompt anew each time, and saw the code of the command before.
    assert!(shell.text().contains("[3]> "), "{}", shell.text());
}

#[tokio::test]
async fn zsh_marks_prompts_commands_and_their_codes() {
    let Some(mut shell) = Shell::start("zsh", ZSH).await else {
        return;
    };
    assert_eq!(shell.marks_of(&LINES).await, MARKS);
    assert!(shell.text().contains("[3]> "), "{}", shell.text());
}

#[tokio::test]
async fn fish_marks_prompts_commands_and_their_codes() {
    let Some(mut shell) = Shell::start("fish", FISH).await else {
        return;
    };
    let lines = LINES.map(|line| line.replace("(exit 3)", "sh -c 'exit 3'"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(shell.marks_of(&lines).await, MARKS);
    assert!(shell.text().contains("[3]> "), "{}", shell.text());
}

#[tokio::test]
async fn a_shell_within_a_shell_marks_its_own_commands() {
    let mut shell = Shell::start("bash", BASH).await.expect("bash is everywhere");
    let lines = [
        "export PS1 PS0",
        "bash --rcfile $RC -i",
        "false",
        "exit 4",
        "true",
    ];
    let marks = [
        "A B C D;0",
        " A B C", // the inner shell begins
        " A B C D;1",
        " A B C", // and ends
        " D;4 A B C D;0",
        " A B",
    ];
    assert_eq!(shell.marks_of(&lines).await, marks.concat());
}

#[tokio::test]
async fn bash_keeps_pipestatus_for_the_prompt() {
    let rc = "PROMPT_COMMAND='PS1=\"<${PIPESTATUS[*]}> \"'\nSNIPPET\n";
    let mut shell = Shell::start("bash", rc).await.expect("bash is everywhere");
    shell.marks_of(&["false | true | (exit 2)"]).await;
    assert!(shell.text().contains("<1 0 2> "), "{}", shell.text());
}

#[tokio::test]
async fn a_command_of_the_prompt_that_was_added_later_costs_one_prompts_marks() {
    let mut shell = Shell::start("bash", BASH).await.expect("bash is everywhere");
    let marks = shell.marks_of(&["PROMPT_COMMAND+=('PS1=\"own \"')\rfalse"]).await;
    assert_eq!(marks, "A B C D;0 C D;1 A B");
}

#[tokio::test]
async fn a_program_that_was_killed_leaves_no_reports_of_the_mouse_on() {
    for (shell, configuration) in [("bash", BASH), ("zsh", ZSH), ("fish", FISH)] {
        let Some(mut shell) = Shell::start(shell, configuration).await else {
            continue;
        };
        let killed = r#"sh -c 'printf "\033[?1003h\033[?1006h"; kill -9 $$'"#;
        shell.marks_of(&[killed]).await;
        let mut screen = terminal::screen(terminal::Size::new(80, 24));
        screen.feed(shell.text().as_bytes());
        let snapshot = String::from_utf8_lossy(&screen.snapshot()).into_owned();
        assert!(shell.text().contains("\x1b[?1003h"), "{}", shell.text());
        assert!(
            !snapshot.contains("\x1b[?1003h") && !snapshot.contains("\x1b[?1006h"),
            "{snapshot:?}"
        );
    }
}

/// The marks of [`LINES`], those of a prompt that was drawn again left out.
const MARKS: &str = "A B C D;0 A B C D;1 A B C D;3 A B";
/// An empty line is no command.
const LINES: [&str; 4] = ["echo one", "false", "", "(exit 3)"];

// The snippet is loaded twice: its marks stand once.
const BASH: &str = "PROMPT_COMMAND='PS1=\"[$?]> \"'\nSNIPPET\nSNIPPET\n";
const ZSH: &str = "SNIPPET\nSNIPPET\nprecmd_functions=(own $precmd_functions)\nown() { PS1=\"[$?]> \" }\n";
const FISH: &str = "SNIPPET\nSNIPPET\nfunction fish_prompt; echo -n \"[$status]> \"; end\n";

/// An interactive shell in a session.
struct Shell {
    _daemon: TestDaemon,
    output: Attached,
    input: Attached,
}

impl Shell {
    /// Starts the shell with this configuration, in which `SNIPPET` loads ours; none where the shell is not installed.
    async fn start(shell: &str, configuration: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join(shell).is_file()) {
            eprintln!("skipped: {shell} is not installed");
            return None;
        }
        let daemon = TestDaemon::start().await;
        let printed = daemon.cli(&["shell-init", shell]).await;
        assert_eq!(printed.code, 0, "{printed:?}");
        let folder = daemon.folder();
        let snippet = folder.join("snippet");
        fs::write(&snippet, printed.stdout).unwrap();
        let load = configuration.replace("SNIPPET", &format!("source {}", snippet.display()));
        let rc = folder.join(".zshrc");
        fs::write(&rc, load).unwrap();
        let session = start(&daemon, shell, &rc).await;
        let output = daemon.owner().attach(&session.id, Mode::Lossless, "0").await;
        let input = daemon.owner().attach(&session.id, Mode::Write, "screen").await;
        Some(Self {
            _daemon: daemon,
            output,
            input,
        })
    }

    /// Types the lines, each at a prompt of its own, and gives all marks until the last prompt.
    async fn marks_of(&mut self, lines: &[&str]) -> String {
        for (at, line) in lines.iter().enumerate() {
            self.until_prompts(at + 1).await;
            self.input.send_input(format!("{line}\r").as_bytes()).await;
        }
        self.until_prompts(lines.len() + 1).await;
        let mut marks = marks(&self.text());
        // An empty line, or a prompt that was drawn again, is a prompt after a prompt.
        while let Some(at) = marks.windows(4).position(|four| four == ["A", "B", "A", "B"]) {
            marks.drain(at..at + 2);
        }
        marks.join(" ")
    }

    async fn until_prompts(&mut self, count: usize) {
        while marks(&self.text()).iter().filter(|mark| *mark == "B").count() < count {
            let next = self.output.next().await;
            assert!(next.is_ok(), "the shell has ended: {}", self.text());
        }
    }

    fn text(&self) -> String {
        self.output.text()
    }
}

async fn start(daemon: &TestDaemon, shell: &str, rc: &Path) -> Session {
    let rc_text = rc.display().to_string();
    let args = match shell {
        "bash" => vec!["--rcfile".to_owned(), rc_text.clone(), "-i".to_owned()],
        "zsh" => vec!["-i".to_owned()],
        _ => vec![
            "--no-config".to_owned(),
            "-i".to_owned(),
            "-C".to_owned(),
            format!("source {rc_text}"),
        ],
    };
    let folder = daemon.folder().display().to_string();
    let path = std::env::var("PATH").unwrap();
    let env = [
        ("PATH", path),
        ("HOME", folder.clone()),
        ("ZDOTDIR", folder),
        ("RC", rc_text),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    let new = NewSession {
        command: shell.to_owned(),
        args,
        env: Some(BTreeMap::from(env.map(|(name, value)| (name.to_owned(), value)))),
        ..NewSession::default()
    };
    daemon.owner().post("/v1/sessions", &new).await.ok()
}

/// What stands in each OSC 133 of the text.
fn marks(text: &str) -> Vec<String> {
    let marks = text.split("\x1b]133;").skip(1);
    marks
        .filter_map(|rest| Some(rest.split_once('\x07')?.0.to_owned()))
        .collect()
}
