//! Connections that are cut around a commit: a transaction is never acknowledged in error, and never applied twice.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

use super::{options, server::PostgresServer, *};
use crate::store::engine::{CommitError, WriteSet};

/// What the proxy does with the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Forwards it and the response.
    Nothing,
    /// Closes the connections instead of forwarding it.
    Before,
    /// Forwards it, and closes the connection to the client instead of forwarding the response.
    After,
    /// Forwards it, and closes the connection to the client without waiting for the response.
    During,
}

/// A proxy in front of the server. It ends when it is dropped.
struct Proxy {
    port: u16,
    cut: Arc<AtomicU8>,
    silenced: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let cut = Arc::new(AtomicU8::new(Cut::Nothing as u8));
        let mut tasks = JoinSet::new();
        let silenced = Arc::new(Notify::new());
        let (armed, silence) = (Arc::clone(&cut), Arc::clone(&silenced));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (client, _) = accepted.expect("a connection");
                        connections.spawn(forward(client, to, Arc::clone(&armed)));
                    }
                    () = silence.notified() => break,
                }
            }
            connections.shutdown().await;
            // The kernel accepts further connections for the listener.
            std::future::pending::<()>().await;
            drop(listener);
        });
        Self { port, cut, silenced, _tasks: tasks }
    }

    /// Closes all connections. Further ones are accepted, but get no response.
    fn silence(&self) {
        self.silenced.notify_one();
    }

    fn arm(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }
}

async fn forward(mut client: TcpStream, to: u16, cut: Arc<AtomicU8>) {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await.expect("the server");
    let (mut request, mut response) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let Ok(length @ 1..) = read else { return };
                let part = &request[..length];
                let armed = cut.load(Ordering::SeqCst);
                if armed != Cut::Nothing as u8 && part.windows(7).any(|text| text == b"COMMIT\0") {
                    cut.store(Cut::Nothing as u8, Ordering::SeqCst);
                    if armed == Cut::During as u8 {
                        server.write_all(part).await.expect("the server reads");
                        drop(client);
                        // The server's side stays open: closing it could discard what the server has not read.
                        return std::future::pending().await;
                    }
                    if armed == Cut::After as u8 {
                        server.write_all(part).await.expect("the server reads");
                        // The server has executed the commit when it confirms it.
                        let mut confirmed = Vec::new();
                        while !confirmed.windows(7).any(|text| text == b"COMMIT\0") {
                            let length = server.read(&mut response).await.expect("a response");
                            confirmed.extend_from_slice(&response[..length]);
                        }
                    }
                    return;
                }
                if server.write_all(part).await.is_err() { return }
            }
            read = server.read(&mut response) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&response[..length]).await.is_err() { return }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_on_a_cut_connection_is_unknown_and_decided_before_the_next_view() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port()).await;
    let url = format!("postgresql://farrier@127.0.0.1:{}/{}", proxy.port, server.database().await);
    let engine = PostgresEngine::open(options(&url, server)).await.expect("an empty database");
    for round in 0..10_u8 {
        for (cut, applied) in [(Cut::Before, false), (Cut::After, true)] {
            let key = vec![round, cut as u8];
            let transaction = engine.begin().await.expect("begun");
            assert_eq!(transaction.get(&key).await.expect("a read"), None);
            proxy.arm(cut);
            let result = transaction.commit(WriteSet::from([(key.clone(), Some(Bytes::from_static(b"1")))])).await;
            assert!(matches!(result, Err(CommitError::Unknown(_))), "{cut:?}: {result:?}");
            let found = engine.snapshot().await.expect("a view").get(&key).await.expect("a read");
            assert_eq!(found.is_some(), applied, "{cut:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_without_reads_is_not_repeated_after_an_unknown_outcome() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port()).await;
    let url = format!("postgresql://farrier@127.0.0.1:{}/{}", proxy.port, server.database().await);
    let engine = PostgresEngine::open(options(&url, server)).await.expect("an empty database");
    let put = |value: &'static [u8]| WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(value)))]);
    proxy.arm(Cut::Before);
    let result = engine.begin().await.expect("begun").commit(put(b"1")).await;
    assert!(matches!(result, Err(CommitError::Unknown(_))), "{result:?}");
    assert_eq!(engine.snapshot().await.expect("a view").get(b"k").await.expect("a read"), None);
    engine.begin().await.expect("begun").commit(put(b"2")).await.expect("a new connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_server_is_used_if_the_first_does_not_respond() {
    let Some(server) = PostgresServer::shared() else { return };
    let proxy = Proxy::start(server.port()).await;
    let database = server.database().await;
    let url = format!("postgresql://farrier@127.0.0.1:{},127.0.0.1:{}/{database}", proxy.port, server.port());
    let engine = PostgresEngine::open(options(&url, server)).await.expect("an empty database");
    let put = || WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"1")))]);
    engine.begin().await.expect("begun").commit(put()).await.expect("no conflict");
    proxy.silence();
    let used = async {
        while engine.begin().await.expect("begun").commit(put()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), used).await.expect("the second server is used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_synchronous_standby_may_not_have_is_not_read() {
    let Some(server) = PostgresServer::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let database = server.database().await;
    let url = format!("postgresql://farrier@127.0.0.1:{}/{database}", proxy.port);
    let engine = PostgresEngine::open(options(&url, &server)).await.expect("an empty database");
    let admin = server.admin(&database).await;
    let standby = async |name: &str| {
        admin.batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'")).await.expect("set");
        admin.batch_execute("SELECT pg_reload_conf()").await.expect("reloaded");
        let setting = "SELECT current_setting('synchronous_standby_names')";
        while admin.query_one(setting, &[]).await.expect("a value").get::<_, String>(0) != name {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let transaction = engine.begin().await.expect("begun");
    assert_eq!(transaction.get(b"k").await.expect("a read"), None);
    standby("absent").await;
    wait_for_standby_setting(&server.admin(&database).await).await;
    proxy.arm(Cut::During);
    let result = transaction.commit(WriteSet::from([(b"k".to_vec(), Some(Bytes::from_static(b"1")))])).await;
    assert!(matches!(result, Err(CommitError::Unknown(_))), "{result:?}");
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'farrierd'";
    let waits = async {
        while admin.query_one(waiting, &[]).await.expect("a count").get::<_, i64>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waits).await.expect("the commit waits for the standby");
    for _ in 0..2 {
        let read = engine.snapshot().await.expect("a view").get(b"k").await;
        assert!(matches!(read, Err(EngineError::Unavailable)), "{read:?}");
    }
    standby("").await;
    let confirmed = async {
        loop {
            match engine.snapshot().await.expect("a view").get(b"k").await {
                Ok(value) => return value,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let value = tokio::time::timeout(Duration::from_secs(60), confirmed).await.expect("the standby is away");
    assert!(value.is_some());
}

/// Waits until commits wait for a standby: the setting takes effect a moment after it can be read. The last commit of
/// `admin` waits until the setting is removed.
async fn wait_for_standby_setting(admin: &tokio_postgres::Client) {
    let took_effect = async {
        loop {
            let commit = admin.batch_execute("CREATE TABLE probe (); DROP TABLE probe");
            match tokio::time::timeout(Duration::from_secs(1), commit).await {
                Ok(committed) => committed.expect("committed"),
                Err(_) => return,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), took_effect).await.expect("in time");
}
