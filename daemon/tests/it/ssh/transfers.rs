//! Fetches and pushes with the real git.

use farrierd::store::{Store, events};
use http::Method;
use serde_json::{Value, json};

use super::{SshClient, add_key, demo, demo_with, on};
use crate::support::{
    TestDaemon,
    git::{Client, noise},
};

/// Pushes a history of 30 commits and a tag.
fn seed(farrier: &TestDaemon, client: &SshClient) -> Client {
    let work = client.work(farrier, "seed", "admin");
    for n in 0..30 {
        work.commit("a", n.to_string());
    }
    work.done(&["tag", "-a", "-m", "v1", "v1"]);
    work.done(&["push", "-q", &client.url("admin/demo"), "main", "v1"]);
    work
}

#[tokio::test(flavor = "multi_thread")]
async fn every_protocol_version_clones_and_fetches() {
    let (farrier, client) = demo().await;
    let work = seed(&farrier, &client);
    let tip = work.done(&["rev-parse", "HEAD"]);
    let scratch = Client::at(farrier.scratch().join("clones"));
    let setting = client.setting("admin");
    for version in ["0", "1", "2"] {
        let protocol = format!("protocol.version={version}");
        let git = |args: &[&str]| {
            let all = [&["-c", &setting, "-c", &protocol], args].concat();
            scratch.done(&all)
        };
        let name = format!("full-{version}");
        git(&["clone", "-q", &client.url("admin/demo"), &name]);
        let full = scratch.below(&name);
        assert_eq!(full.done(&["rev-parse", "HEAD"]), tip);
        full.done(&["fsck", "--strict"]);
        let name = format!("shallow-{version}");
        git(&["clone", "-q", "--depth", "3", &client.url("admin/demo"), &name]);
        let shallow = scratch.below(&name);
        assert_eq!(shallow.done(&["rev-list", "--count", "HEAD"]), "3");
        shallow.done(&["-c", &setting, "-c", &protocol, "fetch", "-q", "--unshallow"]);
        assert_eq!(shallow.done(&["rev-list", "--count", "HEAD"]), "30");
        let name = format!("partial-{version}");
        git(&["clone", "-q", "--filter=blob:none", &client.url("admin/demo"), &name]);
        // 120 commits that the daemon does not have.
        for n in 0..120 {
            full.commit("b", n.to_string());
        }
        work.commit("a", format!("after {version}"));
        work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
        full.done(&["-c", &setting, "-c", &protocol, "fetch", "-q", "origin"]);
        assert_eq!(full.done(&["rev-parse", "origin/main"]), work.done(&["rev-parse", "HEAD"]));
        work.done(&["reset", "-q", "--hard", &tip]);
        work.done(&["push", "-q", "-f", &client.url("admin/demo"), "main"]);
    }
    let archive =
        scratch.done(&["-c", &setting, "archive", "--remote", &client.url("admin/demo"), "-o", "a.tar", "main"]);
    assert_eq!(archive, "");
    assert!(scratch.dir().join("a.tar").metadata().expect("a file").len() > 1_000);
    scratch.refused(&["-c", &setting, "archive", "--remote", &client.url("admin/demo"), &tip]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_push_survives_many_key_exchanges() {
    let (farrier, client) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("large", noise(20 << 20));
    let setting = client.setting_with("admin", &["-o", "RekeyLimit=1M"]);
    work.done(&["-c", &setting, "push", "-q", &client.url("admin/demo"), "main"]);
    work.done(&["-c", &setting, "clone", "-q", &client.url("admin/demo"), "copy"]);
    let copy = std::fs::read(work.dir().join("copy/large")).expect("a file");
    assert!(copy == noise(20 << 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_clients_and_a_shared_connection_work_at_the_same_time() {
    let (farrier, client) = demo().await;
    seed(&farrier, &client);
    let control = client.home.join("control");
    let shared = ["-o", "ControlMaster=auto", "-o", &format!("ControlPath={}", control.display())];
    let shared = client.setting_with("admin", &[&shared[..], &["-o", "ControlPersist=10"]].concat());
    for setting in [client.setting("admin"), shared] {
        let mut clones = Vec::new();
        for n in 0..8 {
            let at = farrier.scratch().join(format!("{}-{n}", setting.len()));
            let (url, setting) = (client.url("admin/demo"), setting.clone());
            #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
            clones.push(tokio::task::spawn_blocking(move || {
                let git = Client::at(at);
                git.done(&["-c", &setting, "clone", "-q", &url, "copy"]);
                let copy = git.below("copy");
                copy.commit(&format!("file-{n}"), "x");
                copy.done(&[
                    "-c",
                    &setting,
                    "push",
                    "-q",
                    "origin",
                    &format!("HEAD:refs/heads/b{}-{n}", setting.len()),
                ]);
            }));
        }
        for clone in clones {
            clone.await.expect("a clone and a push");
        }
    }
    let refs = Client::at(farrier.scratch()).done(&[
        "-c",
        &client.setting("admin"),
        "ls-remote",
        "--heads",
        &client.url("admin/demo"),
    ]);
    assert_eq!(refs.lines().count(), 17);
}

/// The events of a repository, without what differs between two repositories.
async fn recorded(store: &Store, path: &str) -> Vec<String> {
    let snapshot = store.read().await.expect("a snapshot");
    let all = events::after(&snapshot, 0, 1_000).await.expect("rows");
    let of_path = all.iter().filter(|event| event.repository_path == path);
    of_path.map(|event| format!("{} {} {:?}", event.kind, event.actor_id, event.ref_change)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_over_ssh_records_the_events_of_one_over_http() {
    let (mut farrier, client) = demo().await;
    farrier.repository("web").await;
    farrier.user("alice").await;
    for name in ["demo", "web"] {
        let path = format!("/api/v1/repos/admin/{name}/collaborators/alice");
        let added = farrier.admin(Method::PUT, &path, json!({ "permission": "write" })).await;
        assert_eq!(added.status, 204, "{}", added.text());
    }
    let key = client.key("alice", &["-t", "ed25519"]).await;
    add_key(&farrier, "alice", &key).await;
    let token = farrier.token("alice", &["all"]).await;
    let work = client.work(&farrier, "work", "alice");
    work.commit("a", "a");
    work.done(&["tag", "old"]);
    let remotes = [client.url("admin/demo"), farrier.remote("admin/web", &token)];
    let push = |refs: &[&str]| {
        for remote in &remotes {
            work.done(&[&["push", "-q", remote], refs].concat());
        }
    };
    push(&["main", "old", "-o", "x=y"]);
    work.commit("a", "b");
    push(&["main", "main:side", "main:refs/notes/x", ":old"]);
    push(&["main"]);
    push(&[":side"]);
    work.done(&["commit", "-q", "--amend", "-m", "changed"]);
    push(&["-f", "main"]);
    for remote in &remotes {
        let err = work.refused(&["push", remote, ":main", "HEAD:refs/heads/x"]);
        assert!(err.contains("the default branch cannot be deleted"), "{err}");
        let err = work.refused(&["push", remote, "main:refs/farrier/x"]);
        assert!(err.contains("deny updating a hidden ref"), "{err}");
    }
    let (over_ssh, over_http) = farrier
        .with_store(async |store| (recorded(store, "admin/demo").await, recorded(store, "admin/web").await))
        .await;
    assert!(over_ssh.len() > 8, "{over_ssh:?}");
    assert_eq!(over_ssh, over_http);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_over_the_size_limit_is_refused_with_a_reason_and_stores_nothing() {
    let (farrier, client) = demo_with(|config| config.git.max_push_bytes = 1 << 20).await;
    let work = client.work(&farrier, "work", "admin");
    work.commit("large", noise(4 << 20));
    let err = work.refused(&["push", &client.url("admin/demo"), "main"]);
    assert!(err.contains("exceeds maximum allowed size") || err.contains("unpack"), "{err}");
    assert_eq!(work.done(&["ls-remote", &client.url("admin/demo")]), "");
    let incoming = std::fs::read_dir(farrier.data_dir().join("incoming")).expect("a directory");
    assert_eq!(incoming.count(), 0, "no workspace is left behind");
    let packs = std::fs::read_dir(farrier.data_dir().join("repositories/1.git/objects/pack"));
    assert_eq!(packs.map_or(0, Iterator::count), 0, "nothing was installed");
}

#[tokio::test(flavor = "multi_thread")]
async fn sha256_repositories_are_served() {
    let (farrier, client) = demo().await;
    let body = json!({ "name": "wide", "object_format_name": "sha256" });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", body).await.status, 201);
    let work = Client::at(farrier.scratch().join("wide"));
    work.done(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    work.commit("a", "a");
    let setting = client.setting("admin");
    work.done(&["-c", &setting, "push", "-q", &client.url("admin/wide"), "main"]);
    work.done(&["-c", &setting, "clone", "-q", &client.url("admin/wide"), "copy"]);
    assert!(work.dir().join("copy/a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn old_names_work_and_the_address_is_shown() {
    let (farrier, client) = demo().await;
    seed(&farrier, &client);
    let shown = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json();
    let url = shown["ssh_url"].as_str().expect("an address");
    assert_eq!(url.rsplit_once(':').expect("a port").1, format!("{}/admin/demo.git", client.port));
    let renamed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "name": "renamed" })).await;
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    let scratch = Client::at(farrier.scratch().join("clones"));
    let setting = client.setting("admin");
    scratch.done(&["-c", &setting, "clone", "-q", &client.url("admin/demo"), "copy"]);
    let copy = scratch.below("copy");
    copy.commit("new", "x");
    copy.done(&["-c", &setting, "push", "-q"]);
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    super::add_deploy_key(&farrier, "renamed", &key, true).await;
    scratch.done(&["-c", &client.setting("deploy"), "clone", "-q", &client.url("admin/demo"), "deployed"]);

    let created = farrier.admin(Method::POST, "/api/v1/orgs", json!({ "username": "acme" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let path = "/api/v1/repos/admin/renamed/transfer";
    let moved = farrier.admin(Method::POST, path, json!({ "new_owner": "acme" })).await;
    assert_eq!(moved.status, 202, "{moved:?}");
    let shown = farrier.admin(Method::GET, "/api/v1/repos/acme/renamed", Value::Null).await.json();
    assert!(shown["ssh_url"].as_str().is_some_and(|url| url.ends_with("/acme/renamed.git")), "{shown}");
    for (number, old) in ["admin/demo", "admin/renamed"].into_iter().enumerate() {
        let copy = scratch.below(&format!("moved-{number}"));
        copy.done(&["-c", &setting, "clone", "-q", &client.url(old), "."]);
        copy.commit(&format!("after-{number}"), "x");
        copy.done(&["-c", &setting, "push", "-q"]);
        let deployed = scratch.below(&format!("moved-deployed-{number}"));
        deployed.done(&["-c", &client.setting("deploy"), "clone", "-q", &client.url(old), "."]);
        assert_eq!(deployed.done(&["rev-parse", "HEAD"]), copy.done(&["rev-parse", "HEAD"]), "{old}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ssh_there_is_no_address() {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let shown = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json();
    assert_eq!(shown["ssh_url"], "");
    let service = farrier.admin(Method::GET, "/api/farrier/v1/ssh", Value::Null).await.json();
    assert_eq!((&service["enabled"], &service["host_keys"]), (&json!(false), &json!([])));
    assert!(!farrier.data_dir().join("ssh").exists());
    let configured = TestDaemon::with(|config| {
        on(config);
        config.ssh.user = "code".into();
        config.ssh.clone_host = Some("forge.example".into());
        config.ssh.clone_port = 22;
    })
    .await;
    configured.repository("demo").await;
    let shown = configured.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json();
    assert_eq!(shown["ssh_url"], "code@forge.example:admin/demo.git");
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_contain_placeholders_as_they_are() {
    let (farrier, client) = demo().await;
    let work = client.work(&farrier, "work", "admin");
    work.commit(".gitattributes", "* export-subst\n");
    work.commit("version.txt", "$Format:%H$\n");
    let url = client.url("admin/demo");
    work.done(&["push", "-q", &url, "main"]);
    work.done(&["archive", "--remote", &url, "-o", "a.tar", "main"]);
    let archive = std::fs::read(work.dir().join("a.tar")).expect("a file");
    assert!(archive.windows(11).any(|part| part == b"$Format:%H$"), "not expanded");
}
