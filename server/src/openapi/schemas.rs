//! The schemas that routes refer to, gathered from their types.

use protocol::{
    Problem,
    schema::{Shape, schemars},
};
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::NotDescribed;

/// Types read otherwise than they write: what may be left out of a request stands in every answer.
pub(super) struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let mut given = generator(SchemaSettings::draft2020_12().for_serialize());
        given.subschema_for::<Problem>();
        Self {
            taken: generator(SchemaSettings::draft2020_12().for_deserialize()),
            given,
        }
    }

    /// The schema of what a route takes.
    pub(super) fn taken(&mut self, shape: Shape) -> Value {
        shape.schema(&mut self.taken)
    }

    /// The schema of what a route answers.
    pub(super) fn given(&mut self, shape: Shape) -> Value {
        shape.schema(&mut self.given)
    }

    /// The parameters of a query: one for each of its fields. Each may be left out, and none is null.
    pub(super) fn query(&mut self, shape: Shape) -> Vec<Value> {
        let reference = shape.schema(&mut self.taken);
        let name = reference["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next());
        let fields = name
            .and_then(|name| self.taken.definitions_mut().remove(name))
            .map(|schema| schema["properties"].clone());
        let example = shape.example();
        let Some(Value::Object(fields)) = fields else {
            return Vec::new();
        };
        let parameter = |(name, mut schema): (String, Value)| {
            let described = schema.as_object_mut().and_then(|schema| {
                schema.remove("default");
                schema.remove("description")
            });
            let mut parameter = json!({ "name": name, "in": "query", "schema": not_null(schema) });
            if let Some(described) = described {
                parameter["description"] = described;
            }
            if let Some(value) = example.get(&name) {
                parameter["example"] = value.clone();
            }
            plain(&mut parameter);
            parameter
        };
        fields.into_iter().map(parameter).collect()
    }

    /// All that was referred to.
    pub(super) fn finish(mut self) -> Result<Map<String, Value>, NotDescribed> {
        let mut all = self.given.take_definitions(true);
        for (name, schema) in self.taken.take_definitions(true) {
            match all.get(&name) {
                Some(other) if *other != schema => return Err(NotDescribed::TwoShapes(name)),
                _ => drop(all.insert(name, schema)),
            }
        }
        all.values_mut().for_each(plain);
        Ok(all)
    }
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    settings.into_generator()
}

/// The schema without null.
fn not_null(mut schema: Value) -> Value {
    let is_null = |one: &Value| *one == json!("null") || *one == json!({ "type": "null" });
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| !is_null(one));
        if let [one] = types.as_slice() {
            schema["type"] = one.clone();
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return schema;
    };
    choices.retain(|one| !is_null(one));
    match choices.as_slice() {
        [one] => one.clone(),
        _ => schema,
    }
}

/// Words of rustdoc for those who read no rustdoc: links to items are their names.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => *text = without_links(text),
                    value => plain(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

fn without_links(text: &str) -> String {
    let text = text.replace("[`", "`");
    let mut parts = text.split("`]");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or(part, |(_, rest)| rest),
            None => part,
        };
        whole.push('`');
        whole.push_str(rest);
    }
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{not_null, plain, without_links};

    #[test]
    fn links_to_items_become_their_names() {
        let text = "A [`Screen`], or [`life`](crate::access::WhoAmI::life) of `it` (that).";
        assert_eq!(without_links(text), "A `Screen`, or `life` of `it` (that).");
        let mut schema = json!({ "items": [{ "description": "[`Size`]" }], "example": "[`Size`]" });
        plain(&mut schema);
        assert_eq!(
            schema,
            json!({ "items": [{ "description": "`Size`" }], "example": "[`Size`]" })
        );
    }

    #[test]
    fn a_query_has_no_null() {
        assert_eq!(
            not_null(json!({ "type": ["integer", "null"] })),
            json!({ "type": "integer" })
        );
        let choice = json!({ "anyOf": [{ "$ref": "#/components/schemas/Time" }, { "type": "null" }] });
        assert_eq!(not_null(choice), json!({ "$ref": "#/components/schemas/Time" }));
    }
}
