//! Signed URLs: what they grant, on which listener, and how they serve downloads.

use farrierd::clock::Clock;
use http::Method;
use serde_json::json;

use super::{assert_xml_error, block, commit, finalize, noise, put, read_address};
use crate::support::{Job, TestDaemon, send};

const NOW: i64 = 1_764_000_000_000;

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

#[tokio::test]
async fn a_modified_url_is_refused() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "a", b"of a").await;
    farrier.upload(&job, "b", b"of b").await;
    let (a, b) = (read_address(&farrier, &job, "a").await, read_address(&farrier, &job, "b").await);
    let get = async |path: &str| send(&farrier.tcp(), Method::GET, path, &[], "").await;
    assert_eq!(get(&a).await.text(), "of a");

    let blob_path = |address: &str| address.split("/archive").next().expect("a path").to_owned();
    let mut bad = vec![
        a.replace(&blob_path(&a), &blob_path(&b)),
        a.replace("sp=r", "sp=cw"),
        a.replace("sp=r", "sp=x"),
        a.replace("se=20", "se=21"),
        a.replace("sr=b", "sr=c"),
        a.replace("sv=2024", "sv=2023"),
        a.replace("&sig=", "&sig=0"),
        a.split("&sig").next().expect("a part").to_owned(),
        a.split('?').next().expect("a path").to_owned(),
        format!("{a}&se=2999-01-01T00%3A00%3A00Z"),
        a.replace("/_blob/", "/_blob/0"),
        format!("/_blob/x/y/z?{}", a.split('?').nth(1).expect("a query")),
    ];
    let signature = a.find("sig=").expect("a signature") + 4;
    for at in [signature, signature + 31, a.len() - 1] {
        let other = if a.as_bytes()[at] == b'0' { "1" } else { "0" };
        bad.push(format!("{}{other}{}", &a[..at], &a[at + 1..]));
    }
    for path in &bad {
        assert_xml_error(&get(path).await, 403, "AuthenticationFailed");
    }
    assert_eq!(put(&farrier, &a, "&comp=block&blockid=a", "x").await.status, 403, "the URL is for reading");
    let upload = farrier.create(&job, "c").await;
    assert_xml_error(&get(&upload).await, 403, "AuthenticationFailed");
}

#[tokio::test]
async fn a_url_is_valid_until_its_expiry_time() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "a", b"of a").await;
    let (read, write) = (read_address(&farrier, &job, "a").await, farrier.create(&job, "b").await);
    farrier.clock.advance_ms(6 * 3_600_000 - 1);
    assert_eq!(send(&farrier.tcp(), Method::GET, &read, &[], "").await.status, 200);
    block(&farrier, &write, "a", "x").await;
    farrier.clock.advance_ms(1);
    assert_xml_error(&send(&farrier.tcp(), Method::GET, &read, &[], "").await, 403, "AuthenticationFailed");
    assert_xml_error(&put(&farrier, &write, "&comp=block&blockid=a", "x").await, 403, "AuthenticationFailed");
}

#[tokio::test]
async fn urls_contain_only_characters_that_clients_do_not_rewrite() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "a'b;c%d&e+f", b"x").await;
    for address in [farrier.create(&job, "日本 語").await, read_address(&farrier, &job, "a'b;c%d&e+f").await] {
        let (path, query) = address.split_once('?').expect("a query");
        assert!(path.matches('/').count() >= 2, "{path}");
        assert!(path.chars().all(|c| c.is_ascii_alphanumeric() || "/._~-".contains(c)), "{path}");
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').expect("a value");
            assert!(!["comp", "blockid"].contains(&name) && !value.is_empty() && !value.contains('='), "{pair}");
        }
    }
}

#[tokio::test]
async fn padded_and_percent_encoded_signatures_are_accepted() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "a", b"of a").await;
    let address = read_address(&farrier, &job, "a").await;
    let (head, signature) = address.split_once("sig=").expect("a signature");
    let encoded: Vec<String> = signature.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = encoded.concat();
    for variant in [format!("{address}="), format!("{address}%3D%3D"), format!("{head}sig={encoded}")] {
        assert_eq!(send(&farrier.tcp(), Method::GET, &variant, &[], "").await.status, 200, "{variant}");
    }
}

