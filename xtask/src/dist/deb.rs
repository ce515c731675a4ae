//! The Debian package: the same tree below `/usr`, where a Debian looks for each part of it (deb(5), deb-control(5)).

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use super::{DOC, VERSION, binary::Binary, tree::Tree};
use crate::steps::{self, command, output, root};

/// Makes it, where there is a dpkg-deb.
///
/// # Errors
/// The binary loads a library that no package is known for, or dpkg-deb fails.
pub(super) fn make(
    tree: &Tree,
    binary: &Binary,
    machine: &str,
    staged: &Path,
    out: &Path,
    epoch: &str,
) -> Result<()> {
    if Command::new("dpkg-deb")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        println!("note: there is no dpkg-deb here, and so no Debian package");
        return Ok(());
    }
    let architecture = match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("what Debian calls `{other}` is not known here"),
    };
    let folder = staged.join("deb");
    let tree = arranged(tree)?;
    tree.write(&folder.join("usr"))?;
    let control = control(architecture, &depends(binary)?, tree.bytes());
    let mut about = Tree::default();
    about.add("control", 0o644, control.into_bytes());
    about.add("md5sums", 0o644, sums(&tree, &folder)?.into_bytes());
    about.write(&folder.join("DEBIAN"))?;
    // One thread, whose output does not depend on how many this machine has.
    let arguments = ["--root-owner-group", "-Zgzip", "-z9", "--build"];
    let package = out.join(format!("transom_{VERSION}_{architecture}.deb"));
    steps::run(
        command("dpkg-deb", &arguments)
            .arg(&folder)
            .arg(package)
            .env("SOURCE_DATE_EPOCH", epoch),
    )
}

/// The tree as Debian has it.
fn arranged(tree: &Tree) -> Result<Tree> {
    let mut tree = tree.clone();
    tree.rename("share/zsh/site-functions", "share/zsh/vendor-completions");
    tree.rename(&format!("{DOC}/licences.txt"), &format!("{DOC}/copyright"));
    let units = root().join("deploy/systemd");
    for entry in fs::read_dir(&units).context("deploy/systemd cannot be read")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        tree.add(
            &format!("lib/systemd/user/{name}"),
            0o644,
            fs::read(entry.path())?,
        );
    }
    for page in tree.below("share/man") {
        let path = page.to_str().context("names of pages are text")?.to_owned();
        let compressed = compressed(&tree.take(&path)?)?;
        tree.add(&format!("{path}.gz"), 0o644, compressed);
    }
    Ok(tree)
}

/// What dpkg is told. There are no scripts: nothing is started, nobody is added, and what a user's daemon keeps is that user's.
fn control(architecture: &str, depends: &str, bytes: usize) -> String {
    let kilobytes = bytes.div_ceil(1024);
    format!(
        "Package: transom\n\
         Version: {VERSION}\n\
         Architecture: {architecture}\n\
         Maintainer: Transom <transom@localhost>\n\
         Installed-Size: {kilobytes}\n\
         Depends: {depends}\n\
         Suggests: openssh-client, libnss3-tools\n\
         Section: net\n\
         Priority: optional\n\
         Description: terminal sessions that outlive who watches them\n \
         A daemon that runs terminal sessions and lets the devices that you trust watch\n \
         and steer them: a phone, another laptop. Devices pair by comparing six digits,\n \
         and are cut off by one command, with everything that they had open.\n"
    )
}

/// The packages of the libraries that the binary loads.
fn depends(binary: &Binary) -> Result<String> {
    let (major, minor) = binary.glibc;
    let mut packages = BTreeSet::new();
    for library in &binary.libraries {
        let (name, _) = library
            .split_once(".so")
            .context("a shared library has .so in its name")?;
        packages.insert(match name {
            "libc" | "libm" | "libpthread" | "libdl" | "librt" | "libutil" | "ld-linux-x86-64"
            | "ld-linux-aarch64" => {
                format!("libc6 (>= {major}.{minor})")
            }
            "libgcc_s" => "libgcc-s1".to_owned(),
            other => bail!("the binary loads {other}, for which no Debian package is known here"),
        });
    }
    ensure!(!packages.is_empty(), "the binary loads no library at all");
    Ok(Vec::from_iter(packages).join(", "))
}

/// What `dpkg --verify` compares with.
fn sums(tree: &Tree, folder: &Path) -> Result<String> {
    let mut text = String::new();
    let paths = tree.below("").into_iter().map(|path| Path::new("usr").join(path));
    let listed = output(command("md5sum", &["--"]).args(paths).current_dir(folder))?;
    for line in listed.lines() {
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

/// A page as `man` finds it there: without a name or a time of gzip's own.
fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = Command::new("gzip")
        .arg("-9n")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("gzip could not be started")?;
    let mut input = gzip.stdin.take().context("gzip's input is piped")?;
    // Less than a pipe holds once it is compressed, so nothing has to be read meanwhile.
    input.write_all(bytes)?;
    drop(input);
    let output = gzip.wait_with_output()?;
    ensure!(output.status.success(), "gzip ended with {}", output.status);
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::{Binary, control, depends};

    fn binary(libraries: &[&str]) -> Binary {
        Binary {
            bytes: Vec::new(),
            glibc: (2, 31),
            libraries: libraries.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn a_package_depends_on_what_its_binary_loads() {
        let loads = ["libgcc_s.so.1", "libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2"];
        assert_eq!(depends(&binary(&loads)).unwrap(), "libc6 (>= 2.31), libgcc-s1");
        assert!(depends(&binary(&["libssl.so.3"])).is_err());
    }

    #[test]
    fn the_control_file_is_one_paragraph() {
        let control = control("amd64", "libc6 (>= 2.31)", 1025);
        assert!(control.contains("\nInstalled-Size: 2\n") && control.ends_with('\n'));
        assert!(!control.contains("\n\n"));
        let description = control.split_once("\nDescription: ").unwrap().1;
        assert!(
            description.lines().skip(1).all(|line| line.starts_with(' ')),
            "{control}"
        );
    }
}
