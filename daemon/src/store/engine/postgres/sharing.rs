//! Several daemons use one store, and processes that need it alone exclude them.

use bytes::Bytes;

use super::{options, server::PostgresServer, *};
use crate::store::engine::{CommitError, Range, WriteSet};

/// Opens the store as a daemon with a bucket does.
async fn open(server: &PostgresServer, database: &str) -> Result<PostgresEngine, EngineError> {
    let options = options(&server.socket_url(database), server);
    PostgresEngine::open(PostgresOptions { may_share: true, ..options }).await
}

/// Opens the store as a command does.
async fn open_alone(server: &PostgresServer, database: &str) -> Result<PostgresEngine, EngineError> {
    PostgresEngine::open(options(&server.socket_url(database), server)).await
}

async fn put(engine: &PostgresEngine, key: &str) -> Result<(), CommitError> {
    let write = WriteSet::from([(key.as_bytes().to_vec(), Some(Bytes::from_static(b"1")))]);
    let transaction = engine.begin().await?;
    transaction.get(key.as_bytes()).await?;
    transaction.commit(write).await
}

/// Writes a row of `engine`, and repeats that while the server or the lock is away.
async fn put_eventually(engine: &PostgresEngine, key: &str) {
    let written = async {
        while put(engine, key).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), written).await.expect("in time");
}

async fn count(engine: &PostgresEngine) -> u64 {
    let view = engine.snapshot().await.expect("a view");
    view.count(&Range::prefix(""), u64::MAX).await.expect("a count")
}

/// Ends the connections with the lock, as after a failure of the network that only the server has noticed.
async fn end_locks(server: &PostgresServer, database: &str) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name LIKE 'farrierd lock%' AND datname = current_database()";
    server.admin(database).await.execute(end, &[]).await.expect("ended");
}

