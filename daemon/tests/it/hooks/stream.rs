//! The event stream.

use std::sync::Arc;

use farrier_proto::store::Event;
use farrierd::store::{Store, StoreError, Tx, engine::MemoryEngine, events};
use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Notify,
};

use crate::{
    accounts::world::World,
    support::{TestDaemon, in_time, send},
};

/// A client that reads the event stream.
struct Follower {
    socket: TcpStream,
    read: String,
}

impl Follower {
    async fn begin(farrier: &TestDaemon, token: &str, query: &str, headers: &str) -> Self {
        let address = farrier.url.trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).await.expect("the daemon listens");
        let head = format!(
            "GET /api/farrier/v1/events{query} HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n{headers}\r\n"
        );
        socket.write_all(head.as_bytes()).await.expect("the daemon reads");
        let mut follower = Self { socket, read: String::new() };
        follower.until(": farrier\n").await;
        assert!(follower.read.starts_with("HTTP/1.1 200"), "{}", follower.read);
        assert!(follower.read.contains("content-type: text/event-stream"));
        follower
    }

    /// Reads until `text` arrives; `false` if the stream ends first.
    async fn until(&mut self, text: &str) -> bool {
        in_time(&format!("{text:?} arrives"), async {
            while !self.read.contains(text) {
                let mut bytes = [0; 4096];
                match self.socket.read(&mut bytes).await {
                    Ok(0) | Err(_) => return false,
                    Ok(length) => self.read += &String::from_utf8_lossy(&bytes[..length]),
                }
            }
            true
        })
        .await
    }

    /// The events received so far, in order.
    fn events(&self) -> Vec<Value> {
        let lines = self.read.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.filter(|line| *line != "{}").map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// `KIND ACTION REPOSITORY` of each event.
fn lines(events: &[Value]) -> Vec<String> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    events.iter().map(|e| format!("{} {} {}", text(e, "kind"), text(e, "action"), text(e, "repository"))).collect()
}

fn ids(events: &[Value]) -> Vec<i64> {
    events.iter().map(|event| event["id"].as_i64().expect("a number")).collect()
}

