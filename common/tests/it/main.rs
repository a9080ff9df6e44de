//! Tests of the client against a scripted daemon.
#![allow(clippy::unwrap_used, missing_docs)]

mod fake;

use bytes::Bytes;
use farrier_common::{
    api::{BeginRun, Commit, Conclusion, CreateRepository, CreateTag},
    client::{Client, ClientError, Endpoint, RunScope, SignedUrl},
};
use http::StatusCode;

use self::fake::{Fake, answer, ok};

#[tokio::test]
async fn requests_are_identical_over_tcp_and_over_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let answers = || [ok(r#"{"version":"1.24.0"}"#)];
    let tcp = Fake::tcp(answers()).await;
    let unix = Fake::unix(&dir.path().join("a b.sock"), answers());
    for fake in [&tcp, &unix] {
        assert_eq!(fake.client().version().await.unwrap().version, "1.24.0");
        let requests = fake.requests();
        assert_eq!(requests[0].line, "GET /api/v1/version HTTP/1.1");
        assert_eq!(requests[0].header("authorization"), Some("Bearer t0ken"));
    }
    assert_eq!(unix.requests()[0].header("host"), Some("localhost"));
    assert!(tcp.requests()[0].header("host").unwrap().starts_with("127.0.0.1:"));
}

#[tokio::test]
async fn an_unreachable_daemon_is_reported_with_its_address() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gone.sock");
    let client = Client::new(Endpoint::Unix(path.clone()), None).unwrap();
    let error = client.version().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()));
    assert!(farrier_common::client::probe_socket(&path).await.is_err());

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(Endpoint::parse_url(&format!("http://{address}")).unwrap(), None).unwrap();
    assert!(matches!(client.version().await.unwrap_err(), ClientError::Unreachable { .. }));
}

