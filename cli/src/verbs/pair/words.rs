//! What is said while devices are let in.

use std::net::IpAddr;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use pairing::Role;
use protocol::pairing::RequestView;

use super::{
    desk::{End, Why},
    digits,
};
use crate::{
    escape::escape, failure::Failure, frame::Span, names::spaced, output::STRONG, verbs::approve::Terms,
    wrap::wrap,
};

/// A line of a screen.
pub(super) type Line = Vec<Span>;

/// The text in lines of this width.
pub(super) fn lines(text: &str, style: Style, width: usize) -> Vec<Line> {
    wrap(text, width, 0)
        .into_iter()
        .map(|line| vec![Span::styled(line, style)])
        .collect()
}

/// What a device gets by an offer on these terms, one sentence each.
pub(super) fn grants(role: Option<Role>, terms: &Terms) -> Vec<String> {
    let mut grants = Vec::new();
    match role {
        Some(Role::Viewer) => grants.push("It may look at sessions, not type.".to_owned()),
        Some(Role::Operator) => {
            grants.push("It may type into sessions, and so do all that you may.".to_owned());
        }
        Some(Role::Metrics) | None => {}
    }
    if terms.can_revoke {
        grants.push("It may revoke other devices.".to_owned());
    }
    if terms.any_path {
        grants.push("It may come by any listener.".to_owned());
    }
    if let Some(seconds) = terms.expires {
        grants.push(format!("Its trust ends after {}.", span(seconds)));
    }
    if let Some(label) = &terms.label {
        grants.push(format!("It will be called \"{}\".", escape(label)));
    }
    grants
}

/// The headline of an offer.
pub(super) fn headline(role: Option<Role>) -> String {
    role.map_or_else(
        || "Pair a device.".to_owned(),
        |role| format!("Pair a device as {role}."),
    )
}

/// Who asks, from where, and with which code, for a width of this many columns and a height of this many rows.
pub(super) fn question(request: &RequestView, (columns, rows): (usize, usize)) -> Vec<Line> {
    let code = code(request);
    let mut text = lines(&asks(request), STRONG, columns);
    text.push(Line::new());
    text.extend(lines(&format!("From {}", origin(request)), PLAIN, columns));
    text.push(Line::new());
    text.extend(lines("Does it show this code?", PLAIN, columns));
    text.push(Line::new());
    let width = if rows < TALL {
        columns.min(2 * SMALL - 1)
    } else {
        columns
    };
    let large = digits::large(&code, width);
    if rows >= SHORT && !large.is_empty() {
        text.extend(large.into_iter().map(|line| vec![Span::styled(line, STRONG)]));
        text.push(Line::new());
    }
    text.push(vec![Span::styled(code, STRONG)]);
    text.push(Line::new());
    text
}

/// The keys of a question; `role` is what a yes gives.
pub(super) fn choice(role: Role, width: usize) -> Vec<Line> {
    let key = |key: &str, text: String| {
        let mut line = vec![Span::styled(key, STRONG)];
        let rest = crate::table::cut(&text, width.saturating_sub(key.len()));
        line.push(Span::plain(rest));
        line
    };
    vec![
        key("y", format!("  yes: pair it as {role}")),
        key("n", "  no: turn it away".to_owned()),
    ]
}

/// The same for who has no keyboard here.
pub(super) fn elsewhere(request: &RequestView) -> String {
    format!(
        "to decide elsewhere: `transom approve {0}`, or `transom reject {0}`",
        code(request)
    )
}

/// A claim in plain lines.
pub(super) fn claim(request: &RequestView) -> String {
    format!(
        "{}\n\n  from  {}\n  code  {STRONG}{}{STRONG:#}   the device must show the same digits\n",
        asks(request),
        origin(request),
        code(request),
    )
}

/// That a device was approved.
pub(super) fn approved(request: &RequestView) -> String {
    format!("Approved {} as {}.", name(request), request.role)
}

/// That a device is paired now, and how to take that back: two lines.
pub(super) fn paired(request: &RequestView) -> String {
    let id = id(request);
    format!(
        "paired {} as {}: {id}\n`transom revoke {id}` cuts it off",
        name(request),
        request.role
    )
}

/// The same in sentences.
pub(super) fn paired_in_a_note(request: &RequestView) -> String {
    let (name, id) = (name(request), id(request));
    format!(
        "Paired {name} as {}. `transom revoke {id}` cuts it off.",
        request.role
    )
}

/// What became of a request that is no device.
pub(super) fn ended(request: &RequestView, end: End) -> String {
    let name = name(request);
    match end {
        End::Rejected => format!("{name} was turned away."),
        End::Expired => format!("{name} was not answered in time."),
        End::HungUp => format!("{name} has gone away."),
        End::Unfinished => format!("{name} was approved, and did not finish in time: it is not paired."),
        End::Forgotten { was_approved: false } => {
            format!("The daemon was restarted, and {name} has to ask again.")
        }
        End::Forgotten { was_approved: true } => {
            format!(
                "The daemon was restarted before it said whether {name} is paired: see `transom devices`."
            )
        }
    }
}

