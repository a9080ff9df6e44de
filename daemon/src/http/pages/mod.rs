//! Plain HTML pages for the web addresses in API responses, such as `html_url` and `avatar_url`.
//!
//! Clients and chats link to these addresses, but farrier has no web interface. The pages show the name of a
//! repository, how to clone it, and the repositories of an owner. The router calls [`fallback`] for paths without a
//! route. A page shows only what the caller may see. A missing and an invisible repository give the
//! same response.

mod avatar;
mod html;

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};

use super::{AppState, auth, error::ApiError};
use crate::{
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Error,
        access::Action,
        repositories::{self, FoundRepository},
        viewer,
    },
    store::Snapshot,
};

/// Maximum number of repositories on the page of an owner.
const LISTED_MAX: usize = 200;
/// First path segments of other protocols. No owner can have these names.
const PROTOCOLS: [&str; 4] = ["api", "twirp", "_blob", "_apis"];
/// Path segments after a repository that occur in the web addresses of API responses.
const BELOW_REPOSITORY: [&str; 4] = ["actions", "commit", "compare", "src"];
/// Pages run no scripts and load nothing, and other sites cannot show them in a frame.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The object that a path refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'a> {
    Root,
    Avatar(u64),
    Owner(&'a str),
    /// A repository or an object in it. `commit`: the object is this commit.
    Repository {
        owner: &'a str,
        name: &'a str,
        commit: Option<&'a str>,
    },
}

impl<'a> Target<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        if path.is_empty() {
            return Some(Self::Root);
        }
        let mut parts = path.split('/');
        let owner = parts.next().filter(|owner| !owner.is_empty() && !PROTOCOLS.contains(owner))?;
        let Some(name) = parts.next().filter(|name| !name.is_empty()) else {
            return parts.next().is_none().then_some(Self::Owner(owner));
        };
        if owner == "avatars" {
            return name.parse().ok().filter(|_| parts.next().is_none()).map(Self::Avatar);
        }
        let mut commit = None;
        match parts.next() {
            None | Some("") => {}
            // Requests of git clients get no page.
            Some(_) if name.ends_with(".git") => return None,
            Some(kind) if BELOW_REPOSITORY.contains(&kind) => {
                let is_id = |id: &&str| id.len() <= 64 && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit());
                commit = parts.next().filter(|_| kind == "commit").filter(is_id);
            }
            Some(_) => return None,
        }
        Some(Self::Repository { owner, name: name.strip_suffix(".git").unwrap_or(name), commit })
    }
}

/// Handles requests whose path has no route: returns a page, a redirect or 404.
pub(super) async fn fallback(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let target = Target::of(parts.uri.path()).filter(|_| matches!(parts.method, Method::GET | Method::HEAD));
    let Some(target) = target else { return ApiError::no_route().into_response() };
    match show(&state, &parts, target).await {
        Ok(page) => page,
        Err(Error::NotFound { .. } | Error::Unauthenticated { .. }) => not_found(&parts),
        Err(Error::Moved { owner, name }) => moved(&state, &format!("{owner}/{name}")),
        Err(Error::Renamed { to, .. }) => moved(&state, &to),
        Err(error) => ApiError::from(error).into_response(),
    }
}

async fn show(state: &AppState, parts: &Parts, target: Target<'_>) -> Result<Response, Error> {
    let sign_in_required = state.config.auth.require_sign_in;
    let identity = match target {
        Target::Root | Target::Avatar(_) if !sign_in_required => Identity::Anonymous,
        _ => match auth::identify(state, parts).await {
            Ok(identity) => identity,
            Err(_) if sign_in_required => return Ok(unauthenticated()),
            // With wrong credentials the page for anonymous callers is shown: a browser cannot show an API error.
            Err(_) => Identity::Anonymous,
        },
    };
    let (owner, repository) = match target {
        Target::Root => return Ok(page(StatusCode::OK, html::root(&state.root_url))),
        Target::Avatar(id) => return Ok(avatar(id)),
        Target::Owner(owner) => (owner, None),
        Target::Repository { owner, name, commit } => (owner, Some((name, commit))),
    };
    if ![Category::User, Category::Repository].into_iter().all(|of| identity.in_scope(of, Level::Read)) {
        return Err(Error::NotFound { what: "the page" });
    }
    let snapshot = state.store.read().await?;
    let text = match repository {
        Some((name, commit)) => {
            let found = repositories::find(&snapshot, &identity, owner, name, Action::Read).await?;
            repository_page(state, &found, commit)
        }
        None => owner_page(&snapshot, &identity, owner).await?,
    };
    Ok(page(StatusCode::OK, text))
}

