//! Git over HTTP: fetch and push in the smart protocol.
//!
//! Errors are plain text, which is what git shows. Who may do what is decided before git starts;
//! bytes stream in both directions with bounded memory; git dies with its client. The dumb
//! protocol does not exist here: it knows neither hidden refs nor events.

mod access;
mod answer;
mod error;
mod fetch;
mod input;
mod push;
mod refs;
mod watch;

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use self::{
    access::{Allowed, allow},
    error::GitFailure,
};
use super::error::ApiError;
use crate::{app::App, git::pkt};

/// What a client wants of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// `git-upload-pack`: fetch.
    Upload,
    /// `git-receive-pack`: push.
    Receive,
}

impl Service {
    fn named(word: &str) -> Option<Self> {
        match word {
            "git-upload-pack" => Some(Self::Upload),
            "git-receive-pack" => Some(Self::Receive),
            _ => None,
        }
    }

    /// The git command.
    fn command(self) -> &'static str {
        match self {
            Self::Upload => "upload-pack",
            Self::Receive => "receive-pack",
        }
    }
}

/// First parts of paths that belong to other protocols; no owner has such a name.
const NOT_OWNERS: [&str; 3] = ["api", "twirp", "_blob"];

/// `GET …/info/refs?service=…`: what there is, and what can be done with it.
pub(super) async fn info_refs(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    request: Request,
) -> Response {
    if NOT_OWNERS.contains(&place.0.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let word = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "service").map(|(_, word)| word);
    let Some(word) = word else { return GitFailure::dumb().into_response() };
    let Some(service) = Service::named(&word) else { return GitFailure::unknown_service().into_response() };
    let answered = match allow(&app, &parts, &place, service).await {
        Ok(allowed) => advertise(&app, &allowed, service, &parts.headers).await,
        Err(refused) => Err(refused),
    };
    answered.unwrap_or_else(GitFailure::into_response)
}

/// `POST …/git-upload-pack`
pub(super) async fn upload_pack(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(app, place, request, Service::Upload).await
}

/// `POST …/git-receive-pack`
pub(super) async fn receive_pack(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    request: Request,
) -> Response {
    serve(app, place, request, Service::Receive).await
}

async fn serve(app: App, place: (String, String), request: Request, service: Service) -> Response {
    if NOT_OWNERS.contains(&place.0.as_str()) {
        return ApiError::no_route().into_response();
    }
    let (parts, body) = request.into_parts();
    let answered = async {
        let allowed = allow(&app, &parts, &place, service).await?;
        let input = input::Input::new(&parts.headers, body, service, app.git.max_push_bytes())?;
        match service {
            Service::Upload => fetch::serve(app, allowed, input, protocol(&parts.headers)).await,
            Service::Receive => push::serve(app, allowed, input).await,
        }
    };
    answered.await.unwrap_or_else(GitFailure::into_response)
}

async fn advertise(
    app: &App,
    allowed: &Allowed,
    service: Service,
    headers: &HeaderMap,
) -> Result<Response, GitFailure> {
    let mut begin = BytesMut::new();
    pkt::put(&mut begin, format!("# service=git-{}\n", service.command()).as_bytes());
    pkt::put_flush(&mut begin);
    let repository = &allowed.found.repository;
    let protocol = protocol(headers).unwrap_or_default();
    let content_type = format!("application/x-git-{}-advertisement", service.command());
    if service == Service::Upload && protocol == "version=2" {
        let greeting = app.git.fetch_capabilities(repository.id, repository.sha256).await?;
        begin.extend_from_slice(&greeting);
        return Ok(answer(&content_type, axum::body::Body::from(begin.freeze())));
    }
    // Version 1 differs from the older one in its first line; nobody speaks it.
    if service == Service::Receive
        && !protocol.contains("version=1")
        && let Some(list) = app.git.ref_list(repository.id).await?
    {
        let capabilities = app.git.push_capabilities(repository.id, repository.sha256).await?;
        begin.unsplit(refs::advertisement(&list, &capabilities, repository.sha256));
        return Ok(answer(&content_type, axum::body::Body::from(begin.freeze())));
    }
    let call = app.git.call(repository.id, [service.command(), "--stateless-rpc", "--advertise-refs"]);
    let call = call.args([app.git.directory(repository.id)]).env("GIT_PROTOCOL", protocol);
    let body = fetch::stream(app, call, input::Input::none(), begin.freeze()).await?;
    Ok(answer(&content_type, body))
}

/// The protocol that a client asks for, if it is nothing but words: it goes into git's environment.
fn protocol(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("git-protocol")?.to_str().ok()?;
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => word(key) && word(value),
        None => word(pair),
    };
    (text.len() <= 256 && text.split(':').all(pair)).then_some(text)
}

/// 200 with headers that keep caches away.
fn answer(content_type: &str, body: axum::body::Body) -> Response {
    let mut response = Response::new(body);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    uncached(response.headers_mut());
    response
}

fn uncached(headers: &mut HeaderMap) {
    let fixed: [(HeaderName, &'static str); 3] = [
        (header::EXPIRES, "Fri, 01 Jan 1980 00:00:00 GMT"),
        (header::PRAGMA, "no-cache"),
        (header::CACHE_CONTROL, "no-cache, max-age=0, must-revalidate"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The content type of an answer to a POST.
fn result(service: Service, body: impl Into<axum::body::Body>) -> Response {
    answer(&format!("application/x-git-{}-result", service.command()), body.into())
}

/// Bytes that nothing has to be said with.
const NOTHING: Bytes = Bytes::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_go_into_the_environment() {
        let shown = |text: &str| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static("git-protocol"), text.parse().expect("a value"))]);
            protocol(&headers).map(str::to_owned)
        };
        for good in ["version=2", "version=1", "version=2:object=sha1", "a"] {
            assert_eq!(shown(good).as_deref(), Some(good));
        }
        for bad in ["", "version=2;rm", "version=2:", "=2", "version=", "a=b=c", "version=2 x", "version=$(id)"] {
            assert_eq!(shown(bad), None, "{bad}");
        }
        assert_eq!(shown(&"a".repeat(257)), None);
    }
}
