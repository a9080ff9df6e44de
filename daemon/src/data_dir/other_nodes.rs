//! Checks whether other nodes of the store can go on beside a daemon that starts.

use farrier_proto::store::Node;

use super::{DataDirError, KeySources, node_id::node_id};
use crate::{
    clock::Clock,
    config::Config,
    store::{Store, StoreError, Tx, format, nodes, sealing, value},
    tasks,
};

/// Returns an error if a node that is alive could not read what this daemon is about to write: rows of a format that it
/// does not know, at whatever level the store is, or secrets that are encrypted with another key. Changes no rows.
pub(crate) async fn check_other_nodes(
    store: &Store,
    config: &Config,
    clock: &Clock,
    keys: &KeySources,
) -> Result<(), DataDirError> {
    if !store.is_shared() {
        return Ok(());
    }
    let (own, now) = (own_id(config).await?, clock.now_ms());
    let read = store.write(async |tx: Tx| {
        Ok::<_, StoreError>((nodes::others_alive(&tx, own, now).await?, sealing::key_ids(&tx).await?))
    });
    let (others, known) = read.await.map_err(|source| DataDirError::from_store(config, source))?;
    // 0: a row without a level.
    let is_older = |node: &&Node| (1..value::CONVERTED_LEVEL).contains(&node.format_level);
    let older: Vec<Node> = others.iter().filter(is_older).cloned().collect();
    if !older.is_empty() {
        return Err(DataDirError::OlderNodes { nodes: nodes::names(&older), level: value::CONVERTED_LEVEL });
    }
    let is_new = keys.all().next().is_some_and(|current| known.first().is_some_and(|known| *known != current.id()));
    if is_new && !others.is_empty() {
        return Err(DataDirError::KeyInUse { nodes: nodes::names(&others) });
    }
    Ok(())
}

/// Raises the format level of the store to that of this release, unless daemons of an earlier release may use it.
pub(crate) async fn raise_format_level(store: &Store, config: &Config, clock: &Clock) -> Result<(), DataDirError> {
    if store.format_level() == value::FORMAT_LEVEL {
        return Ok(());
    }
    let raised = format::raise_at_start(store, own_id(config).await?, clock.now_ms()).await;
    let level = raised.map_err(|source| DataDirError::from_store(config, source).refined(config))?;
    if level < value::FORMAT_LEVEL {
        tracing::info!(
            format_level = level,
            known = value::FORMAT_LEVEL,
            "the store stays at its format level, because other daemons may use it; farrierd store upgrade raises the \
             level when all daemons have this version"
        );
    }
    Ok(())
}

/// Returns the ID of the node of this data directory.
async fn own_id(config: &Config) -> Result<u64, DataDirError> {
    let data_dir = config.data_dir.clone();
    let own = tasks::blocking(move || node_id(&data_dir)).await;
    own.map_err(|source| DataDirError::from_io(config, source))
}
