//! The messages of the cache service: encodings, errors, and authorization.

use farrier_proto::cache::{
    CreateCacheEntryRequest, CreateCacheEntryResponse, FinalizeCacheEntryUploadRequest,
    FinalizeCacheEntryUploadResponse, GetCacheEntryDownloadUrlRequest, GetCacheEntryDownloadUrlResponse,
};
use http::Method;
use prost::Message;
use serde_json::json;

use super::{
    SERVICE, VERSION, assert_error, call, call_as, content, finalize, put_blob, reserve, reserved, restore, save,
};
use crate::support::{Job, TestDaemon, send};

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    (farrier, job)
}

#[tokio::test]
async fn an_entry_is_saved_and_restored_with_the_fields_that_clients_read() {
    let (farrier, job) = daemon_with_job().await;
    let created = reserve(&farrier, &job, "k").await.json();
    assert_eq!(
        created.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["ok".into(), "signed_upload_url".into()])
    );
    let address = farrier.path_of(created["signed_upload_url"].as_str().expect("an address"));
    assert_eq!(restore(&farrier, &job, "k", &[]).await, None, "not finalized");
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    let finalized = finalize(&farrier, &job, "k", 7).await.json();
    let id = finalized["entry_id"].as_str().expect("text");
    assert_eq!(finalized, json!({ "ok": true, "entry_id": id }));
    assert_eq!(restore(&farrier, &job, "k", &[]).await, Some(("k".into(), "content".into())));
}

