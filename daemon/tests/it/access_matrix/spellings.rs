//! Requests every readable route in every accepted spelling, with HEAD and over the Unix socket: the
//! response must be the same.

use farrierd::http::ROUTES;
use http::{HeaderMap, Method};
use serde_json::Value;

use super::{Stage, WHO, scene};
use crate::support::{Answer, ServerAddress, send};

/// Routes that are left out: their response changes with time or with each request, does not end, or has a signed path.
const EXCEPT: [&str; 5] = [
    "/api/farrier/v1/status",
    "/api/farrier/v1/metrics/series",
    "/metrics",
    "/api/farrier/v1/events",
    "/_blob/{artifact}/{generation}/{file}",
];
/// This route redirects to a URL that contains the Host header of the request.
const BY_HOST: &str = "/api/v1/repos/{owner}/{repo}/actions/artifacts/{id}/zip";

/// The parts of a response that must be the same for equal requests.
fn comparable(answer: &Answer) -> (u16, HeaderMap, Vec<u8>) {
    let mut headers = answer.headers.clone();
    for name in ["date", "x-request-id"] {
        headers.remove(name);
    }
    let mut body = answer.body.to_vec();
    if let Ok(Value::Object(mut error)) = serde_json::from_slice(&body)
        && error.remove("request_id").is_some()
    {
        body = Value::Object(error).to_string().into_bytes();
        headers.remove("content-length");
    }
    (answer.status, headers, body)
}

/// Removes the size headers: HEAD cannot know the size of a streamed body.
fn without_sizes((status, mut headers, _): (u16, HeaderMap, Vec<u8>)) -> (u16, HeaderMap) {
    for name in ["content-length", "transfer-encoding"] {
        headers.remove(name);
    }
    (status, headers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_answers_alike_in_every_spelling_and_on_every_listener() {
    let stage = Stage::new().await;
    let authorization = format!("token {}", stage.tokens.last().expect("tokens"));
    // Without this header, the event route would start a stream that does not end.
    let headers = [("authorization", authorization.as_str()), ("accept", "application/json")];
    let (tcp, unix) = (stage.world.farrier.tcp(), stage.world.farrier.unix());
    let ask =
        async |server: &ServerAddress, method, path: &str| comparable(&send(server, method, path, &headers, "").await);
    let mut wrong = Vec::new();
    for (word, path) in ROUTES {
        if *word != "get" || EXCEPT.contains(path) {
            continue;
        }
        let address = stage.fill(&scene(word, path, WHO.len() - 1).path);
        let (path_only, query) = address.split_once('?').unwrap_or((&address, ""));
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        let expected = ask(&tcp, Method::GET, &address).await;
        let mut compare = |what: &str, same: bool| {
            if !same {
                wrong.push(format!("{path} with {what}"));
            }
        };
        compare("a status below 500", expected.0 < 500);
        compare("the Unix socket", *path == BY_HOST || ask(&unix, Method::GET, &address).await == expected);
        compare("a slash at the end", ask(&tcp, Method::GET, &format!("{path_only}/{query}")).await == expected);
        let doubled = format!("{}{query}", path_only.replace('/', "//"));
        compare("doubled slashes", ask(&tcp, Method::GET, &doubled).await == expected);
        if query.is_empty() {
            compare("a bare question mark", ask(&tcp, Method::GET, &format!("{path_only}?")).await == expected);
        }
        let head = ask(&tcp, Method::HEAD, &address).await;
        compare("HEAD, which has no body", head.2.is_empty());
        compare("HEAD", without_sizes(head) == without_sizes(expected));
    }
    assert!(wrong.is_empty(), "other answers: {wrong:#?}");
}
