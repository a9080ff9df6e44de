//! Kills `farrierd` while clients change files through the API. Acknowledged files must survive, and every commit must
//! have exactly one event.
//!
//! `FARRIER_KILLS` sets the number of kills (default 4). `FARRIER_SEED` repeats the random choices of a run.

use std::{
    sync::Mutex,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use super::assert_no_errors;
use crate::support::{Binary, Random, ServerAddress, eventually, send, try_send};

/// Maximum number of responses between two kills.
const ACKS_MAX: usize = 10;
/// Maximum delay before a kill, during which requests are sent.
const JITTER_MAX_MICROS: usize = 60_000;
const JSON: (&str, &str) = ("content-type", "application/json");

async fn get(server: &ServerAddress, path: &str) -> Value {
    let answer = send(server, Method::GET, path, &[("accept", "application/json")], "").await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_files_survive_kills_and_each_commit_has_one_event() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(4, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new("");
    farrier.start().await;
    let body = json!({ "name": "files", "auto_init": true }).to_string();
    let created = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[JSON], body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let api = "/api/v1/repos/admin/files";
    let first = get(&farrier.unix(), &format!("{api}/branches/main")).await["commit"]["id"].clone();
    let (acked, names) = (Mutex::new(Vec::<String>::new()), AtomicUsize::new(0));
    for _ in 0..kills {
        let server = farrier.unix();
        let count = || acked.lock().expect("no panic").len();
        let enough = count() + 1 + random.below(ACKS_MAX);
        let jitter = Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64);
        let writer = || async {
            loop {
                let path = format!("{api}/contents/dir/{}", names.fetch_add(1, Ordering::SeqCst));
                let Ok(answer) = try_send(&server, Method::POST, &path, &[JSON], "{}").await else { return };
                match answer.status {
                    201 => acked.lock().expect("no panic").push(path),
                    409 => {}
                    status => panic!("{path}: {status} {answer:?}"),
                }
            }
        };
        let kill = async {
            eventually("clients made progress", || async { count() >= enough }).await;
            tokio::time::sleep(jitter).await;
            farrier.kill().await;
        };
        tokio::join!(writer(), writer(), kill);
        farrier.start().await;
    }

    let server = farrier.unix();
    let files = acked.lock().expect("no panic").clone();
    for path in &files {
        get(&server, path).await;
    }
    let commits = get(&server, &format!("{api}/commits?limit=1")).await;
    let tip = commits[0]["sha"].clone();
    let pushes = async || {
        let page = get(&server, "/api/farrier/v1/events?repository=admin/files&kind=push&after=0&limit=1000").await;
        page["events"].as_array().expect("a list").clone()
    };
    eventually("the last push is recorded", async || pushes().await.last().is_some_and(|push| push["after"] == tip))
        .await;
    let mut before = first;
    let pushes = pushes().await;
    for push in &pushes {
        assert_eq!(push["before"], before, "each event continues where the previous one ended: {push}");
        before = push["after"].clone();
    }
    let total = send(&server, Method::GET, &format!("{api}/commits?limit=1"), &[], "").await;
    assert_eq!(total.header("x-total-count"), (pushes.len() + 1).to_string());

    farrier.terminate();
    assert!(farrier.ended().await.success());
    let checked = farrier.check_data(&["--git", "--json"]).await;
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!((checked.status.code(), &report["findings"]), (Some(0), &json!([])), "{checked:?}");
    assert_no_errors(&farrier.log());
    println!("kills {kills}, files {}, commits {}", files.len(), pushes.len());
}
