//! Tests of the connection, with a server whose answers are scripted.

use std::{collections::VecDeque, convert::Infallible, io, sync::Mutex, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;
use crate::{
    blob::s3::open::bucket_with_limits,
    config::{BlobsConfig, BucketUrl, Config, DefaultPaths},
};

/// How the server answers a request. After the script it answers 200.
#[derive(Clone, Copy)]
enum Reply {
    /// This status, with an error that repeats secrets of the request.
    Error(u16),
    /// Status 200, with the same error in the body.
    LateError,
    /// The connection is closed.
    Cut,
    /// No answer.
    Silence,
}

/// An error that repeats secrets of the request. `object_store` does not know its code.
const ERROR: &str =
    "<?xml version=\"1.0\"?>\n<Error><Code>ServerTrouble</Code><AWSAccessKeyId>AKIDPLANTED</AWSAccessKeyId></Error>";

/// Requests that the server received: method, path and size of the body.
type Requests = Arc<Mutex<Vec<(String, usize)>>>;

/// Starts a server and returns a bucket on it. `silence_max`: as for the daemon.
async fn bucket_on(script: &[Reply], silence_max: Duration) -> (S3Blobs, Requests, TempDir) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let script: Arc<Mutex<VecDeque<Reply>>> = Arc::new(Mutex::new(script.iter().copied().collect()));
    let requests = Requests::default();
    let seen = requests.clone();
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        loop {
            let (io, _) = listener.accept().await.expect("a connection");
            let (script, seen) = (script.clone(), seen.clone());
            let service = service_fn(move |request| answer(script.clone(), seen.clone(), request));
            #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(io), service));
        }
    });
    let directory = tempfile::tempdir().expect("a directory");
    let (access, secret) = (directory.path().join("access"), directory.path().join("secret"));
    std::fs::write(&access, "AKIDPLANTED\n").expect("written");
    std::fs::write(&secret, "s3cret\n").expect("written");
    let defaults = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into()))).blobs;
    let config = BlobsConfig {
        endpoint: Some(endpoint.parse().expect("a URL")),
        access_key_file: Some(access),
        secret_key_file: Some(secret),
        ..defaults
    };
    let url = BucketUrl::parse("s3://builds/ci").expect("a URL");
    let bucket = bucket_with_limits(&config, &url, silence_max).expect("opens");
    let blobs = S3Blobs { bucket: Arc::new(bucket.with_directory(directory.path(), 0)) };
    (blobs, requests, directory)
}

async fn answer(
    script: Arc<Mutex<VecDeque<Reply>>>,
    seen: Requests,
    request: Request<Incoming>,
) -> io::Result<Response<Full<Bytes>>> {
    let line = format!("{} {}", request.method(), request.uri().path());
    let size = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
    seen.lock().expect("no panic").push((line, size));
    let reply = script.lock().expect("no panic").pop_front();
    match reply {
        Some(Reply::Error(status)) => Ok(Response::builder().status(status).body(ERROR.into()).expect("a response")),
        Some(Reply::LateError) => {
            Ok(Response::builder().header("etag", "\"1\"").body(ERROR.into()).expect("a response"))
        }
        Some(Reply::Cut) => Err(io::ErrorKind::ConnectionReset.into()),
        Some(Reply::Silence) => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
        None => Ok(Response::builder().header("etag", "\"1\"").body(Full::default()).expect("a response")),
    }
}

#[tokio::test]
async fn a_request_is_repeated_after_an_error_and_a_cut_connection() {
    let script = [Reply::Error(503), Reply::Cut, Reply::LateError];
    let (blobs, requests, _directory) = bucket_on(&script, Duration::from_secs(60)).await;
    put(&blobs, 9, &content(1_000)).await.expect("the fourth request is answered");
    assert!(blobs.is_reachable() && blobs.last_failure().is_some());
    let requests = requests.lock().expect("no panic").clone();
    assert_eq!(requests.len(), 4, "{requests:?}");
    assert!(requests.iter().all(|(line, size)| line == "PUT /builds/ci/a/7/2/9" && *size == 1_000), "{requests:?}");
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_not_available_and_the_error_has_no_key() {
    for (reply, code, is_reachable, failure) in [
        (Reply::Error(503), "ServerTrouble", false, "the server answered 503 Service Unavailable"),
        (Reply::Error(403), "ServerTrouble", true, "the server answered 403 Forbidden"),
        (Reply::LateError, "ServerTrouble", true, ""),
        (Reply::Cut, "", false, "the connection failed: "),
    ] {
        let (blobs, requests, _directory) = bucket_on(&[reply; 20], Duration::from_secs(60)).await;
        let error = put(&blobs, 9, &content(10)).await.expect_err("it fails");
        let BlobError::Unavailable { source, .. } = &error else { panic!("{error:?}") };
        let text = format!("{error} {source}");
        assert!(text.contains(code) && !text.contains("PLANTED") && !text.contains("s3cret"), "{text}");
        assert!((1..=8).contains(&requests.lock().expect("no panic").len()), "the number of requests is limited");
        assert_eq!(blobs.is_reachable(), is_reachable);
        let last = blobs.last_failure().map(|failure| failure.reason).unwrap_or_default();
        assert!(last.starts_with(failure) && last.is_empty() == failure.is_empty(), "{last}");
        assert!(!last.contains("PLANTED"), "{last}");
    }
}

#[tokio::test]
async fn a_silent_server_is_not_available() {
    let (blobs, _requests, _directory) = bucket_on(&[Reply::Silence; 20], Duration::from_millis(50)).await;
    let error = put(&blobs, 9, &content(10)).await.expect_err("it fails");
    assert!(matches!(error, BlobError::Unavailable { .. }), "{error:?}");
    let error = get(&blobs, &[(9, 10)], 0..10).await.expect_err("it fails");
    assert!(matches!(error, BlobError::Unavailable { .. }), "{error:?}");
}
