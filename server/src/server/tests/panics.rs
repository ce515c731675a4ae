//! A server that panics with all that it has in hand, in a process of its own, whose standard error is read.

use std::{process::Command, sync::Arc};

use axum::extract::Request;
use http::{Method, header};
use http_body_util::Full;
use pairing::{DeviceToken, OfferSecret, Role, marker::View};
use protocol::{WireSecret, access::ProofOfKey};
use serde_json::json;
use tokio::runtime::Builder;

use crate::{
    access::Access,
    authenticate,
    extract::Json,
    limits::Limits,
    random,
    router::{App, On, Permitted, Routes},
    testing::{Client, TestDevice, TestServer, with_token},
};

#[test]
fn no_secret_is_on_standard_error_of_a_server_that_panics_with_all_it_has_in_hand() {
    if std::env::var_os(PANICS).is_some() {
        let runtime = Builder::new_current_thread().enable_all().build();
        return runtime.unwrap().block_on(panic_on_every_route());
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", NAME, "--nocapture"]);
    again.env(PANICS, "1").env("RUST_BACKTRACE", "full");
    let ended = again.output().unwrap();
    let [told, said] = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(ended.status.success(), "{told}{said}");
    let words = said.lines().filter(|line| line.starts_with("in hand: "));
    assert_eq!(words.count(), ROUTES.len() * 2, "{said}");
    let secrets = told.lines().filter_map(|line| line.strip_prefix(SECRET));
    let secrets: Vec<&str> = secrets.collect();
    assert_eq!(secrets.len(), 2, "{told}");
    for secret in secrets {
        // The id in front is none, and any half of the rest would be too much.
        let half = &secret[secret.len() - 20..];
        assert!(!said.contains(half), "a secret is on standard error:\n{said}");
    }
}

/// Serves, and has each route panic, on both protocols.
async fn panic_on_every_route() {
    let server = TestServer::start_with(Limits::default(), routes()).await;
    let device = server.device(Role::Operator, true).await;
    let offer = OfferSecret::generate(&mut random::rng()).reveal();
    println!("\n{SECRET}{}\n{SECRET}{}", device.token, offer.as_str());
    for mut client in [server.http1().await, server.http2().await] {
        for path in ROUTES {
            ask(&mut client, path, &device, &offer).await;
        }
    }
}

fn routes() -> Routes<Arc<Access>> {
    Routes::new()
        .public(
            Method::POST,
            ROUTES[0],
            async |App(access): App<Arc<Access>>, request: Request| -> () {
                let authority = format!("{:?}", access.authority());
                panic!("\nin hand: {request:?} {authority} {:?}", access.token_key)
            },
        )
        .route::<View, _, _>(
            Method::POST,
            ROUTES[1],
            None,
            async |Permitted(permit): Permitted<View>, On(connection): On, request: Request| -> () {
                panic!("\nin hand: {permit:?} {connection:?} {request:?}")
            },
        )
        .public(
            Method::POST,
            ROUTES[2],
            async |Json(body): Json<(ProofOfKey, WireSecret)>| -> () { panic!("\nin hand: {body:?}") },
        )
        .public(Method::POST, ROUTES[3], async |request: Request| -> () {
            let text = authenticate::bearer(request.headers()).unwrap().unwrap();
            panic!("\nin hand: {:?}", DeviceToken::parse(text).unwrap())
        })
}

/// Shows a route all that a device and an offer have. Its answer tells nothing of it.
async fn ask(client: &mut Client, path: &str, device: &TestDevice, secret: &str) {
    let proof = json!({ "challenge": "c", "audience": "a", "signature": "" });
    let request = with_token(client.request(Method::POST, path), Some(device))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(json!([proof, secret]).to_string()));
    let answer = client.answer(request.unwrap()).await;
    assert_eq!(answer.problem(), (500, "internal".to_owned()), "{path}");
    let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
    assert!(!text.contains("in hand"), "{text}");
}

/// Says to a process that it is the one which panics.
const PANICS: &str = "PANICS_ON_PURPOSE";
/// The test as those who run tests call it.
const NAME: &str =
    "server::tests::panics::no_secret_is_on_standard_error_of_a_server_that_panics_with_all_it_has_in_hand";
/// What stands before each secret on its standard output.
const SECRET: &str = "secret: ";
const ROUTES: [&str; 4] = ["/v1/panic/0", "/v1/panic/1", "/v1/panic/2", "/v1/panic/3"];
