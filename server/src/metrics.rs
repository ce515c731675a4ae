//! What a scrape is told: figures of the access layer, and of the product behind it.
//!
//! A label's value is a word of the program's own or an address that it listens at, by its type: no name, id or secret can get
//! into one.

mod counts;
mod figures;
mod histogram;
mod process;
mod tally;

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    net::SocketAddr,
    time::Duration,
};

pub use self::histogram::Histogram;
pub(crate) use self::{
    counts::{Count, Counts, broken},
    figures::write,
    tally::Tally,
};

/// Figures in the Prometheus text format, version 0.0.4.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

/// What a family's figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that grows only, from the start of the daemon on; its family's name ends with `_total`.
    Counter,
    /// A number as it stands.
    Gauge,
    /// How often something took how long.
    Histogram,
}

/// The value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// One of the program's own words.
    Word(&'static str),
    /// Where the daemon listens.
    Address(SocketAddr),
}

/// The figures of one name.
#[derive(Debug)]
pub struct Family<'a> {
    name: &'static str,
    text: &'a mut String,
}

impl Exposition {
    /// The media type of the text.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family, in base units (seconds, bytes). Each name once; `help` is one line.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &'static str) -> Family<'_> {
        debug_assert_eq!(kind == Kind::Counter, name.ends_with("_total"), "{name}");
        let text = &mut self.text;
        writeln!(text, "# HELP {name} {help}").expect(INFALLIBLE);
        writeln!(text, "# TYPE {name} {}", kind.as_str()).expect(INFALLIBLE);
        Family { name, text }
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl Family<'_> {
    /// Adds a figure; its labels tell it from the others of the family.
    pub fn figure(&mut self, labels: &[(&'static str, Label)], value: u64) -> &mut Self {
        self.line("", labels, None, format_args!("{value}"))
    }

    /// The same for a length of time, in seconds.
    pub fn seconds(&mut self, labels: &[(&'static str, Label)], value: Duration) -> &mut Self {
        self.line("", labels, None, format_args!("{}", value.as_secs_f64()))
    }

    /// Adds the figures of a histogram.
    pub fn histogram(&mut self, labels: &[(&'static str, Label)], histogram: &Histogram) -> &mut Self {
        let snapshot = histogram.snapshot();
        for (bound, count) in snapshot.at_most {
            self.line("_bucket", labels, Some(bound), format_args!("{count}"));
        }
        let (count, sum) = (snapshot.count, snapshot.sum.as_secs_f64());
        self.line("_bucket", labels, Some("+Inf"), format_args!("{count}"))
            .line("_sum", labels, None, format_args!("{sum}"))
            .line("_count", labels, None, format_args!("{count}"))
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[(&'static str, Label)],
        bound: Option<&str>,
        value: fmt::Arguments<'_>,
    ) -> &mut Self {
        let Self { name, text } = self;
        write!(text, "{name}{suffix}").expect(INFALLIBLE);
        let mut opens = '{';
        let labels = labels.iter().map(|(key, label)| (*key, label.text()));
        for (key, label) in labels.chain(bound.map(|bound| ("le", bound.into()))) {
            write!(text, "{opens}{key}=\"{label}\"").expect(INFALLIBLE);
            opens = ',';
        }
        let closes = if opens == ',' { "}" } else { "" };
        writeln!(text, "{closes} {value}").expect(INFALLIBLE);
        self
    }
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Label {
    /// As it stands between quotes: neither kind holds what would have to be escaped there.
    fn text(self) -> Cow<'static, str> {
        match self {
            Self::Word(word) => Cow::Borrowed(word),
            Self::Address(address) => Cow::Owned(address.to_string()),
        }
    }
}

const INFALLIBLE: &str = "writing to a String cannot fail";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Exposition, Histogram, Kind, Label};

    #[test]
    fn a_family_says_what_it_is_before_its_figures() {
        let mut exposition = Exposition::default();
        exposition
            .family("a_bytes", Kind::Gauge, "What a is.")
            .figure(&[], 7);
        exposition
            .family("b_total", Kind::Counter, "What b is.")
            .figure(&[("cause", Label::Word("x"))], 1)
            .figure(
                &[
                    ("cause", Label::Word("y")),
                    ("listener", Label::Address(([127, 0, 0, 1], 7300).into())),
                ],
                u64::MAX,
            );
        assert_eq!(
            exposition.into_text(),
            "# HELP a_bytes What a is.\n# TYPE a_bytes gauge\na_bytes 7\n\
             # HELP b_total What b is.\n# TYPE b_total counter\nb_total{cause=\"x\"} 1\n\
             b_total{cause=\"y\",listener=\"127.0.0.1:7300\"} 18446744073709551615\n"
        );
    }

    #[test]
    fn a_histogram_is_buckets_a_sum_and_a_count() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(40));
        let mut exposition = Exposition::default();
        exposition
            .family("c_seconds", Kind::Histogram, "How long c took.")
            .histogram(&[("lane", Label::Word("x"))], &histogram);
        let text = exposition.into_text();
        assert!(text.starts_with("# HELP c_seconds How long c took.\n# TYPE c_seconds histogram\n"));
        for line in [
            "c_seconds_bucket{lane=\"x\",le=\"0.025\"} 0",
            "c_seconds_bucket{lane=\"x\",le=\"0.05\"} 1",
            "c_seconds_bucket{lane=\"x\",le=\"+Inf\"} 1",
            "c_seconds_sum{lane=\"x\"} 0.04",
            "c_seconds_count{lane=\"x\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
