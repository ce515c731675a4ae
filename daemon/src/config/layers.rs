//! The layers of the configuration, each value with the place it came from.

use std::{collections::BTreeMap, ffi::OsString, fmt, fs, io, path::Path};

use toml::{Table, Value};

use super::{
    ConfigError,
    keys::{KEYS, OTHER_VARIABLES, nearest, variable},
};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The built-in default.
    Default,
    /// The configuration file.
    File(String),
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => formatter.write_str(path),
            Self::Environment(name) => formatter.write_str(name),
            Self::Flag => formatter.write_str("flag"),
        }
    }
}

/// Every key with its value and where that came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers(BTreeMap<&'static str, (Value, Source)>);

impl Layers {
    /// Lays flags over the environment over the file over the defaults.
    pub(super) fn read(
        file: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
        flags: &[(&str, String)],
    ) -> Result<Self, ConfigError> {
        let mut layers = Self::defaults();
        layers.add_file(file)?;
        // Names and values of other programs' variables may be any bytes; of ours such a value is one that no key takes.
        let ours = environment.filter_map(|(name, text)| {
            let name = name.into_string().ok()?;
            let is_ours = name.starts_with("TRANSOM_");
            is_ours.then(|| (name, text.to_string_lossy().into_owned()))
        });
        for (name, text) in ours {
            if OTHER_VARIABLES.contains(&name.as_str()) {
                continue;
            }
            let Some((key, _)) = KEYS.iter().find(|(key, _)| variable(key) == name) else {
                let known: Vec<String> = KEYS.iter().map(|(key, _)| variable(key)).collect();
                let nearest = nearest(&name, known.iter().map(String::as_str)).to_owned();
                return Err(ConfigError::UnknownKey {
                    place: "the environment".to_owned(),
                    key: name,
                    nearest,
                });
            };
            layers.set(key, from_text(key, &text), Source::Environment(name));
        }
        for (key, text) in flags {
            if let Some((key, _)) = KEYS.iter().find(|(known, _)| known == key) {
                layers.set(key, from_text(key, text), Source::Flag);
            }
        }
        Ok(layers)
    }

    /// Each key with its value as TOML and its source, in the order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, String, &Source)> {
        self.0
            .iter()
            .map(|(key, (value, source))| (*key, value.to_string(), source))
    }

    /// The keys whose values are others than those.
    pub(crate) fn differences<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = &'static str> + 'a {
        let is_other = |(key, (value, _)): (&&'static str, &(Value, Source))| {
            let other = others.0.get(*key).map(|(value, _)| value);
            (other != Some(value)).then_some(*key)
        };
        self.0.iter().filter_map(is_other)
    }

    /// Whether the file sets anything.
    pub(crate) fn have_file(&self) -> bool {
        self.0
            .values()
            .any(|(_, source)| matches!(source, Source::File(_)))
    }

    /// Each value as JSON, for scripts.
    pub fn json(&self, key: &str) -> serde_json::Value {
        self.0
            .get(key)
            .and_then(|(value, _)| serde_json::to_value(value).ok())
            .unwrap_or(serde_json::Value::Null)
    }

    /// The value of a key, parsed.
    pub(super) fn parse<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        let (value, _) = &self.0[key];
        parse(value).map_err(|why| self.bad_value(key, &why))
    }

    pub(super) fn bad_value(&self, key: &'static str, why: &str) -> ConfigError {
        let (value, source) = &self.0[key];
        ConfigError::BadValue {
            place: source.to_string(),
            key: key.to_owned(),
            value: value.to_string(),
            why: why.to_owned(),
        }
    }

    fn defaults() -> Self {
        let parsed = KEYS.iter().map(|(key, default)| {
            let table: Table = toml::from_str(&format!("value = {default}")).expect("every default is TOML");
            (*key, (table["value"].clone(), Source::Default))
        });
        Self(parsed.collect())
    }

    fn add_file(&mut self, file: &Path) -> Result<(), ConfigError> {
        let path = file.display().to_string();
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(ConfigError::Unreadable {
                    path,
                    why: error.to_string(),
                });
            }
        };
        let table: Table = toml::from_str(&text).map_err(|error| ConfigError::Syntax {
            path: path.clone(),
            why: in_one_line(&error, &text),
        })?;
        for (section, value) in table {
            let Value::Table(entries) = value else {
                return Err(unknown(&path, &section));
            };
            for (name, value) in entries {
                let written = format!("{section}.{name}");
                let (key, _) = KEYS
                    .iter()
                    .find(|(key, _)| *key == written)
                    .ok_or_else(|| unknown(&path, &written))?;
                self.set(key, value, Source::File(path.clone()));
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &'static str, value: Value, source: Source) {
        self.0.insert(key, (value, source));
    }
}

/// What is wrong and where, as an error of ours says it; TOML's own words draw the line below.
fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let words = error.message().trim().replace('\n', ", ");
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            format!("line {line}: {words}")
        }
        None => words,
    }
}

fn unknown(path: &str, key: &str) -> ConfigError {
    let nearest = nearest(key, KEYS.iter().map(|(known, _)| *known)).to_owned();
    ConfigError::UnknownKey {
        place: path.to_owned(),
        key: key.to_owned(),
        nearest,
    }
}

/// A value as the environment writes it: lists by commas, everything else as in the file, without quotes.
fn from_text(key: &str, text: &str) -> Value {
    let bare = |text: &str| {
        toml::from_str::<Table>(&format!("value = {text}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .filter(|value| value.is_integer() || value.is_bool())
            .unwrap_or_else(|| Value::String(text.to_owned()))
    };
    let is_list = KEYS
        .iter()
        .any(|(known, default)| *known == key && default.starts_with('['));
    if is_list {
        return Value::Array(
            text.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(bare)
                .collect(),
        );
    }
    bare(text)
}
