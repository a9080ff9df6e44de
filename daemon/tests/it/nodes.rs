//! Several nodes on one store: which work a start finishes, and which work it leaves to others.

use std::sync::Arc;

use farrier_proto::store::{AssetMark, Format, Migration, MigrationState, Node, NodeStart};
use farrierd::{
    clock::Clock,
    config::StoreUrl,
    store::{
        Store, StoreError, Tx,
        engine::{MemoryEngine, PostgresEngine, PostgresOptions},
        keys as store_keys, nodes, packs,
        releases::assets,
        repositories, value,
    },
};
use http::Method;
use serde_json::{Value, json};

use crate::support::{
    Binary, TestDaemon, bucket::TestBucket, cluster::shared_config, eventually, git::Client, postgres::PostgresServer,
    process::output,
};

/// The node that is alive beside the daemon.
const OTHER: u64 = 77;
const DAY_MS: i64 = 86_400_000;

async fn marked(store: &Store) -> Vec<u64> {
    assets::marked(&store.read().await.expect("a snapshot"), 0, 99).await.expect("marks")
}

async fn state_of_import(store: &Store, repository: u64) -> MigrationState {
    let read = store.read().await.expect("a snapshot");
    let row = repositories::get(&read, repository).await.expect("a read").expect("a row");
    row.migration.expect("an import").state()
}

