//! `transom approve`: let a device in.

use pairing::Role;
use protocol::pairing::{Approve, RequestView};

use crate::{client::Client, duration, escape::escape, exit, failure::Failure, names, output};

/// Arguments of `approve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The six digits on the device (493-027 or 493027), or the request's id
    #[arg(value_name = "CODE|ID")]
    request: String,
    #[command(flatten)]
    terms: Terms,
    /// Print the request, as it stands afterwards, as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What a device gets; what is not said is as the offer or the configuration says.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Terms {
    /// What the device may do, instead of what the offer or pairing.default_role says
    #[arg(long, value_name = "viewer|operator")]
    pub(super) role: Option<Role>,
    /// A label for the device, instead of the one it asks for
    #[arg(long)]
    pub(super) label: Option<String>,
    /// How long the device stays trusted, such as 90d or 12h
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    pub(super) expires: Option<u64>,
    /// Let the device revoke other devices
    #[arg(long)]
    pub(super) can_revoke: bool,
    /// Let the device come by any listener, also where its tailnet node is not known
    #[arg(long)]
    pub(super) any_path: bool,
}

impl From<&Terms> for Approve {
    fn from(terms: &Terms) -> Self {
        Self {
            role: terms.role,
            label: terms.label.clone(),
            expires_in: terms.expires,
            can_revoke: terms.can_revoke.then_some(true),
            any_path: terms.any_path.then_some(true),
        }
    }
}

/// Approves the one live request that is meant.
pub(crate) async fn run(args: Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let requests: Vec<RequestView> = client.get("/pairing/requests").await?;
    let request = names::request(&requests, &args.request)?;
    let terms = Approve::from(&args.terms);
    client
        .send(&format!("/pairing/requests/{}/approve", request.id), &terms)
        .await?;
    if args.json {
        output::json(&now(&client, request).await?)?;
    } else {
        let (label, role) = (
            terms.label.as_deref().unwrap_or(&request.label),
            terms.role.unwrap_or(request.role),
        );
        output::line(&format!(
            "approved \"{}\" as {role}; it finishes the pairing by itself",
            escape(label)
        ))?;
    }
    Ok(exit::OK)
}

/// The request as it stands now.
pub(super) async fn now(client: &Client, request: &RequestView) -> Result<RequestView, Failure> {
    let requests: Vec<RequestView> = client.get("/pairing/requests").await?;
    let now = requests.into_iter().find(|other| other.id == request.id);
    now.ok_or_else(|| {
        Failure::failed(
            "not_found",
            "the request is gone already",
            "`transom devices` shows who is paired",
        )
    })
}
