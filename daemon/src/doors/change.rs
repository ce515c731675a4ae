//! Other addresses while the daemon serves: what is new is bound before what is old is closed.

use std::{net::SocketAddr, path::Path};

use protocol::condition::{Degraded, DegradedKind};
use server::{DoorChange, HeldDoors, Listener};

use super::{Door, RemoteDoors};
use crate::{
    config::{Config, TailnetMode},
    tailnet::{TailnetListeners, is_of_a_tailnet},
    up::UpError,
};

impl RemoteDoors {
    /// Says which sockets of a service manager are at none of these addresses.
    pub(crate) fn passed_elsewhere(&self, wanted: &[SocketAddr]) -> impl Iterator<Item = Degraded> {
        self.passed.elsewhere(wanted).map(|address| {
            let detail = format!(
                "{address} is in the socket unit and not in listen.tls: take it out there, or the next start is refused"
            );
            Degraded::new(DegradedKind::SocketUnit, detail)
        })
    }

    /// Whether a daemon that is started in the place of this one, with what is left to it, may listen so.
    ///
    /// # Errors
    /// Why it would not start.
    pub(crate) fn check(&self, config: &Config, socket: &Path) -> Result<(), UpError> {
        self.passed.check(socket, &config.tls)?;
        let may_be_any = config.any_interface || config.tailnet_mode == TailnetMode::Off;
        match may_be_any {
            true => Ok(()),
            false => config.tls.iter().try_for_each(|address| self.check_own(*address)),
        }
    }

    /// Listens at the configured addresses, and no others, under the configured names; with `renew`, in a new generation at those
    /// where it does already. Listeners of the tailnet change later, but for those that go and are in the way of what comes. Says
    /// what could not be done: then the former listener stays, as it does for what waits for a restart, unless that one reaches
    /// further than any that is configured. While the daemon is locked down nothing is bound until that is lifted.
    pub(crate) async fn change(&self, held: &HeldDoors<'_>, config: &Config, renew: bool) -> Vec<Degraded> {
        let (wanted, mut faults) = self.permitted(config);
        let reach = Reach::of_all(config);
        let waits = self.tailnet.is_none() && !config.tailnet_ports.is_empty();
        let mut plan = Plan::new(&self.bound().doors, &wanted);
        {
            let mut bound = self.bound();
            config.names.clone_into(&mut bound.names);
            bound.any_interface = config.any_interface;
        }
        if !held.are_open() {
            self.bound().doors = plan.kept.into_iter().chain(plan.new).collect();
            return faults;
        }
        let mut opened = Vec::new();
        for mut door in std::mem::take(&mut plan.new) {
            let in_the_way: Vec<Door> = plan
                .gone
                .extract_if(.., |gone| gone.is_in_the_way_of(&door))
                .collect();
            let tailnet = self.tailnet.as_ref();
            let of_the_tailnet =
                tailnet.map(|listeners| listeners.give_way(door.configured, &config.tailnet_ports));
            self.make_room(held, &in_the_way, of_the_tailnet.unwrap_or_default())
                .await;
            match self.bind_one(door.configured).await {
                Ok((listener, at)) => {
                    door.opened(at);
                    opened.push(listener);
                }
                Err(error) => {
                    let detail = format!("{} cannot be bound: {error}", door.configured);
                    faults.push(Degraded::new(DegradedKind::Listener, detail));
                    opened.extend(self.put_back(in_the_way, &reach, &mut plan.kept).await);
                }
            }
            plan.kept.push(door);
        }
        let (stays, goes) = plan
            .gone
            .into_iter()
            .partition(|gone| (waits || !faults.is_empty()) && !reaches_further(gone.configured, &reach));
        let stays: Vec<Door> = stays;
        plan.kept.extend(stays.into_iter().map(|door| Door {
            is_stale: true,
            ..door
        }));
        self.publish(held, plan.kept, opened, &goes, renew).await;
        faults
    }

