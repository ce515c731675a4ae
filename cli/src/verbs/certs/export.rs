//! `transom certs export`: the certificate that others are to trust, in PEM.

use protocol::certificates::Certificates;

use crate::{client::Client, exit, failure::Failure, output};

/// Prints the root that was made by `certs trust`, or else the daemon's own leaf.
pub(super) async fn run(json: bool) -> Result<u8, Failure> {
    let certificates: Certificates = Client::of_environment()?.get("/certificates").await?;
    let leaf = certificates.certificates.into_iter().next();
    let pem = match (certificates.root, leaf) {
        (Some(root), _) => root.pem,
        (None, Some(leaf)) => leaf.pem,
        (None, None) => {
            return Err(Failure::failed(
                "no_certificate",
                "the daemon serves no certificate",
                "its log says why",
            ));
        }
    };
    match json {
        true => output::json(&serde_json::json!({ "pem": pem }))?,
        false => output::line(pem.trim_end())?,
    }
    Ok(exit::OK)
}
