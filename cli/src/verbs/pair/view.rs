//! What `transom pair` shows on a terminal.

use std::sync::Arc;

use anstyle::{Ansi256Color, Style};
use jiff::{SignedDuration, Timestamp};
use pairing::RequestId;
use protocol::pairing::RequestView;

use super::{
    desk::{Desk, Offer},
    words::{self, ALERT, FAINT, Line, PLAIN, lines},
};
use crate::{
    duration,
    escape::escape,
    frame::{Frame, Span},
    output::STRONG,
    qr::{Ink, QUIET, QUIET_AT_LEAST},
    verbs::approve::Terms,
};

/// All that the screen depends on but the desk, its size and the time.
#[derive(Debug)]
pub(super) struct View {
    pub(super) terms: Terms,
    /// Whether the first claim is approved without asking.
    pub(super) is_yes: bool,
    /// Whether there is a keyboard.
    pub(super) has_keys: bool,
    /// Whether the terminal may know hyperlinks.
    pub(super) has_links: bool,
    pub(super) has_colour: bool,
    /// Whether the link is shown alone.
    pub(super) shows_link: bool,
    /// Whether light and dark of the code are turned round.
    pub(super) is_turned: bool,
    /// What happened last.
    pub(super) note: Option<String>,
    asked: Option<Asked>,
    /// Whether anything was asked before.
    has_asked: bool,
}

/// The question that is shown.
#[derive(Clone, Copy, Debug)]
struct Asked {
    id: RequestId,
    /// From when on keys are answers to it: those before were meant for another one.
    from: Timestamp,
}

impl View {
    /// A view of these terms.
    pub(super) fn new(terms: Terms, is_yes: bool) -> Self {
        Self {
            terms,
            is_yes,
            has_keys: true,
            has_links: true,
            has_colour: true,
            shows_link: false,
            is_turned: false,
            note: None,
            asked: None,
            has_asked: false,
        }
    }

    /// Notes which question is open now.
    pub(super) fn look(&mut self, desk: &Desk, now: Timestamp) {
        let open = desk.questions().next().map(|request| request.id);
        let shown = self.asked.map(|asked| asked.id);
        if open == shown {
            return;
        }
        let settled = now.saturating_add(SETTLING).unwrap_or(now);
        self.asked = open.map(|id| Asked {
            id,
            from: if self.has_asked { settled } else { now },
        });
        if open.is_some() {
            self.has_asked = true;
            self.shows_link = false;
        }
    }

    /// The claim that a key now is an answer to.
    pub(super) fn answerable(&self, now: Timestamp) -> Option<RequestId> {
        self.asked.filter(|asked| asked.from <= now).map(|asked| asked.id)
    }

