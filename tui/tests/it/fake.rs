//! A fake daemon in memory with the routes that the program needs.
//!
//! It listens on a Unix socket only. Its signed URLs name another host, which shows whether the program sends them to
//! the daemon as it should.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use futures_util::stream;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::UnixListener, task::JoinSet};

/// A token with the payload `{"scp":"Actions.Results:7:9"}`.
pub(crate) const RUNTIME_TOKEN: &str = "e30.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6Nzo5In0.c2ln";

#[derive(Clone, Default)]
pub(crate) struct StoredArtifact {
    pub(crate) name: String,
    pub(crate) mime: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: String,
    blocks: BTreeMap<String, Vec<u8>>,
    visible: bool,
}

#[derive(Default)]
pub(crate) struct State {
    /// Artifacts; the id is the index plus one.
    pub(crate) artifacts: Vec<StoredArtifact>,
    /// Conclusions of the jobs that were ended.
    pub(crate) ended: Vec<String>,
    /// Method and target of each request.
    pub(crate) requests: Vec<String>,
    pub(crate) started_jobs: Vec<Value>,
    /// Number of requests on signed URLs to refuse with 503.
    pub(crate) refused_requests: usize,
    /// Breaks the next download after this number of bytes, and makes its signed URL expire.
    pub(crate) cut_download: Option<usize>,
    /// Truncates the next download to this number of bytes without an error.
    pub(crate) short_download: Option<usize>,
    /// Makes the next range start one byte early.
    pub(crate) misaligned_range: bool,
    /// The signature in signed URLs.
    signature: usize,
    /// Whether to refuse requests that end a job.
    pub(crate) refuse_end: bool,
    /// How often to answer 503 to the end of a job before accepting it.
    pub(crate) busy_end_responses: usize,
    /// If not zero, the number of repositories to list instead of one.
    pub(crate) repositories: usize,
    /// The name of the only repository.
    pub(crate) name: Option<String>,
}

pub(crate) struct FakeDaemon {
    pub(crate) socket: PathBuf,
    pub(crate) state: Arc<Mutex<State>>,
    _runtime: tokio::runtime::Runtime,
}

type Body = UnsyncBoxBody<Bytes, std::io::Error>;
type TestResponse = Response<Body>;

