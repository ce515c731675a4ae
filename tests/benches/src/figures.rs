//! The figures, by the names of their targets.

mod access;
mod attach;
mod bulk;
mod echo;
mod flood;
mod memory;
mod operate;
mod reach;
mod restart;
mod screen;
mod viewers;
mod web;

use std::process::ExitCode;

use anyhow::{Result, ensure};

pub(crate) use self::screen::history;
use crate::{
    kernel,
    report::{Figure, Format},
};

/// Measures what was selected of the terminal path and shows it.
pub(crate) fn sessions(selection: &Selection, format: &Format) -> Result<ExitCode> {
    measure(MEASURES, selection, format)
}

/// The same of the access layer.
pub(crate) fn access(selection: &Selection, format: &Format) -> Result<ExitCode> {
    measure(access::MEASURES, selection, format)
}

/// The same of the ways in.
pub(crate) fn reach(selection: &Selection, format: &Format) -> Result<ExitCode> {
    measure(reach::MEASURES, selection, format)
}

/// The same of running it for long.
pub(crate) fn operate(selection: &Selection, format: &Format) -> Result<ExitCode> {
    measure(operate::MEASURES, selection, format)
}

/// The same of the web app.
pub(crate) fn web(selection: &Selection, format: &Format) -> Result<ExitCode> {
    measure(web::MEASURES, selection, format)
}

/// Fails where something could not be measured that is there.
fn measure(measures: &[Measure], selection: &Selection, format: &Format) -> Result<ExitCode> {
    let wanted: Vec<&Measure> = measures
        .iter()
        .filter(|measure| selection.wants(measure.names))
        .collect();
    ensure!(
        !wanted.is_empty(),
        "no figure has that name; there are {}",
        names(measures).join(", ")
    );
    ensure!(
        std::env::var_os("TEST_TRANSOM_BINARY").is_some(),
        "TEST_TRANSOM_BINARY names no binary: `cargo xtask bench` builds it and says so"
    );
    eprintln!("load of the machine before: {}", kernel::load());
    let mut findings = Findings::default();
    let mut failed = false;
    for measure in wanted {
        eprintln!("measuring {}", measure.names.join(", "));
        if let Err(error) = (measure.run)(&mut findings) {
            eprintln!("failed: {}: {error:#}", measure.names.join(", "));
            failed = true;
        }
    }
    eprintln!("load of the machine after: {}", kernel::load());
    findings
        .0
        .retain(|figure| selection.wants(&[figure.figure.split([' ', ',']).next().unwrap_or_default()]));
    format.show(&findings.0)?;
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Which figures are wanted.
pub(crate) struct Selection(Vec<String>);

impl Selection {
    /// All, where none is named.
    pub(crate) fn new(only: Vec<String>) -> Self {
        Self(only)
    }

    fn wants(&self, names: &[&str]) -> bool {
        self.0.is_empty()
            || self
                .0
                .iter()
                .any(|wanted| names.iter().any(|name| name.eq_ignore_ascii_case(wanted)))
    }
}

/// What was found, and said on the way.
#[derive(Default)]
struct Findings(Vec<Figure>);

impl Findings {
    /// Said at once as well: a run that is broken off has told what it found.
    fn add(&mut self, figure: Figure) {
        let ratio = figure
            .ratio
            .map(|ratio| format!(", × {ratio:.2}"))
            .unwrap_or_default();
        eprintln!("{}: {:.2} {}{ratio}", figure.figure, figure.value, figure.unit);
        self.0.push(figure);
    }

    /// Says why there is no number. None is made up.
    #[expect(clippy::unused_self, reason = "what is missing belongs to what was found")]
    fn missing(&self, name: &str, why: &str) {
        eprintln!("not measured: {name}: {why}");
    }
}

/// Figures that are measured in one go.
struct Measure {
    names: &'static [&'static str],
    run: fn(&mut Findings) -> Result<()>,
}

fn names(measures: &[Measure]) -> Vec<&'static str> {
    measures
        .iter()
        .flat_map(|measure| measure.names.iter().copied())
        .collect()
}

const MEASURES: &[Measure] = &[
    Measure {
        names: &["B1", "B2", "unwatched"],
        run: bulk::run,
    },
    Measure {
        names: &["L1"],
        run: echo::idle,
    },
    Measure {
        names: &["B3"],
        run: viewers::many,
    },
    Measure {
        names: &["B4"],
        run: viewers::stalled,
    },
    Measure {
        names: &["B5"],
        run: screen::run,
    },
    Measure {
        names: &["L2"],
        run: flood::run,
    },
    Measure {
        names: &["M1", "keeper"],
        run: memory::run,
    },
    Measure {
        names: &["M2"],
        run: viewers::idle,
    },
    Measure {
        names: &["restart"],
        run: restart::run,
    },
    Measure {
        names: &["A1"],
        run: attach::run,
    },
];
