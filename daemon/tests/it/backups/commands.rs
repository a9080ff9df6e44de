//! `farrierd backup` and `farrierd restore`.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::support::{bucket::TestBucket, git::noise, send};

/// A stopped daemon with a push and an artifact.
async fn stopped() -> TestDaemon {
    let mut farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    pushed(&farrier, "demo", &token).await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(300_000)).await;
    farrier.stop().await;
    farrier
}

fn names(destination: &Path) -> usize {
    std::fs::read_dir(destination.join("backups")).expect("a directory").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_daemon_is_backed_up_and_later_backups_copy_what_is_new() {
    let mut farrier = stopped().await;
    let (data, destination) = (farrier.data_dir(), farrier.scratch().join("backups"));
    let backup = async |args: &[&str]| -> Value {
        let args = [&["backup", text(&destination), "--json"][..], args].concat();
        serde_json::from_str(&succeeds(&data, &args).await).expect("JSON")
    };
    let first = backup(&[]).await;
    assert!(first["added_bytes"].as_u64() > Some(300_000), "{first}");
    let second = backup(&[]).await;
    let name = second["name"].as_str().expect("text");
    let list = std::fs::read_to_string(destination.join("backups").join(name).join("files.jsonl")).expect("a list");
    let mut entries = list.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let store = entries.find(|entry| entry["path"] == "farrier.redb").expect("the store");
    assert_eq!(second["added_bytes"], store["bytes"], "only the store is new: {second}");
    assert_eq!(names(&destination), 2);
    let third = backup(&["--keep", "1"]).await;
    assert_eq!(third["removed"].as_array().map(Vec::len), Some(2), "{third}");
    assert_eq!(names(&destination), 1);
    for path in files(&destination) {
        let mode = path.metadata().expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    assert_eq!(destination.metadata().expect("a directory").permissions().mode() & 0o777, 0o700);
    succeeds(&data, &["backup", text(&destination), "--verify"]).await;
    farrier.start_in_process(farrierd::clock::Clock::system()).await;
    let entries = farrier.admin(Method::GET, "/api/farrier/v1/audit?action=backup.create", Value::Null).await.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(3), "{entries}");
    assert_eq!(entries[0]["actor"]["name"], "farrierd backup");
    assert_eq!(entries[0]["object"]["name"], text(&destination));
    let status = farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    assert_ne!(status["kept"]["last_backup_at"], "", "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_makes_a_running_daemon_write_the_backup() {
    let farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let (data, destination) = (farrier.data_dir(), farrier.scratch().join("backups"));
    let (code, out, err) = farrierd(&data, &farrier.socket(), &["backup", text(&destination)]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("is complete") && out.contains("secrets"), "{out}");
    let inside = data.join("backups");
    let (code, _, err) = farrierd(&data, &farrier.socket(), &["backup", text(&inside)]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("it is in the data directory") && !inside.exists(), "{err}");
    assert_eq!(names(&destination), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_refused_from_elsewhere_and_with_a_bad_directory() {
    let farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let destination = farrier.scratch().join("backups");
    let body = json!({ "destination": destination }).to_string();
    for server in [farrier.tcp(), farrier.unix()] {
        let refused = send(&server, Method::POST, BACKUP, &headers, body.clone()).await;
        assert_eq!(refused.status, 403, "{server:?}: {refused:?}");
    }
    let bad = [json!({}), json!({ "destination": "" }), json!({ "destination": "relative" })];
    let long = json!({ "destination": format!("/{}", "x".repeat(5_000)) });
    for body in bad.into_iter().chain([long, json!({ "destination": "/tmp/x", "keep": 0 })]) {
        let refused = farrier.admin(Method::POST, BACKUP, body.clone()).await;
        assert_eq!(refused.status, 422, "{body}: {refused:?}");
    }
    assert!(!destination.exists());
    assert_eq!(state(&farrier).await["state"], "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_daemon_with_blobs_in_a_bucket_is_backed_up_while_it_runs_and_when_it_is_stopped() {
    let Some(bucket) = TestBucket::start().await else { return };
    let mut farrier = TestDaemon::with(|config| bucket.configure(&mut config.blobs)).await;
    let token = farrier.token("admin", &["all"]).await;
    let (work, _) = pushed(&farrier, "demo", &token).await;
    work.commit("large", noise(300_000));
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main"]);
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "log", &noise(3 << 20)).await;
    let destination = farrier.scratch().join("backups");
    start(&farrier, &destination).await;
    let first = ended(&farrier).await;
    assert_eq!((&first["state"], &first["warnings"]), (&json!("done"), &json!([])), "{first}");
    farrier.stop().await;

    let (data, file) = (farrier.data_dir(), farrier.scratch().join("bucket.toml"));
    std::fs::write(&file, "[blobs]\nurl = \"s3://builds/ci\"\n").expect("a file");
    let args = ["--config", text(&file), "backup", text(&destination), "--json"];
    let (code, _, err) = farrierd(&data, &farrier.socket(), &args).await;
    assert!(code == Some(1) && err.contains("the bucket of blobs.url cannot be used"), "{err}");
    std::fs::write(&file, bucket.toml()).expect("a file");
    let (code, out, err) = farrierd(&data, &farrier.socket(), &args).await;
    assert_eq!(code, Some(0), "{out}{err}");
    let second: Value = serde_json::from_str(&out).expect("JSON");
    assert!(second["added_bytes"].as_u64() < first["added_bytes"].as_u64(), "{first} {second}");
    let restored = farrier.scratch().join("restored");
    let (code, _, err) = farrierd(&restored, &farrier.socket(), &["restore", text(&destination)]).await;
    assert!(code == Some(0) && err.contains("remove blobs.url"), "{err}");
    succeeds(&restored, &["check-data", "--git", "--content"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_with_the_key_is_named_as_missing_also_beside_a_key_file() {
    let mut farrier = TestDaemon::start().await;
    let credential = farrier.scratch().join("credential");
    std::fs::copy(farrier.data_dir().join("secrets.key"), &credential).expect("a key");
    farrier.configure(|config| config.store.key_credential = Some(credential.clone()));
    farrier.restart().await;
    start(&farrier, &farrier.scratch().join("backups")).await;
    let backup = ended(&farrier).await;
    let warnings = backup["warnings"].to_string();
    assert!(backup["state"] == "done" && warnings.contains(text(&credential)), "{backup}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_bytes_are_a_warning_of_the_backup_and_of_its_restore() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let job = farrier.begin("demo", None).await;
    farrier.upload(&job, "kept", &noise(1_000)).await;
    farrier.upload(&job, "lost", &noise(2_000)).await;
    farrier.stop().await;
    let (data, destination) = (farrier.data_dir(), farrier.scratch().join("backups"));
    let stored = files(&data.join("artifacts"));
    let lost = stored.iter().find(|path| path.metadata().expect("a file").len() == 2_000).expect("a block");
    std::fs::remove_file(lost).expect("a file");
    let (code, out, err) = farrierd(&data, &farrier.socket(), &["backup", text(&destination)]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(err.contains("warning: 1 blocks of artifacts") && err.contains("are missing"), "{err}");
    let new = farrier.scratch().join("new");
    let (code, out, err) = farrierd(&new, &farrier.socket(), &["restore", text(&destination)]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(err.contains("warning: 1 blocks of artifacts"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_never_overwrites_and_a_damaged_backup_restores_nothing() {
    let farrier = stopped().await;
    let (data, destination) = (farrier.data_dir(), farrier.scratch().join("backups"));
    succeeds(&data, &["backup", text(&destination)]).await;
    let before = files(&data);
    let restore = async |to: &Path, more: &[&str]| {
        farrierd(to, &farrier.socket(), &[&["restore", text(&destination)][..], more].concat()).await
    };
    let (code, _, err) = restore(&data, &[]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("exists and is not empty; nothing was changed"), "{err}");
    assert_eq!(files(&data), before);
    let new = farrier.scratch().join("new");
    let (code, _, err) = restore(&new, &["--backup", "nothing"]).await;
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("with the name nothing"), "{err}");
    let name = std::fs::read_dir(destination.join("backups")).expect("a directory").next().expect("a backup");
    let name = name.expect("an entry").file_name().into_string().expect("text");

    // The content lost a byte, or has another byte.
    let contents = files(&destination.join("files")).into_iter();
    let content = contents.max_by_key(|path| path.metadata().expect("a file").len()).expect("a content");
    let bytes = std::fs::read(&content).expect("a file");
    let mut other = bytes.clone();
    other[0] ^= 1;
    for damaged in [&bytes[1..], &other[..]] {
        std::fs::write(&content, damaged).expect("a file");
        let (code, _, err) = restore(&new, &["--backup", &name]).await;
        assert_eq!(code, Some(3), "{err}");
        assert!(err.contains("is damaged") && err.contains("nothing was restored") && !new.exists(), "{err}");
        let verify = ["backup", text(&destination), "--verify"];
        let (code, out, err) = farrierd(&data, &farrier.socket(), &verify).await;
        assert_eq!(code, Some(3), "{out}{err}");
        assert!(out.contains("damage was found"), "{out}");
    }
    std::fs::write(&content, &bytes).expect("a file");
    let list = destination.join("backups").join(&name).join("files.jsonl");
    let lines = std::fs::read(&list).expect("a file");
    std::fs::write(&list, &lines[..lines.len() / 2]).expect("a file");
    let (code, _, err) = restore(&new, &[]).await;
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("files.jsonl was changed") && !new.exists(), "{err}");
    std::fs::write(&list, &lines).expect("a file");
    let (code, _, err) = restore(&new, &[]).await;
    assert_eq!(code, Some(0), "{err}");
    succeeds(&new, &["check-data", "--git", "--content"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_without_caches_has_no_cache_entries_and_no_rows_of_them() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let job = farrier.begin_on("demo", "main").await;
    crate::caches::save(&farrier, &job, "deps", "the content of the cache").await;
    let address = "/api/farrier/v1/caches?repository=admin/demo";
    let destination = farrier.scratch().join("backups");
    let body = json!({ "destination": destination, "without_caches": true });
    let started = farrier.admin(Method::POST, BACKUP, body).await;
    assert_eq!(started.status, 202, "{started:?}");
    let backup = ended(&farrier).await;
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    let kept = farrier.admin(Method::GET, address, Value::Null).await.json();
    assert_eq!(kept.as_array().map(Vec::len), Some(1), "the daemon keeps its entries: {kept}");

    farrier.stop().await;
    let data = farrier.data_dir();
    let command = ["backup", text(&destination), "--without-caches", "--json"];
    succeeds(&data, &command).await;
    let has_content = |content: &str| {
        files(&destination).iter().any(|file| std::fs::read(file).expect("a file") == content.as_bytes())
    };
    assert!(!has_content("the content of the cache"));
    for name in std::fs::read_dir(destination.join("backups")).expect("a directory") {
        let name = name.expect("an entry").file_name().into_string().expect("text");
        let manifest = destination.join("backups").join(&name).join("manifest.json");
        let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).expect("a file")).expect("JSON");
        assert_eq!(manifest["without_caches"], true, "{manifest}");
        let restored = farrier.scratch().join(&name);
        succeeds(&restored, &["restore", text(&destination), "--backup", &name]).await;
        let checked = succeeds(&restored, &["check-data", "--git", "--content", "--json"]).await;
        let checked: Value = serde_json::from_str(&checked).expect("JSON");
        assert_eq!((&checked["damage"], &checked["waste"]), (&json!(0), &json!(0)), "{checked}");
    }
    std::fs::remove_dir_all(&data).expect("the directory is lost");
    succeeds(&data, &["restore", text(&destination)]).await;
    farrier.start_in_process(farrierd::clock::Clock::system()).await;
    let listed = farrier.admin(Method::GET, address, Value::Null).await.json();
    assert_eq!(listed, json!([]));
    let job = farrier.begin_on("demo", "main").await;
    crate::caches::save(&farrier, &job, "deps", "created again").await;
    farrier.stop().await;
    succeeds(&data, &["check-data", "--content"]).await;
    // The caches come back with the next backup that does not leave them out.
    let whole: Value =
        serde_json::from_str(&succeeds(&data, &["backup", text(&destination), "--json"]).await).expect("JSON");
    assert!(whole["added_bytes"].as_u64() > Some(0), "{whole}");
    assert!(has_content("created again"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_destination_is_reported_and_harms_nothing() {
    let farrier = stopped().await;
    let destination = farrier.scratch().join("backups");
    std::fs::create_dir(&destination).expect("a directory");
    let mut probe = process::command("unshare");
    probe.args(["--mount", "true"]);
    if !process::output(probe).await.is_some_and(|output| output.status.success()) {
        eprintln!("SKIPPED: mounting is not possible here, so a full destination is not tested");
        return;
    }
    let before = files(&farrier.data_dir());
    let mut unshare = process::command("unshare");
    let script = r#"mount -t tmpfs -o size=128k tmpfs "$1" && exec "$3" --data-dir "$2" backup "$1""#;
    unshare.args(["--mount", "sh", "-c", script, "sh"]).arg(&destination).arg(farrier.data_dir());
    unshare.arg(env!("CARGO_BIN_EXE_farrierd"));
    let output = process::output(unshare).await.expect("unshare");
    let err = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("no space left"), "{err}");
    assert_eq!(files(&farrier.data_dir()), before);
    succeeds(&farrier.data_dir(), &["backup", text(&destination)]).await;
    succeeds(&farrier.data_dir(), &["check-data"]).await;
}
