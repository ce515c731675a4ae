//! `transom pair` where standard output is no terminal: in lines for people, or in lines of JSON.

use std::{pin::pin, time::Duration};

use jiff::Timestamp;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use super::{
    answers::Answers,
    counter::Counter,
    desk::{End, Happened},
    news, words,
};
use crate::{escape::escape, exit, failure::Failure, output};

/// Lets one device in.
pub(super) async fn run(mut counter: Counter, json: bool, is_yes: bool) -> Result<u8, Failure> {
    let mut plain = Plain {
        json,
        answers: Answers::new(is_yes),
        why: None,
    };
    // What keeps an offer from being made is said before anything is followed.
    counter.offer().await?;
    let outcome = match plain.offer(&counter) {
        Ok(()) => {
            tokio::select! {
                outcome = plain.run(&mut counter) => outcome,
                stopped = stopped() => stopped.and_then(|()| Err(words::interrupted(counter.desk.finishing()))),
                () = output::reader_gone() => Err(Failure::ClosedPipe),
            }
        }
        Err(failure) => Err(failure),
    };
    plain.answers.end_question();
    counter.close().await;
    outcome
}

struct Plain {
    json: bool,
    answers: Answers,
    /// Why there is another offer.
    why: Option<String>,
}

impl Plain {
    async fn run(&mut self, counter: &mut Counter) -> Result<u8, Failure> {
        let mut news = news::of_offers(&counter.client, false);
        loop {
            if counter.keep_offering().await? {
                self.offer(counter)?;
            }
            // The oldest: who comes later has to wait for the answer about it.
            self.answers.ask(counter.desk.questions().next());
            let now = Timestamp::now();
            let renewal = counter.desk.renewed_at().map(|at| at.duration_since(now));
            let renewal = renewal.map(|left| Duration::try_from(left).unwrap_or_default());
            let mut renewal = pin!(sleep(renewal.unwrap_or(LONGEST)));
            tokio::select! {
                news = news.recv() => {
                    let Some(news) = news else { return Ok(exit::FAILED) };
                    for happened in counter.desk.take(news?, Timestamp::now()) {
                        if let Some(code) = self.take(happened, counter).await? {
                            return Ok(code);
                        }
                    }
                }
                (id, is_yes) = self.answers.next() => {
                    // It may have ended meanwhile.
                    if counter.desk.questions().any(|request| request.id == id)
                        && let Some(happened) = counter.decide(id, is_yes).await?
                    {
                        self.take(happened, counter).await?;
                    }
                }
                () = &mut renewal => {
                    if let Some(happened) = counter.desk.renew(Timestamp::now()) {
                        self.take(happened, counter).await?;
                    }
                }
            }
        }
    }

    /// Tells of the offer.
    fn offer(&mut self, counter: &Counter) -> Result<(), Failure> {
        let why = self.why.take();
        let Some(offer) = counter.desk.offer() else {
            return Ok(());
        };
        if self.json {
            return output::json(&offer.made);
        }
        let mut text = vec![escape(offer.made.url.expose()).into_owned()];
        text.extend(why.map(|why| format!("{why} Here is a fresh one.")));
        text.push(words::headline(offer.role));
        text.extend(words::grants(offer.role, &counter.terms));
        let minutes = offer.made.expires_in.div_ceil(60);
        text.push(format!(
            "Open the link on the device. It works once, for {minutes} min."
        ));
        text.push("Waiting for the device …".to_owned());
        output::line(&text.join("\n"))
    }

    /// Tells what happened, and does what follows; the exit code at the end.
    async fn take(&mut self, happened: Happened, counter: &mut Counter) -> Result<Option<u8>, Failure> {
        match happened {
            Happened::Claimed(request) => {
                self.answers.end_question();
                self.tell(&request, |request| output::line(&words::claim(request)))?;
                if self.answers.is_yes()
                    && let Some(approved) = counter.decide(request.id, true).await?
                {
                    return Box::pin(self.take(approved, counter)).await;
                }
            }
            Happened::Approved(request) => {
                self.answers.end_question();
                self.tell(&request, |request| {
                    let approved = words::approved(request);
                    output::note(&format!("{approved} Waiting for the device to finish …"));
                    Ok(())
                })?;
            }
            Happened::Paired(request) => {
                self.answers.end_question();
                self.tell(&request, |request| output::line(&words::paired(request)))?;
                return Ok(Some(exit::OK));
            }
            Happened::Ended(request, end) => {
                self.answers.end_question();
                if self.json {
                    output::json(&request)?;
                }
                self.why = Some(words::ended(&request, end));
                return failed(end).map(|()| None);
            }
            Happened::OfferEnded(why) => self.why = words::replaced(why).map(str::to_owned),
        }
        Ok(None)
    }

    fn tell(
        &self,
        request: &protocol::pairing::RequestView,
        in_words: impl FnOnce(&protocol::pairing::RequestView) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            output::json(request)
        } else {
            in_words(request)
        }
    }
}

/// What the end of a request means for the command: before it was approved another may come.
fn failed(end: End) -> Result<(), Failure> {
    match end {
        End::Expired | End::HungUp | End::Forgotten { was_approved: false } => Ok(()),
        End::Rejected => Err(Failure::failed(
            "rejected",
            "the device was rejected, and nothing was paired",
            "`transom pair` makes a new offer",
        )),
        End::Unfinished => Err(Failure::timed_out(
            "the device was approved and did not finish in time: it is not paired",
        )),
        End::Forgotten { was_approved: true } => Err(Failure::failed(
            "not_found",
            "the daemon was restarted before it said whether the device is paired",
            "`transom devices` shows it if so",
        )),
    }
}

/// Waits for a signal that asks this process to end.
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

/// Where there is no offer to be renewed.
const LONGEST: Duration = Duration::from_secs(3_600);
