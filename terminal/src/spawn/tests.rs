//! What cannot be started is named.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Command, SpawnError, check};
use crate::keeper;
use crate::size::Size;

fn command(program: impl Into<OsString>, cwd: &Path, path: &Path) -> Command {
    Command {
        program: program.into(),
        args: Vec::new(),
        cwd: cwd.to_owned(),
        env: vec![("PATH".into(), path.into())],
        size: Size::default(),
        descriptor_limit: None,
    }
}

fn refusal(command: &Command) -> String {
    check(command).expect_err("it cannot be started").to_string()
}

fn script(directory: &Path, name: &str, text: &str, mode: u32) {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert_eq!(
        refusal(&command("nothing", path, path)),
        "no program `nothing` was found"
    );
    assert_eq!(
        refusal(&command("./nothing", path, path)),
        "no program `./nothing` was found"
    );
    assert_eq!(
        refusal(&command("sh", path, path)),
        "no program `sh` was found",
        "not on its own PATH"
    );
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let gone = directory.path().join("gone");
    let text = refusal(&command("/bin/sh", &gone, directory.path()));
    assert!(
        text.starts_with(&format!(
            "the directory `{}` cannot be used: No such file",
            gone.display()
        )),
        "{text}"
    );
    script(directory.path(), "file", "", 0o644);
    let file = directory.path().join("file");
    assert!(matches!(
        check(&command("/bin/sh", &file, &file)),
        Err(SpawnError::Directory { .. })
    ));
}

#[test]
fn a_file_that_is_no_program_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    script(path, "text", "hello", 0o644);
    assert_eq!(
        refusal(&command("text", path, path)),
        format!("`{}/text` is not executable", path.display())
    );
    assert_eq!(
        refusal(&command("..", path, path)),
        format!("`{}/..` is not executable", path.display())
    );
}

#[tokio::test]
async fn what_the_system_says_to_exec_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    script(path, "lost", "#!/no/such/interpreter\n", 0o755);
    let started = keeper::tests::run(command("lost", path, path)).await;
    let text = started.expect_err("it cannot be started").to_string();
    assert!(
        text.ends_with("lost` could not be executed: No such file or directory (os error 2)"),
        "{text}"
    );
}

#[test]
fn text_that_no_program_can_be_given_is_refused() {
    let root = Path::new("/");
    let mut nul = command("/bin/sh", root, root);
    nul.args.push("a\0b".into());
    assert_eq!(refusal(&nul), "an argument cannot be passed to a program");
    let mut name = command("/bin/sh", root, root);
    name.env.push(("A=B".into(), "c".into()));
    assert_eq!(
        refusal(&name),
        "an environment variable cannot be passed to a program"
    );
    assert_eq!(
        refusal(&command("", root, root)),
        "the program's name cannot be passed to a program"
    );
}
