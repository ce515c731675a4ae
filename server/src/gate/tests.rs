use http::{Request, header};

use super::{Host, OwnNames, check};
use crate::{
    error::Failure,
    peer::{LocalPeer, Peer, RemotePeer},
};

fn remote() -> Peer {
    let [address, listener] = ["127.0.0.1:50000", "127.0.0.1:7443"].map(|text| text.parse().unwrap());
    Peer::Remote(RemotePeer {
        address,
        listener,
        generation: pairing::Generation(1),
        tailnet: None,
    })
}

fn ask(peer: &Peer, headers: &[(header::HeaderName, &str)]) -> Result<Option<Host>, Failure> {
    let mut request = Request::get("/v1/health");
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let names = OwnNames::new(
        "0123456789abcdef",
        &["Box.example.", "192.0.2.7", "2001:db8::7"].map(str::to_owned),
    );
    check(&request.body(()).unwrap().into_parts().0, peer, &names)
}

fn host(host: &str) -> Result<Option<Host>, Failure> {
    ask(&remote(), &[(header::HOST, host)])
}

fn origin(host: &str, origin: &str) -> Result<Option<Host>, Failure> {
    ask(&remote(), &[(header::HOST, host), (header::ORIGIN, origin)])
}

#[test]
fn own_names_pass_and_loopback_names_with_any_port() {
    let own = [
        "localhost",
        "localhost:9000",
        "LocalHost.:9000",
        "0123456789abcdef.localhost:1",
        "127.0.0.1:9000",
        "[::1]:9000",
    ];
    for name in own.into_iter().chain([
        "box.example:7443",
        "BOX.EXAMPLE.:7443",
        "192.0.2.7:7443",
        "[2001:db8::7]:7443",
    ]) {
        assert!(host(name).is_ok(), "{name}");
    }
}

#[test]
fn foreign_and_look_alike_hosts_are_refused() {
    let foreign = [
        "evil.example",
        "localhost.evil.example",
        "xlocalhost",
        "localhost..",
        "127.0.0.2:7443",
        "127.1",
        "box.example",
    ];
    for name in foreign.into_iter().chain([
        "box.example:9000",
        "10.0.0.1:7443",
        "[::2]:7443",
        "f.localhost:7443",
        "0x7f000001",
    ]) {
        assert!(matches!(host(name), Err(Failure::WrongHost)), "{name}");
    }
}

#[test]
fn a_host_that_is_no_host_is_a_bad_request() {
    let broken = [
        "",
        "me@localhost",
        "localhost:",
        "localhost:99999",
        "localhost:+1",
        "localhost/",
        "local host",
        "[::1",
        "::1:7443",
        "a:b:c",
    ];
    for name in broken {
        assert!(matches!(host(name), Err(Failure::AmbiguousHost)), "{name}");
    }
    assert!(
        matches!(ask(&remote(), &[]), Err(Failure::AmbiguousHost)),
        "no host at all"
    );
}

#[test]
fn two_hosts_are_a_bad_request_even_if_equal() {
    let twice = [(header::HOST, "localhost"), (header::HOST, "localhost")];
    assert!(matches!(ask(&remote(), &twice), Err(Failure::AmbiguousHost)));
}

#[test]
fn host_and_authority_must_not_differ() {
    let names = OwnNames::new("0123456789abcdef", &[]);
    let request = |host| {
        Request::get("https://localhost:9000/")
            .header(header::HOST, host)
            .body(())
            .unwrap()
            .into_parts()
            .0
    };
    assert!(check(&request("localhost:9000"), &remote(), &names).is_ok());
    assert!(matches!(
        check(&request("localhost:9001"), &remote(), &names),
        Err(Failure::AmbiguousHost)
    ));
}

#[test]
fn an_origin_must_be_the_requests_own() {
    for own in ["https://localhost:9000", "https://LOCALHOST:9000"] {
        assert!(origin("localhost:9000", own).is_ok(), "{own}");
    }
    assert!(
        origin("localhost", "https://localhost:443").is_ok(),
        "the port of https goes without saying"
    );
    assert!(origin("[::1]:9000", "https://[::1]:9000").is_ok());
}

#[test]
fn foreign_and_look_alike_origins_are_refused() {
    let foreign = [
        "null",
        "",
        "http://localhost:9000",
        "https://localhost",
        "https://localhost:9001",
        "https://evil.example",
    ];
    let odd = [
        "https://me@localhost:9000",
        "https://localhost:9000/",
        "https://localhost:9000.evil.example",
        "https://127.0.0.1:9000",
    ];
    for other in foreign
        .into_iter()
        .chain(odd)
        .chain(["https://localhost:9000 https://localhost:9000", "https://"])
    {
        assert!(
            matches!(origin("localhost:9000", other), Err(Failure::WrongOrigin)),
            "{other}"
        );
    }
}

#[test]
fn two_origins_are_refused_even_if_equal() {
    let own = (header::ORIGIN, "https://localhost:9000");
    assert!(matches!(
        ask(&remote(), &[(header::HOST, "localhost:9000"), own.clone(), own]),
        Err(Failure::WrongOrigin)
    ));
}

#[test]
fn on_the_unix_socket_any_host_passes_and_no_origin_does() {
    let local = Peer::Local(LocalPeer { uid: 1000, pid: None });
    assert_eq!(ask(&local, &[(header::HOST, "whatever")]).unwrap(), None);
    assert_eq!(ask(&local, &[]).unwrap(), None);
    assert!(matches!(
        ask(&local, &[(header::ORIGIN, "https://localhost")]),
        Err(Failure::WrongOrigin)
    ));
}