impl FakeDaemon {
    pub(crate) fn start(directory: &Path) -> Self {
        let socket = directory.join("farrier.sock");
        let state = Arc::new(Mutex::new(State::default()));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(async { UnixListener::bind(&socket).unwrap() });
        let shared = Arc::clone(&state);
        runtime.handle().spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let state = Arc::clone(&state);
                        async move { Ok::<_, Infallible>(route(&state, request).await) }
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { socket, state, _runtime: runtime }
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn store(&self, name: &str, mime: &str, bytes: &[u8]) {
        let (name, mime, bytes) = (name.to_owned(), mime.to_owned(), bytes.to_vec());
        let digest = sha256(&bytes);
        self.state().artifacts.push(StoredArtifact {
            name,
            mime,
            bytes,
            digest,
            visible: true,
            ..StoredArtifact::default()
        });
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    format!("sha256:{}", hex::encode(sha2::Sha256::digest(bytes)))
}

pub(crate) fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn json_response(status: u16, body: &Value) -> TestResponse {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    Response::builder().status(status).body(full_body(text)).unwrap()
}

fn full_body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body that breaks off after `bytes`.
fn interrupted_body(bytes: Vec<u8>) -> Body {
    let frames = [Ok(Frame::data(bytes.into())), Err(std::io::ErrorKind::ConnectionReset.into())];
    StreamBody::new(stream::iter(frames)).boxed_unsync()
}

fn error_response(status: u16, text: &str) -> TestResponse {
    json_response(status, &json!({"message": text, "request_id": "r1"}))
}

async fn route(state: &Mutex<State>, request: Request<Incoming>) -> TestResponse {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let target = head.uri.path_and_query().unwrap().to_string();
    let input: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut state = state.lock().unwrap();
    state.requests.push(format!("{} {target}", head.method));
    let path = head.uri.path();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match (&head.method, parts.as_slice()) {
        (&Method::GET, ["api", "farrier", "v1", "status"]) => json_response(
            200,
            &json!({"version": "0.1.0", "identity": "admin", "api_level": farrier_common::API_LEVEL}),
        ),
        (&Method::GET, ["api", "farrier", "v1", "log"]) => {
            json_response(200, &json!({"filter": "debug", "configured": "info"}))
        }
        (&Method::PATCH, ["api", "farrier", "v1", "log"]) => {
            json_response(200, &json!({"filter": input["filter"], "configured": "info"}))
        }
        (&Method::GET, ["api", "healthz"]) => json_response(200, &json!({"status": "pass", "problems": []})),
        (&Method::POST, ["api", "v1", "admin", "users"]) => {
            if input["username"] == "taken" {
                return json_response(422, &json!({"message": "taken", "code": "user_exists"}));
            }
            json_response(201, &json!({"id": 5, "login": input["username"], "email": input["email"]}))
        }
        (&Method::POST, ["api", "v1", "users", _, "tokens"]) => {
            json_response(201, &json!({"id": 3, "name": input["name"], "sha1": "0123abcd", "scopes": input["scopes"]}))
        }
        (&Method::POST, ["api", "v1", "admin", "users", owner, "repos"]) => {
            let name = input["name"].as_str().unwrap();
            json_response(
                201,
                &json!({"id": 4, "full_name": format!("{owner}/{name}"), "name": name, "description": "a\u{9b}b"}),
            )
        }
        (&Method::GET, ["api", "v1", "repos", _, "private"]) => error_response(403, "not yours"),
        (&Method::GET, ["api", "v1", "repos", "search"]) => search_page(&state, &target),
        (&Method::PATCH, ["api", "v1", "repos", _, "tool"]) => {
            json_response(200, &json!({"id": 4, "full_name": "octo/tool", "archived": input["archived"]}))
        }
        (&Method::DELETE, ["api", "v1", "repos", _, "tool"]) => json_response(204, &Value::Null),
        (&Method::POST, ["api", "v1", "repos", "migrate"]) => {
            let failed = if input["auth_token"] == "" { "" } else { "no" };
            let state = if failed.is_empty() { "done" } else { "failed" };
            let migration = json!({"state": state, "error": failed});
            json_response(202, &json!({"id": 6, "full_name": "octo/copy", "farrier_migration": migration}))
        }
        (&Method::POST, ["api", "farrier", "v1", "jobs"]) => {
            state.started_jobs.push(input);
            let env = json!({"GITHUB_RUN_ID": "7", "ACTIONS_RUNTIME_TOKEN": RUNTIME_TOKEN, "NO_PROXY": "127.0.0.1"});
            json_response(201, &json!({"run_id": 7, "job_id": 9, "token": RUNTIME_TOKEN, "env": env}))
        }
        (&Method::POST, ["api", "farrier", "v1", "jobs", _, "end"]) if state.refuse_end => {
            error_response(409, "ended already")
        }
        (&Method::POST, ["api", "farrier", "v1", "jobs", _, "end"]) if state.busy_end_responses > 0 => {
            state.busy_end_responses -= 1;
            error_response(503, "busy")
        }
        (&Method::POST, ["api", "farrier", "v1", "jobs", _, "end"]) => {
            state.ended.push(input["conclusion"].as_str().unwrap().to_owned());
            json_response(200, &Value::Null)
        }
        (&Method::POST, ["twirp", _, method]) => twirp(&mut state, method, &input),
        (_, ["_blob", id, ..]) => {
            let id = id.parse().unwrap();
            blob(&mut state, &head, &target, id, &body)
        }
        (_, ["api", "v1", "repos", _, _, "actions", rest @ ..]) => {
            let page: usize = target.split("page=").nth(1).map_or(1, |n| n.split('&').next().unwrap().parse().unwrap());
            rest_artifacts(&mut state, &head.method, rest, page)
        }
        _ => error_response(404, "no such route"),
    }
}

/// A page of the repository search.
fn search_page(state: &State, target: &str) -> TestResponse {
    if state.repositories == 0 {
        let name = state.name.as_deref().unwrap_or("octo/tool");
        return json_response(200, &json!({"ok": true, "data": [{"id": 4, "full_name": name, "private": true}]}));
    }
    let number = |name: &str| -> usize {
        let value = target.split(['?', '&']).find_map(|part| part.strip_prefix(name)).unwrap();
        value.parse().unwrap()
    };
    let (page, limit) = (number("page="), number("limit="));
    let ids = (page - 1) * limit..state.repositories.min(page * limit);
    let more = ids.end < state.repositories;
    let rows: Vec<Value> =
        ids.map(|id| json!({"id": id + 1, "full_name": format!("octo/repo-{id:05}"), "size": id * 7})).collect();
    let mut response = json_response(200, &json!({"ok": true, "data": rows}));
    response.headers_mut().insert("x-total-count", state.repositories.into());
    if more {
        let next = format!("<http://h/api/v1/repos/search?sort=alpha&page={}&limit={limit}>; rel=\"next\"", page + 1);
        response.headers_mut().insert("link", next.parse().unwrap());
    }
    response
}

fn twirp(state: &mut State, method: &str, input: &Value) -> TestResponse {
    let name = input["name"].as_str().unwrap_or_default();
    match method {
        "CreateArtifact" => {
            let mime = input["mime_type"].as_str().unwrap().to_owned();
            state.artifacts.push(StoredArtifact { name: name.to_owned(), mime, ..StoredArtifact::default() });
            let url = format!("http://elsewhere.invalid/_blob/{}/1/archive?sig=s", state.artifacts.len());
            json_response(200, &json!({"ok": true, "signed_upload_url": url}))
        }
        "FinalizeArtifact" => {
            let id = state.artifacts.iter().rposition(|stored| stored.name == name).unwrap();
            let stored = &mut state.artifacts[id];
            let size: usize = input["size"].as_str().unwrap_or("0").parse().unwrap();
            if size != stored.bytes.len() || input["hash"] != sha256(&stored.bytes) {
                return json_response(400, &json!({"code": "invalid_argument", "msg": "size or hash"}));
            }
            (stored.digest, stored.visible) = (sha256(&stored.bytes), true);
            json_response(200, &json!({"ok": true, "artifact_id": (id + 1).to_string()}))
        }
        "ListArtifacts" => {
            let matches_filter =
                |stored: &StoredArtifact| input["name_filter"].as_str().is_none_or(|name| stored.name == name);
            let listed: Vec<Value> = (1..)
                .zip(&state.artifacts)
                .filter(|(_, stored)| stored.visible && matches_filter(stored))
                .map(|(id, stored)| {
                    json!({"workflow_run_backend_id": "7", "workflow_job_run_backend_id": "9", "database_id": id.to_string(),
                        "name": stored.name, "size": stored.bytes.len().to_string(), "digest": stored.digest,
                        "created_at": "2030-01-02T03:04:05Z"})
                })
                .collect();
            json_response(200, &json!({"artifacts": listed}))
        }
        "GetSignedArtifactURL" => {
            let id = state.artifacts.iter().rposition(|stored| stored.name == name).unwrap() + 1;
            json_response(
                200,
                &json!({"signed_url": format!("http://elsewhere.invalid/_blob/{id}/1/raw?sig={}", state.signature)}),
            )
        }
        _ => json_response(404, &json!({"code": "bad_route", "msg": "no such method"})),
    }
}

fn blob(state: &mut State, head: &http::request::Parts, target: &str, id: usize, body: &Bytes) -> TestResponse {
    if state.refused_requests > 0 {
        state.refused_requests -= 1;
        return json_response(503, &Value::Null);
    }
    if head.method == Method::GET && !target.ends_with(&format!("sig={}", state.signature)) {
        return json_response(403, &Value::Null);
    }
    let Some(stored) = state.artifacts.get_mut(id - 1) else { return json_response(404, &Value::Null) };
    if head.method == Method::PUT {
        if let Some((_, block)) = target.split_once("&comp=block&blockid=") {
            stored.blocks.insert(block.replace("%3D", "="), body.to_vec());
        } else {
            let xml = String::from_utf8_lossy(body);
            let ids = xml.split("<Latest>").skip(1).map(|rest| rest.split('<').next().unwrap());
            stored.bytes = ids.flat_map(|id| stored.blocks[id].clone()).collect();
        }
        return json_response(201, &Value::Null);
    }
    let total = stored.bytes.len();
    let range = head.headers.get("range").and_then(|v| v.to_str().ok()?.strip_prefix("bytes=")?.strip_suffix('-'));
    let mut start: usize = range.map_or(0, |n| n.parse().unwrap());
    if start > 0 && std::mem::take(&mut state.misaligned_range) {
        start -= 1;
    }
    let mut bytes = stored.bytes[start..].to_vec();
    let mut response = Response::builder().header("content-type", &stored.mime).header("etag", "\"g1\"");
    if start > 0 {
        let range = format!("bytes {start}-{}/{total}", total - 1);
        response = response.status(StatusCode::PARTIAL_CONTENT).header("content-range", range);
    }
    if let Some(cut) = state.cut_download.take() {
        bytes.truncate(cut);
        state.signature += 1;
        return response.header("content-length", total - start).body(interrupted_body(bytes)).unwrap();
    }
    if let Some(short) = state.short_download.take() {
        bytes.truncate(short);
    }
    response.body(full_body(bytes)).unwrap()
}

fn rest_artifacts(state: &mut State, method: &Method, rest: &[&str], page: usize) -> TestResponse {
    let object = |id: usize, stored: &StoredArtifact| {
        json!({"id": id, "name": stored.name, "size_in_bytes": stored.bytes.len(), "digest": stored.digest,
            "workflow_run": {"id": 7}})
    };
    let signature = state.signature;
    let rest = if let ["runs", _, rest @ ..] = rest { rest } else { rest };
    match (method, rest) {
        (&Method::GET, ["artifacts"]) => {
            let visible = || (1..).zip(&state.artifacts).filter(|(_, stored)| stored.visible);
            let mut listed: Vec<Value> = visible().map(|(id, stored)| object(id, stored)).collect();
            listed.reverse();
            let listed: Vec<Value> = listed.into_iter().skip((page - 1) * 50).take(50).collect();
            json_response(200, &json!({"total_count": visible().count(), "artifacts": listed}))
        }
        (method, ["artifacts", id, rest @ ..]) => {
            let id: usize = id.parse().unwrap();
            match state.artifacts.get_mut(id.wrapping_sub(1)).filter(|stored| stored.visible) {
                None => error_response(404, "no such artifact"),
                Some(stored) if *method == Method::DELETE => {
                    stored.visible = false;
                    json_response(204, &Value::Null)
                }
                Some(stored) if rest.is_empty() => json_response(200, &object(id, stored)),
                Some(stored) => {
                    let file = if stored.mime == "application/zip" { "archive.zip" } else { "raw" };
                    let location = format!("http://elsewhere.invalid/_blob/{id}/1/{file}?sig={signature}");
                    Response::builder().status(302).header("location", location).body(full_body("")).unwrap()
                }
            }
        }
        _ => error_response(404, "no such route"),
    }
}
