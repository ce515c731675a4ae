//! `transom whoami`: who this is to the daemon.

use protocol::access::{PrincipalKind, WhoAmI};

use crate::{escape::escape, exit, failure::Failure, output, target::Target};

/// Arguments of `whoami`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks and prints.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let me = target.client()?.who_am_i().await?;
    if args.json {
        output::json(&me)?;
    } else {
        output::sentence(&in_words(&me))?;
    }
    Ok(exit::OK)
}

fn in_words(me: &WhoAmI) -> String {
    let who = match me.principal {
        PrincipalKind::Owner => "the owner".to_owned(),
        PrincipalKind::Session => "a program inside of a session".to_owned(),
        PrincipalKind::Guest => "a guest".to_owned(),
        PrincipalKind::Device => {
            let id = me.device_id.map(|id| format!(" ({id})")).unwrap_or_default();
            let role = me.role.map(|role| format!(", {role}")).unwrap_or_default();
            format!(
                "the device \"{}\"{id}{role}",
                escape(me.label.as_deref().unwrap_or_default())
            )
        }
    };
    let scopes: Vec<&str> = me.scopes.iter().map(String::as_str).collect();
    let told: Vec<&str> = scopes
        .into_iter()
        .filter(|scope| !OF_ANYBODY.contains(scope))
        .collect();
    format!("{who}; may {}", told.join(", "))
}

/// What needs no scope, or none but to be known.
const OF_ANYBODY: [&str; 2] = ["public", "any"];

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_device_is_told_its_name_its_role_and_what_it_may() {
        let me = serde_json::from_value(serde_json::json!({
            "principal": "device", "device_id": "dev_0000000000000001", "label": "my\u{202e}laptop", "role": "viewer",
            "scopes": ["public", "any", "session:view"], "instance": "i", "life": "l",
        }));
        assert_eq!(
            in_words(&me.unwrap()),
            "the device \"my\\u{202e}laptop\" (dev_0000000000000001), viewer; may session:view"
        );
    }
}
