//! What a daemon's listener agrees to, as sslscan finds it.

use anyhow::{Context, Result, bail, ensure};

use super::{Outcome, daemon::Daemon};
use crate::{
    steps::{command, output},
    tools,
};

/// TLS 1.3 and nothing before it, no weak cipher, and none of the faults that sslscan looks for.
pub(super) fn scan(daemon: &Daemon) -> Result<Outcome> {
    if !tools::found("sslscan") {
        let why = "sslscan is not installed (on Debian: apt-get install sslscan)";
        return Ok(Outcome::Skipped(why.to_owned()));
    }
    let arguments = ["--no-colour", "--xml=-", "--sni-name=localhost", &daemon.address];
    judge(&output(&mut command("sslscan", &arguments))?).map(Outcome::Well)
}

fn judge(report: &str) -> Result<String> {
    let enabled: Vec<_> = elements(report, "protocol")
        .filter(|protocol| value(protocol, "enabled") == Some("1"))
        .map(|protocol| {
            let of = |name| value(protocol, name).unwrap_or_default();
            format!("{} {}", of("type"), of("version"))
        })
        .collect();
    ensure!(
        enabled == ["tls 1.3"],
        "the listener speaks {}",
        enabled.join(", ")
    );
    let mut ciphers = Vec::new();
    for cipher in elements(report, "cipher") {
        let name = value(cipher, "cipher").context("sslscan names each cipher")?;
        match value(cipher, "strength") {
            Some("strong" | "acceptable") => ciphers.push(name),
            strength => bail!(
                "the cipher {name} is {}",
                strength.unwrap_or("of no known strength")
            ),
        }
    }
    ensure!(
        !ciphers.is_empty(),
        "the listener agrees to no cipher of sslscan's"
    );
    for (element, attribute) in [("heartbleed", "vulnerable"), ("compression", "supported")] {
        let is_bad = elements(report, element).any(|found| value(found, attribute) == Some("1"));
        ensure!(!is_bad, "{element}: {attribute}");
    }
    ensure!(
        !report.contains("<expired>true</expired>"),
        "the certificate has expired"
    );
    Ok(format!("TLS 1.3 alone, with {}", ciphers.join(", ")))
}

/// The opening tags of a name.
fn elements<'a>(report: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("<{name} ");
    let tags: Vec<_> = report
        .match_indices(&begin)
        .filter_map(|(at, _)| report[at..].split_once('>').map(|(tag, _)| tag))
        .collect();
    tags.into_iter()
}

fn value<'a>(tag: &'a str, attribute: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {attribute}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn anything_before_tls_1_3_and_any_weak_cipher_is_named() {
        let report = |old: u8, strength: &str| {
            format!(
                r#"<protocol type="tls" version="1.2" enabled="{old}" />
                <protocol type="tls" version="1.3" enabled="1" />
                <compression supported="0" />
                <heartbleed sslversion="TLSv1.3" vulnerable="0" />
                <cipher status="preferred" sslversion="TLSv1.3" bits="128" cipher="AES" strength="{strength}" />"#
            )
        };
        assert_eq!(judge(&report(0, "strong")).unwrap(), "TLS 1.3 alone, with AES");
        let old = judge(&report(1, "strong")).unwrap_err().to_string();
        assert!(old.contains("tls 1.2"), "{old}");
        assert!(
            judge(&report(0, "weak"))
                .unwrap_err()
                .to_string()
                .contains("AES is weak")
        );
        assert!(judge("<ssltest />").is_err());
    }
}
