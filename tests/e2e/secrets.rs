//! After a full run, no token and no secret is found anywhere but in the one answer that hands it out.

mod memory;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use harness::{
    DaemonOptions, Finished, Guest, Invitation, Pairing, Running, TestDaemon, TlsClient, Transcript,
};
use pairing::Role;
use protocol::{attach::Mode, pairing::OfferMade};

#[tokio::test]
async fn no_secret_is_found_in_store_logs_processes_output_or_any_other_answer_after_a_full_run() {
    let transcript = Transcript::default();
    let mut evidence = Evidence::default();
    transcript.during(full_run(&mut evidence)).await;
    let answers: Vec<String> = transcript
        .pieces()
        .iter()
        .map(|piece| searchable(piece))
        .collect();
    assert!(evidence.secrets.len() >= 12, "the run has handed out secrets");
    for secret in &evidence.secrets {
        let told = answers
            .iter()
            .filter(|answer| around(answer, &secret.needles).is_some())
            .count();
        assert_eq!(told, secret.answers, "answers that hold {}", secret.name);
        for (place, text) in &evidence.places {
            assert_eq!(
                around(text, &secret.needles),
                None,
                "{} is in {place}",
                secret.name
            );
        }
    }
    evidence.assert_that_it_would_have_been_found();
}

#[tokio::test]
async fn a_program_inherits_no_variable_of_the_daemons_own() {
    let environment = vec![
        ("TRANSOM_LOG".to_owned(), "info".to_owned()),
        ("TRANSOM_PAIRING_OFFER_TTL".to_owned(), "77s".to_owned()),
        ("EXAMPLE".to_owned(), "the caller's".to_owned()),
    ];
    let daemon = TestDaemon::start_with(DaemonOptions {
        environment,
        ..DaemonOptions::default()
    })
    .await;
    let session = daemon.owner().shell("env; echo done").await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until("done").await;
    let text = attached.text();
    let ours: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("TRANSOM"))
        .collect();
    assert_eq!(
        ours,
        BTreeSet::from(["TRANSOM_SESSION", "TRANSOM_SOCKET"]),
        "{text}"
    );
    assert!(text.contains("EXAMPLE=the caller's"), "{text}");
}

/// Pairs, uses, attaches, errs, revokes, restarts and ends, with the log at its most talkative.
async fn full_run(evidence: &mut Evidence) {
    let environment = vec![("TRANSOM_LOG".to_owned(), "trace".to_owned())];
    let options = DaemonOptions {
        environment,
        ..DaemonOptions::default()
    };
    let mut daemon = TestDaemon::start_with(options.clone()).await;
    let operator = pair_by_command_line(&daemon, evidence).await;
    let viewer = pair(&daemon, evidence, Role::Viewer).await;
    let lost = pair(&daemon, evidence, Role::Operator).await;
    let added = daemon.cli(&["devices", "add", "script", "--json"]).await.json();
    let added = added["token"].as_str().unwrap();
    evidence.token("the token of a device added by hand", added, 0);
    let script = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(script.get("/v1/sessions", Some(added)).await.verdict(), "200");
    let session = daemon.owner().shell("echo begun; cat").await;
    let new = daemon.cli(&["new", "--", "cat"]).await;
    evidence.output("new", &new);
    let guest = invite(&daemon, evidence, &session.id).await;
    let mut writer = operator.attach(&session.id, Mode::Write, "0").await;
    writer.until("begun").await.send_input(b"typed\n").await;
    writer.until("typed").await;
    viewer
        .attach_like_a_browser(&session.id, Mode::View, "0")
        .await
        .until("begun")
        .await;
    let mut run = Running::start(&mut daemon.command(&["run", "--", "sh", "-c", "echo running; cat"]));
    run.line_with("running").await;
    evidence.process("transom run", run.pid());
    evidence.processes_of(&daemon);
    show_wrong_credentials(&daemon, evidence, &session.id).await;
    read_everything(&daemon, &operator).await;
    read_everything(&daemon, &viewer).await;
    read_everything(&daemon, &guest).await;
    daemon.owner().revoke(lost.id()).await;
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
    drop(run);
    // As a crash leaves it, with what the store had not yet moved out of its log.
    let folder = daemon.keep_folder();
    daemon.signal(rustix::process::Signal::KILL);
    daemon.ended().await;
    evidence.files("after the kill", folder.path());
    let mut daemon = TestDaemon::start_in(folder, &options).await;
    let mut operator = operator;
    operator.follow(&daemon);
    read_everything(&daemon, &operator).await;
    daemon.owner().shell("cat").await;
    evidence.processes_of(&daemon);
    let viewer = viewer.id().to_string();
    for verb in [
        &["status"][..],
        &["ls", "--json"],
        &["devices"],
        &["devices", "--json"],
        &["guests"],
        &["guests", "--json"],
        &["audit", "--json"],
        &["config", "show"],
        &["approve", "000-000"],
        &["revoke", &viewer, "--yes"],
        &["shutdown", "--sessions"],
    ] {
        let finished = daemon.cli(verb).await;
        evidence.output(&verb.join(" "), &finished);
    }
    daemon.ended().await;
    evidence.files("at the end", daemon.folder());
}

