//! Files of releases.

use http::Method;
use serde_json::{Value, json};

use super::pushed;
use crate::support::{Answer, GitDir, RawConnection, TestDaemon, bucket::TestBucket, eventually, send};

const OCTETS: (&str, &str) = ("content-type", "application/octet-stream");
const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=XX");

/// A release of `admin/demo`.
struct Release<'a> {
    farrier: &'a TestDaemon,
    demo: GitDir,
    id: String,
}

impl<'a> Release<'a> {
    async fn new(farrier: &'a TestDaemon, body: Value) -> Self {
        let demo = pushed(farrier).await;
        let created = farrier.admin(Method::POST, &demo.at("/releases"), body).await;
        assert_eq!(created.status, 201, "{created:?}");
        Self { farrier, demo, id: created.json()["id"].to_string() }
    }

    fn at(&self, path: &str) -> String {
        self.demo.at(&format!("/releases/{}/assets{path}", self.id))
    }

    /// Sends a request as the administrator.
    async fn ask(&self, method: Method, path: &str, header: (&str, &str), body: impl Into<bytes::Bytes>) -> Answer {
        send(&self.farrier.unix(), method, &self.at(path), &[header], body).await
    }

    async fn upload(&self, name: &str, body: &'static [u8]) -> Value {
        let answer = self.ask(Method::POST, &format!("?name={name}"), OCTETS, body).await;
        assert_eq!(answer.status, 201, "{name}: {answer:?}");
        answer.json()
    }

    async fn names(&self) -> Vec<Value> {
        let list = self.ask(Method::GET, "", OCTETS, "").await.json();
        list.as_array().expect("a list").iter().map(|file| file["name"].clone()).collect()
    }
}

