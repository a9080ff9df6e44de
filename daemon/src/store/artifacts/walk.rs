//! Pages through artifacts in key order across repositories. Each page starts after the last artifact of the
//! previous page, so the cost of a page depends neither on its position nor on the number of artifacts.

use farrier_proto::store::Artifact;

use super::{ArtifactList, next};
use crate::store::{
    Read, StoreError,
    engine::{Key, Range, Scan},
    keys,
};

/// The set and order of the artifacts to page through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactOrder {
    /// All artifacts in any state, newest first.
    All,
    /// The finalized and expired artifacts of a repository, newest first.
    Repository(u64),
    /// The finalized and expired artifacts of a run, newest first.
    Run(u64),
    /// Finalized artifacts that expire at or before `until_ms`, earliest expiry first.
    Expiry {
        /// Latest expiry time, milliseconds since the epoch.
        until_ms: i64,
    },
    /// Artifacts with an upload that is not finalized, by the start of the upload.
    Uploads,
}

/// A position after an artifact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArtifactPosition {
    /// The artifact's time if the order is by time, else 0.
    pub ms: i64,
    /// The artifact's id.
    pub id: u64,
}

impl ArtifactOrder {
    /// Returns the position of `row` in this order.
    pub fn position(self, row: &Artifact) -> ArtifactPosition {
        let ms = match self {
            Self::All | Self::Repository(_) | Self::Run(_) => 0,
            Self::Expiry { .. } => row.expires_ms,
            Self::Uploads => row.upload.as_ref().map_or(0, |upload| upload.started_ms),
        };
        ArtifactPosition { ms, id: row.id }
    }
}

/// Returns the next artifacts after `after`, at most `limit`.
pub async fn next_page(
    read: &impl Read,
    walk: ArtifactOrder,
    after: Option<ArtifactPosition>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let id = after.map(|after| after.id);
    match walk {
        ArtifactOrder::Repository(repository) => next(read, ArtifactList::Repository(repository), id, limit).await,
        ArtifactOrder::Run(run) => next(read, ArtifactList::Run(run), id, limit).await,
        ArtifactOrder::All => {
            let all = Range::prefix(keys::tag("a"));
            let range = Range { high: id.map(keys::artifact).or(all.high), ..all };
            let rows = read.scan::<Artifact>(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
            Ok(rows.into_iter().map(|(_, row)| row).collect())
        }
        ArtifactOrder::Expiry { until_ms } => {
            let start_after = after.map(|after| keys::artifact_expiry(after.ms, after.id));
            by_time(read, keys::artifact_expiries(until_ms), start_after, limit).await
        }
        ArtifactOrder::Uploads => {
            let start_after = after.map(|after| keys::upload_started(after.ms, after.id));
            by_time(read, keys::uploads_started(i64::MAX), start_after, limit).await
        }
    }
}

async fn by_time(
    read: &impl Read,
    range: Range,
    start_after: Option<Key>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let range = match start_after {
        Some(key) => range.after(&key),
        None => range,
    };
    let pairs = read.scan_bytes(&Scan::of(range, limit)).await?;
    let rows: Vec<Key> = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).map(keys::artifact).collect();
    Ok(read.get_many(&rows).await?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farrier_proto::store::{ArtifactState, Content, Upload};

    use super::{super::put, *};
    use crate::store::{Store, Tx, engine::MemoryEngine};

    /// Creates artifacts 1 to 9 of two repositories and three runs. Later ones expire earlier, some at the same
    /// time. The last one is still being uploaded.
    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        store
            .write(async |tx: Tx| {
                for id in 1..=9_u64 {
                    let is_final = id < 9;
                    let state = if is_final { ArtifactState::Final } else { ArtifactState::Pending };
                    let row = Artifact {
                        id,
                        repository_id: 1 + id % 2,
                        run_id: 1 + id % 3,
                        name: format!("n{id}"),
                        state: state.into(),
                        content: is_final.then(Content::default),
                        upload: (!is_final).then(|| Upload { generation: 1, started_ms: 5, ..Upload::default() }),
                        expires_ms: 100 - i64::try_from(id / 2).expect("small"),
                        ..Artifact::default()
                    };
                    put(&tx, None, &row);
                }
                Ok::<_, StoreError>(())
            })
            .await
            .expect("rows");
        store
    }

    async fn all_ids(read: &impl Read, walk: ArtifactOrder, limit: usize) -> Vec<u64> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let rows = next_page(read, walk, after, limit).await.expect("rows");
            let Some(last) = rows.last() else { return ids };
            after = Some(walk.position(last));
            ids.extend(rows.iter().map(|row| row.id));
        }
    }

    #[tokio::test]
    async fn pages_of_any_length_give_the_same_artifacts() {
        let store = store().await;
        let read = store.read().await.expect("a snapshot");
        for limit in [1, 2, 3, 100] {
            let all = all_ids(&read, ArtifactOrder::All, limit).await;
            assert_eq!(all, [9, 8, 7, 6, 5, 4, 3, 2, 1], "{limit}");
            assert_eq!(all_ids(&read, ArtifactOrder::Repository(1), limit).await, [8, 6, 4, 2], "{limit}");
            assert_eq!(all_ids(&read, ArtifactOrder::Run(1), limit).await, [6, 3], "{limit}");
            let expiry = all_ids(&read, ArtifactOrder::Expiry { until_ms: i64::MAX }, limit).await;
            assert_eq!(expiry, [8, 6, 7, 4, 5, 2, 3, 1], "{limit}");
            assert_eq!(all_ids(&read, ArtifactOrder::Expiry { until_ms: 97 }, limit).await, [8, 6, 7], "{limit}");
            assert_eq!(all_ids(&read, ArtifactOrder::Uploads, limit).await, [9], "{limit}");
        }
    }
}
