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
pub(super) enum CommitCut {
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
pub(super) struct Proxy {
    pub(super) port: u16,
    cut: Arc<AtomicU8>,
    silenced: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(super) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let cut = Arc::new(AtomicU8::new(CommitCut::Nothing as u8));
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

    pub(super) fn arm(&self, cut: CommitCut) {
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
                if armed != CommitCut::Nothing as u8 && part.windows(7).any(|text| text == b"COMMIT\0") {
                    cut.store(CommitCut::Nothing as u8, Ordering::SeqCst);
                    if armed == CommitCut::During as u8 {
                        server.write_all(part).await.expect("the server reads");
                        drop(client);
                        // The server's side stays open: closing it could discard what the server has not read.
                        return std::future::pending().await;
                    }
                    if armed == CommitCut::After as u8 {
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
        for (cut, applied) in [(CommitCut::Before, false), (CommitCut::After, true)] {
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
    proxy.arm(CommitCut::Before);
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
