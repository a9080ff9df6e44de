//! Decides whether bytes that no row needs any more may be removed from the blob store now.
//!
//! Acknowledged data that this could lose: what a running backup reads, on this node or on another one. The caller asks
//! after the transaction that made the bytes unneeded, or after it has read its rows, and before it removes them. See
//! `removal_holds` and `store::removal_hold`.

use super::{Context, Error};
use crate::store::{Tx, removal_hold};

/// Returns whether a backup may need bytes in the blob store. Rows of removals that are left out stay, so that they are
/// done later.
pub(super) async fn are_held(context: &Context) -> Result<bool, Error> {
    if context.git.removals().is_held() {
        return Ok(true);
    }
    if !context.store.is_shared() {
        return Ok(false);
    }
    let now = context.now_ms();
    // By the clock of the store, which decides when a hold has ended.
    let held = context.store.write(async |tx: Tx| removal_hold::is_held(&tx, now).await).await;
    Ok(held?)
}
