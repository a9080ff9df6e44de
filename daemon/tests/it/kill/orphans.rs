//! Git processes that are still running after their daemon was killed.

use std::fs;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, Pause, ServerAddress, SlowGit, git::Client, process, send};

#[tokio::test(flavor = "multi_thread")]
async fn a_push_still_running_after_a_kill_is_ended_before_refs_are_recorded() {
    let mut farrier = Binary::new("");
    let directory = farrier.scratch();
    let git = SlowGit::install(&mut farrier, "index-pack");
    farrier.start().await;
    let admin = async |farrier: &Binary, path: &str, body: Value| {
        send(&farrier.unix(), Method::POST, path, &[("content-type", "application/json")], body.to_string())
            .await
            .json()
    };
    admin(&farrier, "/api/v1/user/repos", json!({ "name": "tool" })).await;
    let token = admin(&farrier, "/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })).await;
    let remote = |farrier: &Binary| {
        let ServerAddress::Tcp(address) = farrier.tcp() else { panic!("an address") };
        format!("http://admin:{}@{address}/admin/tool.git", token["sha1"].as_str().expect("a token"))
    };
    let work = Client::init(directory.join("work"));
    work.commit("a", "a");

    git.hold(Pause::Begin);
    let mut push = process::command("git");
    push.args(["push", "-q", &remote(&farrier), "main"]).current_dir(work.dir());
    let kill = async {
        let pid = git.held().await;
        farrier.kill().await;
        pid
    };
    let (pushed, pid) = tokio::join!(process::output(push), kill);
    assert!(!pushed.expect("git").status.success(), "the push got no response");
    let is_running = || fs::read(format!("/proc/{pid}/environ")).is_ok_and(|variables| !variables.is_empty());
    assert!(is_running(), "git is still running after the kill");

    farrier.start().await;
    assert!(!is_running(), "the new daemon ended git before it was ready");
    assert!(farrier.log().contains("git processes of an earlier daemon were ended"), "{}", farrier.log());
    git.release();
    assert_eq!(work.done(&["ls-remote", &remote(&farrier)]), "", "the interrupted push changed nothing");
    work.done(&["push", "-q", &remote(&farrier), "main"]);
    farrier.terminate();
    farrier.ended().await;
    let checked = farrier.check_data(&["--json"]).await;
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
