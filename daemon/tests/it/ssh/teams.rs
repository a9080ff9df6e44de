//! Rights of teams over SSH.

use http::Method;
use serde_json::{Value, json};

use super::{add_key, demo};
use crate::support::git::Client;

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_team_take_effect_with_the_next_command() {
    let (farrier, client) = demo().await;
    farrier.user("dev").await;
    let key = client.key("dev", &["-t", "ed25519"]).await;
    add_key(&farrier, "dev", &key).await;
    let ask = async |method, path: &str, body: Value| {
        let answer = farrier.admin(method, &format!("/api/v1{path}"), body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    };
    ask(Method::POST, "/orgs", json!({ "username": "acme" })).await;
    ask(Method::POST, "/orgs/acme/repos", json!({ "name": "app", "private": true, "auto_init": true })).await;
    let team = ask(Method::POST, "/orgs/acme/teams", json!({ "name": "devs", "units": ["repo.code"] })).await;
    let team = format!("/teams/{}", team["id"]);
    ask(Method::PUT, &format!("{team}/members/dev"), Value::Null).await;
    // One connection for all commands.
    let control = client.home.join("control");
    let shared = ["-o", "ControlMaster=auto", "-o", &format!("ControlPath={}", control.display())];
    let setting = client.setting_with("dev", &[&shared[..], &["-o", "ControlPersist=10"]].concat());
    let git = Client::init(farrier.scratch().join("work"));
    git.commit("a", "a");
    let url = client.url("acme/app");
    let fetches = || git.run(&["-c", &setting, "ls-remote", &url]).ok;
    let pushes = || git.run(&["-c", &setting, "push", "-q", "-f", &url, "HEAD:refs/heads/dev"]).ok;
    assert!(!fetches() && !pushes());
    ask(Method::PUT, &format!("{team}/repos/acme/app"), Value::Null).await;
    assert!(fetches() && !pushes());
    ask(Method::PATCH, &team, json!({ "permission": "write" })).await;
    assert!(fetches() && pushes());
    ask(Method::DELETE, &format!("{team}/members/dev"), Value::Null).await;
    assert!(!fetches() && !pushes());
}
