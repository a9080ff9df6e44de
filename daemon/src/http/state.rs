//! The shared state of the HTTP handlers.

use std::{ops::Deref, sync::Arc};

use super::auth::PeerRules;
use crate::service::Context;

/// The shared state of the HTTP handlers, with the fields of the service [`Context`]. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<HttpFields>);

struct HttpFields {
    context: Context,
    peers: PeerRules,
}

impl AppState {
    /// Creates the state. `peers` maps local users to identities.
    pub fn new(context: Context, peers: PeerRules) -> Self {
        Self(Arc::new(HttpFields { context, peers }))
    }

    /// Returns the rules that map local users and groups to identities.
    pub fn peers(&self) -> &PeerRules {
        &self.0.peers
    }
}

impl Deref for AppState {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0.context
    }
}
