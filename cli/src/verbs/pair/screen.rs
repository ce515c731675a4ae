//! What the owner sees while pairing.

use std::{env, io::Write};

use pairing::Role;
use protocol::pairing::{OfferMade, RequestView};

use super::offer_text::{OfferText, Room};
use crate::{escape::escape, failure::Failure, names::spaced, output, output::STRONG};

/// The owner's terminal, or whatever else standard output is: an offer, then in its place who claims it.
#[derive(Debug, Default)]
pub(super) struct Screen {
    offer: Option<Shown>,
}

/// An offer on a terminal, with the cursor behind it.
#[derive(Debug)]
struct Shown {
    rows: usize,
    /// The terminal's columns and rows then: in another size it may stand elsewhere.
    of: (u16, u16),
}

impl Screen {
    /// Shows the offer; `why` says what became of the one before.
    pub(super) fn offer(
        &mut self,
        offer: &OfferMade,
        role: Option<Role>,
        why: Option<&str>,
    ) -> Result<(), Failure> {
        self.clear()?;
        let link = escape(offer.url.expose());
        let text = OfferText {
            link: &link,
            role,
            minutes: offer.expires_in.div_ceil(60),
            why,
        };
        let Some((columns, rows)) = output::size() else {
            return output::line(&text.plain().join("\n"));
        };
        let room = Room {
            columns: columns.into(),
            rows: rows.into(),
            has_links: has_links(),
        };
        let lines = text.drawn(&room);
        self.offer = Some(Shown {
            rows: text.rows(&lines, &room),
            of: (columns, rows),
        });
        // Colours make the code readable whatever the theme is, so they are no decoration that NO_COLOR takes away.
        write(&lines.join("\n"))
    }

    /// Takes the offer away, so that what comes next is seen without scrolling.
    pub(super) fn clear(&mut self) -> Result<(), Failure> {
        match self.offer.take() {
            None => Ok(()),
            Some(Shown { rows, of }) if output::size() == Some(of) && rows <= usize::from(of.1) => {
                let up = rows - 1;
                let up = if up > 0 {
                    format!("\x1b[{up}A")
                } else {
                    String::new()
                };
                write(&format!("{up}\r\x1b[J"))
            }
            Some(_) => write("\n\n"),
        }
    }

    /// Shows who claims the offer, and the code to compare.
    pub(super) fn claim(&mut self, request: &RequestView) -> Result<(), Failure> {
        self.clear()?;
        output::line(&claim(request))
    }
}

/// Whether the terminal leaves alone what it does not know, as OSC 8 may be; where none is there, nothing asks.
fn has_links() -> bool {
    env::var("TERM").is_ok_and(|term| !matches!(term.as_str(), "" | "dumb" | "linux"))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

fn claim(request: &RequestView) -> String {
    let code = request.code.as_deref().map(spaced).unwrap_or_default();
    let tailnet = request
        .tailnet
        .as_deref()
        .unwrap_or("no tailnet node: it comes by loopback or a tunnel");
    format!(
        "\"{}\" asks to be paired as {}\n\n  from  {}, {}\n  code  {STRONG}{}{STRONG:#}   \
         the device must show the same digits\n",
        escape(&request.label),
        request.role,
        escape(&request.peer),
        escape(tailnet),
        escape(&code),
    )
}

/// That a device is paired now.
pub(super) fn paired(request: &RequestView) -> String {
    let id = request.device_id.map(|id| id.to_string()).unwrap_or_default();
    format!(
        "paired \"{}\" as {}: {id}\n`transom revoke {id}` cuts it off",
        escape(&request.label),
        request.role
    )
}

#[cfg(test)]
mod tests {
    use protocol::pairing::RequestView;
    use serde_json::json;

    use super::claim;

    #[test]
    fn who_asks_is_shown_escaped_with_the_code_in_two_groups() {
        let request: RequestView = serde_json::from_value(json!({
            "id": "req_0000000000000001", "state": "pending", "code": "493027", "label": "a\u{1b}[2Jb", "peer": "127.0.0.1",
            "tailnet": null, "role": "viewer", "offer_id": null, "device_id": null, "expires_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let said = anstream::adapter::strip_str(&claim(&request)).to_string();
        assert!(
            said.contains("\"a\\u{1b}[2Jb\" asks to be paired as viewer"),
            "{said}"
        );
        assert!(said.contains("code  493-027"), "{said}");
    }
}
