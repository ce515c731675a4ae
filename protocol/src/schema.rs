//! JSON Schemas of the wire types, and an example of each, for the description of the API. Behind the feature `schema`: without
//! it a [`Shape`] is nothing, and every type has one.

#[cfg(feature = "schema")]
mod examples;
#[cfg(feature = "schema")]
mod stand_ins;

#[cfg(feature = "schema")]
pub use schemars::{self, JsonSchema};

#[cfg(feature = "schema")]
pub use self::{
    examples::shown,
    stand_ins::{DeviceId, GuestId, OfferId, RequestId, Role, Time},
};

/// A type that has a schema and an example.
#[cfg(feature = "schema")]
pub trait Described: JsonSchema {
    /// A value of it as the wire has it.
    fn example() -> serde_json::Value;
}

/// A type of the wire. Only with the feature `schema` it must have a schema and an example.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

#[cfg(feature = "schema")]
impl<T: Described> Described for Vec<T> {
    fn example() -> serde_json::Value {
        serde_json::Value::Array(vec![T::example()])
    }
}

/// What a type says of itself, without the type.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    #[cfg(feature = "schema")]
    schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    #[cfg(feature = "schema")]
    example: fn() -> serde_json::Value,
}

impl Shape {
    /// That of a type.
    #[must_use]
    pub const fn of<T: Described>() -> Self {
        Self {
            #[cfg(feature = "schema")]
            schema: schemars::SchemaGenerator::subschema_for::<T>,
            #[cfg(feature = "schema")]
            example: T::example,
        }
    }
}

#[cfg(feature = "schema")]
impl Shape {
    /// Its schema, which may refer to definitions that the generator gathers.
    #[must_use]
    pub fn schema(self, generator: &mut schemars::SchemaGenerator) -> serde_json::Value {
        (self.schema)(generator).to_value()
    }

    /// A value of it.
    #[must_use]
    pub fn example(self) -> serde_json::Value {
        (self.example)()
    }
}
