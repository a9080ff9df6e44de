//! Kills `farrierd` while a client forks a repository. A fork is complete or absent.
//!
//! `FARRIER_KILLS` sets the number of kills (default 6). `FARRIER_SEED` repeats the random choices of a run.

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use serde_json::{Value, json};

use super::assert_no_errors;
use crate::support::{Binary, Random, ServerAddress, eventually, git::Client, send, try_send};

/// Maximum delay before a kill, during which forks are created.
const JITTER_MAX_MICROS: usize = 150_000;

/// Forks the repository into new organizations until the daemon is gone. Records whether each fork was answered.
async fn fork(server: &ServerAddress, forks: &mut BTreeMap<String, bool>) -> Option<()> {
    loop {
        let org = format!("org{}", forks.len());
        let created = try_send(server, Method::POST, "/api/v1/orgs", &[], json!({ "username": org }).to_string()).await;
        assert!(matches!(created.ok()?.status, 201 | 422));
        forks.insert(org.clone(), false);
        let body = json!({ "organization": org }).to_string();
        let forked = try_send(server, Method::POST, "/api/v1/repos/admin/original/forks", &[], body).await.ok()?;
        assert_eq!(forked.status, 202, "{forked:?}");
        forks.insert(org, true);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_complete_or_absent_after_a_kill() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(6, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new("");
    farrier.start().await;
    let body = json!({ "name": "original", "auto_init": true }).to_string();
    assert_eq!(send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], body).await.status, 201);
    let mut forks = BTreeMap::new();
    for _ in 0..kills {
        let server = farrier.unix();
        let jitter = Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64);
        let kill = async {
            tokio::time::sleep(jitter).await;
            farrier.kill().await;
        };
        tokio::join!(fork(&server, &mut forks), kill);
        let checked = farrier.check_data(&[]).await;
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
        farrier.start().await;
        check(&farrier, &forks).await;
    }
    let existing = forks.values().filter(|answered| **answered).count();
    farrier.terminate();
    assert!(farrier.ended().await.success());
    let checked = farrier.check_data(&["--git", "--json"]).await;
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!((checked.status.code(), &report["findings"]), (Some(0), &json!([])), "{checked:?}");
    assert_no_errors(&farrier.log());
    println!("kills {kills}, answered {existing}, lost 0");
}

/// Compares a daemon after its start with the answers that it gave.
async fn check(farrier: &Binary, forks: &BTreeMap<String, bool>) {
    let server = &farrier.unix();
    let get = async |path: String| send(server, Method::GET, &path, &[], "").await;
    let mut existing = 0;
    for (org, answered) in forks {
        let fork = get(format!("/api/v1/repos/{org}/original")).await;
        assert!(fork.status == 200 || (fork.status == 404 && !answered), "{org}: {fork:?}");
        if fork.status == 200 {
            existing += 1;
            assert_eq!(fork.json()["parent"]["full_name"], "admin/original");
            assert_eq!(get(format!("/api/v1/repos/{org}/original/contents/README.md")).await.status, 200, "{org}");
            Client::at(farrier.data_dir().join(format!("repositories/{}.git", fork.json()["id"]))).done(&["fsck"]);
        }
    }
    let source = get("/api/v1/repos/admin/original".into()).await.json();
    assert_eq!(source["forks_count"], json!(existing));
    eventually("no directory is left without a row", async || {
        let entries = std::fs::read_dir(farrier.data_dir().join("repositories")).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name != farrierd::data_dir::FILE).count() == existing + 1
    })
    .await;
}
