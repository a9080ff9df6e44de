//! Walking artifacts by key, across repositories: each step begins where the last one ended, so that
//! a step costs the same wherever it is and however many artifacts there are.

use farrier_proto::store::Artifact;

use super::{List, next};
use crate::store::{
    Read, StoreError,
    engine::{Key, Range, Scan},
    keys,
};

/// Along which keys artifacts are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// All, in whatever state, newest first.
    All,
    /// The finalized and expired ones of a repository, newest first.
    Repository(u64),
    /// The finalized and expired ones of a run, newest first.
    Run(u64),
    /// Finalized ones that expire at this time or before, the first to expire first.
    Expiry {
        /// The last moment.
        until_ms: i64,
    },
    /// Those with an upload that is not finalized, by its begin.
    Uploads,
}

/// A place in a walk: behind the artifact with this number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The artifact's time in a walk by time, else 0.
    pub ms: i64,
    /// The artifact's number.
    pub id: u64,
}

impl Walk {
    /// Where `row` stands in this walk.
    pub fn position(self, row: &Artifact) -> Position {
        let ms = match self {
            Self::All | Self::Repository(_) | Self::Run(_) => 0,
            Self::Expiry { .. } => row.expires_ms,
            Self::Uploads => row.upload.as_ref().map_or(0, |upload| upload.started_ms),
        };
        Position { ms, id: row.id }
    }
}

/// The next at most `limit` artifacts behind `after`.
pub async fn step(
    read: &impl Read,
    walk: Walk,
    after: Option<Position>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let id = after.map(|after| after.id);
    match walk {
        Walk::Repository(repository) => next(read, List::Repository(repository), id, limit).await,
        Walk::Run(run) => next(read, List::Run(run), id, limit).await,
        Walk::All => {
            let all = Range::prefix(keys::tag("a"));
            let range = Range { high: id.map(keys::artifact).or(all.high), ..all };
            let rows = read.scan::<Artifact>(&Scan { reverse: true, ..Scan::of(range, limit) }).await?;
            Ok(rows.into_iter().map(|(_, row)| row).collect())
        }
        Walk::Expiry { until_ms } => {
            let behind = after.map(|after| keys::artifact_expiry(after.ms, after.id));
            by_time(read, keys::artifact_expiries(until_ms), behind, limit).await
        }
        Walk::Uploads => {
            let behind = after.map(|after| keys::upload_started(after.ms, after.id));
            by_time(read, keys::uploads_started(i64::MAX), behind, limit).await
        }
    }
}

async fn by_time(
    read: &impl Read,
    range: Range,
    behind: Option<Key>,
    limit: usize,
) -> Result<Vec<Artifact>, StoreError> {
    let range = match behind {
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

    /// Artifacts 1 to 9 of two repositories and three runs; the later ones expire earlier, two of them
    /// at the same time, and the last is only being uploaded.
    async fn store() -> Store {
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        store
            .write(async |tx: Tx| {
                for id in 1..=9_u64 {
                    let final_one = id < 9;
                    let state = if final_one { ArtifactState::Final } else { ArtifactState::Pending };
                    let row = Artifact {
                        id,
                        repository_id: 1 + id % 2,
                        run_id: 1 + id % 3,
                        name: format!("n{id}"),
                        state: state.into(),
                        content: final_one.then(Content::default),
                        upload: (!final_one).then(|| Upload { generation: 1, started_ms: 5, ..Upload::default() }),
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

    async fn walked(read: &impl Read, walk: Walk, limit: usize) -> Vec<u64> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let rows = step(read, walk, after, limit).await.expect("rows");
            let Some(last) = rows.last() else { return ids };
            after = Some(walk.position(last));
            ids.extend(rows.iter().map(|row| row.id));
        }
    }

    #[tokio::test]
    async fn steps_of_any_length_give_the_same_walk() {
        let store = store().await;
        let read = store.read().await.expect("a snapshot");
        for limit in [1, 2, 3, 100] {
            let all = walked(&read, Walk::All, limit).await;
            assert_eq!(all, [9, 8, 7, 6, 5, 4, 3, 2, 1], "{limit}");
            assert_eq!(walked(&read, Walk::Repository(1), limit).await, [8, 6, 4, 2], "{limit}");
            assert_eq!(walked(&read, Walk::Run(1), limit).await, [6, 3], "{limit}");
            let expiry = walked(&read, Walk::Expiry { until_ms: i64::MAX }, limit).await;
            assert_eq!(expiry, [8, 6, 7, 4, 5, 2, 3, 1], "{limit}");
            assert_eq!(walked(&read, Walk::Expiry { until_ms: 97 }, limit).await, [8, 6, 7], "{limit}");
            assert_eq!(walked(&read, Walk::Uploads, limit).await, [9], "{limit}");
        }
    }
}