    /// Where to listen, and where not: without a tailnet nobody at an address of one would be asked about, and one
    /// that is not this machine's in its own is as any other.
    fn permitted(&self, config: &Config) -> (Vec<SocketAddr>, Vec<Degraded>) {
        let fault = |at: SocketAddr| match &self.tailnet {
            _ if config.any_interface || !is_of_a_tailnet(at.ip().to_canonical()) => None,
            None => Some(Degraded::new(
                DegradedKind::AwaitsRestart,
                format!("{at} is an address of the tailnet, and tailnet.mode waits for a restart"),
            )),
            Some(_) => self
                .disowns(at)
                .map(|why| Degraded::new(DegradedKind::Listener, format!("{at} {why}"))),
        };
        let (mut permitted, mut faults) = (Vec::new(), Vec::new());
        for at in &config.tls {
            match fault(*at) {
                Some(fault) => faults.push(fault),
                None => permitted.push(*at),
            }
        }
        (permitted, faults)
    }

    /// Whether there is none where one is configured that would let the tailnet in.
    pub(super) fn lacks_what_reaches_the_tailnet(&self) -> bool {
        let bound = self.bound();
        let mut lacking = bound.doors.iter().filter(|door| !door.is_open);
        lacking.any(|door| Reach::of(door.configured).covers(Reach::Tailnet))
    }

    /// Begins a new generation of every listener, at the same sockets: what they show is issued by somebody else from now on.
    pub(crate) async fn begin_generation(&self, held: &HeldDoors<'_>) {
        let doors = self.bound().doors.clone();
        self.publish(held, doors, Vec::new(), &[], true).await;
    }

    /// Closes what has the port that another listener shall have: two cannot.
    async fn make_room(&self, held: &HeldDoors<'_>, in_the_way: &[Door], of_the_tailnet: Vec<SocketAddr>) {
        let in_the_way_at = in_the_way.iter().filter_map(|door| door.at);
        let close: Vec<SocketAddr> = in_the_way_at.chain(of_the_tailnet).collect();
        if close.is_empty() {
            return;
        }
        let change = DoorChange {
            close,
            ..DoorChange::default()
        };
        let authority = self.bound().link_authority();
        held.change(change, authority).await;
        self.shut_passed(in_the_way);
    }

    /// What is closed here may be held open by whoever passed it.
    fn shut_passed(&self, closed: &[Door]) {
        self.passed
            .shut(|address| closed.iter().any(|door| door.at == Some(address)));
    }

    /// Binds again what had to go for something that could not come, where that narrows nothing.
    async fn put_back(&self, in_the_way: Vec<Door>, wanted: &[Reach], kept: &mut Vec<Door>) -> Vec<Listener> {
        let mut opened = Vec::new();
        for door in in_the_way
            .into_iter()
            .filter(|door| !reaches_further(door.configured, wanted))
        {
            let Some(at) = door.at else { continue };
            match self.bind_one(at).await {
                Ok((listener, _)) => {
                    opened.push(listener);
                    kept.push(Door {
                        is_stale: true,
                        ..door
                    });
                }
                Err(error) => tracing::error!(%at, %error, "a listener could not be put back"),
            }
        }
        opened
    }

    async fn publish(
        &self,
        held: &HeldDoors<'_>,
        doors: Vec<Door>,
        open: Vec<Listener>,
        goes: &[Door],
        renew: bool,
    ) {
        let mut before: Vec<SocketAddr> = self.bound().open().collect();
        before.extend(self.tailnet.iter().flat_map(TailnetListeners::open));
        let authority = {
            let mut bound = self.bound();
            bound.doors = doors;
            bound.link_authority()
        };
        let change = DoorChange {
            open,
            renew: before.into_iter().filter(|_| renew).collect(),
            close: goes.iter().filter_map(|door| door.at).collect(),
        };
        let closed = held.change(change, authority).await;
        self.shut_passed(goes);
        if !goes.is_empty() {
            tracing::info!(
                listeners = goes.len(),
                connections = closed,
                "closed what is not configured any more"
            );
        }
    }
}

/// What becomes of each address.
struct Plan {
    kept: Vec<Door>,
    new: Vec<Door>,
    gone: Vec<Door>,
}

impl Plan {
    fn new(present: &[Door], wanted: &[SocketAddr]) -> Self {
        let mut gone = present.to_vec();
        let (mut kept, mut new) = (Vec::new(), Vec::new());
        for configured in wanted {
            let is_it = |door: &Door| door.configured == *configured;
            match gone.iter().position(is_it).map(|place| gone.remove(place)) {
                Some(door) if door.is_open => kept.push(Door {
                    is_stale: false,
                    ..door
                }),
                // It could not be bound before: now it may.
                Some(_) | None => new.push(Door::new(*configured)),
            }
        }
        gone.retain(|door| door.is_open);
        Self { kept, new, gone }
    }
}

