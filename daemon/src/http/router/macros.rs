//! Generates the router and the list of routes from the route table.

/// Generates a function per group of routes, `all_groups`, `ROUTES`, and `operations`.
///
/// `as "…"` gives the operation another id than that of its handler, for routes that share a handler. `#[deprecated]`
/// marks an operation as deprecated. A group marked `speaking PROTOCOL` is not part of the REST API and has no OpenAPI
/// description.
macro_rules! routes {
    ($($(#[$doc:meta])* $group:ident below $prefix:literal $(speaking $other:ident)? {
        $($(#[$mark:ident])? $method:ident $path:literal => $($handler:ident)::+ $(::<$of:ident>)? $(as $id:literal)?;)*
    })*) => {
        $($(#[$doc])* fn $group() -> Router<AppState> {
            Router::new()$(.route(concat!($prefix, $path), $method($($handler)::+ $(::<$of>)?)))*
        })*

        /// Returns a router with the routes of all groups.
        pub(super) fn all_groups() -> Router<AppState> {
            Router::new()$(.merge($group()))*
        }

        /// The routes of all groups, see [`super::ROUTES`].
        pub(super) const ROUTES: &[(&str, &str)] = &[$($((stringify!($method), concat!($prefix, $path)),)*)*];

        /// Calls `each` with the OpenAPI description of every route of the REST API.
        pub(super) fn operations(mut each: impl FnMut(RouteDescription)) {
            $(routes!(@describe each [$($other)?] $prefix {
                $($(#[$mark])? $method $path => $($handler)::+ $(::<$of>)? $(as $id)?;)*
            });)*
        }
    };
    (@describe $each:ident [$other:ident] $($group:tt)*) => {};
    (@describe $each:ident [] $prefix:literal {
        $($(#[$mark:ident])? $method:ident $path:literal => $($handler:ident)::+ $(::<$of:ident>)? $(as $id:literal)?;)*
    }) => {
        $({
            #[derive(utoipa::OpenApi)]
            #[openapi(paths($($handler)::+))]
            struct Handler;
            let description = RouteDescription::new(stringify!($method), concat!($prefix, $path), Handler::openapi());
            $each(description $(.with_id($id))? $(.of_owner(<$of as HookPath>::TEXT))? $(.$mark())?);
        })*
    };
}

pub(super) use routes;
