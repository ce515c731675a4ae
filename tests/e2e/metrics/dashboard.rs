//! `deploy/grafana/transom.json`: each expression of it shows something of a real daemon, by the word of `promtool`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use harness::{Guest, TestDaemon, TlsClient};
use pairing::Role;
use serde_json::{Value, json};

#[tokio::test]
async fn what_a_scrape_says_is_as_prometheus_wants_it() {
    let daemon = TestDaemon::start().await;
    happen(&daemon).await;
    let text = super::text(&daemon).await;
    let checked = promtool(&["check", "metrics"], &text);
    assert!(
        checked.status.success() && checked.stdout.is_empty() && checked.stderr.is_empty(),
        "{checked:?}"
    );
}

#[tokio::test]
async fn each_expression_of_the_dashboard_shows_something_of_a_real_scrape() {
    let daemon = TestDaemon::start().await;
    happen(&daemon).await;
    let first = series(&super::text(&daemon).await);
    happen(&daemon).await;
    let second = series(&super::text(&daemon).await);
    let both = first
        .iter()
        .filter_map(|(series, value)| Some((series, format!("{value} {}", second.get(series)?))));
    let inputs: Vec<Value> = both
        .map(|(series, values)| json!({ "series": series, "values": values }))
        .collect();
    // What is evaluated to nothing has no count.
    let expected = |expression: &String| {
        json!({
            "expr": format!("count({expression}) > bool 0"),
            "eval_time": "1m",
            "exp_samples": [{ "labels": "{}", "value": 1 }],
        })
    };
    let expressions = expressions();
    let tests: Vec<Value> = expressions.iter().map(expected).collect();
    let file = json!({
        "evaluation_interval": "1m",
        "tests": [{ "interval": "1m", "input_series": inputs, "promql_expr_test": tests }],
    });
    let folder = tempfile::tempdir().unwrap();
    // JSON is YAML.
    let path = folder.path().join("dashboard.yml");
    std::fs::write(&path, file.to_string()).unwrap();
    let tested = promtool(&["test", "rules", path.to_str().unwrap()], "");
    assert!(
        tested.status.success(),
        "{}{}",
        String::from_utf8_lossy(&tested.stdout),
        String::from_utf8_lossy(&tested.stderr)
    );
}

#[tokio::test]
async fn the_dashboard_leaves_out_no_family() {
    let daemon = TestDaemon::start().await;
    happen(&daemon).await;
    let text = super::text(&daemon).await;
    let families = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let expressions = expressions();
    let missing: Vec<&str> = families
        .filter(|family| !expressions.iter().any(|expression| expression.contains(family)))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Something of each family that has figures only once something has happened.
async fn happen(daemon: &TestDaemon) {
    let session = daemon.owner().shell("cat").await;
    let guest = Guest::of(daemon, &[&session.id]).await;
    assert_eq!(guest.get("/v1/whoami").await.status, 200);
    let device = daemon.device(Role::Viewer).await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let wrong = client.get("/v1/whoami", Some("tsm_dev_wrong")).await;
    assert_eq!(wrong.verdict(), "401 malformed_token");
    // The key of one, and the token of another.
    let other = daemon.device(Role::Viewer).await;
    let proof = device.proof(&device.challenge().await);
    let refused = client.post("/v1/auth/proof", Some(other.token()), &proof).await;
    assert_eq!(refused.verdict(), "401 bad_signature");
    daemon.owner().revoke(device.id()).await;
}

/// All expressions, with what Grafana would put in the place of its own words.
fn expressions() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana/transom.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| {
        let expression = target["expr"].as_str().unwrap();
        let expression = expression
            .replace("$__rate_interval", "5m")
            .replace("$instance", ".*");
        assert!(!expression.contains('$'), "{expression}");
        expression
    });
    let expressions: BTreeSet<String> = expressions.collect();
    assert!(expressions.len() > 20);
    expressions
}

/// The figures of a scrape, as they are written.
fn series(text: &str) -> BTreeMap<String, String> {
    let figures = text.lines().filter(|line| !line.starts_with('#'));
    figures
        .map(|figure| {
            let (series, value) = figure.rsplit_once(' ').unwrap();
            (series.to_owned(), value.to_owned())
        })
        .collect()
}

/// # Panics
/// Where it is not installed.
fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there: `cargo xtask test --only tools` installs it");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
