//! Repositories that are generated from templates.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use farrierd::clock::Clock;
use serde_json::json;

use crate::{
    accounts::world::World,
    support::{GitDir, Import, git::Client, run, send},
};

/// A daemon with the accounts `ann` and `bob`, and the template `ann/tpl` with these files.
async fn world(files: &[(&str, &str)]) -> World {
    let world = World::with_clock(Clock::manual(1_767_323_045_000)).await;
    for name in ["ann", "bob"] {
        world.user(name).await;
    }
    world.admin("post", "/admin/users/ann/orgs", json!({ "username": "acme" }), 201).await;
    let body = json!({ "name": "tpl", "private": false, "template": true, "description": "the template" });
    world.admin("post", "/admin/users/ann/repos", body, 201).await;
    if !files.is_empty() {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| json!({ "operation": "create", "path": path, "content": STANDARD.encode(text) }))
            .collect();
        world.admin("post", "/repos/ann/tpl/contents", json!({ "files": files }), 201).await;
    }
    world
}

async fn header(world: &World, name: &str) -> String {
    format!("token {}", world.token(name, &["all"]).await)
}

/// Clones a repository and returns the working copy.
async fn clone(world: &World, path: &str) -> Client {
    let token = world.farrier.token("admin", &["all"]).await;
    let parent = Client::at(world.farrier.scratch().join("clones"));
    let name = path.replace('/', "-");
    parent.done(&["clone", "-q", &world.farrier.remote(path, &token), &name]);
    parent.below(&name)
}