/// Marks an upload, and an import in the row of the repository.
async fn begin_work(store: &Store, upload: u64, repository: u64, begun_by: Option<NodeStart>) {
    let begun = store.write(async |tx: Tx| {
        assets::mark(&tx, upload, &AssetMark { repository_id: repository, since_ms: 1, begun_by });
        let before = repositories::get(&tx, repository).await?.expect("a row");
        let mut row = before.clone();
        row.migration = Some(Migration { state: MigrationState::Running.into(), begun_by, ..Migration::default() });
        repositories::put(&tx, Some(&before), &row);
        Ok::<_, StoreError>(())
    });
    begun.await.expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_finishes_only_work_whose_daemon_has_ended() {
    let store = Store::open(Arc::new(MemoryEngine::shared())).await.expect("a store");
    let mut farrier = TestDaemon::over_store(store.clone()).await;
    for name in ["alive", "ended", "earlier"] {
        farrier.repository(name).await;
    }
    let tomorrow = Clock::system().now_ms() + DAY_MS;
    let other = Node { id: OTHER, ..Node::default() };
    let entered = store.write(async |tx: Tx| nodes::enter(&tx, &other, true, tomorrow).await);
    let start = entered.await.expect("entered").start;
    // The other node, an earlier start of it, and an earlier release.
    begin_work(&store, 1_001, 1, Some(NodeStart { node: OTHER, start })).await;
    begin_work(&store, 1_002, 2, Some(NodeStart { node: OTHER, start: start - 1 })).await;
    begin_work(&store, 1_003, 3, None).await;
    farrier.restart().await;
    assert_eq!(marked(&store).await, [1_001]);
    assert_eq!(state_of_import(&store, 1).await, MigrationState::Running);
    // Their directories are complete.
    assert_eq!(state_of_import(&store, 2).await, MigrationState::Done);
    assert_eq!(state_of_import(&store, 3).await, MigrationState::Done);
    let left = store.write(async |tx: Tx| nodes::leave(&tx, OTHER, start, tomorrow - DAY_MS).await);
    left.await.expect("left");
    farrier.restart().await;
    assert_eq!(marked(&store).await, [0; 0]);
    assert_eq!(state_of_import(&store, 1).await, MigrationState::Done);
}

/// Runs the program with a data directory of its own, which must fail. Returns what it printed.
async fn refused(config: &str, args: &[&str]) -> String {
    let fresh = Binary::new(config);
    let mut command = fresh.program(args);
    if args.is_empty() {
        command.arg("--socket").arg(fresh.socket()).args(["--listen", "127.0.0.1:0"]);
    }
    let output = output(command).await.expect("the program");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success(), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn daemons_with_a_bucket_share_a_store_and_others_are_refused() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let database = server.database().await;
    let config = shared_config(&server, &database, &bucket, &keys.path().join("secrets.key"));
    let mut first = TestDaemon::program(&config).await;
    first.repository("one").await;
    let mut second = TestDaemon::program(&config).await;
    second.repository("two").await;
    for farrier in [&first, &second] {
        for name in ["one", "two"] {
            let found = farrier.admin(Method::GET, &format!("/api/v1/repos/admin/{name}"), Value::Null).await;
            assert_eq!(found.status, 200, "{found:?}");
        }
    }
    let without_bucket = &config[..config.find("[blobs]").expect("a section")];
    let other_key = config.replace("secrets.key", "other.key");
    for (config, args, problem) in [
        (config.as_str(), &["check-data"][..], "is in use by the daemons that share it: process "),
        (without_bucket, &[], "is in use by the daemons that share it: process "),
        (&other_key, &[], "are encrypted with the key"),
    ] {
        let message = refused(config, args).await;
        assert!(message.contains(problem), "{args:?}: {message}");
    }
    first.kill().await;
    second.repository("three").await;
    first.start_as_program(&config).await;
    first.repository("four").await;
    first.stop().await;
    second.stop().await;
    let checked = second.command_with(&config, &["check-data"]).await;
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let listed = TestDaemon::program(&config).await;
    let repositories = listed.admin(Method::GET, "/api/v1/user/repos", json!(null)).await.json();
    assert_eq!(repositories.as_array().map(Vec::len), Some(4), "{repositories}");
}

#[tokio::test(flavor = "multi_thread")]
async fn daemons_that_could_not_read_the_same_rows_do_not_run_at_the_same_time() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let key_file = keys.path().join("secrets.key");
    let database = server.database().await;
    let config = shared_config(&server, &database, &bucket, &key_file);
    let mut first = Binary::new(&config);
    first.start().await;
    let options = postgres_options(&server, &database);
    let store = Store::open(Arc::new(PostgresEngine::open(options).await.expect("shared"))).await.expect("a store");
    let level = value::CONVERTED_LEVEL;
    let older = &Node { id: OTHER, name: "old".into(), format_level: level - 1, ..Node::default() };
    let entered = store.write(async |tx: Tx| nodes::enter(&tx, older, true, 0).await).await.expect("entered");
    let message = refused(&config, &[]).await;
    assert!(message.contains(&format!("cannot read format level {level}: old ")), "{message}");
    store.write(async |tx: Tx| nodes::leave(&tx, OTHER, entered.epoch, 0).await).await.expect("left");
    let other_file = keys.path().join("changed.key");
    let key = std::fs::read_to_string(&key_file).expect("a key");
    std::fs::write(&other_file, format!("{}\n{key}", "5a".repeat(32))).expect("written");
    let message = refused(&shared_config(&server, &database, &bucket, &other_file), &[]).await;
    assert!(message.contains("is not that of the running daemons: "), "{message}");
    let raise = async |tx: Tx| {
        tx.put(store_keys::format(), &Format { level: value::FORMAT_LEVEL + 1 });
        Ok::<_, StoreError>(())
    };
    store.write(raise).await.expect("written");
    assert_eq!(first.ended().await.code(), Some(4));
    assert!(first.log().contains("install the newer version"), "{}", first.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_store_is_upgraded_while_daemons_run_if_all_of_them_can_read_the_new_format() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let database = server.database().await;
    let config = shared_config(&server, &database, &bucket, &keys.path().join("secrets.key"));
    let mut farrier = TestDaemon::program(&config).await;
    farrier.stop().await;
    let options = postgres_options(&server, &database);
    let store = Store::open(Arc::new(PostgresEngine::open(options).await.expect("shared"))).await.expect("a store");
    // A store on which daemons of the previous release run, one of which is updated.
    let (old, new) = (value::CONVERTED_LEVEL, value::FORMAT_LEVEL);
    let previous = &Node { id: OTHER, name: "old".into(), version: "1.0".into(), format_level: old, ..Node::default() };
    let enter = async |tx: Tx| {
        tx.put(store_keys::format(), &Format { level: old });
        nodes::enter(&tx, previous, true, 0).await
    };
    let entered = store.write(enter).await.expect("entered");
    farrier.start_as_program(&config).await;
    let level = async || farrier.show("/api/farrier/v1/status").await.json()["store"]["format_level"].as_u64();
    assert_eq!(level().await, Some(old.into()));
    farrier.repository("one").await;
    let work = Client::init(farrier.scratch().join("work"));
    let remote = farrier.remote("admin/one", &farrier.token("admin", &["all"]).await);
    let push = |content: &str| {
        work.commit("a", content);
        work.done(&["push", "-q", &remote, "HEAD:main"]);
    };
    push("before");
    assert_eq!(kinds_of_packs(&store).await, [false], "the previous release cannot read packs in rows");
    let message = refused(&config, &["store", "upgrade"]).await;
    assert!(message.contains(&format!("cannot read format level {new}: old (version 1.0); ")), "{message}");
    store.write(async |tx: Tx| nodes::leave(&tx, OTHER, entered.epoch, 0).await).await.expect("left");
    for result in ["Store upgraded to", "The store already has"] {
        let upgraded = farrier.command_with(&config, &["store", "upgrade"]).await;
        let text = String::from_utf8_lossy(&upgraded.stdout).into_owned();
        assert_eq!(text, format!("{result} format level {new}\n"), "{}", String::from_utf8_lossy(&upgraded.stderr));
    }
    let path = "/api/farrier/v1/audit?action=data.upgrade";
    let entries = farrier.show(path).await.json();
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "only the change is recorded: {entries}");
    assert_eq!(entries[0]["actor"]["name"], "farrierd store upgrade");
    assert_eq!(entries[0]["after"]["format_level"], new);
    eventually("the daemon reads the level", || async { level().await == Some(new.into()) }).await;
    push("afterwards");
    assert_eq!(kinds_of_packs(&store).await, [false, true]);
    let renewed = store.write(async |tx: Tx| nodes::all(&tx).await).await.expect("rows");
    assert_eq!(renewed.len(), 2, "the command is no node: {renewed:?}");
}

/// Whether the packs of the first repository are rows of the store, in increasing order.
async fn kinds_of_packs(store: &Store) -> Vec<bool> {
    let packs = packs::all(&store.read().await.expect("a snapshot"), 1).await.expect("rows");
    let mut kinds: Vec<bool> = packs.values().map(|row| row.inline).collect();
    kinds.sort_unstable();
    kinds
}

fn postgres_options(server: &PostgresServer, database: &str) -> PostgresOptions {
    PostgresOptions {
        url: StoreUrl::parse(&server.socket_url(database)).expect("a URL"),
        password_file: Some(server.password_file()),
        ca_file: None,
        max_connections: 2,
        may_share: true,
    }
}
