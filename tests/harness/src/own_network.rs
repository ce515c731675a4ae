//! A network of a test's own, with addresses that are not loopback: peers that are told apart. This needs root.

use std::{net::Ipv4Addr, panic::resume_unwind, process::Command, thread};

use rustix::thread::UnshareFlags;
use tokio::runtime::Builder;

/// Runs a test in a network that has loopback and these addresses, and nobody else.
///
/// # Panics
/// Where the test does, or does not run as root.
pub fn in_own_network<F: Future<Output = ()>>(addresses: &[Ipv4Addr], test: impl FnOnce() -> F + Send) {
    // A thread of its own: what it starts is in its network, and nobody else's tests are.
    let inside = || {
        enter();
        ip(&["link", "set", "lo", "up"]);
        for address in addresses {
            ip(&["addr", "add", &format!("{address}/32"), "dev", "lo"]);
        }
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("the system has threads").block_on(test());
    };
    let ended = thread::scope(|scope| scope.spawn(inside).join());
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

#[expect(
    deprecated,
    reason = "it is unsound for flags that part open files, which this one does not; the other way is unsafe"
)]
fn enter() {
    let entered = rustix::thread::unshare(UnshareFlags::NEWNET);
    entered.unwrap_or_else(|error| panic!("this test needs root: {error}"));
}

fn ip(words: &[&str]) {
    let done = Command::new("ip").args(words).output();
    let done = done.expect("`ip` is installed");
    assert!(done.status.success(), "this test needs root: {done:?}");
}
