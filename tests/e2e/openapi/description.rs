//! The description that a daemon serves, as a client reads it that knows nothing else.

use std::sync::Mutex;

use boon::{Compiler, Schemas};
use harness::{Answer, TestDaemon};
use protocol::Problem;
use serde_json::{Map, Value, json};
use server::RouteInfo;

/// The served document.
pub(crate) struct Description {
    document: Value,
    /// What reads its schemas, and those that were read.
    schemas: Mutex<(Compiler, Schemas)>,
}

/// One operation of it.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Its name.
    pub(crate) name: String,
    /// The method, in capitals.
    pub(crate) method: String,
    /// The path, with `{id}` in it.
    pub(crate) path: String,
    described: Value,
}

impl Description {
    /// Asks for it as the owner.
    pub(crate) async fn of(daemon: &TestDaemon) -> Self {
        let answer = daemon.owner().get("/v1/openapi.json").await;
        assert_eq!(answer.headers["content-type"], "application/json");
        let document: Value = answer.ok();
        let mut closed = document.clone();
        closed["components"]["schemas"]
            .as_object_mut()
            .unwrap()
            .values_mut()
            .for_each(close);
        let mut compiler = Compiler::new();
        compiler.add_resource(PLACE, closed).unwrap();
        Self {
            document,
            schemas: Mutex::new((compiler, Schemas::new())),
        }
    }

    /// All operations.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let paths = self.document["paths"].as_object().unwrap();
        let methods = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, described)| Operation {
                name: described["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                described: described.clone(),
            })
        });
        methods.collect()
    }

    /// The operation of this name.
    pub(crate) fn operation(&self, name: &str) -> Operation {
        let all = self.operations();
        let found = all.into_iter().find(|operation| operation.name == name);
        found.unwrap_or_else(|| panic!("no operation is called {name}"))
    }

    /// How an answer of the operation is not as it is described.
    pub(crate) fn fault(&self, operation: &Operation, answer: &Answer) -> Option<String> {
        let said = format!("{} {}: {}", operation.method, operation.path, answer.status);
        let place = self.response(operation, answer.status);
        let Some(response) = self.document.pointer(&place) else {
            return Some(format!("{said} is not described: {}", answer.body));
        };
        let kind = answer.headers.get("content-type");
        let kind = kind.map(|kind| kind.to_str().unwrap().split(';').next().unwrap());
        let Some(content) = response.get("content") else {
            return (!answer.body.is_empty()).then(|| format!("{said} has a body: {}", answer.body));
        };
        let Some(kind) = kind.filter(|kind| content.get(*kind).is_some()) else {
            return Some(format!("{said} is not described as {kind:?}"));
        };
        let value = match kind {
            "application/json" | Problem::CONTENT_TYPE => serde_json::from_str(&answer.body).unwrap(),
            _ => json!(answer.body),
        };
        let schema = format!("{place}/content/{}/schema", escaped(kind));
        let why = self.mismatch(&schema, &value)?;
        Some(format!("{said} {value}: {why}"))
    }

    /// The same for the operation of a route.
    pub(crate) fn fault_of(&self, route: &RouteInfo, answer: &Answer) -> Option<String> {
        let described = &self.document["paths"][route.path][route.method.as_str().to_lowercase()];
        let operation = self.operation(described["operationId"].as_str()?);
        self.fault(&operation, answer)
    }

    /// Where the response of a status is described, if it is.
    fn response(&self, operation: &Operation, status: u16) -> String {
        let Operation { method, path, .. } = operation;
        let place = format!(
            "/paths/{}/{}/responses/{status}",
            escaped(path),
            method.to_lowercase()
        );
        let reference = operation.described["responses"][status.to_string()]["$ref"].as_str();
        reference.map_or(place, |reference| reference[1..].to_owned())
    }

    /// Why a value is not as the schema at a place of the document says. What that does not name must not be in it.
    pub(crate) fn mismatch(&self, schema: &str, value: &Value) -> Option<String> {
        let (compiler, schemas) = &mut *self.schemas.lock().unwrap();
        let wanted = compiler.compile(&format!("{PLACE}#{schema}"), schemas);
        let wanted = wanted.unwrap_or_else(|error| panic!("{schema} is no schema: {error:#}"));
        let refused = schemas.validate(value, wanted).err();
        refused.map(|error| format!("{error:#}"))
    }

    /// Where every schema stands that has an example beside it, and that.
    pub(crate) fn examples(&self) -> Vec<(String, Value)> {
        let mut examples = Vec::new();
        gather(&self.document, "", &mut examples);
        examples
    }
}

impl Operation {
    /// What the description says of one of its fields.
    pub(crate) fn says(&self, field: &str) -> &Value {
        &self.described[field]
    }

    /// The example of its body.
    pub(crate) fn body(&self) -> Option<Value> {
        let content = self.described.get("requestBody")?.get("content")?;
        Some(content["application/json"]["example"].clone())
    }

    /// The path with an id in it, and the example of the query, each field of it as the test wants it.
    pub(crate) fn target(&self, id: &str, wanted: &Value) -> String {
        let parameters = self.described["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let fields = parameters.iter().filter(|parameter| parameter["in"] == "query");
        let query: Vec<String> = fields
            .filter_map(|field| {
                let name = field["name"].as_str().unwrap();
                let value = wanted.get(name).or_else(|| field.get("example"))?;
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:".contains(c);
                assert!(text.chars().all(is_plain), "{text} needs to be encoded");
                (!value.is_null()).then(|| format!("{name}={text}"))
            })
            .collect();
        let path = self.path.replace("{id}", id);
        match query.is_empty() {
            true => path,
            false => format!("{path}?{}", query.join("&")),
        }
    }
}

/// What an object does not name it does not have. Readers must not rely on that, and tests may.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.get("properties").is_some_and(Value::is_object) && !is_part(fields) {
                fields.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Whether other schemas beside it name more fields.
fn is_part(schema: &Map<String, Value>) -> bool {
    ["allOf", "anyOf", "oneOf"]
        .iter()
        .any(|word| schema.contains_key(*word))
}

fn gather(value: &Value, place: &str, examples: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            if let (Some(_), Some(example)) = (fields.get("schema"), fields.get("example")) {
                examples.push((format!("{place}/schema"), example.clone()));
            }
            for (name, value) in fields {
                gather(value, &format!("{place}/{}", escaped(name)), examples);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                gather(value, &format!("{place}/{number}"), examples);
            }
        }
        _ => {}
    }
}

/// A name as a part of a JSON pointer (RFC 6901).
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Where the document stands for those who look for what it refers to.
const PLACE: &str = "http://transom.test/openapi.json";
