//! `transom certs show`

use jiff::Timestamp;
use protocol::certificates::{Certificate, CertificateSource, Certificates, Knowing, KnowsBy};

use crate::{
    client::Client,
    escape::escape,
    exit,
    failure::Failure,
    output::{self, STRONG},
    wrap::wrap,
};

/// Asks and prints.
pub(super) async fn run(json: bool) -> Result<u8, Failure> {
    let certificates: Certificates = Client::of_environment()?.get("/certificates").await?;
    match json {
        true => output::json(&certificates)?,
        false => output::line(&in_words(&certificates, output::width()))?,
    }
    Ok(exit::OK)
}

fn in_words(certificates: &Certificates, width: Option<usize>) -> String {
    let mut lines = vec![line("pin", &certificates.pin, width)];
    if let Some(next) = &certificates.next_pin {
        lines.push(line("next pin", next, width));
        lines.push(line("", &kept_by(&certificates.devices), width));
    }
    for certificate in &certificates.certificates {
        lines.push(line(name(certificate.source), &origin(certificate), width));
        lines.push(line("", &certificate.names.join(", "), width));
        lines.push(line("", &format!("SHA-256 {}", certificate.sha256), width));
    }
    if let Some(root) = &certificates.root {
        let told = format!(
            "trusted by devices that were told to, valid until {}",
            day(root.not_after)
        );
        lines.push(line("root", &told, width));
        lines.push(line("", &root.names.join(", "), width));
        lines.push(line("", &format!("SHA-256 {}", root.sha256), width));
    }
    lines.join("\n")
}

/// Who has kept the pin that comes next. The daemon hears that anew in each of its runs.
fn kept_by(devices: &[Knowing]) -> String {
    let count = |by: KnowsBy| devices.iter().filter(|device| device.by == by).count();
    format!(
        "announced: kept by {} of the devices that go by the pin, and not by {}; {} not seen since the daemon began",
        count(KnowsBy::NextPin),
        count(KnowsBy::Pin),
        count(KnowsBy::Unknown)
    )
}

fn name(source: CertificateSource) -> &'static str {
    match source {
        CertificateSource::Identity => "identity",
        CertificateSource::Own => "own",
        CertificateSource::Tailnet => "tailnet",
        CertificateSource::Trusted => "trusted",
    }
}

fn origin(certificate: &Certificate) -> String {
    let issuer = match &certificate.issuer {
        Some(issuer) => format!("issued by {issuer}"),
        None => "self-signed".to_owned(),
    };
    let renewed = certificate
        .renews_at
        .map(|at| format!(", made anew on {}", day(at)))
        .unwrap_or_default();
    let file = certificate
        .file
        .as_ref()
        .map(|file| format!(", from {file}"))
        .unwrap_or_default();
    format!(
        "{issuer}, valid until {}{renewed}{file}",
        day(certificate.not_after)
    )
}

fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

fn line(name: &str, value: &str, width: Option<usize>) -> String {
    let line = format!("{name:<NAMES$} {}", escape(value));
    let lines = wrap(&line, width.unwrap_or(usize::MAX), NAMES + 1).join("\n");
    format!("{STRONG}{}{STRONG:#}{}", &lines[..NAMES], &lines[NAMES..])
}

/// Columns of the names.
const NAMES: usize = 10;

#[cfg(test)]
mod tests {
    use protocol::certificates::Certificates;

    use super::in_words;

    #[test]
    fn the_pin_that_comes_next_is_shown_with_who_has_kept_it() {
        let device =
            |id: u8, by: &str| serde_json::json!({ "id": format!("dev_{id:016x}"), "label": "x", "by": by });
        let certificates: Certificates = serde_json::from_value(serde_json::json!({
            "pin": "sha256/abc", "certificates": [], "next_pin": "sha256/def",
            "devices": [device(1, "next_pin"), device(2, "pin"), device(3, "unknown"), device(4, "next_pin")],
        }))
        .unwrap();
        let plain = anstream::adapter::strip_str(&in_words(&certificates, None)).to_string();
        assert_eq!(
            plain,
            "pin        sha256/abc\n\
             next pin   sha256/def\n\
             \u{20}          announced: kept by 2 of the devices that go by the pin, and not by 1; 1 not seen since the daemon began"
        );
    }

    #[test]
    fn each_certificate_is_told_with_its_issuer_its_end_and_its_names() {
        let certificates: Certificates = serde_json::from_value(serde_json::json!({
            "pin": "sha256/abc",
            "certificates": [
                { "source": "identity", "names": ["localhost", "127.0.0.1"], "issuer": null, "pin": "sha256/abc",
                  "sha256": "00ff", "not_before": "2026-11-29T00:00:00Z", "not_after": "2027-12-30T00:00:00Z",
                  "renews_at": "2027-11-30T00:00:00Z", "file": null },
                { "source": "own", "names": ["desk.example"], "issuer": "CN=R3\u{1b}", "pin": "sha256/def",
                  "sha256": "11ee", "not_before": "2026-11-29T00:00:00Z", "not_after": "2027-02-27T00:00:00Z",
                  "renews_at": null, "file": "/etc/desk.pem" }
            ]
        }))
        .unwrap();
        let plain = anstream::adapter::strip_str(&in_words(&certificates, None)).to_string();
        assert_eq!(
            plain,
            "pin        sha256/abc\n\
             identity   self-signed, valid until 2027-12-30, made anew on 2027-11-30\n\
             \u{20}          localhost, 127.0.0.1\n\
             \u{20}          SHA-256 00ff\n\
             own        issued by CN=R3\\u{1b}, valid until 2027-02-27, from /etc/desk.pem\n\
             \u{20}          desk.example\n\
             \u{20}          SHA-256 11ee"
        );
    }
}
