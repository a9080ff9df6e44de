//! Uploads and downloads on signed addresses.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{JSON, Lfs, oid, path_of, stored};
use crate::support::{PartialRequest, RawConnection, TestDaemon, eventually, git::noise, send};

#[tokio::test(flavor = "multi_thread")]
async fn whole_objects_and_ranges_are_downloaded() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let id = lfs.upload(b"0123456789").await;
    let address = lfs.address("download", &id, 10).await;
    let etag = format!("\"{id}\"");
    let ask = async |method: Method, header: (&str, &str)| send(&farrier.tcp(), method, &address, &[header], "").await;
    let whole = ask(Method::GET, ("accept", "*/*")).await;
    assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"), "{whole:?}");
    for (header, value) in [
        ("etag", etag.as_str()),
        ("accept-ranges", "bytes"),
        ("content-length", "10"),
        ("content-type", "application/octet-stream"),
        ("content-security-policy", "sandbox; default-src 'none'"),
    ] {
        assert_eq!(whole.header(header), value, "{header}");
    }
    for (range, status, text, shown) in [
        ("bytes=4-", 206, "456789", "bytes 4-9/10"),
        ("bytes=-7", 206, "3456789", "bytes 3-9/10"),
        ("bytes=0-0", 206, "0", "bytes 0-0/10"),
        ("bytes=10-", 416, "", "bytes */10"),
        ("bytes=1-2,4-5", 200, "0123456789", ""),
    ] {
        let answer = ask(Method::GET, ("range", range)).await;
        assert_eq!((answer.status, answer.header("content-range")), (status, shown), "{range}");
        if status == 416 {
            assert_eq!(answer.header("content-type"), JSON);
        } else {
            assert_eq!(answer.text(), text, "{range}");
        }
    }
    let head = ask(Method::HEAD, ("accept", "*/*")).await;
    assert_eq!((head.status, head.header("content-length"), head.text().as_str()), (200, "10", ""));
    assert_eq!(ask(Method::GET, ("if-none-match", &etag)).await.status, 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bytes_are_refused_and_nothing_is_kept() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let bytes = b"content".as_slice();
    let id = oid(bytes);
    let address = lfs.address("upload", &id, 7).await;
    for (bad, expected) in [
        (b"CONTENT".as_slice(), oid(b"CONTENT")),
        (b"conten", "6 bytes".into()),
        (b"content!", "8 bytes".into()),
        (b"", "0 bytes".into()),
    ] {
        let answer = lfs.put(&address, bad).await;
        assert_eq!((answer.status, answer.header("content-type")), (422, JSON), "{answer:?}");
        assert!(answer.text().contains(&expected), "both values are named: {answer:?}");
        assert_eq!(lfs.problem("download", &id, 7).await, 404);
    }
    // Without a length, the bytes are counted.
    for (chunks, expected) in [("3\r\ncon\r\n0\r\n\r\n", 422), ("8\r\ncontent!\r\n0\r\n\r\n", 422)] {
        let head = format!(
            "PUT {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let (status, text) = PartialRequest::begin(&farrier.tcp(), format!("{head}{chunks}")).await.answer().await;
        assert_eq!(status, expected, "{text}");
    }
    let mut half = RawConnection::sending(
        &farrier.tcp(),
        &format!("PUT {address} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n"),
    )
    .await;
    half.send(b"con".to_vec()).await.expect("the daemon reads");
    drop(half);
    eventually("no bytes are stored", async || stored(&farrier) == 0).await;
    assert_eq!(lfs.put(&address, bytes).await.status, 200);
    // A known object: the bytes are compared.
    assert_eq!(lfs.put(&address, bytes).await.status, 200);
    for bad in [b"CONTENT".as_slice(), b"conten"] {
        assert_eq!(lfs.put(&address, bad).await.status, 422);
    }
    assert_eq!((lfs.download(&id, 7).await.text().as_str(), stored(&farrier)), ("content", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_expired_and_foreign_addresses_are_refused() {
    let clock = Clock::manual(1_767_323_045_000);
    let farrier = TestDaemon::with_clock(clock.clone(), |_| {}).await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let id = lfs.upload(b"content").await;
    let download = lfs.address("download", &id, 7).await;
    let other = oid(b"other");
    let upload = lfs.address("upload", &other, 5).await;
    let ask = async |method: Method, path: &str| send(&farrier.tcp(), method, path, &[], "").await.status;
    assert_eq!(ask(Method::GET, &download).await, 200);
    for bad in [
        download.split('?').next().expect("a path").to_owned(),
        download.replace(&id, &other),
        download.replace("size=7", "size=8"),
        download.replace("repository=1", "repository=2"),
        download.replace("op=download", "op=upload"),
        format!("{download}&size=7"),
        download.replace(&id, "..%2f..%2fetc%2fpasswd"),
        download.replace(&id, "%00"),
        upload.clone(),
    ] {
        assert_eq!(ask(Method::GET, &bad).await, 403, "{bad}");
    }
    assert_eq!(lfs.put(&download, b"content").await.status, 403);
    let verify = path_of(&lfs.object("upload", &other, 5).await["actions"]["verify"]["href"]);
    let check = async |path: &str, id: &str, size: u64| {
        let body = json!({ "oid": id, "size": size }).to_string();
        send(&farrier.tcp(), Method::POST, path, &[("content-type", JSON)], body).await.status
    };
    assert_eq!(check(&verify, &other, 5).await, 404, "not uploaded yet");
    assert_eq!(lfs.put(&upload, b"other").await.status, 200);
    assert_eq!((check(&verify, &other, 5).await, check(&verify, &other, 6).await), (200, 422));
    assert_eq!((check(&verify, &id, 7).await, check(&upload, &other, 5).await), (422, 405));
    clock.advance_ms(3_600_000);
    for (path, method) in [(&download, Method::GET), (&upload, Method::PUT)] {
        assert_eq!(ask(method, path).await, 403, "expired");
    }
    assert_eq!(check(&verify, &other, 5).await, 403, "expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_ends_with_the_access_of_its_caller() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let id = lfs.upload(b"content").await;
    let anonymous = lfs.with("").address("download", &id, 7).await;
    let token = farrier.token("admin", &["write:repository"]).await;
    let caller = lfs.with(&format!("token {token}"));
    let (download, upload) =
        (caller.address("download", &id, 7).await, caller.address("upload", &oid(b"new"), 3).await);
    let ask = async |path: &str| send(&farrier.tcp(), Method::GET, path, &[], "").await.status;
    assert_eq!((ask(&anonymous).await, ask(&download).await), (200, 200));
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200);
    assert_eq!((ask(&anonymous).await, ask(&download).await), (403, 200));
    let path = "/api/v1/users/admin/tokens/token-write:repository";
    assert_eq!(farrier.admin(Method::DELETE, path, Value::Null).await.status, 204);
    assert_eq!((ask(&download).await, lfs.put(&upload, b"new").await.status), (403, 403));
    assert_eq!(lfs.problem("download", &oid(b"new"), 3).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn knowing_an_oid_of_another_repository_gives_nothing() {
    let farrier = TestDaemon::start().await;
    let (first, second) = (Lfs::new(&farrier, "first").await, Lfs::new(&farrier, "second").await);
    let bytes = noise(100_000);
    let id = first.upload(&bytes).await;
    assert_eq!(second.problem("download", &id, bytes.len()).await, 404);
    let object = second.object("upload", &id, bytes.len()).await;
    let address = path_of(&object["actions"]["upload"]["href"]);
    assert_eq!(second.put(&address, &vec![0; bytes.len()]).await.status, 422);
    assert_eq!(second.problem("download", &id, bytes.len()).await, 404);
    assert_eq!(second.put(&address, &bytes).await.status, 200);
    assert_eq!(second.download(&id, bytes.len()).await.body, bytes);
    assert_eq!(stored(&farrier), 1, "one copy");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_uploads_of_one_object_at_once_both_succeed_and_leave_one_copy() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let bytes = noise(300_000);
    let address = lfs.address("upload", &oid(&bytes), bytes.len()).await;
    let mut uploads = Vec::new();
    for _ in 0..2 {
        let mut upload = PartialRequest::put(&farrier.tcp(), &address, bytes.len(), &bytes[..200_000]).await;
        upload.write(&bytes[200_000..299_999]).await;
        uploads.push(upload);
    }
    for mut upload in uploads {
        upload.write(&bytes[299_999..]).await;
        let (status, text) = upload.answer().await;
        assert_eq!(status, 200, "{text}");
    }
    eventually("one copy is left", async || stored(&farrier) == 1).await;
    assert_eq!(lfs.download(&oid(&bytes), bytes.len()).await.body, bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_behind_one_address_have_shares_of_their_own() {
    // One upload for each holder.
    let farrier = TestDaemon::with(|config| config.artifacts.max_uploads = 2).await;
    let admin = Lfs::new(&farrier, "demo").await;
    let bytes = noise(3 << 20);
    let mut callers = Vec::new();
    for name in ["wren", "robin"] {
        farrier.user(name).await;
        let path = format!("/api/v1/repos/admin/demo/collaborators/{name}");
        let added = farrier.admin(Method::PUT, &path, json!({ "permission": "write" })).await;
        assert_eq!(added.status, 204, "{added:?}");
        callers.push(admin.with(&format!("token {}", farrier.token(name, &["all"]).await)));
    }
    let address = callers[0].address("upload", &oid(&bytes), bytes.len()).await;
    let mut upload = PartialRequest::put(&farrier.tcp(), &address, bytes.len(), &bytes[..1 << 20]).await;
    eventually("the upload has begun", async || stored(&farrier) == 1).await;
    callers[1].upload(b"of robin").await;
    let address = callers[0].address("upload", &oid(b"second"), 6).await;
    let refused = callers[0].put(&address, b"second").await;
    assert!(matches!(refused.status, 429 | 503), "{refused:?}");
    upload.write(&bytes[1 << 20..]).await;
    assert_eq!(upload.answer().await.0, 200);
}
