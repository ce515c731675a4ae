//! The binary that is packaged: in the release profile, without symbols, for an old C library, without a path of this machine.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::steps::{self, command, output, root, target};

/// What was built, and what it asks of a system.
pub(super) struct Binary {
    /// The executable.
    pub(super) bytes: Vec<u8>,
    /// The oldest version of glibc that it runs with.
    pub(super) glibc: (u32, u32),
    /// The shared libraries that it loads, such as `libc.so.6`.
    pub(super) libraries: Vec<String>,
}

impl Binary {
    /// Builds it below a folder, and checks it.
    ///
    /// # Errors
    /// It cannot be built, is larger than 25 MiB, or holds a path of this machine.
    pub(super) fn build(out: &Path, triple: &str, epoch: &str) -> Result<Self> {
        let zig = match zig() {
            Ok(zig) => Some(zig),
            Err(why) => {
                println!(
                    "note: there is no zig linker here, so the binary wants this machine's C library: {why:#}"
                );
                None
            }
        };
        let build = out.join("build");
        let replaced = replaced_paths(&build)?;
        steps::run(&mut cargo(&build, triple, epoch, zig.as_deref(), &replaced))?;
        let path = build.join(triple).join("release/transom");
        let binary = Self::look_at(&path)?;
        if zig.is_some() {
            ensure!(
                binary.glibc <= GLIBC,
                "the binary wants glibc {}.{}, which is newer than what it was linked for",
                binary.glibc.0,
                binary.glibc.1
            );
        }
        ensure!(
            binary.bytes.len() <= MOST_BYTES,
            "the binary has {} bytes, and at most {MOST_BYTES} are allowed",
            binary.bytes.len()
        );
        for (former, _) in &replaced {
            let former = former.as_bytes();
            ensure!(
                !binary.bytes.windows(former.len()).any(|window| window == former),
                "the binary holds the path {}",
                String::from_utf8_lossy(former)
            );
        }
        Ok(binary)
    }

    /// Says what a binary asks of a system.
    ///
    /// # Errors
    /// It cannot be read, or is none that loads glibc.
    pub(super) fn look_at(path: &Path) -> Result<Self> {
        let readelf = |what: &str| output(command("readelf", &["--wide", what]).arg(path));
        let versions = readelf("--version-info")?;
        let glibc = newest_glibc(&versions).context("readelf names no version of glibc")?;
        Ok(Self {
            bytes: fs::read(path)?,
            glibc,
            libraries: needed(&readelf("--dynamic")?),
        })
    }
}

/// The build, apart from all others, as its flags are its own.
fn cargo(
    build: &Path,
    triple: &str,
    epoch: &str,
    zig: Option<&Path>,
    replaced: &[(String, String)],
) -> Command {
    let (verb, target) = match zig {
        Some(_) => ("zigbuild", format!("{triple}.{}.{}", GLIBC.0, GLIBC.1)),
        None => ("build", triple.to_owned()),
    };
    let mut cargo = command("cargo", &[verb, "--release", "--locked", "--package", "cli"]);
    let as_flags = |flag: &str, separator: &str| {
        let flags = replaced
            .iter()
            .map(|(former, new)| format!("{flag}={former}={new}"));
        flags.collect::<Vec<_>>().join(separator)
    };
    cargo
        .args(["--target", &target])
        .env("CARGO_TARGET_DIR", build)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        // The app's files are embedded with their times.
        .env("SOURCE_DATE_EPOCH", epoch)
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", as_flags("--remap-path-prefix", "\x1f"))
        .env(
            format!("CFLAGS_{}", triple.replace('-', "_")),
            as_flags("-ffile-prefix-map", " "),
        );
    if let Some(zig) = zig {
        let path = env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(zig.to_path_buf()).chain(env::split_paths(&path));
        let path = env::join_paths(path).expect("no folder of a PATH has a colon");
        cargo
            .env("PATH", path)
            .env("ZIG_GLOBAL_CACHE_DIR", build.join("zig"))
            .env("ZIG_LOCAL_CACHE_DIR", build.join("zig"));
    }
    cargo
}

