//! What a machine must have, and how it gets it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::steps::{command, root, run, target};

/// Fails with a sentence where Node is missing or too old, or there is no C compiler.
pub(crate) fn require_build_tools() -> Result<()> {
    let version = output("node", &["--version"])
        .context("Node is not installed: the web app needs 20.19 or newer (Debian 12's own is too old)")?;
    ensure!(
        is_new_enough(&version),
        "Node {} is too old: the web app needs 20.19 or newer (Debian 12's own is too old)",
        version.trim()
    );
    ensure!(
        found("npm"),
        "npm is not installed: it comes with Node 20.19 or newer"
    );
    ensure!(
        found("cc"),
        "there is no C compiler: install `gcc` (on Debian: apt-get install gcc)"
    );
    Ok(())
}

/// Installs what the tests need, where it is missing: Chromium, certutil and fonts for the browser's, shells for those of
/// `shell-init`, Python for an example, OpenSSH for those of the ways over SSH, systemd for what reads its units, `promtool` for
/// the metrics, and what
/// makes a network of a daemon's own.
///
/// # Errors
/// Where something is missing and this user may not install it; the message says what to run.
pub(crate) fn install() -> Result<()> {
    install_of(|_| true)
}

/// Installs what a page in the browser needs, where it is missing.
///
/// # Errors
/// As for [`install`].
pub(crate) fn install_browser() -> Result<()> {
    install_of(|needed| BROWSERS.contains(&needed.package))
}

fn install_of(is_wanted: fn(&Needed) -> bool) -> Result<()> {
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|needed| is_wanted(needed) && !(needed.is_there)())
        .map(|needed| needed.package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    ensure!(
        found("apt-get"),
        "what is run needs {}: install them by your package manager",
        missing.join(", ")
    );
    ensure!(
        is_root(),
        "what is run needs {}: run `sudo {by_hand}`",
        missing.join(", ")
    );
    run(command("apt-get", &["update", "-qq"]).env("DEBIAN_FRONTEND", "noninteractive"))?;
    let mut arguments = vec!["install", "-y", "-qq", "--no-install-recommends"];
    arguments.extend(&missing);
    run(command("apt-get", &arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null()))?;
    for needed in NEEDED.iter().filter(|needed| is_wanted(needed)) {
        if !(needed.is_there)() {
            bail!("{} is still missing after its installation", needed.package);
        }
    }
    Ok(())
}

/// Installs the packages of the Python example, in a folder of their own below the target directory, unless they are there.
///
/// # Errors
/// Where they are not to be had.
pub(crate) fn install_python() -> Result<()> {
    let wanted = fs::read_to_string(root().join(REQUIREMENTS))?;
    let folder = target().join("python");
    let installed = folder.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    run(command("python3", &["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS];
    run(Command::new(folder.join("bin/python"))
        .args(pip)
        .current_dir(root()))?;
    Ok(fs::write(installed, wanted)?)
}

struct Needed {
    package: &'static str,
    is_there: fn() -> bool,
}

/// Packages of [`NEEDED`] without which a page is not drawn as on a phone.
const BROWSERS: [&str; 5] = [
    "chromium",
    "libnss3-tools",
    "fonts-dejavu-core",
    "fonts-noto-cjk",
    "fonts-noto-color-emoji",
];

const NEEDED: &[Needed] = &[
    Needed {
        package: "chromium",
        is_there: || found("chromium"),
    },
    Needed {
        package: "libnss3-tools",
        is_there: || found("certutil"),
    },
    Needed {
        package: "fonts-dejavu-core",
        is_there: || has_font("DejaVu Sans Mono"),
    },
    Needed {
        package: "fonts-noto-cjk",
        is_there: || has_font("Noto Sans Mono CJK JP"),
    },
    Needed {
        package: "fonts-noto-color-emoji",
        is_there: || has_font("Noto Color Emoji"),
    },
    Needed {
        package: "python3",
        is_there: || found("python3"),
    },
    Needed {
        package: "python3-venv",
        is_there: || output("python3", &["-c", "import ensurepip"]).is_ok(),
    },
    Needed {
        package: "zsh",
        is_there: || found("zsh"),
    },
    Needed {
        package: "fish",
        is_there: || found("fish"),
    },
    Needed {
        package: "vim",
        is_there: || found("vim"),
    },
    Needed {
        package: "systemd",
        is_there: || found("systemd-analyze"),
    },
    Needed {
        // Its `promtool` reads the metrics and the dashboard.
        package: "prometheus",
        is_there: || found("promtool"),
    },
    Needed {
        package: "iproute2",
        // Like the next ones, these may be where only root looks.
        is_there: || found("ip") || Path::new("/usr/sbin/ip").is_file(),
    },
    Needed {
        package: "util-linux",
        is_there: || found("unshare") && found("nsenter"),
    },
    Needed {
        package: "openssh-client",
        is_there: || found("ssh") && found("ssh-keygen"),
    },
    Needed {
        package: "openssh-server",
        // It is where only root looks.
        is_there: || found("sshd") || Path::new("/usr/sbin/sshd").is_file(),
    },
];

/// What `docs/examples/tail.py` needs.
const REQUIREMENTS: &str = "docs/examples/requirements.txt";

fn has_font(family: &str) -> bool {
    output("fc-list", &[family, "family"]).is_ok_and(|fonts| !fonts.trim().is_empty())
}

/// Whether the program is on the PATH.
pub(crate) fn found(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Whether this user may do everything.
pub(crate) fn is_root() -> bool {
    output("id", &["-u"]).is_ok_and(|uid| uid.trim() == "0")
}

fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output()?;
    ensure!(
        output.status.success(),
        "`{program}` ended with {}",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `v20.19.0` and newer.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version
        .trim()
        .trim_start_matches('v')
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let major = numbers.next().unwrap_or(0);
    let minor = numbers.next().unwrap_or(0);
    (major, minor) >= (20, 19)
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn node_is_new_enough_from_20_19_on() {
        assert!(is_new_enough("v20.19.0\n"));
        assert!(is_new_enough("v22.1.0"));
        assert!(!is_new_enough("v20.18.3"));
        assert!(!is_new_enough("v18.20.4"));
        assert!(!is_new_enough("nonsense"));
    }
}
