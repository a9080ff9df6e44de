//! Restoring, purging and removal of deleted repositories.

use std::collections::BTreeMap;

use farrierd::check::{self, CheckReport, Options};
use http::Method;
use serde_json::{Value, json};

use super::{DAY_MS, DELETED, NOW, ten_days};
use crate::support::{Answer, Job, TestDaemon, eventually, git::Client, send};

/// Creates `admin/demo` with a push, a hook, a collaborator, and a job with an artifact. Returns the repository as
/// the API shows it, and the job.
async fn demo(farrier: &TestDaemon) -> (Value, Job) {
    farrier.repository("demo").await;
    farrier.user("octo").await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["tag", "-a", "-m", "one", "v1"]);
    let token = farrier.token("admin", &["all"]).await;
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main", "v1"]);
    let hook = json!({ "type": "gitea", "active": true, "events": ["push", "repository"],
        "config": { "url": "http://203.0.113.9/", "content_type": "json" } });
    for (method, path, body) in [
        (Method::PUT, "/api/v1/repos/admin/demo/collaborators/octo", json!({ "permission": "write" })),
        (Method::POST, "/api/v1/repos/admin/demo/hooks", hook),
    ] {
        let answer = farrier.admin(method, path, body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
    }
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", b"some bytes").await;
    (farrier.look("/api/v1/repos/admin/demo").await.json(), job)
}