/// Why there is another offer; what need not be told is not.
pub(super) fn replaced(why: Why) -> Option<&'static str> {
    match why {
        Why::Claimed => None,
        Why::Expired => Some("The offer before has expired."),
        Why::Burned => Some("Somebody guessed at the offer before, and it was withdrawn."),
        Why::Withdrawn => Some("The offer before was withdrawn."),
        Why::Forgotten => Some("The daemon was restarted."),
    }
}

/// That the command was broken off; `finishing` is who was approved and is not a device yet.
pub(super) fn interrupted(finishing: Option<&RequestView>) -> Failure {
    match finishing {
        None => Failure::failed(
            "interrupted",
            "the offer was withdrawn, and nothing was paired",
            "`transom pair` makes a new offer",
        ),
        Some(request) => Failure::failed(
            "interrupted",
            format!("{} was approved, and may still finish by itself", name(request)),
            "`transom devices` shows whether it did, and `transom revoke` cuts it off",
        ),
    }
}

/// The same for the person who broke it off.
pub(super) fn broken_off(finishing: Option<&RequestView>) -> String {
    match finishing {
        None => "the offer was withdrawn, and nothing was paired".to_owned(),
        Some(request) => format!(
            "{} was approved, and may still finish by itself: `transom devices` shows whether it did",
            name(request)
        ),
    }
}

/// The device's name for itself, in quotes.
pub(super) fn name(request: &RequestView) -> String {
    format!("\"{}\"", escape(&request.label))
}

/// The digits, or nothing before they are known.
pub(super) fn code(request: &RequestView) -> String {
    let code = request.code.as_deref().map(spaced).unwrap_or_default();
    escape(&code).into_owned()
}

/// What is left until then, as on a clock.
pub(super) fn left(until: Timestamp, now: Timestamp) -> String {
    let seconds = (until.as_second() - now.as_second()).max(0);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn id(request: &RequestView) -> String {
    request.device_id.map(|id| id.to_string()).unwrap_or_default()
}

fn asks(request: &RequestView) -> String {
    format!("{} asks to be paired as {}", name(request), request.role)
}

/// From where it asks: the address, and the tailnet's user and node, or that there is none.
fn origin(request: &RequestView) -> String {
    let is_loopback = |address: IpAddr| address.is_loopback();
    let by = match &request.tailnet {
        Some(tailnet) => escape(tailnet),
        None if request.peer.parse().is_ok_and(is_loopback) => "by loopback or a tunnel".into(),
        None => "no tailnet node".into(),
    };
    format!("{}, {by}", escape(&request.peer))
}

/// A span as it is typed.
fn span(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units
        .into_iter()
        .find(|(factor, _)| seconds.is_multiple_of(*factor));
    let (factor, name) = unit.unwrap_or((1, "s"));
    format!("{}{name}", seconds / factor)
}

/// Words without emphasis.
pub(super) const PLAIN: Style = Style::new();
/// What is there if needed.
pub(super) const FAINT: Style = Style::new().dimmed();
/// What went another way than wished for.
pub(super) const ALERT: Style = AnsiColor::Red.on_default().bold();
/// Columns of the small digits; large ones have twice as many.
const SMALL: usize = 27;
/// Rows from which on digits are large, and from which on they are more than text.
const TALL: usize = 30;
const SHORT: usize = 16;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{claim, left, question, span};
    use crate::verbs::pair::desk::tests::request;

    #[test]
    fn who_asks_is_shown_escaped_with_the_code_in_two_groups() {
        let mut request = request(1, "pending");
        request.label = "a\u{1b}[2Jb".to_owned();
        let said = anstream::adapter::strip_str(&claim(&request)).to_string();
        assert!(
            said.contains("\"a\\u{1b}[2Jb\" asks to be paired as viewer"),
            "{said}"
        );
        assert!(said.contains("code  493-027"), "{said}");
        request.tailnet = Some("a\u{202e}b on c".to_owned());
        let text: String = question(&request, (40, 24))
            .into_iter()
            .flatten()
            .map(|span| span.text)
            .collect();
        assert!(
            text.contains("a\\u{202e}b on c") && !text.contains('\u{1b}'),
            "{text}"
        );
    }

    #[test]
    fn time_left_is_as_on_a_clock_and_never_negative() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(left(at(377), at(100)), "4:37");
        assert_eq!(left(at(100), at(377)), "0:00");
    }

    #[test]
    fn a_span_is_told_in_the_unit_that_it_was_said_in() {
        assert_eq!(
            [90 * 86_400, 43_200, 90, 60].map(span),
            ["90d", "12h", "90s", "1m"]
        );
    }
}
