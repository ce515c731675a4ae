//! Devices that pair, get other names and roles, and are revoked with connections open.

use std::sync::Arc;

use harness::{Attached, Chance, Device, Pairing, Unattached};
use pairing::Role;
use protocol::{
    access::{DeviceChanges, DeviceRecord, Revoked},
    attach::{CLOSE_REVOKED, Mode, ServerMessage},
    pairing::{NewOffer, OfferMade, PollStatus},
    sessions::Session,
};
use serde_json::json;

use crate::world::{Fault, Outcome, World, good, must, pause};

/// How a pairing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Commit,
    Reject,
    /// The device goes away, before or after the owner's yes or with its token.
    Abandon(Left),
    /// The owner takes the offer back before the device asks.
    Withdraw,
}

/// Where a device goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Asked,
    Approved,
    Exchanged,
}

#[derive(Debug)]
enum Act {
    Pair { role: Role, ending: Ending },
    Rename { which: u64, number: u64 },
    Role { which: u64, role: Role },
    Revoke { which: u64, streams: u64 },
    Return { which: u64 },
}

impl Act {
    fn draw(chance: &mut Chance) -> Self {
        let [kind, which, role, ending, streams] = [100, 1 << 20, 2, 12, 5].map(|limit| chance.below(limit));
        let role = if role == 0 { Role::Viewer } else { Role::Operator };
        let ending = match ending {
            0 => Ending::Reject,
            1 => Ending::Abandon(Left::Asked),
            2 => Ending::Abandon(Left::Approved),
            3 => Ending::Abandon(Left::Exchanged),
            4 => Ending::Withdraw,
            _ => Ending::Commit,
        };
        match kind {
            0..35 => Self::Pair { role, ending },
            35..50 => Self::Rename {
                which,
                number: which % 1000,
            },
            50..65 => Self::Role { which, role },
            65..88 => Self::Revoke { which, streams },
            _ => Self::Return { which },
        }
    }
}

/// Acts until the storm is over.
pub(crate) async fn run(world: Arc<World>, lane: usize, counted: Session, mut chance: Chance) -> Outcome<()> {
    let who = format!("people {lane}");
    let (mut paired, mut revoked) = (Vec::new(), Vec::new());
    while !world.is_over() {
        let (act, rest) = (Act::draw(&mut chance), chance.below(1_200));
        let turn = world.turns.read().await;
        world.tell(&who, format!("{act:?}"));
        match act {
            Act::Pair { role, ending } if paired.len() < MOST => {
                paired.extend(pair(&world, role, ending, &who).await?);
            }
            Act::Pair { .. } => {}
            Act::Rename { which, number } => {
                if let Some(device) = pick(&paired, which) {
                    let label = format!("{who}'s {number}");
                    change(&world, device, Some(label), None).await?;
                }
            }
            Act::Role { which, role } => {
                if let Some(device) = pick(&paired, which) {
                    change(&world, device, None, Some(role)).await?;
                }
            }
            Act::Revoke { which, streams } => {
                if let Some(at) = index(&paired, which) {
                    let device: Device = paired.swap_remove(at);
                    revoke(&world, &device, &counted, streams).await?;
                    revoked.push(device);
                }
            }
            Act::Return { which } => {
                if let Some(device) = pick(&revoked, which) {
                    is_out(&world, device).await?;
                }
            }
        }
        drop(turn);
        pause(rest).await;
    }
    for device in &revoked {
        is_out(&world, device).await?;
    }
    Ok(())
}

fn index(devices: &[Device], which: u64) -> Option<usize> {
    let count = u64::try_from(devices.len()).ok().filter(|count| *count > 0)?;
    usize::try_from(which % count).ok()
}

fn pick(devices: &[Device], which: u64) -> Option<&Device> {
    devices.get(index(devices, which)?)
}

