//! What verbs that change a session print.

use protocol::sessions::Session;

use crate::{client::Client, failure::Failure, output};

/// Prints the session as it stands now, if JSON is wanted: nothing else is to be said of what was simply done.
pub(super) async fn show(client: &Client, id: &str, json: bool) -> Result<(), Failure> {
    if json {
        let session: Session = client.get(&format!("/sessions/{id}")).await?;
        output::json(&session)?;
    }
    Ok(())
}
