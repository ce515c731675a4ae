-- The chain of the audit trail. Rows of before are chained once, when the audit key is made.
ALTER TABLE audit ADD COLUMN hmac BLOB;

DROP TRIGGER audit_rows_never_change;

CREATE TRIGGER audit_rows_never_change BEFORE UPDATE ON audit
WHEN OLD.hmac IS NOT NULL
    OR (NEW.sequence, NEW.time, NEW.principal, NEW.peer, NEW.action, NEW.target, NEW.outcome, NEW.detail)
    IS NOT (OLD.sequence, OLD.time, OLD.principal, OLD.peer, OLD.action, OLD.target, OLD.outcome, OLD.detail)
BEGIN
    SELECT raise(ABORT, 'the audit trail is append-only');
END;

-- The last row that was deleted for its age, under a seal of the audit key; with sequence 0, none was.
CREATE TABLE audit_pruned (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    hmac BLOB NOT NULL,
    seal BLOB NOT NULL
) STRICT;

INSERT INTO audit_pruned VALUES (1, 0, zeroblob(32), x'');

CREATE TRIGGER audit_pruned_only_moves_on_to_a_row BEFORE UPDATE ON audit_pruned
WHEN NEW.sequence <= OLD.sequence
    OR NOT EXISTS (SELECT 1 FROM audit WHERE sequence = NEW.sequence AND hmac = NEW.hmac)
BEGIN
    SELECT raise(ABORT, 'the audit trail is pruned from its beginning only');
END;

CREATE TRIGGER audit_pruned_never_goes BEFORE DELETE ON audit_pruned
BEGIN
    SELECT raise(ABORT, 'the audit trail is append-only');
END;

DROP TRIGGER audit_rows_never_go;

CREATE TRIGGER audit_rows_never_go BEFORE DELETE ON audit
WHEN OLD.sequence > (SELECT sequence FROM audit_pruned)
BEGIN
    SELECT raise(ABORT, 'the audit trail is append-only');
END;
