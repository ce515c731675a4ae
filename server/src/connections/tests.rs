mod model;

use std::{sync::Arc, time::Duration};

use pairing::{Authenticated, DeviceId, Principal, Role, Standing};
use tokio::{io::AsyncReadExt, net::UnixStream};

use super::{Connections, Entry, Refused};
use crate::{
    limits::Limits,
    peer::{Peer, RemotePeer},
    stream::Socket,
};

fn connections(unauthenticated: usize, connections: usize) -> Connections {
    Connections::new(Limits {
        unauthenticated,
        connections,
        per_principal: 2,
        ..Limits::default()
    })
}

/// An accepted stream, as from a remote peer, with its other end.
fn accept(connections: &Connections) -> (Entry, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (connections.accept(peer(), Socket::Unix(Arc::new(ours))), theirs)
}

/// The same over a network stack in this process.
fn accept_carried(connections: &Connections) -> (Entry, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    let socket = Socket::Userspace(Arc::new(near), Arc::default());
    (connections.accept(peer(), socket), far)
}

fn peer() -> Peer {
    let address = "192.0.2.1:1".parse().unwrap();
    Peer::Remote(RemotePeer {
        address,
        listener: address,
        generation: pairing::Generation(1),
        tailnet: None,
    })
}

fn device(number: u8) -> (DeviceId, Authenticated) {
    let id = DeviceId::from_bytes([number; 8]);
    (
        id,
        Authenticated::new(
            Principal::Device {
                id,
                role: Role::Viewer,
                can_revoke: false,
            },
            Standing::new(),
        ),
    )
}

fn end(connections: &Connections, device: DeviceId, who: &Authenticated) -> super::Ended {
    let Ok(((), ended)) = connections.end(device, || {
        who.standing().end();
        Ok::<_, std::convert::Infallible>(())
    });
    ended
}

fn is_cut(entry: &Entry) -> bool {
    entry.connection().cut_token().is_cancelled()
}

#[tokio::test]
async fn dropping_the_entry_is_the_only_way_out_and_frees_its_place() {
    let connections = connections(9, 9);
    let (id, who) = device(1);
    let entries = [accept(&connections), accept(&connections)];
    entries
        .iter()
        .for_each(|(entry, _)| connections.bind(entry.connection(), &who).unwrap());
    let (third, _theirs) = accept(&connections);
    assert_eq!(connections.bind(third.connection(), &who), Err(Refused::TooMany));
    assert_eq!((connections.count(), connections.count_of(id)), (3, 2));
    drop(entries);
    assert_eq!((connections.count(), connections.count_of(id)), (1, 0));
    assert_eq!(connections.bind(third.connection(), &who), Ok(()));
}

#[tokio::test]
async fn a_connection_stays_with_its_first_principal() {
    let connections = connections(9, 9);
    let ((_, first), (_, second)) = (device(1), device(2));
    let (entry, _theirs) = accept(&connections);
    assert_eq!(
        connections.bind(entry.connection(), &Authenticated::nobody()),
        Ok(())
    );
    assert_eq!(connections.bind(entry.connection(), &first), Ok(()));
    assert_eq!(
        connections.bind(entry.connection(), &first),
        Ok(()),
        "again is no other"
    );
    assert_eq!(
        connections.bind(entry.connection(), &second),
        Err(Refused::OtherPrincipal)
    );
}

#[tokio::test]
async fn who_ended_or_changed_since_gets_no_connection() {
    let connections = connections(9, 9);
    let (_, who) = device(1);
    let (entry, _theirs) = accept(&connections);
    who.standing().end();
    assert_eq!(connections.bind(entry.connection(), &who), Err(Refused::Ended));
    let renewed = Authenticated::new(who.principal().clone(), Arc::clone(who.standing()));
    assert_eq!(connections.bind(entry.connection(), &renewed), Ok(()));
    who.standing().end();
    assert_eq!(
        connections.bind(entry.connection(), &renewed),
        Err(Refused::Ended),
        "also on a connection that is theirs"
    );
}