/// The owner's side by `transom pair` and `transom approve`; the device asks twice for its token, as after a lost answer.
async fn pair_by_command_line(daemon: &TestDaemon, evidence: &mut Evidence) -> harness::Device {
    let mut pair = Running::start(&mut daemon.command(&["pair", "--json", "--role", "operator"]));
    let offer: OfferMade = serde_json::from_str(&pair.line().await.unwrap()).unwrap();
    let fragment = fragment(&offer);
    evidence.offer("the offer of transom pair", &fragment, 0);
    evidence.process("transom pair", pair.pid());
    let mut device = Pairing::with_fragment(daemon, &fragment);
    let code = device.ask().await.to_string();
    evidence.token("a request secret", device.request_secret(), 1);
    let approved = daemon.cli(&["approve", &code]).await;
    evidence.output("approve", &approved);
    let lost = device.exchange_when_approved().await;
    evidence.token("a token whose answer was lost", lost.token.expose(), 1);
    let exchanged = device.exchange().await;
    evidence.token("a device token", exchanged.token.expose(), 1);
    device.try_commit(lost.token.expose()).await.problem();
    // It ends by the commit.
    evidence.process("transom pair", pair.pid());
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    let committed = pair.finish().await;
    // Its first line is what hands the offer out.
    let (_, rest) = committed.stdout.split_once('\n').unwrap();
    evidence.place(
        "the output of transom pair",
        format!("{rest}{}", committed.stderr).as_bytes(),
    );
    device.into_device(&exchanged)
}

async fn pair(daemon: &TestDaemon, evidence: &mut Evidence, role: Role) -> harness::Device {
    let fragment = fragment(&daemon.owner().offer(role, false).await);
    evidence.offer("an offer", &fragment, 1);
    let mut device = Pairing::with_fragment(daemon, &fragment);
    device.ask().await;
    evidence.token("a request secret", device.request_secret(), 1);
    let device = device.finish_revealed(daemon).await;
    evidence.token("a device token", device.token(), 1);
    evidence.token("an access token", &device.access().await, 1);
    device
}

/// Two guests, by the command line and by a request; the former's link is shown again by somebody else, and guessed at.
async fn invite(daemon: &TestDaemon, evidence: &mut Evidence, session: &str) -> Guest {
    let made = daemon.cli(&["invite", session, "--for", "1h", "--json"]).await;
    let link = made.json()[0]["url"].as_str().unwrap().to_owned();
    evidence.offer("the link of transom invite", link.split_once('#').unwrap().1, 0);
    let invitation = Invitation::parse(&link);
    let guest = joined(daemon, evidence, &invitation).await;
    invitation
        .open(daemon)
        .await
        .err()
        .expect("it was used")
        .problem();
    let guess = serde_json::to_value(protocol::Bytes64(vec![0x7a; 32])).unwrap();
    let guessed = Invitation {
        secret: guess.as_str().unwrap().to_owned(),
        ..invitation
    };
    let fragment = format!("{}.{}.{}", guessed.id, guessed.secret, guessed.pin);
    evidence.offer("a guess at a guest's link", &fragment, 0);
    guessed
        .open(daemon)
        .await
        .err()
        .expect("it was a guess")
        .problem();
    let other = Invitation::to(daemon, &[session], 3600).await;
    let fragment = format!("{}.{}.{}", other.id, other.secret, other.pin);
    evidence.offer("a guest's link", &fragment, 1);
    let left = joined(daemon, evidence, &other).await;
    assert_eq!(left.delete("/v1/guests/self").await.status, 200);
    assert_eq!(left.get("/v1/whoami").await.verdict(), "401 revoked");
    guest
}

