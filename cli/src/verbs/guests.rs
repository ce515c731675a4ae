//! `transom guests`: who may look, who else tried, and their end.

use jiff::Timestamp;
use protocol::{
    guests::{GuestEnded, GuestRecord, GuestState},
    sessions::Session,
};

use crate::{client::Client, duration, exit, failure::Failure, names, output, table::Table};

/// Arguments of `guests`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<GuestsVerb>,
    /// Print the guests, or what was closed, as a JSON array
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum GuestsVerb {
    /// List guests and invitations, as `guests` alone does
    List,
    /// End guests and invitations at once, with every connection they have
    End(End),
}

#[derive(Debug, clap::Args)]
struct End {
    /// Ids of guests, or beginnings that only they have
    #[arg(value_name = "GUEST", required_unless_present = "all")]
    guests: Vec<String>,
    /// End all of them
    #[arg(long, conflicts_with = "guests")]
    all: bool,
}

/// Lists them, or ends some.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    match &args.verb {
        None | Some(GuestsVerb::List) => list(&client, args.json).await,
        Some(GuestsVerb::End(wish)) => end(&client, wish, args.json).await,
    }
}

async fn list(client: &Client, json: bool) -> Result<u8, Failure> {
    let guests: Vec<GuestRecord> = client.get("/guests").await?;
    if json {
        output::json(&guests)?;
    } else if guests.is_empty() {
        output::note("nobody is invited; `transom invite` invites somebody to look");
    } else {
        let sessions: Vec<Session> = client.get("/sessions").await?;
        output::line(&table(&guests, &sessions, Timestamp::now()).render(output::width()))?;
    }
    Ok(exit::OK)
}

async fn end(client: &Client, wish: &End, json: bool) -> Result<u8, Failure> {
    let guests: Vec<GuestRecord> = client.get("/guests").await?;
    let meant: Vec<&GuestRecord> = if wish.all {
        guests.iter().filter(|guest| is_live(guest.state)).collect()
    } else {
        let named = wish.guests.iter().map(|word| names::guest(&guests, word));
        named.collect::<Result<_, _>>()?
    };
    let mut all = Vec::new();
    for guest in meant {
        let ended: GuestEnded = client.delete(&format!("/guests/{}", guest.id)).await?;
        if json {
            all.push(ended);
        } else {
            output::sentence(&format!(
                "ended {}: closed {}",
                ended.guest_id,
                output::connections(ended.closed)
            ))?;
        }
    }
    if json {
        output::json(&all)?;
    }
    Ok(exit::OK)
}

fn table(guests: &[GuestRecord], sessions: &[Session], now: Timestamp) -> Table {
    let mut table = Table::new(&["ID", "STATE", "SESSIONS", "LIVE", "ENDS", "FROM", "REFUSED"]);
    for guest in guests {
        let names: Vec<&str> = guest
            .sessions
            .iter()
            .map(|id| {
                let known = sessions.iter().find(|session| session.id == *id);
                known.map_or(id.as_str(), |session| session.name.as_str())
            })
            .collect();
        let ends = if is_live(guest.state) {
            format!("in {}", duration::until(guest.expires_at, now))
        } else {
            format!("{} ago", duration::since(guest.expires_at, now))
        };
        let refused = guest.refused.as_ref().map_or_else(
            || "-".to_owned(),
            |refused| format!("{}, last from {}", refused.count, refused.last_address),
        );
        table.row([
            &guest.id.to_string(),
            in_words(guest.state),
            &names.join(", "),
            &guest.connections.to_string(),
            &ends,
            &from(guest),
            &refused,
        ]);
    }
    table
}

/// From where, and who by the tailnet's word.
fn from(guest: &GuestRecord) -> String {
    let known = [guest.login.as_deref(), guest.address.as_deref()];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    match known.is_empty() {
        true => "-".to_owned(),
        false => known.join(" at "),
    }
}

/// Whether there is something to end.
pub(super) fn is_live(state: GuestState) -> bool {
    matches!(state, GuestState::Invited | GuestState::Joined)
}

fn in_words(state: GuestState) -> &'static str {
    match state {
        GuestState::Invited => "invited",
        GuestState::Joined => "joined",
        GuestState::Revoked => "ended",
        GuestState::Left => "left",
        GuestState::Expired => "expired",
        GuestState::Burned => "burned",
        GuestState::LockedDown => "locked down",
    }
}

#[cfg(test)]
mod tests {
    use protocol::guests::GuestRecord;
    use serde_json::json;

    use super::table;

    #[test]
    fn a_row_says_who_looks_at_what_until_when_and_who_else_tried() {
        let guest: GuestRecord = serde_json::from_value(json!({
            "id": "gst_0000000000000001", "state": "joined", "sessions": ["ses_0000000000000002"],
            "with_scrollback": false, "invited_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T02:00:00Z",
            "login": null, "joined_at": "2026-01-01T00:01:00Z", "address": "198.51.100.7",
            "refused": { "count": 2, "last_at": "2026-01-01T00:02:00Z", "last_address": "198.51.100.8" },
            "connections": 1,
        }))
        .unwrap();
        let table = table(&[guest], &[], "2026-01-01T01:00:00Z".parse().unwrap()).render(None);
        let row = table.lines().nth(1).unwrap();
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            row,
            "gst_0000000000000001 joined ses_0000000000000002 1 in 1h 198.51.100.7 2, last from 198.51.100.8"
        );
    }
}
