//! Every row that is meant, into a file.

use std::{
    fs::OpenOptions,
    io::{BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use protocol::audit::AuditQuery;
use serde_json::json;

use super::{MOST, Trail};
use crate::{exit, failure::Failure, output};

/// Writes them as lines of JSON, oldest first, into a file that was not there.
pub(super) async fn run(
    trail: &Trail,
    mut query: AuditQuery,
    path: &Path,
    is_json: bool,
) -> Result<u8, Failure> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| {
            let detail = format!("{} cannot be made: {error}", path.display());
            Failure::failed("not_exported", detail, "name a file that is not there yet")
        })?;
    let mut file = BufWriter::new(file);
    let (mut after, mut count) = (0, 0_u64);
    loop {
        query.after = Some(after);
        query.limit = Some(MOST);
        let rows = trail.rows(&query).await?;
        let Some(last) = rows.last() else { break };
        after = last.sequence;
        count += rows.len() as u64;
        for row in &rows {
            serde_json::to_writer(&mut file, row).map_err(std::io::Error::from)?;
            file.write_all(b"\n")?;
        }
    }
    file.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?
        .sync_all()?;
    match is_json {
        true => output::json(&json!({ "file": path.display().to_string(), "rows": count }))?,
        false => output::sentence(&format!("wrote {count} rows to {}", path.display()))?,
    }
    Ok(exit::OK)
}
