//! The generated TypeScript: the wire types (`web/ui/src/protocol.ts`) and the widths of characters
//! (`web/ui/src/terminal/width-table.ts`).

use ts_rs::{Config, TS};

use crate::{access, attach, events, guests, pairing, problem, sessions};

mod widths;

pub use widths::widths;

/// The whole file: every type that the web app reads or sends.
pub fn typescript() -> String {
    let config = Config::default().with_large_int("number");
    let declarations = [
        declare::<problem::Problem>(&config),
        declare::<access::Health>(&config),
        declare::<access::PrincipalKind>(&config),
        declare::<access::WhoAmI>(&config),
        declare::<access::ChallengeMade>(&config),
        declare::<access::ProofOfKey>(&config),
        declare::<access::Proven>(&config),
        declare::<access::DeviceRecord>(&config),
        declare::<access::NewLabel>(&config),
        declare::<access::Revoked>(&config),
        declare::<guests::GuestExchange>(&config),
        declare::<guests::GuestJoined>(&config),
        declare::<guests::GuestSelf>(&config),
        declare::<pairing::OfferProof>(&config),
        declare::<pairing::NewRequest>(&config),
        declare::<pairing::Requested>(&config),
        declare::<pairing::Reveal>(&config),
        declare::<pairing::PollStatus>(&config),
        declare::<pairing::Poll>(&config),
        declare::<pairing::Exchange>(&config),
        declare::<pairing::Exchanged>(&config),
        declare::<sessions::Size>(&config),
        declare::<sessions::SessionState>(&config),
        declare::<sessions::Exit>(&config),
        declare::<sessions::AttentionState>(&config),
        declare::<sessions::Attention>(&config),
        declare::<sessions::Note>(&config),
        declare::<sessions::Session>(&config),
        declare::<sessions::Line>(&config),
        declare::<sessions::Screen>(&config),
        declare::<events::Event>(&config),
        declare::<attach::Mode>(&config),
        declare::<attach::Hello>(&config),
        declare::<attach::Presence>(&config),
        declare::<attach::ClaimChange>(&config),
    ];
    format!(
        "// Made by `cargo xtask gen` from the crate `protocol`; do not edit.\n\n{}\n",
        declarations.join("\n\n")
    )
}

fn declare<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("{}export {}", docs, T::decl(config))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_typescript_is_current() {
        let committed = include_str!("../../web/ui/src/protocol.ts");
        assert!(
            committed == super::typescript(),
            "run `cargo xtask gen` and commit web/ui/src/protocol.ts"
        );
    }
}
