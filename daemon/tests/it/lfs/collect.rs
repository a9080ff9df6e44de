//! Objects that no file names any more are removed, and no others.

use std::time::Duration;

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{Lfs, oid, stored};
use crate::support::{TestDaemon, eventually, git::Client, process, send};

const DAY_MS: i64 = 86_400_000;
const START_MS: i64 = 1_767_323_045_000;

/// The text of a pointer file.
fn pointer(bytes: &[u8]) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n", oid(bytes), bytes.len())
}

/// A daemon that keeps unreferenced objects for `days`, the routes of `admin/demo`, and a working copy.
async fn demo(clock: &Clock, days: u64) -> (TestDaemon, String, Client) {
    demo_keeping(clock, Duration::from_secs(days * 86_400)).await
}

async fn demo_keeping(clock: &Clock, keep: Duration) -> (TestDaemon, String, Client) {
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.lfs.keep_unreferenced = keep;
        // Unreachable commits stay.
        config.git.prune_after_days = 0;
    })
    .await;
    let authorization = Lfs::new(&farrier, "demo").await.authorization;
    let work = Client::init(farrier.scratch().join("work"));
    let remote = farrier.remote("admin/demo", &farrier.token("admin", &["all"]).await);
    work.done(&["remote", "add", "origin", &remote]);
    (farrier, authorization, work)
}

fn routes<'a>(farrier: &'a TestDaemon, authorization: &str) -> Lfs<'a> {
    Lfs { farrier, repository: "admin/demo".into(), authorization: authorization.to_owned() }
}

