//! The figures of the web app. `tests/browser/bench/` takes the samples in the system's Chromium, whose processor it slows
//! down to a phone's; here they are judged.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Findings, Measure};
use crate::{
    report::Figure,
    sampling::{median, tail},
};

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        names: &["load"],
        run: |findings| measure(findings, "load", LOAD),
    },
    Measure {
        names: &["first-screen"],
        run: |findings| measure(findings, "first-screen", FIRST_SCREEN),
    },
    Measure {
        names: &["flood"],
        run: |findings| measure(findings, "flood", FLOOD),
    },
    Measure {
        names: &["echo"],
        run: |findings| measure(findings, "echo", ECHO),
    },
    Measure {
        names: &["list"],
        run: |findings| measure(findings, "list", LIST),
    },
];

/// One part of a figure, and its bound.
struct Part {
    /// As the samples name it.
    name: &'static str,
    /// Which of the samples counts.
    of: Of,
    /// Of the value, and how many of the samples' own it is.
    unit: (&'static str, f64),
    /// In the unit.
    most: f64,
    /// How many times the bound it fails at: time on a machine that others use is no exact thing.
    tolerance: f64,
}

enum Of {
    Median,
    /// The p99 of a thousand samples, the maximum of fewer.
    Tail,
}

/// What was sampled of one part.
#[derive(Deserialize)]
struct Samples {
    ours: Vec<f64>,
    floor: Vec<f64>,
}

fn measure(findings: &mut Findings, name: &str, parts: &[Part]) -> Result<()> {
    let mut sampled = sample(name)?;
    for part in parts {
        let samples = sampled
            .remove(part.name)
            .with_context(|| format!("nothing was sampled of {}", part.name))?;
        findings.add(part.figure(&samples));
    }
    Ok(())
}

/// Has the browser's side measure.
fn sample(name: &str) -> Result<BTreeMap<String, Samples>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../browser/bench/measure.mjs");
    let measured = Command::new("node")
        .arg(script)
        .arg(name)
        // The programs on the terminals.
        .arg(std::env::current_exe()?)
        .stderr(Stdio::inherit())
        .output()
        .context("Node could not be started")?;
    ensure!(measured.status.success(), "the browser's side failed");
    serde_json::from_slice(&measured.stdout).context("the browser's side printed something else than samples")
}

impl Part {
    fn figure(&self, samples: &Samples) -> Figure {
        let (unit, size) = self.unit;
        let [(which, value), (_, floor)] = [&samples.ours, &samples.floor].map(|samples| {
            let samples: Vec<f64> = samples.iter().map(|sample| sample / size).collect();
            match self.of {
                Of::Median => ("p50", median(&samples)),
                Of::Tail => tail(&samples),
            }
        });
        let name = match samples.ours.len() {
            1 => self.name.to_owned(),
            count => format!("{}, {which} of {count}", self.name),
        };
        let most = self.most * self.tolerance;
        let fails = if self.tolerance > 1.0 {
            format!(" (fails at {most})")
        } else {
            String::new()
        };
        let target = format!("≤ {} {unit}{fails}", self.most);
        Figure {
            floor: Some(floor),
            ratio: Some(value / floor),
            ..Figure::alone(&name, (value, unit), &target, value <= most)
        }
    }
}

const LOAD: &[Part] = &[Part {
    name: "load",
    of: Of::Median,
    unit: KIB,
    most: 200.0,
    tolerance: 1.0,
}];

const FIRST_SCREEN: &[Part] = &[Part {
    name: "first-screen",
    of: Of::Median,
    unit: MS,
    most: 300.0,
    tolerance: TIME,
}];

const FLOOD: &[Part] = &[
    Part {
        name: "flood tap",
        of: Of::Tail,
        unit: MS,
        most: 100.0,
        tolerance: TIME,
    },
    Part {
        name: "flood memory",
        of: Of::Tail,
        unit: MIB,
        most: 64.0,
        tolerance: 1.0,
    },
    Part {
        name: "flood last screen",
        of: Of::Tail,
        unit: MS,
        most: 1_000.0,
        tolerance: TIME,
    },
];

const ECHO: &[Part] = &[Part {
    name: "echo",
    of: Of::Median,
    unit: MS,
    most: 30.0,
    tolerance: TIME,
}];

const LIST: &[Part] = &[Part {
    name: "list",
    of: Of::Median,
    unit: ("% of a core", 0.01),
    most: 10.0,
    tolerance: TIME,
}];

const MS: (&str, f64) = ("ms", 1.0);
const KIB: (&str, f64) = ("KiB", 1024.0);
const MIB: (&str, f64) = ("MiB", 1024.0 * 1024.0);
const TIME: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::{ECHO, LOAD, Samples};

    #[test]
    fn a_bound_in_time_fails_at_four_times_and_one_in_bytes_at_itself() {
        let of = |sample: f64| Samples {
            ours: vec![sample],
            floor: vec![10.0],
        };
        assert!(ECHO[0].figure(&of(119.0)).holds);
        assert!(!ECHO[0].figure(&of(121.0)).holds);
        assert!(LOAD[0].figure(&of(200.0 * 1024.0)).holds);
        assert!(!LOAD[0].figure(&of(201.0 * 1024.0)).holds);
    }

    #[test]
    fn a_figure_stands_beside_its_floor_and_names_its_bound() {
        let figure = ECHO[0].figure(&Samples {
            ours: vec![30.0, 20.0, 40.0],
            floor: vec![10.0, 15.0, 20.0],
        });
        assert_eq!(figure.figure, "echo, p50 of 3");
        assert_eq!(
            (figure.value, figure.floor, figure.ratio),
            (30.0, Some(15.0), Some(2.0))
        );
        assert_eq!(figure.target, "≤ 30 ms (fails at 120)");
    }

    #[test]
    fn what_was_not_sampled_does_not_hold() {
        let nothing = Samples {
            ours: Vec::new(),
            floor: vec![10.0],
        };
        assert!(!ECHO[0].figure(&nothing).holds);
    }
}
