//! The owner's lists of pairing, told whenever they are other ones, over restarts of the daemon.

use std::time::Duration;

use ::client::Patience;
use protocol::pairing::{OfferView, RequestView};
use serde::de::DeserializeOwned;
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    time::{Instant, sleep},
};

use crate::{client::Client, failure::Failure, patience};

/// What becomes known.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// All requests there are.
    Requests(Vec<RequestView>),
    /// All offers there are.
    Offers(Vec<OfferView>),
    /// The daemon is there, and nothing has changed.
    Same,
    /// The daemon is away: what is known may not be so any more, and what is offered does not work.
    Away,
}

/// Follows both lists until the receiver is dropped; an error ends it, and so does a daemon that is away for too long,
/// which is said on standard error before, unless a `screen` shows it.
pub(super) fn of_offers(client: &Client, screen: bool) -> Receiver<Result<News, Failure>> {
    let (tell, told) = mpsc::channel(QUEUE);
    let patience = if screen {
        Patience::bounded()
    } else {
        patience::bounded()
    };
    let (requests, offers) = ("/pairing/requests", "/pairing/offers");
    tokio::spawn(follow(
        client.clone(),
        requests,
        News::Requests,
        patience,
        tell.clone(),
    ));
    tokio::spawn(follow(
        client.clone(),
        offers,
        News::Offers,
        Patience::bounded(),
        tell,
    ));
    told
}

/// The same for the requests alone.
pub(super) fn of_requests(client: &Client) -> Receiver<Result<News, Failure>> {
    let (tell, told) = mpsc::channel(QUEUE);
    tokio::spawn(follow(
        client.clone(),
        "/pairing/requests",
        News::Requests,
        Patience::bounded(),
        tell,
    ));
    told
}

async fn follow<T: DeserializeOwned>(
    client: Client,
    path: &'static str,
    news: fn(Vec<T>) -> News,
    mut patience: Patience,
    tell: Sender<Result<News, Failure>>,
) {
    let mut known = None;
    loop {
        let asked = Instant::now();
        let told = match client.other(path, &mut known, WAIT).await {
            Ok(Some(list)) => news(list),
            Ok(None) => News::Same,
            Err(failure) => {
                // Afterwards the whole list is told, be it the same or not.
                known = None;
                if failure.is_about_the_link() && tell.send(Ok(News::Away)).await.is_err() {
                    return;
                }
                if let Err(failure) = patience.bear(failure).await {
                    tell.send(Err(failure)).await.ok();
                    return;
                }
                continue;
            }
        };
        patience.worked();
        let is_to_be_waited_for = matches!(told, News::Same) || known.is_none();
        if tell.send(Ok(told)).await.is_err() {
            return;
        }
        // A daemon that is about to end answers at once, and one of another version may not know how to wait.
        let least = if is_to_be_waited_for { SOON } else { BRIEF };
        sleep(least.saturating_sub(asked.elapsed())).await;
    }
}

/// Lists that wait to be taken.
const QUEUE: usize = 8;
/// How long the daemon holds an answer back: as long as it does for anybody.
const WAIT: Duration = Duration::from_secs(25);
/// An answer without news that comes so soon was not waited for.
const SOON: Duration = Duration::from_secs(1);
/// The least time between two questions: what changes faster is told together.
const BRIEF: Duration = Duration::from_millis(20);