async fn joined(daemon: &TestDaemon, evidence: &mut Evidence, invitation: &Invitation) -> Guest {
    let guest = invitation.open(daemon).await;
    let guest = guest.unwrap_or_else(|refused| panic!("{refused:?}"));
    evidence.token("a guest's token", guest.token(), 1);
    evidence.token("a guest's access token", &guest.access().await, 1);
    guest
}

/// What is refused must not be repeated either: a mistyped token is nearly one.
async fn show_wrong_credentials(daemon: &TestDaemon, evidence: &mut Evidence, session: &str) {
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let known = evidence
        .secrets
        .iter()
        .find(|secret| secret.name == "a device token")
        .unwrap()
        .text
        .clone();
    let mistyped = format!(
        "{}{}",
        &known[..known.len() - 1],
        if known.ends_with('1') { '2' } else { '1' }
    );
    for wrong in [
        &mistyped,
        &known.replace("tsm_dev_", "tsm_req_"),
        &known[..known.len() - 4],
        "tsm_dev_0OIl",
    ] {
        assert_eq!(
            client.get("/v1/whoami", Some(wrong)).await.verdict(),
            "401 malformed_token"
        );
        let poll = client
            .get("/v1/pairing/requests/req_0000000000000000?wait=0", Some(wrong))
            .await;
        assert_eq!(poll.status, 401);
    }
    evidence.token("a mistyped token", &mistyped, 0);
    assert_eq!(
        client
            .get(&format!("/v1/whoami?token={known}"), None)
            .await
            .verdict(),
        "401 unauthenticated"
    );
    let link = Pairing::with_offer(daemon, Role::Viewer).await;
    let guess = serde_json::to_value(protocol::Bytes64(vec![0xa7; 32])).unwrap();
    let fragment = format!("{}.{}.{}", link.offer_id(), guess.as_str().unwrap(), daemon.pin());
    evidence.offer("a guess at an offer", &fragment, 0);
    Pairing::with_fragment(daemon, &fragment)
        .try_request("a guesser")
        .await
        .problem();
    let device = pair(daemon, evidence, Role::Viewer).await;
    let mut refused = device.attach(session, Mode::Write, "screen").await;
    assert_eq!(
        refused.until_closed().await,
        protocol::attach::CLOSE_NOT_PERMITTED
    );
}

/// Every route that can be read, as the owner and as the device, and the first events.
async fn read_everything(daemon: &TestDaemon, device: &harness::Device) {
    let routes = server::routes().list().into_iter().chain(daemon::routes().list());
    let readable = routes.filter(|route| route.method == http::Method::GET && !route.is_websocket);
    for path in readable
        .map(|route| route.path)
        .filter(|path| !path.contains('{') && *path != "/v1/events")
    {
        daemon.owner().get(path).await;
        device.get(path).await;
    }
    for path in ["/", "/pair", "/nothing", "/v1/nothing"] {
        device.get(path).await;
    }
    daemon.owner().events(None).await.next().await.unwrap();
    device.events(None).await.next().await.unwrap();
}

/// The secrets of a run, and everything in which they must not be.
#[derive(Default)]
struct Evidence {
    secrets: Vec<Secret>,
    places: Vec<(String, String)>,
}

impl Evidence {
    fn token(&mut self, name: &str, token: &str, answers: usize) {
        let body = token.rsplit('_').next().expect("a token has a body");
        // Eight bytes of id, which is no secret, then 32 of secret.
        let raw = bs58::decode(body)
            .into_vec()
            .map(|bytes| bytes[8..40].to_vec())
            .unwrap_or_default();
        self.add(name, token, (body, raw), answers);
    }

