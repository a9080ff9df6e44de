//! Backups as a tar stream: `farrierd backup -`, `farrier backup --tar`, and `farrierd restore --from-tar`.

use farrier_common::{
    api::CreateBackupStream,
    client::{Client as ApiClient, Endpoint},
};
use farrierd::clock::Clock;

use super::*;
use crate::support::{git::noise, send};

/// Writes a backup to `file` with `farrierd backup -`, which must succeed. Returns what it prints.
async fn saved(data: &Path, socket: &Path, file: &Path) -> String {
    let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
    command.arg("--data-dir").arg(data).arg("--socket").arg(socket).args(["backup", "-"]);
    let output = process::output(command).await.expect("the program");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{err}");
    std::fs::write(file, output.stdout).expect("a file");
    err
}

/// A daemon with a push and an artifact of several pieces.
async fn daemon() -> (TestDaemon, String, String) {
    let farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    let (_, tip) = pushed(&farrier, "demo", &token).await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(6_000_000)).await;
    (farrier, token, tip)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_running_daemon_restores_everything_after_the_directory_is_gone() {
    let (mut farrier, token, tip) = daemon().await;
    let (data, file) = (farrier.data_dir(), farrier.scratch().join("backup.tar"));
    let err = saved(&data, &farrier.socket(), &file).await;
    assert!(err.contains("is complete") && err.contains("secrets"), "{err}");
    let backup = state(&farrier).await;
    assert_eq!((&backup["state"], &backup["destination"]), (&json!("done"), &json!("tar stream")), "{backup}");
    assert_ne!(backup["last_success_at"], "");
    let entries = farrier.admin(Method::GET, "/api/farrier/v1/audit?action=backup.create", Value::Null).await.json();
    assert_eq!(entries[0]["object"]["name"], "tar stream", "{entries}");
    farrier.stop().await;
    assert!(!data.join("backup-scratch").exists());
    std::fs::remove_dir_all(&data).expect("the directory is lost");

    succeeds(&data, &["backup", text(&file), "--verify"]).await;
    succeeds(&data, &["restore", "--from-tar", text(&file), "--dry-run"]).await;
    assert!(!data.exists(), "a dry run writes nothing");
    succeeds(&data, &["restore", "--from-tar", text(&file)]).await;
    succeeds(&data, &["check-data", "--git", "--content"]).await;
    farrier.start_in_process(Clock::system()).await;
    let client = Client::at(farrier.scratch());
    let listed = client.done(&["ls-remote", &farrier.remote("admin/demo", &token), "refs/heads/main"]);
    assert!(listed.starts_with(&tip), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_stopped_daemon_unpacks_to_a_directory_for_later_backups() {
    let (mut farrier, ..) = daemon().await;
    farrier.stop().await;
    let (data, file) = (farrier.data_dir(), farrier.scratch().join("backup.tar"));
    let nowhere = Path::new("/nonexistent/farrier.sock");
    saved(&data, nowhere, &file).await;
    let destination = farrier.scratch().join("backups");
    std::fs::create_dir(&destination).expect("a directory");
    let mut tar = process::command("tar");
    tar.arg("-xf").arg(&file).arg("-C").arg(&destination);
    let unpacked = process::output(tar).await.expect("tar");
    assert!(unpacked.status.success(), "{unpacked:?}");
    succeeds(&data, &["backup", text(&destination), "--verify"]).await;
    // The artifact is there already.
    let next: Value =
        serde_json::from_str(&succeeds(&data, &["backup", text(&destination), "--json"]).await).expect("JSON");
    assert!(next["added_bytes"].as_u64() < Some(6_000_000), "{next}");
    let restored = farrier.scratch().join("restored");
    succeeds(&restored, &["restore", text(&destination)]).await;
    succeeds(&restored, &["check-data", "--git", "--content"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_ends_the_backup_and_the_next_one_works() {
    let (mut farrier, ..) = daemon().await;
    let fifo = pipe(&farrier.scratch().join("pipe"));
    farrier.configure(|config| config.file = Some(fifo.clone()));
    farrier.restart().await;
    let client = ApiClient::new(Endpoint::Unix(farrier.socket()), None).expect("a client");
    let mut chunks = client.backup_stream(&CreateBackupStream::default()).await.expect("begun");
    let first = chunks.next().await.expect("bytes").expect("no error");
    assert!(first.starts_with(b"farrier-backups.json"), "the stream begins before the store is copied");
    let reading = held(&fifo).await;
    let second = farrier.admin(Method::POST, "/api/farrier/v1/backup/tar", json!({})).await;
    assert_eq!(second.status, 409, "{second:?}");
    drop((chunks, client));
    drop(reading);
    let backup = ended(&farrier).await;
    assert_eq!((&backup["state"], &backup["name"]), (&json!("failed"), &json!("")), "{backup}");
    assert!(backup["error"].as_str().is_some_and(|error| error.contains("cannot be restored")), "{backup}");

    std::fs::remove_file(&fifo).expect("a pipe");
    std::fs::write(&fifo, "").expect("a file");
    let (data, file) = (farrier.data_dir(), farrier.scratch().join("backup.tar"));
    saved(&data, &farrier.socket(), &file).await;
    succeeds(&data, &["backup", text(&file), "--verify"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_or_damaged_stream_restores_nothing() {
    let (mut farrier, ..) = daemon().await;
    farrier.stop().await;
    let (data, file) = (farrier.data_dir(), farrier.scratch().join("backup.tar"));
    let nowhere = Path::new("/nonexistent/farrier.sock");
    saved(&data, nowhere, &file).await;
    let (bytes, new) = (std::fs::read(&file).expect("a file"), farrier.scratch().join("new"));
    // In the middle of the artifact, and without the last block of the manifest.
    for length in [bytes.len() / 2, bytes.len() - 1_024 - 512] {
        std::fs::write(&file, &bytes[..length]).expect("a file");
        let (code, _, err) = farrierd(&new, nowhere, &["restore", "--from-tar", text(&file)]).await;
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("ended early") && !new.exists(), "{err}");
    }
    let mut other = bytes.clone();
    other[bytes.len() / 2] ^= 1;
    std::fs::write(&file, &other).expect("a file");
    let (code, out, err) = farrierd(&data, nowhere, &["backup", text(&file), "--verify"]).await;
    assert_eq!(code, Some(3), "{out}{err}");
    let (code, _, err) = farrierd(&new, nowhere, &["restore", "--from-tar", text(&file)]).await;
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("nothing was restored") && !new.exists(), "{err}");
    // The existing data is never overwritten.
    std::fs::write(&file, &bytes).expect("a file");
    let (code, _, err) = farrierd(&data, nowhere, &["restore", "--from-tar", text(&file)]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("is not empty"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_refused_with_a_token_and_from_elsewhere() {
    let farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    for server in [farrier.tcp(), farrier.unix()] {
        let refused = send(&server, Method::POST, "/api/farrier/v1/backup/tar", &headers, "{}").await;
        assert_eq!(refused.status, 403, "{server:?}: {refused:?}");
    }
    let (code, _, err) = farrierd(&farrier.data_dir(), &farrier.socket(), &["backup", "-", "--keep", "2"]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("--keep"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_in_a_stream_leaves_no_copies_after_its_next_start() {
    let mut farrier = TestDaemon::program("").await;
    let token = farrier.token("admin", &["all"]).await;
    pushed(&farrier, "demo", &token).await;
    // The program has read its configuration file. The backup reads it again.
    let config = process::config_file(farrier.scratch().parent().expect("a directory"));
    std::fs::remove_file(&config).expect("a file");
    pipe(&config);
    let (data, scratch) = (farrier.data_dir(), farrier.data_dir().join("backup-scratch"));
    let client = ApiClient::new(Endpoint::Unix(farrier.socket()), None).expect("a client");
    let mut chunks = client.backup_stream(&CreateBackupStream::default()).await.expect("begun");
    let reading = held(&config).await;
    assert!(scratch.join("farrier.redb").is_file(), "the copy of the store");
    farrier.kill().await;
    drop(reading);
    let end = loop {
        match chunks.next().await {
            Some(Ok(_)) => {}
            end => break end,
        }
    };
    assert!(matches!(end, Some(Err(_))), "a part is not taken for all");
    std::fs::remove_file(&config).expect("a pipe");

    farrier.start_as_program("").await;
    assert!(!scratch.exists(), "the start removes the copies");
    assert_eq!(state(&farrier).await["state"], "none");
    let file = farrier.scratch().join("backup.tar");
    saved(&data, &farrier.socket(), &file).await;
    assert!(!scratch.exists());
    succeeds(&data, &["backup", text(&file), "--verify"]).await;
    farrier.stop().await;
    let checked = farrier.check_data(&["--git", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}
