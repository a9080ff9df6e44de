//! The server is restarted, does not respond, or is used by another daemon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{options, server::PostgresServer, *};
use crate::store::engine::{CommitError, Range, Scan, WriteSet};

fn put(key: impl Into<Vec<u8>>) -> WriteSet {
    WriteSet::from([(key.into(), Some(Bytes::from_static(b"1")))])
}

async fn open(server: &PostgresServer, database: &str) -> Result<PostgresEngine, EngineError> {
    PostgresEngine::open(options(&server.socket_url(database), server)).await
}

async fn count(engine: &PostgresEngine) -> Result<u64, EngineError> {
    engine.snapshot().await?.count(&Range::prefix(""), u64::MAX).await
}

/// Repeats `attempt` until it returns a value.
async fn eventually<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let attempts = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), attempts).await.expect("in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_is_refused_with_the_name_of_the_first() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    let Err(error) = open(server, &database).await else { panic!("two daemons") };
    let message = error.to_string();
    let process = format!("(process {}), since ", std::process::id());
    assert!(message.starts_with("the store is in use by farrierd on ") && message.contains(&process), "{message}");
    first.begin().await.expect("begun").commit(put("k")).await.expect("the first one is not disturbed");
    drop(first);
    let second = open(server, &database).await.expect("the lock is free");
    assert_eq!(count(&second).await.expect("a read"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_has_lost_its_lock_to_another_writes_nothing() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    let transaction = first.begin().await.expect("begun");
    assert_eq!(transaction.get(b"k").await.expect("a read"), None);
    // As after a failure of the network that only the server has noticed.
    let admin = server.admin(&database).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'farrierd lock%'
               AND datname = current_database()";
    admin.execute(end, &[]).await.expect("ended");
    let second = open(server, &database).await.expect("the lock is free");
    let result = transaction.commit(put("k")).await;
    assert!(matches!(result, Err(CommitError::Unknown(_))), "{result:?}");
    for _ in 0..3 {
        let result = first.begin().await.expect("begun").commit(put("k")).await;
        assert!(matches!(result, Err(CommitError::Engine(EngineError::OwnedBy { .. }))), "{result:?}");
        assert!(matches!(first.health().await, Err(EngineError::OwnedBy { .. })));
    }
    assert_eq!(count(&second).await.expect("a read"), 0);
}

/// A transaction of another program in another database holds up the readers of events, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_transaction_that_writes_is_named() {
    let Some(server) = PostgresServer::shared() else { return };
    let engine = open(server, &server.database().await).await.expect("an empty database");
    let database = server.database().await;
    let other = server.admin(&database).await;
    other.batch_execute("BEGIN").await.expect("begun");
    let row = other.query_one("SELECT pg_current_xact_id()::text::bigint, pg_backend_pid()", &[]).await.expect("an ID");
    let (id, process) = (row.get::<_, i64>(0).unsigned_abs(), row.get::<_, i32>(1));
    let expected = format!("process {process} of ");
    let found = eventually(async || {
        let found = engine.health().await.expect("the server responds").oldest_write;
        found.filter(|found| found.by.starts_with(&expected))
    });
    let found = found.await;
    assert!(found.by.ends_with(&format!(" in database {database}")) && found.open_for.as_secs() >= 5, "{found:?}");
    engine.begin().await.expect("begun").commit(put("k")).await.expect("commits go on");
    assert_eq!(engine.snapshot().await.expect("a view").settled().await.expect("a number"), id);
    other.batch_execute("ROLLBACK").await.expect("ended");
    eventually(async || (engine.snapshot().await.ok()?.settled().await.ok()? > id).then_some(())).await;
    eventually(async || engine.health().await.ok().filter(|info| info.oldest_write.is_none())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_lock_is_taken_again() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let engine = open(server, &database).await.expect("an empty database");
    let admin = server.admin(&database).await;
    for _ in 0..3 {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'farrierd%'
                   AND datname = current_database()";
        admin.execute(end, &[]).await.expect("ended");
        eventually(async || engine.begin().await.ok()?.commit(put("k")).await.ok()).await;
    }
    let locks = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'farrierd lock%'
                 AND datname = current_database()";
    // A commit can succeed before the client notices the end of the connection with the lock.
    eventually(async || {
        engine.begin().await.ok()?.commit(put("k")).await.ok()?;
        (admin.query_one(locks, &[]).await.expect("a count").get::<_, i64>(0) == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_database_is_opened_by_one_of_several_daemons() {
    let Some(server) = PostgresServer::shared() else { return };
    for _ in 0..3 {
        let database = server.database().await;
        let mut opening = JoinSet::new();
        for _ in 0..3 {
            let database = database.clone();
            opening.spawn(async move { open(server, &database).await });
        }
        let results = opening.join_all().await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let refused = |result: &Result<_, _>| matches!(result, Ok(_) | Err(EngineError::OwnedBy { .. }));
        assert!(results.iter().all(refused));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_without_a_store_is_not_changed_by_commands_that_need_one() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let result = PostgresEngine::open_existing(options(&server.socket_url(&database), server)).await;
    assert!(matches!(result, Err(EngineError::NoStore)));
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let admin = server.admin(&database).await;
    assert_eq!(admin.query_one(tables, &[]).await.expect("a count").get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_share_few_connections() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.socket_url(&server.database().await);
    let few = PostgresOptions { max_connections: 2, ..options(&url, server) };
    let engine = Arc::new(PostgresEngine::open(few).await.expect("an empty database"));
    let mut clients = JoinSet::new();
    for client in 0..64_u8 {
        let engine = Arc::clone(&engine);
        clients.spawn(async move {
            for round in 0..5_u8 {
                // The rows of all clients are on the same pages, so some transactions conflict.
                loop {
                    let work = async {
                        let transaction = engine.begin_after_conflicts().await?;
                        transaction.get(&[client, round]).await?;
                        transaction.commit(put([client, round])).await
                    };
                    match work.await {
                        Ok(()) => break,
                        Err(CommitError::Conflict | CommitError::Engine(EngineError::Conflict)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            }
        });
    }
    clients.join_all().await;
    assert_eq!(count(&engine).await.expect("a read"), 320);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_view_leaves_no_open_transaction() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let engine = open(server, &database).await.expect("an empty database");
    let writes = (0..2_000_u16).map(|number| (number.to_be_bytes().to_vec(), Some(Bytes::from(vec![0; 1_000]))));
    engine.begin().await.expect("begun").commit(writes.collect()).await.expect("no conflict");
    for _ in 0..20 {
        let transaction = engine.begin().await.expect("begun");
        let all = Scan::of(Range::prefix(""), usize::MAX);
        // Dropped at the first wait, before the response has arrived.
        let dropped = tokio::time::timeout(Duration::ZERO, transaction.scan(&all)).await;
        drop((dropped, transaction));
    }
    let admin = server.admin(&database).await;
    let open =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'farrierd'
                AND state <> 'idle'";
    eventually(async || (admin.query_one(open, &[]).await.ok()?.get::<_, i64>(0) == 0).then_some(())).await;
    assert_eq!(count(&engine).await.expect("the connections can be used"), 2_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_transactions_survive_kills_of_the_server() {
    let Some(server) = PostgresServer::start() else { return };
    let engine = Arc::new(open(&server, &server.database().await).await.expect("an empty database"));
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut writers = JoinSet::new();
    for writer in 0..4_u64 {
        let (engine, stop, written) = (Arc::clone(&engine), Arc::clone(&stop), Arc::clone(&written));
        writers.spawn(async move {
            let (mut acknowledged, mut refused, mut number) = (Vec::new(), Vec::new(), 0_u64);
            while !stop.load(Ordering::SeqCst) {
                number += 1;
                let key = [writer.to_be_bytes(), number.to_be_bytes()].concat();
                let work = async {
                    let transaction = engine.begin().await?;
                    transaction.get(&key).await?;
                    transaction.commit(put(key.clone())).await
                };
                match work.await {
                    Ok(()) => {
                        acknowledged.push(key);
                        written.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(CommitError::Unknown(_)) => {}
                    Err(_) => refused.push(key),
                }
            }
            (acknowledged, refused)
        });
    }
    for round in 0..6 {
        let before = written.load(Ordering::SeqCst);
        eventually(async || (written.load(Ordering::SeqCst) > before + 50).then_some(())).await;
        if round % 2 == 0 {
            tokio::task::block_in_place(|| server.command("kill"));
            tokio::task::block_in_place(|| server.command("start"));
        } else {
            tokio::task::block_in_place(|| server.command("restart"));
        }
    }
    let before = written.load(Ordering::SeqCst);
    eventually(async || (written.load(Ordering::SeqCst) > before + 50).then_some(())).await;
    stop.store(true, Ordering::SeqCst);
    let results = writers.join_all().await;
    let all = Scan::of(Range::prefix(""), usize::MAX);
    let rows = engine.snapshot().await.expect("a view").scan(&all).await.expect("a scan");
    let found: std::collections::BTreeSet<_> = rows.into_iter().map(|(key, _)| key).collect();
    for (acknowledged, refused) in results {
        assert!(acknowledged.iter().all(|key| found.contains(key)), "an acknowledged transaction is missing");
        assert!(!refused.iter().any(|key| found.contains(key)), "a refused transaction was written");
    }
    // Nothing is rolled back after a commit.
    assert!(!server.log().contains("no transaction in progress"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_fail_in_bounded_time_while_the_server_is_away() {
    let Some(server) = PostgresServer::start() else { return };
    let engine = open(&server, &server.database().await).await.expect("an empty database");
    engine.begin().await.expect("begun").commit(put("k")).await.expect("no conflict");
    tokio::task::block_in_place(|| server.command("kill"));
    assert!(matches!(count(&engine).await, Err(EngineError::Unavailable)));
    let result = engine.begin().await.expect("begun").commit(put("k")).await;
    assert!(matches!(result, Err(CommitError::Engine(EngineError::Unavailable))), "{result:?}");
    tokio::task::block_in_place(|| server.command("start"));
    assert_eq!(eventually(async || count(&engine).await.ok()).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_certificate_of_the_server_is_verified() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let port = server.port();
    let url = |host: &str| format!("postgresql://farrier@{host}:{port}/{database}?sslmode=verify-full");
    let trusted = |host: &str| PostgresOptions { ca_file: Some(server.certificate()), ..options(&url(host), server) };
    let engine = PostgresEngine::open(trusted("localhost")).await.expect("a valid certificate");
    let admin = server.admin(&database).await;
    let plain = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                 WHERE application_name LIKE 'farrierd%' AND datname = current_database() AND NOT ssl";
    assert_eq!(count(&engine).await.expect("a read"), 0);
    assert_eq!(admin.query_one(plain, &[]).await.expect("a count").get::<_, i64>(0), 0);
    drop(engine);
    for (options, reason) in [
        (trusted("127.0.0.1"), "not valid for name"),
        (options(&url("localhost"), server), "UnknownIssuer"),
        (PostgresOptions { ca_file: Some(server.password_file()), ..trusted("localhost") }, "no certificate"),
    ] {
        let Err(error) = PostgresEngine::open(options).await else { panic!("{reason}") };
        let chain = chain(&error);
        assert!(chain.contains(reason), "{chain}");
    }
}

/// Returns an error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_an_error_without_the_password() {
    let Some(server) = PostgresServer::shared() else { return };
    let url = server.socket_url(&server.database().await);
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("password");
    std::fs::write(&file, "wr0ng\n").expect("a file");
    let absent = PostgresOptions { password_file: Some(dir.path().join("absent")), ..options(&url, server) };
    let wrong = PostgresOptions { password_file: Some(file.clone()), ..options(&url, server) };
    for (options, reason) in [(wrong, "password authentication failed"), (absent, "store.password_file cannot be read")]
    {
        let Err(error) = PostgresEngine::open(options).await else { panic!("{reason}") };
        let chain = chain(&error);
        assert!(chain.contains(reason) && !chain.contains("wr0ng"), "{chain}");
    }
    std::fs::write(&file, format!("{}\n", server::PASSWORD)).expect("a file");
    let right = PostgresOptions { password_file: Some(file), ..options(&url, server) };
    PostgresEngine::open(right).await.expect("the line end is not a part of the password");
}
