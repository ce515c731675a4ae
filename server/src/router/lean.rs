//! Requests of strangers: how little is kept of each.
//!
//! A stranger may let the body be long in coming, or wait for an answer, on each of its streams at once. What handlers hold
//! meanwhile is then ours to bound: a header is a piece of the text of the whole head, and keeps that.

use axum::extract::Request;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Leaves few and short headers of a request, each in memory of its own.
pub(super) fn keep_little(request: &mut Request) {
    let headers = little_of(request.headers());
    *request.headers_mut() = headers;
}

fn little_of(all: &HeaderMap) -> HeaderMap {
    let mut few = HeaderMap::new();
    for name in READ {
        // Two of a kind stay two: that is for the handler to refuse. A third says nothing new.
        for value in all.get_all(&name).iter().take(2) {
            few.append(name.clone(), of_its_own(value));
        }
    }
    few
}

/// What is too long for a token is none, whole or not.
fn of_its_own(value: &HeaderValue) -> HeaderValue {
    let bytes = value.as_bytes();
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let own = HeaderValue::from_bytes(bytes);
    let mut own = own.expect("each byte of a header's value is one of a header's value");
    own.set_sensitive(value.is_sensitive());
    own
}

/// What extractors of public handlers look at.
const READ: [HeaderName; 3] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
];

/// Bytes of a value: a token and its scheme have fewer than 110.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use http::{HeaderMap, header};

    use super::little_of;

    #[test]
    fn a_credential_and_what_describes_the_body_is_kept_and_nothing_else() {
        let mut all = HeaderMap::new();
        for (name, value) in [
            (header::AUTHORIZATION, "Bearer a"),
            (header::CONTENT_TYPE, "application/json"),
            (header::CONTENT_LENGTH, "2"),
            (header::COOKIE, "long"),
            (header::USER_AGENT, "long"),
        ] {
            all.insert(name, value.parse().unwrap());
        }
        let few = little_of(&all);
        assert_eq!(few.len(), 3);
        assert_eq!(few[header::AUTHORIZATION], "Bearer a");
    }

    #[test]
    fn a_value_that_is_too_long_to_be_a_token_is_cut() {
        let mut all = HeaderMap::new();
        all.insert(header::AUTHORIZATION, "x".repeat(9_000).parse().unwrap());
        assert_eq!(little_of(&all)[header::AUTHORIZATION].len(), super::LONGEST);
    }

    #[test]
    fn two_credentials_stay_two_and_a_hundred_do_not_stay() {
        let mut all = HeaderMap::new();
        for n in 0..100 {
            all.append(header::AUTHORIZATION, n.to_string().parse().unwrap());
        }
        let few = little_of(&all);
        let values: Vec<_> = few.get_all(header::AUTHORIZATION).iter().collect();
        assert_eq!(values, ["0", "1"]);
    }
}
