//! Forks: creation, separate objects, visibility, deletion.

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::{World, names},
    support::{RawConnection, eventually, git::Client, git::noise},
};

/// A daemon with the users `ann`, `bob` and `eve`, and a repository `ann/tool` with a commit.
pub(super) struct Stage {
    pub(super) world: World,
    tokens: BTreeMap<&'static str, String>,
}

impl Stage {
    pub(super) async fn new(private: bool) -> Self {
        Self::of(World::new().await, private).await
    }

    pub(super) async fn of(world: World, private: bool) -> Self {
        let mut tokens = BTreeMap::new();
        for name in ["ann", "bob", "eve"] {
            world.user(name).await;
            tokens.insert(name, world.token(name, &["all"]).await);
        }
        let body = json!({ "name": "tool", "private": private, "auto_init": true, "description": "does it" });
        world.admin("post", "/admin/users/ann/repos", body, 201).await;
        Self { world, tokens }
    }

    pub(super) fn authorization(&self, who: &str) -> String {
        self.tokens.get(who).map(|token| format!("token {token}")).unwrap_or_default()
    }

    /// Sends a request as a user. Returns the status and the body.
    pub(super) async fn ask(&self, who: &str, word: &str, path: &str, body: Value) -> (u16, Value) {
        let answer = self.world.ask(&self.authorization(who), word, path, body).await;
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }

    pub(super) async fn get(&self, who: &str, path: &str) -> Value {
        let (status, body) = self.ask(who, "get", path, Value::Null).await;
        assert_eq!(status, 200, "{who} {path}: {body}");
        body
    }

    pub(super) async fn fork(&self, who: &str, source: &str, body: Value) -> Value {
        let (status, fork) = self.ask(who, "post", &format!("/repos/{source}/forks"), body).await;
        assert_eq!(status, 202, "{fork}");
        fork
    }

    /// A working copy of a repository, of a user with write access.
    pub(super) fn clone(&self, who: &str, path: &str) -> Client {
        static CLONES: AtomicUsize = AtomicUsize::new(0);
        let name = format!("clone{}", CLONES.fetch_add(1, Ordering::Relaxed));
        let work = Client::at(self.world.farrier.scratch().join(name));
        work.done(&["clone", "--quiet", &self.remote(who, path), "."]);
        work
    }

    pub(super) fn remote(&self, who: &str, path: &str) -> String {
        self.world.farrier.remote(path, &self.tokens[who])
    }

    /// The directory of a repository.
    fn directory(&self, id: &Value) -> std::path::PathBuf {
        self.world.farrier.data_dir().join(format!("repositories/{id}.git"))
    }
}

