//! Figures, as a table or as JSON (`docs/proof.md` says how to read them).

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One measured figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// Its name: that of the target, and which part of it.
    pub(crate) figure: String,
    /// What was measured.
    pub(crate) value: f64,
    /// Of the value and the floor.
    pub(crate) unit: String,
    /// What the least code that does the job needs.
    pub(crate) floor: Option<f64>,
    /// The value over the floor.
    pub(crate) ratio: Option<f64>,
    /// The target in words.
    pub(crate) target: String,
    /// Whether it is met.
    pub(crate) holds: bool,
    /// Whether it must be: false for targets that only orient.
    pub(crate) required: bool,
}

/// How the figures are shown.
pub(crate) struct Format {
    pub(crate) json: bool,
    pub(crate) save: Option<PathBuf>,
    pub(crate) against: Option<PathBuf>,
}

impl Figure {
    /// A figure beside its floor; it holds where the ratio does.
    pub(crate) fn beside(
        name: &str,
        (value, unit): (f64, &str),
        floor: f64,
        target: &str,
        holds: impl Fn(f64) -> bool,
    ) -> Self {
        let ratio = value / floor;
        Self {
            floor: Some(floor),
            ratio: Some(ratio),
            ..Self::alone(name, (value, unit), target, holds(ratio))
        }
    }

    /// A figure with a bound of its own.
    pub(crate) fn alone(name: &str, (value, unit): (f64, &str), target: &str, holds: bool) -> Self {
        Self {
            figure: name.to_owned(),
            value,
            unit: unit.to_owned(),
            floor: None,
            ratio: None,
            target: target.to_owned(),
            // What could not be measured holds nothing.
            holds: holds && value.is_finite(),
            required: false,
        }
    }

    /// A bound that an issue states.
    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Format {
    /// Prints all figures and saves them where that was asked for.
    pub(crate) fn show(&self, figures: &[Figure]) -> Result<()> {
        let json = serde_json::to_string_pretty(figures)?;
        if let Some(path) = &self.save {
            fs::write(path, &json).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if self.json {
            println!("{json}");
            return Ok(());
        }
        let before = match &self.against {
            Some(path) => serde_json::from_slice(
                &fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?,
            )?,
            None => Vec::new(),
        };
        println!("{}", table(figures, &before));
        Ok(())
    }
}

fn table(figures: &[Figure], before: &[Figure]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(figures.iter().map(|figure| row(figure, before)));
    if before.is_empty() {
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn row(figure: &Figure, before: &[Figure]) -> Vec<String> {
    let earlier = before.iter().find(|earlier| earlier.figure == figure.figure);
    let earlier = earlier.map_or_else(String::new, |earlier| match earlier.ratio {
        Some(ratio) => format!("× {}", short(ratio)),
        None => short(earlier.value),
    });
    vec![
        figure.figure.clone(),
        format!("{} {}", short(figure.value), figure.unit),
        figure.floor.map_or_else(String::new, short),
        figure
            .ratio
            .map_or_else(String::new, |ratio| format!("× {}", short(ratio))),
        figure.target.clone(),
        match (figure.holds, figure.required) {
            (true, _) => "holds",
            (false, false) => "no",
            (false, true) => "NO, required",
        }
        .to_owned(),
        earlier,
    ]
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

const HEAD: [&str; 7] = ["figure", "value", "floor", "ratio", "target", "", "before"];

#[cfg(test)]
mod tests {
    use super::{Figure, table};

    #[test]
    fn a_figure_holds_by_its_ratio_and_never_where_nothing_was_measured() {
        let at_least = |bound: f64| move |ratio: f64| ratio >= bound;
        assert!(Figure::beside("B1", (45.0, "MB/s"), 50.0, "", at_least(0.85)).holds);
        assert!(!Figure::beside("B1", (40.0, "MB/s"), 50.0, "", at_least(0.85)).holds);
        assert!(!Figure::alone("M1", (f64::NAN, "KiB"), "", true).holds);
    }

    #[test]
    fn a_figure_is_an_object_of_eight_fields() {
        let figure = Figure::beside("B1", (45.0, "MB/s"), 50.0, "≥ 0.85 × raw-pty", |_| true);
        let json = serde_json::to_value(&figure).unwrap();
        let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            fields,
            [
                "figure", "floor", "holds", "ratio", "required", "target", "unit", "value"
            ]
        );
    }

    #[test]
    fn a_missed_bound_of_an_issue_stands_out() {
        let figure = Figure::alone("keeper", (4.0, "MiB"), "≤ 3 MiB", false).required();
        assert!(table(&[figure], &[]).ends_with("NO, required"));
    }
}