async fn delete(farrier: &TestDaemon, path: &str) {
    let deleted = farrier.admin(Method::DELETE, &format!("/api/v1/repos/{path}"), Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
}

async fn restore(farrier: &TestDaemon, id: &Value, body: Value) -> Answer {
    farrier.admin(Method::POST, &format!("{DELETED}/repositories/{id}/restore"), body).await
}

async fn check_data(farrier: &mut TestDaemon) -> CheckReport {
    farrier.halted(async |config| check::run(config, Options::default()).await.expect("a report")).await
}

/// The files in the directory of a repository, with their content.
fn files(farrier: &TestDaemon, id: &Value) -> BTreeMap<String, Vec<u8>> {
    let root = farrier.data_dir().join(format!("repositories/{id}.git"));
    let mut files = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(&root).expect("below").display().to_string();
                files.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_repository_is_complete() {
    let mut farrier = ten_days().await;
    let (demo, job) = demo(&farrier).await;
    let id = &demo["id"];
    let before = files(&farrier, id);
    let parts = ["collaborators", "actions/artifacts", "branches", "tags"];
    let mut fetched = Vec::new();
    for part in parts {
        fetched.push(farrier.look(&format!("/api/v1/repos/admin/demo/{part}")).await.json());
    }
    delete(&farrier, "admin/demo").await;

    for path in ["/api/v1/repos/admin/demo", "/api/v1/repositories/1", "/admin/demo/info/refs?service=git-upload-pack"]
    {
        assert_eq!(farrier.look(path).await.status, 404, "{path}");
    }
    assert_eq!(farrier.look("/api/v1/repos/search").await.header("x-total-count"), "0");
    let late = farrier.call(&job, "CreateArtifact", json!({ "name": "late", "version": 4 })).await;
    assert_eq!(late.status, 401, "the job was cancelled: {late:?}");
    let listed = farrier.deleted("repositories").await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    for (field, expected) in [
        ("repository", json!("admin/demo")),
        ("owner_exists", json!(true)),
        ("deleted_by", json!("admin")),
        ("restorable_until", json!("2025-12-04T16:00:00Z")),
    ] {
        assert_eq!(listed[0][field], expected, "{field}: {listed:?}");
    }
    let kept = farrier.look("/api/farrier/v1/status").await.json();
    assert_eq!(kept["restore_days"], 10);
    assert_eq!(
        (&kept["kept"]["repositories"]["count"], &kept["kept"]["deleted_repositories"]["count"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(farrier.figure("farrier_deleted_repositories").await, 1);

    farrier.clock.advance_ms(10 * DAY_MS - 1);
    farrier.restart().await;
    let restored = restore(&farrier, id, json!({})).await;
    assert_eq!(restored.status, 200, "{restored:?}");
    assert_eq!(restored.json()["full_name"], "admin/demo");
    assert_eq!(files(&farrier, id), before);
    for (part, expected) in parts.iter().zip(&fetched) {
        let now = farrier.look(&format!("/api/v1/repos/admin/demo/{part}")).await.json();
        assert_eq!(now, *expected, "{part}");
    }
    let hooks = farrier.look("/api/v1/repos/admin/demo/hooks").await.json();
    assert_eq!((&hooks[0]["active"], &hooks[0]["url"]), (&json!(true), &json!("http://203.0.113.9/")), "{hooks}");
    let clone = farrier.scratch().join("clone");
    let token = farrier.token("octo", &["all"]).await;
    let git = Client::at(farrier.scratch());
    git.done(&["clone", "-q", &farrier.remote("admin/demo", &token), &clone.display().to_string()]);
    assert_eq!(std::fs::read_to_string(clone.join("a")).expect("a file"), "a");
    let late = farrier.call(&job, "CreateArtifact", json!({ "name": "late", "version": 4 })).await;
    assert_eq!(late.status, 401, "the job stays cancelled: {late:?}");
    assert!(farrier.deleted("repositories").await.is_empty());
    let page = [("accept", "application/json")];
    let events = send(&farrier.unix(), Method::GET, "/api/farrier/v1/events?limit=100", &page, "").await.json();
    let count = |action: &str| {
        let all = events["events"].as_array().expect("a list");
        all.iter().filter(|event| event["kind"] == "repository" && event["action"] == action).count()
    };
    assert_eq!((count("deleted"), count("restored")), (1, 1), "{events}");
    let report = check_data(&mut farrier).await;
    assert_eq!(report.findings, [], "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_repository_is_removed_after_the_retention() {
    let mut farrier = ten_days().await;
    let (first, _) = demo(&farrier).await;
    farrier.repository("other").await;
    let other = farrier.look("/api/v1/repos/admin/other").await.json();
    let before = check_data(&mut farrier).await;
    delete(&farrier, "admin/demo").await;
    farrier.clock.advance_ms(DAY_MS);
    delete(&farrier, "admin/other").await;
    farrier.clock.advance_ms(9 * DAY_MS - 1);
    farrier.restart().await;
    assert_eq!(farrier.deleted("repositories").await.len(), 2);
    farrier.clock.advance_ms(1);
    eventually("the first repository is removed", async || !farrier.has_directory(&first["id"])).await;
    assert!(farrier.has_directory(&other["id"]), "the other has a day left");
    assert_eq!(farrier.deleted("repositories").await.len(), 1);
    assert_eq!(restore(&farrier, &first["id"], json!({})).await.status, 404);
    farrier.clock.advance_ms(DAY_MS);
    eventually("the other repository is removed", async || !farrier.has_directory(&other["id"])).await;
    eventually("the artifact's bytes are removed", async || !farrier.data_dir().join("artifacts/1").exists()).await;
    // The row is deleted after the files, so several checks may be needed.
    let mut after = check_data(&mut farrier).await;
    for _ in 0..100 {
        if after.repositories == 0 {
            break;
        }
        after = check_data(&mut farrier).await;
    }
    assert_eq!((after.findings.len(), after.repositories, after.artifacts), (0, 0, 0), "{after}");
    assert!(after.keys < before.keys, "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_zero_days_a_deleted_repository_is_removed_at_once() {
    let farrier = TestDaemon::with(|config| config.storage.set_aside_days = 0).await;
    let (demo, _) = demo(&farrier).await;
    delete(&farrier, "admin/demo").await;
    eventually("the repository is removed", async || !farrier.has_directory(&demo["id"])).await;
    assert!(farrier.deleted("repositories").await.is_empty());
    assert_eq!(farrier.look("/api/farrier/v1/status").await.json()["restore_days"], 0);
}

#[tokio::test]
async fn restoring_under_a_used_name_requires_another_name() {
    let farrier = ten_days().await;
    farrier.repository("demo").await;
    let first = farrier.look("/api/v1/repos/admin/demo").await.json()["id"].clone();
    delete(&farrier, "admin/demo").await;
    farrier.repository("demo").await;
    let second = farrier.look("/api/v1/repos/admin/demo").await.json()["id"].clone();
    assert_ne!(first, second);
    let conflict = restore(&farrier, &first, json!({})).await;
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let message = conflict.json()["message"].as_str().expect("text").to_owned();
    assert!(message.contains("admin/demo exists") && message.contains("another name"), "{message}");
    assert_eq!(restore(&farrier, &first, json!({ "name": "a/b" })).await.status, 422);
    let restored = restore(&farrier, &first, json!({ "name": "Demo-2" })).await;
    assert_eq!((restored.status, &restored.json()["full_name"]), (200, &json!("admin/Demo-2")), "{restored:?}");
    assert_eq!(restore(&farrier, &first, json!({})).await.status, 404, "it is no longer deleted");
    let search = farrier.look("/api/v1/repos/search?q=demo").await;
    assert_eq!(search.header("x-total-count"), "2");
}

#[tokio::test]
async fn repositories_of_a_deleted_owner_are_restored_for_another_owner() {
    let farrier = ten_days().await;
    farrier.user("octo").await;
    farrier.user("eve").await;
    for name in ["tool", "rest"] {
        let body = json!({ "name": name, "private": true });
        let created = farrier.admin(Method::POST, "/api/v1/admin/users/octo/repos", body).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    let put = farrier.admin(Method::PUT, "/api/v1/repos/octo/tool/collaborators/eve", json!({ "permission": "read" }));
    assert_eq!(put.await.status, 204);
    let id = farrier.look("/api/v1/repos/octo/tool").await.json()["id"].clone();
    delete(&farrier, "octo/rest").await;
    farrier.clock.advance_ms(1);
    delete(&farrier, "octo/tool").await;
    let response = farrier.admin(Method::DELETE, "/api/v1/admin/users/octo", Value::Null).await;
    assert_eq!(response.status, 204, "deleted repositories do not prevent the deletion: {response:?}");

    let listed = farrier.deleted("repositories").await;
    let paths: Vec<&Value> = listed.iter().map(|entry| &entry["repository"]).collect();
    assert_eq!(paths, ["octo/tool", "octo/rest"], "ordered by deletion, newest first");
    assert_eq!(listed[0]["owner_exists"], false);
    let only = farrier.look(&format!("{DELETED}/repositories?repository=Octo/Rest")).await;
    assert_eq!(only.json()[0]["repository"], "octo/rest", "{only:?}");
    let refused = restore(&farrier, &id, json!({})).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text().contains("name another owner"), "{refused:?}");
    let unknown = restore(&farrier, &id, json!({ "owner": "nobody" })).await;
    assert_eq!((unknown.status, unknown.text().contains("nobody")), (409, true), "{unknown:?}");
    let restored = restore(&farrier, &id, json!({ "owner": "eve" })).await;
    assert_eq!((restored.status, &restored.json()["full_name"]), (200, &json!("eve/tool")), "{restored:?}");
    let collaborators = farrier.look("/api/v1/repos/eve/tool/collaborators").await;
    assert_eq!(collaborators.json(), json!([]), "the new owner is not a collaborator");
}

#[tokio::test]
async fn deleted_repositories_are_paged() {
    let farrier = ten_days().await;
    for name in ["a", "b", "c"] {
        farrier.repository(name).await;
        delete(&farrier, &format!("admin/{name}")).await;
        farrier.clock.advance_ms(1);
    }
    let mut observed = Vec::new();
    let mut path = format!("{DELETED}/repositories?limit=2");
    while !path.is_empty() {
        let page = farrier.look(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        observed.extend(page.json().as_array().expect("a list").iter().map(|entry| entry["repository"].clone()));
        let link = page.header("link").to_owned();
        path = link
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'))
            .map_or_else(String::new, |(url, _)| farrier.path_of(url));
    }
    assert_eq!(observed, ["admin/c", "admin/b", "admin/a"]);
    assert_eq!(farrier.look(&format!("{DELETED}/repositories?cursor=x")).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purged_repository_is_removed_at_once() {
    let farrier = ten_days().await;
    let (demo, _) = demo(&farrier).await;
    let path = format!("{DELETED}/repositories/{}", demo["id"]);
    let live = farrier.admin(Method::DELETE, &path, Value::Null).await;
    assert_eq!(live.status, 404, "it is not deleted: {live:?}");
    delete(&farrier, "admin/demo").await;
    assert_eq!(farrier.look(&path).await.json()["repository"], "admin/demo");
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    assert_eq!(restore(&farrier, &demo["id"], json!({})).await.status, 404);
    eventually("the repository is removed", async || !farrier.has_directory(&demo["id"])).await;
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_repository_can_be_restored_after_a_kill() {
    let mut farrier = TestDaemon::program("").await;
    let (demo, job) = demo(&farrier).await;
    delete(&farrier, "admin/demo").await;
    farrier.kill_and_start().await;
    let late = farrier.call(&job, "CreateArtifact", json!({ "name": "late", "version": 4 })).await;
    assert_eq!(late.status, 401, "{late:?}");
    assert_eq!(restore(&farrier, &demo["id"], json!({})).await.status, 200);
    farrier.kill_and_start().await;
    let artifacts = farrier.look("/api/v1/repos/admin/demo/actions/artifacts").await.json();
    assert_eq!(artifacts["total_count"], 1, "{artifacts}");
    let zip = artifacts["artifacts"][0]["archive_download_url"].as_str().expect("text").to_owned();
    let location = send(&farrier.unix(), Method::GET, &farrier.path_of(&zip), &[], "").await;
    assert_eq!(location.status, 302, "{location:?}");
}

#[tokio::test]
async fn repositories_deleted_by_an_earlier_version_are_removed() {
    use farrierd::store::{StoreError, Tx, repositories};
    let mut farrier = ten_days().await;
    farrier.repository("demo").await;
    let id = farrier.look("/api/v1/repos/admin/demo").await.json()["id"].clone();
    farrier
        .with_store(async |store| {
            let write = store.write(async |tx: Tx| {
                let row = repositories::by_path(&tx, "admin", "demo").await?.expect("a row");
                repositories::discard(&tx, &row).await?;
                Ok::<_, StoreError>(())
            });
            write.await.expect("a write");
        })
        .await;
    eventually("the repository is removed", async || !farrier.has_directory(&id)).await;
    assert!(farrier.deleted("repositories").await.is_empty());
    assert_eq!(farrier.clock.now_ms(), NOW);
}
