//! The reaper: one per session, a copy of the keeper that never executes anything itself.
//!
//! It is the parent of the session's program and, as a subreaper, of every orphan of the session: whoever descends from it is of the
//! session, and nobody gets out. It waits for all of them, tells the keeper how the program ended, and ends when none is left. When
//! the keeper dies, it kills them and ends. No signal but SIGKILL ends it; the keeper then kills what it left.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, setpgid};

use super::message::{End, Fields, Malformed, Packet, Step};
use super::packet::{self, Received};
use super::plan;
use super::system::{self, Forked};
use crate::process::{children, take_ended};
use crate::spawn::{close_on_exec, default_signals};

/// What a reaper is made with; everything else that it inherits is closed.
pub(super) struct Tools {
    /// To the keeper.
    pub(super) link: OwnedFd,
    pub(super) plan: OwnedFd,
    /// The terminal, to be the program's.
    pub(super) slave: OwnedFd,
    /// `cgroup.procs` of the session's cgroup. The program enters it, the reaper stays out: it must live on to tell how the program
    /// ended when all of the cgroup is killed.
    pub(super) cgroup: Option<OwnedFd>,
}

/// What the reaper tells the keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    Started(u32),
    NotStarted { step: Step, errno: i32 },
    Ended(End),
}

impl News {
    pub(super) fn encode(self) -> Packet {
        let mut packet = Packet::default();
        match self {
            Self::Started(leader) => packet.u8(1).u32(leader),
            Self::NotStarted { step, errno } => packet.u8(2).u8(step as u8).i32(errno),
            Self::Ended(end) => packet.u8(3).end(end),
        };
        packet
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(bytes);
        let news = match fields.u8()? {
            1 => Self::Started(fields.u32()?),
            2 => Self::NotStarted {
                step: fields.step()?,
                errno: fields.i32()?,
            },
            3 => Self::Ended(fields.program_end()?),
            _ => return Err(Malformed),
        };
        fields.end(news)
    }
}

/// The first word of the keeper: the program may begin.
pub(super) const GO: u8 = 0;

/// Runs a reaper to its end, in the process that was just forked for it.
pub(super) fn run(tools: Tools) -> ! {
    let status = match reap(tools) {
        Ok(()) => 0,
        Err(_nobody_to_tell) => 1,
    };
    std::process::exit(status)
}

fn reap(tools: Tools) -> io::Result<()> {
    let kept = [
        Some(&tools.link),
        Some(&tools.plan),
        Some(&tools.slave),
        tools.cgroup.as_ref(),
    ];
    system::close_all_but(&kept.into_iter().flatten().collect::<Vec<_>>())?;
    rustix::thread::set_name(c"transom-reaper")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    setpgid(None, None)?;
    system::ignore(&[
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
    ]);
    let ended = system::child_events()?;
    let Tools {
        link,
        plan,
        slave,
        cgroup,
    } = tools;
    if !may_begin(&link)? {
        return Ok(());
    }
    let began = Instant::now();
    let leader = match start(plan, slave, cgroup) {
        Ok(leader) => leader,
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            return tell(&link, News::NotStarted { step, errno });
        }
    };
    tell(&link, News::Started(leader.as_raw_pid().unsigned_abs()))?;
    Session {
        link,
        leader,
        leader_is_gone: false,
        began,
    }
    .watch(&ended)
}

