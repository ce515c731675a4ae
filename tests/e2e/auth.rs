//! The auth lane: `/v1/auth/proof`, and what comes of it.

mod proof;
mod tokens;

use harness::TestDaemon;

/// Action, target and outcome of the rows of the audit trail, which the daemon must not have open: it is killed.
async fn audited(daemon: &mut TestDaemon) -> Vec<(String, String, String)> {
    daemon.kill().await;
    let store = rusqlite::Connection::open(daemon.folder().join("transom.db")).unwrap();
    let mut rows = store
        .prepare("SELECT action, target, outcome FROM audit ORDER BY sequence")
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}
