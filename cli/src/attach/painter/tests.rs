use std::sync::{Arc, Mutex};

use protocol::{
    attach::{ClaimChange, ClientMessage, Mode, Presence, ServerMessage},
    sessions,
};
use terminal::{Screen, Size};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{Face, Job, Painter, Place, Stage};
use crate::attach::modes::Modes;

/// A painter with a terminal of its own, as the local one.
struct Bench {
    painter: Painter<Vec<u8>>,
    local: Box<dyn Screen>,
    acks: UnboundedReceiver<ClientMessage>,
}

impl Bench {
    fn new(mode: Mode, session: (u16, u16), local: (u16, u16)) -> Self {
        let (session, local) = (Size::new(session.0, session.1), Size::new(local.0, local.1));
        let place = Place {
            name: "build".to_owned(),
            mode,
            session,
            local,
            stage: Stage::Alternate,
            present: (0, 1),
        };
        let (say, acks) = unbounded_channel();
        let painter = Painter::new(Vec::new(), Arc::new(Mutex::new(Modes::default())), place, say);
        Self {
            painter,
            local: terminal::screen(local),
            acks,
        }
    }

    fn job(&mut self, job: Job) {
        self.painter.take(job).unwrap();
        // Pictures are not held back here.
        self.painter.drawn_at = None;
        self.painter.settle().unwrap();
        self.show();
    }

    fn output(&mut self, offset: u64, bytes: &[u8]) {
        self.job(Job::Server(ServerMessage::Output {
            offset,
            bytes: bytes.to_vec(),
        }));
    }

    fn snapshot(&mut self, size: (u16, u16), bytes: &[u8]) {
        let size = sessions::Size {
            columns: size.0,
            rows: size.1,
        };
        self.job(Job::Server(ServerMessage::Snapshot {
            ground: 7,
            size,
            bytes: bytes.to_vec(),
        }));
    }

    fn resized(&mut self, size: (u16, u16), by: Option<&str>) {
        let claim = ClaimChange {
            holder: by.is_none(),
            taken_from: by.is_some(),
            by: by.map(str::to_owned),
        };
        let size = sessions::Size {
            columns: size.0,
            rows: size.1,
        };
        self.job(Job::Server(ServerMessage::Size {
            offset: 0,
            size,
            claim,
        }));
    }

    fn leave(&mut self, of_program: bool) {
        self.painter.leave(of_program).unwrap();
        self.show();
    }

    /// The session's own bytes go to the primary screen.
    fn on_primary(mut self) -> Self {
        self.painter.place.stage = Stage::Primary;
        self
    }

    fn show(&mut self) {
        let written = std::mem::take(&mut self.painter.out);
        self.local.feed(&written);
        assert!(
            self.local.take_replies().is_empty(),
            "a query reached the local terminal"
        );
    }

