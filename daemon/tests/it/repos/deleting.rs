//! Deletions leave nothing behind, also with concurrent requests.

use std::sync::Arc;

use farrierd::{
    check::{self, CheckReport, Options},
    config::Config,
    store::{
        Read as _, Store,
        engine::{Range, RedbEngine, RedbOptions},
        keys,
    },
};
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, eventually, send, stored};

/// A daemon that removes deleted data at once.
async fn start() -> TestDaemon {
    TestDaemon::with(|config| config.storage.set_aside_days = 0).await
}

async fn check_data(config: &Config) -> CheckReport {
    check::run(config, Options::default()).await.expect("a report")
}

/// The number of keys in the store of a stopped daemon, except those of the audit log, which keeps its entries.
async fn keys_outside_the_audit_log(config: &Config) -> u64 {
    let all = check_data(config).await.keys;
    let engine = RedbEngine::open(&config.data_dir.join("farrier.redb"), RedbOptions::default()).expect("the store");
    let store = Store::open(Arc::new(engine)).await.expect("the store");
    let snapshot = store.read().await.expect("a snapshot");
    let mut audit = 0;
    for tag in ["al", "au"] {
        audit += snapshot.count(&Range::prefix(keys::tag(tag)), u64::MAX).await.expect("a count");
    }
    all - audit
}

