//! What can be asked of the command, a file for each.

mod after;
mod approve;
mod attach;
mod audit;
mod backup;
mod certs;
mod config;
mod daemon_log;
mod devices;
mod disconnect;
mod doctor;
mod groups;
mod guests;
mod invite;
mod keys;
mod lockdown;
mod logs;
mod ls;
mod new;
mod note;
mod offline;
mod open;
mod pair;
mod record;
mod reject;
mod reload;
mod remote;
mod rename;
mod restart;
mod restore;
mod revoke;
mod rm;
mod run;
mod screen;
mod send;
mod service;
mod shell_init;
mod shutdown;
mod status;
mod stop;
mod up;
mod view;
mod wait;
mod whoami;

use clap::Subcommand;

pub(crate) use self::groups::grouped;
use crate::{failure::Failure, target::Target};

/// A verb with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the daemon in the foreground
    Up(up::Args),
    /// Run a program in a new session and follow it
    Run(run::Args),
    /// Start a program in a new session, without following it
    New(new::Args),
    /// List the sessions
    Ls(ls::Args),
    /// Follow a session and type into it (Ctrl-\ then d detaches)
    Attach(attach::Args),
    /// Follow a session without touching it
    View(view::Args),
    /// End sessions, with everything they started
    Stop(stop::Args),
    /// Type text into a session
    Send(send::Args),
    /// Press keys in a session
    Keys(keys::Args),
    /// Wait until a session ends, is idle or shows a text
    Wait(wait::Args),
    /// Print a session's output, all that is kept
    Logs(logs::Args),
    /// Print what a session's screen shows
    Screen(screen::Args),
    /// Leave a note on a session
    Note(note::Args),
    /// Give a session another name
    Rename(rename::Args),
    /// Save a session's output as a recording (asciicast)
    Record(record::Args),
    /// Delete sessions; `restore` brings them back for a day
    Rm(rm::Args),
    /// Bring deleted sessions back
    Restore(restore::Args),
    /// Offer to pair a device: show a link and a QR code, and ask when a device comes
    Pair(pair::Args),
    /// Approve the pairing request that shows this code
    Approve(approve::Args),
    /// Reject the pairing request that shows this code
    Reject(reject::Args),
    /// List the paired devices; add one, or change its role, name, end or node
    Devices(devices::Args),
    /// End a device's trust, and every connection it has
    Revoke(revoke::Args),
    /// Close a device's connections; its trust stays
    Disconnect(disconnect::Args),
    /// Close every remote way in, until you open them again
    Lockdown(lockdown::Args),
    /// Show who did what, and whether that record is whole
    Audit(audit::Args),
    /// Invite somebody, or a user of the tailnet, to look at sessions for a while: make links for a browser
    Invite(invite::Args),
    /// List the guests, or end them
    Guests(guests::Args),
    /// Pair this machine with daemons elsewhere, and list them
    Remote(remote::Args),
    /// Open a daemon elsewhere in the browser here, through SSH
    Open(open::Args),
    /// Say who you are to the daemon, and what you may do
    Whoami(whoami::Args),
    /// Say what the running daemon does
    Status(status::Args),
    /// Test everything on the way to the daemon, and say what to do about what is wrong
    Doctor(doctor::Args),
    /// Show the certificates by which the daemon is known
    Certs(certs::Args),
    /// Take up a changed configuration or certificate; connections stay
    Reload(reload::Args),
    /// Start the daemon again; sessions go on
    Restart(restart::Args),
    /// End the daemon
    Shutdown(shutdown::Args),
    /// Run the daemon as a service of this user
    Service(service::Args),
    /// Keep the daemon's keys, devices and audit trail in a file, and put them back, here or elsewhere
    Backup(backup::Args),
    /// Look at the configuration
    Config(config::Args),
    /// Print what the daemon says of itself
    DaemonLog(daemon_log::Args),
    /// Print what makes a shell mark its commands for `screen` and `ls`
    ShellInit(shell_init::Args),
}