#[tokio::test]
async fn the_oldest_stranger_makes_room_and_owners_do_not() {
    let connections = connections(2, 9);
    let (_, who) = device(1);
    let (owned, first, second) = (accept(&connections), accept(&connections), accept(&connections));
    assert!(
        is_cut(&owned.0),
        "it was the oldest stranger when the pool was full"
    );
    connections.bind(first.0.connection(), &who).unwrap();
    let third = accept(&connections);
    assert_eq!(
        [&first, &second, &third].map(|(entry, _)| is_cut(entry)),
        [false; 3]
    );
    let fourth = accept(&connections);
    assert_eq!(
        [&first, &second, &third, &fourth].map(|(entry, _)| is_cut(entry)),
        [false, true, false, false]
    );
}

#[tokio::test]
async fn a_stream_of_a_stack_in_this_process_takes_two_descriptors_and_makes_room_for_both() {
    let connections = Connections::new(Limits {
        descriptors: 4,
        ..Limits::default()
    });
    let (one, two, three) = (accept(&connections), accept(&connections), accept(&connections));
    let carried = accept_carried(&connections);
    assert_eq!(
        [&one, &two, &three, &carried].map(|(entry, _)| is_cut(entry)),
        [true, false, false, false],
        "of five descriptors one was too many"
    );
    drop(one);
    let next = accept_carried(&connections);
    assert_eq!(
        [&two, &three, &carried, &next].map(|(entry, _)| is_cut(entry)),
        [true, true, false, false]
    );
    drop((two, three));
    let last = accept(&connections);
    assert_eq!(
        [&carried, &next, &last].map(|(entry, _)| is_cut(entry)),
        [true, false, false]
    );
    drop((carried, next, last));
    let again = [(); 4].map(|()| accept(&connections));
    assert!(
        again.iter().all(|(entry, _)| !is_cut(entry)),
        "what is gone takes none"
    );
}

#[tokio::test]
async fn where_every_place_has_an_owner_a_stranger_finds_none() {
    let connections = connections(9, 1);
    let (_, who) = device(1);
    let (owned, _theirs) = accept(&connections);
    connections.bind(owned.connection(), &who).unwrap();
    let (stranger, _theirs) = accept(&connections);
    assert!(is_cut(&stranger) && !is_cut(&owned));
}

#[tokio::test]
async fn ending_a_device_takes_its_connections_and_no_others() {
    let connections = connections(9, 9);
    let ((one, first), (_, second)) = (device(1), device(2));
    let (mine, mut theirs) = accept(&connections);
    let (other, _others) = accept(&connections);
    connections.bind(mine.connection(), &first).unwrap();
    connections.bind(other.connection(), &second).unwrap();
    let ended = end(&connections, one, &first);
    assert!(mine.connection().is_revoked() && !other.connection().is_revoked());
    connections.cut(&ended).await;
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0);
    assert_eq!((ended.count(), is_cut(&mine), is_cut(&other)), (1, true, false));
}

#[tokio::test]
async fn a_revoked_stream_that_goes_is_reset_but_the_callers_own_has_time_for_its_answer() {
    let connections = connections(9, 9);
    let (id, who) = device(1);
    let (own, other) = (accept(&connections), accept(&connections));
    for (entry, _) in [&own, &other] {
        connections.bind(entry.connection(), &who).unwrap();
    }
    let mut ended = end(&connections, id, &who);
    let kept = ended.take(own.0.connection().id()).unwrap();
    let reset = other.0.connection().cut_token().clone();
    drop((own, other));
    assert!(reset.is_cancelled() && !kept.cut_token().is_cancelled());
    assert_eq!(connections.count_of(id), 0);
}

