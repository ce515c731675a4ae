//! The packages, installed in a clean Debian: what `trial.sh` does there, as its root, without a network but its own loopback.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::made;
use crate::{
    steps::{self, command},
    tools,
};

/// Tries the packages of a folder, the Debian package after a previous one.
///
/// # Errors
/// The trial is not possible here, or something in it is not as it must be; it says what before.
pub(super) fn run(out: &Path, suite: &str, previous: Option<&Path>) -> Result<()> {
    ensure!(
        tools::is_root(),
        "a Debian is installed, and entered, by root: run this as root"
    );
    for (program, package) in [
        ("debootstrap", "debootstrap"),
        ("unshare", "util-linux"),
        ("ip", "iproute2"),
    ] {
        ensure!(
            tools::found(program),
            "the trial needs {program}: run `apt-get install -y --no-install-recommends {package}`"
        );
    }
    let folder = out.join("try");
    let base = folder.join(suite);
    if !base.join(COMPLETE).is_file() {
        remove(&base)?;
        fs::create_dir_all(&folder)?;
        let mut debootstrap = command("debootstrap", &["--variant=minbase", suite]);
        steps::run(debootstrap.arg(&base).arg(MIRROR))?;
        fs::write(base.join(COMPLETE), "")?;
    }
    let root = folder.join("root");
    remove(&root)?;
    steps::run(command("cp", &["--archive", "--"]).arg(&base).arg(&root))?;
    let inside = root.join("trial");
    fs::create_dir(&inside)?;
    let packaged = |ending: &str| -> Result<PathBuf> {
        let names = made(out)?;
        let name = names.iter().find(|name| name.ends_with(ending));
        Ok(out.join(name.with_context(|| format!("there is no {ending} in {}", out.display()))?))
    };
    let new = packaged(".deb")?;
    copy(previous.unwrap_or(&new), &inside.join("previous.deb"))?;
    copy(&new, &inside.join("new.deb"))?;
    copy(&packaged(".tar.gz")?, &inside.join("new.tar.gz"))?;
    fs::write(inside.join("trial.sh"), SCRIPT)?;
    // What it starts ends with it: the processes have a namespace of their own.
    let namespaces = ["--mount", "--pid", "--net", "--fork", "--kill-child"];
    let tried = steps::run(
        command("unshare", &namespaces)
            .args(["sh", "-euc", ENTER, "enter"])
            .arg(&root)
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ),
    );
    tried.with_context(|| format!("the trial failed; what it left is in {}", root.display()))?;
    remove(&root)
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    Ok(())
}

/// Loopback, processes and devices of its own view, then the script.
const ENTER: &str = concat!(
    r#"ip link set lo up && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev""#,
    r#" && exec chroot "$1" /bin/sh /trial/trial.sh"#
);

const SCRIPT: &str = include_str!("trial.sh");

const MIRROR: &str = "http://deb.debian.org/debian";

/// Says that a Debian was installed to the end.
const COMPLETE: &str = "etc/transom-trial";