/// Lets `days` pass, one by one, with time for the search of each day.
async fn pass(clock: &Clock, days: u64) {
    for _ in 0..days {
        clock.advance_ms(DAY_MS);
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_removed_some_time_after_the_last_file_that_named_it() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 3).await;
    let lfs = routes(&farrier, &authorization);
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history", b"on a deleted branch", b"never named"] {
        lfs.upload(bytes).await;
    }
    work.commit("old.bin", pointer(b"in the history"));
    work.commit("old.bin", pointer(b"on a branch"));
    work.done(&["push", "-q", "origin", "main"]);
    work.done(&["checkout", "-q", "--orphan", "tagged"]);
    work.commit("tagged.bin", pointer(b"on a tag").replace('\n', "\r\n"));
    work.done(&["tag", "-a", "-m", "t", "t"]);
    work.done(&["push", "-q", "origin", "t"]);
    work.done(&["checkout", "-q", "-b", "side", "main"]);
    work.commit("side.bin", pointer(b"on a deleted branch"));
    work.done(&["push", "-q", "origin", "side"]);

    let problem = async |bytes: &[u8]| lfs.problem("download", &oid(bytes), bytes.len()).await;
    eventually("the object without a file is removed", async || {
        pass(&clock, 1).await;
        problem(b"never named").await == 404
    })
    .await;
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history", b"on a deleted branch"] {
        assert_eq!(problem(bytes).await, 0, "{}", bytes.escape_ascii());
    }
    work.done(&["push", "-q", "origin", ":side"]);
    pass(&clock, 1).await;
    assert_eq!(problem(b"on a deleted branch").await, 0, "kept for three days");
    eventually("the object of the deleted branch is removed", async || {
        pass(&clock, 1).await;
        problem(b"on a deleted branch").await == 404
    })
    .await;
    eventually("their bytes are removed", async || {
        pass(&clock, 1).await;
        stored(&farrier) == 3
    })
    .await;
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history"] {
        assert_eq!(lfs.download(&oid(bytes), bytes.len()).await.body, bytes);
    }
    drop(lfs);
    let mut farrier = farrier;
    farrier.stop().await;
    let checked = farrier.check_data(&["--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_a_client_was_told_not_to_upload_is_kept_until_its_push() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 3).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"late").await;
    work.commit("a", "a");
    work.done(&["push", "-q", "origin", "main"]);
    for _ in 0..4 {
        pass(&clock, 2).await;
        let object = lfs.object("upload", &id, 4).await;
        assert!(object["actions"].is_null() && object["error"].is_null(), "the repository has it: {object}");
    }
    work.commit("late.bin", pointer(b"late"));
    work.done(&["push", "-q", "origin", "main"]);
    pass(&clock, 6).await;
    assert_eq!(lfs.download(&id, 4).await.text(), "late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ref_that_was_lost_on_disk_keeps_its_objects() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 2).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"kept").await;
    work.commit("kept.bin", pointer(b"kept"));
    work.done(&["push", "-q", "origin", "main"]);
    // Repositories are searched in the order of their IDs, so this object goes after a search of the first one.
    let other = Lfs::new(&farrier, "other").await;
    let unused = other.upload(b"unused").await;
    // A ref that was lost on disk, and is still recorded.
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    let tip = work.done(&["rev-parse", "HEAD"]);
    bare.done(&["update-ref", "-d", "refs/heads/main"]);
    eventually("the object of the other repository is removed", async || {
        pass(&clock, 1).await;
        other.problem("download", &unused, 6).await == 404
    })
    .await;
    assert_eq!(bare.done(&["rev-parse", "refs/heads/main"]), tip, "the search writes files of refs again");
    assert_eq!(lfs.download(&id, 4).await.text(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_removed_if_removal_is_off() {
    let (farrier, authorization, _) = demo(&Clock::manual(START_MS), 0).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"kept").await;
    pass(&farrier.clock.clone(), 8).await;
    assert_eq!(lfs.download(&id, 4).await.text(), "kept");
}

/// The scheduled task that searches.
const CRON: &str = "/api/v1/admin/cron/collect_lfs_objects";
const TASKS: &str = "/api/farrier/v1/tasks";

/// Searches now. Returns the task after its end.
async fn searched(farrier: &TestDaemon, query: &str) -> Value {
    let started = farrier.admin(Method::POST, &format!("{CRON}{query}"), Value::Null).await;
    assert_eq!(started.status, 204, "{started:?}");
    let newest = async || farrier.admin(Method::GET, TASKS, Value::Null).await.json()["tasks"][0].clone();
    eventually("the search ends", async || newest().await["state"] != "running").await;
    newest().await
}

/// The figures of a search in which no repository failed.
fn figures(dry_run: bool, unreferenced: [u64; 2], removed: [u64; 2]) -> Value {
    json!({
        "dry_run": dry_run,
        "unreferenced": unreferenced[0], "unreferenced_bytes": unreferenced[1],
        "removed": removed[0], "removed_bytes": removed[1],
        "failed_repositories": 0,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_searches_and_a_dry_run_counts_and_removes_nothing() {
    let clock = Clock::manual(START_MS);
    // Less than the time before the first search of the daemon itself.
    let (farrier, authorization, work) = demo_keeping(&clock, Duration::from_mins(1)).await;
    let lfs = routes(&farrier, &authorization);
    for bytes in [&b"named"[..], b"never named", b"nor this"] {
        lfs.upload(bytes).await;
    }
    work.commit("named.bin", pointer(b"named"));
    work.done(&["push", "-q", "origin", "main"]);
    let listed = farrier.admin(Method::GET, "/api/v1/admin/cron", Value::Null).await.json();
    let names: Vec<&str> = listed.as_array().expect("a list").iter().filter_map(|task| task["name"].as_str()).collect();
    assert!(names.contains(&"collect_lfs_objects"), "{listed}");

    let counted = searched(&farrier, "?dry_run=true").await;
    assert_eq!(
        (&counted["kind"], &counted["state"], &counted["done"]),
        (&json!("lfs_collection"), &json!("done"), &json!(1))
    );
    assert_eq!(counted["lfs"], figures(true, [2, 19], [0, 0]));
    clock.advance_ms(61_000);
    assert_eq!(searched(&farrier, "?dry_run=true").await["lfs"], figures(true, [2, 19], [0, 0]), "not marked");
    assert_eq!(searched(&farrier, "").await["lfs"], figures(false, [2, 19], [0, 0]), "marked, and not due");
    clock.advance_ms(61_000);
    let counted = searched(&farrier, "?dry_run=true").await;
    assert_eq!(counted["lfs"], figures(true, [2, 19], [2, 19]));
    let problem = async |bytes: &[u8]| lfs.problem("download", &oid(bytes), bytes.len()).await;
    for bytes in [&b"named"[..], b"never named", b"nor this"] {
        assert_eq!(problem(bytes).await, 0, "{}", bytes.escape_ascii());
    }
    let collected = searched(&farrier, "?dry_run=false").await;
    assert_eq!(collected["lfs"], figures(false, [2, 19], [2, 19]));
    assert!(collected["id"].as_i64() > counted["id"].as_i64(), "{collected} {counted}");
    assert_eq!((problem(b"named").await, problem(b"never named").await, problem(b"nor this").await), (0, 404, 404));
    assert_eq!(searched(&farrier, "?dry_run=true").await["lfs"], figures(true, [0, 0], [0, 0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_administrators_see_a_search_and_bad_requests_start_none() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, _) = demo(&clock, 3).await;
    routes(&farrier, &authorization).upload(b"never named").await;
    for (path, status) in [
        (format!("{CRON}?dry_run=maybe"), 422),
        (format!("{CRON}?dry_run=yes"), 422),
        (format!("{CRON}?dry_run="), 422),
        ("/api/v1/admin/cron/sweep?dry_run=true".into(), 422),
        ("/api/v1/admin/cron/lfs?dry_run=true".into(), 404),
    ] {
        let refused = farrier.admin(Method::POST, &path, Value::Null).await;
        assert_eq!(refused.status, status, "{path}: {refused:?}");
    }
    let none = farrier.admin(Method::GET, TASKS, Value::Null).await.json();
    assert_eq!(none, json!({ "tasks": [] }));
    let task = searched(&farrier, "").await;
    let one = format!("{TASKS}/{}", task["id"]);
    assert_eq!(farrier.admin(Method::GET, &one, Value::Null).await.json(), task);
    let cancelled = farrier.admin(Method::POST, &format!("{one}/cancel"), Value::Null).await;
    assert_eq!(cancelled.status, 409, "{cancelled:?}");
    farrier.user("wren").await;
    let authorization = format!("token {}", farrier.token("wren", &["all"]).await);
    let as_wren = async |method: Method, path: &str| {
        send(&farrier.tcp(), method, path, &[("authorization", &authorization)], "").await
    };
    assert_eq!(as_wren(Method::GET, TASKS).await.json(), json!({ "tasks": [] }));
    assert_eq!(as_wren(Method::GET, &one).await.status, 404);
    assert_eq!(as_wren(Method::POST, &format!("{one}/cancel")).await.status, 404);
    assert_eq!(as_wren(Method::POST, &format!("{CRON}?dry_run=true")).await.status, 403);
    clock.advance_ms(3_600_001);
    let kept = async || farrier.admin(Method::GET, &one, Value::Null).await.status;
    eventually("the task is forgotten", async || kept().await == 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_search_is_not_started_twice_and_ends_when_it_is_cancelled() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 3).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"never named").await;
    work.commit("a", "a");
    work.done(&["push", "-q", "origin", "main"]);
    // Git reads this file before any commit, and waits for its writer.
    let shallow = farrier.data_dir().join("repositories/1.git/shallow");
    let mut fifo = process::command("mkfifo");
    fifo.arg(&shallow);
    let made = process::output(fifo).await.expect("mkfifo is installed");
    assert!(made.status.success(), "{made:?}");
    assert_eq!(farrier.admin(Method::POST, CRON, Value::Null).await.status, 204);
    for query in ["", "?dry_run=true"] {
        let refused = farrier.admin(Method::POST, &format!("{CRON}{query}"), Value::Null).await;
        assert_eq!(refused.status, 409, "{query}: {refused:?}");
    }
    let running = farrier.admin(Method::GET, TASKS, Value::Null).await.json()["tasks"][0].clone();
    assert_eq!((&running["state"], &running["ended_at"]), (&json!("running"), &Value::Null));
    let one = format!("{TASKS}/{}", running["id"]);
    assert_eq!(farrier.admin(Method::POST, &format!("{one}/cancel"), Value::Null).await.status, 202);
    let state = async || farrier.admin(Method::GET, &one, Value::Null).await.json()["state"].clone();
    eventually("the search is cancelled", async || state().await == "cancelled").await;
    std::fs::remove_file(&shallow).expect("the file");
    assert_eq!(searched(&farrier, "?dry_run=true").await["lfs"], figures(true, [1, 11], [0, 0]));
    assert_eq!(lfs.problem("download", &id, 11).await, 0);
}
