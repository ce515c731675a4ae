//! Where devices are let in by offers: what the command does for it at the daemon.

use jiff::Timestamp;
use pairing::RequestId;
use protocol::pairing::{NewOffer, OfferMade, OfferView, RequestView};
use serde_json::json;

use super::desk::{Desk, Happened};
use crate::{client::Client, failure::Failure, verbs::approve::Terms};

/// The client with what it knows.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) client: Client,
    pub(super) terms: Terms,
    pub(super) desk: Desk,
}

impl Counter {
    /// Makes an offer where there has to be one, and takes one back that nobody shall claim any more. Whether there is a
    /// new one.
    ///
    /// # Errors
    /// The daemon refuses. That it is away is none: it is told as news.
    pub(super) async fn keep_offering(&mut self) -> Result<bool, Failure> {
        if let Some(surplus) = self.desk.take_surplus() {
            self.client.withdraw(&path(surplus)).await.ok();
        }
        if !self.desk.wants_offer() {
            return Ok(false);
        }
        match self.offer().await {
            Ok(()) => Ok(true),
            Err(failure) if failure.is_about_the_link() => {
                self.desk.take(super::news::News::Away, Timestamp::now());
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Makes an offer.
    ///
    /// # Errors
    /// The daemon is away, or refuses.
    pub(super) async fn offer(&mut self) -> Result<(), Failure> {
        let Terms {
            role,
            label,
            expires,
            can_revoke,
            any_path,
        } = self.terms.clone();
        let terms = NewOffer {
            role,
            label,
            expires_in: expires,
            can_revoke: can_revoke.then_some(true),
            any_path: any_path.then_some(true),
        };
        let now = Timestamp::now();
        let made: OfferMade = self.client.post("/pairing/offers", &terms).await?;
        let offers: Vec<OfferView> = self.client.get("/pairing/offers").await?;
        // What the daemon's configuration says where the command does not.
        let role = offers
            .iter()
            .find(|view| view.id == made.id)
            .map(|view| view.role);
        self.desk.offered(made, role, now);
        Ok(())
    }

    /// Says yes or no to a claim.
    ///
    /// # Errors
    /// The daemon is away, or refuses.
    pub(super) async fn decide(&mut self, id: RequestId, is_yes: bool) -> Result<Option<Happened>, Failure> {
        if is_yes {
            let path = format!("/pairing/requests/{id}/approve");
            let request: RequestView = self.client.post(&path, &json!({})).await?;
            return Ok(self.desk.approved(request));
        }
        self.client
            .send(&format!("/pairing/requests/{id}/reject"), &json!({}))
            .await?;
        Ok(self.desk.rejected(id))
    }

    /// Takes back what was offered and is not decided: an offer must not outlive whoever made it.
    pub(super) async fn close(&mut self) {
        for offer in self.desk.loose_ends() {
            // What is over already cannot be withdrawn, and need not be.
            self.client.withdraw(&path(offer)).await.ok();
        }
    }
}

fn path(offer: pairing::OfferId) -> String {
    format!("/pairing/offers/{offer}")
}
