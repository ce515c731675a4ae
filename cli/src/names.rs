//! Which session, device or pairing request a word on the command line means.

use std::fmt::Display;

use pairing::DeviceId;
use protocol::{
    access::DeviceRecord,
    guests::GuestRecord,
    pairing::{RequestStatus, RequestView},
    sessions::{Session, SessionState},
};

use crate::{
    client::{self, Client},
    escape::escape,
    failure::Failure,
};

/// The daemon's session that the word means; deleted ones are not meant.
pub(crate) async fn find(client: &Client, word: &str) -> Result<Session, Failure> {
    let sessions: Vec<Session> = client.get("/sessions").await?;
    match session(&sessions, word) {
        Ok(session) => Ok(session.clone()),
        Err(failure) => Err(explained(client, &[word], failure).await),
    }
}

/// Why one of the words means no session, where it means one that is deleted.
pub(crate) async fn explained(client: &Client, words: &[impl AsRef<str>], failure: Failure) -> Failure {
    if !is_missing(&failure) {
        return failure;
    }
    let Ok(all) = client.get::<Vec<Session>>("/sessions?deleted=true").await else {
        return failure;
    };
    let meant = words.iter().filter_map(|word| session(&all, word.as_ref()).ok());
    match meant.into_iter().find(|session| session.purge_at.is_some()) {
        Some(session) => deleted(session, &client.flag()),
        None => failure,
    }
}

/// Whether a word meant nothing at all.
pub(crate) fn is_missing(failure: &Failure) -> bool {
    matches!(failure, Failure::Problem { problem, .. } if problem.code == MISSING)
}

fn deleted(session: &Session, flag: &str) -> Failure {
    let name = escape(&session.name);
    Failure::failed(
        "session_deleted",
        format!("the session `{name}` is deleted"),
        format!(
            "`transom restore{flag} {name}` brings it back; `transom ls --deleted{flag}` shows what there is"
        ),
    )
}

/// The sessions that the words mean, each once, in the words' order.
pub(crate) fn sessions<'a>(sessions: &'a [Session], words: &[String]) -> Result<Vec<&'a Session>, Failure> {
    let mut meant: Vec<&Session> = Vec::with_capacity(words.len());
    for word in words {
        let one = session(sessions, word)?;
        if meant.iter().all(|other| other.id != one.id) {
            meant.push(one);
        }
    }
    Ok(meant)
}

/// The session with this name or id, or the only one whose name or id begins so.
///
/// Names are unique among live sessions only: a live one stands before those that have ended, these before deleted ones,
/// and of those with the same name the newest is meant.
pub(crate) fn session<'a>(sessions: &'a [Session], word: &str) -> Result<&'a Session, Failure> {
    let named = sessions
        .iter()
        .filter(|session| session.name == word || session.id == word);
    if let Some(session) = named.max_by_key(|session| (standing(session), session.created_at)) {
        return Ok(session);
    }
    let begin = |session: &&Session| session.name.starts_with(word) || id_begins(&session.id, word);
    let mut found: Vec<&Session> = sessions.iter().filter(begin).collect();
    if let Some(best) = found.iter().map(|session| standing(session)).max() {
        found.retain(|session| standing(session) == best);
    }
    only(found, "session", word, &missing_session(), |session| {
        format!("{} ({})", session.name, session.id)
    })
}

/// Whatever is told of a device, with its name for people and for programs.
pub(crate) trait Device {
    /// The name for programs.
    fn id(&self) -> DeviceId;
    /// The name for people.
    fn label(&self) -> &str;
}

impl Device for DeviceRecord {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn label(&self) -> &str {
        &self.label
    }
}

/// The device with this label or id, or the only one whose label or id begins so.
pub(crate) fn device<'a, T: Device>(devices: &'a [T], word: &str) -> Result<&'a T, Failure> {
    let exact = |device: &&T| device.label() == word || device.id().to_string() == word;
    let mut found: Vec<&T> = devices.iter().filter(exact).collect();
    if found.is_empty() {
        let begin =
            |device: &&T| device.label().starts_with(word) || id_begins(&device.id().to_string(), word);
        found = devices.iter().filter(begin).collect();
    }
    only(
        found,
        "device",
        word,
        "`transom devices` shows what there is",
        |device| format!("{} ({})", device.label(), device.id()),
    )
}

/// The devices that the words mean, each once, in the words' order.
pub(crate) fn devices<'a, T: Device>(devices: &'a [T], words: &[String]) -> Result<Vec<&'a T>, Failure> {
    let mut meant: Vec<&T> = Vec::with_capacity(words.len());
    for word in words {
        let one = device(devices, word)?;
        if meant.iter().all(|other| other.id() != one.id()) {
            meant.push(one);
        }
    }
    Ok(meant)
}

/// The guest with this id, or the only one whose id begins so.
pub(crate) fn guest<'a>(guests: &'a [GuestRecord], word: &str) -> Result<&'a GuestRecord, Failure> {
    let begin = |guest: &&GuestRecord| id_begins(&guest.id.to_string(), word);
    let found = guests.iter().filter(begin).collect();
    only(
        found,
        "guest",
        word,
        "`transom guests` shows who there is",
        |guest| guest.id,
    )
}

