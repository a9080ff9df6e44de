//! Backups of the data directory, and their restore.
//!
//! A test holds a backup by a named pipe in place of the configuration file, which the backup reads right after its
//! snapshot of the store. The backup goes on when the pipe is closed.

mod bucket;
mod cluster;
mod cluster_drill;
mod commands;
mod drill;
mod held;
mod set_back;
mod tar;

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use http::Method;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use serde_json::{Value, json};

use crate::support::{TestDaemon, eventually, git::Client, process};

const BACKUP: &str = "/api/farrier/v1/backup";

/// Creates a named pipe.
fn pipe(path: &Path) -> PathBuf {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    path.to_owned()
}

/// Waits until the backup reads the pipe, and holds it there until the result is dropped.
async fn held(pipe: &Path) -> File {
    let open = || {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags");
        OpenOptions::new().write(true).custom_flags(flags).open(pipe).ok()
    };
    let mut found = None;
    eventually("the backup reads the configuration file", || {
        found = found.take().or_else(open);
        std::future::ready(found.is_some())
    })
    .await;
    found.expect("open")
}

/// Starts a backup to `destination` over the socket.
async fn start(farrier: &TestDaemon, destination: &Path) -> Value {
    let body = json!({ "destination": destination });
    let started = farrier.admin(Method::POST, BACKUP, body).await;
    assert_eq!(started.status, 202, "{started:?}");
    started.json()
}

async fn state(farrier: &TestDaemon) -> Value {
    farrier.admin(Method::GET, BACKUP, Value::Null).await.json()
}

/// Waits for the end of the backup, and returns its state.
async fn ended(farrier: &TestDaemon) -> Value {
    eventually("the backup ends", async || state(farrier).await["state"] != "running").await;
    state(farrier).await
}

/// Runs `farrierd` with the data directory `data` and returns the exit code, the output and the errors.
async fn farrierd(data: &Path, socket: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
    command.arg("--data-dir").arg(data).arg("--socket").arg(socket).args(args);
    let output = process::output(command).await.expect("the program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs `farrierd`, which must succeed, and returns its output.
async fn succeeds(data: &Path, args: &[&str]) -> String {
    let (code, out, err) = farrierd(data, Path::new("/nonexistent/farrier.sock"), args).await;
    assert_eq!(code, Some(0), "{args:?}: {out}{err}");
    out
}

/// Creates the repository `admin/NAME` with one commit on `main`. Returns the working copy and the commit.
async fn pushed(farrier: &TestDaemon, name: &str, token: &str) -> (Client, String) {
    farrier.repository(name).await;
    let work = Client::init(farrier.scratch().join(name));
    let tip = work.commit("a", "a");
    work.done(&["push", "-q", &farrier.remote(&format!("admin/{name}"), token), "main"]);
    (work, tip)
}

/// All files below `root`, by path.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}
