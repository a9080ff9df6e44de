//! Pushes with many refs to repositories with many hooks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use farrier_proto::store::Delivery;
use farrierd::store::{
    Read as _, Store,
    engine::{Range, Scan},
    keys,
};

use super::*;
use crate::support::{
    Random, Receiver, Reply,
    counting_engine::{CommitControl, CountingEngine},
    git::Client,
    send,
};

/// The largest number of rows in one transaction that a push or its deliveries may cause.
const ROWS_MAX: usize = 1_000;
const HOOKS: usize = 256;
const REFS: usize = 450;

/// A repository, and a working copy whose commit can be pushed to it.
struct Scene {
    farrier: TestDaemon,
    work: Client,
    token: String,
}

impl Scene {
    async fn new(farrier: TestDaemon) -> Self {
        farrier.repository("demo").await;
        let token = farrier.token("admin", &["all"]).await;
        let work = Client::init(farrier.scratch().join("work"));
        work.commit("a", "a");
        Self { farrier, work, token }
    }

    async fn over(store: Store, change: impl FnOnce(&mut Config)) -> Self {
        let daemon = TestDaemon::over_store_with(store, |config| {
            config.webhook.allowed_hosts = "loopback".into();
            change(config);
        });
        Self::new(daemon.await).await
    }

    /// Creates a hook of the repository for created branches and tags.
    async fn hook(&self, url: &str, branch_filter: &str) -> u64 {
        let body = json!({ "type": "gitea", "config": { "url": url, "content_type": "json" }, "events": ["create"],
            "active": true, "branch_filter": branch_filter });
        let created = self.farrier.admin(Method::POST, "/api/v1/repos/admin/demo/hooks", body).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["id"].as_u64().expect("a number")
    }

    /// Pushes the commit to new branches `PREFIX000`, `PREFIX001`, …
    fn push(&self, prefix: &str, branches: usize) {
        let refs: Vec<String> =
            (0..branches).map(|number| format!("main:refs/heads/{}", branch(prefix, number))).collect();
        let remote = self.farrier.remote("admin/demo", &self.token);
        let args = ["push", "-q", &remote].into_iter().chain(refs.iter().map(String::as_str));
        self.work.done(&args.collect::<Vec<_>>());
    }

    async fn metric(&self, name: &str) -> u64 {
        let text = send(&self.farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}: {text}")).parse().expect("a number")
    }

    async fn wait_for_fan_out(&self) {
        let pending = async || self.metric("farrier_fan_out_events_pending").await;
        let mut left = pending().await;
        while left > 0 {
            let before = left;
            eventually("more deliveries are written", async || pending().await < before).await;
            left = pending().await;
        }
    }
}

fn branch(prefix: &str, number: usize) -> String {
    format!("{prefix}{number:03}")
}

fn branches(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| branch(prefix, number)).collect()
}

async fn counted_store() -> (Store, CommitControl) {
    let engine = CountingEngine::new();
    let control = engine.control();
    (Store::open(Arc::new(engine)).await.expect("a store"), control)
}

/// Returns the branches of the deliveries of each hook, in the order of the deliveries.
async fn delivered(store: &Store) -> BTreeMap<u64, Vec<String>> {
    let snapshot = store.read().await.expect("a snapshot");
    let scan = Scan { reverse: true, ..Scan::of(Range::prefix(keys::deliveries()), usize::MAX) };
    let rows = snapshot.scan::<Delivery>(&scan).await.expect("rows");
    let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (_, row) in rows {
        let event = farrierd::store::events::many(&snapshot, &[row.event_id]).await.expect("rows").remove(0);
        let name = event.ref_change.expect("a ref").r#ref;
        all.entry(row.hook_id).or_default().push(name.trim_start_matches("refs/heads/").to_owned());
    }
    all
}