impl Verb {
    /// Whether results, and problems with them, are wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Self::Run(_) | Self::Attach(_) | Self::View(_) | Self::ShellInit(_) => false,
            Self::Up(args) => args.json,
            Self::New(args) => args.json,
            Self::Ls(args) => args.json,
            Self::Stop(args) => args.json,
            Self::Send(args) => args.json,
            Self::Keys(args) => args.json,
            Self::Wait(args) => args.json,
            Self::Logs(args) => args.json,
            Self::Screen(args) => args.json,
            Self::Note(args) => args.json,
            Self::Rename(args) => args.json,
            Self::Record(args) => args.json,
            Self::Rm(args) => args.json,
            Self::Restore(args) => args.json,
            Self::Pair(args) => args.json,
            Self::Approve(args) => args.json,
            Self::Reject(args) => args.json,
            Self::Devices(args) => args.json,
            Self::Revoke(args) => args.json,
            Self::Invite(args) => args.json,
            Self::Guests(args) => args.json,
            Self::Remote(args) => args.json,
            Self::Open(args) => args.json,
            Self::Whoami(args) => args.json,
            Self::Disconnect(args) => args.json,
            Self::Lockdown(args) => args.json,
            Self::Audit(args) => args.json,
            Self::Status(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Certs(args) => args.json,
            Self::Reload(args) => args.json,
            Self::Restart(args) => args.json,
            Self::Shutdown(args) => args.json,
            Self::Service(args) => args.json,
            Self::Backup(args) => args.json,
            Self::Config(args) => args.is_json(),
            Self::DaemonLog(args) => args.json,
        }
    }

    /// Does it for the daemon that is meant, and gives the exit code.
    ///
    /// # Errors
    /// Why it was not done.
    pub(crate) fn run(self, target: &Target) -> Result<u8, Failure> {
        self.refuse(target)?;
        let target = match self {
            // It is about this machine's own list, whatever the environment names.
            Self::Remote(_) | Self::Open(_) | Self::Service(_) | Self::Backup(_) => &Target::Here,
            _ => target,
        };
        match self {
            Self::Up(args) => up::run(&args),
            Self::ShellInit(args) => shell_init::run(&args),
            Self::DaemonLog(args) => daemon_log::run(&args),
            client => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?;
                let result = runtime.block_on(async {
                    match client.ask(target).await {
                        Err(failure) => Err(target.explained(failure).await),
                        done => done,
                    }
                });
                // A read of standard input that nobody waits for must not hold the process.
                runtime.shutdown_background();
                result
            }
        }
    }

    /// Refuses what cannot be done on a remote daemon.
    fn refuse(&self, target: &Target) -> Result<(), Failure> {
        match self {
            Self::Up(_) => target.refuse_but_for_owner("up"),
            Self::Pair(_) => target.refuse_but_for_owner("pair"),
            Self::Approve(_) => target.refuse_but_for_owner("approve"),
            Self::Reject(_) => target.refuse_but_for_owner("reject"),
            Self::Disconnect(_) => target.refuse_but_for_owner("disconnect"),
            Self::Audit(_) => target.refuse_but_for_owner("audit"),
            Self::Invite(_) => target.refuse_but_for_owner("invite"),
            Self::Guests(_) => target.refuse_but_for_owner("guests"),
            Self::Status(_) => target.refuse_but_for_owner("status"),
            Self::Certs(_) => target.refuse_but_for_owner("certs"),
            Self::Reload(_) => target.refuse_but_for_owner("reload"),
            Self::Restart(_) => target.refuse_but_for_owner("restart"),
            Self::Shutdown(_) => target.refuse_but_for_owner("shutdown"),
            Self::Remote(_) => target.refuse_flag("remote"),
            Self::Open(_) => target.refuse_flag("open"),
            Self::Service(_) => target.refuse_flag("service"),
            Self::Backup(_) => target.refuse_flag("backup"),
            Self::Config(_) => target.refuse_flag("config"),
            Self::DaemonLog(_) => target.refuse_flag("daemon-log"),
            Self::ShellInit(_) => target.refuse_flag("shell-init"),
            _ => Ok(()),
        }
    }

    async fn ask(self, target: &Target) -> Result<u8, Failure> {
        match self {
            Self::Up(_) | Self::ShellInit(_) | Self::DaemonLog(_) => {
                unreachable!("these run without a client")
            }
            Self::Run(args) => run::run(args, target).await,
            Self::New(args) => new::run(args, target).await,
            Self::Ls(args) => ls::run(&args, target).await,
            Self::Attach(args) => attach::run(&args, target).await,
            Self::View(args) => view::run(&args, target).await,
            Self::Stop(args) => stop::run(&args, target).await,
            Self::Send(args) => send::run(&args, target).await,
            Self::Keys(args) => keys::run(&args, target).await,
            Self::Wait(args) => wait::run(&args, target).await,
            Self::Logs(args) => logs::run(&args, target).await,
            Self::Screen(args) => screen::run(&args, target).await,
            Self::Note(args) => note::run(&args, target).await,
            Self::Rename(args) => rename::run(&args, target).await,
            Self::Record(args) => record::run(&args, target).await,
            Self::Rm(args) => rm::run(&args, target).await,
            Self::Restore(args) => restore::run(&args, target).await,
            Self::Whoami(args) => whoami::run(&args, target).await,
            Self::Remote(args) => remote::run(&args).await,
            Self::Open(args) => open::run(&args).await,
            Self::Pair(args) => pair::run(&args).await,
            Self::Approve(args) => approve::run(args).await,
            Self::Reject(args) => reject::run(&args).await,
            Self::Devices(args) => devices::run(&args, target).await,
            Self::Revoke(args) => revoke::run(&args, target).await,
            Self::Disconnect(args) => disconnect::run(&args).await,
            Self::Lockdown(args) => lockdown::run(&args, target).await,
            Self::Audit(args) => audit::run(&args).await,
            Self::Invite(args) => invite::run(&args).await,
            Self::Guests(args) => guests::run(&args).await,
            Self::Status(args) => status::run(&args).await,
            Self::Doctor(args) => doctor::run(&args, target).await,
            Self::Certs(args) => certs::run(&args).await,
            Self::Backup(args) => backup::run(&args).await,
            Self::Config(args) => config::run(&args).await,
            Self::Reload(args) => reload::run(&args).await,
            Self::Restart(args) => restart::run(&args).await,
            Self::Shutdown(args) => shutdown::run(&args).await,
            Self::Service(args) => service::run(&args).await,
        }
    }
}
