//! What `transom pair --pending` shows: who asks, which of them is looked at, and the question about that one.

use jiff::Timestamp;
use pairing::{RequestId, Role};
use protocol::pairing::{RequestStatus, RequestView};

use super::super::{
    desk::End,
    news::News,
    words::{self, ALERT, FAINT, Line, PLAIN, lines},
};
use crate::{
    duration,
    frame::{Frame, Span},
    full_screen,
    output::STRONG,
    table::{Table, cut},
};

/// All that the screen depends on but its size and the time.
#[derive(Debug)]
pub(super) struct List {
    /// Whether there is a keyboard.
    pub(super) has_keys: bool,
    /// What a yes gives, where the command says so.
    role: Option<Role>,
    /// Those that have a code and are not over; the oldest first.
    requests: Vec<RequestView>,
    is_known: bool,
    /// The request that the marker stands at. It does not go to another one by itself.
    marked: Option<RequestId>,
    /// The request that is asked about.
    asked: Option<RequestId>,
    /// Those on which this command has decided.
    decided: Vec<RequestId>,
    paired: Vec<RequestView>,
    note: Option<String>,
    away_since: Option<Timestamp>,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Suspend,
    /// The marker goes down, or up where it is negative.
    Move(isize),
    /// The request with this number, from 1 on, is asked about.
    Pick(usize),
    /// The marked request is asked about.
    Open,
    /// The question is closed, without an answer.
    Back,
    Yes,
    No,
}

impl List {
    /// Nothing is known.
    pub(super) fn new(has_keys: bool, role: Option<Role>) -> Self {
        Self {
            has_keys,
            role,
            requests: Vec::new(),
            is_known: false,
            marked: None,
            asked: None,
            decided: Vec::new(),
            paired: Vec::new(),
            note: None,
            away_since: None,
        }
    }

    /// Takes what became known.
    pub(super) fn take(&mut self, news: News, now: Timestamp) {
        match news {
            News::Away => _ = self.away_since.get_or_insert(now),
            News::Same | News::Offers(_) => self.away_since = None,
            News::Requests(requests) => {
                self.away_since = None;
                self.is_known = true;
                self.take_requests(requests);
            }
        }
    }

    fn take_requests(&mut self, requests: Vec<RequestView>) {
        for former in &self.requests {
            let request = requests.iter().find(|request| request.id == former.id);
            let was_approved = former.state != RequestStatus::Pending;
            let end = match request.map(|request| request.state) {
                None => End::Forgotten { was_approved },
                Some(RequestStatus::Committed) => {
                    self.paired.extend(request.cloned());
                    self.note = request.map(words::paired_in_a_note);
                    continue;
                }
                Some(RequestStatus::Rejected) => End::Rejected,
                Some(RequestStatus::Expired | RequestStatus::HungUp) if was_approved => End::Unfinished,
                Some(RequestStatus::Expired) => End::Expired,
                Some(RequestStatus::HungUp) => End::HungUp,
                Some(RequestStatus::Pending | RequestStatus::Approved | RequestStatus::Exchanged) => continue,
            };
            self.note = Some(words::ended(former, end));
        }
        let stays = |request: RequestView| {
            if request.state == RequestStatus::Pending && self.decided.contains(&request.id) {
                // A list from before the decision.
                return self
                    .requests
                    .iter()
                    .find(|former| former.id == request.id)
                    .cloned();
            }
            (is_open(&request) || is_finishing(&request)).then_some(request)
        };
        let requests: Vec<_> = requests.into_iter().filter_map(stays).collect();
        self.requests = requests;
        let is_there = |id: &RequestId| self.requests.iter().any(|request| request.id == *id);
        self.marked = self.marked.filter(is_there);
        let is_asked = |id: &RequestId| self.open().any(|request| request.id == *id);
        self.asked = self.asked.filter(is_asked);
    }