fn read(work: &Client, path: &str) -> String {
    std::fs::read_to_string(work.dir().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_files_get_the_values_of_variables_in_text_and_name() {
    let world = world(&[
        (".gitea/template", "# files\n**.txt\nsrc/**\n"),
        ("README.md", "${REPO_NAME} stays\n"),
        ("a.txt", "${REPO_NAME} of ${REPO_OWNER}: ${REPO_DESCRIPTION} ${UNKNOWN} $YEAR ${YEAR}\n"),
        ("deep/${TEMPLATE_NAME_UPPER}.txt", "${TEMPLATE_OWNER}/${TEMPLATE_NAME} ${REPO_NAME_PASCAL}\n"),
        ("src/${REPO_NAME}/main", "x\n"),
        (".gitea/other", "kept\n"),
    ])
    .await;
    let bob = header(&world, "bob").await;
    let body = json!({ "owner": "bob", "name": "my-tool", "description": "a tool", "git_content": true,
        "default_branch": "trunk", "private": true });
    let made = world.ask(&bob, "post", "/repos/ann/tpl/generate", body.clone()).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!((&made["full_name"], &made["default_branch"]), (&json!("bob/my-tool"), &json!("trunk")));
    assert_eq!((&made["private"], &made["empty"], &made["template"]), (&json!(true), &json!(false), &json!(false)));
    assert_eq!((&made["branch_count"], &made["watchers_count"]), (&json!(1), &json!(1)));
    let work = clone(&world, "bob/my-tool").await;
    let files = "\
        .gitea/other\nREADME.md\na.txt\ndeep/TPL.txt\nsrc/my-tool/main";
    assert_eq!(work.done(&["ls-files"]), files);
    assert_eq!(read(&work, "a.txt"), "my-tool of bob: a tool UNKNOWN $YEAR 2026\n");
    assert_eq!(read(&work, "deep/TPL.txt"), "ann/tpl MyTool\n");
    assert_eq!(read(&work, "README.md"), "${REPO_NAME} stays\n");
    assert_eq!(work.done(&["log", "--format=%an %s %P"]), "bob Initial commit");
    work.done(&["fsck", "--strict"]);
    assert_eq!(world.status(&bob, "post", "/repos/ann/tpl/generate", body).await, 409);
    let path = "/api/farrier/v1/events?limit=100";
    let accept = [("accept", "application/json")];
    let events = send(&world.farrier.unix(), http::Method::GET, path, &accept, "").await.text();
    assert!(events.contains("bob/my-tool") && events.contains("created"), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_without_a_list_is_copied_with_links_and_modes() {
    let world = world(&[]).await;
    let path = world.farrier.scratch().join("tpl.git");
    std::fs::create_dir(&path).expect("a directory");
    run(&path, &["init", "--quiet", "--bare"], &[]);
    let import = Import::default()
        .commit("main", 1, &[], "first")
        .file("100644", "old", b"old\n")
        .commit("main", 2, &[1], "second")
        .file("100755", "run.sh", b"#!/bin/sh\n")
        .file("120000", "link", b"run.sh")
        .file("100644", "binary", b"\0${YEAR}\x01");
    let template = GitDir { path: path.clone(), api: String::new() };
    template.import(&import);
    let token = world.farrier.token("ann", &["write:repository"]).await;
    run(&path, &["push", "--quiet", &world.farrier.remote("ann/tpl", &token), "main"], &[]);
    let ann = header(&world, "ann").await;
    let body = json!({ "owner": "acme", "name": "copy", "git_content": true });
    let made = world.ask(&ann, "post", "/repos/ann/tpl/generate", body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let work = clone(&world, "acme/copy").await;
    assert_eq!(work.done(&["rev-list", "--count", "--all"]), "1");
    assert_eq!(std::fs::read_link(work.dir().join("link")).expect("a link").to_str(), Some("run.sh"));
    assert_eq!(work.done(&["ls-files", "-s", "run.sh"])[..6], *"100755");
    assert_eq!(std::fs::read(work.dir().join("binary")).expect("a file"), b"\0${YEAR}\x01");
    let first = template.git(&["rev-parse", "main~1"]);
    assert!(!work.run(&["fetch", "-q", "origin", &first]).ok, "earlier commits of the template are not copied");
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_and_webhooks_are_copied_on_request() {
    let world = world(&[]).await;
    world.admin("put", "/repos/ann/tpl/topics", json!({ "topics": ["ci", "rust"] }), 204).await;
    let config = json!({ "url": "http://203.0.113.9/x", "content_type": "json", "secret": "s" });
    let hook = json!({ "type": "gitea", "active": true, "config": config, "events": ["push"] });
    world.admin("post", "/repos/ann/tpl/hooks", hook, 201).await;
    let (ann, bob) = (header(&world, "ann").await, header(&world, "bob").await);
    let body = json!({ "name": "copy", "topics": true, "webhooks": true });
    assert_eq!(world.status(&bob, "post", "/repos/ann/tpl/generate", body.clone()).await, 403);
    assert_eq!(world.get(&bob, "/repos/bob/copy").await.0, 404);
    let made = world.ask(&ann, "post", "/repos/ann/tpl/generate", body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!((&made["topics"], &made["empty"]), (&json!(["ci", "rust"]), &json!(true)));
    let hooks = world.get(&ann, "/repos/ann/copy/hooks").await.1;
    assert_eq!((hooks.as_array().map(Vec::len), &hooks[0]["config"]["url"]), (Some(1), &json!("http://203.0.113.9/x")));
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_rules_are_copied_on_request_with_teams_only_in_the_same_organization() {
    let world = world(&[("README.md", "x\n")]).await;
    let (ann, bob) = (header(&world, "ann").await, header(&world, "bob").await);
    let team = json!({ "name": "devs", "units": ["repo.code"], "permission": "write" });
    world.admin("post", "/orgs/acme/teams", team, 201).await;
    let body = json!({ "name": "tpl", "auto_init": true, "template": true, "private": false });
    world.admin("post", "/orgs/acme/repos", body, 201).await;
    let rule = json!({ "rule_name": "main", "enable_push": true, "enable_push_whitelist": true,
        "push_whitelist_usernames": ["ann"], "push_whitelist_teams": ["devs"] });
    world.admin("post", "/repos/acme/tpl/branch_protections", rule, 201).await;
    for (owner, teams) in [("acme", json!(["devs"])), ("ann", json!([]))] {
        let body = json!({ "owner": owner, "name": "copy", "git_content": true, "protected_branch": true });
        assert_eq!(world.status(&bob, "post", "/repos/acme/tpl/generate", body.clone()).await, 403);
        let made = world.ask(&ann, "post", "/repos/acme/tpl/generate", body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let rules = world.get(&ann, &format!("/repos/{owner}/copy/branch_protections")).await.1;
        assert_eq!(rules.as_array().map(Vec::len), Some(1), "{rules}");
        assert_eq!(rules[0]["push_whitelist_usernames"], json!(["ann"]));
        assert_eq!(rules[0]["push_whitelist_teams"], teams, "{owner}");
    }
    let body = json!({ "name": "copy", "protected_branch": true });
    assert_eq!(world.status(&bob, "post", "/repos/acme/tpl/generate", body).await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_whose_files_would_leave_the_tree_create_nothing() {
    let world = world(&[(".gitea/template", "*\n"), ("${REPO_DESCRIPTION}", "x\n"), ("taken", "y\n")]).await;
    let ann = header(&world, "ann").await;
    for description in ["../evil", "/", "a/../../b", ".git/hooks/post-update", ".GIT", "git~1/x", "a//b", "..", "taken"]
    {
        let body = json!({ "name": "evil", "description": description, "git_content": true });
        let answer = world.ask(&ann, "post", "/repos/ann/tpl/generate", body).await;
        assert_eq!(answer.status, 422, "{description}: {answer:?}");
        assert_eq!(world.get(&ann, "/repos/ann/evil").await.0, 404);
    }
    let entries = std::fs::read_dir(world.farrier.data_dir().join("repositories")).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let directories = names.filter(|name| name.ends_with(".git") || name.contains("new")).count();
    assert_eq!(directories, 1, "only the template has files");
    let body = json!({ "name": "good", "description": "sub/file", "git_content": true });
    assert_eq!(world.status(&ann, "post", "/repos/ann/tpl/generate", body).await, 201);
    assert_eq!(clone(&world, "ann/good").await.done(&["ls-files"]), "sub/file\ntaken");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_to_generate_are_refused() {
    let world = world(&[("README.md", "x\n")]).await;
    world.admin("post", "/admin/users/ann/repos", json!({ "name": "plain", "auto_init": true }), 201).await;
    world
        .admin("post", "/admin/users/ann/repos", json!({ "name": "shut", "private": true, "template": true }), 201)
        .await;
    let bob = header(&world, "bob").await;
    for (template, body, status) in [
        ("plain", json!({ "name": "x", "git_content": true }), 422),
        ("tpl", json!({ "name": "x" }), 422),
        ("tpl", json!({ "git_content": true }), 422),
        ("tpl", json!({ "name": "a/b", "git_content": true }), 422),
        ("tpl", json!({ "name": "x", "git_content": true, "default_branch": "-x" }), 422),
        ("tpl", json!({ "owner": "ann", "name": "x", "git_content": true }), 403),
        ("tpl", json!({ "owner": "acme", "name": "x", "git_content": true }), 403),
        ("tpl", json!({ "owner": "nobody", "name": "x", "git_content": true }), 404),
        ("shut", json!({ "name": "x", "git_content": true }), 404),
    ] {
        let answer = world.ask(&bob, "post", &format!("/repos/ann/{template}/generate"), body.clone()).await;
        assert_eq!(answer.status, status, "{template} {body}: {answer:?}");
    }
    assert_eq!(world.status("", "post", "/repos/ann/tpl/generate", json!({ "name": "x" })).await, 401);
    assert_eq!(world.get(&bob, "/repos/bob/x").await.0, 404);
}
