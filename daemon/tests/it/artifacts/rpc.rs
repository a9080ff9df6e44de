//! Twirp calls: message encodings, authorization, and uniqueness of names.

use farrier_proto::results::{
    CreateArtifactRequest, CreateArtifactResponse, ListArtifactsRequest, ListArtifactsResponse,
};
use farrierd::{
    clock::Clock,
    config::{OnDuplicate, UniquePer},
};
use http::Method;
use prost::Message as _;
use serde_json::{Value, json};

use super::{assert_twirp_error, assert_xml_error, block, commit, finalize, list, put, read, read_address};
use crate::support::{Answer, Job, TestDaemon, send};

async fn daemon_with_job() -> (TestDaemon, Job) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    (farrier, job)
}

/// Digest of `hello world` followed by a line break.
const HELLO_SHA256: &str = "sha256:a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447";

/// Uploads and commits `content` without finalizing it.
async fn committed(farrier: &TestDaemon, job: &Job, name: &str, content: &'static str) {
    let address = farrier.create(job, name).await;
    block(farrier, &address, "a", content).await;
    assert_eq!(commit(farrier, &address, &["a"]).await.status, 201);
}

#[tokio::test]
async fn a_running_job_keeps_its_access_when_the_clock_is_set_back_by_an_hour() {
    let farrier = TestDaemon::with_clock(Clock::manual(1_767_323_045_000), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    farrier.clock.jump_ms(-3_600_000);
    farrier.upload(&job, "x", b"content").await;
    assert_eq!(read(&farrier, &job, "x").await, "content");
}

#[tokio::test]
async fn json_field_names_and_number_formats_are_accepted_in_every_form() {
    let (farrier, job) = daemon_with_job().await;
    let (run, id) = (job.run_id, job.job_id);
    let snake = format!(r#""workflow_run_backend_id":"{run}","workflow_job_run_backend_id":"{id}""#);
    let camel = format!(r#""workflowRunBackendId":"{run}","workflowJobRunBackendId":"{id}""#);
    for (index, (create, size)) in [
        (format!(r#"{{{snake},"name":"NAME","version":7,"mime_type":"application/zip"}}"#), r#""4""#),
        (format!(r#"{{{camel},"name":"NAME","version":7,"mimeType":"application/zip"}}"#), "4"),
        (format!(r#"{{{snake},"name":"NAME","new":{{"x":[1]}},"expires_at":null,"mime_type":null}}"#), r#""4""#),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("x{index}");
        let created = farrier.call_raw(&job.token, "CreateArtifact", &create.replace("NAME", &name)).await;
        assert_eq!((created.status, created.json()["ok"].as_bool()), (200, Some(true)), "{created:?}");
        let address = farrier.path_of(created.json()["signed_upload_url"].as_str().expect("an address"));
        assert!(address.contains("/archive.zip?"), "{address}");
        block(&farrier, &address, "a", "zip!").await;
        assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
        let ids = if index == 1 { &camel } else { &snake };
        let body = format!(r#"{{{ids},"name":"{name}","size":{size},"hash":null,"unknown":true}}"#);
        let finalized = farrier.call_raw(&job.token, "FinalizeArtifact", &body).await;
        assert_eq!((finalized.status, finalized.json()["ok"].as_bool()), (200, Some(true)), "{finalized:?}");
        let artifact: i64 = finalized.json()["artifact_id"].as_str().expect("text").parse().expect("a number");
        for filter in [
            format!(r#""id_filter":"{artifact}""#),
            format!(r#""idFilter":{artifact}"#),
            format!(r#""nameFilter":"{name}""#),
        ] {
            let found = farrier.call_raw(&job.token, "ListArtifacts", &format!("{{{ids},{filter}}}")).await.json();
            assert_eq!(found["artifacts"].as_array().map(Vec::len), Some(1), "{filter}");
            assert_eq!(found["artifacts"][0]["database_id"], artifact.to_string());
        }
    }
}

#[tokio::test]
async fn protobuf_requests_get_protobuf_responses() {
    let (farrier, job) = daemon_with_job().await;
    let authorization = format!("Bearer {}", job.token);
    let headers = [("content-type", "application/protobuf"), ("authorization", authorization.as_str())];
    let call = async |method: &str, body: Vec<u8>| {
        let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
        send(&farrier.tcp(), Method::POST, &path, &headers, body).await
    };
    let (run, id) = (job.run_id.to_string(), job.job_id.to_string());
    let create = CreateArtifactRequest {
        workflow_run_backend_id: run.clone(),
        workflow_job_run_backend_id: id.clone(),
        name: "x".into(),
        version: 7,
        mime_type: Some("text/plain".into()),
        ..CreateArtifactRequest::default()
    };
    let answer = call("CreateArtifact", create.encode_to_vec()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/protobuf"));
    let created = CreateArtifactResponse::decode(answer.body).expect("a message");
    assert!(created.ok && created.signed_upload_url.starts_with(&farrier.url));
    let listed = ListArtifactsRequest {
        workflow_run_backend_id: run,
        workflow_job_run_backend_id: id,
        ..ListArtifactsRequest::default()
    };
    let answer = call("ListArtifacts", listed.encode_to_vec()).await;
    assert_eq!(ListArtifactsResponse::decode(answer.body), Ok(ListArtifactsResponse::default()));
    assert_twirp_error(&call("ListArtifacts", vec![0xff; 9]).await, 400, "malformed");
    assert_twirp_error(&call("CreateArtifact", listed.encode_to_vec()).await, 400, "invalid_argument");
}

#[tokio::test]
async fn responses_use_the_field_names_and_number_formats_of_the_client() {
    let (farrier, job) = daemon_with_job().await;
    let id = farrier.upload(&job, "x", b"four").await;
    let url = farrier.call(&job, "GetSignedArtifactURL", json!({ "name": "x" })).await.json();
    assert_eq!(url.as_object().map(|fields| fields.keys().cloned().collect()), Some(vec!["signed_url".to_owned()]));
    let fetched = list(&farrier, &job).await.remove(0);
    assert_eq!(fetched["database_id"], id.to_string());
    assert_eq!(fetched["size"], "4");
    assert_eq!(fetched["workflow_run_backend_id"], job.run_id.to_string());
    assert_eq!(fetched["workflow_job_run_backend_id"], job.job_id.to_string());
    let deleted = farrier.call(&job, "DeleteArtifact", json!({ "name": "x" })).await.json();
    assert_eq!(deleted, json!({ "ok": true, "artifact_id": id.to_string() }));
}

#[tokio::test]
async fn creation_times_have_milliseconds_or_no_fraction() {
    for (now, expected) in [
        (1_764_000_000_000, "2025-11-24T16:00:00Z"),
        (1_764_000_000_100, "2025-11-24T16:00:00.100Z"),
        (1_764_000_000_120, "2025-11-24T16:00:00.120Z"),
        (1_764_000_000_007, "2025-11-24T16:00:00.007Z"),
    ] {
        let farrier = TestDaemon::with_clock(Clock::manual(now), |_| {}).await;
        farrier.repository("r").await;
        let job = farrier.begin("r", None).await;
        farrier.upload(&job, "x", b"x").await;
        assert_eq!(list(&farrier, &job).await[0]["created_at"], expected);
    }
}

#[tokio::test]
async fn a_token_works_for_its_run_only_and_reveals_nothing_about_others() {
    let (farrier, job) = daemon_with_job().await;
    let other = farrier.begin("r", None).await;
    farrier.upload(&other, "secret", b"secret").await;
    let call = async |method: &str, run: i64, job_id: i64| -> Answer {
        let body = json!({ "workflow_run_backend_id": run.to_string(), "workflow_job_run_backend_id": job_id.to_string(),
            "name": "secret", "size": "6" });
        farrier.call_raw(&job.token, method, &body.to_string()).await
    };
    for method in ["CreateArtifact", "FinalizeArtifact", "ListArtifacts", "GetSignedArtifactURL", "DeleteArtifact"] {
        let existing = call(method, other.run_id, other.job_id).await;
        assert_twirp_error(&existing, 403, "permission_denied");
        let missing = call(method, 999_999, other.job_id).await;
        assert_eq!(existing.text(), missing.text(), "{method}");
    }
    // A job uploads only as itself, but reads the artifacts of every job of its run.
    for method in ["CreateArtifact", "FinalizeArtifact"] {
        assert_twirp_error(&call(method, job.run_id, other.job_id).await, 403, "permission_denied");
    }
    assert_eq!(call("ListArtifacts", job.run_id, other.job_id).await.json(), json!({ "artifacts": [] }));
    assert_eq!(list(&farrier, &other).await.len(), 1);
}

#[tokio::test]
async fn jobs_of_a_run_share_their_artifacts() {
    let farrier = TestDaemon::with(|config| config.artifacts.unique_per = UniquePer::Job).await;
    farrier.repository("r").await;
    let one = farrier.begin("r", None).await;
    let two = farrier.begin("r", Some(one.run_id)).await;
    let first = farrier.upload(&one, "x", b"of one").await;
    assert_eq!(list(&farrier, &two).await[0]["workflow_job_run_backend_id"], one.job_id.to_string());
    assert_eq!(read(&farrier, &two, "x").await, "of one");
    let second = farrier.upload(&two, "x", b"of two").await;
    let ids: Vec<Value> = list(&farrier, &one).await.iter().map(|artifact| artifact["database_id"].clone()).collect();
    assert_eq!(ids, [first.to_string(), second.to_string()]);
    // For two artifacts with the same name, the job id in the request selects one.
    for (job, content) in [(&one, "of one"), (&two, "of two")] {
        assert_eq!(read(&farrier, job, "x").await, content);
    }
    for _ in [first, second] {
        assert_eq!(farrier.call(&two, "DeleteArtifact", json!({ "name": "x" })).await.status, 200);
    }
    assert!(list(&farrier, &one).await.is_empty());
}

#[tokio::test]
async fn a_name_is_unique_within_a_run() {
    let (farrier, one) = daemon_with_job().await;
    let mut others = Vec::new();
    for _ in 0..5 {
        others.push(farrier.begin("r", Some(one.run_id)).await);
    }
    // Other jobs are refused during the upload and after it was finalized.
    farrier.create(&one, "x").await;
    let create = async |job: &Job| farrier.call(job, "CreateArtifact", json!({ "name": "x", "version": 4 })).await;
    for job in &others {
        let msg = assert_twirp_error(&create(job).await, 409, "already_exists");
        assert!(msg.contains(&format!("x (run {})", one.run_id)), "{msg}");
    }
    farrier.upload(&one, "x", b"of one").await;
    for job in &others {
        assert_twirp_error(&create(job).await, 409, "already_exists");
        farrier.upload(job, &format!("x-{}", job.job_id), b"another name").await;
    }
    assert_eq!(list(&farrier, &one).await.iter().filter(|artifact| artifact["name"] == "x").count(), 1);
    // Another run can use the name. A deleted artifact frees its name.
    let elsewhere = farrier.begin("r", None).await;
    farrier.upload(&elsewhere, "x", b"of another run").await;
    assert_eq!(farrier.call(&others[0], "DeleteArtifact", json!({ "name": "x" })).await.status, 200);
    farrier.upload(&others[0], "x", b"of the second").await;
    assert_eq!(read(&farrier, &others[0], "x").await, "of the second");
}

#[tokio::test]
async fn an_unfinished_upload_of_an_ended_job_frees_its_name() {
    let (farrier, one) = daemon_with_job().await;
    let two = farrier.begin("r", Some(one.run_id)).await;
    farrier.create(&one, "x").await;
    farrier.end(&one).await;
    farrier.upload(&two, "x", b"of two").await;
    assert_eq!(read(&farrier, &two, "x").await, "of two");
}

#[tokio::test]
async fn with_replace_an_artifact_of_another_job_is_replaced_when_the_new_upload_is_finalized() {
    let farrier = TestDaemon::with(|config| config.artifacts.on_duplicate = OnDuplicate::Replace).await;
    farrier.repository("r").await;
    let one = farrier.begin("r", None).await;
    let two = farrier.begin("r", Some(one.run_id)).await;
    farrier.upload(&one, "x", b"of one").await;
    committed(&farrier, &two, "x", "of two").await;
    assert_eq!(read(&farrier, &one, "x").await, "of one");
    assert_eq!(finalize(&farrier, &two, "x", 6).await.status, 200);
    assert_eq!(read(&farrier, &two, "x").await, "of two");
    assert_eq!(list(&farrier, &one).await.len(), 1);
}

#[tokio::test]
async fn a_used_name_is_refused_until_its_artifact_is_deleted() {
    let (farrier, job) = daemon_with_job().await;
    farrier.upload(&job, "x", b"first").await;
    let refused = farrier.call(&job, "CreateArtifact", json!({ "name": "x" })).await;
    let msg = assert_twirp_error(&refused, 409, "already_exists");
    let run = job.run_id;
    assert_eq!(msg, format!("an artifact with this name already exists on the workflow run: x (run {run})"));
    assert_eq!(read(&farrier, &job, "x").await, "first");
    assert_eq!(farrier.call(&job, "DeleteArtifact", json!({ "name": "x" })).await.status, 200);
    farrier.upload(&job, "x", b"second").await;
    assert_eq!(read(&farrier, &job, "x").await, "second");
}

#[tokio::test]
async fn with_replace_the_old_artifact_is_readable_until_the_new_one_is_finalized() {
    let farrier = TestDaemon::with(|config| config.artifacts.on_duplicate = OnDuplicate::Replace).await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    farrier.upload(&job, "x", b"old").await;
    let before = read_address(&farrier, &job, "x").await;
    committed(&farrier, &job, "x", "newer").await;
    assert_eq!(read(&farrier, &job, "x").await, "old");
    assert_eq!(finalize(&farrier, &job, "x", 3).await.status, 400, "the size of the old artifact");
    assert_eq!(read(&farrier, &job, "x").await, "old");
    assert_eq!(finalize(&farrier, &job, "x", 5).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "newer");
    assert_eq!(list(&farrier, &job).await.len(), 1);
    assert_eq!(
        send(&farrier.tcp(), Method::GET, &before, &[], "").await.status,
        404,
        "the URL of the old artifact is no longer valid"
    );
}

#[tokio::test]
async fn creating_an_artifact_again_invalidates_the_first_upload_url() {
    let (farrier, job) = daemon_with_job().await;
    let older = farrier.create(&job, "x").await;
    block(&farrier, &older, "a", "old").await;
    let latest = farrier.create(&job, "x").await;
    assert_ne!(older, latest);
    assert_xml_error(&put(&farrier, &older, "&comp=block&blockid=a", "late").await, 404, "BlobNotFound");
    assert_xml_error(&commit(&farrier, &older, &["a"]).await, 404, "BlobNotFound");
    assert_xml_error(&commit(&farrier, &latest, &["a"]).await, 400, "InvalidBlockList");
    block(&farrier, &latest, "a", "new").await;
    assert_eq!(commit(&farrier, &latest, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 3).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "new");
}

#[tokio::test]
async fn finalizing_twice_gives_the_same_response_and_one_artifact() {
    let (farrier, job) = daemon_with_job().await;
    committed(&farrier, &job, "x", "content").await;
    let first = finalize(&farrier, &job, "x", 7).await;
    let second = finalize(&farrier, &job, "x", 7).await;
    assert_eq!((first.status, first.text()), (200, second.text()));
    assert_eq!(list(&farrier, &job).await.len(), 1);
    assert_twirp_error(&finalize(&farrier, &job, "x", 8).await, 400, "invalid_argument");
}

#[tokio::test]
async fn a_wrong_size_or_hash_is_reported_and_the_upload_can_be_corrected() {
    let (farrier, job) = daemon_with_job().await;
    committed(&farrier, &job, "x", "hello world\n").await;
    let wrong_hash = format!("sha256:{}", "0".repeat(64));
    for (size, hash, expected, actual) in [
        ("11", HELLO_SHA256, "11", "12"),
        ("12", wrong_hash.as_str(), wrong_hash.as_str(), HELLO_SHA256),
        ("0", HELLO_SHA256, "0", "12"),
    ] {
        let answer = farrier.call(&job, "FinalizeArtifact", json!({ "name": "x", "size": size, "hash": hash })).await;
        let msg = assert_twirp_error(&answer, 400, "invalid_argument");
        assert!(msg.contains(expected) && msg.contains(actual), "{msg}");
    }
    for hash in ["md5:00", "nonsense"] {
        let answer = farrier.call(&job, "FinalizeArtifact", json!({ "name": "x", "size": "12", "hash": hash })).await;
        assert_twirp_error(&answer, 400, "invalid_argument");
    }
    assert!(list(&farrier, &job).await.is_empty());
    committed(&farrier, &job, "x", "hello world\n").await;
    let right = json!({ "name": "x", "size": "12", "hash": HELLO_SHA256 });
    assert_eq!(farrier.call(&job, "FinalizeArtifact", right).await.status, 200);
    assert_eq!(list(&farrier, &job).await[0]["digest"], HELLO_SHA256);
}

#[tokio::test]
async fn finalizing_requires_a_created_and_committed_upload() {
    let (farrier, job) = daemon_with_job().await;
    let address = farrier.create(&job, "x").await;
    block(&farrier, &address, "a", "x").await;
    assert_twirp_error(&finalize(&farrier, &job, "x", 1).await, 412, "failed_precondition");
    assert_twirp_error(&finalize(&farrier, &job, "unknown", 1).await, 404, "not_found");
}