async fn tips(stage: &Stage, who: &str, path: &str) -> Vec<(Value, Value)> {
    let branches = stage.get(who, &format!("/repos/{path}/branches")).await;
    let tags = stage.get(who, &format!("/repos/{path}/tags")).await;
    let of = |list: &Value, id: &str| -> Vec<_> {
        list.as_array().expect("a list").iter().map(|row| (row["name"].clone(), row.pointer(id).cloned())).collect()
    };
    let all = of(&branches, "/commit/id").into_iter().chain(of(&tags, "/id"));
    all.map(|(name, id)| (name, id.expect("an id"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_the_refs_of_its_source_and_names_it() {
    let stage = Stage::new(false).await;
    let work = stage.clone("ann", "ann/tool");
    work.done(&["branch", "side"]);
    work.done(&["tag", "-m", "one", "v1"]);
    work.done(&["tag", "light"]);
    work.done(&["push", "--quiet", "origin", "side", "v1", "light", "HEAD:refs/notes/x"]);
    let fork = stage.fork("bob", "ann/tool", Value::Null).await;
    assert_eq!(
        (&fork["full_name"], &fork["fork"], &fork["parent"]["full_name"], &fork["empty"], &fork["description"]),
        (&json!("bob/tool"), &json!(true), &json!("ann/tool"), &json!(false), &json!("does it"))
    );
    assert_eq!((&fork["branch_count"], &fork["parent"]["forks_count"]), (&json!(2), &json!(1)));
    assert_eq!(stage.get("", "/repos/bob/tool").await["parent"]["id"], fork["parent"]["id"]);
    let copied = tips(&stage, "bob", "bob/tool").await;
    assert_eq!(copied, tips(&stage, "ann", "ann/tool").await);
    assert_eq!(copied.len(), 4);
    let bare = Client::at(stage.directory(&fork["id"]));
    assert_eq!(bare.done(&["for-each-ref", "refs/notes"]), "");
    assert_eq!(bare.done(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    bare.done(&["fsck", "--strict"]);
    let source = stage.get("", "/repos/ann/tool").await;
    assert_eq!((&source["fork"], &source["forks_count"], source.get("parent")), (&json!(false), &json!(1), None));
    assert_eq!(names(&stage.get("", "/repos/ann/tool/forks").await, "full_name"), ["bob/tool"]);
    let found = |mode: &'static str| {
        let stage = &stage;
        async move { names(&stage.get("", &format!("/repos/search?mode={mode}")).await["data"], "full_name") }
    };
    assert_eq!((found("fork").await, found("source").await), (vec!["bob/tool".into()], vec!["ann/tool".into()]));
    // A push to the fork is an ordinary push.
    let own = stage.clone("bob", "bob/tool");
    let commit = own.commit("more", "x");
    own.done(&["push", "--quiet", "origin", "main"]);
    assert_eq!(stage.get("", "/repos/bob/tool/branches/main").await["commit"]["id"], json!(commit));
    assert_ne!(stage.get("", "/repos/ann/tool/branches/main").await["commit"]["id"], json!(commit));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_are_refused_without_rights_and_for_names_in_use() {
    let stage = Stage::new(false).await;
    stage.world.admin("post", "/admin/users/bob/orgs", json!({ "username": "acme" }), 201).await;
    stage.world.admin("post", "/admin/users/bob/repos", json!({ "name": "taken" }), 201).await;
    stage.world.admin("post", "/admin/users/ann/repos", json!({ "name": "secret", "private": true }), 201).await;
    for (who, path, body, expected) in [
        ("", "ann/tool", json!({}), 401),
        ("eve", "ann/secret", json!({}), 404),
        ("", "ann/secret", json!({}), 404),
        ("eve", "ann/nothing", json!({}), 404),
        ("eve", "ann/tool", json!({ "organization": "acme" }), 403),
        ("eve", "ann/tool", json!({ "organization": "nothing" }), 404),
        ("eve", "ann/tool", json!({ "organization": "bob" }), 404),
        ("eve", "ann/tool", json!({ "name": "a/b" }), 422),
        ("eve", "ann/tool", json!({ "name": "a..b" }), 422),
        ("eve", "ann/tool", json!({ "name": 7 }), 422),
        ("ann", "ann/tool", json!({}), 409),
        ("bob", "ann/tool", json!({ "name": "taken" }), 409),
        ("bob", "ann/tool", json!({ "organization": "acme", "name": "copy" }), 202),
        ("bob", "ann/tool", json!({ "organization": "acme", "name": "other" }), 409),
        ("bob", "ann/tool", json!({ "organization": null, "name": "" }), 202),
        ("bob", "ann/tool", json!({ "name": "again" }), 409),
        ("ann", "ann/tool", json!({ "name": "own-copy" }), 202),
    ] {
        let (status, answer) = stage.ask(who, "post", &format!("/repos/{path}/forks"), body.clone()).await;
        assert_eq!(status, expected, "{who} {path} {body}: {answer}");
    }
    assert_eq!(stage.get("", "/repos/acme/copy").await["parent"]["full_name"], "ann/tool");
    let token = stage.world.token("eve", &["read:repository"]).await;
    let status = async |token: &str| {
        stage.world.status(&format!("token {token}"), "post", "/repos/ann/tool/forks", Value::Null).await
    };
    assert_eq!(status(&token).await, 403);
    let token = stage.world.token("eve", &["write:repository"]).await;
    assert_eq!(status(&token).await, 202, "this scope alone is enough");
    let names_of = names(&stage.get("ann", "/repos/ann/tool/forks").await, "full_name");
    assert_eq!(names_of, ["eve/tool", "ann/own-copy", "bob/tool", "acme/copy"]);
    let empty = stage.fork("ann", "bob/taken", json!({})).await;
    assert_eq!((&empty["empty"], &empty["fork"]), (&json!(true), &json!(true)));
    let cloned = Client::at(stage.world.farrier.scratch().join("empty"));
    cloned.done(&["clone", "--quiet", &stage.remote("ann", "ann/taken"), "."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_and_its_source_do_not_serve_the_commits_of_each_other() {
    let stage = Stage::new(false).await;
    stage.fork("bob", "ann/tool", json!({})).await;
    let (source, fork) = (stage.clone("ann", "ann/tool"), stage.clone("bob", "bob/tool"));
    let (in_source, in_fork) = (source.commit("a", "a"), fork.commit("b", "b"));
    source.done(&["push", "--quiet", "origin", "main"]);
    fork.done(&["push", "--quiet", "origin", "main"]);
    for (path, own, other) in [("ann/tool", &in_source, &in_fork), ("bob/tool", &in_fork, &in_source)] {
        let work = Client::init(stage.world.farrier.scratch().join(format!("by-id-{}", path.replace('/', "-"))));
        let remote = stage.remote("eve", path);
        work.done(&["fetch", "--quiet", &remote, own]);
        for version in ["0", "2"] {
            let version = format!("protocol.version={version}");
            let refused = work.refused(&["-c", &version, "fetch", "--quiet", &remote, other]);
            assert!(refused.contains("not our ref") || refused.contains("unadvertised"), "{refused}");
        }
        let (status, _) = stage.ask("eve", "get", &format!("/repos/{path}/git/commits/{other}"), Value::Null).await;
        assert_eq!(status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_live_on_when_their_source_is_deleted_and_are_its_forks_again_when_it_is_restored() {
    let stage = Stage::new(false).await;
    let fork = stage.fork("bob", "ann/tool", json!({})).await;
    stage.fork("eve", "ann/tool", json!({})).await;
    stage.world.admin("delete", "/repos/ann/tool", Value::Null, 204).await;
    let alone = stage.get("", "/repos/bob/tool").await;
    assert_eq!((&alone["fork"], alone.get("parent")), (&json!(false), None));
    stage.clone("bob", "bob/tool").done(&["fsck"]);
    // Without a source, its visibility can be changed.
    let (status, _) = stage.ask("eve", "patch", "/repos/eve/tool", json!({ "private": true })).await;
    assert_eq!(status, 200);
    let farrier = &stage.world.farrier;
    let deleted = farrier.admin(Method::GET, "/api/farrier/v1/deleted/repositories", Value::Null).await.json();
    let path = format!("/api/farrier/v1/deleted/repositories/{}", deleted[0]["id"]);
    let restored = farrier.admin(Method::POST, &format!("{path}/restore"), json!({})).await;
    assert_eq!((restored.status, &restored.json()["forks_count"]), (200, &json!(1)), "{restored:?}");
    assert_eq!(stage.get("", "/repos/bob/tool").await["parent"]["full_name"], "ann/tool");
    assert_eq!(stage.get("eve", "/repos/eve/tool").await["fork"], false);

    // The fork is deleted and restored after the source became private.
    stage.world.admin("delete", "/repos/bob/tool", Value::Null, 204).await;
    assert_eq!(stage.get("", "/repos/ann/tool").await["forks_count"], 0);
    stage.world.admin("patch", "/repos/ann/tool", json!({ "private": true }), 200).await;
    let restore = format!("/api/farrier/v1/deleted/repositories/{}/restore", fork["id"]);
    let restored = farrier.admin(Method::POST, &restore, json!({})).await;
    assert_eq!((restored.status, &restored.json()["private"]), (200, &json!(true)), "{restored:?}");
    assert_eq!(stage.get("ann", "/repos/ann/tool").await["forks_count"], 0, "ann cannot see the fork");

    // The source is removed permanently.
    stage.world.admin("delete", "/repos/ann/tool", Value::Null, 204).await;
    assert_eq!(farrier.admin(Method::DELETE, &path, Value::Null).await.status, 204);
    eventually("the source is removed", async || !stage.directory(&deleted[0]["id"]).exists()).await;
    stage.clone("bob", "bob/tool").done(&["fsck"]);
    let alone = stage.get("bob", "/repos/bob/tool").await;
    assert_eq!((&alone["fork"], alone.get("parent")), (&json!(false), None));
    let mut world = stage.world;
    world.farrier.stop().await;
    let checked = world.farrier.check_data(&["--git"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn source_and_forks_are_private_or_public_together() {
    let stage = Stage::new(true).await;
    stage.world.admin("put", "/repos/ann/tool/collaborators/bob", json!({ "permission": "read" }), 204).await;
    assert_eq!(stage.fork("bob", "ann/tool", json!({})).await["private"], true);
    stage.world.admin("put", "/repos/bob/tool/collaborators/eve", json!({ "permission": "read" }), 204).await;
    assert_eq!(stage.fork("eve", "bob/tool", json!({})).await["private"], true);
    // eve may not see the repository of ann.
    let fork = stage.get("eve", "/repos/bob/tool").await;
    assert_eq!((&fork["fork"], fork.get("parent"), &fork["forks_count"]), (&json!(true), None, &json!(1)));
    let (status, error) = stage.ask("bob", "patch", "/repos/bob/tool", json!({ "private": false })).await;
    assert_eq!((status, &error["field"]), (422, &json!("private")));
    let private = async || {
        let mut all = Vec::new();
        for path in ["ann/tool", "bob/tool", "eve/tool"] {
            all.push(stage.world.admin("get", &format!("/repos/{path}"), Value::Null, 200).await["private"] == true);
        }
        all
    };
    for expected in [false, true, false] {
        let (status, _) = stage.ask("ann", "patch", "/repos/ann/tool", json!({ "private": expected })).await;
        assert_eq!((status, private().await), (200, vec![expected; 3]));
        assert_eq!(stage.ask("", "get", "/repos/eve/tool", Value::Null).await.0, if expected { 404 } else { 200 });
    }
    let (status, _) = stage.ask("bob", "patch", "/repos/bob/tool", json!({ "private": true })).await;
    assert_eq!(status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_repositories_of_a_private_organization_are_private() {
    let stage = Stage::new(false).await;
    let org = json!({ "username": "acme", "visibility": "private" });
    stage.world.admin("post", "/admin/users/ann/orgs", org, 201).await;
    let (status, _) = stage.ask("ann", "post", "/orgs/acme/repos", json!({ "name": "app", "private": false })).await;
    assert_eq!(status, 201);
    stage.world.admin("put", "/repos/acme/app/collaborators/bob", json!({ "permission": "read" }), 204).await;
    assert_eq!(stage.fork("bob", "acme/app", json!({})).await["private"], true);
    assert_eq!(stage.ask("", "get", "/repos/bob/app", Value::Null).await.0, 404);
    let (status, error) = stage.ask("bob", "patch", "/repos/bob/app", json!({ "private": false })).await;
    assert_eq!((status, &error["field"]), (422, &json!("private")));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_lists_contain_only_the_forks_that_the_caller_sees() {
    let stage = Stage::new(true).await;
    for user in ["bob", "eve"] {
        stage.world.admin("put", &format!("/repos/ann/tool/collaborators/{user}"), Value::Null, 204).await;
    }
    stage.fork("bob", "ann/tool", json!({ "name": "mine" })).await;
    stage.fork("eve", "ann/tool", json!({ "name": "hers" })).await;
    stage.world.admin("put", "/repos/eve/hers/collaborators/bob", json!({ "permission": "read" }), 204).await;
    let see = async |who: &str| {
        let list = stage.world.ask(&stage.authorization(who), "get", "/repos/ann/tool/forks", Value::Null).await;
        assert_eq!(list.status, 200, "{list:?}");
        let count = stage.get(who, "/repos/ann/tool").await["forks_count"].clone();
        assert_eq!(list.header("x-total-count"), count.to_string());
        names(&list.json(), "name")
    };
    assert_eq!(see("ann").await, [""; 0]);
    assert_eq!(see("bob").await, ["hers", "mine"]);
    assert_eq!(see("eve").await, ["hers"]);
    let (_, second) = stage.ask("bob", "get", "/repos/ann/tool/forks?limit=1&page=2", Value::Null).await;
    assert_eq!(names(&second, "name"), ["mine"]);
    let (status, _) = stage.ask("ann", "patch", "/repos/ann/tool", json!({ "private": false })).await;
    assert_eq!(status, 200);
    assert_eq!(see("").await, ["hers", "mine"]);
    stage.world.admin("patch", "/admin/users/eve", json!({ "visibility": "limited" }), 200).await;
    assert_eq!((see("").await, see("ann").await), (vec!["mine".into()], vec!["hers".to_owned(), "mine".into()]));
    stage.world.admin("patch", "/admin/users/eve", json!({ "visibility": "private" }), 200).await;
    assert_eq!((see("ann").await, see("eve").await), (vec!["mine".into()], vec!["hers".to_owned(), "mine".into()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_complete_or_absent_when_the_client_disconnects() {
    const LAST: u64 = 11;
    let stage = Stage::new(false).await;
    for number in 0..=LAST {
        let org = format!("org{number}");
        stage.world.admin("post", "/admin/users/bob/orgs", json!({ "username": org }), 201).await;
        let body = json!({ "organization": org }).to_string();
        let head = format!(
            "POST /api/v1/repos/ann/tool/forks HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            stage.authorization("bob"),
            body.len()
        );
        let mut request = RawConnection::sending(&stage.world.farrier.tcp(), &head).await;
        if number == LAST {
            assert_eq!(request.answer().await.expect("an answer").0, 202);
        } else {
            tokio::time::sleep(Duration::from_millis(number * 2)).await;
        }
        drop(request);
    }
    let root = stage.world.farrier.data_dir().join("repositories");
    let directories = || std::fs::read_dir(&root).expect("a directory").count() - 1;
    let forks = async || stage.get("", "/repos/ann/tool").await["forks_count"].as_u64().expect("a number");
    eventually("every directory has a row", async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        directories() as u64 == forks().await + 1
    })
    .await;
    let complete = names(&stage.get("", "/repos/ann/tool/forks?limit=50").await, "full_name");
    assert!(complete.contains(&format!("org{LAST}/tool")), "this client waited: {complete:?}");
    for fork in complete {
        stage.get("", &format!("/repos/{fork}/contents/README.md")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_forks_use_little_more_disk_space_than_their_source() {
    let stage = Stage::new(false).await;
    let work = stage.clone("ann", "ann/tool");
    work.commit("large", noise(20 << 20));
    work.done(&["push", "--quiet", "origin", "main"]);
    let root = stage.world.farrier.data_dir().join("repositories");
    let before = allocated(&root);
    assert!(before > 20 << 20, "{before}");
    for number in 0..100 {
        let org = format!("org{number}");
        stage.world.admin("post", "/admin/users/bob/orgs", json!({ "username": org }), 201).await;
        stage.fork("bob", "ann/tool", json!({ "organization": org })).await;
    }
    let after = allocated(&root);
    assert!(after < before + before / 10, "{before} bytes before, {after} after");
    assert!(stage.get("", "/repos/org99/tool").await["size"].as_i64() >= Some(20 << 10));
    assert_eq!(stage.get("", "/repos/ann/tool").await["forks_count"], 100);
    let last = stage.get("", "/repos/ann/tool/forks?limit=50&page=2").await;
    assert_eq!(names(&last, "full_name").last().map(String::as_str), Some("org0/tool"));
}

/// The allocated bytes of the files below a directory. Each file counts once, however many names it has.
fn allocated(root: &Path) -> u64 {
    fn visit(directory: &Path, sizes: &mut BTreeMap<u64, u64>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                visit(&entry.path(), sizes);
            } else {
                sizes.insert(metadata.ino(), metadata.blocks() * 512);
            }
        }
    }
    let mut sizes = BTreeMap::new();
    visit(root, &mut sizes);
    sizes.values().sum()
}
