//! Copies audit entries to the outputs outside the store: a file and the journal.
//!
//! Each output has a position in the store. It is saved after the entries were written, so that no entry is missing
//! after a kill; entries that were written since the last save are written again.
//!
//! If several nodes use the store, each node copies all entries to its own outputs and has its own positions. At the
//! first such start, a node continues at the position that the output had when only one daemon used the store: for a
//! file, if the file has entries; for the journal, if no other node has done so before.

mod file;
mod journal;

use std::{error::Error as StdError, io, path::Path, time::Duration};

use farrier_proto::store::AuditEntry;

use super::{BATCH, RETRY};
use crate::{
    service::{Context, Error, audit::AuditOutput},
    store::{Read, StoreError, Tx, audit as rows},
};

/// Pause after entries were written. Entries of this time are written together, and their position is saved once.
const PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failure.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);

/// Why entries could not be copied.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    /// The store failed.
    #[error("reading the entries or saving the position failed")]
    Store(#[from] Error),
    /// The output failed.
    #[error("{path} cannot be written")]
    Output {
        /// The file or the socket.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

/// Copies all entries to `output`, if it is configured, until the daemon stops.
pub(super) async fn run(context: &Context, output: AuditOutput) {
    let stop = context.tasks.stop().clone();
    let mut changes = context.audit.listen();
    let mut copier = Copier::new(context, output);
    loop {
        // Before the read, so that an entry that is committed after the read wakes this task.
        changes.mark_unchanged();
        let is_stopping = stop.is_cancelled();
        let copied = copier.copy_new().await;
        copier.report(copied.as_ref().err());
        if is_stopping {
            return;
        }
        let wait = async {
            match copied {
                Ok(Copied { count: 0, waits: true }) => return tokio::time::sleep(RETRY).await,
                Ok(Copied { count: 0, waits: false }) => {}
                Ok(Copied { waits: true, .. }) => return tokio::time::sleep(PAUSE).await,
                Ok(_) => tokio::time::sleep(PAUSE).await,
                Err(_) => return tokio::time::sleep(PAUSE_AFTER_ERROR).await,
            }
            // Does not fail: the sender is part of the context.
            drop(changes.changed().await);
        };
        tokio::select! {
            () = wait => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Copies entries to one output.
struct Copier<'a> {
    context: &'a Context,
    output: AuditOutput,
    /// An output that was never used begins after this entry, unless it gets all entries.
    configured_after: u64,
    /// The last entry that was copied. `None`: not read from the store yet.
    position: Option<u64>,
    /// The position in the store. `None`: it has none.
    saved: Option<u64>,
    /// Whether the output is the journal and continues at the position of all nodes, which no other node may do then.
    takes_over: bool,
    /// The last error, which is logged once.
    warned: Option<String>,
}

/// The result of copying new entries.
#[derive(Clone, Copy)]
struct Copied {
    /// Number of copied entries.
    count: usize,
    /// Whether there are entries that are not settled.
    waits: bool,
}

impl<'a> Copier<'a> {
    fn new(context: &'a Context, output: AuditOutput) -> Self {
        let configured_after = context.audit.opened_after();
        Self { context, output, configured_after, position: None, saved: None, takes_over: false, warned: None }
    }

    /// Copies the settled entries after the position, and saves the new position.
    async fn copy_new(&mut self) -> Result<Copied, CopyError> {
        let (context, output) = (self.context, self.output);
        let snapshot = context.store.read().await?;
        let end = rows::unsettled(&snapshot).await?;
        let Some(path) = output.path(&context.config.audit) else {
            self.configured_after = end.saturating_sub(1);
            return Ok(Copied { count: 0, waits: false });
        };
        let mut position = if let Some(position) = self.position {
            position
        } else {
            let (saved, earlier) = self.saved_positions(&snapshot, path).await?;
            self.saved = saved;
            self.takes_over = earlier.is_some() && output == AuditOutput::Journal && context.store.is_shared();
            saved.max(earlier).unwrap_or_else(|| output.first_position(self.configured_after))
        };
        let mut copied = Copied { count: 0, waits: false };
        let written = loop {
            let entries = rows::after(&snapshot, position, BATCH).await?;
            copied.waits = entries.last().is_some_and(|entry| entry.id >= end);
            let settled: Vec<AuditEntry> = entries.into_iter().take_while(|entry| entry.id < end).collect();
            if settled.is_empty() {
                break Ok(());
            }
            copied.count += settled.len();
            let written = write(output, path, &settled, &mut position).await;
            // Also kept if the position cannot be saved, so that no entry is written twice.
            self.position = Some(position);
            if written.is_err() {
                break written;
            }
        };
        self.position = Some(position);
        self.save(position).await?;
        written.map_err(|source| CopyError::Output { path: path.display().to_string(), source })?;
        Ok(copied)
    }

    /// Returns the position of the output of this node, and the one at which it continues if it is larger.
    async fn saved_positions(&self, read: &impl Read, path: &Path) -> Result<(Option<u64>, Option<u64>), CopyError> {
        let own = rows::position(read, &self.position_key()).await?;
        if !self.context.store.is_shared() {
            // The store was copied from a server on which this node was one of several.
            return Ok((own, rows::position(read, &self.output.key_of_node(self.context.node.id())).await?));
        }
        let continues = own.is_none() && (self.output == AuditOutput::Journal || file::has_entries(path).await);
        Ok((own, if continues { rows::position(read, self.output.key()).await? } else { None }))
    }

    /// Returns the key of the position of this node.
    fn position_key(&self) -> String {
        if self.context.store.is_shared() {
            self.output.key_of_node(self.context.node.id())
        } else {
            self.output.key().to_owned()
        }
    }

    async fn save(&mut self, position: u64) -> Result<(), Error> {
        if self.saved != Some(position) {
            let key = &self.position_key();
            let takes_over = self.takes_over;
            let save = async |tx: Tx| {
                rows::put_position(&tx, key, position);
                if takes_over {
                    rows::forget_position(&tx, self.output.key());
                }
                Ok::<_, Error>(())
            };
            self.context.store.write(save).await?;
            self.takes_over = false;
            self.saved = Some(position);
        }
        Ok(())
    }

    /// Sets whether the output fails, and logs the first of several equal errors.
    fn report(&mut self, error: Option<&CopyError>) {
        self.context.audit.set_failing(self.output, error.is_some());
        let key = self.output.key();
        let text = error.map(|error| format!("{error}: {:?}", error.source().map(ToString::to_string)));
        match error {
            Some(error) if self.warned != text => {
                let error = error as &dyn StdError;
                tracing::warn!(error, "audit entries cannot be copied to {key}; they stay in the store");
            }
            None if self.warned.is_some() => tracing::info!("audit entries are copied to {key} again"),
            _ => {}
        }
        self.warned = text;
    }
}

/// Writes `entries`. Sets `position` to the last entry that was written, also if an error is returned.
async fn write(output: AuditOutput, path: &Path, entries: &[AuditEntry], position: &mut u64) -> io::Result<()> {
    match output {
        AuditOutput::File => file::append(path, entries, position).await,
        AuditOutput::Journal => journal::send(path, entries, position).await,
    }
}
