//! `transom pair`: let a device in, from the offer to its commit.

mod answers;
mod offer_text;
mod screen;

use std::time::Duration;

use pairing::RequestId;
use protocol::pairing::{NewOffer, OfferMade, OfferView, RequestStatus, RequestView};
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep},
};

use self::{answers::Answers, screen::Screen};
use super::approve::Terms;
use crate::{client::Client, exit, failure::Failure, output, start::StartArgs, target::Target};

/// Arguments of `pair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whoever opens the link asks to be paired: compare the six digits here with those on the device before \
you say yes. Where nobody can be asked, approve with `transom approve CODE` from elsewhere, or say --yes.

With --json: a line for each offer (with its `url`), and a line for the request that claims it, when it \
comes and when it is decided; of a device that is paired the last line has the state `committed` and the \
`device_id`.")]
pub(crate) struct Args {
    #[command(flatten)]
    terms: Terms,
    /// Approve whoever comes first, without asking
    #[arg(long, short)]
    yes: bool,
    /// Print offers and requests as lines of JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    start: StartArgs,
}

/// Offers until a device is paired or turned away.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = args.start.client(&Target::Here).await?;
    let mut pairing = Pairing {
        client,
        args,
        answers: Answers::new(args.yes),
        screen: Screen::default(),
    };
    let mut why = None;
    loop {
        let offer = pairing.offer(why).await?;
        let outcome = tokio::select! {
            outcome = pairing.follow(&offer) => outcome,
            stopped = stopped() => stopped.and(Err(interrupted())),
        };
        match outcome {
            Ok(Outcome::Paired) => return Ok(exit::OK),
            Ok(Outcome::Again(reason)) => {
                pairing.answers.end_question();
                why = Some(reason);
            }
            Err(failure) => {
                pairing.screen.clear().ok();
                pairing.answers.end_question();
                // What is over already cannot be withdrawn, and need not be.
                pairing
                    .client
                    .withdraw(&format!("/pairing/offers/{}", offer.id))
                    .await
                    .ok();
                return Err(failure);
            }
        }
    }
}

enum Outcome {
    Paired,
    /// The offer came to nothing, for this reason: what is shown must always work.
    Again(&'static str),
}

struct Pairing<'a> {
    client: Client,
    args: &'a Args,
    answers: Answers,
    screen: Screen,
}

