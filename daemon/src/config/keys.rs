//! Every key, with its default.

/// A dotted key and its default, as TOML.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("listen.tls", r#"["127.0.0.1:7443"]"#),
    ("listen.names", "[]"),
    ("listen.certificate", r#""""#),
    ("listen.key", r#""""#),
    ("listen.dangerous_allow_any_interface", "false"),
    ("tailnet.mode", r#""off""#),
    ("tailnet.allow", r#"["self"]"#),
    ("tailnet.socket", r#""/var/run/tailscale/tailscaled.sock""#),
    ("tailnet.hostname", r#""""#),
    ("tailnet.auth_key_file", r#""""#),
    ("tailnet.control_url", r#""""#),
    ("limits.unauthenticated", "256"),
    ("limits.per_principal", "256"),
    ("limits.connections", "8192"),
    ("pairing.max_pending", "16"),
    ("pairing.request_ttl", r#""10m""#),
    ("pairing.offer_ttl", r#""5m""#),
    ("pairing.default_role", r#""viewer""#),
    ("pairing.idle_expiry", r#""90d""#),
    ("sessions.max", "64"),
    ("sessions.scrollback_memory", r#""2MiB""#),
    ("sessions.scrollback_disk", r#""16MiB""#),
    ("sessions.disk", r#""2GiB""#),
    ("sessions.default_size", "[100, 30]"),
    ("log.level", r#""info""#),
];

/// The variable that sets a key: `listen.tls` is `TRANSOM_LISTEN_TLS`. That of the log's levels is short, as with other programs.
pub(super) fn variable(key: &str) -> String {
    if key == "log.level" {
        return "TRANSOM_LOG".to_owned();
    }
    format!("TRANSOM_{}", key.replace('.', "_").to_uppercase())
}

/// Variables of ours that are no keys.
pub(super) const OTHER_VARIABLES: &[&str] = &[
    "TRANSOM_DIR",
    "TRANSOM_SESSION",
    "TRANSOM_SOCKET",
    "TRANSOM_REMOTE",
];

/// The candidate that takes the fewest edits to become `word`.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> &'a str {
    candidates
        .min_by_key(|candidate| edits(word, candidate))
        .unwrap_or_default()
}

/// The same, where at most every other character has to be edited: what is further away was not meant.
pub(crate) fn near<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let nearest = nearest(word, candidates);
    (2 * edits(word, nearest) <= word.chars().count()).then_some(nearest)
}

/// Levenshtein's distance (Soviet Physics Doklady 10, 1966), in characters.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