/// The pending request with this code (`493-027` or `493027`) or id.
pub(crate) fn request<'a>(requests: &'a [RequestView], word: &str) -> Result<&'a RequestView, Failure> {
    let digits: String = word
        .chars()
        .filter(|character| !matches!(character, '-' | ' '))
        .collect();
    let is_code = digits.len() == CODE_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let means = |request: &&RequestView| {
        let code = request.code.as_deref().map(|code| code.replace('-', ""));
        request.state == RequestStatus::Pending
            && if is_code {
                code.as_deref() == Some(&digits)
            } else {
                id_begins(&request.id.to_string(), word)
            }
    };
    let found: Vec<&RequestView> = requests.iter().filter(means).collect();
    if is_code && found.len() > 1 {
        return Err(same_code(&spaced(&digits), &found));
    }
    only(
        found,
        "pairing request",
        word,
        "look at the digits again; on the device, ask anew if it has waited for some minutes",
        |request| format!("{} ({})", request.label, request.id),
    )
}

/// That a code does not say which device is meant: by chance, or as one of them makes itself look like the other.
fn same_code(code: &str, found: &[&RequestView]) -> Failure {
    let describe =
        |request: &&RequestView| format!("{} from {} ({})", request.label, request.peer, request.id);
    let all: Vec<String> = found.iter().map(describe).collect();
    let detail = format!(
        "{} devices show the code {code}, and nothing was done: {}",
        found.len(),
        all.join(", ")
    );
    let hint = "name one by its id; if you do not know which is yours, reject all of them and ask again on the device";
    Failure::failed("ambiguous", detail, hint)
}

/// A code as people compare it: two groups of three digits.
pub(crate) fn spaced(code: &str) -> String {
    let digits = code.replace('-', "");
    digits
        .split_at_checked(CODE_DIGITS / 2)
        .map_or(digits.clone(), |(one, two)| format!("{one}-{two}"))
}

/// What to do where a session is not found: inside of a session most are not seen.
fn missing_session() -> String {
    match client::own_session() {
        Some(own) => format!("{INSIDE} {own}, which sees itself and the sessions that were started from it"),
        None => "`transom ls` shows what there is".to_owned(),
    }
}

/// How near at hand the session is: deleted, ended, live.
fn standing(session: &Session) -> u8 {
    match (session.purge_at, session.state) {
        (Some(_), _) => 0,
        (None, SessionState::Exited | SessionState::Lost) => 1,
        (None, SessionState::Running) => 2,
    }
}

/// Whether the id, with its prefix or without, begins with the word.
fn id_begins(id: &str, word: &str) -> bool {
    let bare = id.split_once('_').map_or(id, |(_, bare)| bare);
    !word.is_empty() && (bare.starts_with(word) || (word.contains('_') && id.starts_with(word)))
}

fn only<'a, T, D: Display>(
    found: Vec<&'a T>,
    kind: &str,
    word: &str,
    missing: &str,
    describe: impl Fn(&T) -> D,
) -> Result<&'a T, Failure> {
    match found[..] {
        [one] => Ok(one),
        [] => Err(Failure::failed(
            MISSING,
            format!("there is no {kind} `{word}`"),
            missing,
        )),
        _ => {
            let count = found.len();
            let mut some: Vec<String> = found
                .into_iter()
                .take(NAMED)
                .map(|one| describe(one).to_string())
                .collect();
            if count > NAMED {
                some.push(format!("and {} more", count - NAMED));
            }
            let detail = format!("`{word}` could mean {count} {kind}s: {}", some.join(", "));
            Err(Failure::failed(
                "ambiguous",
                detail,
                "say more of its name, or its id",
            ))
        }
    }
}

const MISSING: &str = "not_found";
/// How the hint begins where a session is not found from inside of another.
pub(crate) const INSIDE: &str = "this runs inside of session";
/// How many of those that a word could mean are named.
const NAMED: usize = 4;
/// Digits of a pairing code.
const CODE_DIGITS: usize = 6;

#[cfg(test)]
mod tests {
    use protocol::{pairing::RequestView, sessions::Session};
    use serde_json::json;

    use super::{request, session, spaced};
    use crate::failure::Failure;

    fn sessions(of: &[(&str, &str, bool, i64)]) -> Vec<Session> {
        let one = |(id, name, live, created): &(&str, &str, bool, i64)| {
            serde_json::from_value(json!({
                "id": id, "name": name, "command": "sh", "args": [], "cwd": "/",
                "state": if *live { "running" } else { "exited" }, "exit": null,
                "created_at": jiff::Timestamp::from_second(*created).unwrap(), "ended_at": null,
                "last_output_at": null, "size": {"columns": 80, "rows": 24}, "end": 0, "title": null,
                "last_line": "", "viewers": 0, "writers": 0, "labels": {},
                "attention": {"state": "unknown", "since": "2026-11-29T09:00:00Z", "message": null}, "note": null,
                "parent": null, "trusted": false, "purge_at": null,
            }))
            .unwrap()
        };
        of.iter().map(one).collect()
    }