impl Pairing<'_> {
    async fn offer(&mut self, why: Option<&str>) -> Result<OfferMade, Failure> {
        let Terms {
            role,
            label,
            expires,
            can_revoke,
            any_path,
        } = self.args.terms.clone();
        let terms = NewOffer {
            role,
            label,
            expires_in: expires,
            can_revoke: can_revoke.then_some(true),
            any_path: any_path.then_some(true),
        };
        let offer: OfferMade = self.client.post("/pairing/offers", &terms).await?;
        if self.args.json {
            output::json(&offer)?;
        } else {
            let role = self.view(&offer).await?.map(|view| view.role);
            self.screen.offer(&offer, role, why)?;
        }
        Ok(offer)
    }

    /// Waits for whoever claims the offer, has it decided, and waits for its end.
    async fn follow(&mut self, offer: &OfferMade) -> Result<Outcome, Failure> {
        let deadline = Instant::now() + Duration::from_secs(offer.expires_in);
        let mut shown = None;
        let mut claimant = None;
        loop {
            let former = claimant;
            let request = self.claim(offer, &mut claimant).await?;
            if claimant != former {
                // Another request of the same device: what was asked about the former is no answer for it.
                shown = None;
                self.answers.end_question();
            }
            match &request {
                Some(request) => {
                    if let Some(outcome) = self.progress(request, &mut shown).await? {
                        return Ok(outcome);
                    }
                }
                None if shown.is_some() => return Err(gone()),
                None if Instant::now() >= deadline => return Ok(Outcome::Again("The offer has expired")),
                None => match self.view(offer).await?.map(|view| view.state).as_deref() {
                    Some("open" | "claimed") => {}
                    Some("burned") => {
                        return Ok(Outcome::Again(
                            "Somebody guessed at the offer, and it was withdrawn",
                        ));
                    }
                    _ => return Ok(Outcome::Again("The offer has ended")),
                },
            }
            sleep(POLL).await;
        }
    }

    /// Shows and asks what is new about the request; `shown` is the state that was shown last.
    async fn progress(
        &mut self,
        request: &RequestView,
        shown: &mut Option<RequestStatus>,
    ) -> Result<Option<Outcome>, Failure> {
        let is_new = *shown != Some(request.state);
        match request.state {
            // Without its code the request cannot be compared.
            RequestStatus::Pending if request.code.is_none() => return Ok(None),
            RequestStatus::Pending => {
                if is_new {
                    if self.args.json {
                        output::json(request)?;
                    } else {
                        self.screen.claim(request)?;
                    }
                    self.answers.ask(request);
                }
                if let Some(is_yes) = self.answers.take() {
                    self.decide(request, is_yes).await?;
                }
            }
            RequestStatus::Approved | RequestStatus::Exchanged => {
                if shown.is_none_or(|shown| shown == RequestStatus::Pending) && !self.args.json {
                    self.screen.clear()?;
                    self.answers.end_question();
                    output::note("approved; waiting for the device to finish");
                }
            }
            RequestStatus::Committed => {
                self.screen.clear()?;
                self.answers.end_question();
                if self.args.json {
                    output::json(request)?;
                } else {
                    output::line(&screen::paired(request))?;
                }
                return Ok(Some(Outcome::Paired));
            }
            RequestStatus::Rejected | RequestStatus::Expired | RequestStatus::HungUp => {
                if self.args.json {
                    output::json(request)?;
                }
                return ended(request.state, *shown).map(Some);
            }
        }
        *shown = Some(request.state);
        Ok(None)
    }

    async fn decide(&self, request: &RequestView, is_yes: bool) -> Result<(), Failure> {
        let act = if is_yes { "approve" } else { "reject" };
        self.client
            .send(&format!("/pairing/requests/{}/{act}", request.id), &json!({}))
            .await
    }

    /// The request that claims the offer. The offer names it while it is claimed and no more afterwards, so it is kept.
    async fn claim(
        &self,
        offer: &OfferMade,
        claimant: &mut Option<RequestId>,
    ) -> Result<Option<RequestView>, Failure> {
        let named = self.view(offer).await?.and_then(|view| view.request_id);
        let requests: Vec<RequestView> = self.client.get("/pairing/requests").await?;
        // Decided elsewhere before it was seen here: nobody else can have the offer then.
        let is_decided = |request: &&RequestView| {
            request.offer_id == Some(offer.id) && request.state != RequestStatus::Pending
        };
        let decided = || requests.iter().rev().find(is_decided).map(|request| request.id);
        *claimant = named.or(*claimant).or_else(decided);
        Ok(requests.into_iter().find(|request| Some(request.id) == *claimant))
    }

    async fn view(&self, offer: &OfferMade) -> Result<Option<OfferView>, Failure> {
        let offers: Vec<OfferView> = self.client.get("/pairing/offers").await?;
        Ok(offers.into_iter().find(|view| view.id == offer.id))
    }
}

/// What the end of a request means that did not become a device: before it was approved another may come.
fn ended(state: RequestStatus, shown: Option<RequestStatus>) -> Result<Outcome, Failure> {
    let is_approved = matches!(shown, Some(RequestStatus::Approved | RequestStatus::Exchanged));
    match state {
        RequestStatus::Rejected => Err(Failure::failed(
            "rejected",
            "the device was rejected, and nothing was paired",
            "`transom pair` makes a new offer",
        )),
        _ if is_approved => Err(Failure::timed_out(
            "the device was approved and did not finish in time: it is not paired",
        )),
        RequestStatus::HungUp => Ok(Outcome::Again("The device has gone away")),
        _ => Ok(Outcome::Again("The request has expired")),
    }
}

/// Waits for a signal that asks this process to end: an offer must not outlive whoever made it.
async fn stopped() -> Result<(), Failure> {
    let [mut interrupt, mut terminate, mut hang_up] = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ];
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}

fn interrupted() -> Failure {
    Failure::failed(
        "interrupted",
        "the offer was withdrawn, and nothing was paired",
        "`transom pair` makes a new offer",
    )
}

fn gone() -> Failure {
    Failure::failed(
        "not_found",
        "the request is gone: the daemon may have been restarted",
        "`transom pair` makes a new offer",
    )
}

/// Between two looks; the daemon has nothing to wait on here.
const POLL: Duration = Duration::from_millis(300);
