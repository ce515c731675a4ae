//! Tokens, and the header that carries them.

use http::{HeaderMap, HeaderValue, header};
use pairing::{AccessToken, DeviceToken, RequestSecret, Token, TokenId, TokenKind};

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(bytes) {
        bearer(value);
    }
    let Some(text) = super::text(bytes) else { return };
    let parsed = [
        reads_back(DeviceToken::parse(text).ok(), text),
        reads_back(AccessToken::parse(text).ok(), text),
        reads_back(RequestSecret::parse(text).ok(), text),
    ];
    let kinds: Vec<_> = parsed.into_iter().flatten().collect();
    assert!(kinds.len() <= 1, "{text:?} is a token of two kinds");
    if let Some(kind) = kinds.first() {
        assert_eq!(TokenKind::of(text), Some(*kind));
    }
}

/// A token is written in one way only.
fn reads_back<I: TokenId>(token: Option<Token<I>>, text: &str) -> Option<TokenKind> {
    let token = token?;
    assert_eq!(token.reveal().as_str(), text);
    Some(I::KIND)
}

fn bearer(value: HeaderValue) {
    let shown = value.clone();
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
    if let Ok(Some(token)) = server::authenticate::bearer(&headers) {
        let shown = shown.to_str().expect("what is no text is no bearer");
        assert!(shown.ends_with(token) && !token.starts_with(' '));
        assert!(shown[..6].eq_ignore_ascii_case("bearer"));
    }
}

#[cfg(test)]
mod tests {
    use pairing::{AccessToken, DeviceToken, RequestSecret};

    #[test]
    fn the_corpus_holds_a_good_one_of_each_kind() {
        assert!(DeviceToken::parse(include_str!("../../corpus/token/good_dev")).is_ok());
        assert!(AccessToken::parse(include_str!("../../corpus/token/good_acc")).is_ok());
        assert!(RequestSecret::parse(include_str!("../../corpus/token/good_req")).is_ok());
    }
}
