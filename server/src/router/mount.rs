//! An embedder's own axum router as one row of the list.

use std::sync::Arc;

use axum::{Router, middleware};
use http::Method;
use pairing::PermitScope;

use super::{Demand, RouteInfo, Routes, authorise};
use crate::access::Access;

impl<D: Clone + Send + Sync + 'static> Routes<D> {
    /// Puts everything below `prefix` behind the scope `S`, whatever its method, also what `router` has no route for. The
    /// router sees its paths without the prefix, and finds a [`Permit<S>`](pairing::Permit) among the request's extensions.
    ///
    /// `resource` as for [`Routes::route`]. Where none is named and `S` is about resources, those who see only some of them,
    /// guests and programs inside of one, are refused: the router would not know what to keep from them.
    ///
    /// A revocation cuts what the router upgraded as it does everything else, without a close frame.
    ///
    /// # Panics
    /// When built, where the prefix is empty, `/`, or in the way of another row.
    pub fn mount<S: PermitScope + 'static>(
        self,
        prefix: &'static str,
        resource: Option<&'static str>,
        router: Router,
    ) -> Self {
        let info = RouteInfo {
            method: Method::GET,
            path: prefix,
            scope: S::SCOPE,
            resource,
            is_websocket: false,
            is_mounted: true,
        };
        let add = move |all: Router, access: &Arc<Access>, _: D| {
            let demand = Demand {
                access: Arc::clone(access),
                resource,
                is_filtered: false,
            };
            // As a service of its own, and layered whole: a path that it does not have is behind the scope too, and falls
            // through to nothing.
            let guarded = router.layer(middleware::from_fn_with_state(demand, authorise::<S>));
            all.nest_service(prefix, guarded)
        };
        self.add(info, Box::new(add))
    }
}

#[cfg(test)]
mod tests;
