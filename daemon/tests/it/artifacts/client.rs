//! The official client, unmodified: uploads and downloads of zip files, and the errors that it shows.

use farrierd::config::UniquePer;
use serde_json::{Value, json};

use super::{list, noise, tree, write};
use crate::support::{
    Proxy, TestDaemon,
    client::{Version, client, client_of, download, upload},
};

#[tokio::test]
async fn an_upload_returns_the_id_size_and_digest_that_the_list_shows() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let root = farrier.files("up");
    write(&root, "hello.txt", "hello world\n");
    let outcome =
        client.run(&[upload("small", &root, &["hello.txt"], Value::Null), json!({ "call": "listArtifacts" })]).await;
    let created = outcome.ok(0);
    assert!(created["id"].as_i64().expect("a number") > 0);
    let fetched = &outcome.ok(1)["artifacts"][0];
    for field in ["id", "size"] {
        assert_eq!(fetched[field], created[field], "{field}");
    }
    assert_eq!(fetched["name"], "small");
    assert_eq!(fetched["digest"], format!("sha256:{}", created["digest"].as_str().expect("a digest")));
    assert!(fetched["createdAt"].is_string(), "{fetched}");
}

#[tokio::test]
async fn files_and_empty_directories_survive_upload_and_download() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "a.txt", "a");
    write(&root, "sub/deep/b.bin", noise(70_000, 1));
    write(&root, "sub/empty.txt", "");
    farrier.files("up/nothing inside");
    let files = ["a.txt", "sub/deep/b.bin", "sub/empty.txt", "nothing inside/"];
    let outcome =
        client.run(&[upload("tree", &root, &files, Value::Null), download(json!({ "of": 0 }), &to, Value::Null)]).await;
    outcome.ok(1);
    assert_eq!(tree(&to), tree(&root));
}

#[tokio::test]
async fn forty_mebibytes_are_uploaded_in_six_blocks() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let proxy = Proxy::start(&farrier, &[]).await;
    let client = client.through(&proxy.url);
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "data", noise(40 << 20, 2));
    let created = client.run(&[upload("large", &root, &["data"], json!({ "compressionLevel": 0 }))]).await;
    assert_eq!(proxy.count("comp=block&"), 6);
    let digest = created.ok(0)["digest"].as_str().expect("a digest");
    let expected = json!({ "expectedHash": format!("sha256:{digest}") });
    let outcome = client.run(&[download(created.ok(0)["id"].clone(), &to, expected)]).await;
    assert_eq!(outcome.ok(0)["digestMismatch"], false);
    assert!(tree(&to) == tree(&root));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_mebibytes_are_uploaded_with_32_concurrent_blocks() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let client = client.env("ACTIONS_ARTIFACT_UPLOAD_CONCURRENCY", "32");
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "data.bin", noise(300 << 20, 3));
    let options = json!({ "skipArchive": true });
    let outcome =
        client.run(&[upload("", &root, &["data.bin"], options), download(json!({ "of": 0 }), &to, Value::Null)]).await;
    assert_eq!(outcome.ok(0)["size"], 300 << 20);
    outcome.ok(1);
    assert!(tree(&to) == tree(&root));
}

#[tokio::test]
async fn older_clients_and_the_newest_one_read_each_others_zip_files() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let root = farrier.files("up");
    write(&root, "file.txt", noise(5_000, 4));
    let Some(newest) = client(&job).await else { return };
    let created = newest.run(&[upload("new", &root, &["file.txt"], Value::Null)]).await;
    for version in [Version::V2_3, Version::V2_1] {
        let Some(older) = client_of(version, &job).await else { return };
        let (from_new, from_old) = (farrier.files(&format!("{version:?}-a")), farrier.files(&format!("{version:?}-b")));
        let name = format!("old-{version:?}");
        let outcome = older
            .run(&[
                upload(&name, &root, &["file.txt"], Value::Null),
                download(created.ok(0)["id"].clone(), &from_new, Value::Null),
            ])
            .await;
        outcome.ok(1);
        let back = newest.run(&[download(outcome.ok(0)["id"].clone(), &from_old, Value::Null)]).await;
        back.ok(0);
        assert_eq!(tree(&from_new), tree(&root), "{version:?} reads what the newest wrote");
        assert_eq!(tree(&from_old), tree(&root), "the newest extracts what {version:?} wrote");
    }
}

