// Made by `cargo xtask gen` from the crate `protocol`; do not edit.

/**
 * The body of every error answer: `application/problem+json`.
 */
export type Problem = { 
/**
 * A URI reference that names the kind of problem: `/problems/<code>`.
 */
type: string, 
/**
 * The kind in a few words.
 */
title: string, 
/**
 * The HTTP status.
 */
status: number, 
/**
 * The stable name of the error, `snake_case`.
 */
code: string, 
/**
 * One sentence for a person: what happened, to whom.
 */
detail: string, 
/**
 * What to do now.
 */
hint: string, 
/**
 * Seconds until another try can succeed, where waiting helps.
 */
retry_after?: number, 
/**
 * The id of the request, under which the daemon's log has whatever it says of it.
 */
request_id?: string, 
/**
 * What a device with a key signs for an access token: on every 401 of a TLS listener.
 */
challenge?: string, };

/**
 * `GET /v1/health`: what anybody may know.
 */
export type Health = { 
/**
 * `ok`.
 */
status: string, 
/**
 * The daemon's version.
 */
version: string, 
/**
 * The daemon's lasting id, safe as a DNS label: keys of a device belong to it.
 */
instance: string, };

/**
 * What kind of principal an answer is about.
 */
export type PrincipalKind = "owner" | "session" | "device" | "guest";

/**
 * `GET /v1/whoami`.
 */
export type WhoAmI = { 
/**
 * The kind of principal that asks.
 */
principal: PrincipalKind, 
/**
 * The session, if it is a program inside of one; older daemons do not say it.
 */
session_id: string | null, 
/**
 * The device, if it is one.
 */
device_id: string | null, 
/**
 * The device's label, if it is one.
 */
label: string | null, 
/**
 * The device's role, if it is one.
 */
role: "viewer" | "operator" | null, 
/**
 * What it may do, by wire name, for example `session:view`.
 */
scopes: Array<string>, 
/**
 * The daemon's lasting id.
 */
instance: string, 
/**
 * The id of this run of the daemon: another one means that it restarted.
 */
life: string, 
/**
 * The build of the web app that this daemon serves, where it has one and says so: a page of another build was loaded
 * before an upgrade.
 */
app?: string, };

/**
 * `GET /v1/auth/challenge`: what every 401 of a listener carries, for a page that shall not be refused first.
 */
export type ChallengeMade = { 
/**
 * What a device with a key signs for an access token, within a minute.
 */
challenge: string, };

/**
 * `POST /v1/auth/proof`, with the device token as bearer.
 */
export type ProofOfKey = { 
/**
 * The challenge of a 401, or of the last answer.
 */
challenge: string, 
/**
 * `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
 */
audience: string, 
/**
 * ECDSA P-256 with SHA-256 over the proof's text, r ‖ s, 64 bytes.
 */
signature: string, };

/**
 * The answer to a proof.
 */
export type Proven = { 
/**
 * What opens the daemon to this device, on this listener and node.
 */
access_token: string, 
/**
 * Seconds for which it does.
 */
expires_in: number, 
/**
 * The kind of principal that it is.
 */
principal: PrincipalKind, 
/**
 * What to prove for the next one: good for as long as this one, and a minute more.
 */
challenge: string, 
/**
 * The pin that the daemon will show next, told to devices that hold to the present one.
 */
next_pin?: string, };

/**
 * A device as the owner sees it: the full record.
 */
export type DeviceRecord = { 
/**
 * The device.
 */
id: string, 
/**
 * Its name, as approved.
 */
label: string, 
/**
 * What it may do.
 */
role: "viewer" | "operator" | "metrics", 
/**
 * Whether it may revoke other devices.
 */
can_revoke: boolean, 
/**
 * Whether it may come by listeners that do not know its tailnet node.
 */
any_path: boolean, 
/**
 * Whether it must prove a key; of a device without one the token alone is the device.
 */
key_bound: boolean, 
/**
 * When it was paired.
 */
created_at: string, 
/**
 * The address from which it asked to be paired.
 */
approved_from: string, 
/**
 * The stable id of its tailnet node, if it is bound to one.
 */
tailnet_node: string | null, 
/**
 * Until when it may bind itself to another node, if the owner lets it.
 */
rebinds_until?: string, 
/**
 * When its trust ends by itself, if it does.
 */
expires_at: string | null, 
/**
 * When it was last seen, to the minute.
 */
last_seen_at: string | null, 
/**
 * The address it was last seen at.
 */
last_address: string | null, 
/**
 * Its live connections; absent where nobody can know.
 */
connections: number, };

/**
 * `PATCH /v1/devices/self`.
 */
export type NewLabel = { 
/**
 * The device's name from now on.
 */
label: string, };

/**
 * `DELETE /v1/devices/{id}` and `/v1/devices/self`.
 */
export type Revoked = { 
/**
 * The device whose trust has ended.
 */
device_id: string, 
/**
 * How many of its connections were closed: accepted streams, upgraded or not, each once.
 */
closed: number, 
/**
 * The sessions that it created or typed into.
 */
sessions: Array<string>, 
/**
 * From the request to the answer, in microseconds.
 */
elapsed_us: number, };

