//! One connection: sign-in, channels, time limits.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use russh::{
    Channel, ChannelId,
    server::{self, Msg},
};
use tokio::{net::TcpStream, sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{handler::ConnectionHandler, killable::Killable, registry::Registered};
use crate::{
    service::{Context, ssh_sign_in},
    shares::{Holder, Refused, Share},
};

/// Time for a client to close its connection after its last command, when the daemon stops.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) address: IpAddr,
    /// By which failed sign-ins are counted.
    pub(super) source: Holder,
}

/// The state that a connection shares with its commands.
pub(super) struct Connection {
    pub(super) context: Context,
    pub(super) origin: Origin,
    /// Closes the connection.
    pub(super) kill: CancellationToken,
    registered: Registered,
    /// The share of the account, once the client has signed in.
    share: OnceLock<Share>,
    keys_refused: AtomicBool,
    /// Running commands.
    running: AtomicUsize,
    /// When the last command began or ended.
    active: Mutex<Instant>,
    /// Notified when no command runs any more.
    idle: Notify,
    /// Channels on which no command runs yet. Nobody reads them, and the SSH library waits when one of them is full, so
    /// the connection ends only after they were dropped.
    waiting: Mutex<HashMap<ChannelId, Channel<Msg>>>,
}

impl Connection {
    /// Keeps a channel until its command starts.
    pub(super) fn keep(&self, channel: Channel<Msg>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.kill.is_cancelled() {
            waiting.insert(channel.id(), channel);
        }
    }

    /// Returns a channel whose command did not start yet.
    pub(super) fn take(&self, id: ChannelId) -> Option<Channel<Msg>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }

    /// Closes the connection and ends its commands.
    fn close(&self) {
        self.kill.cancel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn touch(&self) {
        *self.active.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes that the client has signed in, and counts the connection to `holder`. If that is refused, the connection
    /// must be closed, and until then counts as a connection without sign-in.
    pub(super) fn signed_in(&self, holder: Holder) -> Result<(), Refused> {
        // The client has a known key, also if others were refused before.
        self.keys_refused.store(false, Ordering::Release);
        let share = self.context.work.ssh_connections.take(holder)?;
        let _ = self.share.set(share); // a client signs in once
        self.registered.signed_in();
        self.touch();
        Ok(())
    }

    fn has_signed_in(&self) -> bool {
        self.share.get().is_some()
    }

    /// Notes that a key of the client was refused.
    pub(super) fn key_refused(&self) {
        self.keys_refused.store(true, Ordering::Release);
    }

    /// Counts a running command until the returned value is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> RunningCommand {
        self.running.fetch_add(1, Ordering::AcqRel);
        self.touch();
        RunningCommand(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.running.load(Ordering::Acquire) == 0
    }

    /// Waits until a time limit of the connection has passed.
    async fn overdue(&self, accepted: Instant) {
        let limits = &self.context.config.ssh;
        tokio::time::sleep_until(accepted + limits.login_timeout).await;
        if !self.has_signed_in() {
            return;
        }
        loop {
            let active = *self.active.lock().unwrap_or_else(PoisonError::into_inner);
            let due = active + limits.idle_timeout;
            if self.is_idle() && due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due.max(Instant::now() + Duration::from_secs(1))).await;
        }
    }

    /// Waits until the daemon stops and the commands of this connection have ended.
    async fn drained(&self) {
        self.context.tasks.stop().cancelled().await;
        while !self.is_idle() {
            self.idle.notified().await;
        }
        if self.has_signed_in() {
            tokio::time::sleep(CLOSE_GRACE).await;
        }
    }
}

/// A running command of a connection.
pub(super) struct RunningCommand(Arc<Connection>);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.touch();
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_one();
        }
    }
}

/// Waits until the daemon must close a connection.
async fn ended_by(connection: &Connection, accepted: Instant) {
    tokio::select! {
        () = connection.overdue(accepted) => {}
        () = connection.drained() => {}
        () = connection.kill.cancelled() => {}
    }
}

/// Serves a connection until it is closed.
pub(super) async fn serve(
    context: Context,
    config: Arc<server::Config>,
    stream: TcpStream,
    origin: Origin,
    registered: Registered,
    kill: CancellationToken,
) {
    let accepted = Instant::now();
    let connection = Arc::new(Connection {
        context,
        origin,
        kill: kill.clone(),
        registered,
        share: OnceLock::new(),
        keys_refused: AtomicBool::new(false),
        running: AtomicUsize::new(0),
        active: Mutex::new(accepted),
        idle: Notify::new(),
        waiting: Mutex::default(),
    });
    let handler = ConnectionHandler::new(connection.clone());
    let session = async {
        let running = server::run_stream(config, Killable::new(stream, kill.clone()), handler).await?;
        running.await
    };
    let mut session = std::pin::pin!(session);
    let ended = tokio::select! {
        ended = &mut session => ended,
        () = ended_by(&connection, accepted) => {
            connection.close();
            session.await
        }
    };
    // Also ends the commands that still run.
    connection.close();
    if let Err(error) = ended {
        tracing::debug!(%error, address = %origin.address, "a connection over SSH ended with an error");
    }
    if !connection.has_signed_in() && connection.keys_refused.load(Ordering::Acquire) {
        ssh_sign_in::refused(&connection.context, origin.source).await;
    }
}
