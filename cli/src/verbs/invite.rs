//! `transom invite`: let somebody look at sessions for a while.

use protocol::{
    guests::{InvitationMade, NewInvitation},
    sessions::Session,
};

use crate::{client::Client, duration, escape::escape, exit, failure::Failure, names, output};

/// Arguments of `invite`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whoever opens a link first is the guest: they see what these sessions print from now on, type nothing, and \
see nothing else. Each link works once. Links and guests go on after a restart of the daemon; they end by \
themselves at their time, at once with `transom guests end`, and all of them with a lock-down.

  transom invite build --for 1h
  transom invite build logs --for 90m --count 3 --with-scrollback
  transom invite build --for 1h --login alice@example.com")]
pub(crate) struct Args {
    /// Names or ids of sessions, or beginnings that only they have
    #[arg(value_name = "SESSION", required = true)]
    sessions: Vec<String>,
    /// How long they may look, from now on, such as 1h; 7d is the longest
    #[arg(long = "for", value_name = "SPAN", value_parser = duration::parse)]
    lasts: u64,
    /// How many links, each for one person
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u32,
    /// Show them what was printed before, too
    #[arg(long)]
    with_scrollback: bool,
    /// Let this user of the tailnet in, to be the guest, and nobody else
    #[arg(long, value_name = "LOGIN")]
    login: Option<String>,
    /// Print the links as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Makes the links and prints them.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let meant = names::sessions(&sessions, &args.sessions)?;
    let wish = NewInvitation {
        sessions: meant.iter().map(|session| session.id.clone()).collect(),
        expires_in: args.lasts,
        count: Some(args.count),
        with_scrollback: args.with_scrollback,
        login: args.login.clone(),
    };
    let made: Vec<InvitationMade> = client.post("/guests", &wish).await?;
    if args.json {
        output::json(&made)?;
        return Ok(exit::OK);
    }
    for invitation in &made {
        output::line(invitation.url.expose())?;
    }
    let named: Vec<&str> = meant.iter().map(|session| session.name.as_str()).collect();
    let one_each = if made.len() == 1 {
        "this link works once, and"
    } else {
        "each link works once, and"
    };
    let what = if args.with_scrollback {
        "shows all of"
    } else {
        "shows from now on"
    };
    let until = made
        .first()
        .map_or_else(String::new, |first| format!(" until {}", first.expires_at));
    let whom = args.login.as_ref();
    let whom = whom.map_or_else(String::new, |login| format!(", to {} alone", escape(login)));
    output::note(&format!("{one_each} {what} {}{until}{whom}", named.join(", ")));
    Ok(exit::OK)
}
