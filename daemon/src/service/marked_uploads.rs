//! Uploads whose bytes are stored before a row refers to them: files of releases and LFS objects.
//!
//! The mark is written before the first byte, and the transaction that writes the row removes it. The bytes of a marked
//! upload are removed when it fails, and when its daemon has ended.

use super::{Context, Error, nodes::WorkState};
use crate::store::{Tx, releases::assets};

/// Marks to read at a time.
const MARKS_AT_ONCE: usize = 100;

/// Removes the bytes of uploads whose daemon has ended before it recorded them. The transaction that records the bytes
/// removes their mark, so no acknowledged bytes have one.
pub async fn recover(context: &Context) -> Result<(), Error> {
    let (now, mut last) = (context.now_ms(), 0);
    loop {
        let ids = &assets::marked(&context.store.read().await?, last, MARKS_AT_ONCE).await?;
        let Some(id) = ids.last() else { return Ok(()) };
        last = *id;
        let abandon = async |tx: Tx| {
            for id in ids {
                let Some(mark) = assets::mark_of(&tx, *id).await? else { continue };
                match context.node.state_of(&tx, mark.begun_by.as_ref(), now).await? {
                    WorkState::Own | WorkState::Elsewhere => {}
                    WorkState::Interrupted => assets::abandon(&tx, *id, now),
                }
            }
            Ok::<_, Error>(())
        };
        context.store.write(abandon).await?;
    }
}

/// A marked upload. If it is dropped before it was recorded, because it failed or the client disconnected, its bytes
/// are removed.
pub struct MarkedUpload<'a> {
    context: &'a Context,
    id: u64,
    is_recorded: bool,
}

impl<'a> MarkedUpload<'a> {
    /// Takes care of the upload `id`, whose mark was just committed.
    pub fn new(context: &'a Context, id: u64) -> Self {
        Self { context, id, is_recorded: false }
    }

    /// Called when the transaction that removes the mark was committed.
    pub fn recorded(&mut self) {
        self.is_recorded = true;
    }
}

impl Drop for MarkedUpload<'_> {
    fn drop(&mut self) {
        if !self.is_recorded {
            let (context, id) = (self.context.clone(), self.id);
            self.context.tasks.short(async move { abandon(&context, id).await });
        }
    }
}

/// Marks the bytes of a failed upload for removal. After an error, it is done when the daemon has ended.
///
/// A recorded file has no mark, so its bytes are never removed here. This also holds if the outcome of the commit that
/// records the file is unknown, because the transaction below reads the mark.
async fn abandon(context: &Context, id: u64) {
    let now = context.now_ms();
    let abandoned = context.store.write(async |tx: Tx| {
        if assets::is_marked(&tx, id).await? {
            assets::abandon(&tx, id, now);
        }
        Ok::<_, Error>(())
    });
    match abandoned.await {
        Ok(()) => context.sweep.now(),
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "a failed upload stays marked");
        }
    }
}
