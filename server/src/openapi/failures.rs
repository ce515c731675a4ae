//! The failures that routes answer with: those of their kind, and their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use http::Method;
use pairing::{AuthError, Denied, MalformedToken, Principal, Scope};
use protocol::Problem;
use serde_json::{Map, Value, json};

use crate::{
    error::{Failure, Uninvited},
    operation::{Operation, problems},
    router::RouteInfo,
};

/// Adds to the answers of a route what it may fail with: by reference where its own failures add nothing to those of its kind.
pub(super) fn add(responses: &mut Map<String, Value>, route: &RouteInfo, operation: &Operation) {
    let kind = Kind::of(route);
    let common = by_status(kind.problems());
    let mut own = (operation.failures)();
    if operation.body.is_some() {
        own.extend(problems([
            Failure::malformed("the body is not what this route takes"),
            Failure::BodyTooLarge,
            Failure::UnsupportedMediaType,
        ]));
    } else if operation.query.is_some() {
        own.extend(problems([Failure::malformed(
            "the query is not what this route takes",
        )]));
    }
    if operation.target.is_some() {
        own.extend(problems([Failure::NotFound("there is nothing of that id")]));
    }
    if route.is_websocket {
        own.extend(problems([Failure::UpgradeRequired]));
    }
    let own = by_status(own);
    let statuses = common
        .keys()
        .chain(own.keys().filter(|status| !common.contains_key(*status)));
    for status in statuses {
        let shared = common.get(status).map(Vec::as_slice).unwrap_or_default();
        let response = match own.get(status) {
            None => json!({ "$ref": format!("#/components/responses/{}{status}", kind.name()) }),
            Some(own) => response(&each_once([own, shared].concat())),
        };
        responses.insert(status.to_string(), response);
    }
}

/// The answers that many routes share.
pub(super) fn common() -> Map<String, Value> {
    let kinds = [Kind::Public, Kind::Lane, Kind::Scoped].into_iter();
    let named = kinds.flat_map(|kind| {
        let statuses = by_status(kind.problems()).into_iter();
        statuses.map(move |(status, problems)| (format!("{}{status}", kind.name()), response(&problems)))
    });
    named.collect()
}

/// Routes that fail alike.
#[derive(Clone, Copy)]
enum Kind {
    /// Open to everybody.
    Public,
    /// Open to everybody who shows a credential that opens nothing else.
    Lane,
    /// Behind a scope.
    Scoped,
}

impl Kind {
    fn of(route: &RouteInfo) -> Self {
        match (route.scope, &route.method) {
            (Scope::Public, &Method::GET) if !route.path.contains('{') => Self::Public,
            (Scope::Public, _) => Self::Lane,
            _ => Self::Scoped,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Public => "Public",
            Self::Lane => "Lane",
            Self::Scoped => "Scoped",
        }
    }

    fn problems(self) -> Vec<Problem> {
        let mut all = problems([
            Failure::AmbiguousHost,
            Failure::OtherUser,
            Failure::WrongHost,
            Failure::WrongOrigin,
            Failure::Internal {
                request_id: "5f3a91c07be24d68".to_owned(),
            },
        ]);
        match self {
            Self::Public => all.extend(of_strangers()),
            Self::Lane => {
                all.extend(of_strangers());
                all.extend(of_credentials());
            }
            Self::Scoped => {
                all.extend(of_credentials());
                all.extend(of_principals());
            }
        }
        all
    }
}

fn of_strangers() -> Vec<Problem> {
    problems([
        Failure::Uninvited(Uninvited::GuestsOnly),
        Failure::TooManyRequests,
    ])
}

fn of_credentials() -> Vec<Problem> {
    let retry_after = Duration::from_secs(60);
    problems([
        Failure::Unauthenticated,
        MalformedToken::Checksum.into(),
        AuthError::Unknown.into(),
        AuthError::Revoked.into(),
        AuthError::Expired.into(),
        Failure::TooManyFailures { retry_after },
    ])
}

fn of_principals() -> Vec<Problem> {
    problems([
        AuthError::ProofRequired.into(),
        AuthError::AccessEnded.into(),
        Failure::Ended,
        Failure::denied(Denied::Scope(Scope::Any), &Principal::Nobody),
        AuthError::WrongNode.into(),
        AuthError::NodeUnknown.into(),
        AuthError::WrongLogin.into(),
        AuthError::LoginUnknown.into(),
        Failure::Uninvited(Uninvited::GuestsOnly),
        Failure::Withheld,
        Failure::UnknownOrigin {
            detail: "it cannot be told whether the peer runs inside of a session",
            hint: "ask again",
        },
        Failure::StaleLife,
        Failure::OtherPrincipal,
        Failure::TooManyConnections,
    ])
}

fn by_status(problems: Vec<Problem>) -> BTreeMap<u16, Vec<Problem>> {
    let mut all: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
    for problem in each_once(problems) {
        all.entry(problem.status).or_default().push(problem);
    }
    all
}

/// Each status and code once.
fn each_once(mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut said = BTreeSet::new();
    problems.retain(|problem| said.insert((problem.status, problem.code.clone())));
    problems
}

fn response(problems: &[Problem]) -> Value {
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    let lines = problems.iter();
    let lines = lines.map(|Problem { code, detail, .. }| format!("- `{code}`: {detail}."));
    json!({
        "description": lines.collect::<Vec<_>>().join("\n"),
        "content": { Problem::CONTENT_TYPE: {
            "schema": {
                "allOf": [{ "$ref": "#/components/schemas/Problem" }, { "properties": { "code": { "enum": codes } } }],
            },
            "example": problems.first(),
        } },
    })
}
