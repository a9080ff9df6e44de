//! The programs that the systemd unit allows are those that git needs: the daemon serves with only them.

use std::{path::Path, process::Stdio, time::Duration};

use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{ServerAddress, TestDaemon, eventually, free_address, git, in_time, process, send, try_send};

const UNIT: &str = include_str!("../../../../systemd/farrierd.service");

/// The existing paths of `ExecPaths=` in the unit, with the program of the test.
fn exec_paths() -> Vec<String> {
    let lines = UNIT.lines().filter_map(|line| line.strip_prefix("ExecPaths="));
    let paths = lines.flat_map(str::split_whitespace).map(|path| path.trim_start_matches('-'));
    let paths = paths.map(|path| path.replace("/usr/bin/farrierd", env!("CARGO_BIN_EXE_farrierd")));
    paths.filter(|path| Path::new(path).exists()).collect()
}

/// A script that makes everything except the allowed paths unexecutable, as systemd does, and starts the daemon with
/// its arguments.
fn script() -> String {
    let mut lines = vec!["set -e".to_owned(), "mount --make-rprivate /".to_owned()];
    lines.extend(exec_paths().iter().map(|path| format!("mount --bind '{path}' '{path}'")));
    lines.push("mount -o remount,bind,noexec /".to_owned());
    lines.push("if /bin/true 2>/dev/null; then echo 'other programs can be executed' >&2; exit 9; fi".to_owned());
    lines.push(format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_farrierd")));
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn git_works_with_only_the_programs_that_the_unit_allows() {
    assert!(UNIT.contains("\nNoExecPaths=/\n"));
    let source = TestDaemon::start().await;
    source.git_repository("source").await.import(&crate::support::Import::default().commit("main", 1, &[], "one"));
    let scratch = source.scratch();
    let address = free_address().to_string();
    let config = scratch.join("farrierd.toml");
    std::fs::write(&config, "[migration]\nallowed_hosts = \"loopback\"\n").expect("a file");
    let socket = scratch.join("s");
    let mut unshare = process::command("unshare");
    unshare.args(["--mount", "sh", "-c", &script(), "sh", "--config"]).arg(&config);
    unshare.arg("--data-dir").arg(scratch.join("data")).arg("--socket").arg(&socket).args(["--listen", &address]);
    unshare.stdout(Stdio::null()).stderr(std::fs::File::create(scratch.join("log")).expect("a file"));
    let mut restricted = unshare.spawn().expect("unshare");
    let over = ServerAddress::Unix(socket);
    let is_up = async || try_send(&over, Method::GET, "/api/healthz", &[], "").await.is_ok_and(|a| a.status == 200);
    let answered_or_ended = async {
        loop {
            match restricted.try_wait().expect("a status") {
                None if !is_up().await => tokio::time::sleep(Duration::from_millis(20)).await,
                ended => return ended,
            }
        }
    };
    let ended = in_time("the restricted daemon answers or ends", answered_or_ended).await;
    if let Some(status) = ended {
        let log = std::fs::read_to_string(scratch.join("log")).expect("text");
        assert!(log.contains("Operation not permitted") || log.contains("must be superuser"), "{status}: {log}");
        eprintln!("skipped: mounts are not allowed");
        return;
    }
    let json = [("content-type", "application/json")];
    let post = async |path: &str, body: serde_json::Value| {
        let answer = send(&over, Method::POST, path, &json, body.to_string()).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
        answer.json()
    };
    post("/api/v1/user/repos", json!({ "name": "tool" })).await;
    let token = post("/api/v1/users/admin/tokens", json!({ "name": "t", "scopes": ["all"] })).await;
    let remote = format!("http://any:{}@{address}/admin/tool.git", token["sha1"].as_str().expect("text"));
    let work = git::Client::init(scratch.join("work"));
    std::fs::write(work.dir().join("file"), "one").expect("a file");
    work.done(&["add", "."]);
    work.done(&["commit", "-q", "-m", "one"]);
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["clone", "-q", &remote, "copy"]);
    let imported = json!({ "clone_addr": format!("{}/admin/source.git", source.url), "repo_name": "import" });
    post("/api/v1/repos/migrate", imported).await;
    for path in
        ["/repos/admin/import/branches/main", "/repos/admin/tool/commits?stat=true", "/repos/admin/tool/contents"]
    {
        let read = async || send(&over, Method::GET, &format!("/api/v1{path}"), &[], "").await.status == 200;
        eventually(path, read).await;
    }
    for form in ["zip", "tar.gz", "bundle"] {
        let path = format!("/api/v1/repos/admin/tool/archive/main.{form}");
        assert_eq!(send(&over, Method::GET, &path, &[], "").await.status, 200, "{form}");
    }
    let pid = restricted.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).expect("it runs");
    kill_process(pid, Signal::TERM).expect("it runs");
    let status = in_time("the restricted daemon ends", restricted.wait()).await.expect("a status");
    let log = std::fs::read_to_string(scratch.join("log")).expect("text");
    assert!(status.success() && !log.contains("Permission denied"), "{status}: {log}");
}
