//! Which binary the tests drive.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The `transom` binary: the one that `TEST_TRANSOM_BINARY` names, else one built here, once.
///
/// # Panics
/// Where it can be neither found nor built.
pub fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let binary = env::var_os("TEST_TRANSOM_BINARY")
            .map_or_else(|| build(&["--package", "cli"]).join("transom"), PathBuf::from);
        assert!(binary.is_file(), "there is no binary at {}", binary.display());
        eprintln!("the tests drive {}", binary.display());
        binary
    })
}

/// Another build of the same source at the path: the same code under another build id.
///
/// # Panics
/// Where it cannot be written, or has no id.
pub fn another_build(path: &Path) {
    let mut bytes = fs::read(binary()).expect("the binary can be read");
    // The note's name and type before the 20 bytes of the id (elf(5), NT_GNU_BUILD_ID).
    let head = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let at = bytes.windows(head.len()).position(|window| window == head);
    let id = at.expect("the linker gave the binary an id") + head.len();
    bytes[id..id + 20].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(path, bytes).expect("the folder is writable");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("the file is ours");
}

/// An example of a crate: the one that a run of all tests has built already, else built here.
///
/// # Panics
/// Where it cannot be built.
pub fn example(package: &str, name: &str) -> PathBuf {
    let built = profile_folder().join("examples").join(name);
    if env::var_os("TEST_TRANSOM_BINARY").is_none() || !built.is_file() {
        build(&["--package", package, "--example", name]);
    }
    built
}

/// The Python that has the packages of `docs/examples/requirements.txt`.
///
/// # Panics
/// Where it was not installed.
pub fn python() -> PathBuf {
    let profile_folder = profile_folder();
    let target = profile_folder.parent();
    let python = target
        .expect("a profile's folder is in the target directory")
        .join("python/bin/python");
    assert!(
        python.is_file(),
        "there is no {}: `cargo xtask test --only tools` installs it",
        python.display()
    );
    python
}

/// Where this test's own profile puts what it builds.
fn profile_folder() -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let folder = test.ancestors().nth(2);
    folder
        .expect("a test lives in <target>/<profile>/deps")
        .to_path_buf()
}

/// Builds something in the profile and target directory that this test was built in, and says where.
fn build(what: &[&str]) -> PathBuf {
    let profile_folder = profile_folder();
    let profile = match profile_folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--profile", profile])
        .args(what)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env(
            "CARGO_TARGET_DIR",
            profile_folder
                .parent()
                .expect("a profile's folder is in the target directory"),
        )
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "{what:?} could not be built");
    profile_folder
}
