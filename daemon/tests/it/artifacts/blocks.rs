//! Blocks and block lists: how a blob is assembled.

use http::Method;
use serde_json::{Value, json};

use super::{assert_xml_error, block, commit, finalize, list, noise, put, read, tree, write};
use crate::support::{
    Job, Proxy, TestDaemon,
    client::{Version, client, client_of, download, upload},
    send,
};

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

#[tokio::test]
async fn blocks_are_assembled_in_the_order_of_the_list() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    for id in ["c", "b", "a"] {
        block(&farrier, &address, id, format!("<{id}>")).await;
    }
    assert_eq!(commit(&farrier, &address, &["a", "b", "c", "a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 12).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "<a><b><c><a>");
}

#[tokio::test]
async fn a_block_missing_from_the_list_is_dropped() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "named").await;
    block(&farrier, &address, "b", "not named").await;
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 5).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "named");
}

#[tokio::test]
async fn a_list_with_an_unknown_block_is_refused() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "here").await;
    assert_xml_error(&commit(&farrier, &address, &["a", "nowhere"]).await, 400, "InvalidBlockList");
    assert!(list(&farrier, &job).await.is_empty());
    assert_eq!(finalize(&farrier, &job, "x", 4).await.status, 412);
    // The upload can still be completed.
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 4).await.status, 200);
}

#[tokio::test]
async fn a_block_replaces_an_earlier_one_with_the_same_id() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "first").await;
    block(&farrier, &address, "b", "-end").await;
    block(&farrier, &address, "a", "second").await;
    assert_eq!(commit(&farrier, &address, &["a", "b"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 10).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "second-end");
}

#[tokio::test]
async fn repeated_requests_answer_201_without_a_body() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    let block_list = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<BlockList>\n <Latest>YQ==</Latest>\n</BlockList>\n";
    for _ in 0..2 {
        for (parameters, body) in [("&comp=block&blockid=YQ%3D%3D", "x"), ("&comp=blocklist", block_list)] {
            let answer = put(&farrier, &address, parameters, body).await;
            assert_eq!((answer.status, answer.text()), (201, String::new()), "{parameters}");
            assert_eq!(answer.header("content-length"), "0");
        }
    }
    assert_eq!(finalize(&farrier, &job, "x", 1).await.status, 200);
    let again = put(&farrier, &address, "&comp=blocklist", block_list).await;
    assert_eq!(again.status, 201, "repeats the list after the upload was finalized");

    let blob = farrier.create(&job, "y").await;
    let answer = send(&farrier.tcp(), Method::PUT, &blob, &[("x-ms-blob-type", "BlockBlob")], "in one piece").await;
    assert_eq!((answer.status, answer.text()), (201, String::new()));
    assert_eq!(finalize(&farrier, &job, "y", 12).await.status, 200);
    assert_eq!(read(&farrier, &job, "y").await, "in one piece");
}

#[tokio::test]
async fn any_or_no_version_of_the_storage_protocol_is_accepted() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    for version in ["", "2009-09-19", "2023-11-03", "2026-04-06", "2099-01-01", "nonsense"] {
        let headers = [("x-ms-version", version)];
        let headers = if version.is_empty() { &headers[1..] } else { &headers };
        for (parameters, body) in
            [("&comp=block&blockid=a", "x"), ("&comp=blocklist", "<BlockList><Latest>a</Latest></BlockList>")]
        {
            let answer = send(&farrier.tcp(), Method::PUT, &format!("{address}{parameters}"), headers, body).await;
            assert_eq!(answer.status, 201, "{version:?}");
        }
    }
    assert_eq!(finalize(&farrier, &job, "x", 1).await.status, 200);
    let address = super::read_address(&farrier, &job, "x").await;
    assert_eq!(send(&farrier.tcp(), Method::GET, &address, &[("x-ms-version", "1")], "").await.status, 200);
}

/// Clients retry a request when they do not receive its response.
#[tokio::test]
async fn an_upload_survives_lost_responses() {
    let (farrier, job) = daemon_with_job().await;
    let root = farrier.files("up");
    write(&root, "data", noise(9 << 20, 7));
    for version in [Version::V6, Version::V2_1] {
        let proxy = Proxy::start(&farrier, &["comp=block&", "comp=blocklist"]).await;
        let Some(client) = client_of(version, &job).await else { return };
        let client = client.through(&proxy.url);
        let to = farrier.files(&format!("{version:?}"));
        let name = format!("x-{version:?}");
        let up = upload(&name, &root, &["data"], json!({ "compressionLevel": 0 }));
        let outcome = client.run(&[up, download(json!({ "of": 0 }), &to, Value::Null)]).await;
        outcome.ok(1);
        assert_eq!((proxy.count("comp=block&"), proxy.count("comp=blocklist")), (3, 2), "{:?}", proxy.requests());
        assert!(tree(&to) == tree(&root));
    }
}

#[tokio::test]
async fn the_storage_client_uploads_blocks_and_whole_blobs_despite_lost_responses() {
    let (farrier, job) = daemon_with_job().await;
    let Some(client) = client(&job).await else { return };
    let lossy = Proxy::start(&farrier, &["blockid=MDAwMDAx", "comp=blocklist"]).await;
    let lossy_too = Proxy::start(&farrier, &["sp=cw"]).await;
    let (blocks, blob) = (farrier.create(&job, "blocks").await, farrier.create(&job, "whole").await);
    let outcome = client
        .run(&[
            json!({ "call": "blocks", "url": format!("{}{blocks}", lossy.url), "blocks": ["one ", "two ", "three"] }),
            json!({ "call": "putBlob", "url": format!("{}{blob}", lossy_too.url), "text": "all at once" }),
        ])
        .await;
    assert_eq!((lossy.count("comp=block&"), lossy.count("comp=blocklist"), lossy_too.requests().len()), (4, 2, 2));
    assert_eq!((outcome.ok(0), outcome.ok(1)), (&json!({ "status": 201 }), &json!({ "status": 201 })));
    assert_eq!(finalize(&farrier, &job, "blocks", 13).await.status, 200);
    assert_eq!(finalize(&farrier, &job, "whole", 11).await.status, 200);
    assert_eq!(read(&farrier, &job, "blocks").await, "one two three");
    assert_eq!(read(&farrier, &job, "whole").await, "all at once");
}
