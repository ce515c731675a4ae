//! The description of the API: as it is committed, which is what is served, and how it is made of the routes.

/// `docs/openapi.json`, OpenAPI 3.1. `cargo xtask gen` writes it.
pub const DOCUMENT: &str = include_str!("../../docs/openapi.json");

#[cfg(feature = "openapi")]
pub use made::{document, table};

#[cfg(feature = "openapi")]
mod made {
    use serde_json::Value;
    use server::openapi::{Api, NotDescribed, Row, describe};

    /// The whole of `docs/openapi.json`.
    ///
    /// # Errors
    /// Where a route does not say what it does.
    pub fn document() -> Result<String, NotDescribed> {
        let mut text = String::new();
        write(&describe(&API, &rows())?, 0, 0, &mut text);
        Ok(text + "\n")
    }

    /// The whole of `docs/routes.md`.
    ///
    /// # Errors
    /// Where a route does not say what it does.
    pub fn table() -> Result<String, NotDescribed> {
        let table = server::openapi::table(&API, &rows())?;
        Ok(format!("{ABOVE_THE_TABLE}{table}"))
    }

    /// Writes what fits into one line as one, behind a name of so many bytes: who reviews a change sees what belongs together.
    fn write(value: &Value, indent: usize, name: usize, into: &mut String) {
        let short = value.to_string();
        let parts: Vec<(String, &Value)> = match value {
            Value::Object(fields) => {
                let named = fields.iter();
                named
                    .map(|(name, value)| (format!("{}: ", Value::from(name.as_str())), value))
                    .collect()
            }
            Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
            _ => Vec::new(),
        };
        if parts.is_empty() || indent + name + short.len() <= LINE {
            into.push_str(&short);
            return;
        }
        let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
        into.push(open);
        for (number, (name, part)) in parts.iter().enumerate() {
            into.push_str(if number == 0 { "\n" } else { ",\n" });
            into.push_str(&" ".repeat(indent + 2));
            into.push_str(name);
            write(part, indent + 2, name.len(), into);
        }
        into.push('\n');
        into.push_str(&" ".repeat(indent));
        into.push(close);
    }

    fn rows() -> Vec<Row> {
        let mut rows = server::routes().operations();
        rows.extend(crate::routes().operations());
        rows
    }

    /// Bytes of a line, where it can be.
    const LINE: usize = 120;

    const API: Api = Api {
        title: "Transom",
        version: env!("CARGO_PKG_VERSION"),
        description: "Terminal sessions of one user, on the Unix socket of the daemon's own machine and, for paired devices and \
                      guests, over TLS. How to authenticate, and what holds of every route: `docs/api.md`. The messages of an \
                      attached WebSocket: `docs/attach.md`.\n\n`x-scope` names what a route demands, `x-principals` who has it.",
        noun: "session",
    };

    const ABOVE_THE_TABLE: &str = "# Routes\n\n\
        Made by `cargo xtask gen` from the routes; do not edit. What each takes and answers, and how it fails, stands in \
        [openapi.json](openapi.json); how to use them, in [api.md](api.md).\n\n";

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_committed_description_is_current() {
            assert!(
                crate::openapi::DOCUMENT == super::document().unwrap(),
                "run `cargo xtask gen`, and commit docs/openapi.json"
            );
        }

        #[test]
        fn the_committed_table_of_routes_is_current() {
            assert!(
                include_str!("../../docs/routes.md") == super::table().unwrap(),
                "run `cargo xtask gen`, and commit docs/routes.md"
            );
        }
    }
}
