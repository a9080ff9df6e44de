//! A server that returns the responses of another one again, from memory. It shows what a request costs at least with
//! these libraries.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::request::Parts,
    response::Response,
};
use bytes::Bytes;

use crate::{
    Result,
    client::{Over, head},
};

/// The file that names the address of the other server, in the directory of this one.
pub(crate) const ORIGIN: &str = "origin";
/// Maximum size of a request body, bytes.
const BODY_MAX: usize = 1 << 20;
/// The request headers that are passed on.
const PASSED_ON: [&str; 4] = ["authorization", "content-encoding", "content-type", "git-protocol"];

/// Responses by method, target and body of the request.
struct Replay {
    origin: Over,
    responses: Mutex<HashMap<(String, Bytes), Bytes>>,
}

pub(super) fn router(dir: &Path) -> Result<Router> {
    let origin = Over::Tcp(fs::read_to_string(dir.join(ORIGIN))?);
    let replay = Replay { origin, responses: Mutex::default() };
    Ok(Router::new().fallback(replayed).with_state(Arc::new(replay)))
}

async fn replayed(State(replay): State<Arc<Replay>>, request: Request) -> Response {
    replay.response(request).await.expect("the other server responds")
}

impl Replay {
    async fn response(&self, request: Request) -> Result<Response> {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, BODY_MAX).await?;
        let key = (format!("{} {}", parts.method, parts.uri), body.clone());
        let stored = self.responses.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let response = if let Some(stored) = stored {
            stored
        } else {
            let response = self.request(&parts, &body).await?;
            self.responses.lock().unwrap_or_else(PoisonError::into_inner).insert(key, response.clone());
            response
        };
        let kind = if parts.method == "GET" { "advertisement" } else { "result" };
        let kind = format!("application/x-git-upload-pack-{kind}");
        Ok(Response::builder().header("content-type", kind).body(Body::from(response))?)
    }

    /// Passes a request on to the other server.
    async fn request(&self, parts: &Parts, body: &[u8]) -> Result<Bytes> {
        let line = |name: &str| Some(format!("{name}: {}", parts.headers.get(name)?.to_str().ok()?));
        let lines: Vec<String> = PASSED_ON.into_iter().filter_map(line).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let length = u64::try_from(body.len())?;
        let mut message = head(parts.method.as_str(), &parts.uri.to_string(), length, &lines);
        message.extend_from_slice(body);
        let mut connection = self.origin.connect().await?;
        connection.send(&message).await?;
        Ok(Bytes::from(connection.expect(200).await?))
    }
}