/// Waits for the first word; false if the keeper is gone.
fn may_begin(link: &OwnedFd) -> io::Result<bool> {
    loop {
        match rustix::io::read(link, &mut [0; 8]) {
            Ok(length) => return Ok(length > 0),
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Starts the program and waits until it is executed or failed.
fn start(plan: OwnedFd, slave: OwnedFd, cgroup: Option<OwnedFd>) -> Result<Pid, (Step, io::Error)> {
    let process = |error: io::Error| (Step::Process, error);
    let (said, saying) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| process(error.into()))?;
    let leader = match system::fork().map_err(process)? {
        Forked::Parent(leader) => leader,
        Forked::Child => {
            drop(said);
            let (step, error) = become_program(&plan, &slave, cgroup.as_ref());
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let words = News::NotStarted { step, errno }.encode();
            // Nobody is there to be told of a failure to tell: then the end of the pipe says that all went well, and the exit code 127
            // is all that is seen.
            rustix::io::write(&saying, words.bytes()).ok();
            std::process::exit(127)
        }
    };
    drop((plan, slave, cgroup, saying));
    let mut words = [0; 16];
    let length = loop {
        match rustix::io::read(&said, &mut words) {
            Ok(length) => break length,
            Err(Errno::INTR) => {}
            Err(error) => return Err(process(error.into())),
        }
    };
    match News::decode(&words[..length]) {
        Ok(News::NotStarted { step, errno }) => Err((step, io::Error::from_raw_os_error(errno))),
        _ => Ok(leader),
    }
}

/// In the program's process: everything up to exec, and what went wrong.
fn become_program(plan: &OwnedFd, slave: &OwnedFd, cgroup: Option<&OwnedFd>) -> (Step, io::Error) {
    let prepare = || -> io::Result<plan::Plan> {
        let plan = plan::read(plan)?;
        if let Some(procs) = cgroup {
            // 0 is whoever writes it (cgroups(7)).
            rustix::io::write(procs, b"0")?;
        }
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(slave)?;
        rustix::stdio::dup2_stdin(slave)?;
        rustix::stdio::dup2_stdout(slave)?;
        rustix::stdio::dup2_stderr(slave)?;
        if let Some(limit) = plan.limit {
            limit.apply()?;
        }
        default_signals();
        close_on_exec()?;
        Ok(plan)
    };
    let plan = match prepare() {
        Ok(plan) => plan,
        Err(error) => return (Step::Process, error),
    };
    if let Err(error) = rustix::process::chdir(&plan.cwd) {
        return (Step::Directory, error.into());
    }
    (Step::Program, system::execute(&plan))
}

/// A session whose program was started.
struct Session {
    link: OwnedFd,
    leader: Pid,
    /// It was waited for, so its id may name somebody else.
    leader_is_gone: bool,
    began: Instant,
}

impl Session {
    /// Waits for everybody; returns when none is left, or the keeper.
    fn watch(mut self, ended: &OwnedFd) -> io::Result<()> {
        loop {
            if self.take_all()? {
                return Ok(());
            }
            let mut ready = [
                PollFd::new(&self.link, PollFlags::IN),
                PollFd::new(ended, PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Ok(_) => {}
                Err(error) if system::is_passing(error) => continue,
                Err(error) => return Err(error.into()),
            }
            let (asked, is_news) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            if is_news {
                // What the signals say is not needed: everybody who has ended is taken.
                rustix::io::read(ended, &mut [0; 128]).ok();
            }
            if asked && !self.heed() {
                return kill_all();
            }
        }
    }

    /// Takes the ends of all who have ended; true when there is nobody left.
    fn take_all(&mut self) -> io::Result<bool> {
        loop {
            match take_ended() {
                Ok(Some(ended)) if ended.id == self.leader && !self.leader_is_gone => {
                    self.leader_is_gone = true;
                    let exit = ended.exit(self.began.elapsed());
                    // A keeper that is gone is seen where it is listened to.
                    tell(&self.link, News::Ended(End::Exited(exit))).ok();
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(false),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Does what the keeper says; false if it is gone.
    fn heed(&self) -> bool {
        let mut word = [0; 8];
        match packet::receive(&self.link, &mut word) {
            Ok(Received { length: 0, .. }) => false,
            Ok(Received { length: 1, .. }) => {
                if let Some(signal) =
                    Signal::from_named_raw(i32::from(word[0])).filter(|_| !self.leader_is_gone)
                {
                    // This process has not waited for the leader, so the group is still its own.
                    kill_process_group(self.leader, signal).ok();
                }
                true
            }
            Ok(_) => true,
            // Nothing else is its end.
            Err(error) => error.kind() != io::ErrorKind::ConnectionReset,
        }
    }
}

/// Kills every child, and so on with theirs, who become children of this process, until there is none or none that may be killed.
///
/// A child that was not waited for keeps its id, so a bare id is good here.
pub(super) fn kill_all() -> io::Result<()> {
    let mut pause = FIRST_LOOK;
    loop {
        let mut killed = 0;
        for child in children() {
            killed += usize::from(kill_process(child, Signal::KILL).is_ok());
        }
        let mut left = true;
        while left {
            match take_ended() {
                Ok(Some(_)) => killed += 1,
                Ok(None) => left = false,
                Err(_no_child) => return Ok(()),
            }
        }
        if killed == 0 {
            // Those of other users: they belong to whoever adopts them.
            return Ok(());
        }
        // One that waits for a disk cannot end before that, and each look is at all processes of the machine.
        std::thread::sleep(pause);
        pause = (pause * 2).min(LAST_LOOK);
    }
}

fn tell(link: impl AsFd, news: News) -> io::Result<()> {
    loop {
        match packet::send(&link, news.encode().bytes(), None) {
            Err(error) if packet::is_short(&error) => std::thread::sleep(FIRST_LOOK),
            told => return told,
        }
    }
}

/// Between two looks at what was killed, doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{News, Step};
    use crate::keeper::message::End;

    proptest! {
        #[test]
        fn any_bytes_are_news_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(news) = News::decode(&bytes) {
                prop_assert_eq!(news.encode().bytes().to_vec(), bytes);
            }
        }
    }

    #[test]
    fn news_read_back_as_they_were_told() {
        let failed = News::NotStarted {
            step: Step::Program,
            errno: 2,
        };
        for news in [News::Started(7), failed, News::Ended(End::Unknown)] {
            assert_eq!(News::decode(news.encode().bytes()), Ok(news));
        }
    }
}
