//! The description of the API, OpenAPI 3.1, made of the routes' rows and of what they say of themselves.

mod failures;
mod schemas;

use std::fmt::Write;

use http::StatusCode;
use pairing::{DeviceId, GuestId, Principal, Role, Scope};
use serde_json::{Map, Value, json};

use self::schemas::Schemas;
use crate::{
    operation::{Answer, Content, Credential, Operation, PathId},
    router::RouteInfo,
};

/// What is described.
#[derive(Clone, Copy, Debug)]
pub struct Api {
    /// What it is called.
    pub title: &'static str,
    /// Its version.
    pub version: &'static str,
    /// How it is used, in Markdown.
    pub description: &'static str,
    /// What it calls its resources, as in scopes.
    pub noun: &'static str,
}

/// A row, and what it says of itself.
pub type Row = (RouteInfo, Option<&'static Operation>);

/// Why the rows make no description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDescribed {
    /// A row says nothing of itself.
    #[error("{0} says nothing of itself: add `.described(&…)` to its row")]
    Silent(String),
    /// Its words do not fit its path.
    #[error("{0} has an `{{id}}` that it does not describe, or describes one that it has not")]
    Path(String),
    /// Two rows have one name.
    #[error("two routes are called {0}")]
    Twice(&'static str),
    /// A type is taken and answered, and differs.
    #[error("{0} is not the same where it is taken and where it is answered: use two types")]
    TwoShapes(String),
}

/// The description of an API that has these routes.
///
/// # Errors
/// Where a route cannot be described.
pub fn describe(api: &Api, rows: &[Row]) -> Result<Value, NotDescribed> {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    let mut names = Vec::new();
    for (route, operation) in rows {
        let operation = operation.ok_or_else(|| NotDescribed::Silent(name_of(route)))?;
        if names.contains(&operation.name) {
            return Err(NotDescribed::Twice(operation.name));
        }
        names.push(operation.name);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = one(api, route, operation, &mut schemas)?;
    }
    let schemas = schemas.finish()?;
    Ok(json!({
        "openapi": "3.1.1",
        "info": { "title": api.title, "version": api.version, "description": api.description },
        "servers": [{
            "url": "https://{authority}",
            "description": "A TLS listener, or, without TLS and with any host, the Unix socket.",
            "variables": { "authority": { "default": "localhost", "description": "Host and port, as links show them." } },
        }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": failures::common(),
            "parameters": { "Life": life() },
            "securitySchemes": security_schemes(),
        },
    }))
}

/// The table of all routes, in Markdown.
///
/// # Errors
/// Where a route says nothing of itself.
pub fn table(api: &Api, rows: &[Row]) -> Result<String, NotDescribed> {
    let mut table = String::from("| route | scope | what it does |\n|---|---|---|\n");
    for (route, operation) in rows {
        let operation = operation.ok_or_else(|| NotDescribed::Silent(name_of(route)))?;
        let scope = route.scope.name(api.noun);
        writeln!(
            table,
            "| `{}` | `{scope}` | {} |",
            name_of(route),
            operation.summary
        )
        .expect("a string takes every write");
    }
    Ok(table)
}

fn name_of(route: &RouteInfo) -> String {
    format!("{} {}", route.method, route.path)
}

fn one(
    api: &Api,
    route: &RouteInfo,
    operation: &Operation,
    schemas: &mut Schemas,
) -> Result<Value, NotDescribed> {
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [tag(route.path)],
        "x-scope": route.scope.name(api.noun),
        "x-principals": principals(route.scope),
        "security": security(route.scope, operation.credential),
        "responses": responses(route, operation, schemas),
    });
    if !operation.details.is_empty() {
        described["description"] = operation.details.into();
    }
    let parameters = parameters(route, operation, schemas)?;
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(taken) = operation.body {
        described["requestBody"] = json!({
            "required": taken.is_required,
            "content": { "application/json": {
                "schema": schemas.taken(taken.shape), "example": taken.shape.example(),
            } },
        });
    }
    Ok(described)
}

/// Routes that begin with the same word are shown together.
fn tag(path: &str) -> &str {
    let rest = path.strip_prefix(protocol::API).unwrap_or(path);
    rest.trim_start_matches('/').split('/').next().unwrap_or(rest)
}