async fn page(farrier: &TestDaemon, query: &str) -> Value {
    let path = format!("/api/farrier/v1/events{query}");
    let answer = send(&farrier.unix(), Method::GET, &path, &[("accept", "application/json")], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_delivers_events_and_can_be_resumed() {
    let world = World::new().await;
    let token = world.farrier.token("admin", &["all"]).await;
    world.farrier.repository("before").await;
    let mut live = Follower::begin(&world.farrier, &token, "", "").await;
    world.farrier.repository("one").await;
    world.admin("patch", "/repos/admin/one", json!({ "description": "x" }), 200).await;
    assert!(live.until("edited").await);
    let observed = live.events();
    assert_eq!(lines(&observed), ["repository created admin/one", "repository edited admin/one"]);
    assert_eq!((&observed[0]["actor"], &observed[0]["actor_id"]), (&json!("admin"), &json!(1)));
    drop(live);

    world.farrier.repository("two").await;
    let last = format!("last-event-id: {}\r\n", observed[0]["id"]);
    let mut again = Follower::begin(&world.farrier, &token, "?kind=push,repository", &last).await;
    assert!(again.until("admin/two").await);
    assert_eq!(lines(&again.events()), ["repository edited admin/one", "repository created admin/two"]);

    let mut late = Follower::begin(&world.farrier, &token, "?last=2&kind=repository", "").await;
    assert!(late.until("admin/two").await);
    assert_eq!(lines(&late.events()), ["repository edited admin/one", "repository created admin/two"]);
    world.farrier.repository("three").await;
    assert!(late.until("admin/three").await);
    assert_eq!(late.events().len(), 3, "and continues live");
    let mut all = Follower::begin(&world.farrier, &token, "?last=99&repository=admin/one", "").await;
    assert!(all.until("edited").await);
    assert_eq!(all.events().len(), 2);

    let mut filtered =
        Follower::begin(&world.farrier, &token, "?after=0&repository=admin/two&kind=repository", "").await;
    assert!(filtered.until("admin/two").await);
    assert_eq!(filtered.events().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_stream_misses_and_repeats_no_event_during_concurrent_writes() {
    let world = World::new().await;
    let token = world.farrier.token("admin", &["all"]).await;
    for n in 0..8 {
        world.farrier.repository(&format!("r{n}")).await;
    }
    let start = page(&world.farrier, "").await["next"].clone();
    let mut live = Follower::begin(&world.farrier, &token, &format!("?after={start}"), "").await;
    let write = async |n: usize| {
        for round in 0..25 {
            let body = json!({ "description": format!("{round}") });
            world.admin("patch", &format!("/repos/admin/r{n}"), body, 200).await;
        }
    };
    let writing = futures_util::future::join_all((0..8).map(write));
    let interrupted = async {
        assert!(live.until("\nevent: repository").await);
        let observed = live.events();
        let last = format!("last-event-id: {}\r\n", observed.last().expect("one")["id"]);
        (observed, Follower::begin(&world.farrier, &token, "", &last).await)
    };
    let (_, (mut observed, mut rest)) = tokio::join!(writing, interrupted);
    world.farrier.repository("last").await;
    assert!(rest.until("admin/last").await);
    observed.append(&mut rest.events());
    let ids = ids(&observed);
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    assert_eq!(ids.len(), 8 * 25 + 1);
    let listed = page(&world.farrier, &format!("?after={start}&limit=1000")).await;
    assert_eq!(listed["events"], json!(observed));
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_see_only_events_of_readable_repositories() {
    let world = World::new().await;
    world.user("octo").await;
    world.user("eve").await;
    for (name, private) in [("open", false), ("hidden", true), ("gone", false)] {
        let body = json!({ "name": name, "private": private });
        world.admin("post", "/admin/users/octo/repos", body, 201).await;
    }
    world.admin("delete", "/repos/octo/gone", Value::Null, 204).await;
    let observed = async |user: &str| {
        let token = world.token(user, &["read:repository"]).await;
        let headers = [("authorization", format!("token {token}")), ("accept", "application/json".to_owned())];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = send(&world.farrier.tcp(), Method::GET, "/api/farrier/v1/events", &headers, "").await.json();
        lines(answer["events"].as_array().expect("a list"))
    };
    let (open, hidden) = ("repository created octo/open".to_owned(), "repository created octo/hidden".to_owned());
    assert_eq!(observed("eve").await, std::slice::from_ref(&open));
    assert_eq!(observed("octo").await, [open, hidden]);
    assert_eq!(observed("admin").await.len(), 4);
    let token = format!("token {}", world.token("eve", &["all"]).await);
    let path = "/api/farrier/v1/events?repository=octo/hidden";
    assert_eq!(send(&world.farrier.tcp(), Method::GET, path, &[("authorization", &token)], "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn event_pages_continue_and_invalid_parameters_are_refused() {
    let world = World::new().await;
    for n in 0..5 {
        world.farrier.repository(&format!("r{n}")).await;
    }
    let first = page(&world.farrier, "?limit=2").await;
    assert_eq!((ids(first["events"].as_array().expect("a list")).len(), &first["more"]), (2, &json!(true)));
    let rest = page(&world.farrier, &format!("?after={}", first["next"])).await;
    assert_eq!((rest["events"].as_array().map(Vec::len), &rest["more"]), (Some(3), &json!(false)));
    assert_eq!(rest["gap"], false);
    for query in ["?after=x", "?after=-1", "?limit=x", "?repository=nothing"] {
        let path = format!("/api/farrier/v1/events{query}");
        let answer = send(&world.farrier.unix(), Method::GET, &path, &[("accept", "application/json")], "").await;
        assert_eq!(answer.status, 422, "{query} {answer:?}");
    }
    let past_end = page(&world.farrier, &format!("?after={}", u64::MAX)).await;
    assert_eq!(past_end["events"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_streams_is_limited_and_a_stop_ends_them() {
    let mut world = World::new().await;
    let token = world.farrier.token("admin", &["all"]).await;
    let mut streams = Vec::new();
    // An account has a share of 16, and 8 of the 64 are reserved for administrators.
    for (name, count) in [("a", 16), ("b", 16), ("c", 16), ("d", 8)] {
        world.user(name).await;
        let token = world.token(name, &["read:repository"]).await;
        for _ in 0..count {
            streams.push(Follower::begin(&world.farrier, &token, "", "").await);
        }
    }
    for _ in 0..8 {
        streams.push(Follower::begin(&world.farrier, &token, "", "").await);
    }
    let headers = [("authorization", &*format!("token {token}"))];
    let refused = send(&world.farrier.tcp(), Method::GET, "/api/farrier/v1/events", &headers, "").await;
    assert_eq!(refused.status, 503);
    world.farrier.stop().await;
    for mut stream in streams {
        assert!(!stream.until("never").await, "the stream ends");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_events_are_deleted_and_the_gap_is_reported() {
    use farrierd::clock::Clock;
    let clock = Clock::manual(1_767_323_045_000);
    let world = World::with_clock(clock.clone()).await;
    world.farrier.repository("old").await;
    clock.advance_ms(20 * 86_400_000);
    world.farrier.repository("new").await;
    clock.advance_ms(11 * 86_400_000);
    let listed = async || page(&world.farrier, "").await;
    crate::support::eventually("the old event is deleted", async || listed().await["gap"] == true).await;
    let page = listed().await;
    assert_eq!(lines(page["events"].as_array().expect("a list")), ["repository created admin/new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_filter_is_tested_on_the_most_recently_pushed_branches() {
    let world = World::new().await;
    world.user("octo").await;
    let branches: Vec<String> = (0..6).map(|n| format!("release/{n}")).chain(["feat/x".to_owned()]).collect();
    world.admin("post", "/user/repos", json!({ "name": "tool", "auto_init": true, "private": true }), 201).await;
    for name in &branches {
        let body = json!({ "new_branch_name": name, "old_ref_name": "main" });
        world.admin("post", "/repos/admin/tool/branches", body, 201).await;
    }
    let address = "/api/farrier/v1/checks/branch-filter";
    let check = async |body: Value| send(&world.farrier.unix(), Method::POST, address, &[], body.to_string()).await;
    let checked = check(json!({ "branch_filter": "release/*", "repository": "admin/tool" })).await.json();
    let found = checked["branches"].as_array().expect("a list");
    let names: Vec<&str> = found.iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["feat/x", "release/5", "release/4", "release/3", "release/2"]);
    assert_eq!(found.iter().filter(|one| one["passes"] == json!(true)).count(), 4);
    assert_eq!(found[0]["repository"], json!("admin/tool"));
    assert_eq!(check(json!({})).await.json()["branches"].as_array().map(Vec::len), Some(5));
    for (field, body) in
        [("branch_filter", json!({ "branch_filter": "{a" })), ("repository", json!({ "repository": "tool" }))]
    {
        let refused = check(body).await;
        assert_eq!((refused.status, &refused.json()["field"]), (422, &json!(field)), "{refused:?}");
    }
    // A caller without read access to the repository learns nothing about its branches.
    let token = format!("token {}", world.farrier.token("octo", &["all"]).await);
    let headers = [("authorization", token.as_str())];
    let others = send(&world.farrier.unix(), Method::POST, address, &headers, "{}").await;
    assert_eq!(others.json(), json!({ "branches": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_stream_sends_keep_alives() {
    let world = World::new().await;
    world.user("octo").await;
    let token = world.token("octo", &["all"]).await;
    let mut quiet = Follower::begin(&world.farrier, &token, "?kind=push", "").await;
    // Events that the caller may not see or filtered out must not appear as keep-alives.
    world.admin("post", "/user/repos", json!({ "name": "hidden", "private": true }), 201).await;
    world.admin("post", "/admin/users/octo/repos", json!({ "name": "own" }), 201).await;
    assert!(quiet.until(": quiet\n\n").await);
    assert_eq!(quiet.events(), Vec::<Value>::new());
}

async fn record(tx: &Tx, number: usize) -> Result<(), StoreError> {
    for _ in 0..number {
        let (id, kind) = (events::next_id(tx).await?, "repository".to_owned());
        events::insert(tx, &Event { id, kind, ..Event::default() });
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_before_events_with_an_uncommitted_predecessor() {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let farrier = TestDaemon::over_store(store.clone()).await;
    farrier.repository("demo").await;
    let conflict = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "demo" })).await;
    assert_eq!(conflict.status, 409, "its event id stays unused");
    let settled = page(&farrier, "").await;
    let first = settled["events"][0].clone();
    // A transaction with later events is committed while an earlier one is still running.
    let (begun, end) = (&Notify::new(), &Notify::new());
    let earlier = store.write(async |tx: Tx| {
        record(&tx, 1).await?;
        begun.notify_one();
        end.notified().await;
        Ok::<_, StoreError>(())
    });
    let later = async {
        begun.notified().await;
        store.write(async |tx: Tx| record(&tx, 600).await).await.expect("a write");
        read_settled(&farrier, &first).await;
        end.notify_one();
    };
    let (earlier, ()) = tokio::join!(earlier, later);
    earlier.expect("a write");
    let all = page(&farrier, "?limit=1000").await;
    assert_eq!(all["events"].as_array().map(Vec::len), Some(602));
}

/// Checks that all ways of reading end after the event `first`.
async fn read_settled(farrier: &TestDaemon, first: &Value) {
    let token = farrier.token("admin", &["all"]).await;
    let mut live = Follower::begin(farrier, &token, "?after=0", "").await;
    assert!(live.until("admin/demo").await);
    for query in ["", "?after=1", "?last=5"] {
        let received = in_time("the page ends", page(farrier, query)).await;
        assert!(
            received["events"].as_array().expect("a list").len() <= 1 && received["more"] == false,
            "{query}: {received}"
        );
    }
    assert_eq!(page(farrier, "?last=5").await["events"], json!([first]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_events_are_returned_oldest_first_and_unknown_kinds_are_refused() {
    let world = World::new().await;
    for n in 0..5 {
        world.farrier.repository(&format!("r{n}")).await;
    }
    let newest = page(&world.farrier, "?last=2").await;
    let events = newest["events"].as_array().expect("a list").clone();
    assert_eq!(lines(&events), ["repository created admin/r3", "repository created admin/r4"]);
    let next = page(&world.farrier, &format!("?after={}", newest["next"])).await;
    assert_eq!(next["events"], json!([]), "the next page starts after the newest event");
    let refused = send(&world.farrier.unix(), Method::GET, "/api/farrier/v1/events?kind=psuh", &[], "").await;
    let message = refused.json()["message"].as_str().expect("text").to_owned();
    assert!(refused.status == 422 && message.contains("\"psuh\" is not one of create, delete,"), "{refused:?}");
}
