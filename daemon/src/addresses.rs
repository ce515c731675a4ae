//! The addresses of this machine, for a listener on all of them, as the kernel tells them by rtnetlink(7).

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    thread,
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, recv,
        send, socket_with,
    },
};
use tokio::sync::Notify;

/// Those that others can reach, and loopback: none that needs a zone, and none that is temporary by design (RFC 8981).
///
/// # Errors
/// When the kernel does not say.
pub(crate) fn of_this_machine() -> io::Result<Vec<IpAddr>> {
    let socket = open(0)?;
    send(&socket, &question(), SendFlags::empty())?;
    let mut addresses = Vec::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let (_, length) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..length.min(BUFFER)];
        while let Some((kind, payload, after)) = message(rest) {
            match kind {
                DONE => return Ok(addresses),
                ERROR => return Err(io::Error::other("the kernel does not tell its addresses")),
                NEW_ADDRESS => addresses.extend(address(payload)),
                _ => {}
            }
            rest = after;
        }
    }
}

/// Tells when an address comes or goes.
pub(crate) struct Changes(Arc<Notify>);

impl Changes {
    /// Follows them from now on. Where that cannot be, none is ever told, which the log says.
    pub(crate) fn follow() -> Self {
        let changed = Arc::new(Notify::new());
        let woken = Arc::clone(&changed);
        let following = open(OF_IPV4 | OF_IPV6).and_then(|socket| {
            // It ends with the process.
            let thread = thread::Builder::new().name("addresses".to_owned());
            thread.spawn(move || wait(&socket, &woken))
        });
        if let Err(error) = following {
            tracing::warn!(%error, "new addresses of this machine are noticed at a reload only");
        }
        Self(changed)
    }

    /// Completes at the next change.
    pub(crate) async fn next(&self) {
        self.0.notified().await;
    }
}

fn wait(socket: &impl AsFd, changed: &Notify) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match recv(socket, &mut buffer[..], RecvFlags::empty()) {
            // No room for all that was to be told is news as well.
            Ok(_) | Err(Errno::NOBUFS) => changed.notify_one(),
            Err(Errno::INTR) => {}
            Err(error) => {
                tracing::error!(%error, "new addresses of this machine are noticed at a reload only");
                return;
            }
        }
    }
}

fn open(groups: u32) -> io::Result<OwnedFd> {
    // The route protocol is number 0, which is the default.
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// A request for every address: `nlmsghdr`, then `ifaddrmsg` of any family.
fn question() -> Vec<u8> {
    let length = u32::try_from(HEAD + ADDRESS_HEAD).expect("24 fits");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(GET_ADDRESS.to_ne_bytes());
    bytes.extend((REQUEST | DUMP).to_ne_bytes());
    bytes.resize(HEAD + ADDRESS_HEAD, 0);
    bytes
}

/// The first message: its kind, its payload, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?)).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let payload = bytes.get(HEAD..length)?;
    Some((kind, payload, bytes.get(aligned(length)..).unwrap_or_default()))
}

/// The address in an `ifaddrmsg` with its attributes, if it is one to be reached by.
fn address(payload: &[u8]) -> Option<IpAddr> {
    let head = payload.get(..ADDRESS_HEAD)?;
    let (family, flags, scope) = (head[0], head[2], head[3]);
    let is_temporary = family == INET6 && flags & TEMPORARY != 0;
    if scope == LINK || is_temporary {
        return None;
    }
    let (mut local, mut address) = (None, None);
    let mut rest = payload.get(ADDRESS_HEAD..)?;
    while let Some(length) = rest
        .get(..2)
        .and_then(|bytes| Some(u16::from_ne_bytes(bytes.try_into().ok()?)))
    {
        let length = usize::from(length);
        let Some(value) = rest.get(4..length) else { break };
        match u16::from_ne_bytes([rest[2], rest[3]]) {
            IFA_ADDRESS => address = ip(value),
            IFA_LOCAL => local = ip(value),
            _ => {}
        }
        rest = rest.get(aligned(length)..).unwrap_or_default();
    }
    // Of a link between two, `address` is the other end.
    local.or(address)
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes)
            .ok()
            .map(|bytes| Ipv4Addr::from(bytes).into()),
        16 => <[u8; 16]>::try_from(bytes)
            .ok()
            .map(|bytes| Ipv6Addr::from(bytes).into()),
        _ => None,
    }
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Bytes that the kernel puts into one answer at most, by default.
const BUFFER: usize = 32 * 1024;
const HEAD: usize = 16;
const ADDRESS_HEAD: usize = 8;

// linux/netlink.h and linux/rtnetlink.h
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x300;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const OF_IPV4: u32 = 0x10;
const OF_IPV6: u32 = 0x100;
const INET6: u8 = 10;
const TEMPORARY: u8 = 0x1;
const LINK: u8 = 253;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::{IFA_ADDRESS, IFA_LOCAL, INET6, LINK, TEMPORARY, address, message, of_this_machine};

    fn told(head: [u8; 8], attributes: &[(u16, &[u8])]) -> Option<IpAddr> {
        let mut payload = head.to_vec();
        for (kind, value) in attributes {
            payload.extend(u16::try_from(4 + value.len()).unwrap().to_ne_bytes());
            payload.extend(kind.to_ne_bytes());
            payload.extend(*value);
        }
        address(&payload)
    }

    #[test]
    fn this_machine_has_a_loopback_address_and_none_of_a_single_link() {
        let addresses = of_this_machine().unwrap();
        assert!(addresses.contains(&Ipv4Addr::LOCALHOST.into()), "{addresses:?}");
        let is_of_a_link =
            |address: &IpAddr| matches!(address, IpAddr::V6(address) if address.segments()[0] == 0xfe80);
        assert!(!addresses.iter().any(is_of_a_link), "{addresses:?}");
    }

    #[test]
    fn the_near_end_is_taken_and_what_passes_is_left_out() {
        let four = [2, 24, 0, 0, 1, 0, 0, 0];
        let both: &[(u16, &[u8])] = &[(IFA_ADDRESS, &[10, 0, 0, 2]), (IFA_LOCAL, &[10, 0, 0, 1])];
        assert_eq!(told(four, both), Some([10, 0, 0, 1].into()));
        let six: &[(u16, &[u8])] = &[(IFA_ADDRESS, &[0x20; 16])];
        assert_eq!(told([INET6, 64, 0, 0, 1, 0, 0, 0], six), Some([0x20; 16].into()));
        assert_eq!(told([INET6, 64, TEMPORARY, 0, 1, 0, 0, 0], six), None);
        assert_eq!(told([INET6, 64, 0, LINK, 1, 0, 0, 0], six), None);
        assert_eq!(told(four, &[(IFA_LOCAL, &[1, 2, 3])]), None);
    }

    #[test]
    fn half_a_message_is_none() {
        assert!(message(&[]).is_none());
        assert!(message(&[40, 0, 0, 0, 20, 0, 0, 0]).is_none());
        assert_eq!(address(&[2, 24, 0, 0, 1, 0, 0, 0, 255, 0, 1, 0]), None);
    }
}
