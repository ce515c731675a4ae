//! `cargo xtask dist`: what somebody installs who does not build: a tarball, a Debian package, a bill of materials, checksums.
//!
//! The same commit gives the same bytes: times are those of the commit, orders those of the names, owners root, and no path of the
//! machine that builds is in the binary.

mod again;
mod bill;
mod binary;
mod deb;
mod licences;
mod tree;
mod trial;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use self::{binary::Binary, tree::Tree};
use crate::{
    packages,
    steps::{self, command, host, output, root, target},
    web,
};

/// What is made, and what is done with it then.
#[derive(clap::Args)]
pub(crate) struct Dist {
    /// Make them a second time, of a clone elsewhere, and compare the bytes.
    #[arg(long)]
    check: bool,
    /// Install them in a clean Debian, pair, upgrade, revoke and remove, and list what is left; makes them where they are not there.
    #[arg(long = "try", conflicts_with = "check")]
    is_trial: bool,
    /// Upgrade from this Debian package in the trial, instead of from the same.
    #[arg(long, value_name = "DEB", requires = "is_trial")]
    previous: Option<PathBuf>,
    /// The Debian for the trial: the default is the oldest whose C library is new enough.
    #[arg(long, value_name = "SUITE", requires = "is_trial", default_value = "bullseye")]
    suite: String,
    /// Package this binary instead of building one, to try the packages themselves: it wants the C library that it was linked for.
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    binary: Option<PathBuf>,
    /// Put them there instead of in `target/dist`.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Makes the packages, or tries those that are there.
pub(crate) fn run(dist: &Dist) -> Result<()> {
    let out = match &dist.out {
        Some(out) => std::path::absolute(out)?,
        None => target().join("dist"),
    };
    if !dist.is_trial || dist.binary.is_some() || !out.join(SUMS).is_file() {
        make(&out, dist.binary.as_deref())?;
    } else {
        println!("the packages that are tried are those in {}", out.display());
    }
    if dist.check {
        again::run(&out)?;
    }
    if dist.is_trial {
        trial::run(&out, &dist.suite, dist.previous.as_deref())?;
    }
    Ok(())
}

/// The commit that the packages are made of.
struct Commit {
    /// Seconds since 1970.
    epoch: String,
    /// The same, as RFC 3339 has it.
    at: String,
}

impl Commit {
    fn of_head() -> Result<Self> {
        let head = |format: &str| {
            let mut git = command(
                "git",
                &["log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", format],
            );
            let said = output(git.env("TZ", "UTC")).context("packages have the time of the last commit")?;
            Ok::<_, anyhow::Error>(said.trim().to_owned())
        };
        if is_changed()? {
            println!("note: there are changes that are not committed, and the packages are made with them");
        }
        Ok(Self {
            epoch: head("--format=%ct")?,
            at: head("--format=%cd")?,
        })
    }
}

/// Whether the work tree has other files than the last commit.
fn is_changed() -> Result<bool> {
    let status = output(&mut command("git", &["status", "--porcelain"]))?;
    Ok(!status.trim().is_empty())
}

fn make(out: &Path, binary: Option<&Path>) -> Result<()> {
    let commit = Commit::of_head()?;
    let triple = host()?;
    let (machine, _) = triple
        .split_once('-')
        .context("a target begins with the machine")?;
    clean(out)?;
    let binary = match binary {
        Some(binary) => Binary::look_at(binary)?,
        None => {
            web::build()?;
            Binary::build(out, &triple, &commit.epoch)?
        }
    };
    let mut tree = Tree::default();
    tree.add("bin/transom", 0o755, binary.bytes.clone());
    let manual = out.join("manual");
    steps::run(command("cargo", MANUAL).arg(&manual))?;
    tree.add_folder(&manual, "")?;
    for file in documents()? {
        let bytes = fs::read(root().join(&file)).with_context(|| format!("{file} cannot be read"))?;
        tree.add(&format!("{DOC}/{file}"), 0o644, bytes);
    }
    let mut locked = packages::locked(&triple)?;
    let licences = licences::add(&mut locked)?;
    tree.add(&format!("{DOC}/licences.txt"), 0o644, licences.into_bytes());
    let product = bill::Product {
        version: VERSION,
        committed_at: &commit.at,
    };
    let bill = bill::make(&product, &locked)?;
    tree.add(
        &format!("{DOC}/transom.cdx.json"),
        0o644,
        bill.clone().into_bytes(),
    );

    let (major, minor) = binary.glibc;
    let name = format!("transom-{VERSION}-linux-{machine}-glibc{major}.{minor}");
    let staged = out.join("staged");
    tree.write(&staged.join(&name))?;
    tree::tar(&staged, &name, &out.join(format!("{name}.tar.gz")), &commit.epoch)?;
    deb::make(&tree, &binary, machine, &staged, out, &commit.epoch)?;
    fs::write(out.join(format!("transom-{VERSION}.cdx.json")), bill)?;
    let made = made(out)?;
    let sums = output(command("sha256sum", &["--"]).args(&made).current_dir(out))?;
    fs::write(out.join(SUMS), &sums)?;
    println!("\n{}:", out.display());
    for name in &made {
        println!("{:>12} bytes  {name}", fs::metadata(out.join(name))?.len());
    }
    print!("{sums}");
    Ok(())
}

/// Removes what an earlier run made; what cargo built stays.
fn clean(out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    for name in made(out)? {
        fs::remove_file(out.join(name))?;
    }
    for folder in ["staged", "manual"] {
        if out.join(folder).exists() {
            fs::remove_dir_all(out.join(folder))?;
        }
    }
    fs::create_dir_all(out.join("manual"))?;
    if out.join(SUMS).exists() {
        fs::remove_file(out.join(SUMS))?;
    }
    Ok(())
}

/// The names of the packages and the bill, in order.
fn made(out: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("transom") && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// What somebody reads who has no clone: the README, what it leads to, and the units.
fn documents() -> Result<Vec<String>> {
    let listed = output(&mut command(
        "git",
        &["ls-files", "--", "README.md", "docs", "deploy"],
    ))?;
    let files: Vec<_> = listed.lines().map(str::to_owned).collect();
    ensure!(!files.is_empty(), "git lists no documents");
    Ok(files)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where documents are, below the prefix.
const DOC: &str = "share/doc/transom";

const SUMS: &str = "SHA256SUMS";

/// Built as the tests are, which have most of it already: nothing of it is in a package but what it writes.
const MANUAL: &[&str] = &[
    "run",
    "--quiet",
    "--locked",
    "--profile",
    "ci",
    "--package",
    "cli",
    "--example",
    "manual",
    "--",
];
