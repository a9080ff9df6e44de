//! Entries of commands of farrierd that change the data while no daemon runs.

use farrier_proto::store::{AuditActor, AuditActorKind};
use rustix::process::getuid;

use super::Entry;
use crate::{
    clock::Millis,
    store::{Store, StoreError, Tx, audit, order},
};

/// Records `entry` in a store that no daemon uses. The actor is `command` of the local user that runs this process.
pub async fn record_offline(store: &Store, command: &str, entry: Entry, now: Millis) -> Result<(), StoreError> {
    let actor = AuditActor {
        kind: AuditActorKind::Command.into(),
        name: format!("farrierd {command}"),
        uid: Some(getuid().as_raw()),
        ..AuditActor::default()
    };
    // No daemon has done this since the engine was opened.
    order::raise(store).await?;
    let entry = &entry;
    store
        .write(async |tx: Tx| {
            let newest = audit::newest(&tx).await?.unwrap_or_default();
            let mut row = entry.clone().into_row();
            row.id = audit::next_id(&tx).await?;
            row.at_ms = now.max(newest.at_ms);
            row.actor = Some(actor.clone());
            audit::insert(&tx, &row);
            Ok(())
        })
        .await
}