    fn lines(&self) -> Vec<String> {
        self.local
            .text_lines()
            .into_iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

#[test]
fn a_writer_of_the_same_size_gets_the_sessions_own_bytes() {
    let mut bench = Bench::new(Mode::Write, (20, 4), (20, 4));
    bench.snapshot((20, 4), b"hello");
    bench.output(7, b" \x1b[6nworld\r\nnext");
    assert_eq!(bench.painter.face, Face::Direct);
    assert_eq!(bench.lines()[..2], ["hello world", "next"]);
}

#[test]
fn output_cut_inside_a_sequence_survives_a_change_of_face() {
    let mut bench = Bench::new(Mode::Write, (20, 4), (20, 4));
    bench.snapshot((20, 4), b"a");
    bench.output(7, b"b\x1b[1");
    bench.job(Job::Local((30, 9)));
    bench.local.resize(Size::new(30, 9));
    bench.job(Job::Local((20, 4)));
    bench.local.resize(Size::new(20, 4));
    bench.output(11, b"mc");
    assert_eq!(bench.lines()[0], "abc");
}

#[test]
fn a_viewer_sees_a_picture_and_a_status_line() {
    let mut bench = Bench::new(Mode::View, (90, 10), (60, 5));
    bench.snapshot((90, 10), b"one\r\ntwo");
    bench.output(7, b"\r\nthree");
    let lines = bench.lines();
    assert_eq!(lines[..3], ["one", "two", "three"]);
    assert!(
        lines[4].starts_with(" build: Ctrl-\\ then d detaches; 90 × 10, in part, view"),
        "{lines:?}"
    );
}

#[test]
fn a_writer_whose_size_was_taken_sees_a_picture_until_it_is_back() {
    let mut bench = Bench::new(Mode::Write, (70, 5), (70, 5));
    bench.snapshot((70, 5), b"one\x1b[?1000h");
    bench.resized((90, 20), Some("laptop"));
    assert_eq!(bench.painter.face, Face::Pictures);
    assert_eq!(bench.lines()[4], " build: laptop has the size now");
    bench.job(Job::Typed);
    assert!(
        bench.lines()[4].contains("90 × 20, in part, the size of laptop"),
        "{:?}",
        bench.lines()
    );
    assert!(
        !bench.painter.modes.lock().unwrap().reports(),
        "the mouse is off while pictures are shown"
    );
    bench.resized((70, 5), None);
    assert_eq!(
        (bench.painter.face, bench.lines()[0].as_str()),
        (Face::Direct, "one")
    );
    assert!(
        bench.painter.modes.lock().unwrap().reports(),
        "the mouse is on again"
    );
}

#[test]
fn what_was_on_the_screen_before_is_scrolled_away_for_a_program_that_is_run() {
    let mut bench = Bench::new(Mode::Write, (20, 3), (20, 3)).on_primary();
    bench.local.feed(b"before\r\n$ ");
    bench.snapshot((20, 3), b"session");
    assert_eq!(bench.lines(), ["session", "", ""]);
}

#[test]
fn what_was_on_the_screen_before_an_attachment_is_back_after_it() {
    for (mode, local) in [
        (Mode::Write, (20, 4)),
        (Mode::Write, (30, 6)),
        (Mode::View, (20, 4)),
    ] {
        let mut bench = Bench::new(mode, (20, 4), local);
        bench.local.feed(b"before\r\n");
        bench.snapshot((20, 4), b"one\r\n\x1b[?1049h\x1b[Heditor");
        assert_eq!(bench.lines()[0], "editor");
        bench.output(7, b"\x1b[?1049l\r\ntwo\x1bc\x1b[3J");
        bench.leave(false);
        bench.local.feed(b"$");
        assert_eq!(bench.lines()[..3], ["before", "$", ""], "{mode:?} {local:?}");
    }
}

#[test]
fn a_switch_of_screens_by_the_program_is_drawn_without_switching() {
    let mut bench = Bench::new(Mode::Write, (20, 3), (20, 3));
    bench.local.feed(b"before\r\n");
    bench.snapshot((20, 3), b"shell\r\n$ vi");
    bench.output(7, b"\x1b[?1049h\x1b[?25l\x1b[Heditor");
    assert_eq!(
        (bench.painter.face, bench.lines()[0].as_str()),
        (Face::Direct, "editor")
    );
    bench.output(30, b"\x1b[2;1Htyped");
    assert_eq!(bench.lines(), ["editor", "typed", ""]);
    bench.output(40, b"\x1b[?1049l\r\n$ ");
    assert_eq!(bench.lines(), ["shell", "$ vi", "$"]);
    bench.output(50, b"x\x1bcnew");
    assert_eq!(bench.lines(), ["new", "", ""]);
    bench.leave(false);
    assert_eq!(bench.lines(), ["before", "", ""]);
}

#[test]
fn the_last_words_of_a_program_that_ended_stay() {
    let mut bench = Bench::new(Mode::View, (20, 4), (30, 5));
    bench.local.feed(b"before\r\n");
    bench.snapshot((20, 4), b"\x1b[31mone\r\ntwo");
    bench.leave(true);
    bench.local.feed(b"$");
    assert_eq!(bench.lines(), ["before", "one", "two", "$", ""]);
}

#[test]
fn a_full_screen_program_that_ended_has_no_last_words() {
    let mut bench = Bench::new(Mode::View, (20, 4), (30, 5));
    bench.local.feed(b"before\r\n");
    bench.snapshot((20, 4), b"\x1b[?1049h\x1b[Heditor");
    bench.leave(true);
    assert_eq!(bench.lines(), ["before", "", "", "", ""]);
}

#[test]
fn pictures_do_not_touch_the_primary_screen_of_a_program_that_is_run() {
    let mut bench = Bench::new(Mode::Write, (70, 5), (70, 5)).on_primary();
    bench.snapshot((70, 5), b"one\r\n");
    bench.resized((90, 20), Some("laptop"));
    assert_eq!(bench.painter.face, Face::Pictures);
    bench.resized((70, 5), None);
    bench.output(7, b"two");
    bench.leave(true);
    bench.local.feed(b"$");
    assert_eq!(bench.lines(), ["one", "two", "$", "", ""]);
}

#[test]
fn words_over_the_last_row_give_way_to_output_and_end_with_a_key() {
    let mut bench = Bench::new(Mode::Write, (20, 3), (20, 3)).on_primary();
    bench.painter.notice = Some(("hi".to_owned(), std::time::Instant::now() + super::NOTICE));
    bench.snapshot((20, 3), b"");
    assert_eq!(bench.lines(), ["", "", " build: hi"]);
    bench.output(7, b"one\r\n");
    assert_eq!(bench.lines(), ["one", "", " build: hi"]);
    bench.output(12, b"two\r\nthree\r\nfour\r\n");
    assert_eq!(bench.lines(), ["three", "four", " build: hi"]);
    bench.output(30, b"five");
    assert_eq!(bench.lines(), ["three", "four", "five"]);
    bench.job(Job::Typed);
    bench.output(34, b"\r\n");
    assert_eq!(bench.lines(), ["four", "five", ""]);
}

#[test]
fn output_is_acknowledged_once_it_is_shown() {
    let mut bench = Bench::new(Mode::Write, (20, 4), (20, 4));
    bench.snapshot((20, 4), b"");
    bench.output(7, b"abc");
    let acks: Vec<_> = std::iter::from_fn(|| bench.acks.try_recv().ok()).collect();
    assert_eq!(
        acks,
        [
            ClientMessage::Ack { offset: 7 },
            ClientMessage::Ack { offset: 10 }
        ]
    );
}

#[test]
fn a_picture_that_is_held_back_is_not_acknowledged_yet() {
    let mut bench = Bench::new(Mode::View, (20, 4), (20, 4));
    bench.snapshot((20, 4), b"");
    while bench.acks.try_recv().is_ok() {}
    bench
        .painter
        .take(Job::Server(ServerMessage::Output {
            offset: 7,
            bytes: b"abc".to_vec(),
        }))
        .unwrap();
    bench.painter.settle().unwrap();
    assert!(bench.acks.try_recv().is_err());
    assert!(
        bench.painter.patience().is_some(),
        "it is drawn when its time has come"
    );
}

#[test]
fn words_over_the_screen_end_with_the_first_key() {
    let mut bench = Bench::new(Mode::Write, (40, 4), (40, 4));
    bench.painter.notice = Some((
        "1 other views".to_owned(),
        std::time::Instant::now() + super::NOTICE,
    ));
    bench.snapshot((40, 4), b"one");
    assert_eq!(bench.lines()[3], " build: 1 other views");
    bench.job(Job::Typed);
    assert_eq!(bench.lines(), ["one", "", "", ""]);
}

#[test]
fn leaving_puts_the_cursor_below_what_a_program_printed() {
    let mut bench = Bench::new(Mode::Write, (20, 4), (20, 4)).on_primary();
    bench.snapshot((20, 4), b"one\r\ntwo\x1b[H");
    bench.leave(false);
    bench.local.feed(b"$ ");
    assert_eq!(bench.lines(), ["one", "two", "$", ""]);
}

#[test]
fn leaving_the_alternate_screen_of_a_program_that_is_run_shows_the_primary_again() {
    let mut bench = Bench::new(Mode::Write, (20, 4), (20, 4)).on_primary();
    bench.snapshot((20, 4), b"shell");
    bench.output(7, b"\x1b[?1049h\x1b[Heditor");
    assert_eq!(bench.lines()[0], "editor");
    bench.leave(false);
    assert_eq!(bench.lines()[0], "shell");
}

#[test]
fn who_cannot_wait_gets_the_last_screen_and_no_backlog() {
    let mut bench = Bench::new(Mode::Write, (20, 3), (20, 3)).on_primary();
    bench.snapshot((20, 3), b"\x1b[?1000h");
    bench.painter.pace.hurry();
    let flood = b"line\r\n".repeat(10_000);
    bench
        .painter
        .take(Job::Server(ServerMessage::Output {
            offset: 7,
            bytes: flood,
        }))
        .unwrap();
    bench.painter.feed(b"last");
    assert!(bench.painter.out.is_empty());
    bench.leave(true);
    assert_eq!(bench.lines(), ["line", "last", ""], "the cursor is below");
}

#[test]
fn who_came_and_who_has_the_size_are_said_together() {
    let presence = Presence {
        viewers: 0,
        writers: 2,
        typing: vec!["me".to_owned(), "laptop".to_owned()],
    };
    for presence_first in [true, false] {
        let mut bench = Bench::new(Mode::Write, (90, 5), (90, 5));
        bench.snapshot((90, 5), b"one");
        if presence_first {
            bench.job(Job::Server(ServerMessage::Presence(presence.clone())));
        }
        bench.resized((90, 20), Some("laptop"));
        if !presence_first {
            bench.job(Job::Server(ServerMessage::Presence(presence.clone())));
        }
        let said = " build: laptop has the size now; 1 other may type: laptop";
        assert_eq!(bench.lines()[4], said);
    }
}

#[test]
fn words_over_a_picture_end_with_the_first_key_and_with_their_time() {
    let mut bench = Bench::new(Mode::View, (40, 4), (60, 4));
    bench.snapshot((40, 4), b"one");
    let usual = bench.lines()[3].clone();
    let now = std::time::Instant::now();
    bench.painter.notice = Some(("hi".to_owned(), now + super::NOTICE));
    bench.painter.repaint_all();
    bench.output(7, b"");
    assert_eq!(bench.lines()[3], " build: hi");
    bench.job(Job::Typed);
    assert_eq!(bench.lines()[3], usual);
    bench.painter.notice = Some(("hi".to_owned(), now + super::NOTICE));
    bench.output(7, b"");
    assert_eq!(bench.lines()[3], " build: hi");
    bench.painter.notice = Some(("hi".to_owned(), now));
    bench.painter.drawn_at = None;
    bench.painter.settle().unwrap();
    bench.show();
    assert_eq!(
        (bench.painter.notice.is_none(), bench.lines()[3].as_str()),
        (true, usual.as_str())
    );
}

const KEY_MODES: &[u8] = b"\x1b[?1h\x1b=\x1b[?2004h\x1b[>5u\x1b[?1003h\x1b[?1006h";

#[test]
fn what_a_writer_types_at_a_picture_is_what_the_program_asked_for() {
    let mut bench = Bench::new(Mode::Write, (40, 9), (60, 5));
    bench.snapshot((40, 9), KEY_MODES);
    assert_eq!(bench.painter.face, Face::Pictures);
    assert_eq!(bench.local.key_modes(), bench.painter.screen.key_modes());
    assert!(bench.local.wants_bracketed_paste() && bench.local.application_cursor_keys());
    assert!(
        !bench.painter.modes.lock().unwrap().reports(),
        "places of the mouse would be the picture's"
    );
    bench.output(7, b"\x1b[?1l\x1b[?2004l");
    assert!(!bench.local.wants_bracketed_paste() && !bench.local.application_cursor_keys());
    assert!(bench.local.application_keypad());
    bench.leave(false);
    assert!(bench.local.key_modes().is_empty(), "all is off again");
}

#[test]
fn who_only_views_has_the_keys_of_the_local_terminal() {
    let mut bench = Bench::new(Mode::View, (40, 9), (60, 5));
    bench.snapshot((40, 9), KEY_MODES);
    assert!(bench.local.key_modes().is_empty());
}
