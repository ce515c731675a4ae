//! Host, `:authority` and Origin: who passes came by one of the daemon's own names.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderValue, Request, header};
use pairing::Generation;
use server::{
    Peer, RemotePeer,
    gate::{Host, OwnNames, check},
};

/// The first line is the authority of the target, the second the Host, the third the Origin; a blank one is left out.
pub(crate) fn run(bytes: &[u8]) {
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let (authority, host, origin) = (line(), line(), line());
    let target = authority.and_then(super::text);
    let target = target.map_or_else(|| "/".to_owned(), |authority| format!("https://{authority}/"));
    let Ok(request) = Request::builder().uri(target).body(()) else {
        return;
    };
    let (mut head, ()) = request.into_parts();
    for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
        match value.map(HeaderValue::from_bytes) {
            Some(Ok(value)) => drop(head.headers.append(name, value)),
            Some(Err(_)) => return,
            None => {}
        }
    }
    let names = OwnNames::new(INSTANCE, &["Desk.example.".to_owned()]);
    let Ok(Some(host)) = check(&head, &peer(), &names) else {
        return;
    };
    let shown = host.to_string();
    assert_eq!(Host::parse(&shown), Some(host), "{shown}");
    let (name, port) = shown
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'))
        .unwrap_or((&shown, "443"));
    let on_any_port = ["localhost", "0123456789abcdef.localhost", "127.0.0.1", "[::1]"];
    let on_its_port = ["desk.example", "192.0.2.7"];
    assert!(
        on_any_port.contains(&name) || (on_its_port.contains(&name) && port == "7443"),
        "{shown} is no own name"
    );
    origin_is_of(&head.headers, name);
}

/// A page of another host does not pass.
fn origin_is_of(headers: &HeaderMap, name: &str) {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return;
    };
    let origin = origin.to_str().expect("what is no text is no own origin");
    let authority = origin.strip_prefix("https://").expect("it is a page's over TLS");
    let host = Host::parse(authority).expect("it is an authority").to_string();
    assert!(
        host == name || host.starts_with(&format!("{name}:")),
        "{origin} is not {name}"
    );
}

fn peer() -> Peer {
    let [address, listener] = ["192.0.2.9:1", "192.0.2.7:7443"]
        .map(|text| text.parse::<SocketAddr>().expect("a constant address parses"));
    Peer::Remote(RemotePeer {
        address,
        listener,
        generation: Generation(1),
        tailnet: None,
    })
}

const INSTANCE: &str = "0123456789abcdef";
