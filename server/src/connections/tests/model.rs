//! The registry itself, under a model checker: what holds in one order of its callers holds in every other.

use std::sync::Arc;

use futures_util::FutureExt;
use loom::thread;
use pairing::Authenticated;
use tokio::{net::UnixStream, runtime};

use super::{device, end, peer};
use crate::{
    connections::{Connections, Entry, Refused, Table, lock},
    limits::Limits,
    stream::Socket,
};

#[test]
fn no_connection_is_given_to_a_principal_that_has_ended() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let binding = [(), ()].map(|()| bind(&connections, enter(&connections, socket), &who));
        let ended = end(&connections, id, &who);
        let bound = binding.map(|thread| thread.join().unwrap());
        assert_eq!(connections.count_of(id), ended.count());
        for (entry, bound) in bound {
            // What was let in before is ended with it, and what came after was not let in.
            let is_ended = entry.connection().is_revoked();
            assert_eq!(bound, if is_ended { Ok(()) } else { Err(Refused::Ended) });
        }
    });
}

#[test]
fn an_authentication_from_before_a_change_enters_nothing_after_it_and_a_new_one_does() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let old = bind(&connections, enter(&connections, socket), &who);
        let entry = enter(&connections, socket);
        let ended = end(&connections, id, &who);
        let renewed = Authenticated::new(who.principal().clone(), Arc::clone(who.standing()));
        assert_eq!(connections.bind(entry.connection(), &renewed), Ok(()));
        let (first, bound) = old.join().unwrap();
        assert_eq!(bound.is_ok(), ended.count() == 1);
        assert_eq!(bound.is_ok(), first.connection().is_revoked());
        assert!(!entry.connection().is_revoked());
    });
}

#[test]
fn whoever_is_let_in_while_what_it_may_do_changes_is_told_of_that_or_was_refused() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let entry = enter(&connections, socket);
        let connection = Arc::clone(entry.connection());
        let (ours, theirs) = (connections.clone(), who.clone());
        // As a WebSocket does: it is given its stream, and follows from then on whether it still may what it might.
        let binding = thread::spawn(move || {
            ours.bind(&connection, &theirs).ok()?;
            let mut changed = Box::pin(async move { connection.until_changed(|| theirs.is_current()).await });
            let is_told = changed.as_mut().now_or_never().is_some();
            Some((changed, is_told))
        });
        // As a change of role does: the epoch first, then the word to whoever is there.
        who.standing().end();
        connections.say_changed(id);
        if let Some((changed, is_told)) = binding.join().unwrap() {
            assert!(is_told || changed.now_or_never().is_some());
        }
        assert_eq!(connections.bind(entry.connection(), &who), Err(Refused::Ended));
    });
}

#[test]
fn a_stream_that_goes_leaves_nothing_behind_whoever_binds_or_ends_it() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let entry = enter(&connections, socket);
        let connection = Arc::clone(entry.connection());
        let leaving = thread::spawn(move || drop(entry));
        let (ours, theirs) = (connections.clone(), who.clone());
        let binding = thread::spawn(move || ours.bind(&connection, &theirs).is_ok());
        let ended = end(&connections, id, &who);
        leaving.join().unwrap();
        assert!(binding.join().unwrap() || ended.count() == 0);
        assert_eq!((connections.count(), connections.count_of(id)), (0, 0));
    });
}

#[test]
fn each_entry_is_taken_out_once_by_its_drop_alone() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let (first, second) = (enter(&connections, socket), enter(&connections, socket));
        connections.bind(first.connection(), &who).unwrap();
        connections.bind(second.connection(), &who).unwrap();
        let leaving = thread::spawn(move || drop(first));
        let ended = end(&connections, id, &who);
        assert!((1..=2).contains(&ended.count()));
        leaving.join().unwrap();
        // Who ended it has taken nothing out.
        assert_eq!((connections.count(), connections.count_of(id)), (1, 1));
        drop(second);
        assert_eq!((connections.count(), connections.count_of(id)), (0, 0));
    });
}

#[test]
fn a_newcomer_to_a_full_pool_stays_whoever_is_given_an_owner_meanwhile() {
    check(|socket| {
        let (connections, (id, who)) = (registry(1), device(1));
        let binding = bind(&connections, enter(&connections, socket), &who);
        let newcomer = enter(&connections, socket);
        let (first, bound) = binding.join().unwrap();
        assert!(bound.is_ok() && !newcomer.connection().cut_token().is_cancelled());
        assert_eq!((connections.count(), connections.count_of(id)), (2, 1));
        drop((first, newcomer));
        assert_eq!((connections.count(), connections.count_of(id)), (0, 0));
    });
}

#[test]
fn who_waits_for_the_last_of_an_ended_principals_connections_is_always_woken() {
    check(|socket| {
        let (connections, (id, who)) = (registry(9), device(1));
        let entries = [enter(&connections, socket), enter(&connections, socket)];
        entries
            .iter()
            .for_each(|entry| connections.bind(entry.connection(), &who).unwrap());
        let ended = end(&connections, id, &who);
        let leaving = entries.map(|entry| thread::spawn(move || drop(entry)));
        let are_gone = |table: &Table| ended.connections.iter().all(|one| !table.has(one.id()));
        loom::future::block_on(connections.until(are_gone));
        assert_eq!(connections.count(), 0);
        leaving.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

fn check(model: impl Fn(&Socket) + Send + Sync + 'static) {
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let _entered = runtime.enter();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    // One for every run: the registry resets it, and asks it nothing.
    let socket = Socket::Unix(Arc::new(ours));
    lock::check(move || model(&socket));
}

fn registry(unauthenticated: usize) -> Connections {
    Connections::new(Limits {
        unauthenticated,
        ..Limits::default()
    })
}

fn enter(connections: &Connections, socket: &Socket) -> Entry {
    connections.accept(peer(), socket.clone())
}

/// Binds in a thread of its own.
fn bind(
    connections: &Connections,
    entry: Entry,
    who: &Authenticated,
) -> thread::JoinHandle<(Entry, Result<(), Refused>)> {
    let (connections, who) = (connections.clone(), who.clone());
    thread::spawn(move || {
        let bound = connections.bind(entry.connection(), &who);
        (entry, bound)
    })
}
