//! A daemon that is killed during a sync loses no event and records none twice.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use super::{COPY, daemon, filled, mirror, ref_events, refs};
use crate::support::{Random, TestDaemon, eventually};

const CONFIG: &str = "[migration]\nallowed_hosts = \"loopback\"\n[artifacts]\nreserve_bytes = 0\n";
const ROUNDS: usize = 8;
const BRANCHES: usize = 30;

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_is_killed_is_completed_with_every_event_once() {
    let source = daemon().await;
    let work = filled(&source, "origin").await;
    let mut farrier = TestDaemon::program(CONFIG).await;
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    let id = &copy["id"];
    let source_id = source.show("/api/v1/repos/admin/origin").await.json()["id"].clone();
    let initial = tips(&refs(&farrier, id));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed}");
    let mut random = Random::new(seed);
    for round in 0..ROUNDS {
        work.commit("b", format!("{round}"));
        let mut args = vec!["push".to_owned(), "-q".to_owned(), "-f".to_owned(), "origin".to_owned()];
        for branch in 0..BRANCHES {
            // Each round deletes some branches and creates them again later.
            let deleted = round > 0 && (branch + round) % 5 == 0;
            let was_deleted = round > 1 && (branch + round - 1) % 5 == 0;
            match (deleted, was_deleted) {
                (true, false) => args.push(format!(":branch-{branch}")),
                (true, true) => {}
                (false, _) => args.push(format!("main:branch-{branch}")),
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        work.run(&args);
        let requested = farrier.admin(Method::POST, &format!("{COPY}/mirror-sync"), Value::Null).await;
        assert_eq!(requested.status, 200, "{requested:?}");
        tokio::time::sleep(std::time::Duration::from_millis(random.below(150) as u64)).await;
        farrier.kill_and_start().await;
    }
    let requested = farrier.admin(Method::POST, &format!("{COPY}/mirror-sync"), Value::Null).await;
    assert_eq!(requested.status, 200, "{requested:?}");
    eventually("the mirror equals its source", || async { refs(&farrier, id) == refs(&source, &source_id) }).await;
    eventually("every change has its event", || async {
        replayed(initial.clone(), &ref_events(&farrier, id).await) == tips(&refs(&farrier, id))
    })
    .await;
    farrier.git(id, &["fsck", "--strict"]);
}

/// Returns the abbreviated tips of the lines of [`refs`].
fn tips(lines: &str) -> BTreeMap<String, String> {
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, id)| (name.to_owned(), id[..7].to_owned())).collect()
}

/// Applies the events to `tips`. Each event must begin where the previous one of its ref ended.
fn replayed(mut tips: BTreeMap<String, String>, events: &[String]) -> BTreeMap<String, String> {
    for event in events {
        let words: Vec<&str> = event.split(' ').collect();
        let [kind, name, before, after, _] = words[..] else { panic!("{event}") };
        // A new branch has two events for its change.
        if kind == "create" {
            continue;
        }
        let current = tips.get(name).map_or("0000000", String::as_str);
        assert_eq!(current, before, "{event}");
        match after {
            "0000000" => tips.remove(name),
            after => tips.insert(name.to_owned(), after.to_owned()),
        };
    }
    tips
}
