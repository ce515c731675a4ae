//! What each kind of value takes; an error is what the key wants, in words.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use pairing::{Login, Role};
use toml::Value;

use super::{Allowed, TailnetMode};
use crate::log::{LogLevels, NoLevels};

/// `["127.0.0.1:7443"]`, without those of a tailnet.
pub(super) fn addresses(value: &Value) -> Result<Vec<SocketAddr>, String> {
    strings(value)?
        .iter()
        .filter(|text| !text.starts_with(TAILNET))
        .map(|text| {
            text.parse()
                .map_err(|_| format!("`{text}` is not an address with a port, like 127.0.0.1:7443"))
        })
        .collect()
}

/// Of the same list, the ports of `tailnet:7443`.
pub(super) fn tailnet_ports(value: &Value) -> Result<Vec<u16>, String> {
    strings(value)?
        .iter()
        .filter_map(|text| text.strip_prefix(TAILNET))
        .map(|port| {
            port.parse()
                .map_err(|_| format!("`{TAILNET}{port}` has no port, like {TAILNET}7443"))
        })
        .collect()
}

/// `"off"`, `"host"` or, in a build that has a node of its own, `"embedded"`.
pub(super) fn tailnet_mode(value: &Value) -> Result<TailnetMode, String> {
    match value.as_str() {
        Some("off") => Ok(TailnetMode::Off),
        Some("host") => Ok(TailnetMode::Host),
        Some("embedded") if cfg!(feature = "tailnet-embedded") => Ok(TailnetMode::Embedded),
        Some("embedded") => Err(NO_NODE.to_owned()),
        _ => Err("it takes \"off\", \"host\" or \"embedded\"".to_owned()),
    }
}

/// `["self", "alice@example.com", "tag:phone"]`.
pub(super) fn allowed(value: &Value) -> Result<Vec<Allowed>, String> {
    let wants = |text| {
        format!("`{text}` is neither \"self\" nor a login like alice@example.com nor a tag like tag:phone")
    };
    strings(value)?
        .into_iter()
        .map(|text| match text.strip_prefix("tag:") {
            _ if text == "self" => Ok(Allowed::Oneself),
            Some(tag) if is_tag(tag) => Ok(Allowed::Tag(text)),
            Some(_) => Err(wants(text)),
            None => match text.parse() {
                Ok(login) => Ok(Allowed::Login(login)),
                Err(_) => Err(wants(text)),
            },
        })
        .collect()
}

/// `["nKx5pTqZ3721CNTRL", "tag:phone"]`: of a node of its own, a daemon is told no users.
pub(super) fn allowed_nodes(value: &Value) -> Result<Vec<Allowed>, String> {
    let no_users = |text| {
        format!(
            "`{text}` is a user, whom a node of the daemon's own is not told of (tailnet.mode = \"embedded\"); list the \
             stable ids of nodes, like nKx5pTqZ3721CNTRL, or tags like tag:phone"
        )
    };
    strings(value)?
        .into_iter()
        .map(|text| match text.strip_prefix("tag:") {
            _ if text == "self" || text.parse::<Login>().is_ok() => Err(no_users(text)),
            Some(tag) if is_tag(tag) => Ok(Allowed::Tag(text)),
            None if is_node(&text) => Ok(Allowed::Node(text)),
            Some(_) | None => Err(format!(
                "`{text}` is neither the stable id of a node, like nKx5pTqZ3721CNTRL, nor a tag like tag:phone"
            )),
        })
        .collect()
}

