//! Small pages for people who open an address of the API in a browser.
//!
//! The API family names addresses such as `html_url` and `avatar_url`, and chats and clients link to them. farrier
//! has no web interface, so these addresses lead to plain pages: what a repository is called, how to clone it, which
//! repositories an owner has. They are answered for paths that no route has, and show only what the caller may see.
//! A missing repository and one that the caller may not see give the same answer.

mod avatar;
mod html;

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};

use super::{auth, error::ApiError};
use crate::{
    app::App,
    model::{
        identity::Identity,
        scope::{Category, Level},
    },
    service::{
        Error,
        access::Action,
        repositories::{self, Found},
        viewer,
    },
    store::Snapshot,
};

/// Repositories on the page of an owner.
const LISTED_MAX: usize = 200;
/// First parts of paths that belong to protocols; no owner has such a name.
const PROTOCOLS: [&str; 3] = ["api", "twirp", "_blob"];
/// Parts of paths below a repository to which `html_url` and its like lead.
const BELOW_REPOSITORY: [&str; 4] = ["actions", "commit", "compare", "src"];
/// Pages run nothing and load nothing, and no other site shows them in a frame.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'a> {
    Root,
    Avatar(u64),
    Owner(&'a str),
    /// A repository, or something in it, which is a commit if it is known.
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
            // What git asks for with such a name is not answered with pages.
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

/// Answers what no route has.
pub(super) async fn answer(State(app): State<App>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let target = Target::of(parts.uri.path()).filter(|_| matches!(parts.method, Method::GET | Method::HEAD));
    let Some(target) = target else { return ApiError::no_route().into_response() };
    match show(&app, &parts, target).await {
        Ok(page) => page,
        Err(Error::NotFound { .. } | Error::Unauthenticated { .. }) => missing(&parts),
        Err(Error::Moved { owner, name }) => moved(&app, &format!("{owner}/{name}")),
        Err(Error::Renamed { to, .. }) => moved(&app, &to),
        Err(error) => ApiError::from(error).into_response(),
    }
}

async fn show(app: &App, parts: &Parts, target: Target<'_>) -> Result<Response, Error> {
    let (owner, repository) = match target {
        Target::Root => return Ok(page(StatusCode::OK, html::root(&app.root_url))),
        Target::Avatar(id) => return Ok(avatar(id)),
        Target::Owner(owner) => (owner, None),
        Target::Repository { owner, name, commit } => (owner, Some((name, commit))),
    };
    // Credentials that are wrong show what anybody sees: a browser cannot be told in the API's way.
    let identity = auth::identify(app, parts).await.unwrap_or(Identity::Anonymous);
    if ![Category::User, Category::Repository].into_iter().all(|of| identity.in_scope(of, Level::Read)) {
        return Err(Error::NotFound { what: "the page" });
    }
    let snapshot = app.store.read().await?;
    let text = match repository {
        Some((name, commit)) => {
            let found = repositories::find(&snapshot, &identity, owner, name, Action::Read).await?;
            repository_page(app, &found, commit)
        }
        None => owner_page(&snapshot, &identity, owner).await?,
    };
    Ok(page(StatusCode::OK, text))
}

fn repository_page(app: &App, found: &Found, commit: Option<&str>) -> String {
    let path = found.path();
    let clone_url = format!("{}/{path}.git", app.root_url);
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

/// The same for every number, so that it does not say which accounts exist.
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

/// Programs get the answer of the API for a path without a route.
fn missing(parts: &Parts) -> Response {
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/html") {
        page(StatusCode::NOT_FOUND, html::missing())
    } else {
        ApiError::no_route().into_response()
    }
}

fn moved(app: &App, to: &str) -> Response {
    let mut response = respond(StatusCode::TEMPORARY_REDIRECT, "text/plain; charset=utf-8", "moved\n".into());
    match HeaderValue::from_str(&format!("{}/{to}", app.root_url)) {
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
    fn paths_lead_to_pages_or_to_nothing() {
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