#[tokio::test]
async fn a_refused_end_closes_nothing() {
    let connections = connections(9, 9);
    let (id, who) = device(1);
    let (entry, _theirs) = accept(&connections);
    connections.bind(entry.connection(), &who).unwrap();
    assert!(connections.end(id, || Err::<(), _>("not permitted")).is_err());
    assert!(!entry.connection().is_revoked() && who.is_current());
}

#[tokio::test]
async fn an_upgraded_stream_has_the_time_of_one_close_frame_and_no_more() {
    let connections = connections(9, 9);
    let (id, who) = device(1);
    let (plain, upgraded) = (accept(&connections), accept(&connections));
    for (entry, _) in [&plain, &upgraded] {
        connections.bind(entry.connection(), &who).unwrap();
    }
    upgraded.0.connection().set_upgraded();
    let ended = end(&connections, id, &who);
    let started = tokio::time::Instant::now();
    let mut cutting = std::pin::pin!(connections.cut(&ended));
    assert!(futures_util::poll!(&mut cutting).is_pending());
    assert!(is_cut(&plain.0) && !is_cut(&upgraded.0));
    cutting.await;
    assert!(is_cut(&upgraded.0));
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_crowd_of_plain_streams_is_cut_behind_the_close_frames_and_knows_its_end_before() {
    let connections = Connections::new(Limits {
        per_principal: 2 * super::CROWD,
        ..Limits::default()
    });
    let (id, who) = device(1);
    let crowd: Vec<_> = (0..=super::CROWD).map(|_| accept(&connections)).collect();
    let upgraded = accept(&connections);
    for (entry, _) in crowd.iter().chain([&upgraded]) {
        connections.bind(entry.connection(), &who).unwrap();
    }
    upgraded.0.connection().set_upgraded();
    let ended = end(&connections, id, &who);
    assert!(crowd.iter().all(|(entry, _)| entry.connection().is_revoked()));
    let mut cutting = std::pin::pin!(connections.cut(&ended));
    assert!(futures_util::poll!(&mut cutting).is_pending());
    let cut = || crowd.iter().filter(|(entry, _)| is_cut(entry)).count();
    assert_eq!(cut(), super::CROWD);
    drop(upgraded);
    assert!(futures_util::poll!(&mut cutting).is_ready());
    assert_eq!(cut(), super::CROWD + 1);
}

#[tokio::test]
async fn an_upgraded_stream_that_goes_by_itself_is_not_waited_for() {
    let connections = connections(9, 9);
    let (id, who) = device(1);
    let (entry, _theirs) = accept(&connections);
    connections.bind(entry.connection(), &who).unwrap();
    entry.connection().set_upgraded();
    let ended = end(&connections, id, &who);
    let mut cutting = std::pin::pin!(connections.cut(&ended));
    assert!(futures_util::poll!(&mut cutting).is_pending());
    drop(entry);
    assert!(futures_util::poll!(&mut cutting).is_ready());
}

#[test]
fn registering_against_ending_leaves_the_connection_closed_or_never_registered() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _guard = runtime.enter();
    for _ in 0..500 {
        let connections = connections(9, 9);
        let (id, who) = device(1);
        let (entry, _theirs) = accept(&connections);
        let start = std::sync::Barrier::new(2);
        let bound = std::thread::scope(|scope| {
            let binding = scope.spawn(|| {
                start.wait();
                connections.bind(entry.connection(), &who)
            });
            start.wait();
            end(&connections, id, &who);
            binding.join().unwrap()
        });
        assert_eq!(
            bound.is_ok(),
            entry.connection().is_revoked(),
            "registered means found by the end"
        );
    }
}

#[tokio::test]
async fn draining_reaches_what_is_accepted_later_too() {
    let connections = connections(9, 9);
    let (early, _one) = accept(&connections);
    connections.drain();
    let (late, _two) = accept(&connections);
    assert!(early.connection().is_ending() && late.connection().is_ending());
}