/**
 * `POST /v1/guests/exchange`: a browser shows a link, and a key that it made.
 */
export type GuestExchange = { 
/**
 * The guest that the link names.
 */
id: string, 
/**
 * The link's secret.
 */
secret: string, 
/**
 * The uncompressed P-256 point, 65 bytes.
 */
public_key: string, 
/**
 * A challenge of this daemon.
 */
challenge: string, 
/**
 * `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
 */
audience: string, 
/**
 * ECDSA P-256 with SHA-256 over the lines `transom-guest-v1`, challenge, audience and guest id, r ‖ s, 64 bytes.
 */
signature: string, };

/**
 * The answer: the token, this once. It opens the auth lane only.
 */
export type GuestJoined = { 
/**
 * The guest's token.
 */
token: string, 
/**
 * Seconds for which it is one.
 */
expires_in: number, 
/**
 * The pin of the daemon's identity key.
 */
pin: string, };

/**
 * `GET /v1/guests/self`: the guest's own record.
 */
export type GuestSelf = { 
/**
 * The guest.
 */
id: string, 
/**
 * What it may look at, by id.
 */
sessions: Array<string>, 
/**
 * Whether what was printed before the invitation is shown, too.
 */
with_scrollback: boolean, 
/**
 * Seconds for which it is a guest.
 */
expires_in: number, };

/**
 * An offer as the device shows it.
 */
export type OfferProof = { 
/**
 * The offer's id, from the link.
 */
id: string, 
/**
 * The offer's secret, from the link.
 */
secret: string, };

/**
 * `POST /v1/pairing/requests`: step 1.
 */
export type NewRequest = { 
/**
 * What the device would like to be called.
 */
label: string, 
/**
 * SHA-256 of the public key and the device's nonce, 32 bytes.
 */
commitment: string, 
/**
 * The offer, if the device was shown one.
 */
offer?: OfferProof, };

/**
 * The answer to step 1.
 */
export type Requested = { 
/**
 * The request.
 */
request_id: string, 
/**
 * What the device polls with, as bearer.
 */
request_secret: string, 
/**
 * The daemon's share of the code, 32 bytes.
 */
server_nonce: string, 
/**
 * Seconds until the request ends.
 */
expires_in: number, 
/**
 * The least seconds between two polls that do not wait.
 */
interval: number, };

/**
 * `POST .../{id}/reveal`: step 2.
 */
export type Reveal = { 
/**
 * The uncompressed P-256 point, 65 bytes.
 */
public_key: string, 
/**
 * The device's nonce, 32 bytes.
 */
nonce: string, };

/**
 * The status of a poll, in the words of RFC 8628 section 3.5.
 */
export type PollStatus = "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "approved";

/**
 * `GET .../{id}?wait=`: step 3.
 */
export type Poll = { 
/**
 * Where the request stands.
 */
status: PollStatus, 
/**
 * The least seconds between two polls that do not wait.
 */
interval: number, 
/**
 * What the exchange signs, once approved.
 */
exchange_nonce?: string, 
/**
 * Why it will not be a device, where it is not that time ran out: `request_rejected`, `request_displaced`,
 * `request_superseded`, `offer_withdrawn`, `offer_claimed`, `offer_ended`, `locked_down`, `key_rotated` or
 * `store_failed`.
 */
cause?: string, };

/**
 * `POST .../{id}/exchange`: step 5.
 */
export type Exchange = { 
/**
 * `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
 */
audience: string, 
/**
 * ECDSA P-256 with SHA-256 over the pairing text, r ‖ s, 64 bytes.
 */
signature: string, };

/**
 * The answer to step 5: the token, this once.
 */
export type Exchanged = { 
/**
 * The device that this will be.
 */
device_id: string, 
/**
 * The device token; it works once committed.
 */
token: string, 
/**
 * What the device may do.
 */
role: "viewer" | "operator", 
/**
 * The pin of the daemon's identity key.
 */
pin: string, 
/**
 * The server name that a native client asks for.
 */
server_name: string, };

/**
 * A size in character cells.
 */
export type Size = { 
/**
 * Columns, 1 to 1,000.
 */
columns: number, 
/**
 * Rows, 1 to 1,000.
 */
rows: number, };

/**
 * Where a session stands.
 */
export type SessionState = "running" | "exited" | "lost";

/**
 * How a program ended.
 */
export type Exit = { 
/**
 * The exit code, if it ended by itself.
 */
code: number | null, 
/**
 * The signal, if one ended it.
 */
signal: number | null, 
/**
 * From start to end.
 */
duration_ms: number, 
/**
 * The most memory that the program held.
 */
peak_memory_bytes: number, };

/**
 * What a session wants of a person.
 */
export type AttentionState = "working" | "waiting" | "idle" | "unknown";

/**
 * What a session wants of a person, and since when.
 */
export type Attention = { 
/**
 * Which of them.
 */
state: AttentionState, 
/**
 * Since when.
 */
since: string, 
/**
 * The program's own words (OSC 9, OSC 99, OSC 777), if it gave any.
 */
message: string | null, };