/// Returns the attempts of deliveries of `hook` that were repeated, to explain why the order differs.
async fn repeated(store: &Store, hook: u64) -> Vec<String> {
    let snapshot = store.read().await.expect("a snapshot");
    let all = Scan::of(Range::prefix(keys::deliveries()), usize::MAX);
    let rows = snapshot.scan::<Delivery>(&all).await.expect("rows");
    let mut found = Vec::new();
    for (_, row) in rows.into_iter().filter(|(_, row)| row.hook_id == hook && row.attempts > 1) {
        let attempts = farrierd::store::deliveries::attempts(&snapshot, row.id).await.expect("rows");
        let errors = attempts.iter().map(|one| format!("{} ms {} {}", one.duration_ms, one.error_class, one.error));
        found.push(format!("{}: {}", row.id, errors.collect::<Vec<_>>().join("; ")));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hook_gets_every_matching_ref_of_a_large_push_once_in_transactions_of_bounded_size() {
    let (store, control) = counted_store().await;
    let scene = Scene::over(store.clone(), |_| {}).await;
    let receiver = Receiver::start().await;
    let mut expected = BTreeMap::new();
    for number in 0..HOOKS {
        // One hook sends; requests of the others are refused by the address policy.
        let (url, filter, refs) = match number {
            0 => (receiver.url.as_str(), "", 0..REFS),
            1..=4 => ("http://203.0.113.9/", "", 0..REFS),
            _ => ("http://203.0.113.9/", "b00*", 0..10),
        };
        expected.insert(scene.hook(url, filter).await, branches("b", refs));
    }
    control.reset();
    scene.push("b", REFS);
    scene.wait_for_fan_out().await;
    assert!(control.largest_commit() <= ROWS_MAX, "{} rows", control.largest_commit());
    let delivered = delivered(&store).await;
    let different = expected.iter().find(|(hook, refs)| delivered.get(hook) != Some(refs));
    assert!(different.is_none(), "{different:?}: {:?}", different.and_then(|(hook, _)| delivered.get(hook)));
    assert_eq!(delivered.len(), HOOKS);
    let received = receiver.wait(REFS).await;
    let received: Vec<String> =
        received.iter().map(|request| request.json()["ref"].as_str().expect("text").to_owned()).collect();
    let sending = *expected.keys().next().expect("a hook");
    assert_eq!(received, branches("b", 0..REFS), "in order; {:?}", repeated(&store, sending).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_changes_are_recorded_while_a_fan_out_is_under_way() {
    let (store, control) = counted_store().await;
    let scene = Scene::over(store.clone(), |_| {}).await;
    let hooks = [scene.hook("http://203.0.113.9/", "").await, scene.hook("http://203.0.113.9/", "").await];
    scene.push("b", 100);
    scene.wait_for_fan_out().await;
    control.hold(Some(b"q"));
    scene.push("c", 100);
    eventually("a step is held back", async || control.waiting() > 0).await;
    scene.farrier.repository("other").await;
    touch(&scene.farrier, "other", "changed meanwhile").await;
    assert_eq!(scene.metric("farrier_fan_out_events_pending").await, 200);
    // A later event of the same hooks waits behind the fan-out, even if its deliveries are few.
    scene.push("a", 1);
    assert_eq!(scene.metric("farrier_fan_out_events_pending").await, 202);
    control.hold(None);
    scene.wait_for_fan_out().await;
    let expected = [branches("b", 0..100), branches("c", 0..100), branches("a", 0..1)].concat();
    assert_eq!(delivered(&store).await, hooks.map(|hook| (hook, expected.clone())).into());
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_are_smaller_while_a_client_writes() {
    let (store, control) = counted_store().await;
    let scene = Scene::over(store.clone(), |_| {}).await;
    let hook = scene.hook("http://203.0.113.9/", "").await;
    // With one hook, a step writes a payload for each of its deliveries. Nothing else writes payloads.
    control.count_only(b"ep\0");
    // Only the creation of a user writes an e-mail address.
    control.hold(Some(b"ue\0"));
    let pushing = async {
        eventually("the write of a client is held back", async || control.waiting() > 0).await;
        scene.push("b", 100);
        scene.wait_for_fan_out().await;
        let largest = control.largest_commit();
        control.hold(None);
        largest
    };
    let ((), largest) = tokio::join!(scene.farrier.user("late"), pushing);
    assert_eq!(largest, 8, "deliveries in the largest step");
    assert_eq!(delivered(&store).await, [(hook, branches("b", 0..100))].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_of_an_owner_wait_above_the_limit_and_are_written_later() {
    const MINUTE_MS: i64 = 60_000;
    let clock = Clock::manual(1_767_323_045_000);
    let daemon = TestDaemon::with_clock(clock.clone(), |config| {
        config.webhook.allowed_hosts = "loopback".into();
        config.webhook.retry_schedule_secs = Vec::new();
        config.webhook.max_waiting_per_owner = 100;
        config.events.keep = Duration::from_mins(1);
    });
    let mut scene = Scene::new(daemon.await).await;
    let (receiver, healthy) = (Receiver::start().await, Receiver::start().await);
    receiver.always_reply_with(Reply::Status(500));
    scene.hook(&receiver.url, "").await;
    scene.push("b", 300);
    let pending = async || scene.metric("farrier_deliveries_pending").await;
    let waiting = async || scene.metric("farrier_fan_out_events_pending").await;
    // Ten attempts fail; then the hook is probed once per minute.
    eventually("the hook is failing", async || receiver.requests().len() == 10 && pending().await >= 100).await;
    let (written, rest) = (pending().await, waiting().await);
    assert!(written <= 164 && rest >= 100, "{written} deliveries wait, {rest} events");
    // The hooks of other owners are not affected.
    hook(&scene.farrier, &healthy.url, &["create"], json!({})).await;
    scene.push("c", 1);
    healthy.wait(1).await;
    // Events expire, except those whose deliveries are not written.
    let kinds = async || {
        let path = "/api/farrier/v1/events?after=0&limit=100";
        let page = send(&scene.farrier.unix(), Method::GET, path, &[("accept", "application/json")], "").await.json();
        let events = page["events"].as_array().unwrap_or_else(|| panic!("{page}"));
        events.iter().map(|event| event["kind"].as_str().expect("text").to_owned()).collect::<BTreeSet<_>>()
    };
    assert!(kinds().await.contains("repository"));
    clock.advance_ms(120 * MINUTE_MS);
    eventually("events expire", async || !kinds().await.contains("repository")).await;
    assert!(waiting().await >= 100);
    receiver.always_reply_with(Reply::Status(200));
    // The answer to a probe that was sent before is still an error, and the next probe follows after a minute.
    let done = async || {
        clock.advance_ms(MINUTE_MS);
        waiting().await == 0 && pending().await == 0
    };
    eventually("the other deliveries are written and sent", done).await;
    let received: BTreeSet<String> =
        receiver.requests().iter().map(|request| request.json()["ref"].as_str().expect("text").to_owned()).collect();
    let expected = [branches("b", 0..300), branches("c", 0..1)].concat();
    assert_eq!(received, expected.into_iter().collect());
    scene.farrier.stop().await;
    let damage = scene.farrier.check_data(&[]).await;
    assert!(damage.status.success(), "{damage:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_that_is_killed_at_random_moments_loses_nothing() {
    const CONFIG: &str = "[webhook]\nallowed_hosts = \"loopback\"\nretry_schedule_secs = [0, 0, 0, 1, 1, 1]\n";
    const KILLS: usize = 4;
    let mut random = Random::new(Random::seed("FARRIER_KILL_SEED"));
    let mut scene = Scene::new(TestDaemon::program(CONFIG).await).await;
    let receiver = Receiver::start().await;
    for number in 0..12 {
        scene.hook(&format!("{}?{number}", receiver.url), "").await;
    }
    for kill in 0..KILLS {
        scene.push(&format!("r{kill}-"), 60);
        tokio::time::sleep(Duration::from_millis(random.next() % 200)).await;
        scene.farrier.kill().await;
        let checked = scene.farrier.check_data(&[]).await;
        assert!(checked.status.success(), "{checked:?}");
        scene.farrier.start_as_program(CONFIG).await;
    }
    scene.wait_for_fan_out().await;
    eventually("no delivery is pending", async || scene.metric("farrier_deliveries_pending").await == 0).await;
    let expected: Vec<String> = (0..KILLS).flat_map(|kill| branches(&format!("r{kill}-"), 0..60)).collect();
    let mut arrived: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for request in receiver.requests() {
        let delivery = (request.json()["ref"].as_str().expect("text").to_owned(), request.id());
        let of_hook = arrived.entry(request.uri.query().expect("a number").to_owned()).or_default();
        // A request whose result was not recorded is made again after a kill.
        if !of_hook.contains(&delivery) {
            of_hook.push(delivery);
        }
    }
    assert_eq!(arrived.len(), 12);
    for (hook, deliveries) in arrived {
        let refs: Vec<String> = deliveries.into_iter().map(|(name, _)| name).collect();
        assert_eq!(refs, expected, "hook {hook}: each ref once and in order");
    }
}
