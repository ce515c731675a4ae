//! Who of a tailnet an invitation is for.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::TailnetIdentity;

/// The login name of a user of a tailnet, such as `alice@example.com`: in lower case, of visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login(String);

/// Why a text is no login name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a login of a tailnet reads like alice@example.com, in at most 254 characters")]
pub struct MalformedLogin;

impl Login {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is who the tailnet says.
    #[must_use]
    pub fn is_of(&self, identity: &TailnetIdentity) -> bool {
        self.0.eq_ignore_ascii_case(&identity.user)
    }
}

impl FromStr for Login {
    type Err = MalformedLogin;

    /// Without an `@` it is nobody's: tagged nodes have no user, whatever stands in their place.
    fn from_str(text: &str) -> Result<Self, MalformedLogin> {
        let is_plain = text.len() <= MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        match text.split_once('@') {
            Some((name, of)) if is_plain && !name.is_empty() && !of.is_empty() => {
                Ok(Self(text.to_ascii_lowercase()))
            }
            _ => Err(MalformedLogin),
        }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As long as an address of mail can be (RFC 5321 section 4.5.3.1.3, without its brackets).
const MAX: usize = 254;

#[cfg(test)]
mod tests {
    use super::{Login, MalformedLogin};
    use crate::TailnetIdentity;
    use alloc::format;
    use alloc::string::ToString;

    fn identity(user: &str) -> TailnetIdentity {
        TailnetIdentity {
            user_id: "u1".into(),
            user: user.into(),
            node_id: "n1".into(),
            node: "phone".into(),
            tags: [].into(),
        }
    }

    #[test]
    fn a_login_is_the_same_whatever_its_case_and_no_other() {
        let login: Login = "Alice@Example.com".parse().unwrap();
        assert_eq!(login.to_string(), "alice@example.com");
        for (user, is_theirs) in [
            ("alice@example.com", true),
            ("ALICE@example.com", true),
            ("bob@example.com", false),
            ("alice@example.com.evil.example", false),
            ("", false),
        ] {
            assert_eq!(login.is_of(&identity(user)), is_theirs, "{user}");
        }
    }

    #[test]
    fn what_no_user_is_called_is_no_login() {
        let long = format!("{}@example.com", "a".repeat(250));
        for text in [
            "",
            "alice",
            "@",
            "@x",
            "x@",
            "tagged-devices",
            "a b@x",
            "a@x\n",
            "ä@x",
            &long,
        ] {
            assert_eq!(text.parse::<Login>(), Err(MalformedLogin), "{text}");
        }
    }
}