/**
 * A line that somebody left on a session.
 */
export type Note = { 
/**
 * At most 100 bytes.
 */
text: string, 
/**
 * When it goes by itself; null: never.
 */
expires_at: string | null, };

/**
 * A session as lists and events show it.
 */
export type Session = { 
/**
 * The session, `ses_…`.
 */
id: string, 
/**
 * Its name, safe in shells and URLs.
 */
name: string, 
/**
 * The program.
 */
command: string, 
/**
 * Its arguments.
 */
args: Array<string>, 
/**
 * The working directory it was started in.
 */
cwd: string, 
/**
 * Where it stands.
 */
state: SessionState, 
/**
 * How it ended; null while it runs.
 */
exit: Exit | null, 
/**
 * When it was made.
 */
created_at: string, 
/**
 * When its program ended.
 */
ended_at: string | null, 
/**
 * When it last printed anything; null if it never did.
 */
last_output_at: string | null, 
/**
 * Its one size.
 */
size: Size, 
/**
 * Bytes of output since it began.
 */
end: number, 
/**
 * The title that its program set, if any.
 */
title: string | null, 
/**
 * The last line of text on its screen.
 */
last_line: string, 
/**
 * Attachments that look.
 */
viewers: number, 
/**
 * Attachments that may type.
 */
writers: number, 
/**
 * Labels of its creator's.
 */
labels: { [key in string]: string }, 
/**
 * What it wants of a person.
 */
attention: Attention, 
/**
 * What somebody noted on it.
 */
note: Note | null, 
/**
 * The session whose program made it, if one did.
 */
parent: string | null, 
/**
 * Whether its programs are the owner.
 */
trusted: boolean, 
/**
 * When it is forgotten, if it was deleted; until then it can be restored.
 */
purge_at: string | null, 
/**
 * Why the daemon cannot reach its program yet, in words, where it goes on trying: the session is listed as running, and
 * what needs its program or its output is refused (`out_of_reach`).
 */
out_of_reach?: string, };

/**
 * One line.
 */
export type Line = { 
/**
 * Its number since the session began; it never changes while the width does not.
 */
number: number, 
/**
 * Text with its colours, as escape sequences that begin and end in the default rendition.
 */
ansi: string, 
/**
 * The text alone, without blanks at its end.
 */
text: string, 
/**
 * Whether the next line is its continuation.
 */
wrapped: boolean, };

/**
 * A screen, or lines of scrollback.
 */
export type Screen = { 
/**
 * The session's size.
 */
size: Size, 
/**
 * The title; empty if the program gave none.
 */
title: string, 
/**
 * Whether a full-screen program shows its own screen, without scrollback.
 */
alternate: boolean, 
/**
 * The cursor's column and row, from 0.
 */
cursor: [number, number], 
/**
 * Whether the cursor shows.
 */
cursor_visible: boolean, 
/**
 * The number of the oldest line there is.
 */
first_line: number, 
/**
 * The number of the screen's top line.
 */
top_line: number, 
/**
 * The lines, the upper first.
 */
lines: Array<Line>, };

/**
 * An ordered fact: the server-sent event's `event` is the kind, its `data` this object, its `id` the sequence number.
 */
export type Event = { "kind": "gap" } | { "kind": "session", 
/**
 * The session as it is now.
 */
session: Session, } | { "kind": "session_removed", 
/**
 * The session.
 */
id: string, } | { "kind": "device_paired", 
/**
 * The device.
 */
device_id: string, 
/**
 * What it is called.
 */
label: string, 
/**
 * What it may do.
 */
role: "viewer" | "operator" | "metrics", };

/**
 * What an attachment may do.
 */
export type Mode = "view" | "write" | "lossless";

/**
 * Body of message 00.
 */
export type Hello = { 
/**
 * The session, `ses_…`.
 */
session: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Its size now.
 */
size: Size, 
/**
 * What this attachment may do.
 */
mode: Mode, 
/**
 * The end of the output now.
 */
offset: number, 
/**
 * The daemon's lasting id.
 */
instance: string, 
/**
 * The id of this run of the daemon.
 */
life: string, 
/**
 * Attachments that look, this one included.
 */
viewers: number, 
/**
 * Attachments that may type, this one included.
 */
writers: number, 
/**
 * The last input of this principal and client that the program got; null where that cannot be known: then what was
 * sent and not confirmed is not sent again.
 */
input_applied: number | null, };

/**
 * Body of message 06: who is there.
 */
export type Presence = { 
/**
 * Attachments that look.
 */
viewers: number, 
/**
 * Attachments that may type.
 */
writers: number, 
/**
 * Those that may type, in words for a person, this one first if it is one.
 */
typing: Array<string>, };

/**
 * The JSON part of message 03: who holds the size.
 */
export type ClaimChange = { 
/**
 * Whether this attachment holds the claim now.
 */
holder: boolean, 
/**
 * Whether the claim was taken from this attachment just now.
 */
taken_from: boolean, 
/**
 * Who holds it, in words for a person; null if nobody does.
 */
by: string | null, };