fn is_taken(result: &Result<(), CommitError>) -> bool {
    matches!(result, Err(CommitError::Engine(EngineError::OwnedBy { .. })))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_daemons_start_at_once_on_an_empty_database_fifty_times() {
    let Some(server) = PostgresServer::shared() else { return };
    for round in 0..50 {
        let database = &server.database().await;
        let start = async |key: &str| {
            let engine = open(server, database).await.expect("opened");
            put(&engine, key).await.expect("no conflict");
            engine.share(&[]).await.expect("shared");
            engine
        };
        let (first, second) = tokio::join!(start("a"), start("b"));
        assert_eq!((count(&first).await, count(&second).await), (2, 2), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_needs_the_store_alone_is_refused_while_daemons_share_it() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    first.share(&[]).await.expect("shared");
    first.share(&[]).await.expect("repeated");
    let second = open(server, &database).await.expect("joined");
    let Err(error) = open_alone(server, &database).await else { panic!("alone beside two daemons") };
    let process = format!("process {} on ", std::process::id());
    let message = error.to_string();
    assert!(message.starts_with("the store is in use by the daemons that share it: "), "{message}");
    assert_eq!(message.matches(&process).count(), 2, "{message}");
    drop(first);
    assert!(matches!(open_alone(server, &database).await, Err(EngineError::OwnedBy { .. })));
    put(&second, "k").await.expect("not disturbed");
    drop(second);
    assert_eq!(count(&open_alone(server, &database).await.expect("alone")).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_that_have_lost_their_lock_to_a_process_alone_write_nothing() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    first.share(&[]).await.expect("shared");
    let second = open(server, &database).await.expect("joined");
    let transaction = second.begin().await.expect("begun");
    assert_eq!(transaction.get(b"k").await.expect("a read"), None);
    end_locks(server, &database).await;
    let alone = open_alone(server, &database).await.expect("the lock is free");
    let late = transaction.commit(WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"1")))])).await;
    assert!(matches!(late, Err(CommitError::Unknown(_))), "{late:?}");
    for engine in [&first, &second] {
        let result = put(engine, "k").await;
        assert!(is_taken(&result), "{result:?}");
        assert!(engine.lost().await.starts_with("farrierd on "));
    }
    drop(alone);
    assert!(is_taken(&put(&first, "k").await), "it does not come back");
    let next = open(server, &database).await.expect("the lock is free");
    assert_eq!(count(&next).await, 0);
    assert!(is_taken(&put(&second, "k").await), "the next daemon has another ID");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_that_share_a_store_go_on_after_restarts_of_the_server() {
    let Some(server) = PostgresServer::start() else { return };
    let database = server.database().await;
    let first = open(&server, &database).await.expect("an empty database");
    first.share(&[]).await.expect("shared");
    let second = open(&server, &database).await.expect("joined");
    for round in 0..3 {
        tokio::task::block_in_place(|| server.command(if round == 1 { "kill" } else { "restart" }));
        if round == 1 {
            tokio::task::block_in_place(|| server.command("start"));
        }
        // A daemon that starts before the others have noticed the restart does not take the store from them.
        let third = open(&server, &database).await.expect("joined");
        for engine in [&first, &second, &third] {
            put_eventually(engine, &format!("k{round}")).await;
        }
        end_locks(&server, &database).await;
        for engine in [&first, &second, &third] {
            put_eventually(engine, &format!("k{round}")).await;
        }
    }
    assert_eq!(count(&first).await, 3);
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted";
    let admin = server.admin(&database).await;
    let locked = async {
        while admin.query_one(locks, &[]).await.expect("a count").get::<_, i64>(0) < 2 {
            // A commit can succeed before the client notices the end of the connection with the lock.
            put_eventually(&first, "k").await;
            put_eventually(&second, "k").await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), locked).await.expect("both daemons have the lock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_shared_is_shared_again_after_a_process_used_it_alone() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    for round in 0..2 {
        let first = open(server, &database).await.expect("opened");
        first.share(&[]).await.expect("shared");
        put(&first, &format!("k{round}")).await.expect("no conflict");
        drop(first);
        // All daemons have ended, and the next one uses the same ID.
        let second = open(server, &database).await.expect("joined");
        assert_eq!(count(&second).await, round + 1);
        drop(second);
        drop(open_alone(server, &database).await.expect("alone"));
        // The next daemon does not share the store before it says so.
        let owner = open(server, &database).await.expect("opened");
        assert!(matches!(open_alone(server, &database).await, Err(EngineError::OwnedBy { .. })));
        drop(owner);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_increase_across_daemons_in_the_order_in_which_they_are_taken() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    assert!(!first.gives_numbers());
    first.share(&[("owner", 65), ("ssh-key", 1)]).await.expect("shared");
    let second = open(server, &database).await.expect("joined");
    // A daemon that starts does not set numbers back, and adds the kinds that earlier versions did not have.
    second.share(&[("owner", 1), ("ssh-key", 1), ("new-kind", 7)]).await.expect("shared");
    let mut taken = Vec::new();
    for _ in 0..40 {
        for engine in [&first, &second] {
            taken.push(engine.next_number("owner").await.expect("a number"));
        }
    }
    assert_eq!(taken, (65..145).collect::<Vec<_>>());
    assert_eq!(first.next_number("ssh-key").await.expect("a number"), 1);
    assert_eq!(first.next_number("new-kind").await.expect("a number"), 7);
    first.raise_number("owner", 10_000).await.expect("raised");
    second.raise_number("owner", 500).await.expect("it is higher");
    let next = second.next_number("owner").await.expect("a number");
    assert!((10_000..10_003).contains(&next), "{next}");
    drop((first, second));
    // A process that used the store alone has assigned numbers by itself.
    drop(open_alone(server, &database).await.expect("alone"));
    let owner = open(server, &database).await.expect("opened");
    owner.share(&[("owner", 20_000), ("ssh-key", 1)]).await.expect("shared");
    assert_eq!(owner.next_number("owner").await.expect("a number"), 20_000);
    assert_eq!(owner.next_number("ssh-key").await.expect("a number"), 2);
}

/// Without the lock of the server, each attempt would conflict with the transactions of the other daemon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_after_conflicts_waits_for_those_of_other_daemons() {
    let Some(server) = PostgresServer::shared() else { return };
    let database = server.database().await;
    let first = open(server, &database).await.expect("an empty database");
    first.share(&[]).await.expect("shared");
    let second = open(server, &database).await.expect("joined");
    let running = first.begin_after_conflicts().await.expect("begun");
    assert_eq!(running.get(b"k").await.expect("a read"), None);
    let waiting = second.begin_after_conflicts().await.expect("begun");
    let mut read = waiting.get(b"k");
    let early = tokio::time::timeout(Duration::from_millis(300), &mut read).await;
    assert!(early.is_err(), "it waits for the first: {early:?}");
    running.commit(WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"1")))])).await.expect("no conflict");
    let found = (&mut read).await.expect("a read");
    drop(read);
    assert_eq!(found.as_deref(), Some(b"1".as_slice()), "its state is that after the first");
    waiting.commit(WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"2")))])).await.expect("no conflict");
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                 WHERE locktype = 'advisory' AND objid::bigint & 255 = 3 AND datname = current_database()";
    let admin = server.admin(&database).await;
    let is_free = async || admin.query_one(locks, &[]).await.expect("a count").get::<_, i64>(0) == 0;
    let freed = async {
        while !is_free().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), freed).await.expect("released after the commit");
    // Dropped after a read, before it, while it waits, and with its connection.
    for dropped in 0..4 {
        let holder = first.begin_after_conflicts().await.expect("begun");
        if dropped != 1 {
            holder.get(b"k").await.expect("a read");
        }
        if dropped == 2 {
            let waiting = second.begin_after_conflicts().await.expect("begun");
            let cut = tokio::time::timeout(Duration::from_millis(100), waiting.get(b"k")).await;
            assert!(cut.is_err(), "{cut:?}");
        }
        if dropped == 3 {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE application_name = 'farrierd' AND datname = current_database()";
            admin.execute(end, &[]).await.expect("ended");
        }
        drop(holder);
        let next = second.begin_after_conflicts().await.expect("begun");
        let read = tokio::time::timeout(Duration::from_secs(60), next.get(b"k")).await.expect("released");
        assert!(read.is_ok(), "{dropped}: {read:?}");
    }
}
