//! Commits that a synchronous standby may not have: no daemon reads them, because a failover would undo them.

use bytes::Bytes;
use tokio_postgres::Client;

use super::{
    cuts::{CommitCut, Proxy},
    options,
    server::PostgresServer,
    *,
};
use crate::store::engine::{CommitError, WriteSet};

/// Waits for a condition. Repeats a step until it returns a value.
async fn until<T>(what: &str, mut step: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(value) = step().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), found).await.unwrap_or_else(|_| panic!("timed out: {what}"))
}

/// Makes commits wait for the standby `name`; for none if it is empty.
async fn set_standby(admin: &Client, name: &str) {
    admin.batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'")).await.expect("set");
    admin.batch_execute("SELECT pg_reload_conf()").await.expect("reloaded");
    let setting = "SELECT current_setting('synchronous_standby_names')";
    let is_set = async || admin.query_one(setting, &[]).await.expect("a value").get::<_, String>(0) == name;
    until("the setting is read", async || is_set().await.then_some(())).await;
}

/// Makes commits wait for a standby that does not exist.
async fn wait_for_absent_standby(server: &PostgresServer, database: &str) {
    set_standby(&server.admin(database).await, "absent").await;
    // The setting takes effect a moment after it can be read. The last commit waits until it is removed.
    let admin = server.admin(database).await;
    let waits = async || {
        let commit = admin.batch_execute("CREATE TABLE probe (); DROP TABLE probe");
        tokio::time::timeout(Duration::from_secs(1), commit).await.map(|committed| committed.expect("committed")).err()
    };
    until("commits wait", async || waits().await.map(drop)).await;
}

/// Waits until the commit of a daemon waits for the standby.
async fn commit_waits(admin: &Client) {
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'farrierd'";
    let waits = async || admin.query_one(waiting, &[]).await.expect("a count").get::<_, i64>(0) > 0;
    until("the commit waits", async || waits().await.then_some(())).await;
}

/// Begins to write the key `k`. Nothing has it yet.
async fn begin(engine: &PostgresEngine) -> Box<dyn Transaction> {
    let transaction = engine.begin().await.expect("begun");
    assert_eq!(transaction.get(b"k").await.expect("a read"), None);
    transaction
}

/// Commits the key `k`. The daemon does not get the response.
async fn commit_without_response(transaction: Box<dyn Transaction>, proxy: &Proxy) {
    proxy.arm(CommitCut::During);
    let result = transaction.commit(WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"1")))])).await;
    assert!(matches!(result, Err(CommitError::Unknown(_))), "{result:?}");
}

async fn read(engine: &PostgresEngine) -> Result<Option<Bytes>, EngineError> {
    engine.snapshot().await.expect("a view").get(b"k").await
}

/// Waits until a daemon can read, and checks that it reads the commit.
async fn reads_the_commit(engine: &PostgresEngine) {
    let value = until("a daemon reads", async || read(engine).await.ok()).await;
    assert!(value.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_synchronous_standby_may_not_have_is_not_read() {
    let Some(server) = PostgresServer::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let database = server.database().await;
    let url = format!("postgresql://farrier@127.0.0.1:{}/{database}", proxy.port);
    let engine = PostgresEngine::open(options(&url, &server)).await.expect("an empty database");
    let transaction = begin(&engine).await;
    wait_for_absent_standby(&server, &database).await;
    commit_without_response(transaction, &proxy).await;
    let admin = server.admin(&database).await;
    commit_waits(&admin).await;
    for _ in 0..2 {
        let read = read(&engine).await;
        assert!(matches!(read, Err(EngineError::Unavailable)), "{read:?}");
    }
    set_standby(&admin, "").await;
    reads_the_commit(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_another_daemon_that_the_synchronous_standby_may_not_have_is_not_read() {
    let Some(server) = PostgresServer::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let database = server.database().await;
    let open = async |url: &str| {
        let options = PostgresOptions { may_share: true, ..options(url, &server) };
        let engine = PostgresEngine::open(options).await.expect("opened");
        engine.share(&[]).await.expect("shared");
        engine
    };
    let writer = open(&format!("postgresql://farrier@127.0.0.1:{}/{database}", proxy.port)).await;
    let reader = open(&server.socket_url(&database)).await;
    let transaction = begin(&writer).await;
    wait_for_absent_standby(&server, &database).await;
    commit_without_response(transaction, &proxy).await;
    commit_waits(&server.admin(&database).await).await;
    // The writer must know the outcome before it reads, and does not end the wait to learn it.
    let unknown = read(&writer).await;
    assert!(matches!(unknown, Err(EngineError::Unavailable)), "{unknown:?}");
    assert_eq!(read(&reader).await.expect("a read"), None);
    // The server has the commit in its log. After a restart, it is visible without the standby.
    tokio::task::block_in_place(|| {
        server.command("kill");
        server.command("start");
    });
    let admin = server.admin(&database).await;
    let visible = admin.query_one("SELECT count(*) FROM farrier_kv", &[]).await.expect("a count");
    assert_eq!(visible.get::<_, i64>(0), 1);
    for engine in [&reader, &writer] {
        let read = read(engine).await;
        assert!(matches!(read, Err(EngineError::Unavailable)), "{read:?}");
    }
    set_standby(&admin, "").await;
    reads_the_commit(&reader).await;
    reads_the_commit(&writer).await;
}