/// Pairs a device to this end; nothing where there is none then, or the daemon was disturbed before it was committed.
pub(crate) async fn pair(world: &World, role: Role, ending: Ending, label: &str) -> Outcome<Option<Device>> {
    let mut with_token = None;
    let done = world
        .attempt(async {
            let Some(pairing) = ask(world, role, ending, label).await? else {
                return Ok(false);
            };
            if !decide(world, &pairing, ending).await? {
                return Ok(false);
            }
            let exchanged = pairing.exchange().await;
            let token = exchanged.token.expose().to_owned();
            if ending == Ending::Abandon(Left::Exchanged) {
                let device = pairing.into_device(&exchanged);
                world.count("pairings left with a token, which opened nothing");
                let all: Vec<DeviceRecord> = world.get("/v1/devices").await?;
                return must(all.iter().all(|one| one.id != device.id()), || {
                    format!("{} is listed, and has not committed", device.id())
                })
                .map(|()| false);
            }
            world.expect_device(exchanged.device_id, None);
            let (pairing, exchanged) = &*with_token.insert((pairing, exchanged));
            let committed = pairing.try_commit(&token).await;
            good(committed, "commit")?;
            world.expect_device(exchanged.device_id, Some((label.to_owned(), role)));
            Ok(true)
        })
        .await;
    let is_disturbed = match done {
        Ok(false) => return Ok(None),
        Ok(true) => false,
        Err(Fault::Disturbed) => true,
        Err(fault) => return Err(fault),
    };
    let Some((pairing, exchanged)) = with_token else {
        return Ok(None);
    };
    let id = exchanged.device_id;
    if is_disturbed && world.listed(id).await?.is_none() {
        world.forget_device(id);
        world.count("commits that a trouble undid before they were answered");
        return Ok(None);
    }
    world.expect_device(id, Some((label.to_owned(), role)));
    world.row("pairing_committed", id);
    world.count("devices paired");
    Ok(Some(pairing.into_device(&exchanged)))
}

/// Asks to be paired by a new offer; nothing where that came too late, or no offer was to be had.
async fn ask(world: &World, role: Role, ending: Ending, label: &str) -> Outcome<Option<Pairing>> {
    let terms = NewOffer {
        role: Some(role),
        ..NewOffer::default()
    };
    let offer = world.owner.post("/v1/pairing/offers", &terms).await;
    if offer.status == 429 {
        world.count("offers refused, as there were many");
        return Ok(None);
    }
    let offer: OfferMade = good(offer, "an offer")?.ok();
    world.row("offer_made", offer.id);
    let fragment = offer
        .url
        .expose()
        .split_once('#')
        .map(|(_, fragment)| fragment.to_owned());
    let fragment = fragment.ok_or_else(|| Fault::Broken("a link has no fragment".to_owned()))?;
    let mut pairing = Pairing::with_fragment_at(world.address, &fragment);
    if ending == Ending::Withdraw {
        let path = format!("/v1/pairing/offers/{}", offer.id);
        good(
            world.owner.request("DELETE", &path, None::<&()>).await,
            "withdraw",
        )?;
        world.row("offer_withdrawn", offer.id);
        is_refused(world, &mut pairing).await?;
        return Ok(None);
    }
    let code = pairing.ask_as(label).await.to_string();
    let seen = world.owner.pairing_request(pairing.id()).await;
    must(seen.code.as_ref() == Some(&code), || {
        format!("the owner saw {:?} and the device {code}", seen.code)
    })?;
    Ok(Some(pairing))
}

/// Asserts that nobody can ask by this offer any more.
pub(crate) async fn is_refused(world: &World, pairing: &mut Pairing) -> Outcome<()> {
    let late = pairing.try_request("a latecomer").await;
    world.count("offers that had ended, refused");
    must(matches!(late.status, 400..500), || {
        format!("an offer that had ended gave {}", late.body)
    })
}

/// The owner's answer; whether there is something to exchange.
async fn decide(world: &World, pairing: &Pairing, ending: Ending) -> Outcome<bool> {
    if ending == Ending::Abandon(Left::Asked) {
        world.count("pairings abandoned");
        return Ok(false);
    }
    if ending == Ending::Reject {
        let path = format!("/v1/pairing/requests/{}/reject", pairing.id());
        good(world.owner.post(&path, &json!({})).await, "reject")?;
        world.row("pairing_rejected", pairing.id());
        let poll: protocol::pairing::Poll = pairing.poll(0).await.ok();
        world.count("pairings rejected");
        return must(
            poll.status == PollStatus::AccessDenied && poll.exchange_nonce.is_none(),
            || format!("a rejected device was told {poll:?}"),
        )
        .map(|()| false);
    }
    good(world.owner.approve(pairing.id()).await, "approve")?;
    world.row("pairing_approved", pairing.id());
    if ending == Ending::Abandon(Left::Approved) {
        world.count("pairings abandoned");
        return Ok(false);
    }
    Ok(true)
}

