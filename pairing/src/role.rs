//! The roles that a device can hold.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// A named set of scopes. The order is that of power: a viewer is less than an operator. What is paired is one of these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May read metrics, and nothing else. For devices that are added by hand.
    Metrics,
    /// May look.
    Viewer,
    /// May look, type and manage.
    Operator,
}

/// A text that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is viewer, operator or metrics")]
pub struct UnknownRole;

impl Role {
    /// The name on the wire and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        match text {
            "metrics" => Ok(Self::Metrics),
            "viewer" => Ok(Self::Viewer),
            "operator" => Ok(Self::Operator),
            _ => Err(UnknownRole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, UnknownRole};
    use alloc::format;

    #[test]
    fn a_role_has_one_name_in_text_and_in_json() {
        for role in [Role::Metrics, Role::Viewer, Role::Operator] {
            assert_eq!(role.as_str().parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        }
    }

    #[test]
    fn an_unknown_role_is_an_error_and_never_a_default() {
        for text in ["", "Operator", "owner", "admin"] {
            assert_eq!(text.parse::<Role>(), Err(UnknownRole));
        }
        assert!(serde_json::from_str::<Role>("\"owner\"").is_err());
    }

    #[test]
    fn a_viewer_is_less_than_an_operator() {
        assert!(Role::Viewer < Role::Operator);
    }
}
