//! Quotas hold for all nodes together.

use http::Method;
use serde_json::{Value, json};

use super::TwoNodes;
use crate::support::{Answer, Job, TestDaemon, process, send};

/// Commits an upload of 3,000 bytes to the artifact `name`.
async fn commit(farrier: &TestDaemon, job: &Job, name: &str) {
    let address = farrier.create(job, name).await;
    let list = b"<BlockList><Latest>YQ==</Latest></BlockList>".to_vec();
    for (suffix, body) in [("comp=block&blockid=YQ==", vec![b'x'; 3_000]), ("comp=blocklist", list)] {
        let sent = send(&farrier.tcp(), Method::PUT, &format!("{address}&{suffix}"), &[], body).await;
        assert_eq!(sent.status, 201, "{sent:?}");
    }
}

async fn finalize(farrier: &TestDaemon, job: &Job, name: &str) -> Answer {
    farrier.call(job, "FinalizeArtifact", json!({ "name": name, "size": "3000" })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_that_two_nodes_record_at_the_same_time_do_not_exceed_the_quota_together() {
    let nodes = TwoNodes::start(|config| config.artifacts.quota_bytes = 5_000).await;
    for round in 0..5 {
        let name = format!("r{round}");
        nodes.one.repository(&name).await;
        let job = nodes.one.begin(&name, None).await;
        commit(&nodes.one, &job, "a").await;
        commit(&nodes.other, &job, "b").await;
        let (one, other) = tokio::join!(finalize(&nodes.one, &job, "a"), finalize(&nodes.other, &job, "b"));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 403], "{one:?} {other:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_releases_that_two_nodes_record_at_the_same_time_do_not_exceed_the_quota_together() {
    let nodes = TwoNodes::start(|config| config.artifacts.quota_bytes = 5_000).await;
    let created = nodes.one.create_repository(json!({ "name": "demo", "auto_init": true })).await;
    // Without a bucket, a node does not create the directories of other nodes.
    let directory = format!("repositories/{}.git", created["id"]);
    let [from, to] = [&nodes.one, &nodes.other].map(|farrier| farrier.data_dir().join(&directory));
    let copied = process::output({
        let mut copy = process::command("cp");
        copy.arg("-r").args([from, to]);
        copy
    });
    assert!(copied.await.expect("cp").status.success());
    for round in 0..5 {
        let releases = "/api/v1/repos/admin/demo/releases";
        let release = nodes.one.admin(Method::POST, releases, json!({ "tag_name": format!("v{round}") })).await;
        assert_eq!(release.status, 201, "{release:?}");
        let release = format!("{releases}/{}", release.json()["id"]);
        let upload = async |farrier: &TestDaemon, name: &str| {
            let path = format!("{release}/assets?name={name}");
            let headers = [("content-type", "application/octet-stream")];
            send(&farrier.unix(), Method::POST, &path, &headers, vec![b'x'; 3_000]).await
        };
        let (one, other) = tokio::join!(upload(&nodes.one, "a"), upload(&nodes.other, "b"));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 403], "{one:?} {other:?}");
        assert_eq!(nodes.one.admin(Method::DELETE, &release, Value::Null).await.status, 204);
    }
}
