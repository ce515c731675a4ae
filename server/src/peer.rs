//! The other end of a connection, before authentication: evidence, not identity.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    os::fd::BorrowedFd,
    sync::Arc,
};

use futures_util::future::BoxFuture;
use pairing::{Authenticated, Generation, Place, TailnetIdentity};

/// Who is at the other end, fixed at accept; it has no default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of this machine, on the Unix socket.
    Local(LocalPeer),
    /// Anything that came over TCP, loopback included.
    Remote(RemotePeer),
}

/// What the kernel says about a process that connected to the Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalPeer {
    /// Its user.
    pub uid: u32,
    /// Its process when it connected, where the kernel can name it in this namespace.
    pub pid: Option<i32>,
}

/// Where a TCP connection came from, and by which listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePeer {
    /// The address it came from.
    pub address: SocketAddr,
    /// The address it came to: one of the listener's own.
    pub listener: SocketAddr,
    /// Which run of the listener it came by.
    pub generation: Generation,
    /// What the tailnet says about the address, where the listener is one of a tailnet.
    pub tailnet: Option<Arc<TailnetIdentity>>,
}

impl RemotePeer {
    /// Where its requests come in.
    pub(crate) fn place(&self) -> Place<'_> {
        Place {
            generation: self.generation,
            tailnet: self.tailnet.as_deref(),
        }
    }
}

impl Peer {
    /// Whether it came over the Unix socket.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Whether it is a process of this process's own user.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Local(peer) if peer.is_own())
    }

    /// One peer for limits: a node of the tailnet, an IPv4 address, an IPv6 /64, all of loopback, which is also whoever comes
    /// from the very address that they come to, or the Unix socket.
    pub(crate) fn limit_key(&self) -> String {
        let Self::Remote(remote) = self else {
            return "local".to_owned();
        };
        if let Some(tailnet) = &remote.tailnet {
            return tailnet.node_id.clone();
        }
        match remote.address.ip().to_canonical() {
            address if address.is_loopback() || address == remote.listener.ip().to_canonical() => {
                "loopback".to_owned()
            }
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        }
    }
}

impl LocalPeer {
    pub(crate) fn is_own(&self) -> bool {
        self.uid == rustix::process::geteuid().as_raw()
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(LocalPeer { uid, pid: Some(pid) }) => write!(formatter, "unix:uid={uid},pid={pid}"),
            Self::Local(LocalPeer { uid, pid: None }) => write!(formatter, "unix:uid={uid}"),
            Self::Remote(remote) => write!(formatter, "{}", remote.address),
        }
    }
}

/// Says whether local processes run inside of sessions; the product provides it, the access layer only asks.
pub trait LocalOrigin: Send + Sync + 'static {
    /// Takes hold of the process at the other end of a socket that was just accepted, so that its id cannot pass to another.
    fn meet(&self, socket: BorrowedFd<'_>, peer: &LocalPeer) -> Box<dyn LocalProcess>;
}

/// One process that connected.
pub trait LocalProcess: Send + Sync {
    /// Where it comes from; asked for each request.
    fn origin(&self) -> BoxFuture<'_, LocalAnswer>;
}

/// The answer of a [`LocalProcess`].
#[derive(Clone, Debug)]
pub enum LocalAnswer {
    /// It is no session's process: the owner, if the uid is ours.
    Outside,
    /// It looks like no session's process, and one that looks so may have escaped from a session: the owner, kept from all that
    /// would let somebody else in.
    Doubtful,
    /// It runs inside of a session, as which it was authenticated.
    Inside(Authenticated),
    /// It cannot be told: nobody, never the owner.
    Unknown {
        /// What cannot be told, for people.
        detail: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
}

/// The origin of a product without sessions: every process of our uid is the owner.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryoneOutside;

impl LocalOrigin for EveryoneOutside {
    fn meet(&self, _socket: BorrowedFd<'_>, _peer: &LocalPeer) -> Box<dyn LocalProcess> {
        Box::new(Self)
    }
}

impl LocalProcess for EveryoneOutside {
    fn origin(&self) -> BoxFuture<'_, LocalAnswer> {
        Box::pin(std::future::ready(LocalAnswer::Outside))
    }
}

