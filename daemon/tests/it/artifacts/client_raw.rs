//! The official client with single files that are not zipped, and with unusual names.

use http::Method;
use serde_json::{Value, json};

use super::{list, read_address, tree, write};
use crate::support::{
    Proxy, TestDaemon,
    client::{client, download, upload},
    send,
};

#[tokio::test]
async fn a_raw_file_keeps_its_name_and_type_and_is_not_extracted() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "raw.txt", "just text");
    let options = json!({ "skipArchive": true });
    let outcome = client
        .run(&[upload("ignored", &root, &["raw.txt"], options), download(json!({ "of": 0 }), &to, Value::Null)])
        .await;
    outcome.ok(1);
    assert_eq!(list(&farrier, &job).await[0]["name"], "raw.txt");
    assert_eq!(tree(&to), tree(&root));
    let address = read_address(&farrier, &job, "raw.txt").await;
    let answer = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert!(answer.header("content-type").starts_with("text/plain"), "{answer:?}");
}

#[tokio::test]
async fn an_empty_raw_file_is_stored_as_an_empty_artifact() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let proxy = Proxy::start(&farrier, &[]).await;
    let client = client.through(&proxy.url);
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "nothing.log", "");
    let options = json!({ "skipArchive": true });
    let outcome = client
        .run(&[upload("", &root, &["nothing.log"], options), download(json!({ "of": 0 }), &to, Value::Null)])
        .await;
    outcome.ok(1);
    assert_eq!((proxy.count("comp=block&"), proxy.count("comp=blocklist")), (0, 1));
    assert_eq!(list(&farrier, &job).await[0]["size"], "0");
    assert_eq!(tree(&to), [("nothing.log".to_owned(), Some(Vec::new()))]);
}

#[tokio::test]
async fn non_ascii_names_and_names_with_percent_signs_are_preserved() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    let names = ["日本 語.log", "100%.log", "a'b;c%d&e+f", "CON"];
    let mut operations = Vec::new();
    for name in names {
        write(&root, name, name);
        operations.push(upload("", &root, &[name], json!({ "skipArchive": true })));
    }
    for index in 0..names.len() {
        operations.push(download(json!({ "of": index }), &to, Value::Null));
    }
    let outcome = client.run(&operations).await;
    for index in 0..operations.len() {
        outcome.ok(index);
    }
    assert_eq!(tree(&to), tree(&root));
    let fetched: Vec<Value> = list(&farrier, &job).await.iter().map(|artifact| artifact["name"].clone()).collect();
    assert_eq!(fetched, names);
}

#[tokio::test]
async fn a_raw_zip_file_is_extracted_unless_decompression_is_skipped() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let (root, zipped, plain, kept) =
        (farrier.files("up"), farrier.files("zipped"), farrier.files("plain"), farrier.files("kept"));
    write(&root, "inside.txt", "inside");
    // The client creates the zip file: it downloads an artifact without extracting it.
    let created = client
        .run(&[
            upload("first", &root, &["inside.txt"], Value::Null),
            download(json!({ "of": 0 }), &zipped, json!({ "skipDecompress": true })),
        ])
        .await;
    created.ok(1);
    let (saved, bytes) = tree(&zipped).remove(0);
    std::fs::rename(zipped.join(saved), zipped.join("raw.zip")).expect("a file");
    let outcome = client
        .run(&[
            upload("", &zipped, &["raw.zip"], json!({ "skipArchive": true })),
            download(json!({ "of": 0 }), &plain, Value::Null),
            download(json!({ "of": 0 }), &kept, json!({ "skipDecompress": true })),
        ])
        .await;
    outcome.ok(1);
    outcome.ok(2);
    assert_eq!(tree(&plain), tree(&root));
    assert_eq!(tree(&kept), [("raw.zip".to_owned(), bytes)]);
}

#[tokio::test]
async fn the_environment_of_a_job_works_unchanged_and_with_a_localhost_server_url() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "a", "a");
    let Some(plain) = client(&job).await else { return };
    plain.run(&[upload("plain", &root, &["a"], Value::Null)]).await.ok(0);
    let port = farrier.url.rsplit_once(':').expect("a port").1;
    let named = plain.env("GITHUB_SERVER_URL", format!("http://x.localhost:{port}"));
    let outcome =
        named.run(&[upload("named", &root, &["a"], Value::Null), download(json!({ "of": 0 }), &to, Value::Null)]).await;
    outcome.ok(1);
    assert_eq!(tree(&to), tree(&root));
    let elsewhere = named.env("GITHUB_SERVER_URL", "https://forge.example.com");
    let refused = elsewhere.run(&[json!({ "call": "listArtifacts" })]).await;
    assert_eq!(refused.results[0]["error"]["name"], "GHESNotSupportedError");
}

#[tokio::test]
async fn the_client_shows_the_error_for_a_block_over_the_size_limit() {
    let farrier = TestDaemon::with(|config| config.artifacts.max_bytes = 1 << 20).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let root = farrier.files("up");
    write(&root, "data", super::noise(3 << 20, 5));
    let outcome = client.run(&[upload("x", &root, &["data"], json!({ "compressionLevel": 0 }))]).await;
    assert!(outcome.error(0).contains("larger than the limit of 1048576 bytes"), "{}", outcome.error(0));
}
