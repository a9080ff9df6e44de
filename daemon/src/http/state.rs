//! The shared state of the HTTP handlers.

use std::{ops::Deref, sync::Arc};

use tokio::sync::Semaphore;

use super::auth::PeerRules;
use crate::service::Context;

/// Maximum number of open event streams.
const EVENT_STREAMS_MAX: usize = 64;

/// The shared state of the HTTP handlers, with the fields of the service [`Context`]. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<HttpFields>);

struct HttpFields {
    context: Context,
    peers: PeerRules,
    event_streams: Arc<Semaphore>,
}

impl AppState {
    /// Creates the state. `peers` maps local users to identities.
    pub fn new(context: Context, peers: PeerRules) -> Self {
        let event_streams = Arc::new(Semaphore::new(EVENT_STREAMS_MAX));
        Self(Arc::new(HttpFields { context, peers, event_streams }))
    }

    /// Returns the rules that map local users and groups to identities.
    pub fn peers(&self) -> &PeerRules {
        &self.0.peers
    }

    /// Limits the number of open event streams.
    pub fn event_streams(&self) -> &Arc<Semaphore> {
        &self.0.event_streams
    }
}

impl Deref for AppState {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0.context
    }
}
