//! A crowd of fast viewers, one at 10 KB/s and one that never reads, while a session floods.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use harness::{Attached, StampingProxy, TestDaemon, resident_kib, within};
use pairing::Role;
use protocol::{
    attach::{Mode, ServerMessage},
    sessions::Session,
};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_crowd_under_yes_the_slow_see_the_present_and_an_interrupt_is_heard() {
    let daemon = TestDaemon::start().await;
    flood(&daemon, "yes", 20_000_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_crowd_under_a_file_the_slow_see_the_present_and_an_interrupt_is_heard() {
    let daemon = TestDaemon::start().await;
    let file = daemon.folder().join("file");
    write_lines(&file, FILE);
    let cat = format!("cat {0}; cat {0}", file.display());
    // All of the first comes, and the interrupt under the second.
    flood(&daemon, &cat, FILE + 1_000_000).await;
}

/// Runs the flood with a crowd before it, and interrupts it when the session has written so many bytes.
async fn flood(daemon: &TestDaemon, flood: &str, bytes: u64) {
    let owner = daemon.owner();
    let heard = daemon.folder().join("heard");
    let script = format!(
        "trap ': >{}; printf \"\\033[2J\\033[Hinterrupted\"; exit 9' INT; echo ready; read x; {flood}",
        heard.display()
    );
    let session = owner.shell(&script).await;
    let mut writer = owner.attach(&session.id, Mode::Write, "screen").await;
    writer.until("ready").await;
    let (mut crowd, never) = crowd(daemon, &session).await;
    let (proxy, slow) = slow(daemon, &session).await;
    let before = resident_kib(daemon.pid());
    writer.send_input(b"\r").await;
    let slow = tokio::spawn(slow.follow());
    let (mut present, mut peak) = (Vec::new(), before);
    while present.last().is_none_or(|(_, offset)| *offset < bytes) {
        let offset = shown(&writer.next().await.expect("the session goes on"));
        present.extend(offset.map(|offset| (Instant::now(), offset)));
        peak = peak.max(resident_kib(daemon.pid()));
    }
    let (asked, at) = (Instant::now(), SystemTime::now());
    writer.send_input(b"\x03").await;
    assert_eq!(writer.until_exit().await.code, Some(9));
    peak = peak.max(resident_kib(daemon.pid()));
    let took = modified(&heard).duration_since(at).unwrap_or_default();
    let slow = within("the slow viewer to see the end", slow).await.unwrap();
    let ages = slow.ages(&present, asked);
    let (usual, oldest) = (ages[ages.len() / 2], ages[ages.len() - 1]);
    let late = slow.ended.saturating_duration_since(asked);
    println!(
        "interrupted after {took:?}; the slow viewer drew {} times, showed what was {usual:?} old, {oldest:?} at most, and \
         the end after {late:?}, screen {}; {before} to {peak} KiB",
        ages.len(),
        slow.largest
    );
    assert!(took <= INTERRUPT, "{took:?}");
    assert!(usual <= 4 * (slow.takes(0) + HALF), "{usual:?}, {ages:?}");
    for age in [oldest, late] {
        assert!(age <= 4 * (slow.takes(WINDOW) + HALF), "{age:?}, {ages:?}");
    }
    assert!(peak.saturating_sub(before) <= BOUND_KIB, "{before} to {peak} KiB");
    while let Some(code) = within("the crowd to see the end", crowd.join_next()).await {
        assert_eq!(code.unwrap(), Some(9));
    }
    drop((never, proxy));
}

/// Viewers that read, and one that does not.
async fn crowd(daemon: &TestDaemon, session: &Session) -> (JoinSet<Option<i32>>, Attached) {
    let device = daemon.device(Role::Viewer).await;
    let mut crowd = JoinSet::new();
    for _ in 0..CROWD {
        let mut fast = device
            .attach(&session.id, Mode::View, "screen")
            .await
            .without_screen();
        crowd.spawn(async move { fast.until_exit().await.code });
    }
    let never = device.attach(&session.id, Mode::View, "screen").await;
    (crowd, never)
}

async fn slow(daemon: &TestDaemon, session: &Session) -> (StampingProxy, Slow) {
    let mut device = daemon.device(Role::Viewer).await;
    let proxy = StampingProxy::slow(daemon.address(), PACE).await;
    device.go_by(proxy.address());
    let mut attached = device.attach(&session.id, Mode::View, "screen").await;
    attached.until("ready").await;
    let now = Instant::now();
    let slow = Slow {
        attached,
        shows: Vec::new(),
        largest: 0,
        ended: now,
    };
    (proxy, slow)
}

/// A viewer behind a slow link.
struct Slow {
    attached: Attached,
    /// From when on it showed what the session had written up to where.
    shows: Vec<(Instant, u64)>,
    /// Bytes of its largest snapshot.
    largest: usize,
    ended: Instant,
}

impl Slow {
    async fn follow(mut self) -> Self {
        loop {
            let message = self.attached.next().await.expect("the session goes on");
            match &message {
                ServerMessage::Snapshot { bytes, .. } => self.largest = self.largest.max(bytes.len()),
                ServerMessage::Exit(exit) => {
                    assert_eq!(exit.code, Some(9));
                    assert_eq!(self.attached.screen_lines()[0], "interrupted");
                    self.ended = Instant::now();
                    return self;
                }
                _ => {}
            }
            self.shows
                .extend(shown(&message).map(|offset| (Instant::now(), offset)));
        }
    }

    /// How old what it showed was before each change of it, up to the moment; the oldest last.
    fn ages(&self, present: &[(Instant, u64)], until: Instant) -> Vec<Duration> {
        let written = |offset: u64| present[present.partition_point(|(_, end)| *end < offset)].0;
        let pairs = self.shows.windows(2).take_while(|pair| pair[1].0 <= until);
        let mut ages: Vec<Duration> = pairs.map(|pair| pair[1].0 - written(pair[0].1)).collect();
        ages.sort();
        ages
    }

    /// How long its link takes for so many bytes and its largest screen.
    fn takes(&self, bytes: usize) -> Duration {
        Duration::from_secs_f64((self.largest + bytes) as f64 / f64::from(PACE))
    }
}

/// Up to where whoever drew the message shows the output.
fn shown(message: &ServerMessage) -> Option<u64> {
    match message {
        ServerMessage::Output { offset, bytes } => Some(offset + bytes.len() as u64),
        ServerMessage::Snapshot { ground, .. } => Some(*ground),
        _ => None,
    }
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|data| data.modified()).unwrap()
}

/// Lines of different lengths and colours.
fn write_lines(path: &Path, bytes: u64) {
    let mut block = Vec::new();
    for number in 0..20_000 {
        let (colour, text) = (31 + number % 7, &"x".repeat(60)[..number % 61]);
        writeln!(block, "\x1b[{colour}m{number:08}\x1b[0m {text}").unwrap();
    }
    let mut file = File::create(path).unwrap();
    let mut written = 0;
    while written < bytes {
        file.write_all(&block).unwrap();
        written += block.len() as u64;
    }
}

/// Viewers that read all they can.
const CROWD: usize = 50;
/// Bytes in a second.
const PACE: u32 = 10_000;
/// Bytes of the file.
const FILE: u64 = 100_000_000;
/// Bytes that are on the way to the slowest of viewers, and so stand before a screen.
const WINDOW: usize = 16 * 1024;
/// What a viewer shows is so old at most, besides a screen's transfer; four times that here, as tests share their
/// machine.
const HALF: Duration = Duration::from_millis(500);
/// For an interrupt to reach the program: four times what is promised, as tests share their machine.
const INTERRUPT: Duration = Duration::from_millis(4 * 200);
/// What one flooding session may take (see `flood.rs`), and a window for each viewer.
const BOUND_KIB: u64 = 24 * 1024 + CROWD as u64 * 512;
