//! Assigns ids: small increasing integers, which are reserved in the store in blocks.
//!
//! If every insert wrote its sequence, the sequence would be a hot key; a block of ids costs one write. The
//! unused ids of a block are lost when the daemon stops, so there are gaps.
//!
//! If several daemons had blocks of their own, ids would not increase in the order in which they are assigned. So the
//! engine gives the ids of a store that is shared. The stored sequence still covers them: an id is used only after the
//! sequence is above it. So a store that was copied to another engine, or that one process uses alone again, continues
//! after them.
//!
//! Ids that name directories or files are also covered by the identity files beside the data: such an id is
//! assigned only after the files record its block. This detects a store that is older than its data.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
};

use farrier_proto::store::Sequence;
use tokio::sync::Mutex;

use super::{
    Read as _, Store, StoreError, Tx,
    identity::{self, Mark, MarkFiles},
    keys,
};

/// Ids reserved at a time.
const BLOCK: u64 = 64;

/// A kind of ids. Each kind has its own sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// Users, organizations and teams. They share one sequence because the API accepts the id of a user or of an
    /// organization in some routes, and because the team "Owners" has the id of its organization.
    Owner,
    /// Access tokens.
    Token,
    /// Repositories.
    Repository,
    /// Workflow runs.
    Run,
    /// Workflow jobs.
    Job,
    /// Artifacts.
    Artifact,
    /// Webhooks.
    Hook,
    /// Files of artifact blocks. An id is never reused, even if data was lost.
    BlockFile,
    /// Statuses of commits.
    Status,
    /// Releases.
    Release,
    /// Contents of SSH keys.
    SshKey,
    /// Deploy keys.
    DeployKey,
    /// Locks of LFS files.
    LfsLock,
    /// Rules that protect branches and tags.
    Rule,
    /// OpenPGP keys.
    GpgKey,
}

impl IdKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Owner,
        Self::Token,
        Self::Repository,
        Self::Run,
        Self::Job,
        Self::Artifact,
        Self::Hook,
        Self::BlockFile,
        Self::Status,
        Self::Release,
        Self::SshKey,
        Self::DeployKey,
        Self::LfsLock,
        Self::Rule,
        Self::GpgKey,
    ];

    /// Returns whether directories or files are named by ids of this kind.
    fn names_files(self) -> bool {
        matches!(self, Self::Repository | Self::Artifact | Self::BlockFile)
    }

    /// Returns the name of the stored sequence. It never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Token => "token",
            Self::Repository => "repository",
            Self::Run => "run",
            Self::Job => "job",
            Self::Artifact => "artifact",
            Self::Hook => "hook",
            Self::BlockFile => "block-file",
            Self::Status => "status",
            Self::Release => "release",
            Self::SshKey => "ssh-key",
            Self::DeployKey => "deploy-key",
            Self::LfsLock => "lfs-lock",
            Self::Rule => "rule",
            Self::GpgKey => "gpg-key",
        }
    }
}

/// The reserved blocks of ids.
#[derive(Default)]
pub struct Ids {
    state: Mutex<State>,
    /// For each kind, an id below which the stored sequence covers all ids that the engine gives.
    covered: SyncMutex<HashMap<IdKind, u64>>,
}

#[derive(Default)]
struct State {
    blocks: HashMap<IdKind, Range<u64>>,
    /// `None` if the store is not paired with a data directory.
    marks: Option<Marks>,
}

/// The identity files and the mark that they have.
struct Marks {
    files: Arc<dyn MarkFiles>,
    written: u64,
}

impl Ids {
    pub(super) async fn keep_marks(&self, files: Arc<dyn MarkFiles>, written: u64) {
        self.state.lock().await.marks = Some(Marks { files, written });
    }

    /// Lets other processes assign ids of the same store.
    pub(super) async fn share(&self, store: &Store) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        // They are below those that the engine gives.
        state.blocks.clear();
        let numbers = identity::next_ids(&store.read().await?).await?;
        let numbers: Vec<_> = numbers.into_iter().map(|(kind, next)| (kind.name(), next)).collect();
        store.engine.share(&numbers).await?;
        // What is in the data directory can be created again, so it need not be compared with the store.
        state.marks = None;
        Ok(())
    }

    /// Returns an id that the engine gives, once the stored sequence covers it.
    async fn next_shared(&self, store: &Store, kind: IdKind) -> Result<u64, StoreError> {
        let id = store.engine.next_number(kind.name()).await?;
        let is_covered = || self.covered().get(&kind).is_some_and(|covered| id < *covered);
        if is_covered() {
            return Ok(id);
        }
        // One transaction at a time, because those of this daemon would conflict.
        let _covering = self.state.lock().await;
        if !is_covered() {
            let covered = store.write(async |tx: Tx| cover(&tx, kind, id).await).await?;
            self.covered().insert(kind, covered);
        }
        Ok(id)
    }

    fn covered(&self) -> MutexGuard<'_, HashMap<IdKind, u64>> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next id of `kind`. The first is 1.
    pub async fn next(&self, store: &Store, kind: IdKind) -> Result<u64, StoreError> {
        if store.engine.gives_numbers() {
            return self.next_shared(store, kind).await;
        }
        let mut state = self.state.lock().await;
        // The store may have been shared meanwhile.
        if store.engine.gives_numbers() {
            drop(state);
            return self.next_shared(store, kind).await;
        }
        let State { blocks, marks } = &mut *state;
        let block = blocks.entry(kind).or_default();
        if let Some(id) = block.next() {
            return Ok(id);
        }
        *block = match marks.as_mut().filter(|_| kind.names_files()) {
            Some(marks) => marks.reserve_block(store, kind).await?,
            None => store.write(async |tx: Tx| reserve_block(&tx, kind).await).await?,
        };
        Ok(block.next().expect("a fresh block holds ids"))
    }
}