    fn requests(of: &[(&str, &str, Option<&str>)]) -> Vec<RequestView> {
        let one = |(id, state, code): &(&str, &str, Option<&str>)| {
            serde_json::from_value(json!({
                "id": id, "state": state, "code": code, "label": "phone", "peer": "127.0.0.1", "tailnet": null,
                "role": "viewer", "offer_id": null, "device_id": null, "expires_at": "2026-01-01T00:00:00Z",
            }))
            .unwrap()
        };
        of.iter().map(one).collect()
    }

    fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        match result.unwrap_err() {
            Failure::Problem { problem, .. } => problem.code,
            Failure::ClosedPipe => panic!("a closed pipe has no code"),
        }
    }

    #[test]
    fn a_whole_name_stands_before_those_that_begin_with_it() {
        let all = sessions(&[("ses_01", "build", true, 1), ("ses_02", "build-2", true, 2)]);
        assert_eq!(session(&all, "build").unwrap().id, "ses_01");
        assert_eq!(session(&all, "build-").unwrap().id, "ses_02");
        assert_eq!(code(session(&all, "bui")), "ambiguous");
    }

    #[test]
    fn of_many_that_a_word_could_mean_some_are_named() {
        let all: Vec<_> = (1..=6).map(|n| (format!("ses_0{n}"), format!("s{n}"))).collect();
        let all: Vec<_> = all
            .iter()
            .map(|(id, name)| (id.as_str(), name.as_str(), true, 1))
            .collect();
        let Failure::Problem { problem, .. } = session(&sessions(&all), "s").unwrap_err() else {
            panic!("a word is no pipe");
        };
        assert_eq!(
            problem.detail,
            "`s` could mean 6 sessions: s1 (ses_01), s2 (ses_02), s3 (ses_03), s4 (ses_04), and 2 more"
        );
    }

    #[test]
    fn an_id_is_known_with_its_prefix_and_without() {
        let all = sessions(&[("ses_01ab", "x", true, 1), ("ses_02cd", "y", true, 2)]);
        for word in ["ses_02cd", "02", "ses_02", "02cd"] {
            assert_eq!(session(&all, word).unwrap().id, "ses_02cd");
        }
        assert_eq!(code(session(&all, "ses_0")), "ambiguous");
        assert_eq!(code(session(&all, "ses_1")), "not_found");
    }

    #[test]
    fn a_live_session_stands_before_an_ended_one_and_a_newer_before_an_older() {
        let all = sessions(&[
            ("ses_01", "a", true, 1),
            ("ses_02", "a", false, 9),
            ("ses_03", "b", false, 2),
            ("ses_04", "b", false, 3),
        ]);
        assert_eq!(session(&all, "a").unwrap().id, "ses_01");
        assert_eq!(session(&all, "b").unwrap().id, "ses_04");
    }

    #[test]
    fn a_deleted_session_is_meant_only_where_nothing_else_is() {
        let mut all = sessions(&[("ses_01", "a", false, 9), ("ses_02", "a", false, 1)]);
        all[0].purge_at = Some(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(session(&all, "a").unwrap().id, "ses_02");
        assert_eq!(session(&all[..1], "a").unwrap().id, "ses_01");
    }

    #[test]
    fn a_session_that_two_words_mean_is_meant_once() {
        let all = sessions(&[("ses_01", "a", true, 1), ("ses_02", "b", true, 2)]);
        let words = ["b", "a", "ses_02"].map(str::to_owned);
        let meant = super::sessions(&all, &words).unwrap();
        assert_eq!(
            meant.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["b", "a"]
        );
    }

    #[test]
    fn a_code_is_taken_with_its_dash_and_without() {
        let all = requests(&[
            ("req_0000000000000001", "pending", Some("493027")),
            ("req_0000000000000002", "pending", None),
        ]);
        for word in ["493-027", "493027", "req_0000000000000001"] {
            assert_eq!(
                request(&all, word).unwrap().id.to_string(),
                "req_0000000000000001"
            );
        }
    }

    #[test]
    fn a_code_that_two_requests_show_is_refused() {
        let all = requests(&[
            ("req_0000000000000001", "pending", Some("493027")),
            ("req_0000000000000002", "pending", Some("493027")),
        ]);
        let Failure::Problem { problem, .. } = request(&all, "493027").unwrap_err() else {
            panic!("a word is no pipe");
        };
        assert_eq!(problem.code, "ambiguous");
        assert_eq!(
            problem.detail,
            "2 devices show the code 493-027, and nothing was done: phone from 127.0.0.1 (req_0000000000000001), \
             phone from 127.0.0.1 (req_0000000000000002)"
        );
        assert_eq!(request(&all, "req_0000000000000002").unwrap().id, all[1].id);
    }

    #[test]
    fn a_request_that_is_decided_is_not_meant() {
        let all = requests(&[("req_0000000000000001", "rejected", Some("493027"))]);
        assert_eq!(code(request(&all, "493027")), "not_found");
    }

    #[test]
    fn a_code_is_shown_in_two_groups() {
        assert_eq!(spaced("493027"), "493-027");
        assert_eq!(spaced("493-027"), "493-027");
    }
}