impl Door {
    /// Whether the other cannot be bound while this one is.
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        let (Some(at), other) = (self.at, other.configured) else {
            return false;
        };
        let is_either_all = at.ip().is_unspecified() || other.ip().is_unspecified();
        at.port() == other.port() && (is_either_all || at.ip() == other.ip())
    }
}

/// From where an address can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// This machine alone.
    Here,
    /// A tailnet.
    Tailnet,
    /// A network that this machine is in.
    Network,
    /// All of them.
    Everywhere,
}

impl Reach {
    /// Of all that is configured, whether it can be had now or not.
    fn of_all(config: &Config) -> Vec<Self> {
        let tailnet = config.tailnet_ports.iter().map(|_| Self::Tailnet);
        config.tls.iter().copied().map(Self::of).chain(tailnet).collect()
    }

    fn of(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            ip if ip.is_loopback() => Self::Here,
            ip if is_of_a_tailnet(ip) => Self::Tailnet,
            ip if ip.is_unspecified() => Self::Everywhere,
            _ => Self::Network,
        }
    }

    /// Whether all who reach the other reach this. Of a tailnet and a network neither covers the other.
    fn covers(self, other: Self) -> bool {
        other == Self::Here || self == Self::Everywhere || self == other
    }
}

/// Whether somebody reaches this address who shall reach none of those: to keep it would keep open what shall be closed.
fn reaches_further(address: SocketAddr, wanted: &[Reach]) -> bool {
    let reach = Reach::of(address);
    !wanted.iter().any(|wanted| wanted.covers(reach))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{Door, Plan, Reach, reaches_further};

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn open(configured: &str, bound: &str) -> Door {
        let mut door = Door::new(at(configured));
        door.opened(at(bound));
        door
    }

    #[test]
    fn an_address_that_stays_keeps_its_port_and_one_that_failed_is_tried_again() {
        let present = [
            open("127.0.0.1:0", "127.0.0.1:4000"),
            open("127.0.0.1:1", "127.0.0.1:1"),
            Door::new(at("127.0.0.1:2")),
        ];
        let plan = Plan::new(&present, &[at("127.0.0.1:2"), at("127.0.0.1:0"), at("[::1]:3")]);
        assert_eq!(plan.kept, [open("127.0.0.1:0", "127.0.0.1:4000")]);
        assert_eq!(plan.new, [Door::new(at("127.0.0.1:2")), Door::new(at("[::1]:3"))]);
        assert_eq!(plan.gone, [open("127.0.0.1:1", "127.0.0.1:1")]);
    }

    #[test]
    fn only_what_has_the_same_port_is_in_the_way() {
        let all = open("0.0.0.0:7443", "0.0.0.0:7443");
        assert!(all.is_in_the_way_of(&Door::new(at("127.0.0.1:7443"))));
        assert!(!all.is_in_the_way_of(&Door::new(at("127.0.0.1:7444"))));
        let one = open("127.0.0.1:7443", "127.0.0.1:7443");
        assert!(one.is_in_the_way_of(&Door::new(at("0.0.0.0:7443"))));
        assert!(!one.is_in_the_way_of(&Door::new(at("127.0.0.2:7443"))));
    }

    #[test]
    fn an_address_reaches_further_where_somebody_comes_by_it_who_comes_by_no_other() {
        let addresses = ["127.0.0.1:1", "100.100.1.2:1", "192.168.1.2:1", "0.0.0.0:1"];
        let further = |address: &str, wanted: &[&str]| {
            let wanted: Vec<Reach> = wanted.iter().map(|wanted| Reach::of(at(wanted))).collect();
            reaches_further(at(address), &wanted)
        };
        let [here, tailnet, network, everywhere] = addresses;
        for address in addresses {
            assert!(
                further(address, &[]) && !further(address, &[address]),
                "{address}"
            );
            assert!(!further(here, &[address]) && !further(address, &[everywhere]));
        }
        for (address, wanted) in [(tailnet, network), (network, tailnet)] {
            assert!(further(address, &[wanted]) && further(address, &[here]));
            assert!(further(everywhere, &[tailnet, network]));
        }
        assert!(!further("100.128.0.1:1", &[network]));
    }
}