/// Returns the number of files with bytes of artifacts, without the file that names the store.
fn stored(farrier: &TestDaemon) -> usize {
    let top = farrier.data_dir().join("artifacts");
    let mut pending = vec![top.clone()];
    let mut found = 0;
    while let Some(path) = pending.pop() {
        // A directory may be removed while it is read.
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                _ if path == top => {}
                _ => found += 1,
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_a_bucket_are_downloaded_in_whole_and_in_part_and_removed() {
    let Some(bucket) = TestBucket::start().await else { return };
    let farrier = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let release = Release::new(&farrier, json!({ "tag_name": "v1" })).await;
    let file = release.upload("hello.txt", b"hello world").await;
    assert_eq!(bucket.blocks().await.len(), 1);
    let path = "/admin/demo/releases/download/v1/hello.txt";
    for (range, expected) in [("bytes=6-", "world"), ("bytes=0-10", "hello world"), ("bytes=0-4", "hello")] {
        let answer = send(&farrier.tcp(), Method::GET, path, &[("range", range)], "").await;
        assert_eq!((answer.status, answer.text().as_str()), (206, expected), "{range}");
    }
    assert_eq!(farrier.get(path).await.text(), "hello world");
    let deleted = release.ask(Method::DELETE, &format!("/{}", file["id"]), OCTETS, "").await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    eventually("its block is removed", async || bucket.blocks().await.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_uploaded_as_a_form_or_as_bytes_and_downloaded() {
    let farrier = TestDaemon::start().await;
    let release = Release::new(&farrier, json!({ "tag_name": "rel/1" })).await;
    let form = "--XX\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--XX\r\n\
        Content-Disposition: form-data; name=\"attachment\"; filename=\"hello.txt\"\r\n\r\nhello world\r\n--XX--\r\n";
    let created = release.ask(Method::POST, "", FORM, form).await;
    assert_eq!(created.status, 201, "{created:?}");
    let file = created.json();
    assert_eq!((&file["name"], &file["size"], &file["download_count"]), (&json!("hello.txt"), &json!(11), &json!(0)));
    let sha256 = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    assert_eq!(file["digest"], format!("sha256:{sha256}"));
    let url = file["browser_download_url"].as_str().expect("a URL");
    assert_eq!(url, format!("{}/admin/demo/releases/download/rel/1/hello.txt", farrier.url));
    release.upload("%C3%BC%20b.bin", b"\0\x01").await;
    release.upload("empty", b"").await;
    assert_eq!(release.names().await, ["hello.txt", "\u{fc} b.bin", "empty"]);
    let shown = farrier.json(&release.demo.at("/releases/tags/rel/1")).await;
    assert_eq!(shown["assets"].as_array().map(Vec::len), Some(3));
    assert_eq!(shown["assets"][0], file);

    let path = url.trim_start_matches(&farrier.url);
    let by_uuid = format!("/attachments/{}", file["uuid"].as_str().expect("text"));
    let etag = format!("\"sha256-{sha256}\"");
    for path in [path, &by_uuid] {
        let whole = farrier.get(path).await;
        assert_eq!((whole.status, whole.text().as_str()), (200, "hello world"), "{path}");
        for (header, value) in [
            ("etag", etag.as_str()),
            ("content-disposition", "attachment; filename=\"hello.txt\"; filename*=UTF-8''hello.txt"),
            ("content-security-policy", "sandbox; default-src 'none'"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(whole.header(header), value, "{path} {header}");
        }
        let ask = async |method: Method, header: (&str, &str)| {
            let answer = send(&farrier.tcp(), method, path, &[header], "").await;
            (answer.status, answer.text())
        };
        assert_eq!(ask(Method::GET, ("range", "bytes=6-")).await, (206, "world".into()));
        assert_eq!(ask(Method::GET, ("range", "bytes=20-")).await.0, 416);
        assert_eq!(ask(Method::GET, ("if-none-match", &etag)).await.0, 304);
        assert_eq!(ask(Method::HEAD, ("accept", "*/*")).await, (200, String::new()));
    }
    let count = async || release.ask(Method::GET, &format!("/{}", file["id"]), OCTETS, "").await.json();
    eventually("the download is counted", async || count().await["download_count"] == 1).await;
    assert_eq!(farrier.get("/admin/demo/releases/download/rel/1/empty").await.text(), "");
    for path in ["/attachments/x", "/attachments/00000000-0000-4000-8000-000000000000"] {
        assert_eq!(farrier.status(path).await, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_bodies_of_files_are_checked_and_nothing_is_stored() {
    let farrier = TestDaemon::with(|config| config.artifacts.max_bytes = 1_000).await;
    let release = Release::new(&farrier, json!({ "tag_name": "v3" })).await;
    let file = release.upload("a", b"1").await;
    let form = |field: &str, name: &str| {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{field}\"{name}\r\n\r\nx\r\n--XX--\r\n")
    };
    for (query, header, body, status) in [
        ("", OCTETS, "x".to_owned(), 400),
        ("?name=a", OCTETS, "x".into(), 409),
        ("?name=..%2Fevil", OCTETS, "x".into(), 422),
        ("?name=..", OCTETS, "x".into(), 422),
        ("?name=a%5Cb", OCTETS, "x".into(), 422),
        ("?name=a%0Ab", OCTETS, "x".into(), 422),
        ("?name=large", OCTETS, "x".repeat(1_001), 413),
        ("", FORM, form("file", "; filename=\"b\""), 422),
        ("", FORM, form("attachment", ""), 422),
        ("", FORM, form("attachment", "; filename=\"../b\""), 422),
        ("?name=b", FORM, "--XX\r\nnonsense".into(), 400),
        ("?name=b", FORM, form("attachment", "").replace("--XX--", ""), 400),
        ("?name=b", ("content-type", "multipart/form-data"), form("attachment", ""), 400),
    ] {
        let answer = release.ask(Method::POST, query, header, body.clone()).await;
        assert_eq!(answer.status, status, "{query} {body}: {answer:?}");
    }
    assert_eq!(release.names().await, ["a"]);
    eventually("the bytes of failed uploads are removed", async || stored(&farrier) == 1).await;

    let path = format!("/{}", file["id"]);
    let json = ("content-type", "application/json");
    let edit = async |name: &str| release.ask(Method::PATCH, &path, json, json!({ "name": name }).to_string()).await;
    assert_eq!(edit("b").await.json()["name"], "b");
    assert_eq!(edit("").await.json()["name"], "b", "an empty name changes nothing");
    assert_eq!(edit("a/b").await.status, 422);
    release.upload("c", b"2").await;
    assert_eq!(edit("c").await.status, 409);
    for (method, path, status) in [
        (Method::GET, "/999", 404),
        (Method::DELETE, "/999", 404),
        (Method::PATCH, "/999", 404),
        (Method::DELETE, path.as_str(), 204),
        (Method::DELETE, path.as_str(), 404),
    ] {
        let body = if method == Method::PATCH { "{\"name\":\"x\"}" } else { "" };
        assert_eq!(release.ask(method, path, json, body).await.status, status, "{path}");
    }
    eventually("the bytes of the deleted file are removed", async || stored(&farrier) == 1).await;
    let release_path = release.demo.at(&format!("/releases/{}", release.id));
    assert_eq!(farrier.admin(Method::DELETE, &release_path, Value::Null).await.status, 204);
    eventually("the bytes of the deleted release are removed", async || stored(&farrier) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_all_releases_of_a_repository_share_its_quota() {
    let farrier = TestDaemon::with(|config| config.artifacts.quota_bytes = 5).await;
    let release = Release::new(&farrier, json!({ "tag_name": "v3" })).await;
    let file = release.upload("a", b"123").await;
    let refused = release.ask(Method::POST, "?name=b", OCTETS, "456").await;
    assert_eq!(refused.status, 403, "{refused:?}");
    release.upload("b", b"45").await;
    let status = farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    let [kind, used, max] = ["kind", "used_bytes", "max_bytes"].map(|field| status["quotas"][0][field].clone());
    assert_eq!((kind, used, max), (json!("release_files"), json!(5), json!(5)), "the status names the full quota");
    // A token that may not read the administration does not learn the name of the repository.
    let token = format!("token {}", farrier.token("admin", &["write:repository"]).await);
    let headers = [("authorization", token.as_str())];
    let status = send(&farrier.tcp(), Method::GET, "/api/farrier/v1/status", &headers, "").await;
    assert_eq!((status.status, &status.json()["quotas"]), (200, &json!([])));
    let deleted = release.ask(Method::DELETE, &format!("/{}", file["id"]), OCTETS, "").await;
    assert_eq!(deleted.status, 204);
    release.upload("c", b"678").await;
    assert_eq!(release.names().await, ["b", "c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_uploads_do_not_exceed_the_quota() {
    let farrier = TestDaemon::with(|config| config.artifacts.quota_bytes = 5_000_000).await;
    let release = Release::new(&farrier, json!({ "tag_name": "v3" })).await;
    farrier.user("writer").await;
    let writer = release.demo.at("/collaborators/writer");
    assert_eq!(farrier.admin(Method::PUT, &writer, json!({ "permission": "write" })).await.status, 204);
    let token = farrier.token("writer", &["all"]).await;
    let mut uploads = Vec::new();
    for number in 1..=3 {
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {token}\r\n\
             Content-Type: application/octet-stream\r\nContent-Length: 3000000\r\n\r\n",
            release.at(&format!("?name=file{number}"))
        );
        let mut upload = RawConnection::sending(&farrier.tcp(), &head).await;
        upload.send(vec![b'x'; 2_999_999]).await.expect("the daemon reads");
        uploads.push(upload);
        eventually("the upload has begun", async || stored(&farrier) == number).await;
    }
    for upload in &mut uploads {
        upload.send("x").await.expect("the daemon reads");
    }
    let mut statuses = Vec::new();
    for upload in &mut uploads {
        statuses.push(upload.answer().await.expect("an answer").0);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403, 403]);
    assert_eq!(release.names().await.len(), 1);
    eventually("the bytes of the refused uploads are removed", async || stored(&farrier) == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_drafts_and_of_private_repositories_are_hidden() {
    let farrier = TestDaemon::start().await;
    let release = Release::new(&farrier, json!({ "tag_name": "v3", "draft": true })).await;
    let file = release.upload("a", b"secret").await;
    let by_uuid = format!("/attachments/{}", file["uuid"].as_str().expect("text"));
    let paths = ["/admin/demo/releases/download/v3/a".to_owned(), by_uuid, release.at(""), release.at("/1")];
    for path in &paths {
        assert_eq!(farrier.status(path).await, 404, "{path}");
    }
    let publish = farrier
        .admin(Method::PATCH, &release.demo.at(&format!("/releases/{}", release.id)), json!({ "draft": false }))
        .await;
    assert_eq!(publish.status, 200, "{publish:?}");
    assert_eq!(farrier.status(&paths[0]).await, 200);
    assert_eq!(farrier.admin(Method::PATCH, &release.demo.api, json!({ "private": true })).await.status, 200);
    for path in &paths {
        assert_eq!(farrier.status(path).await, 404, "{path}");
    }
    farrier.user("stranger").await;
    let stranger = format!("token {}", farrier.token("stranger", &["all"]).await);
    for path in &paths {
        let answer = send(&farrier.tcp(), Method::GET, path, &[("authorization", &stranger)], "").await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_ends_early_leaves_nothing_even_after_a_kill() {
    let mut farrier = TestDaemon::program("").await;
    let token = farrier.token("admin", &["all"]).await;
    let body = json!({ "name": "demo", "auto_init": true });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    let releases = "/api/v1/repos/admin/demo/releases";
    let created = farrier.admin(Method::POST, releases, json!({ "tag_name": "v1" })).await.json();
    let head = format!(
        "POST {releases}/{}/assets?name=big HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {token}\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: 9000000\r\n\r\n",
        created["id"]
    );
    for killed in [false, true] {
        let mut upload = RawConnection::sending(&farrier.tcp(), &head).await;
        upload.send(vec![b'x'; 3_000_000]).await.expect("the daemon reads");
        eventually("bytes are stored", async || stored(&farrier) == 1).await;
        if killed {
            farrier.kill_and_start().await;
        }
        drop(upload);
        eventually("the bytes are removed", async || stored(&farrier) == 0).await;
        let list = farrier.json(&format!("{releases}/{}/assets", created["id"])).await;
        assert_eq!(list, json!([]), "{killed}");
    }
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
}
