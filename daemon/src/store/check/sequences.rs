//! Detects sequences that would assign ids that are already in use.

use farrier_proto::store::Sequence;

use super::super::{
    Read, Store, StoreError, Tx,
    engine::{Range, Scan},
    ids::IdKind,
    keys,
};

/// Number of keys read at a time if ids are not in order.
const PAGE: usize = 1_000;

/// A sequence that would assign an id that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleSequence {
    /// The kind of ids.
    pub kind: IdKind,
    /// The highest id in use.
    pub used: u64,
}

/// Returns the sequences that are behind. `outside` returns the highest id of a kind that is used outside the
/// store or reserved according to an identity file.
pub async fn stale_sequences(
    read: &impl Read,
    outside: impl Fn(IdKind) -> u64 + Send + Sync,
) -> Result<Vec<StaleSequence>, StoreError> {
    let owners = last_id(read, "u").await?.max(last_id(read, "o").await?).max(last_id(read, "ya").await?);
    let artifacts = last_id(read, "a").await?.max(last_id(read, "ce").await?).max(last_id(read, "lk").await?);
    let artifacts = artifacts.max(last_id(read, "li").await?);
    let used = [
        (IdKind::Owner, owners),
        (IdKind::Token, highest_id(read, "tu").await?),
        (IdKind::Repository, last_id(read, "r").await?),
        (IdKind::Run, last_id(read, "j").await?),
        (IdKind::Job, last_id(read, "ji").await?),
        (IdKind::Artifact, artifacts),
        (IdKind::Hook, last_id(read, "h").await?),
        (IdKind::BlockFile, 0),
        (IdKind::Status, highest_id(read, "cs").await?),
        (IdKind::Release, highest_id(read, "le").await?),
        (IdKind::SshKey, last_id(read, "k").await?),
        (IdKind::DeployKey, highest_id(read, "kd").await?),
        (IdKind::LfsLock, highest_id(read, "ll").await?),
        (IdKind::Rule, highest_id(read, "bp").await?.max(highest_id(read, "bt").await?)),
        (IdKind::GpgKey, highest_id(read, "gk").await?),
    ];
    let mut found = Vec::new();
    for (kind, used) in used {
        let used = used.max(outside(kind));
        let next = read.get::<Sequence>(&keys::sequence(kind)).await?.map_or(1, |sequence| sequence.next);
        if used >= next {
            found.push(StaleSequence { kind, used });
        }
    }
    Ok(found)
}

/// Moves a sequence past the ids in use.
pub async fn raise(store: &Store, stale: StaleSequence) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            tx.put(keys::sequence(stale.kind), &Sequence { next: stale.used + 1 });
            Ok(())
        })
        .await
}

/// Returns the highest id of keys that end with an id and are sorted by it; 0 if there are none.
async fn last_id(read: &impl Read, tag: &str) -> Result<u64, StoreError> {
    let scan = Scan { range: Range::prefix(keys::tag(tag)), reverse: true, skip: 0, limit: 1 };
    let last = read.scan_bytes(&scan).await?.pop();
    Ok(last.and_then(|(key, _)| keys::trailing_id(&key)).unwrap_or(0))
}

/// Returns the highest id of keys that end with an id and are not sorted by it; 0 if there are none.
async fn highest_id(read: &impl Read, tag: &str) -> Result<u64, StoreError> {
    let (mut range, mut highest) = (Range::prefix(keys::tag(tag)), 0);
    loop {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), PAGE)).await?;
        highest = pairs.iter().filter_map(|(key, _)| keys::trailing_id(key)).fold(highest, u64::max);
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => range = range.after(last),
            _ => return Ok(highest),
        }
    }
}
