//! Rows that say what they do, for the description of the API.

use super::Routes;
use crate::operation::Operation;

impl<D: Clone + Send + Sync + 'static> Routes<D> {
    /// Says of the row before what it does.
    ///
    /// # Panics
    /// Where there is none.
    #[cfg(feature = "openapi")]
    #[must_use]
    pub fn described(mut self, operation: &'static Operation) -> Self {
        let last = self.rows.last_mut().expect("a row comes before its description");
        last.operation = Some(operation);
        self
    }

    /// Says of the row before what it does.
    #[cfg(not(feature = "openapi"))]
    #[must_use]
    pub fn described(self, _: &'static Operation) -> Self {
        self
    }

    /// What is in the list, and what each says of itself.
    #[cfg(feature = "openapi")]
    pub fn operations(&self) -> Vec<crate::openapi::Row> {
        let rows = self.rows.iter();
        rows.map(|row| (row.info.clone(), row.operation)).collect()
    }
}
