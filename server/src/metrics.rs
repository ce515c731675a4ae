//! What a scrape is told (access.md 3): figures of the access layer, and of the product behind it.
//!
//! A label's value is a word of the program's own or an address that it listens at, by its type: no name, id or secret can get
//! into one.

mod figures;
mod tally;

use std::{borrow::Cow, fmt::Write, net::SocketAddr};

pub(crate) use self::{figures::write, tally::Tally};

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
        let Self { name, text } = self;
        text.push_str(name);
        for (place, (key, label)) in labels.iter().enumerate() {
            let opens = if place == 0 { '{' } else { ',' };
            write!(text, "{opens}{key}=\"{}\"", label.text()).expect(INFALLIBLE);
        }
        let closes = if labels.is_empty() { "" } else { "}" };
        writeln!(text, "{closes} {value}").expect(INFALLIBLE);
        self
    }
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
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
    use super::{Exposition, Kind, Label};

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
}
