//! Ten sessions that nobody looks at: what daemon, keeper and reapers cost meanwhile.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};

use crate::{
    figures::Findings,
    gate::{Arrived, Gate},
    kernel::{self, pause},
    report::Figure,
    under_test::{UnderTest, program},
};

/// They have nothing to say.
pub(super) fn idle(findings: &mut Findings) -> Result<()> {
    let (daemon, _programs) = ten(&["rest"], &["10"])?;
    let parts = Parts::of(&daemon)?;
    let spent = parts.watch()?;
    findings.add(
        Figure::alone(
            "idle CPU",
            (spent.share(), "% of a core"),
            "≤ 0.1 %",
            spent.share() <= 0.1,
        )
        .required(),
    );
    let rate = spent.rate();
    findings.add(Figure::alone("idle wake-ups", (rate, "per s"), "≤ 1", rate <= 1.0).required());
    for (name, pids) in parts.each() {
        let figure = format!("idle wake-ups, {name}");
        let rate = spent.rate_of(pids);
        findings.add(Figure::alone(
            &figure,
            (rate, "per s"),
            "≤ 1 together",
            rate <= 1.0,
        ));
    }
    let mut together = 0.0;
    for (name, pids) in parts.each() {
        let memory: Vec<_> = pids
            .iter()
            .map(|pid| kernel::memory(*pid))
            .collect::<Result<_>>()?;
        let shares = memory.iter().map(|memory| memory.proportional / 1024.0);
        let all: f64 = shares.sum();
        together += all;
        let figure = format!("idle PSS, {name}");
        findings.add(Figure::alone(
            &figure,
            (all, "MiB"),
            "≤ 24 MiB together",
            all <= 24.0,
        ));
    }
    findings.add(Figure::alone("idle PSS", (together, "MiB"), "≤ 24 MiB", together <= 24.0).required());
    Ok(())
}

/// They print a line each second.
pub(super) fn printing(findings: &mut Findings) -> Result<()> {
    let (daemon, _programs) = ten(&["tick"], &[])?;
    let share = Parts::of(&daemon)?.watch()?.share();
    findings.add(Figure::alone("printing CPU", (share, "% of a core"), "≤ 0.5 %", share <= 0.5).required());
    Ok(())
}

/// A daemon, and ten sessions with this program of ours, all of which have come to rest; with them what they are met by.
fn ten(before: &[&str], behind: &[&str]) -> Result<(UnderTest, (Gate, Vec<Arrived>))> {
    let (daemon, gate) = (UnderTest::start()?, Gate::new()?);
    let path = gate.path().display().to_string();
    let words = [before, &[path.as_str()], behind].concat();
    let mut programs = Vec::new();
    for _ in 0..SESSIONS {
        daemon.session(&program(&words)?)?;
        programs.push(gate.arrival()?);
    }
    pause(SETTLING)?;
    Ok((daemon, (gate, programs)))
}

/// The processes that are ours, and not the sessions'.
struct Parts {
    daemon: Vec<u32>,
    keeper: Vec<u32>,
    reapers: Vec<u32>,
}

/// What they spent, by process and thread.
struct Spent {
    switches: BTreeMap<(u32, String), u64>,
    seconds: f64,
}

impl Parts {
    fn of(daemon: &UnderTest) -> Result<Self> {
        let processes = daemon.processes()?;
        Ok(Self {
            daemon: vec![processes.daemon],
            keeper: vec![processes.keeper.context("sessions have a keeper")?],
            reapers: processes.reapers,
        })
    }

    fn each(&self) -> [(&'static str, &[u32]); 3] {
        [
            ("daemon", &self.daemon),
            ("keeper", &self.keeper),
            ("reapers", &self.reapers),
        ]
    }

    /// Looks on for a minute.
    fn watch(&self) -> Result<Spent> {
        let before = self.so_far()?;
        pause(WATCHED)?;
        let after = self.so_far()?;
        // A thread that ended meanwhile wakes up no more; one that began has all of its own.
        let more = after.switches.into_iter().map(|(thread, count)| {
            let before = before.switches.get(&thread).unwrap_or(&0);
            let more = count.saturating_sub(*before);
            (thread, more)
        });
        Ok(Spent {
            switches: more.collect(),
            seconds: after.seconds - before.seconds,
        })
    }

    fn so_far(&self) -> Result<Spent> {
        let (mut switches, mut seconds) = (BTreeMap::new(), 0.0);
        for (_, pids) in self.each() {
            for pid in pids {
                let of_threads = kernel::switches(*pid)?.into_iter();
                switches.extend(of_threads.map(|(thread, count)| ((*pid, thread), count)));
                seconds += kernel::busy_seconds(*pid)?;
            }
        }
        Ok(Spent { switches, seconds })
    }
}

impl Spent {
    /// Of one core, in per cent.
    fn share(&self) -> f64 {
        100.0 * self.seconds / WATCHED.as_secs_f64()
    }

    /// Wake-ups in a second.
    fn rate(&self) -> f64 {
        self.switches.values().sum::<u64>() as f64 / WATCHED.as_secs_f64()
    }

    fn rate_of(&self, pids: &[u32]) -> f64 {
        let own = self.switches.iter().filter(|((pid, _), _)| pids.contains(pid));
        own.map(|(_, count)| count).sum::<u64>() as f64 / WATCHED.as_secs_f64()
    }
}

const SESSIONS: usize = 10;
/// After the last request the daemon has things to put away: a thread that waited for blocking work is let go after 10 s.
const SETTLING: Duration = Duration::from_secs(15);
const WATCHED: Duration = Duration::from_secs(60);
