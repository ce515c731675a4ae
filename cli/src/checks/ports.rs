//! Who has a port, as the kernel tells (proc_net(5)).

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use super::{Check, Daemon, Running};

/// Whether a configured address can be bound, or the daemon has it; none where there is nothing to tell.
pub(crate) fn port(address: SocketAddr, daemon: &Daemon) -> Option<Check> {
    if address.port() == 0 {
        return None;
    }
    let is_own = |running: &Running| {
        let mut tls = running.status.tls.iter();
        tls.any(|endpoint| endpoint.address.parse() == Ok(address))
    };
    let taken = match daemon {
        Daemon::Silent => {
            let detail = format!("whether {address} is the daemon's is not known, as it does not answer");
            return Some(Check::skipped("port", detail));
        }
        Daemon::Answers(running) if is_own(running) => {
            return Some(Check::ok("port", format!("{address} is the daemon's")));
        }
        Daemon::Answers(_) | Daemon::Absent => taken(address),
    };
    match (taken, daemon) {
        (None, Daemon::Absent) => Some(Check::ok("port", format!("{address} is free"))),
        // It was started with others, or could not bind this one, which it says itself.
        (None, _) => None,
        // It listens for the daemon, and hands the socket over when it starts it.
        (Some(taken), _) if taken.process.as_ref().is_some_and(|(_, name)| name == "systemd") => {
            Some(Check::ok("port", format!("{address} is kept by systemd")))
        }
        (Some(taken), Daemon::Absent) => Some(Check::failed(
            "port",
            taken.in_words(address),
            taken.hint(address),
        )),
        (Some(taken), _) => Some(Check::warning(
            "port",
            format!("the daemon does not listen there: {}", taken.in_words(address)),
            taken.hint(address),
        )),
    }
}

/// Who listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    uid: u32,
    /// Its process and that process's name, where it can be seen.
    process: Option<(u32, String)>,
}

impl Taken {
    pub(super) fn in_words(&self, address: SocketAddr) -> String {
        match &self.process {
            Some((pid, name)) => format!("{address} is in use by {name} (process {pid})"),
            None => format!(
                "{address} is in use by a program of the user with uid {}",
                self.uid
            ),
        }
    }

    pub(super) fn hint(&self, address: SocketAddr) -> String {
        let see = format!("see who it is with `sudo ss -ltnp 'sport = :{}'`", address.port());
        match &self.process {
            Some((pid, _)) => {
                format!("end it (`kill {pid}`), or choose another port by listen.tls or `--tls`")
            }
            None => format!("{see}, or choose another port by listen.tls or `--tls`"),
        }
    }
}

/// Who listens at an address, or at one that is in its way.
pub(super) fn taken(address: SocketAddr) -> Option<Taken> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let listens = tables
        .iter()
        .flat_map(|table| table.lines().filter_map(Listens::parse));
    let found = listens
        .into_iter()
        .find(|listens| listens.is_in_the_way_of(address))?;
    Some(Taken {
        uid: found.uid,
        process: process_of(found.inode),
    })
}

/// The process that has a socket open, with its name; none where it cannot be seen, as that of another user.
pub(super) fn process_of(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let has_it = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        let mut leads = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        leads.any(|target| target.as_os_str() == wanted.as_str())
    };
    let pids = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pid = pids.find(has_it)?;
    Some((pid, name_of(pid)))
}

/// What a process is called.
pub(super) fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim_end() {
        "" => "a program".to_owned(),
        name => name.to_owned(),
    }
}

/// A line of the kernel's table about a socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listens {
    at: SocketAddr,
    uid: u32,
    inode: u64,
}

impl Listens {
    fn parse(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, LISTEN, _, _, _, uid, _, inode, ..] = columns[..] else {
            return None;
        };
        let (address, port) = local.split_once(':')?;
        Some(Self {
            at: SocketAddr::new(ip(address)?, u16::from_str_radix(port, 16).ok()?),
            uid: uid.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    }

    fn is_in_the_way_of(&self, address: SocketAddr) -> bool {
        let (theirs, ours) = (self.at.ip().to_canonical(), address.ip().to_canonical());
        let is_all = |one: IpAddr, other: IpAddr| {
            // One on all addresses of version 6 takes those of version 4 as well, unless it was told not to.
            one.is_unspecified() && (one.is_ipv6() || other.is_ipv4())
        };
        self.at.port() == address.port() && (theirs == ours || is_all(theirs, ours) || is_all(ours, theirs))
    }
}

/// An address in hexadecimal, in words of 32 bits of this machine's order.
fn ip(text: &str) -> Option<IpAddr> {
    let words: Vec<[u8; 4]> = (0..text.len() / 8)
        .map(|word| {
            let digits = text.get(8 * word..8 * word + 8)?;
            u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
        })
        .collect::<Option<_>>()?;
    match words[..] {
        [word] => Some(Ipv4Addr::from(word).into()),
        [_, _, _, _] => <[u8; 16]>::try_from(words.concat())
            .ok()
            .map(|bytes| Ipv6Addr::from(bytes).into()),
        _ => None,
    }
}

/// The state of a socket that listens (include/net/tcp_states.h).
const LISTEN: &str = "0A";

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::{Listens, taken};

    #[test]
    fn who_listens_is_read_from_the_kernels_table() {
        let listens = "   0: 0100007F:1D13 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1";
        let listens = Listens::parse(listens).unwrap();
        assert_eq!((listens.uid, listens.inode), (1000, 4711));
        let is_taken = |address: &str| listens.is_in_the_way_of(address.parse().unwrap());
        assert!(is_taken("127.0.0.1:7443") && is_taken("0.0.0.0:7443") && is_taken("[::]:7443"));
        assert!(!is_taken("127.0.0.2:7443") && !is_taken("127.0.0.1:7444") && !is_taken("[::1]:7443"));
        let connected = "   1: 0100007F:1D13 0100007F:A0B0 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1";
        assert_eq!(Listens::parse(connected), None);
        let all = "   0: 00000000000000000000000000000000:1D13 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 9 1";
        assert!(
            Listens::parse(all)
                .unwrap()
                .is_in_the_way_of("127.0.0.1:7443".parse().unwrap())
        );
        assert_eq!(Listens::parse("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_listener_is_found_with_its_process() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let address: SocketAddr = address.parse().unwrap();
            let listener = TcpListener::bind(address).unwrap();
            let at = listener.local_addr().unwrap();
            let taken = taken(at).unwrap();
            assert_eq!(taken.process.map(|(pid, _)| pid), Some(std::process::id()));
        }
    }
}
