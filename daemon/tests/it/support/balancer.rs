//! A proxy that gives each connection to the next daemon that accepts it, as a balancer for TCP does.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// A running balancer. Dropping it stops it.
pub struct Balancer {
    /// Its address, such as `127.0.0.1:4712`.
    pub address: String,
    _running: AbortOnDropHandle<()>,
}

impl Balancer {
    /// Starts a balancer in front of the addresses `daemons`.
    pub async fn start(daemons: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let (daemons, next) = (Arc::new(daemons), AtomicUsize::new(0));
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (daemons, first) = (Arc::clone(&daemons), next.fetch_add(1, Ordering::Relaxed));
                tokio::spawn(pass(client, daemons, first));
            }
        });
        Self { address, _running: AbortOnDropHandle::new(running) }
    }
}

async fn pass(mut client: TcpStream, daemons: Arc<Vec<String>>, first: usize) {
    for number in 0..daemons.len() {
        if let Ok(mut daemon) = TcpStream::connect(&daemons[(first + number) % daemons.len()]).await {
            _ = tokio::io::copy_bidirectional(&mut client, &mut daemon).await; // either side may close
            return;
        }
    }
}
