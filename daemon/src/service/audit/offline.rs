//! Entries of commands of farrierd that change the data, most of them while no daemon runs.

use farrier_proto::store::{AuditActor, AuditActorKind, AuditEntry};
use rustix::process::getuid;

use super::Entry;
use crate::{
    clock::Millis,
    store::{Store, StoreError, Tx, audit, order},
};

/// Returns the row of an entry, without ID and time. The actor is `command` of the local user that runs this process.
pub fn row_of_command(command: &str, entry: Entry) -> AuditEntry {
    let actor = AuditActor {
        kind: AuditActorKind::Command.into(),
        name: format!("farrierd {command}"),
        uid: Some(getuid().as_raw()),
        ..AuditActor::default()
    };
    AuditEntry { actor: Some(actor), ..entry.into_row() }
}

/// Records `entry` in a store that no daemon uses. The actor is `command` of the local user that runs this process.
pub async fn record_offline(store: &Store, command: &str, entry: Entry, now: Millis) -> Result<(), StoreError> {
    let row = &row_of_command(command, entry);
    // No daemon has done this since the engine was opened.
    order::raise(store).await?;
    store.write(async |tx: Tx| audit::record(&tx, row, now).await).await
}