#[tokio::test]
async fn malformed_responses_are_errors_and_do_not_panic() {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"version\"";
    let cases = [
        (ok("{"), "Decode"),
        (ok("[]"), "Decode"),
        (ok(""), "Decode"),
        (half.to_owned(), "Lost"),
        (String::new(), "Lost"),
        ("nonsense\r\n\r\n".to_owned(), "Lost"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n".to_owned() + &" ".repeat(17 << 20), "Answer"),
        (answer("302 Found", "Location: /x\r\n", ""), "Status"),
        (answer("500 Oops", "", "<html>"), "Status"),
    ];
    for (bytes, kind) in cases {
        let fake = Fake::tcp([bytes]).await;
        let error = fake.client().version().await.unwrap_err();
        assert!(format!("{error:?}").starts_with(kind), "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn an_error_shows_the_message_of_the_daemon_and_hides_the_token() {
    let body = r#"{"message":"name taken","url":"","code":"repo_exists","request_id":"r1"}"#;
    let fake = Fake::tcp([answer("409 Conflict", "", body)]).await;
    let client = fake.client();
    let error = client.create_repository("octo", &CreateRepository::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "name taken (409, request r1)");
    assert!(matches!(&error, ClientError::Status { code: Some(code), .. } if code == "repo_exists"));
    assert!(!format!("{client:?}{error:?}{error}").contains("t0ken"));
}

#[tokio::test]
async fn a_repository_is_created_with_the_route_for_the_kind_of_its_owner() {
    let refused = |status: &str| answer(status, "", "{}");
    let repo = || answer("201 Created", "", r#"{"id":7,"full_name":"octo/tool"}"#);
    let scripts = [
        (vec![repo()], "/api/v1/admin/users/octo/repos"),
        (vec![refused("404 Not Found"), repo()], "/api/v1/orgs/octo/repos"),
        (vec![refused("403 Forbidden"), ok(r#"{"login":"Octo"}"#), repo()], "/api/v1/user/repos"),
        (vec![refused("403 Forbidden"), ok(r#"{"login":"me"}"#), repo()], "/api/v1/orgs/octo/repos"),
    ];
    for (script, target) in scripts {
        let fake = Fake::tcp(script).await;
        let options = CreateRepository { name: "tool".into(), ..CreateRepository::default() };
        assert_eq!(fake.client().create_repository("octo", &options).await.unwrap().id, 7);
        assert_eq!(fake.requests().last().unwrap().line, format!("POST {target} HTTP/1.1"));
    }
    // The error of the first refused request is reported.
    let fake = Fake::tcp([refused("403 Forbidden"), ok(r#"{"login":"me"}"#), refused("404 Not Found")]).await;
    let error = fake.client().create_repository("octo", &CreateRepository::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::FORBIDDEN));
}

#[tokio::test]
async fn a_list_is_read_to_its_last_page_without_duplicates() {
    let page = |total: i64, ids: &[i64]| {
        let items: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":{id}}}"#)).collect();
        format!(r#"{{"total_count":{total},"artifacts":[{}]}}"#, items.join(","))
    };
    // Item 3 moved to the second page while the first was read.
    let numbered = [ok(&page(5, &[5, 4, 3])), ok(&page(5, &[3, 2])), ok(&page(5, &[]))];
    let link = "Link: <http://other/api/v1/next?after=4>; rel=\"next\"\r\n";
    let linked = [answer("200 OK", link, &page(3, &[5, 4])), ok(&page(3, &[3]))];
    let walks: [(Vec<String>, Vec<i64>, &str); 2] = [
        (numbered.into(), vec![5, 4, 3, 2], "/api/v1/repos/o/r/actions/artifacts?name=a%26b&page=2&limit=50"),
        (linked.into(), vec![5, 4, 3], "/api/v1/next?after=4"),
    ];
    for (script, expected, second) in walks {
        let fake = Fake::tcp(script).await;
        let client = fake.client();
        let mut pages = client.artifacts(&"o/r".parse().unwrap(), None, Some("a&b"));
        let mut ids = Vec::new();
        while let Some(page) = pages.next_artifacts().await.unwrap() {
            ids.extend(page.iter().map(|artifact| artifact.id));
        }
        assert_eq!(ids, expected);
        assert_eq!(fake.requests()[1].line, format!("GET {second} HTTP/1.1"));
    }
}

#[tokio::test]
async fn an_artifact_download_follows_the_redirect_on_the_configured_daemon_only() {
    let dir = tempfile::tempdir().unwrap();
    let location = "Location: http://elsewhere:1/_blob/7/1/archive.zip?sig=s3cret\r\n";
    let partial = "Content-Range: bytes 2-4/5\r\nETag: \"g1\"\r\nContent-Type: application/zip\r\n";
    let fake = Fake::unix(
        &dir.path().join("s"),
        [answer("302 Found", location, ""), answer("206 Partial Content", partial, "cde"), answer("200 OK", "", "{}")],
    );
    let client = fake.client();
    let url = client.artifact_location(&"o/r".parse().unwrap(), 7).await.unwrap();
    assert!(!format!("{url:?}").contains("s3cret"));
    let mut download = client.get_signed(&url, 2, Some("\"g1\"")).await.unwrap();
    assert_eq!(download.range.unwrap().total, Some(5));
    assert_eq!(download.chunks.next().await.unwrap().unwrap(), "cde");
    assert!(download.chunks.next().await.is_none());
    let sent = &fake.requests()[1];
    assert_eq!(sent.line, "GET /_blob/7/1/archive.zip?sig=s3cret HTTP/1.1");
    assert_eq!((sent.header("range"), sent.header("if-range")), (Some("bytes=2-"), Some("\"g1\"")));
    assert_eq!(sent.header("authorization"), None);
    // Not a redirect: the official client refuses it as well.
    assert!(matches!(client.artifact_location(&"o/r".parse().unwrap(), 7).await, Err(ClientError::Answer { .. })));
}

#[tokio::test]
async fn an_upload_sends_the_same_requests_as_the_official_client() {
    let created = r#"{"ok":true,"signed_upload_url":"http://h/_blob/7/1/raw?sig=a"}"#;
    let fake = Fake::tcp([
        ok(created),
        answer("201 Created", "", ""),
        answer("201 Created", "", ""),
        ok(r#"{"ok":true,"artifactId":"7","new":1}"#),
        ok("{}"),
    ])
    .await;
    let client = fake.client();
    let scope = RunScope { run: "1".into(), job: "2".into() };
    let url = client.create_run_artifact(&scope, "a.txt", "text/plain", None).await.unwrap();
    client.put_block(&url, "YQ==", Bytes::from_static(b"hello")).await.unwrap();
    client.put_block_list(&url, &["YQ==".into()], "text/plain").await.unwrap();
    assert_eq!(client.finalize_run_artifact(&scope, "a.txt", 5, "sha256:00").await.unwrap(), 7);
    assert!(client.run_artifacts(&scope, Some("a.txt"), None).await.unwrap().is_empty());

    let requests = fake.requests();
    assert_eq!(requests[0].line, "POST /twirp/github.actions.results.api.v1.ArtifactService/CreateArtifact HTTP/1.1");
    let sent: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(
        sent,
        serde_json::json!({"workflow_run_backend_id": "1", "workflow_job_run_backend_id": "2", "name": "a.txt",
            "version": 7, "mime_type": "text/plain"})
    );
    assert_eq!(requests[1].line, "PUT /_blob/7/1/raw?sig=a&comp=block&blockid=YQ%3D%3D HTTP/1.1");
    assert_eq!((requests[1].header("content-length"), requests[1].header("authorization")), (Some("5"), None));
    assert_eq!(requests[1].body, b"hello");
    assert!(String::from_utf8_lossy(&requests[2].body).ends_with("<BlockList><Latest>YQ==</Latest></BlockList>"));
    let sent: serde_json::Value = serde_json::from_slice(&requests[3].body).unwrap();
    assert_eq!((&sent["size"], &sent["hash"]), (&"5".into(), &"sha256:00".into()));
}

#[tokio::test]
async fn an_unconfirmed_create_is_an_error() {
    for body in ["{}", r#"{"ok":false}"#, r#"{"ok":true}"#] {
        let fake = Fake::tcp([ok(body)]).await;
        let scope = RunScope { run: "1".into(), job: "2".into() };
        let result = fake.client().create_run_artifact(&scope, "a", "text/plain", None).await;
        assert!(matches!(result, Err(ClientError::Answer { .. })), "{body}");
    }
}

#[tokio::test]
async fn a_long_download_is_streamed_and_a_truncated_one_is_an_error() {
    let long = "x".repeat(32 << 20);
    let fake = Fake::tcp([answer("200 OK", "", &long), answer("200 OK", "", &long)[..1 << 20].to_owned()]).await;
    let url = SignedUrl::new("/_blob/1/1/raw?sig=a").unwrap();
    let mut download = fake.client().get_signed(&url, 0, None).await.unwrap();
    assert_eq!(download.length, Some(32 << 20));
    let (mut total, mut largest) = (0, 0);
    while let Some(chunk) = download.chunks.next().await {
        let length = chunk.unwrap().len();
        (total, largest) = (total + length, largest.max(length));
    }
    assert_eq!(total, long.len());
    assert!(largest < 2 << 20, "{largest} bytes at once");

    let mut download = fake.client().get_signed(&url, 0, None).await.unwrap();
    let mut last = None;
    while let Some(chunk) = download.chunks.next().await {
        last = Some(chunk);
    }
    assert!(matches!(last, Some(Err(ClientError::Lost { .. }))));
}

#[tokio::test]
async fn job_and_run_ids_are_sent_as_integers() {
    let started = r#"{"run_id":3,"job_id":9,"token":"j.w.t","env":{"GITHUB_RUN_ID":"3"}}"#;
    let fake = Fake::tcp([answer("201 Created", "", started), ok("{}")]).await;
    let options = BeginRun { repo: "o/r".into(), run_id: Some(3), ..BeginRun::default() };
    let job = fake.client().begin_job(&options).await.unwrap();
    assert_eq!((job.run_id, job.job_id), (3, 9));
    assert!(!format!("{job:?}").contains("j.w.t"));
    fake.client().end_job(job.job_id, Conclusion::Cancelled).await.unwrap();
    let requests = fake.requests();
    let sent: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!((&sent["repo"], &sent["run_id"]), (&"o/r".into(), &3.into()));
    assert_eq!(requests[1].line, "POST /api/farrier/v1/jobs/9/end HTTP/1.1");
    assert_eq!(requests[1].body, br#"{"conclusion":"cancelled"}"#);
}

#[tokio::test]
async fn names_of_branches_and_files_are_escaped_in_requests_for_content() {
    let commit = ok(r#"{"sha":"a1","commit":{"tree":{"sha":"b2"}}}"#);
    let fake =
        Fake::tcp([commit, ok("diff"), answer("200 OK", "", "text"), ok("[]"), ok("{}"), ok("{}"), ok("[]")]).await;
    let (client, repo) = (fake.client(), "o/r".parse().unwrap());
    assert_eq!(client.commit(&repo, "feat/x#1").await.unwrap().commit.tree.sha, "b2");
    client.commit_diff(&repo, "a1").await.unwrap();
    let mut chunks = client.file(&repo, "src/a b?.rs", "a1").await.unwrap();
    assert_eq!(chunks.next().await.unwrap().unwrap(), Bytes::from_static(b"text"));
    let mut pages = client.commits(&repo, "feat/x", "src/a b");
    let none = pages.next(|found: Vec<Commit>| (0, found), |commit| commit.sha.clone()).await.unwrap();
    assert_eq!(none, None);
    client.delete_tag(&repo, "v1/rc 1").await.unwrap();
    let tag = CreateTag { tag_name: "v1".into(), target: "main".into(), ..CreateTag::default() };
    client.create_tag(&repo, &tag).await.unwrap();
    client.new_commits(&repo, "a1", "b2").count().await.unwrap();
    let lines: Vec<String> = fake.requests().into_iter().map(|request| request.line).collect();
    let expected = [
        "GET /api/v1/repos/o/r/git/commits/feat%2Fx%231?files=false&verification=false",
        "GET /api/v1/repos/o/r/git/commits/a1.diff",
        "GET /api/v1/repos/o/r/raw/src/a%20b%3F.rs?ref=a1",
        "GET /api/v1/repos/o/r/commits?sha=feat%2Fx&stat=false&files=false&verification=false&path=src%2Fa%20b\
         &page=1&limit=50",
        "DELETE /api/v1/repos/o/r/tags/v1%2Frc%201",
        "POST /api/v1/repos/o/r/tags",
        "GET /api/v1/repos/o/r/commits?sha=b2&not=a1&stat=false&files=false&verification=false&page=1&limit=1",
    ];
    assert_eq!(lines, expected.map(|line| format!("{line} HTTP/1.1")));
}
