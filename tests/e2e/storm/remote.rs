//! Paired devices that follow sessions over TLS, and come back by themselves wherever the daemon listens next.

use std::{fs, net::SocketAddr};

use harness::{Attached, Device, TestDaemon, Unattached, within};
use pairing::Role;
use protocol::{
    attach::{CLOSE_RESTARTING, ClientMessage, Mode, ServerMessage},
    sessions::Session,
};
use tokio::{sync::watch, task::JoinHandle};

use super::{counted::Counted, listener};

/// One device that looks at every byte of a session, and two that type numbers into others, of which one is a page.
pub(super) struct Remotes {
    addresses: watch::Sender<SocketAddr>,
    stop: watch::Sender<bool>,
    watching: JoinHandle<Watched>,
    typing: [(&'static str, JoinHandle<Typed>); 2],
}

/// What a device saw, up to the program's end.
pub(super) struct Watched {
    pub(super) output: Vec<u8>,
    pub(super) code: Option<i32>,
    pub(super) connections: usize,
}

/// How many numbers a device typed.
struct Typed {
    count: u64,
    connections: usize,
}

impl Remotes {
    pub(super) async fn start(daemon: &TestDaemon, watched: &Session) -> Self {
        let (addresses, _) = watch::channel(daemon.address());
        let (stop, stopped) = watch::channel(false);
        let way = async |role, session: &Session, is_page| Way {
            device: daemon.device(role).await,
            is_page,
            session: session.id.clone(),
            addresses: addresses.subscribe(),
            connections: 0,
        };
        let watching = tokio::spawn(way(Role::Viewer, watched, false).await.watch());
        let type_into = async |who, is_page| {
            let typed = daemon.owner().shell(&listener(&file(daemon, who))).await;
            let way = way(Role::Operator, &typed, is_page).await;
            (who, tokio::spawn(way.type_until(stopped.clone())))
        };
        let typing = [type_into("device", false).await, type_into("page", true).await];
        Self {
            addresses,
            stop,
            watching,
            typing,
        }
    }

    /// Tells where the daemon listens now.
    pub(super) fn follow(&self, daemon: &TestDaemon) {
        self.addresses.send_replace(daemon.address());
    }

    /// Types no more, and asserts that the program got what was typed once and in its order, but for so many pieces.
    pub(super) async fn finish_typing(&mut self, daemon: &TestDaemon, most: usize) {
        self.stop.send_replace(true);
        for (who, typing) in &mut self.typing {
            let Typed { count, connections } = within(who, typing).await.unwrap();
            let heard = fs::read(file(daemon, who)).unwrap();
            let gaps = Counted::new(&heard).assert_whole_to(who, count, most);
            println!(
                "a {who} typed {count} lines over {connections} connections: {gaps} pieces lost, none doubled"
            );
        }
    }

    /// What the looking device saw, once its program has ended.
    pub(super) async fn watched(self) -> Watched {
        within("the looking device", self.watching).await.unwrap()
    }
}

/// A device's way to one session.
struct Way {
    device: Device,
    /// Whether it goes the way of a page.
    is_page: bool,
    session: String,
    addresses: watch::Receiver<SocketAddr>,
    connections: usize,
}

impl Way {
    async fn watch(mut self) -> Watched {
        let mut output = Vec::new();
        loop {
            let mut attached = self.reach(Mode::Lossless, &output.len().to_string()).await;
            let code = loop {
                match attached.next().await {
                    Ok(ServerMessage::Output { offset, bytes }) => {
                        assert_eq!(offset, output.len() as u64, "it goes on where it was");
                        output.extend_from_slice(&bytes);
                    }
                    Ok(ServerMessage::Exit(exit)) => break Some(exit.code),
                    Ok(_) => {}
                    Err(code) => {
                        assert_is_about_the_daemon(code);
                        break None;
                    }
                }
            };
            if let Some(code) = code {
                return Watched {
                    output,
                    code,
                    connections: self.connections,
                };
            }
        }
    }

    /// Types one number after another, a few of them ahead of what the program got.
    async fn type_until(mut self, stopped: watch::Receiver<bool>) -> Typed {
        let (mut from, mut known, mut most) = ("screen".to_owned(), None, 0);
        loop {
            let mut attached = self.reach(Mode::Write, &format!("{from}&client={CLIENT}")).await;
            let mut sent = None;
            loop {
                match attached.next().await {
                    Ok(ServerMessage::Hello(hello)) => {
                        // Where nobody knows, as one was being typed when the daemon died, what was sent is given up.
                        let applied = hello.input_applied.or(known.map(|_| most));
                        assert!(applied >= known, "{applied:?} was {known:?} before");
                        known = applied.or(Some(0));
                        sent = known;
                    }
                    Ok(ServerMessage::InputApplied { sequence }) => known = Some(sequence),
                    Ok(ServerMessage::Output { offset, bytes }) => {
                        from = (offset + bytes.len() as u64).to_string();
                    }
                    Ok(ServerMessage::Snapshot { ground, .. }) => from = ground.to_string(),
                    Ok(_) => {}
                    Err(code) => {
                        assert_is_about_the_daemon(code);
                        break;
                    }
                }
                let (Some(applied), Some(last)) = (known, sent.as_mut()) else {
                    continue;
                };
                let wanted = if *stopped.borrow() { most } else { applied + AHEAD };
                while *last < wanted {
                    *last += 1;
                    number(&mut attached, *last).await;
                }
                most = most.max(*last);
                if *stopped.borrow() && applied == most {
                    send(&mut attached, most + 1, b"\x04").await;
                    assert_eq!(attached.until_exit().await.code, Some(9));
                    return Typed {
                        count: most,
                        connections: self.connections,
                    };
                }
            }
        }
    }

    /// Attaches, however often it takes.
    async fn reach(&mut self, mode: Mode, from: &str) -> Attached {
        loop {
            let address = *self.addresses.borrow_and_update();
            self.device.go_by(address);
            let reached = match self.is_page {
                true => self.device.reach_like_a_browser(&self.session, mode, from).await,
                false => self.device.reach(&self.session, mode, from).await,
            };
            match reached {
                Ok(attached) => {
                    self.connections += 1;
                    return attached;
                }
                Err(Unattached::Broken(_)) => {
                    let moved = within("the daemon to listen again", self.addresses.changed()).await;
                    moved.expect("the test goes on");
                }
                Err(Unattached::Refused(answer)) => panic!("{answer:?}"),
            }
        }
    }
}

/// Types the number that has this sequence.
async fn number(attached: &mut Attached, sequence: u64) {
    send(attached, sequence, format!("{:08}\r", sequence - 1).as_bytes()).await;
}

async fn send(attached: &mut Attached, sequence: u64, bytes: &[u8]) {
    let bytes = bytes.to_vec();
    attached.send(&ClientMessage::Input { sequence, bytes }).await;
}

/// Nothing else closes an attachment in a storm.
fn assert_is_about_the_daemon(code: u16) {
    assert!(matches!(code, 1006 | CLOSE_RESTARTING), "closed with {code}");
}

fn file(daemon: &TestDaemon, who: &str) -> std::path::PathBuf {
    daemon.folder().join(format!("typed-by-a-{who}"))
}

const CLIENT: &str = "0123456789abcdef0123456789abcdef";
/// Lines on their way.
const AHEAD: u64 = 4;