/// Says what a tailnet knows about a peer; the embedder provides it, and it is asked once, before the peer is heard.
pub trait WhoIs: Send + Sync + 'static {
    /// Who is behind the peer's address.
    fn who_is<'a>(&'a self, peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer>;

    /// The same where the peer came by a [`UserspaceListener`](crate::listen::UserspaceListener), whose addresses mean nothing to
    /// the kernel, and the kernel's nothing to it. Who runs none refuses.
    fn who_is_in_userspace<'a>(&'a self, _peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        Box::pin(std::future::ready(WhoIsAnswer::Refused))
    }

    /// How far somebody of the tailnet may come now, who was found to be this when their peer came. When that has changed,
    /// [`Access::close_unlisted`](crate::Access::close_unlisted) is to be called.
    fn judge(&self, who: TailnetIdentity) -> WhoIsAnswer;

    /// Whether any listener may be one of a tailnet, so that whoever is invited by login can come.
    fn knows_logins(&self) -> bool;

    /// Whether any listener may be one of a tailnet, whose nodes devices can be bound to.
    fn is_there(&self) -> bool {
        self.knows_logins()
    }
}

/// The answer of a [`WhoIs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhoIsAnswer {
    /// The listener is none of a tailnet: nobody can say.
    NotATailnet,
    /// This user, on this node, who may come so far.
    Known(TailnetIdentity),
    /// This user, on this node, who may come no further than to be a guest, and only while somebody of that login is invited:
    /// else the peer is closed before anything is read of it.
    Unlisted(TailnetIdentity),
    /// It is one of a tailnet, and the question failed, or nobody is there, or somebody who may not come: the peer is closed
    /// before anything is read of it.
    Refused,
}

/// Of a daemon without a tailnet: nobody is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTailnet;

impl WhoIs for NoTailnet {
    fn who_is<'a>(&'a self, _peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        Box::pin(std::future::ready(WhoIsAnswer::NotATailnet))
    }

    fn judge(&self, _who: TailnetIdentity) -> WhoIsAnswer {
        WhoIsAnswer::Refused
    }

    fn knows_logins(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use pairing::Generation;

    use super::{LocalPeer, Peer, RemotePeer};

    #[test]
    fn a_peer_is_written_by_its_evidence() {
        let local = Peer::Local(LocalPeer {
            uid: 1000,
            pid: Some(7),
        });
        assert_eq!(local.to_string(), "unix:uid=1000,pid=7");
        let [address, listener] = ["[::1]:9", "[::1]:7443"].map(|text| text.parse().unwrap());
        let remote = Peer::Remote(RemotePeer {
            address,
            listener,
            generation: Generation(1),
            tailnet: None,
        });
        assert_eq!(remote.to_string(), "[::1]:9");
    }

    fn remote(text: &str) -> Peer {
        let [address, listener] = [text, "[::]:7443"].map(|text| text.parse().unwrap());
        Peer::Remote(RemotePeer {
            address,
            listener,
            generation: Generation(1),
            tailnet: None,
        })
    }

    #[test]
    fn one_peer_is_an_address_a_network_of_version_6_or_all_of_loopback() {
        assert_eq!(
            remote("192.0.2.7:1").limit_key(),
            remote("[::ffff:192.0.2.7]:2").limit_key()
        );
        assert_ne!(
            remote("192.0.2.7:1").limit_key(),
            remote("192.0.2.8:1").limit_key()
        );
        assert_eq!(
            remote("[2001:db8:0:1::1]:1").limit_key(),
            remote("[2001:db8:0:1:ffff::2]:2").limit_key()
        );
        assert_ne!(
            remote("[2001:db8:0:1::1]:1").limit_key(),
            remote("[2001:db8:0:2::1]:1").limit_key()
        );
        assert_eq!(remote("127.0.0.1:1").limit_key(), remote("[::1]:2").limit_key());
    }

    #[test]
    fn who_comes_from_the_address_that_they_come_to_is_on_this_machine() {
        let [address, listener] = ["100.64.0.1:9", "100.64.0.1:7443"].map(|text| text.parse().unwrap());
        let own = Peer::Remote(RemotePeer {
            address,
            listener,
            generation: Generation(1),
            tailnet: None,
        });
        assert_eq!(own.limit_key(), remote("127.0.0.1:1").limit_key());
    }
}