/// The folders of this machine whose names would be in the binary, each with what stands there instead. Of two that fit, the
/// later one is taken (rustc and clang).
fn replaced_paths(build: &Path) -> Result<Vec<(String, String)>> {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let cargo_home = cargo_home.context("neither CARGO_HOME nor HOME is set")?;
    let sysroot = output(&mut command("rustc", &["--print", "sysroot"]))?;
    let version = output(&mut command("rustc", &["--version", "--verbose"]))?;
    let commit = version
        .lines()
        .find_map(|line| line.strip_prefix("commit-hash: "));
    let library = format!("/rustc/{}", commit.context("rustc names no commit")?);
    let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    let paths = [
        (cargo_home, "/cargo".to_owned()),
        (sources, library),
        (root(), "/transom".to_owned()),
        (build.to_path_buf(), "/build".to_owned()),
    ];
    let as_text = |(path, new): (PathBuf, String)| {
        let path = path
            .to_str()
            .context("the build's folders have names that are text")?;
        Ok((path.to_owned(), new))
    };
    paths.into_iter().map(as_text).collect()
}

/// The folder with cargo-zigbuild and the zig that it uses, from PyPI, kept for the next time.
fn zig() -> Result<PathBuf> {
    let tools = target().join("tools");
    let folder = tools.join("zig");
    let bin = folder.join("bin");
    let wanted = tools.join("zig.txt");
    let is_there =
        fs::read_to_string(&wanted).is_ok_and(|text| text == ZIG) && bin.join("cargo-zigbuild").is_file();
    if !is_there {
        fs::create_dir_all(&tools)?;
        steps::run(command("python3", &["-m", "venv", "--clear"]).arg(&folder))?;
        let new = tools.join("zig.new");
        fs::write(&new, ZIG)?;
        let pip = bin.join("pip");
        let pip = pip
            .to_str()
            .context("the target folder has a name that is text")?;
        steps::run(command(pip, &["install", "--quiet", "--require-hashes", "--requirement"]).arg(&new))?;
        fs::rename(new, wanted)?;
    }
    Ok(bin)
}

fn newest_glibc(versions: &str) -> Option<(u32, u32)> {
    let numbers = versions.split("GLIBC_").skip(1).filter_map(|rest| {
        let mut parts = rest
            .split(|character: char| character != '.' && !character.is_ascii_digit())
            .next()?
            .split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    numbers.max()
}

fn needed(dynamic: &str) -> Vec<String> {
    let lines = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    lines
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .collect()
}

/// What binaries are linked for: Debian 11, Ubuntu 20.04 and whatever is newer.
const GLIBC: (u32, u32) = (2, 31);

const MOST_BYTES: usize = 25 << 20;

/// The linker, for both machines, as pip reads it. Its hashes are what makes it the same one everywhere.
const ZIG: &str = "\
cargo-zigbuild==0.24.1 \\
    --hash=sha256:238a1ab54a95053a4eadc34775c81f795a8ad75f80bfed63f3f445f518102375 \\
    --hash=sha256:07c5e3dcddf208500462ec927c556bb306cca2b533b0abe29446bffb63767b85
ziglang==0.15.2 \\
    --hash=sha256:806316453d1ede7174ed3fefb8e5348154629089c3bb5fe812dfd0e172fac130 \\
    --hash=sha256:edc0aa60ec964a4cf462d40f68d7de242ddf37fd9a80f2afaee6397059463230
";

#[cfg(test)]
mod tests {
    use super::{needed, newest_glibc};

    #[test]
    fn the_newest_version_of_glibc_is_told_by_its_number() {
        let versions =
            "  0x0020:   Name: GLIBC_2.4  Flags: none\n  0x0030:   Name: GLIBC_2.31 \n Name: GLIBC_2.2.5 \n";
        assert_eq!(newest_glibc(versions), Some((2, 31)));
        assert_eq!(newest_glibc("GLIBC_PRIVATE"), None);
    }

    #[test]
    fn the_libraries_are_those_that_are_needed() {
        let dynamic = " 0x0001 (NEEDED)  Shared library: [libc.so.6]\n 0x000e (SONAME) Library soname: [x]\n";
        assert_eq!(needed(dynamic), ["libc.so.6"]);
    }
}