/// The result of a transaction that reserves a block and the next mark.
enum Reservation {
    /// The reserved block and the new pending mark; `None` if the store has no identity.
    Reserved(Range<u64>, Option<Mark>),
    /// The files do not have the pending mark: writing them failed, or a commit with unknown outcome succeeded.
    /// Nothing was reserved.
    FilesBehind(Mark),
}

impl Marks {
    /// Reserves a block and the next mark in one transaction, then writes the files.
    async fn reserve_block(&mut self, store: &Store, kind: IdKind) -> Result<Range<u64>, StoreError> {
        const TRIES: u32 = 2;
        for _ in 0..TRIES {
            let written = self.written;
            let reservation = store.write(async |tx: Tx| {
                let behind = identity::pending(&tx).await?.filter(|mark| mark.mark != written);
                if let Some(mark) = behind {
                    return Ok(Reservation::FilesBehind(mark));
                }
                let block = reserve_block(&tx, kind).await?;
                identity::advance(&tx).await?;
                Ok::<_, StoreError>(Reservation::Reserved(block, identity::pending(&tx).await?))
            });
            match reservation.await? {
                Reservation::Reserved(block, mark) => {
                    if let Some(mark) = mark {
                        self.write(&mark).await?;
                    }
                    return Ok(block);
                }
                Reservation::FilesBehind(mark) => self.write(&mark).await?,
            }
        }
        Err(StoreError::Contended { tries: TRIES })
    }

    async fn write(&mut self, mark: &Mark) -> Result<(), StoreError> {
        self.files.write(mark).await.map_err(StoreError::Marks)?;
        self.written = mark.mark;
        Ok(())
    }
}

/// Raises the stored sequence above `id`, unless it is. Returns the sequence.
async fn cover(tx: &Tx, kind: IdKind, id: u64) -> Result<u64, StoreError> {
    let key = keys::sequence(kind);
    let next = tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next);
    if id < next {
        return Ok(next);
    }
    let next = id + BLOCK;
    tx.put(key, &Sequence { next });
    Ok(next)
}

async fn reserve_block(tx: &Tx, kind: IdKind) -> Result<Range<u64>, StoreError> {
    let key = keys::sequence(kind);
    let first = tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next);
    let end = first + BLOCK;
    tx.put(key, &Sequence { next: end });
    Ok(first..end)
}

/// Moves the sequence of `kind` to `next` if it is below.
pub async fn raise(tx: &Tx, kind: IdKind, next: u64) -> Result<(), StoreError> {
    let key = keys::sequence(kind);
    if tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next) < next {
        tx.put(key, &Sequence { next });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::{LostCommit, MemoryEngine};

    async fn open(engine: &MemoryEngine) -> Store {
        Store::open(Arc::new(engine.clone())).await.expect("a store")
    }

    async fn next(store: &Store, kind: IdKind) -> u64 {
        store.next_id(kind).await.expect("an id")
    }

    async fn stored(store: &Store, kind: IdKind) -> u64 {
        let read = store.read().await.expect("a snapshot");
        let row = read.get::<Sequence>(&keys::sequence(kind)).await.expect("a read");
        row.map_or(1, |row| row.next)
    }

    #[tokio::test]
    async fn ids_drawn_in_turn_on_two_nodes_increase_and_are_covered_by_the_stored_sequence() {
        let engine = MemoryEngine::shared();
        let first = open(&engine).await;
        let alone = next(&first, IdKind::Run).await;
        first.share().await.expect("shared");
        let second = open(&engine).await;
        second.share().await.expect("shared");
        let mut last = alone;
        for _ in 0..3 * BLOCK {
            for store in [&first, &second] {
                let id = next(store, IdKind::Run).await;
                assert!(id > last, "{id} after {last}");
                assert!(id < stored(store, IdKind::Run).await);
                last = id;
            }
        }
        first.raise_id(IdKind::Run, 1_000).await.expect("raised");
        assert!(next(&second, IdKind::Run).await >= 1_000);
        next(&first, IdKind::Run).await;
        let commits = (first.commits(), second.commits());
        for store in [&first, &second, &first, &second] {
            next(store, IdKind::Run).await;
        }
        assert_eq!((first.commits(), second.commits()), commits, "most ids cost no transaction");
    }

    #[tokio::test]
    async fn an_id_that_the_sequence_may_not_cover_is_not_returned() {
        let engine = MemoryEngine::shared();
        let store = open(&engine).await;
        store.share().await.expect("shared");
        engine.faults().lose_answers(LostCommit::Dropped, 1);
        assert!(store.next_id(IdKind::Token).await.is_err());
        let id = next(&store, IdKind::Token).await;
        assert!(id < stored(&store, IdKind::Token).await);
    }
}