#[tokio::test]
async fn the_client_masks_signatures_in_the_log_of_the_job() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(client) = client(&job).await else { return };
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "a", "a");
    let up = client.run(&[upload("x", &root, &["a"], Value::Null)]).await;
    let down = client.run(&[download(up.ok(0)["id"].clone(), &to, Value::Null)]).await;
    for (what, outcome) in [("upload", &up), ("download", &down)] {
        let masks: Vec<&str> = outcome.log.lines().filter_map(|line| line.strip_prefix("::add-mask::")).collect();
        let signature = |mask: &&&str| mask.len() == 64 && mask.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(masks.iter().any(|mask| signature(&mask)), "{what}: {masks:?}\n{}", outcome.log);
    }
}

#[tokio::test]
async fn the_client_reports_a_missing_artifact_after_one_request() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    assert_eq!(farrier.call(&job, "ListArtifacts", json!({})).await.json(), json!({ "artifacts": [] }));
    let Some(client) = client(&job).await else { return };
    let proxy = Proxy::start(&farrier, &[]).await;
    let client = client.through(&proxy.url);
    let outcome = client
        .run(&[json!({ "call": "getArtifact", "name": "x" }), json!({ "call": "deleteArtifact", "name": "x" })])
        .await;
    for index in [0, 1] {
        assert!(outcome.error(index).starts_with("Artifact not found"), "{:?}", outcome.results);
    }
    assert_eq!(proxy.count("ListArtifacts"), 2, "one for each, no retries: {:?}", proxy.requests());
    assert_eq!(proxy.requests().len(), 2);
}

#[tokio::test]
async fn the_client_does_not_retry_permanent_errors() {
    let farrier = TestDaemon::with(|config| config.artifacts.quota_bytes = 10).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let other = farrier.begin("r", Some(job.run_id)).await;
    farrier.upload(&job, "full", b"0123456789").await;
    let root = farrier.files("up");
    write(&root, "a", "a");
    let Some(full) = client(&job).await else { return };
    let proxy = Proxy::start(&farrier, &[]).await;
    let refused = full.through(&proxy.url).run(&[upload("x", &root, &["a"], Value::Null)]).await;
    assert!(refused.error(0).contains("Artifact storage quota has been hit"), "{}", refused.error(0));
    assert_eq!(proxy.requests().len(), 1);

    farrier.end(&other).await;
    let ended = client(&other).await.expect("there").through(&proxy.url);
    let refused = ended.run(&[upload("x", &root, &["a"], Value::Null)]).await;
    assert!(refused.error(0).contains("(401)"), "{}", refused.error(0));
    assert_eq!(proxy.requests().len(), 2);
}

#[tokio::test]
async fn the_newer_of_two_artifacts_with_the_same_name_is_found() {
    let farrier = TestDaemon::with(|config| config.artifacts.unique_per = UniquePer::Job).await;
    farrier.repository("r").await;
    let one = farrier.begin("r", None).await;
    let two = farrier.begin("r", Some(one.run_id)).await;
    let root = farrier.files("up");
    write(&root, "a", "a");
    let Some(first) = client(&one).await else { return };
    let second = client(&two).await.expect("there");
    let older = first.run(&[upload("x", &root, &["a"], Value::Null)]).await;
    let newer =
        second.run(&[upload("x", &root, &["a"], Value::Null), json!({ "call": "getArtifact", "name": "x" })]).await;
    assert_eq!(list(&farrier, &one).await.len(), 2);
    assert_eq!(newer.ok(1)["artifact"]["id"], newer.ok(0)["id"]);
    assert_ne!(older.ok(0)["id"], newer.ok(0)["id"]);
    // The first job gets the newer artifact as well.
    let found = first.run(&[json!({ "call": "getArtifact", "name": "x" })]).await;
    assert_eq!(found.ok(0)["artifact"]["id"], newer.ok(0)["id"]);
}

#[tokio::test]
async fn another_job_of_the_run_lists_downloads_and_deletes_an_artifact() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let one = farrier.begin("r", None).await;
    let two = farrier.begin("r", Some(one.run_id)).await;
    let (root, to) = (farrier.files("up"), farrier.files("down"));
    write(&root, "a", "from the first job");
    let Some(first) = client(&one).await else { return };
    let created = first.run(&[upload("x", &root, &["a"], Value::Null)]).await;
    created.ok(0);
    let second = client(&two).await.expect("there");
    let outcome = second
        .run(&[
            json!({ "call": "getArtifact", "name": "x" }),
            download(json!({ "of": 0 }), &to, Value::Null),
            json!({ "call": "deleteArtifact", "name": "x" }),
            json!({ "call": "listArtifacts" }),
        ])
        .await;
    assert_eq!(outcome.ok(0)["artifact"]["id"], created.ok(0)["id"]);
    outcome.ok(1);
    assert_eq!(tree(&to), tree(&root));
    assert_eq!(outcome.ok(2)["id"], created.ok(0)["id"]);
    assert_eq!(outcome.ok(3)["artifacts"], json!([]));
}
