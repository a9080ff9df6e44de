//! The route tables: one line per route.
//!
//! The router and [`ROUTES`] are generated from the same lines (`macros`). The access matrix test reads [`ROUTES`], so
//! no route can be missing there.

mod farrier;
mod macros;
mod protocols;

use axum::Router;

use super::{AppState, error::ApiError, openapi::RouteDescription, pages};

/// Every route: the method in lower case (`any` for all methods) and the path with its captures in braces. `get` also
/// handles HEAD.
pub const ROUTES: &[(&str, &str)] = {
    const JOINED: [(&str, &str); protocols::ROUTES.len() + farrier::ROUTES.len()] = {
        let mut joined = [("", ""); protocols::ROUTES.len() + farrier::ROUTES.len()];
        let mut number = 0;
        while number < joined.len() {
            joined[number] = match number.checked_sub(protocols::ROUTES.len()) {
                Some(own) => farrier::ROUTES[own],
                None => protocols::ROUTES[number],
            };
            number += 1;
        }
        joined
    };
    &JOINED
};

/// Calls `each` with the OpenAPI description of every route of the REST API.
pub(super) fn operations(mut each: impl FnMut(RouteDescription)) {
    protocols::operations(&mut each);
    farrier::operations(each);
}

/// Builds the router with every route of the daemon.
pub fn router(state: AppState) -> Router {
    let routes = protocols::all_groups().merge(farrier::all_groups());
    routes.fallback(pages::fallback).method_not_allowed_fallback(async || ApiError::no_method()).with_state(state)
}
