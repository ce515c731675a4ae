//! `transom reject`: turn a device away.

use protocol::pairing::RequestView;
use serde_json::json;

use super::approve;
use crate::{client::Client, escape::escape, exit, failure::Failure, names, output};

/// Arguments of `reject`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The six digits on the device (493-027 or 493027), or the request's id
    #[arg(value_name = "CODE|ID")]
    request: String,
    /// Print the request, as it stands afterwards, as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Rejects the one live request that is meant.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let requests: Vec<RequestView> = client.get("/pairing/requests").await?;
    let request = names::request(&requests, &args.request)?;
    client
        .send(&format!("/pairing/requests/{}/reject", request.id), &json!({}))
        .await?;
    if args.json {
        output::json(&approve::now(&client, request).await?)?;
    } else {
        output::line(&format!("rejected \"{}\"", escape(&request.label)))?;
    }
    Ok(exit::OK)
}
