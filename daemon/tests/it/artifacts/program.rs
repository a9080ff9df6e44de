//! Artifacts with the `farrierd` program: memory, open files, log, and recovery after a kill.

use http::Method;
use serde_json::{Value, json};

use super::{block, commit, finalize, list, noise, put, read, read_address, write};
use crate::support::{
    Job, PartialRequest, TestDaemon,
    client::{client, download, upload},
    send,
};

const MIB: usize = 1 << 20;

async fn program_with_job(toml: &str) -> (TestDaemon, Job) {
    let farrier = TestDaemon::program(toml).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

#[tokio::test]
async fn a_blob_of_128_mebibytes_in_one_request_needs_little_memory() {
    let (farrier, job) = program_with_job("").await;
    farrier.upload(&job, "warm", &noise(MIB, 1)).await;
    let (before, _) = farrier.child().memory_kib();
    let address = farrier.create(&job, "x").await;
    let content = bytes::Bytes::from(noise(128 * MIB, 2));
    let headers = [("x-ms-blob-type", "BlockBlob")];
    let answer = send(&farrier.tcp(), Method::PUT, &address, &headers, content.clone()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(finalize(&farrier, &job, "x", content.len()).await.status, 200);
    assert!(read(&farrier, &job, "x").await == content);
    let (after, _) = farrier.child().memory_kib();
    assert!(after - before < 32 << 10, "{before} KiB before, {after} KiB after");
}

#[tokio::test]
async fn open_files_do_not_grow_with_the_number_of_blocks() {
    let (farrier, job) = program_with_job("").await;
    let before = farrier.child().open_files();
    let address = farrier.create(&job, "x").await;
    let ids: Vec<String> = (0..300).map(|number| format!("{number:04}")).collect();
    for id in &ids {
        block(&farrier, &address, id, id.clone()).await;
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(commit(&farrier, &address, &ids).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 1_200).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, ids.concat());
    let after = farrier.child().open_files();
    assert!(after < before + 20, "{before} before, {after} after");
}

/// Stops or kills the daemon in the middle of a block, starts it again and completes the upload.
pub(super) async fn interrupt_and_resume(farrier: &mut TestDaemon, job: &Job, kill: bool) {
    let address = farrier.create(job, "x").await;
    block(farrier, &address, "a", "acknowledged ").await;
    let path = format!("{address}&comp=block&blockid=b");
    let half = PartialRequest::put(&farrier.tcp(), &path, 2 * MIB, &noise(MIB, 3)).await;
    if kill {
        farrier.kill_and_start().await;
    } else {
        farrier.restart().await;
    }
    drop(half);
    assert!(list(farrier, job).await.is_empty());
    let unknown = commit(farrier, &address, &["a", "b"]).await;
    assert_eq!(unknown.header("x-ms-error-code"), "InvalidBlockList", "an incomplete block is discarded");
    block(farrier, &address, "b", "and more").await;
    assert_eq!(commit(farrier, &address, &["a", "b"]).await.status, 201);
    assert_eq!(finalize(farrier, job, "x", 21).await.status, 200);
    assert_eq!(read(farrier, job, "x").await, "acknowledged and more");
}

#[tokio::test]
async fn an_upload_continues_after_the_daemon_was_killed() {
    let (mut farrier, job) = program_with_job("").await;
    interrupt_and_resume(&mut farrier, &job, true).await;
}

#[tokio::test]
async fn an_upload_continues_after_the_daemon_was_restarted() {
    let (mut farrier, job) = program_with_job("[server]\ndrain_grace_secs = 1\n").await;
    interrupt_and_resume(&mut farrier, &job, false).await;
}

#[tokio::test]
async fn a_committed_upload_can_be_finalized_after_the_daemon_was_killed() {
    let (mut farrier, job) = program_with_job("").await;
    let address = farrier.create(&job, "x").await;
    let content = noise(3 * MIB, 4);
    block(&farrier, &address, "b", content[MIB..].to_vec()).await;
    block(&farrier, &address, "a", content[..MIB].to_vec()).await;
    assert_eq!(commit(&farrier, &address, &["a", "b"]).await.status, 201);
    farrier.kill_and_start().await;
    assert!(list(&farrier, &job).await.is_empty());
    assert_eq!(finalize(&farrier, &job, "x", content.len()).await.status, 200);
    farrier.kill_and_start().await;
    assert!(read(&farrier, &job, "x").await == content);
}

#[tokio::test]
async fn the_log_contains_no_token_and_no_signature() {
    let (mut farrier, job) = program_with_job("[auth]\nquery_tokens = true\n[log]\nfilter = \"trace\"\n").await;
    let mut secrets = vec![job.token.clone()];
    let access = farrier.token("admin", &["all"]).await;
    let address = farrier.create(&job, "x").await;
    secrets.push(signature(&address));
    block(&farrier, &address, "a", "content").await;
    assert_eq!(put(&farrier, &address, "&comp=nonsense", "").await.status, 400);
    assert_eq!(put(&farrier, &format!("{address}0"), "&comp=block&blockid=b", "").await.status, 403);
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 7).await.status, 200);
    let down = read_address(&farrier, &job, "x").await;
    secrets.push(signature(&down));
    assert_eq!(send(&farrier.tcp(), Method::GET, &down, &[], "").await.status, 200);
    let authorization = format!("token {access}");
    let list = "/api/v1/repos/admin/r/actions/artifacts";
    let headers = [("authorization", authorization.as_str())];
    assert_eq!(send(&farrier.tcp(), Method::GET, list, &headers, "").await.status, 200);
    let in_query = format!("{list}?token={access}");
    assert_eq!(send(&farrier.tcp(), Method::GET, &in_query, &[], "").await.status, 200);
    secrets.push(access);
    assert_eq!(farrier.call_raw(&format!("{}x", job.token), "ListArtifacts", "{}").await.status, 401);

    if let Some(client) = client(&job).await {
        let (root, to) = (farrier.files("up"), farrier.files("down"));
        write(&root, "a", "a");
        let outcome = client
            .run(&[upload("y", &root, &["a"], Value::Null), download(json!({ "of": 0 }), &to, Value::Null)])
            .await;
        outcome.ok(1);
    }
    farrier.stop().await;
    let log = farrier.log();
    assert!(log.contains("/_blob/") && log.contains("farrierd::access"), "{log}");
    for secret in secrets {
        assert!(secret.len() > 30 && !log.contains(&secret), "{secret} is in the log");
    }
    for word in ["sig=", "Bearer ", "token="] {
        assert!(!log.contains(word), "{word} is in the log");
    }
}

fn signature(address: &str) -> String {
    address.split("sig=").nth(1).expect("a signature").to_owned()
}