/// Gives a device another label or role, and asserts that it has it.
async fn change(world: &World, device: &Device, label: Option<String>, role: Option<Role>) -> Outcome<()> {
    let before = world.listed(device.id()).await?;
    let before = before.ok_or_else(|| Fault::Broken(format!("{} is not listed", device.id())))?;
    world.expect_device(device.id(), None);
    let changes = DeviceChanges {
        label: label.clone(),
        role,
        ..DeviceChanges::default()
    };
    let path = format!("/v1/devices/{}", device.id());
    let changed: DeviceRecord = world
        .persist(|| world.ask("PATCH", &path, Some(&changes)))
        .await?;
    let wanted = (label.unwrap_or(before.label), role.unwrap_or(before.role));
    must((&changed.label, changed.role) == (&wanted.0, wanted.1), || {
        format!("{changed:?} was changed to {wanted:?}")
    })?;
    world.expect_device(device.id(), Some(wanted));
    world.count("labels and roles changed");
    Ok(())
}

/// Revokes a device with streams open, of which nothing may come that was printed after the answer.
pub(crate) async fn revoke(world: &World, device: &Device, counted: &Session, streams: u64) -> Outcome<()> {
    let mut open: Vec<Attached> = Vec::new();
    for number in 0..streams {
        let attached = world
            .attempt(async {
                let mut attached = reach(device, &counted.id).await?;
                if number % 2 == 0 {
                    attached
                        .next()
                        .await
                        .map_err(|code| Fault::Unexpected(format!("closed with {code}")))?;
                }
                Ok(attached)
            })
            .await;
        match attached {
            Ok(attached) => open.push(attached),
            Err(Fault::Disturbed) => {}
            Err(fault) => return Err(fault),
        }
    }
    world.expect_device(device.id(), None);
    let revoked = world
        .attempt(async { Ok(world.owner.request("DELETE", &path(device), None::<&()>).await) })
        .await;
    let end = match revoked {
        Ok(answer) => {
            let revoked: Revoked = good(answer, "revoke")?.ok();
            let shown = format!("/v1/sessions/{}", counted.id);
            let now: Session = world.persist(|| world.get(&shown)).await?;
            world.count_by("connections closed by revocations", revoked.closed);
            now.end
        }
        Err(Fault::Disturbed) => {
            // Nobody was told: the list knows.
            if world.listed(device.id()).await?.is_some() {
                let again = || async {
                    let answer = world.owner.request("DELETE", &path(device), None::<&()>).await;
                    if answer.status == 404 {
                        Ok(())
                    } else {
                        good(answer, "revoke").map(drop)
                    }
                };
                world.persist(again).await?;
            }
            u64::MAX
        }
        Err(fault) => return Err(fault),
    };
    world.forget_device(device.id());
    world.row("device_revoked", device.id());
    world.count("devices revoked");
    for attached in open {
        nothing_after(world, attached, end).await?;
    }
    is_out(world, device).await
}

fn path(device: &Device) -> String {
    format!("/v1/devices/{}", device.id())
}

async fn reach(device: &Device, session: &str) -> Outcome<Attached> {
    let reached = device.reach(session, Mode::View, "screen").await;
    reached.map_err(|why| match why {
        Unattached::Refused(answer) => {
            Fault::Unexpected(format!("refused: {} {}", answer.status, answer.body))
        }
        Unattached::Broken(why) => Fault::Unexpected(why),
    })
}

/// Reads what was on its way to somebody who was put out, up to the end of the stream.
pub(crate) async fn nothing_after(world: &World, mut attached: Attached, end: u64) -> Outcome<()> {
    loop {
        let offset = match attached.next().await {
            Ok(ServerMessage::Output { offset, bytes }) => offset + bytes.len() as u64,
            Ok(ServerMessage::Snapshot { ground, .. }) => ground,
            Ok(_) => continue,
            Err(code) => {
                world.count("streams that ended with a revocation, and nothing after it");
                // A daemon that is killed or restarted closes with what it closes everybody with.
                return must([CLOSE_REVOKED, 1006, 1012].contains(&code), || {
                    format!("a stream of somebody who was put out closed with {code}")
                });
            }
        };
        must(offset <= end, || {
            format!("output up to {offset} came to somebody who was put out before {end} was printed")
        })?;
    }
}

/// Asserts that whoever was put out is refused, whatever it shows.
pub(crate) async fn is_out(world: &World, device: &Device) -> Outcome<()> {
    world
        .persist(|| async {
            let asked = device.get("/v1/whoami").await;
            let proof = device.proof(&device.challenge().await);
            let proven = device.prove(&proof).await;
            for answer in [asked, proven] {
                let is_refused = matches!(
                    answer.verdict().as_str(),
                    "401 revoked" | "401 expired" | "429 too_many_failures"
                );
                must(is_refused, || {
                    format!("a token that has ended was answered {}", answer.verdict())
                })?;
            }
            world.count("returns of revoked tokens, all refused");
            Ok(())
        })
        .await
}

/// Devices of one lane at a time.
const MOST: usize = 8;
