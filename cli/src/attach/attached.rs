//! One attachment: keys, signals, output, and where each of them goes.

use std::sync::mpsc::Sender;

use ::client::attachment::Event;
use protocol::attach::{ClientMessage, Mode, ServerMessage};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{Receiver, UnboundedSender},
};

use super::{
    End,
    detach::DetachKeys,
    keyboard,
    local::LocalTerminal,
    painter::{Job, Painting},
};
use crate::failure::Failure;

/// An attachment with a person at it.
pub(super) struct Attached {
    mode: Mode,
    terminal: LocalTerminal,
    say: UnboundedSender<ClientMessage>,
    jobs: Sender<Job>,
    keys: Receiver<Vec<u8>>,
    sequence: u64,
    detach: DetachKeys,
    signals: Signals,
}

impl Attached {
    /// Begins to read the keyboard and to hear signals.
    pub(super) fn new(
        mode: Mode,
        terminal: LocalTerminal,
        say: UnboundedSender<ClientMessage>,
        jobs: Sender<Job>,
    ) -> Result<Self, Failure> {
        let (keys, signals) = (keyboard::read(), Signals::new()?);
        Ok(Self {
            mode,
            terminal,
            say,
            jobs,
            keys,
            sequence: 0,
            detach: DetachKeys::default(),
            signals,
        })
    }

    /// Passes everything to where it belongs, until the program's end or the wish to leave.
    pub(super) async fn follow(&mut self, mut events: Receiver<Event>) -> Result<End, Failure> {
        self.tell_size();
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => if let Some(end) = self.take(event)? { return Ok(end) },
                    None => return Err(Failure::lost("the link to the daemon ended")),
                },
                typed = self.keys.recv() => match typed {
                    Some(bytes) => if self.typed(&bytes)? { return Ok(End::Detached) },
                    // The local terminal is gone.
                    None => return Ok(End::Detached),
                },
                signal = self.signals.next() => {
                    if signal != SignalKind::window_change().as_raw_value() {
                        return Ok(End::Signalled(signal));
                    }
                    self.paint(Job::Local(self.terminal.size()))?;
                    self.tell_size();
                }
            }
        }
    }

    /// Takes what came over the link; gives back how it ended, if it did.
    fn take(&mut self, event: Event) -> Result<Option<End>, Failure> {
        match event {
            Event::Message(ServerMessage::Exit(exit)) => return Ok(Some(End::Exited(exit))),
            Event::Message(message) => {
                if let ServerMessage::Hello(hello) = &message {
                    self.mode = hello.mode;
                }
                self.paint(Job::Server(message))?;
            }
            Event::Away => self.paint(Job::Away)?,
            Event::Back(hello) => {
                self.mode = hello.mode;
                self.paint(Job::Back(hello))?;
            }
            Event::Unconfirmed(keys) => self.paint(Job::Unconfirmed(keys))?,
            Event::Lost(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// Restores the terminal; what a program printed before its end is shown first, unless the person cannot wait.
    pub(super) async fn leave(mut self, mut painting: Painting, end: &Result<End, Failure>) {
        // Where the painter is gone it has nothing left to do.
        let of_program = matches!(end, Ok(End::Exited(_)));
        self.jobs.send(Job::End { of_program }).ok();
        if of_program {
            tokio::select! {
                () = painting.done() => {}
                () = self.impatience() => {}
            }
        }
        painting.hurry().await;
    }

    /// Waits for a key that leaves, or for a signal that ends.
    async fn impatience(&mut self) {
        loop {
            tokio::select! {
                typed = self.keys.recv() => match typed {
                    Some(bytes) if bytes.contains(&CTRL_C) || self.detach.feed(&bytes).detach => return,
                    Some(_) => {}
                    None => return,
                },
                signal = self.signals.next() => {
                    if signal != SignalKind::window_change().as_raw_value() {
                        return;
                    }
                }
            }
        }
    }

    /// Passes typed bytes on; true asks to leave.
    fn typed(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        self.paint(Job::Typed)?;
        let typed = self.detach.feed(bytes);
        if self.mode != Mode::Write {
            // Nothing can be typed, so the key that ends most programs leaves.
            return Ok(typed.detach || typed.bytes.contains(&CTRL_C));
        }
        if !typed.bytes.is_empty() {
            self.sequence += 1;
            self.say
                .send(ClientMessage::Input {
                    sequence: self.sequence,
                    bytes: typed.bytes,
                })
                .ok();
        }
        Ok(typed.detach)
    }

    fn tell_size(&self) {
        if self.mode == Mode::Write {
            let (columns, rows) = self.terminal.size();
            self.say.send(ClientMessage::Size { columns, rows }).ok();
        }
    }

    fn paint(&self, job: Job) -> Result<(), Failure> {
        self.jobs.send(job).map_err(|_| {
            Failure::failed(
                "local_terminal",
                "the local terminal takes no output any more",
                "",
            )
        })
    }
}

struct Signals {
    resize: Signal,
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The number of the next signal.
    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.resize.recv() => SignalKind::window_change(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
        };
        kind.as_raw_value()
    }
}

const CTRL_C: u8 = 0x03;