    /// Does what a key asks for that says nothing to the daemon.
    pub(super) fn press(&mut self, key: Key) {
        match key {
            Key::Move(by) if self.asked.is_none() => {
                let at = self.place().map_or(if by > 0 { 0 } else { usize::MAX }, |at| {
                    at.saturating_add_signed(by)
                });
                let at = at.min(self.requests.len().saturating_sub(1));
                self.marked = self.requests.get(at).map(|request| request.id);
            }
            Key::Pick(number) if self.asked.is_none() => {
                let picked = number.checked_sub(1).and_then(|at| self.requests.get(at));
                self.marked = picked.map(|request| request.id).or(self.marked);
                self.asked = picked
                    .filter(|request| is_open(request))
                    .map(|request| request.id);
            }
            Key::Open | Key::Yes | Key::No if self.asked.is_none() => {
                let marked = self.place().and_then(|at| self.requests.get(at));
                self.asked = marked
                    .filter(|request| is_open(request))
                    .map(|request| request.id);
                if marked.is_none() && !self.requests.is_empty() {
                    self.note = Some("Pick one first: by its number, or by ↑ and ↓.".to_owned());
                }
            }
            Key::Back => self.asked = None,
            _ => {}
        }
    }

    /// The request that is asked about.
    pub(super) fn asked(&self) -> Option<RequestId> {
        self.asked.filter(|_| self.away_since.is_none())
    }

    /// Takes what the daemon answered to a yes.
    pub(super) fn approved(&mut self, request: RequestView) {
        self.decided.push(request.id);
        self.note = Some(words::approved(&request));
        self.asked = None;
        if let Some(former) = self.requests.iter_mut().find(|former| former.id == request.id) {
            *former = request;
        }
    }

    /// Notes a no.
    pub(super) fn rejected(&mut self, id: RequestId) {
        self.decided.push(id);
        self.asked = None;
        self.marked = self.marked.filter(|marked| *marked != id);
        if let Some(at) = self.requests.iter().position(|request| request.id == id) {
            let request = self.requests.remove(at);
            self.note = Some(words::ended(&request, End::Rejected));
        }
    }

    /// Notes that the daemon did not do it.
    pub(super) fn refused(&mut self, why: String) {
        self.asked = None;
        self.note = Some(why);
    }

    /// The devices that came in.
    pub(super) fn paired(&self) -> &[RequestView] {
        &self.paired
    }

    fn open(&self) -> impl Iterator<Item = &RequestView> {
        self.requests.iter().filter(|request| is_open(request))
    }

    fn place(&self) -> Option<usize> {
        self.requests
            .iter()
            .position(|request| Some(request.id) == self.marked)
    }

    /// The screen now.
    pub(super) fn frame(&self, (columns, rows): (usize, usize), now: Timestamp) -> Frame {
        let asked = self
            .asked()
            .and_then(|id| self.open().find(|request| request.id == id));
        let (mut text, keys) = match asked {
            Some(request) => (
                self.question(request, (columns, rows), now),
                "Esc goes back  q quits",
            ),
            None if !self.has_keys => (self.list(columns, rows, now), "Ctrl-C ends"),
            None if self.requests.is_empty() => (self.list(columns, rows, now), "q quits"),
            None => (self.list(columns, rows, now), "↑ ↓ or a number picks  q quits"),
        };
        text.resize(rows.saturating_sub(1), Line::new());
        let away = self.away_since.map(|since| {
            let since = duration::since(since, now);
            format!("the daemon is away since {since}; this goes on once it is back")
        });
        text.push(match away {
            Some(away) => vec![Span::styled(cut(&away, columns), ALERT)],
            None => vec![Span::styled(cut(keys, columns), FAINT)],
        });
        Frame::new(columns, rows, &text)
    }

    fn question(&self, request: &RequestView, (columns, rows): (usize, usize), now: Timestamp) -> Vec<Line> {
        let request = RequestView {
            role: self.role.unwrap_or(request.role),
            ..request.clone()
        };
        let mut text = words::question(&request, (columns, rows));
        text.extend(words::choice(request.role, columns));
        text.push(Line::new());
        let left = words::left(request.expires_at, now);
        text.extend(lines(&format!("It waits {left}."), FAINT, columns));
        text
    }

    fn list(&self, columns: usize, rows: usize, now: Timestamp) -> Vec<Line> {
        let mut title = vec![Span::styled("Pairing", STRONG)];
        title.extend(self.is_known.then(|| {
            Span::plain(match self.open().count() {
                0 => "  nobody asks".to_owned(),
                1 => "  1 device asks".to_owned(),
                more => format!("  {more} devices ask"),
            })
        }));
        let mut text = vec![title, Line::new()];
        let note = self
            .note
            .as_ref()
            .map_or_else(Vec::new, |note| lines(note, PLAIN, columns));
        if self.requests.is_empty() {
            if self.is_known {
                let how = "Open one of the daemon's addresses on a device, or run `transom remote add` there: it appears here.";
                text.extend(lines(how, PLAIN, columns));
            }
        } else {
            let page = rows.saturating_sub(text.len() + note.len() + 3).max(1);
            let top = self.place().unwrap_or_default().saturating_sub(page - 1);
            let mut table = self.rows(columns, now).into_iter();
            text.extend(table.next());
            text.extend(table.skip(top).take(page));
        }
        text.push(Line::new());
        text.extend(note);
        text
    }