#[tokio::test]
async fn field_names_and_numbers_are_accepted_in_every_form() {
    let (farrier, job) = daemon_with_job().await;
    for (key, size) in [("a", r#""size_bytes":"7""#), ("b", r#""size_bytes":7"#), ("c", r#""sizeBytes":"7""#)] {
        let address = reserved(&farrier, &job, key).await;
        assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
        let body = format!(
            r#"{{"metadata":{{"repository_id":"1","scope":[{{"scope":"x"}}]}},"key":"{key}",{size},"version":"{VERSION}","new":[1]}}"#
        );
        let message = serde_json::from_str(&body).expect("JSON");
        let answer = call_as(&farrier, &job.token, "FinalizeCacheEntryUpload", &message).await;
        assert_eq!(answer.json()["ok"], true, "{answer:?}");
    }
    let camel = json!({ "key": "x", "restoreKeys": ["a"], "version": VERSION });
    let found = call(&farrier, &job, "GetCacheEntryDownloadURL", camel).await.json();
    assert_eq!(found["matched_key"], "a");
}

#[tokio::test]
async fn an_empty_entry_is_finalized_without_a_size() {
    let (farrier, job) = daemon_with_job().await;
    let address = reserved(&farrier, &job, "empty").await;
    assert_eq!(put_blob(&farrier, &address, "").await.status, 201);
    let message = json!({ "key": "empty", "version": VERSION });
    assert_eq!(call(&farrier, &job, "FinalizeCacheEntryUpload", message).await.json()["ok"], true);
    assert_eq!(content(&farrier, &job, "empty").await.as_deref(), Some(""));
}

/// Sends a protobuf request and decodes the protobuf response.
async fn protobuf<M: Message + Default>(farrier: &TestDaemon, job: &Job, method: &str, message: &impl Message) -> M {
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/protobuf"), ("authorization", authorization.as_str())];
    let path = format!("{SERVICE}/{method}");
    let answer = send(&farrier.tcp(), Method::POST, &path, &headers, message.encode_to_vec()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/protobuf"), "{answer:?}");
    M::decode(answer.body).expect("a message")
}

#[tokio::test]
async fn protobuf_requests_get_protobuf_responses_and_a_miss_is_an_empty_message() {
    let (farrier, job) = daemon_with_job().await;
    let (key, version) = ("dir/a b+c%2F日本".to_owned(), "any text".to_owned());
    let lookup = GetCacheEntryDownloadUrlRequest { key: key.clone(), version: version.clone(), restore_keys: vec![] };
    let miss: GetCacheEntryDownloadUrlResponse = protobuf(&farrier, &job, "GetCacheEntryDownloadURL", &lookup).await;
    assert!(miss.encode_to_vec().is_empty());
    let create = CreateCacheEntryRequest { key: key.clone(), version: version.clone() };
    let created: CreateCacheEntryResponse = protobuf(&farrier, &job, "CreateCacheEntry", &create).await;
    let address = farrier.path_of(&created.signed_upload_url.expect("an address"));
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    let finalize = FinalizeCacheEntryUploadRequest { key: key.clone(), version, size_bytes: 7 };
    let finalized: FinalizeCacheEntryUploadResponse =
        protobuf(&farrier, &job, "FinalizeCacheEntryUpload", &finalize).await;
    assert!(finalized.ok && finalized.entry_id.is_some_and(|id| id > 0));
    let hit: GetCacheEntryDownloadUrlResponse = protobuf(&farrier, &job, "GetCacheEntryDownloadURL", &lookup).await;
    assert_eq!((hit.ok, hit.matched_key), (true, Some(key)));
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict_and_the_first_content_stays() {
    let (farrier, job) = daemon_with_job().await;
    save(&farrier, &job, "k", "first").await;
    let again = reserve(&farrier, &job, "k").await;
    assert_error(&again, 409, "already_exists");
    assert_eq!(again.json()["msg"], "cache entry with the same key, version, and scope already exists");
    let other = farrier.begin_on("r", "main").await;
    assert_error(&reserve(&farrier, &other, "k").await, 409, "already_exists");
    assert_error(&finalize(&farrier, &other, "k", 5).await, 409, "already_exists");
    assert_eq!(content(&farrier, &other, "k").await.as_deref(), Some("first"));
    let message = json!({ "key": "k", "version": "other" });
    assert_eq!(call(&farrier, &job, "CreateCacheEntry", message).await.json()["ok"], true, "another version");
}

#[tokio::test]
async fn a_wrong_size_is_refused_with_a_text_and_a_later_save_works() {
    let (farrier, job) = daemon_with_job().await;
    let nothing = finalize(&farrier, &job, "k", 4).await.json();
    assert_eq!(nothing, json!({ "ok": false, "message": "cache entry finalize failed: expected 4 bytes, have 0" }));
    let address = reserved(&farrier, &job, "k").await;
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    let wrong = finalize(&farrier, &job, "k", 4).await.json();
    assert_eq!(wrong, json!({ "ok": false, "message": "cache entry finalize failed: expected 4 bytes, have 7" }));
    assert_eq!(content(&farrier, &job, "k").await, None);
    save(&farrier, &job, "k", "right").await;
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("right"));
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 404, "the address of the replaced upload");
}

#[tokio::test]
async fn finalizing_twice_returns_the_same_id() {
    let (farrier, job) = daemon_with_job().await;
    let id = save(&farrier, &job, "k", "content").await;
    let again = finalize(&farrier, &job, "k", 7).await.json();
    assert_eq!(again, json!({ "ok": true, "entry_id": id.to_string() }));
    assert_eq!(finalize(&farrier, &job, "k", 8).await.json()["ok"], false);
}

#[tokio::test]
async fn bad_keys_versions_and_lists_are_refused_and_nothing_is_stored() {
    let (farrier, job) = daemon_with_job().await;
    let long = "k".repeat(513);
    for key in ["", "a,b", "a\0b", "a\nb", &long] {
        assert_error(&reserve(&farrier, &job, key).await, 400, "invalid_argument");
        let lookup = json!({ "key": key, "version": VERSION });
        assert_error(&call(&farrier, &job, "GetCacheEntryDownloadURL", lookup).await, 400, "invalid_argument");
    }
    for version in ["", &long] {
        let message = json!({ "key": "k", "version": version });
        assert_error(&call(&farrier, &job, "CreateCacheEntry", message.clone()).await, 400, "invalid_argument");
        assert_error(&call(&farrier, &job, "GetCacheEntryDownloadURL", message).await, 400, "invalid_argument");
    }
    let keys: Vec<String> = (0..11).map(|n| format!("k{n}")).collect();
    let lookup = json!({ "key": "k", "restore_keys": keys, "version": VERSION });
    assert_error(&call(&farrier, &job, "GetCacheEntryDownloadURL", lookup).await, 400, "invalid_argument");
    let longest = "é".repeat(512);
    save(&farrier, &job, &longest, "content").await;
    assert_eq!(content(&farrier, &job, &longest).await.as_deref(), Some("content"));
}

#[tokio::test]
async fn requests_without_the_token_of_a_running_job_are_refused() {
    let (farrier, job) = daemon_with_job().await;
    save(&farrier, &job, "k", "content").await;
    let ended = farrier.begin_on("r", "main").await;
    farrier.end(&ended).await;
    let account = farrier.token("admin", &["all"]).await;
    let changed = format!("{}x", job.token);
    for token in ["", "x", &ended.token, &account, &changed] {
        for method in ["CreateCacheEntry", "FinalizeCacheEntryUpload", "GetCacheEntryDownloadURL"] {
            let message = json!({ "key": "k", "version": VERSION });
            assert_error(&call_as(&farrier, token, method, &message).await, 401, "unauthenticated");
        }
    }
    farrier.repository("other").await;
    let foreign = farrier.begin_on("other", "main").await;
    assert_eq!(content(&farrier, &foreign, "k").await, None);
}

#[tokio::test]
async fn signed_addresses_open_one_entry_for_one_operation() {
    let (farrier, job) = daemon_with_job().await;
    let first = save(&farrier, &job, "a", "first").await;
    let second = save(&farrier, &job, "b", "second").await;
    let lookup = json!({ "key": "a", "version": VERSION });
    let found = call(&farrier, &job, "GetCacheEntryDownloadURL", lookup).await.json();
    let address = farrier.path_of(found["signed_download_url"].as_str().expect("an address"));
    let get = async |path: &str, headers: &[(&str, &str)]| send(&farrier.tcp(), Method::GET, path, headers, "").await;
    assert_eq!(get(&address, &[]).await.text(), "first");
    let other = address.replace(&format!("/{first}/"), &format!("/{second}/"));
    assert_eq!(get(&other, &[]).await.status, 403);
    assert_eq!(put_blob(&farrier, &address, "changed").await.status, 403);
    let upload = reserved(&farrier, &job, "c").await;
    assert_eq!(get(&upload, &[]).await.status, 403);
    for range in [("x-ms-range", "bytes=1-2"), ("range", "bytes=1-2")] {
        let part = get(&address, &[range]).await;
        assert_eq!((part.status, part.header("content-range"), part.text().as_str()), (206, "bytes 1-2/5", "ir"));
    }
}

#[tokio::test]
async fn blocks_are_accepted_in_any_order_with_parameters_before_the_signature() {
    let (farrier, job) = daemon_with_job().await;
    let address = reserved(&farrier, &job, "k").await;
    let (path, query) = address.split_once('?').expect("a query");
    for (id, content) in [("eR%2Fh%2BA%3D%3D", "world"), ("eR/h%2BB%3D%3D", "hello ")] {
        let path = format!("{path}?comp=block&blockid={id}&{query}");
        assert_eq!(send(&farrier.tcp(), Method::PUT, &path, &[], content).await.status, 201);
    }
    let list = "<BlockList><Latest>eR/h+B==</Latest><Latest>eR/h+A==</Latest></BlockList>";
    let committed = send(&farrier.tcp(), Method::PUT, &format!("{path}?comp=blocklist&{query}"), &[], list).await;
    assert_eq!(committed.status, 201, "{committed:?}");
    assert_eq!(finalize(&farrier, &job, "k", 11).await.json()["ok"], true);
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("hello world"));
}