    /// When the question can be answered, if it can not yet.
    pub(super) fn settles_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.asked.map(|asked| asked.from).filter(|from| *from > now)
    }

    /// The screen now.
    pub(super) fn frame(&self, desk: &Desk, (columns, rows): (usize, usize), now: Timestamp) -> Frame {
        if let (true, Some(offer)) = (self.shows_link, desk.offer()) {
            return self.link_alone(offer, (columns, rows), now);
        }
        let drawn = desk
            .offer()
            .and_then(|offer| self.code(offer, desk, (columns, rows), now));
        let lines = drawn.unwrap_or_else(|| self.panel(desk, (columns, rows), Place::Alone, now));
        Frame::new(columns, rows, &lines)
    }

    /// The code with the words beside or below it, if there is room for both.
    fn code(
        &self,
        offer: &Offer,
        desk: &Desk,
        (columns, rows): (usize, usize),
        now: Timestamp,
    ) -> Option<Vec<Line>> {
        let code = offer.code.as_ref()?;
        for quiet in [QUIET, QUIET - 2, QUIET_AT_LEAST] {
            let (width, height) = code.size(quiet);
            let picture = || self.picture(code, quiet);
            if height <= rows && width + GAP + WORDS <= columns {
                let room = (columns - width - GAP).min(WORDS_AT_MOST);
                let text = self.panel(desk, (room, rows), Place::Beside, now);
                return Some(beside(picture(), width, text));
            }
            if width <= columns && height + 1 + WORDS_BELOW <= rows {
                let room = (columns, rows - height - 1);
                let text = self.panel(desk, room, Place::Beside, now);
                let mut lines = picture();
                lines.push(Line::new());
                lines.extend(text);
                return Some(lines);
            }
        }
        None
    }

    fn picture(&self, code: &crate::qr::Code, quiet: usize) -> Vec<Line> {
        // Black and white of the 256 colours, which themes leave alone, make it readable whatever the theme is. Without colours
        // terminals are taken for dark ones, where what is drawn is light.
        let style = match (self.has_colour, self.is_turned) {
            (true, false) => Style::new().fg_color(BLACK).bg_color(WHITE),
            (true, true) => Style::new().fg_color(WHITE).bg_color(BLACK),
            (false, _) => PLAIN,
        };
        let ink = if self.has_colour || self.is_turned {
            Ink::Dark
        } else {
            Ink::Light
        };
        let lines = code.picture(quiet, ink).into_iter();
        lines.map(|line| vec![Span::styled(line, style)]).collect()
    }

    /// The words for a room of this size, the keys at its end.
    fn panel(&self, desk: &Desk, (columns, rows): (usize, usize), place: Place, now: Timestamp) -> Vec<Line> {
        let mut text = self.words(desk, (columns, rows), place, now);
        if let Some(note) = &self.note {
            text.push(Line::new());
            text.extend(lines(note, PLAIN, columns));
        }
        if desk.others() > 0 {
            let others = match desk.others() {
                1 => "1 device asks without this code: `transom pair --pending` shows it.".to_owned(),
                others => {
                    format!("{others} devices ask without this code: `transom pair --pending` shows them.")
                }
            };
            text.push(Line::new());
            text.extend(lines(&others, FAINT, columns));
        }
        let foot = lines(&self.keys(desk), FAINT, columns);
        // The keys are at the bottom, where they are looked for.
        text.resize(rows.saturating_sub(foot.len()), Line::new());
        text.extend(foot);
        text
    }

    fn words(&self, desk: &Desk, (columns, rows): (usize, usize), place: Place, now: Timestamp) -> Vec<Line> {
        if let Some(since) = desk.away_since() {
            let away = format!("The daemon is away since {}.", duration::since(since, now));
            let mut text = lines(&away, ALERT, columns);
            text.extend(lines(
                "This goes on once it is back. `transom up` starts one.",
                PLAIN,
                columns,
            ));
            return text;
        }
        if let Some(request) = desk.questions().next() {
            return self.question(desk, request, (columns, rows), place, now);
        }
        if let Some(request) = desk.finishing() {
            let mut text = lines(&words::approved(request), STRONG, columns);
            let left = words::left(request.expires_at, now);
            text.push(Line::new());
            text.extend(lines(
                &format!("The device finishes by itself … {left}"),
                PLAIN,
                columns,
            ));
            return text;
        }
        match desk.offer() {
            Some(offer) => self.offering(offer, (columns, rows), place, now),
            None => lines("One moment …", PLAIN, columns),
        }
    }

    fn question(
        &self,
        desk: &Desk,
        request: &RequestView,
        (columns, rows): (usize, usize),
        place: Place,
        now: Timestamp,
    ) -> Vec<Line> {
        let mut text = words::question(request, (columns, rows));
        if self.is_yes {
            text.extend(lines("Approving it, as --yes says …", PLAIN, columns));
        } else if !self.has_keys {
            text.extend(lines(&words::elsewhere(request), PLAIN, columns));
        } else if self.settles_at(now).is_some() {
            text.extend(lines("This is another device: look again …", PLAIN, columns));
        } else {
            text.extend(words::choice(request.role, columns));
        }
        text.push(Line::new());
        let left = words::left(request.expires_at, now);
        let behind = match desk.questions().count() - 1 {
            0 => String::new(),
            more => format!("; {more} more behind"),
        };
        text.extend(lines(&format!("It waits {left}{behind}."), FAINT, columns));
        if place == Place::Beside {
            text.extend(lines("The QR code is a fresh one.", FAINT, columns));
        }
        text
    }

    fn offering(
        &self,
        offer: &Offer,
        (columns, rows): (usize, usize),
        place: Place,
        now: Timestamp,
    ) -> Vec<Line> {
        let mut text = lines(&words::headline(offer.role), STRONG, columns);
        for grant in words::grants(offer.role, &self.terms) {
            text.extend(lines(&grant, PLAIN, columns));
        }
        text.push(Line::new());
        let how = match place {
            Place::Beside => "Scan the code with the device, or open this link on it:",
            Place::Alone => "Open this link on the device:",
        };
        text.extend(lines(how, PLAIN, columns));
        text.extend(self.pieces(offer, columns));
        // Where there is little room, what has happened is said first.
        let has_room = self.note.is_none() || rows >= ROOMY;
        if has_room && is_loopback(offer.made.url.expose()) {
            let near = "It leads to this machine alone: from elsewhere it needs a tunnel (ssh -L).";
            text.extend(lines(near, FAINT, columns));
        }
        text.push(Line::new());
        let left = words::left(offer.expires_at, now);
        text.extend(lines(&format!("It works once, for {left}."), PLAIN, columns));
        if self.is_yes {
            text.extend(lines(
                "Whoever comes first is approved without asking.",
                ALERT,
                columns,
            ));
        } else {
            text.extend(lines("Waiting for the device …", PLAIN, columns));
        }
        if let (Place::Alone, Some(code)) = (place, &offer.code) {
            let (width, height) = code.size(QUIET_AT_LEAST);
            let needs = width + GAP + WORDS;
            let small = format!("A QR code needs {needs} × {height}; this terminal is {columns} × {rows}.");
            text.push(Line::new());
            text.extend(lines(&small, FAINT, columns));
        }
        text
    }

    /// The link in pieces of this width, each of which opens the whole of it.
    fn pieces(&self, offer: &Offer, width: usize) -> Vec<Line> {
        let link = escape(offer.made.url.expose());
        let target: Option<Arc<str>> = self.target(offer);
        let characters: Vec<char> = link.chars().collect();
        let piece = |piece: &[char]| {
            let mut span = Span::plain(piece.iter().collect::<String>());
            span.link.clone_from(&target);
            vec![span]
        };
        characters.chunks(width.max(1)).map(piece).collect()
    }

    /// The address that the link opens, where it is one and the terminal may know how.
    fn target(&self, offer: &Offer) -> Option<Arc<str>> {
        let link = offer.made.url.expose();
        let is_plain = link.bytes().all(|byte| byte.is_ascii_graphic());
        (self.has_links && is_plain).then(|| link.into())
    }

    /// The link as the terminal breaks it, so that it is copied in one piece.
    fn link_alone(&self, offer: &Offer, (columns, rows): (usize, usize), now: Timestamp) -> Frame {
        let mut link = Span::plain(escape(offer.made.url.expose()));
        link.link = self.target(offer);
        let left = words::left(offer.expires_at, now);
        let mut head = lines(
            &format!("To copy. It works once, for {left}; l goes back."),
            PLAIN,
            columns,
        );
        head.push(Line::new());
        let frame = Frame::new(columns, rows, &head);
        if head.len() < rows {
            frame.with_flow(head.len(), link)
        } else {
            frame
        }
    }

    fn keys(&self, desk: &Desk) -> String {
        if !self.has_keys {
            return "Ctrl-C ends".to_owned();
        }
        match desk.offer() {
            Some(_) => "q quits  l link  i invert".to_owned(),
            None => "q quits".to_owned(),
        }
    }
}