/// Who has the scope, by the table itself.
fn principals(scope: Scope) -> Vec<&'static str> {
    let device = |role, can_revoke| Principal::Device {
        id: DeviceId::from_bytes([0; 8]),
        role,
        can_revoke,
    };
    let session = "ses_0".parse().map(Principal::Session);
    let all = [
        ("owner", Some(Principal::Owner)),
        ("operator", Some(device(Role::Operator, false))),
        ("operator who may revoke", Some(device(Role::Operator, true))),
        ("viewer", Some(device(Role::Viewer, false))),
        ("viewer who may revoke", Some(device(Role::Viewer, true))),
        ("metrics device", Some(device(Role::Metrics, false))),
        ("guest", Some(Principal::Guest(GuestId::from_bytes([0; 8])))),
        ("program in a session", session.ok()),
        ("nobody", Some(Principal::Nobody)),
    ];
    let allowed = |principal: &Option<Principal>| principal.as_ref().is_some_and(|who| who.allows(scope));
    let admitted = all.iter().filter(|(_, principal)| allowed(principal));
    admitted.map(|(name, _)| *name).collect()
}

fn security(scope: Scope, credential: Option<Credential>) -> Value {
    match (scope, credential) {
        (_, Some(Credential::HolderToken)) => json!([{ "holderToken": [] }]),
        (_, Some(Credential::RequestSecret)) => json!([{ "requestSecret": [] }]),
        (Scope::Public, None) => json!([]),
        // On the Unix socket the kernel says who comes.
        (_, None) => json!([{ "accessToken": [] }, {}]),
    }
}

fn security_schemes() -> Value {
    let bearer = |what: &str| json!({ "type": "http", "scheme": "bearer", "description": what });
    json!({
        "accessToken": bearer(
            "What `POST /v1/auth/proof` gives a device with a key (`tsm_acc_…`), or the token of a device that was added without \
             one (`tsm_dev_…`). On the Unix socket nothing is sent: the kernel says who comes."
        ),
        "holderToken": bearer("The token that a device or guest was given, and that opens nothing but this."),
        "requestSecret": bearer("The secret of the pairing request (`tsm_req_…`)."),
    })
}

fn life() -> Value {
    json!({
        "name": protocol::access::LIFE_HEADER,
        "in": "header",
        "description": "The run of the daemon that this is meant for (`life` of `GET /v1/whoami`): another one answers \
                        `stale_life`, and does nothing.",
        "schema": { "type": "string" },
    })
}

fn parameters(
    route: &RouteInfo,
    operation: &Operation,
    schemas: &mut Schemas,
) -> Result<Vec<Value>, NotDescribed> {
    let mut parameters: Vec<Value> = Vec::new();
    if operation.target.is_some() != route.path.contains("{id}") {
        return Err(NotDescribed::Path(name_of(route)));
    }
    parameters.extend(operation.target.map(path_id));
    parameters.extend(operation.query.into_iter().flat_map(|shape| schemas.query(shape)));
    if route.scope != Scope::Public && !route.is_websocket {
        parameters.push(json!({ "$ref": "#/components/parameters/Life" }));
    }
    Ok(parameters)
}

fn path_id(PathId { what, prefix }: PathId) -> Value {
    json!({
        "name": "id",
        "in": "path",
        "required": true,
        "description": format!("Which: {what}."),
        "schema": { "type": "string", "pattern": format!("^{prefix}_[0-9a-f]{{16}}$") },
        "example": format!("{prefix}_5f3a91c07be24d68"),
    })
}

fn responses(route: &RouteInfo, operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    if route.is_websocket {
        let described = "The connection is a WebSocket from here on.";
        responses.insert("101".to_owned(), json!({ "description": described }));
    }
    for Answer { status, content } in operation.answers.into_iter().flatten() {
        let response = responses.entry(status.to_string()).or_insert_with(|| {
            let status = StatusCode::from_u16(status).ok();
            json!({ "description": status.and_then(|status| status.canonical_reason()).unwrap_or_default() })
        });
        add(response, content, schemas);
    }
    failures::add(&mut responses, route, operation);
    Value::Object(responses)
}

fn add(response: &mut Value, content: Content, schemas: &mut Schemas) {
    let (media_type, body) = match content {
        Content::Nothing => return,
        Content::Json(shape) => (
            "application/json",
            json!({ "schema": schemas.given(shape), "example": shape.example() }),
        ),
        Content::Other("application/json") => ("application/json", json!({ "schema": { "type": "object" } })),
        Content::Other(other) => (other, json!({ "schema": { "type": "string" } })),
        Content::Events(shape) => (
            "text/event-stream",
            json!({
                "schema": { "type": "string" },
                "x-event-data": { "schema": schemas.given(shape), "example": shape.example() },
            }),
        ),
    };
    let said = &mut response["content"][media_type];
    match said.get("schema").cloned() {
        None => *said = body,
        Some(one) => said["schema"] = json!({ "anyOf": [one, body["schema"]] }),
    }
}
