-- Guests and invitations: those that live, and for a while those that have ended.
CREATE TABLE guests (
    id TEXT PRIMARY KEY,
    login TEXT,
    secret_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    public_key BLOB,
    token_hash BLOB,
    joined_from TEXT,
    joined_at INTEGER,
    refused_count INTEGER,
    refused_at INTEGER,
    refused_from TEXT,
    cause TEXT,
    ended_at INTEGER
) STRICT, WITHOUT ROWID;

-- What each may look at, in the order in which it was named, and from which mark on; without one, all of it.
CREATE TABLE guest_sights (
    guest TEXT NOT NULL,
    place INTEGER NOT NULL,
    resource TEXT NOT NULL,
    since INTEGER,
    PRIMARY KEY (guest, place)
) STRICT, WITHOUT ROWID;