#[tokio::test]
async fn a_url_from_one_listener_works_on_the_other() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let block_url = format!("{address}&comp=block&blockid=a");
    assert_eq!(send(&farrier.unix(), Method::PUT, &block_url, &[], "over the socket").await.status, 201);
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 15).await.status, 200);

    let authorization = format!("Bearer {}", job.token);
    let headers =
        [("content-type", "application/json"), ("authorization", authorization.as_str()), ("host", "farrier.test")];
    let body = json!({ "workflow_run_backend_id": job.run_id.to_string(), "name": "x" }).to_string();
    let path = "/twirp/github.actions.results.api.v1.ArtifactService/GetSignedArtifactURL";
    let url = send(&farrier.unix(), Method::POST, path, &headers, body).await.json();
    let socket_url = url["signed_url"].as_str().expect("text").strip_prefix("http://farrier.test").expect("its host");
    let tcp_url = read_address(&farrier, &job, "x").await;
    for address in [socket_url, &tcp_url] {
        for server in [farrier.tcp(), farrier.unix()] {
            assert_eq!(send(&server, Method::GET, address, &[], "").await.text(), "over the socket");
        }
    }
}

#[tokio::test]
async fn urls_use_the_host_of_the_request_unless_configured() {
    let signed = async |farrier: &TestDaemon, headers: &[(&str, &str)]| {
        farrier.repository("r").await;
        let job = farrier.begin("r", None).await;
        let authorization = format!("Bearer {}", job.token);
        let mut all = vec![("content-type", "application/json"), ("authorization", authorization.as_str())];
        all.extend(headers);
        let body = json!({ "workflow_run_backend_id": job.run_id.to_string(), "name": "x",
            "workflow_job_run_backend_id": job.job_id.to_string() });
        let path = "/twirp/github.actions.results.api.v1.ArtifactService/CreateArtifact";
        let answer = send(&farrier.tcp(), Method::POST, path, &all, body.to_string()).await;
        let url = answer.json()["signed_upload_url"].as_str().expect("an address").to_owned();
        url.split("/_blob/").next().expect("a base").to_owned()
    };
    let host = ("host", "a.internal:9000");
    let https = ("x-forwarded-proto", "https");
    let named = |config: &mut farrierd::config::Config| {
        config.server.hosts = vec!["*.internal".into(), "b.example".into()];
    };
    let trust = |config: &mut farrierd::config::Config| {
        named(config);
        config.server.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    };
    let base = |config: &mut farrierd::config::Config| {
        named(config);
        config.artifacts.base_url = Some("https://fixed.example/".parse().expect("an address"));
    };
    assert_eq!(signed(&TestDaemon::with(named).await, &[host]).await, "http://a.internal:9000");
    assert_eq!(signed(&TestDaemon::with(trust).await, &[host, https]).await, "https://a.internal:9000");
    let forwarded = [host, https, ("x-forwarded-host", "b.example")];
    assert_eq!(signed(&TestDaemon::with(trust).await, &forwarded).await, "https://b.example");
    assert_eq!(signed(&TestDaemon::with(named).await, &forwarded).await, "http://a.internal:9000");
    assert_eq!(signed(&TestDaemon::with(base).await, &forwarded).await, "https://fixed.example");
}

#[tokio::test]
async fn downloads_have_a_length_and_serve_ranges_unencoded() {
    let (farrier, job) = daemon_with_job().await;
    let content = noise(1_000, 8);
    farrier.upload(&job, "x", &content).await;
    let address = read_address(&farrier, &job, "x").await;
    let get =
        async |method: Method, headers: &[(&str, &str)]| send(&farrier.tcp(), method, &address, headers, "").await;
    let complete = get(Method::GET, &[("accept-encoding", "gzip, br")]).await;
    assert_eq!(
        (complete.status, complete.header("content-length"), complete.header("accept-ranges")),
        (200, "1000", "bytes")
    );
    assert_eq!(complete.header("content-encoding"), "");
    assert_eq!(complete.header("content-type"), "application/zip");
    assert_eq!(complete.header("x-content-type-options"), "nosniff");
    assert!(complete.header("content-disposition").starts_with("attachment; filename=\"x\""));
    assert_eq!(complete.body, content);

    for header in ["range", "x-ms-range"] {
        let part = get(Method::GET, &[(header, "bytes=100-199")]).await;
        assert_eq!((part.status, part.header("content-range")), (206, "bytes 100-199/1000"));
        assert_eq!((part.header("content-length"), &part.body[..]), ("100", &content[100..200]));
    }
    let none = get(Method::GET, &[("range", "bytes=1000-")]).await;
    assert_xml_error(&none, 416, "InvalidRange");
    assert_eq!(none.header("content-range"), "bytes */1000");
    let head = get(Method::HEAD, &[]).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, "1000", 0));
}