    fn rows(&self, columns: usize, now: Timestamp) -> Vec<Line> {
        let mut table = numbered(&self.requests, now).lines(Some(columns.saturating_sub(MARGIN)));
        for (row, line) in table.iter_mut().enumerate() {
            let is_marked = row.checked_sub(1).is_some_and(|at| Some(at) == self.place());
            let (marker, style) = if is_marked {
                ("▸ ", STRONG)
            } else {
                ("  ", PLAIN)
            };
            if is_marked {
                line.iter_mut().for_each(|span| span.style = STRONG);
            }
            line.insert(0, Span::styled(marker, style));
        }
        table
    }
}

/// Whether it waits for a yes or no, and can be compared.
pub(super) fn is_open(request: &RequestView) -> bool {
    request.state == RequestStatus::Pending && request.code.is_some()
}

fn is_finishing(request: &RequestView) -> bool {
    matches!(request.state, RequestStatus::Approved | RequestStatus::Exchanged)
}

/// The requests for who cannot pick any.
pub(super) fn table(requests: &[RequestView], now: Timestamp) -> Table {
    let mut table = Table::new(&["CODE", "LABEL", "ROLE", "LEFT", "FROM"]);
    for request in requests {
        let [code, label, left, from] = cells(request, now);
        table.row([code.as_str(), &label, request.role.as_str(), &left, &from]);
    }
    table
}

/// The requests with the numbers by which they are picked.
fn numbered(requests: &[RequestView], now: Timestamp) -> Table {
    let mut table = Table::new(&["", "CODE", "LABEL", "LEFT", "FROM"]);
    for (at, request) in requests.iter().enumerate() {
        let number = if at < NUMBERED {
            (at + 1).to_string()
        } else {
            String::new()
        };
        let [code, label, left, from] = cells(request, now);
        table.row([number.as_str(), &code, &label, &left, &from]);
    }
    table
}

/// Code, label, time left, and from where.
fn cells(request: &RequestView, now: Timestamp) -> [String; 4] {
    let left = if is_finishing(request) {
        "finishing".to_owned()
    } else {
        duration::until(request.expires_at, now)
    };
    let from = match &request.tailnet {
        Some(tailnet) => format!("{tailnet}, {}", request.peer),
        None => request.peer.clone(),
    };
    [words::code(request), request.label.clone(), left, from]
}

/// The keys in what the terminal sent.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    // Alone it is the key; else it begins a sequence.
    if bytes == b"\x1b" {
        return vec![Key::Back];
    }
    full_screen::keys(bytes, &KEYS)
}

/// How many requests have a number: a key each.
const NUMBERED: usize = 9;
/// Columns of the marker.
const MARGIN: usize = 2;

const KEYS: [(&[u8], Key); 27] = [
    (b"q", Key::Quit),
    (b"Q", Key::Quit),
    (b"\x03", Key::Quit),
    (b"\x04", Key::Quit),
    (b"\x1c", Key::Quit),
    (b"\x1a", Key::Suspend),
    (b"\x1b[B", Key::Move(1)),
    (b"\x1bOB", Key::Move(1)),
    (b"j", Key::Move(1)),
    (b"\x1b[A", Key::Move(-1)),
    (b"\x1bOA", Key::Move(-1)),
    (b"k", Key::Move(-1)),
    (b"1", Key::Pick(1)),
    (b"2", Key::Pick(2)),
    (b"3", Key::Pick(3)),
    (b"4", Key::Pick(4)),
    (b"5", Key::Pick(5)),
    (b"6", Key::Pick(6)),
    (b"7", Key::Pick(7)),
    (b"8", Key::Pick(8)),
    (b"9", Key::Pick(9)),
    (b"\r", Key::Open),
    (b"b", Key::Back),
    (b"y", Key::Yes),
    (b"Y", Key::Yes),
    (b"n", Key::No),
    (b"N", Key::No),
];

#[cfg(test)]
mod tests;
