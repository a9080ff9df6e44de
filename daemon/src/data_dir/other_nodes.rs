//! Checks whether other nodes of the store can go on beside a daemon that starts.

use farrier_proto::store::Node;

use super::{DataDirError, KeySources, node_id::node_id};
use crate::{
    clock::Clock,
    config::Config,
    store::{Store, StoreError, Tx, nodes, sealing, value},
    tasks,
};

/// Returns an error if a node that is alive could not read what this daemon is about to write: a newer format, or
/// secrets that are encrypted with another key. Changes no rows.
pub(crate) async fn check_other_nodes(
    store: &Store,
    config: &Config,
    clock: &Clock,
    keys: &KeySources,
) -> Result<(), DataDirError> {
    if !store.is_shared() {
        return Ok(());
    }
    let (data_dir, now) = (config.data_dir.clone(), clock.now_ms());
    let own = tasks::blocking(move || node_id(&data_dir)).await;
    let own = own.map_err(|source| DataDirError::from_io(config, source))?;
    let read = store.write(async |tx: Tx| {
        Ok::<_, StoreError>((nodes::others_alive(&tx, own, now).await?, sealing::key_ids(&tx).await?))
    });
    let (others, known) = read.await.map_err(|source| DataDirError::from_store(config, source))?;
    // 0: a row without a level.
    let is_older = |node: &&Node| (1..value::FORMAT_LEVEL).contains(&node.format_level);
    let older: Vec<&Node> = others.iter().filter(is_older).collect();
    if !older.is_empty() {
        return Err(DataDirError::OlderNodes { nodes: names(&older), level: value::FORMAT_LEVEL });
    }
    let is_new = keys.all().next().is_some_and(|current| known.first().is_some_and(|known| *known != current.id()));
    if is_new && !others.is_empty() {
        return Err(DataDirError::KeyInUse { nodes: names(&others.iter().collect::<Vec<_>>()) });
    }
    Ok(())
}

/// Returns the names and versions of nodes.
fn names(nodes: &[&Node]) -> String {
    let names: Vec<String> = nodes.iter().map(|node| format!("{} (version {})", node.name, node.version)).collect();
    names.join(", ")
}
