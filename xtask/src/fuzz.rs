//! `cargo xtask fuzz`: the targets of `tests/fuzz` under libFuzzer, one after the other.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, ensure};

use crate::steps::{command, host, root, run as run_command, target};

/// What is fuzzed, and for how long.
#[derive(clap::Args)]
pub(crate) struct Fuzz {
    /// Targets; without any, all of them.
    targets: Vec<String>,
    /// Minutes for each.
    #[arg(long, default_value_t = 10)]
    minutes: u32,
}

/// Builds the fuzzer and runs each target for its time. What breaks a rule is left in `corpus/<target>/`, where the tests replay
/// it from then on.
pub(crate) fn run(fuzz: &Fuzz) -> Result<()> {
    let corpora = root().join(CORPORA);
    let known = fs::read_dir(&corpora).with_context(|| format!("{} cannot be read", corpora.display()))?;
    let mut known: Vec<String> = known
        .filter_map(|folder| folder.ok()?.file_name().into_string().ok())
        .collect();
    known.sort();
    let wanted = if fuzz.targets.is_empty() {
        &known
    } else {
        &fuzz.targets
    };
    for target in wanted {
        ensure!(
            known.contains(target),
            "there is no target `{target}`; there are {}",
            known.join(", ")
        );
    }
    let target_dir = target().join("fuzz");
    let fuzzer = build(&target_dir)?;
    for target in wanted {
        let found = corpora.join(target);
        let grown = target_dir.join("corpus").join(target);
        fs::create_dir_all(&grown)?;
        let mut fuzzer = std::process::Command::new(&fuzzer);
        fuzzer
            .env("FUZZ_TARGET", target)
            .arg(format!("-max_total_time={}", u64::from(fuzz.minutes) * 60))
            .arg(format!("-artifact_prefix={}/", found.display()))
            .args(["-max_len=4096", "-print_final_stats=1"])
            // What is new goes into the first folder; the second is what is committed.
            .args([&grown, &found]);
        run_command(&mut fuzzer).with_context(|| format!("`{target}` broke a rule"))?;
    }
    Ok(())
}

/// Builds it with coverage and debug assertions, apart from all other builds, by this compiler: the flags are stable ones.
fn build(target_dir: &PathBuf) -> Result<PathBuf> {
    // With a target named, build scripts and macros are built without coverage.
    let triple = host()?;
    let mut cargo = command(
        "cargo",
        &[
            "build",
            "--locked",
            "--release",
            "--package",
            "fuzz",
            "--features",
            "libfuzzer",
            "--target",
            &triple,
        ],
    );
    cargo
        .env("CARGO_TARGET_DIR", target_dir)
        .env("RUSTFLAGS", COVERAGE.join(" "))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    run_command(&mut cargo)?;
    Ok(target_dir.join(triple).join("release/fuzz"))
}

const CORPORA: &str = "tests/fuzz/corpus";

/// What libFuzzer is guided by (LLVM, SanitizerCoverage).
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg fuzzing",
];