#[tokio::test]
async fn deleting_a_repository_removes_its_runs_jobs_and_artifacts() {
    let mut farrier = start().await;
    farrier.repository("kept").await;
    let kept = farrier.begin("kept", None).await;
    farrier.upload(&kept, "log", b"kept").await;
    let before = farrier.halted(check_data).await;
    assert_eq!(before.findings, []);
    let keys_before = farrier.halted(keys_outside_the_audit_log).await;

    farrier.repository("demo").await;
    let first = farrier.begin("demo", None).await;
    let second = farrier.begin("demo", Some(first.run_id)).await;
    let third = farrier.begin("demo", None).await;
    farrier.upload(&first, "log", b"some bytes").await;
    farrier.upload(&third, "log", b"other bytes").await;
    let address = farrier.create(&second, "open").await;
    let put = send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=block&blockid=YQ"), &[], "block").await;
    assert_eq!(put.status, 201, "{put:?}");
    farrier.end(&third).await;
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/demo", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    let files = || stored(&farrier.data_dir().join("artifacts")).len();
    eventually("only the kept artifact is on disk", || async { files() == 1 }).await;
    let late = farrier.call(&first, "CreateArtifact", json!({ "name": "late", "version": 4 })).await;
    assert_eq!(late.status, 401, "the token ends with its job: {late:?}");
    let after = farrier.halted(check_data).await;
    assert_eq!(after.findings, [], "{after}");
    assert_eq!((after.artifacts, after.repositories), (1, 1), "{after}");
    // All rows and index entries of the deleted repository are gone.
    assert_eq!(farrier.halted(keys_outside_the_audit_log).await, keys_before, "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_repositories_of_an_organization_are_deleted_at_once() {
    const COUNT: usize = 20;
    let farrier = TestDaemon::start().await;
    let created = farrier.admin(Method::POST, "/api/v1/orgs", json!({ "username": "acme" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    for n in 0..COUNT {
        let created = farrier.admin(Method::POST, "/api/v1/orgs/acme/repos", json!({ "name": format!("r{n}") })).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    let left = async || {
        let list = farrier.admin(Method::GET, "/api/v1/orgs/acme/repos?limit=50", Value::Null).await;
        list.json().as_array().expect("a list").len()
    };
    let observing = async {
        loop {
            match left().await {
                0 => break,
                count => assert_eq!(count, COUNT, "some repositories are deleted and others are not"),
            }
        }
    };
    let deleting = farrier.admin(Method::DELETE, "/api/v1/orgs/acme/repos", Value::Null);
    let (deleted, ()) = tokio::join!(deleting, observing);
    assert_eq!(deleted.status, 202, "{deleted:?}");
    let events = "/api/farrier/v1/events?kind=repository&limit=200";
    let events = send(&farrier.unix(), Method::GET, events, &[("accept", "application/json")], "").await.json();
    let is_deletion = |event: &&Value| event["action"] == "deleted";
    assert_eq!(events["events"].as_array().expect("a list").iter().filter(is_deletion).count(), COUNT, "{events}");
    let restorable = farrier.admin(Method::GET, "/api/farrier/v1/deleted/repositories", Value::Null).await.json();
    assert_eq!(restorable.as_array().map(Vec::len), Some(COUNT));
    let again = farrier.admin(Method::DELETE, "/api/v1/orgs/acme/repos", Value::Null).await;
    assert_eq!(again.status, 204, "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_repository_is_created_for_an_owner_that_is_being_deleted() {
    let mut farrier = start().await;
    for round in 0..12 {
        let org = format!("org{round}");
        let created = farrier.admin(Method::POST, "/api/v1/orgs", json!({ "username": org })).await;
        assert_eq!(created.status, 201, "{created:?}");
        let (repos, path) = (format!("/api/v1/orgs/{org}/repos"), format!("/api/v1/orgs/{org}"));
        let make = farrier.admin(Method::POST, &repos, json!({ "name": "x", "auto_init": round % 2 == 0 }));
        let (method, body) = match round % 3 {
            0 => (Method::PATCH, json!({ "visibility": "private" })),
            _ => (Method::DELETE, Value::Null),
        };
        let change = async {
            tokio::time::sleep(std::time::Duration::from_millis(round * 3)).await;
            farrier.admin(method, &path, body).await
        };
        let (created, changed) = tokio::join!(make, change);
        let expected: &[(u16, u16)] = if round % 3 == 0 { &[(201, 200)] } else { &[(201, 409), (404, 204)] };
        assert!(expected.contains(&(created.status, changed.status)), "{created:?} {changed:?}");
    }
    let report = farrier.halted(check_data).await;
    assert_eq!(report.damage, 0, "no repository without an owner, none listed for others:\n{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_job_or_artifact_is_created_in_a_repository_that_is_being_deleted() {
    let mut farrier = start().await;
    for round in 0..10_u64 {
        let name = format!("repo{round}");
        farrier.repository(&name).await;
        let job = farrier.begin(&name, None).await;
        let body = json!({ "repo": format!("admin/{name}") });
        let path = format!("/api/v1/repos/admin/{name}");
        let pause = std::time::Duration::from_millis(round % 4);
        let delete = async {
            tokio::time::sleep(pause).await;
            farrier.admin(Method::DELETE, &path, Value::Null).await
        };
        let (farrier, job) = (&farrier, &job);
        let creates = join_all((0..12).map(|n| async move {
            let message = json!({ "name": format!("late{n}"), "version": 4 });
            farrier.call(job, "CreateArtifact", message).await
        }));
        let begins = join_all((0..4).map(|_| farrier.admin(Method::POST, "/api/farrier/v1/jobs", body.clone())));
        let (started, created, deleted) = tokio::join!(begins, creates, delete);
        assert!(started.iter().all(|answer| [201, 404].contains(&answer.status)), "{started:?}");
        assert!(created.iter().all(|answer| [200, 401, 404].contains(&answer.status)), "{created:?}");
        assert_eq!(deleted.status, 204, "{deleted:?}");
    }
    eventually("the directories are removed", || async { farrier.directories().is_empty() }).await;
    let report = farrier.halted(check_data).await;
    assert_eq!((report.damage, report.artifacts), (0, 0), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_created_for_an_account_that_is_being_deleted() {
    let mut farrier = start().await;
    farrier.repository("demo").await;
    for round in 0..12_u64 {
        let name = format!("user{round}");
        farrier.user(&name).await;
        let pause = std::time::Duration::from_micros(round * 250);
        let delete = async {
            tokio::time::sleep(pause).await;
            farrier.admin(Method::DELETE, &format!("/api/v1/admin/users/{name}?purge=true"), Value::Null).await
        };
        let created = join_all((0..16).map(|n| {
            let (method, path, body) = match n % 3 {
                0 => (
                    Method::POST,
                    format!("/api/v1/users/{name}/tokens"),
                    json!({ "name": n.to_string(), "scopes": ["all"] }),
                ),
                1 => (
                    Method::POST,
                    format!("/api/v1/admin/users/{name}/orgs"),
                    json!({ "username": format!("org{round}-{n}") }),
                ),
                _ => (
                    Method::PUT,
                    format!("/api/v1/repos/admin/demo/collaborators/{name}"),
                    json!({ "permission": "write" }),
                ),
            };
            let farrier = &farrier;
            async move { farrier.admin(method, &path, body).await }
        }));
        let (created, deleted) = tokio::join!(created, delete);
        for answer in created {
            assert!([201, 204, 404, 422].contains(&answer.status), "{answer:?}");
        }
        assert_eq!(deleted.status, 204, "{deleted:?}");
    }
    let report = farrier.halted(check_data).await;
    assert_eq!(report.damage, 0, "no token, organization or right without its account:\n{report}");
}