/// Letters and digits, as a control server makes stable ids of.
fn is_node(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Letters, digits and dashes, as a tailnet's policy file takes them.
fn is_tag(tag: &str) -> bool {
    !tag.is_empty() && tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The absolute path of a socket.
pub(super) fn socket(value: &Value) -> Result<PathBuf, String> {
    value
        .as_str()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .ok_or_else(|| "it takes the absolute path of tailscaled's socket".to_owned())
}

/// `"desk"`: the label that a node asks its tailnet for, or nothing.
pub(super) fn hostname(value: &Value) -> Result<Option<String>, String> {
    match value.as_str() {
        Some("") => Ok(None),
        Some(text) if is_label(text) => Ok(Some(text.to_owned())),
        _ => Err("it takes one label of a name: letters, digits and dashes".to_owned()),
    }
}

/// `"https://headscale.example"`: a control server, or nothing.
pub(super) fn control_url(value: &Value) -> Result<Option<String>, String> {
    let is_url = |text: &str| {
        let url = text.parse::<http::Uri>().ok();
        url.is_some_and(|url| matches!(url.scheme_str(), Some("https" | "http")) && url.host().is_some())
    };
    match value.as_str() {
        Some("") => Ok(None),
        Some(text) if is_url(text) => Ok(Some(text.to_owned())),
        _ => Err("it takes the URL of a control server, like https://headscale.example".to_owned()),
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.len() <= 63 && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// `["desk.example"]`: host names without scheme or port.
pub(super) fn names(value: &Value) -> Result<Vec<String>, String> {
    strings(value)?
        .into_iter()
        .map(|name| name.trim_end_matches('.').to_ascii_lowercase())
        .map(|name| {
            if name.len() <= 253 && name.split('.').all(is_label) {
                Ok(name)
            } else {
                Err(format!(
                    "`{name}` is not a host name; write it without scheme and port"
                ))
            }
        })
        .collect()
}

/// `"/etc/letsencrypt/live/desk.example/fullchain.pem"`: an absolute path, or nothing.
pub(super) fn file(value: &Value) -> Result<Option<PathBuf>, String> {
    match value.as_str() {
        Some("") => Ok(None),
        Some(text) if text.starts_with('/') => Ok(Some(text.into())),
        _ => Err("it takes the path of a file, from / on".to_owned()),
    }
}

/// A number above 0.
pub(super) fn count(value: &Value) -> Result<usize, String> {
    value
        .as_integer()
        .and_then(|number| usize::try_from(number).ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| "it takes a whole number above 0".to_owned())
}

/// `true` or `false`.
pub(super) fn flag(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "it takes true or false".to_owned())
}

/// `"30s"`, `"10m"`, `"12h"`, `"90d"`.
pub(super) fn duration(value: &Value) -> Result<Duration, String> {
    let parse = |text: &str| {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 60 * 60,
            "d" => 24 * 60 * 60,
            _ => return None,
        };
        number
            .parse::<u64>()
            .ok()?
            .checked_mul(seconds)
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
    };
    value
        .as_str()
        .and_then(parse)
        .map(Duration::from_secs)
        .ok_or_else(|| "it takes a duration like \"30s\", \"10m\", \"12h\" or \"90d\"".to_owned())
}

/// `"viewer"` or `"operator"`.
pub(super) fn role(value: &Value) -> Result<Role, String> {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| "it takes \"viewer\" or \"operator\"".to_owned())
}

/// `"64KiB"` to `"256MiB"`.
pub(super) fn scrollback(value: &Value) -> Result<usize, String> {
    let bytes = bytes(value).and_then(|bytes| usize::try_from(bytes).ok());
    bytes
        .filter(|bytes| SCROLLBACK.contains(bytes))
        .ok_or_else(|| "it takes a number of bytes from \"64KiB\" to \"256MiB\"".to_owned())
}

/// `"4MiB"` to `"64GiB"`.
pub(super) fn scrollback_disk(value: &Value) -> Result<u64, String> {
    bytes(value)
        .filter(|bytes| (4 << 20..=64 << 30).contains(bytes))
        .ok_or_else(|| "it takes a number of bytes from \"4MiB\" to \"64GiB\"".to_owned())
}

/// `"4MiB"` to `"64TiB"`.
pub(super) fn disk(value: &Value) -> Result<u64, String> {
    bytes(value)
        .filter(|bytes| (4 << 20..=64 << 40).contains(bytes))
        .ok_or_else(|| "it takes a number of bytes from \"4MiB\" to \"64TiB\"".to_owned())
}

fn bytes(value: &Value) -> Option<u64> {
    let text = value.as_str()?;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// `[100, 30]`: columns and rows.
pub(super) fn size(value: &Value) -> Result<(u16, u16), String> {
    let wants = || "it takes columns and rows from 1 to 1000, like [100, 30]".to_owned();
    let parts = value.as_array().ok_or_else(wants)?;
    let cell = |value: &Value| {
        value
            .as_integer()
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (1..=1000).contains(number))
    };
    match parts.as_slice() {
        [columns, rows] => Ok((cell(columns).ok_or_else(wants)?, cell(rows).ok_or_else(wants)?)),
        _ => Err(wants()),
    }
}

/// `"info"`, `"debug"`, `"info,server=debug"`.
pub(super) fn log_levels(value: &Value) -> Result<LogLevels, String> {
    let levels = value.as_str().unwrap_or_default().parse();
    levels.map_err(|error: NoLevels| error.to_string())
}

fn strings(value: &Value) -> Result<Vec<String>, String> {
    let wants = || "it takes a list of strings".to_owned();
    let parts = value.as_array().ok_or_else(wants)?;
    parts
        .iter()
        .map(|part| part.as_str().map(str::to_owned).ok_or_else(wants))
        .collect()
}

/// What somebody is told who wants a node of the daemon's own of a build that has none.
pub(crate) const NO_NODE: &str = "this build has no node of its own, which is experimental: `cargo build --release --locked \
                                  --package cli --features tailnet-embedded` makes one that has; \"host\" asks the machine's \
                                  tailscaled";

/// What stands before the port of a listener at the addresses of the tailnet.
const TAILNET: &str = "tailnet:";

/// Ten years: no deadline of ours overflows a clock.
const MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;

/// A ring holds at least what one attachment may lag behind, and at most what a machine can spare 64 times.
const SCROLLBACK: std::ops::RangeInclusive<usize> = (64 << 10)..=(256 << 20);