/// Whether the link names the loopback interface, which no other machine reaches by itself.
fn is_loopback(link: &str) -> bool {
    let host = link.split_once("://").map_or(link, |(_, rest)| rest);
    ["127.", "localhost:", "[::1]"]
        .iter()
        .any(|own| host.starts_with(own))
}

/// Where words stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// With a code.
    Beside,
    Alone,
}

/// The picture with the text to its right.
fn beside(picture: Vec<Line>, width: usize, text: Vec<Line>) -> Vec<Line> {
    let rows = picture.len().max(text.len());
    let mut picture = picture.into_iter();
    let mut text = text.into_iter();
    (0..rows)
        .map(|_| {
            let mut line = picture
                .next()
                .unwrap_or_else(|| vec![Span::plain(" ".repeat(width))]);
            line.push(Span::plain(" ".repeat(GAP)));
            line.extend(text.next().unwrap_or_default());
            line
        })
        .collect()
}

/// How long keys are no answers to a question that is not the first one.
const SETTLING: SignedDuration = SignedDuration::from_millis(1_000);
/// Columns between picture and words.
const GAP: usize = 2;
/// Columns of the words beside the picture, at least and at most.
const WORDS: usize = 29;
const WORDS_AT_MOST: usize = 60;
/// Rows from which on there is room for everything beside the picture.
const ROOMY: usize = 30;
/// Rows of the words below the picture, at least: as many as a question has.
const WORDS_BELOW: usize = 19;
const BLACK: Option<anstyle::Color> = Some(anstyle::Color::Ansi256(Ansi256Color(16)));
const WHITE: Option<anstyle::Color> = Some(anstyle::Color::Ansi256(Ansi256Color(231)));

#[cfg(test)]
mod tests;