    fn offer(&mut self, name: &str, fragment: &str, answers: usize) {
        let body = fragment.split('.').nth(1).expect("a fragment has a secret");
        let raw: protocol::Bytes64 = serde_json::from_value(body.into()).expect("the secret is base64url");
        self.add(name, fragment, (body, raw.0), answers);
    }

    fn add(&mut self, name: &str, text: &str, (body, raw): (&str, Vec<u8>), answers: usize) {
        let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        let needles = [body.to_owned(), hex.to_uppercase(), hex, searchable(&raw)];
        let needles = needles.into_iter().filter(|needle| needle.len() >= 16).collect();
        self.secrets.push(Secret {
            name: name.to_owned(),
            text: text.to_owned(),
            needles,
            answers,
        });
    }

    fn place(&mut self, name: &str, bytes: &[u8]) {
        self.places.push((name.to_owned(), searchable(bytes)));
    }

    fn output(&mut self, verb: &str, finished: &Finished) {
        self.place(
            &format!("the output of transom {verb}"),
            format!("{}{}", finished.stdout, finished.stderr).as_bytes(),
        );
    }

    /// Arguments and environment, as other processes of the user can read them.
    fn process(&mut self, name: &str, pid: u32) {
        for file in ["cmdline", "environ"] {
            let bytes =
                fs::read(format!("/proc/{pid}/{file}")).unwrap_or_else(|error| panic!("{name}: {error}"));
            self.place(&format!("the {file} of {name}"), &bytes);
        }
    }

    fn processes_of(&mut self, daemon: &TestDaemon) {
        self.process("the daemon", daemon.pid());
        let keeper = daemon.keeper().expect("a session has one");
        self.process("the keeper", keeper);
        let programs = daemon.programs();
        assert!(!programs.is_empty());
        for program in programs {
            self.process("a program", program);
        }
    }

    fn files(&mut self, when: &str, folder: &Path) {
        for path in files_below(folder) {
            let bytes = fs::read(&path).expect("the folder is the test's");
            self.place(&format!("{} {when}", path.display()), &bytes);
        }
    }

    /// What is public stands where the secrets were looked for: the search looked at the right bytes.
    fn assert_that_it_would_have_been_found(&self) {
        for (place, text) in [
            ("transom.db after", "SQLite format 3"),
            ("transom.db-wal after", "a test's phone"),
            ("transom.db at", "a test's phone"),
            ("transom.jsonl after", "paired a device"),
            ("transom.jsonl at", "\"level\":\"DEBUG\""),
            ("environ of the daemon", "TRANSOM_LOG=trace"),
            ("environ of a program", "TRANSOM_SESSION=ses_"),
            ("cmdline of transom pair", "--role"),
            ("output of transom devices", "a test's phone"),
        ] {
            let mut places = self.places.iter().filter(|(name, _)| name.contains(place));
            assert!(
                places.any(|(_, found)| found.contains(text)),
                "{text:?} is not in {place}"
            );
        }
    }
}

struct Secret {
    name: String,
    text: String,
    /// The secret without its id, as it is written and as bytes.
    needles: Vec<String>,
    /// How many answers tell it: the one that hands it out, or none.
    answers: usize,
}

/// Each byte as the character of its number, so that the standard library's search for text finds any bytes.
fn searchable(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// What stands around the first of the needles that is in the text, up to its line's ends, with the needle blackened.
fn around(text: &str, needles: &[String]) -> Option<String> {
    let (at, needle) = needles
        .iter()
        .find_map(|needle| text.find(needle.as_str()).map(|at| (at, needle)))?;
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1)
        ..text[at..].find('\n').map_or(text.len(), |end| at + end);
    Some(
        text[line]
            .replace(needle.as_str(), "[the secret]")
            .chars()
            .take(500)
            .collect(),
    )
}

fn fragment(offer: &OfferMade) -> String {
    offer
        .url
        .expose()
        .split_once('#')
        .expect("a link has a fragment")
        .1
        .to_owned()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .expect("the folder is the test's")
        .map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => Vec::from_iter(path.is_file().then_some(path)),
        })
        .collect()
}
