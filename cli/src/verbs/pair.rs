//! `transom pair`: let devices in.

mod answers;
mod counter;
mod desk;
mod digits;
mod gates;
mod live;
mod news;
mod pending;
mod plain;
mod view;
mod words;

use std::{
    env,
    io::{IsTerminal, stdout},
};

use self::{counter::Counter, desk::Desk, view::View};
use super::approve::Terms;
use crate::{client::Client, failure::Failure, start::StartArgs, target::Target};

/// Arguments of `pair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
On a terminal it shows a QR code and the link of an offer, and asks when a device comes: compare the six digits \
with those on the device before you say yes. What is shown always works: an offer that ends is replaced. It ends \
with the first device that is paired, and with q or Ctrl-C, which take the offer back.

Before that it looks at each gate on the way of a phone: the tailnet, its HTTPS and the phone in it, the certificate, the \
clock, the listener, the app. What shuts it out is said with what to do about it; --force shows the code all the same.

--pending shows all that ask, those without an offer too, and lets you pick one. Elsewhere than on a terminal \
it lists them once.

With --json: a line for each offer (with its `url`), and a line for the request that claims it whenever that \
changes: its `state` is `pending` when it comes, then `approved`, then `committed`, with the `device_id`; or \
`rejected`, `expired` or `hung_up`. Approve with --yes, or with `transom approve CODE` from elsewhere.

Exit codes: 0 paired, 1 a gate is shut, broken off before anything was paired or, elsewhere than on a terminal, rejected, 3 the \
daemon stayed away for a minute, 5 the device was approved and did not finish in time.")]
pub(crate) struct Args {
    #[command(flatten)]
    terms: Terms,
    /// Show the devices that ask, with an offer or without, and pick whom to approve
    #[arg(long, conflicts_with_all = ["yes", "label"])]
    pending: bool,
    /// Approve whoever comes first, without asking
    #[arg(long, short)]
    yes: bool,
    /// Print offers and requests as lines of JSON; with --pending the requests as one array
    #[arg(long)]
    pub(super) json: bool,
    /// Show the code also where a gate on the way of a phone is shut
    #[arg(long, conflicts_with = "pending")]
    force: bool,
    #[command(flatten)]
    start: StartArgs,
}

/// Lets devices in.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    if args.pending {
        let client = Client::of_environment()?;
        return pending::run(client, args.terms.clone(), args.json).await;
    }
    let client = args.start.client(&Target::Here).await?;
    let warnings = gates::pass(&client, args.force).await?;
    gates::tell(&warnings);
    let is_screen = !args.json && stdout().is_terminal() && can_draw();
    let counter = Counter {
        client,
        terms: args.terms.clone(),
        desk: Desk::new(if is_screen { MOST_WAITING } else { 1 }),
    };
    if is_screen {
        let mut view = View::new(args.terms.clone(), args.yes);
        let first = warnings.first();
        view.note = first.map(|warning| crate::escape::escape(&warning.detail).into_owned());
        view.has_links = env::var("TERM").is_ok_and(|term| term != "linux");
        return live::show(counter, view).await;
    }
    plain::run(counter, args.json, args.yes).await
}

/// Whether the terminal is one on which something can be drawn.
fn can_draw() -> bool {
    env::var("TERM").is_ok_and(|term| !matches!(term.as_str(), "" | "dumb"))
}

/// So many claims may wait for an answer until no further one is invited: who films the screen could claim each offer.
const MOST_WAITING: usize = 4;
