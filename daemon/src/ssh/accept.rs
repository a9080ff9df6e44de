//! The accept loop of SSH.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{HostKeys, algorithms, connection, registry::Registry};
use crate::{service::Context, shares::Holder};

/// Pause after an accept error.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections on all `sockets` until the daemon stops, then waits for running commands, at most
/// `server.drain_grace_secs`.
pub async fn serve(context: Context, sockets: Vec<TcpListener>, keys: HostKeys) {
    let limits = &context.config.ssh;
    let server = Server {
        config: Arc::new(algorithms::config(&keys)),
        registry: Registry::new(limits.max_connections, limits.max_unauthenticated),
        connections: TaskTracker::new(),
        abort: CancellationToken::new(),
        context: context.clone(),
    };
    let grace = context.config.server.drain_grace;
    let served = async {
        join_all(sockets.iter().map(|socket| server.accept_from(socket))).await;
        drop(sockets);
        server.connections.close();
        server.connections.wait().await;
    };
    let deadline = async {
        context.tasks.stop().cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        () = served => {}
        () = deadline => tracing::warn!(?grace, "commands over SSH were still running after the grace period"),
    }
    server.abort.cancel();
}

struct Server {
    config: Arc<russh::server::Config>,
    registry: Arc<Registry>,
    /// Open connections, which the shutdown waits for.
    connections: TaskTracker,
    /// Closes connections that are still open after the grace period.
    abort: CancellationToken,
    context: Context,
}

impl Server {
    async fn accept_from(&self, socket: &TcpListener) {
        let stop = self.context.tasks.stop();
        loop {
            let Some(accepted) = stop.run_until_cancelled(socket.accept()).await else { return };
            match accepted {
                Ok((stream, address)) => {
                    let (kill, source) = (self.abort.child_token(), Holder::address(Some(address.ip())));
                    let Some(registered) = self.registry.register(source, &kill) else {
                        tracing::debug!(%address, "a connection over SSH was refused: there are too many");
                        continue;
                    };
                    // Packets of git's negotiation are small, and each side waits for them.
                    let _ = stream.set_nodelay(true);
                    let serving = connection::serve(
                        self.context.clone(),
                        self.config.clone(),
                        stream,
                        connection::Origin { address: address.ip().to_canonical(), source },
                        registered,
                        kill,
                    );
                    self.context.tasks.short(self.connections.track_future(serving));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection over SSH failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}