fn repository_page(state: &AppState, found: &FoundRepository, commit: Option<&str>) -> String {
    let path = found.path();
    let clone_url = format!("{}/{path}.git", state.root_url);
    html::repository(&path, &found.repository.description, &clone_url, commit)
}

async fn owner_page(snapshot: &Snapshot, identity: &Identity, name: &str) -> Result<String, Error> {
    let owner = viewer::find(snapshot, identity, name).await?;
    let (found, total) = repositories::of_owner(snapshot, identity, &owner, 0, LISTED_MAX).await?;
    let rows: Vec<_> = found.iter().map(|found| (found.path(), found.repository.description.as_str())).collect();
    Ok(html::owner(owner.name(), &rows, total))
}

fn page(status: StatusCode, text: String) -> Response {
    respond(status, "text/html; charset=utf-8", text)
}

/// Returns the avatar of an account. Numbers without an account get an avatar, too, so that the response does not show
/// which accounts exist.
fn avatar(id: u64) -> Response {
    respond(StatusCode::OK, "image/svg+xml", avatar::svg(id))
}

fn respond(status: StatusCode, content_type: &'static str, text: String) -> Response {
    let mut response = (status, text).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the 404 page for browsers, and the 404 of the API for other clients.
fn not_found(parts: &Parts) -> Response {
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/html") {
        page(StatusCode::NOT_FOUND, html::not_found())
    } else {
        ApiError::no_route().into_response()
    }
}

/// Returns the page for callers without valid credentials, with a challenge to which browsers show a dialog.
fn unauthenticated() -> Response {
    let mut response = page(StatusCode::UNAUTHORIZED, html::unauthenticated());
    let challenge = HeaderValue::from_static("Basic realm=\"farrier\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn moved(state: &AppState, to: &str) -> Response {
    let mut response = respond(StatusCode::TEMPORARY_REDIRECT, "text/plain; charset=utf-8", "moved\n".into());
    match HeaderValue::from_str(&format!("{}/{to}", state.root_url)) {
        Ok(location) => {
            response.headers_mut().insert(header::LOCATION, location);
            response
        }
        Err(_) => ApiError::no_route().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_mapped_to_pages() {
        let repository = |commit| Some(Target::Repository { owner: "o", name: "r", commit });
        for (path, expected) in [
            ("/", Some(Target::Root)),
            ("/o", Some(Target::Owner("o"))),
            ("/o/", Some(Target::Owner("o"))),
            ("/o/r", repository(None)),
            ("/o/r.git", repository(None)),
            ("/o/r/", repository(None)),
            ("/o/r/commit/abc1", repository(Some("abc1"))),
            ("/o/r/commit/x", repository(None)),
            ("/o/r/src/main/a/b", repository(None)),
            ("/o/r/actions/runs/7", repository(None)),
            ("/o/r/compare/a...b", repository(None)),
            ("/avatars/7", Some(Target::Avatar(7))),
            ("/avatars/x", None),
            ("/o/r/HEAD", None),
            ("/o/r.git/HEAD", None),
            ("/o/r.git/commit/abc1", None),
            ("//r", None),
            ("/o//r", None),
            ("/api", None),
            ("/api/v1/nothing", None),
            ("*", None),
        ] {
            assert_eq!(Target::of(path), expected, "{path}");
        }
    }
}
