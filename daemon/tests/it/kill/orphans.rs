//! Git processes that are still running after their daemon was killed.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use http::Method;
use serde_json::{Value, json};

use crate::support::{Binary, ServerAddress, eventually, git::Client, process, send};

/// Writes a `git` to `directory` that behaves like the installed one. While the file `hold` exists, `receive-pack`
/// reads its input, writes its process id to the file `pid`, and continues when the file `release` exists.
fn write_slow_git(directory: &Path) {
    let path = std::env::var("PATH").expect("text");
    let installed = std::env::split_paths(&path).map(|entry| entry.join("git")).find(|git| git.is_file());
    let (git, here) = (installed.expect("git").display().to_string(), directory.display());
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = receive-pack ] && [ -e {here}/hold ]; then\n\
         cat > {here}/input; echo $$ > {here}/pid.new; mv {here}/pid.new {here}/pid\n\
         while [ ! -e {here}/release ]; do sleep 0.05; done\n\
         exec {git} \"$@\" < {here}/input\n\
         fi\n\
         exec {git} \"$@\"\n"
    );
    fs::write(directory.join("git"), script).expect("a file");
    fs::set_permissions(directory.join("git"), fs::Permissions::from_mode(0o755)).expect("a program");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_still_running_after_a_kill_is_ended_before_refs_are_recorded() {
    let mut farrier = Binary::new("");
    let directory = farrier.scratch();
    write_slow_git(&directory);
    farrier.env("PATH", format!("{}:{}", directory.display(), std::env::var("PATH").expect("text")));
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

    fs::write(directory.join("hold"), "").expect("a file");
    let mut push = process::command("git");
    push.args(["push", "-q", &remote(&farrier), "main"]).current_dir(work.dir());
    let kill = async {
        eventually("git has read the pack", || async { directory.join("pid").exists() }).await;
        farrier.kill().await;
    };
    let (pushed, ()) = tokio::join!(process::output(push), kill);
    assert!(!pushed.expect("git").status.success(), "the push got no response");
    let pid = fs::read_to_string(directory.join("pid")).expect("a number");
    let is_running = || fs::read(format!("/proc/{}/environ", pid.trim())).is_ok_and(|variables| !variables.is_empty());
    assert!(is_running(), "git is still running after the kill");

    farrier.start().await;
    assert!(!is_running(), "the new daemon ended git before it was ready");
    assert!(farrier.log().contains("git processes of an earlier daemon were ended"), "{}", farrier.log());
    fs::write(directory.join("release"), "").expect("a file");
    fs::remove_file(directory.join("hold")).expect("a file");
    assert_eq!(work.done(&["ls-remote", &remote(&farrier)]), "", "the interrupted push changed nothing");
    work.done(&["push", "-q", &remote(&farrier), "main"]);
    farrier.terminate();
    farrier.ended().await;
    let checked = farrier.check_data(&["--json"]).await;
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
