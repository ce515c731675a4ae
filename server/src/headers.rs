//! The security headers that every answer carries.

use std::cell::RefCell;

use axum::body::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::gate::Host;

/// Sets the headers, whatever the handler set; `host` is the request's own, where the listener has names.
pub(crate) fn set(headers: &mut HeaderMap, host: Option<&Host>) {
    let own = std::mem::replace(headers, prepared(host));
    // Answers hold tokens and what sessions print; whoever may be cached says so.
    let mut is_handlers = false;
    let mut last = None;
    for (name, value) in own {
        // A further value of the name before comes without one.
        if let Some(name) = name {
            is_handlers = name == header::CACHE_CONTROL || !headers.contains_key(&name);
            if is_handlers {
                headers.insert(name.clone(), value);
            }
            last = Some(name);
        } else if let (true, Some(name)) = (is_handlers, &last) {
            headers.append(name.clone(), value);
        }
    }
}

/// The headers of every answer to a host. A client asks the same one again and again, and a copy costs a fraction of what it
/// costs to set each of them.
fn prepared(host: Option<&Host>) -> HeaderMap {
    thread_local! {
        static LAST: RefCell<Option<(Option<Host>, HeaderMap)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((of, headers)) if of.as_ref() == host => headers.clone(),
        _ => last.insert((host.cloned(), new_headers(host))).1.clone(),
    })
}

fn new_headers(host: Option<&Host>) -> HeaderMap {
    // With a handler's usual own, and the date: a copy has as much room.
    let mut headers = HeaderMap::with_capacity(FIXED.len() + 6);
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, new_policy(host));
    headers
}

fn new_policy(host: Option<&Host>) -> HeaderValue {
    let host = host.map(|host| format!(" wss://{host}"));
    let text = format!("{FIRST}{}{REST}", host.unwrap_or_default());
    HeaderValue::from_maybe_shared(Bytes::from(text)).expect("a host that passed the gate is printable ASCII")
}

const FIRST: &str =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'";

const REST: &str = "; img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
                    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                    trusted-types transom-worker";

const FIXED: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::set;
    use crate::gate::Host;

    #[test]
    fn the_policy_names_the_requests_own_host_for_web_sockets() {
        let mut headers = HeaderMap::new();
        set(&mut headers, Some(&Host::parse("LOCALHOST:9000").unwrap()));
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("connect-src 'self' wss://localhost:9000;"),
            "{policy}"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff");
    }

    #[test]
    fn each_of_two_hosts_in_turns_is_named() {
        for (host, named) in [
            ("a:1", "wss://a:1;"),
            ("b:1", "wss://b:1;"),
            ("a:2", "wss://a:2;"),
        ] {
            let mut headers = HeaderMap::new();
            set(&mut headers, Some(&Host::parse(host).unwrap()));
            let policy = headers["content-security-policy"].to_str().unwrap();
            assert!(
                policy.contains(named) && policy.matches("wss:").count() == 1,
                "{policy}"
            );
        }
    }

    #[test]
    fn without_a_host_only_the_page_itself_may_be_asked() {
        let mut headers = HeaderMap::new();
        set(&mut headers, None);
        assert!(
            headers["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("connect-src 'self';")
        );
    }

    #[test]
    fn nothing_is_stored_on_the_way_unless_its_handler_says_otherwise() {
        let mut headers = HeaderMap::new();
        set(&mut headers, None);
        assert_eq!(headers["cache-control"], "no-store");
        headers.insert("cache-control", "max-age=60".parse().unwrap());
        set(&mut headers, None);
        assert_eq!(headers["cache-control"], "max-age=60");
    }

    #[test]
    fn what_a_handler_set_stays_but_for_the_security_headers() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "text/plain".parse().unwrap());
        headers.insert("content-security-policy", "default-src *".parse().unwrap());
        headers.append("content-security-policy", "script-src *".parse().unwrap());
        headers.append("set-cookie", "a=1".parse().unwrap());
        headers.append("set-cookie", "b=2".parse().unwrap());
        set(&mut headers, None);
        assert_eq!(headers["content-type"], "text/plain");
        let cookies: Vec<_> = headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2"]);
        let policies: Vec<_> = headers.get_all("content-security-policy").iter().collect();
        assert_eq!(policies.len(), 1);
        assert!(!policies[0].to_str().unwrap().contains('*'));
    }

    #[test]
    fn there_is_no_strict_transport_security() {
        let mut headers = HeaderMap::new();
        set(&mut headers, None);
        assert!(!headers.contains_key("strict-transport-security"));
    }
}
