//! What each key is for: its manual page, `transom.toml(5)`.

use super::keys::{KEYS, variable};

/// A key, for who reads about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key: `listen.tls` is `tls` in the section `[listen]`.
    pub key: &'static str,
    /// The variable of the environment that stands before the file.
    pub variable: String,
    /// The default, as TOML.
    pub default: &'static str,
    /// What it is for and what it takes, in whole sentences.
    pub meaning: &'static str,
}

/// Every key, in the order of the page.
pub fn settings() -> impl Iterator<Item = Setting> {
    KEYS.iter().map(|(key, default)| Setting {
        key,
        variable: variable(key),
        default,
        meaning: meaning(key).unwrap_or_default(),
    })
}

fn meaning(key: &str) -> Option<&'static str> {
    let (_, meaning) = MEANINGS.iter().find(|(known, _)| *known == key)?;
    Some(meaning)
}

const MEANINGS: &[(&str, &str)] = &[
    (
        "listen.tls",
        "The addresses, each with a port, at which devices reach the daemon by TLS. `tailnet:7443` stands for that port at each \
         address of this machine in its tailnet. Port 0 takes a free one. An empty list leaves the Unix socket alone.",
    ),
    (
        "listen.names",
        "Further host names by which browsers may call the daemon; requests with any other are refused. Its own certificate is \
         made for them, too.",
    ),
    (
        "listen.certificate",
        "The path of a certificate of your own, in PEM with its chain, which is served for its names. It needs listen.key.",
    ),
    (
        "listen.key",
        "The path of that certificate's private key, in PEM.",
    ),
    (
        "listen.dangerous_allow_any_interface",
        "Whether listen.tls may name addresses other than the loopback's and the tailnet's: a whole network then reaches the \
         daemon's listener.",
    ),
    (
        "tailnet.mode",
        "\"host\": this machine's tailscaled is asked for its addresses and who comes. \"embedded\": a node of the daemon's own \
         (experimental, and in no build unless it was asked for). \"off\": neither.",
    ),
    (
        "tailnet.allow",
        "Whose nodes are heard at all: \"self\" is the user whom this machine belongs to, others are logins like \
         alice@example.com and tags like tag:phone. With mode = \"embedded\", stable node ids and tags. Who is heard must be \
         paired all the same.",
    ),
    (
        "tailnet.socket",
        "The socket at which tailscaled is asked, with mode = \"host\".",
    ),
    (
        "tailnet.hostname",
        "The name that a node of the daemon's own asks its tailnet for. Empty: this machine's.",
    ),
    (
        "tailnet.auth_key_file",
        "The path of a file, 0600, with the key by which a node of the daemon's own joins. Empty: `transom status` names the \
         page that takes it in.",
    ),
    (
        "tailnet.control_url",
        "The control server of a node of the daemon's own. Empty: Tailscale's.",
    ),
    (
        "limits.unauthenticated",
        "How many connections may be open that have not authenticated.",
    ),
    (
        "limits.per_principal",
        "How many connections each device or guest may have open.",
    ),
    ("limits.connections", "How many connections may be open in all."),
    (
        "pairing.max_pending",
        "How many pairing requests may wait for you that came without an offer of yours.",
    ),
    (
        "pairing.request_ttl",
        "How long a pairing request waits for your answer.",
    ),
    (
        "pairing.offer_ttl",
        "How long the link and the QR code of `transom pair` can be used.",
    ),
    (
        "pairing.default_role",
        "The role of a device where none is said: \"viewer\" looks, \"operator\" also types.",
    ),
    (
        "pairing.idle_expiry",
        "A device that was not seen for so long expires.",
    ),
    ("sessions.max", "How many sessions may run at once."),
    (
        "sessions.scrollback_memory",
        "How much of its newest output each session keeps in memory, from \"64KiB\" to \"256MiB\".",
    ),
    (
        "sessions.scrollback_disk",
        "How much of its newest output each session keeps on disk, from \"4MiB\" to \"64GiB\".",
    ),
    (
        "sessions.disk",
        "What all sessions together keep on disk, from \"4MiB\" to \"64TiB\". Above it, ended sessions go before their time, the \
         oldest first.",
    ),
    (
        "sessions.default_size",
        "Columns and rows of a session that nobody has given a size yet.",
    ),
    (
        "log.level",
        "The least severe level that the daemon's log has: off, error, warn, info, debug or trace, and others for single parts, \
         like \"info,server=debug\". A reload takes it up.",
    ),
];

#[cfg(test)]
mod tests {
    use super::{KEYS, MEANINGS};

    #[test]
    fn every_key_has_its_paragraph_in_the_manual_and_no_other_has_one() {
        let keys: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
        let told: Vec<_> = MEANINGS.iter().map(|(key, _)| *key).collect();
        assert_eq!(told, keys, "the order of both is that of the page");
        for (key, meaning) in MEANINGS {
            assert!(meaning.ends_with('.'), "{key}: a paragraph is whole sentences");
        }
    }
}
