CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    public_key BLOB,
    role TEXT NOT NULL,
    can_revoke INTEGER NOT NULL,
    any_path INTEGER NOT NULL,
    token_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    approved_from TEXT NOT NULL,
    tailnet_user_id TEXT,
    tailnet_user TEXT,
    tailnet_node_id TEXT,
    tailnet_node TEXT,
    expires_at INTEGER,
    last_seen_at INTEGER,
    last_address TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
    id TEXT PRIMARY KEY,
    token_hash BLOB NOT NULL,
    cause TEXT NOT NULL,
    ended_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    principal TEXT NOT NULL,
    peer TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT
) STRICT;

CREATE TRIGGER audit_rows_never_change BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit trail is append-only');
END;

CREATE TRIGGER audit_rows_never_go BEFORE DELETE ON audit
BEGIN
    SELECT raise(ABORT, 'the audit trail is append-only');
END;
