//! Events: what happened, written with the change that it tells of.

use farrier_proto::store::Event;

use super::{Tx, keys};

/// Records `event`, whose number was taken before the transaction began.
pub fn record(tx: &Tx, event: &Event) {
    tx.put(keys::event(event.id), event);
}
