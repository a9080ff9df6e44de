//! Assigns ids: small increasing integers, which are reserved in the store in blocks.
//!
//! If every insert wrote its sequence, the sequence would be a hot key; a block of ids costs one write. The
//! unused ids of a block are lost when the daemon stops, so there are gaps.
//!
//! Ids that name directories or files are also covered by the identity files beside the data: such an id is
//! assigned only after the files record its block. This detects a store that is older than its data.

use std::{collections::HashMap, ops::Range, sync::Arc};

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

    pub(super) async fn forget_marks(&self) {
        self.state.lock().await.marks = None;
    }

    /// Returns the next id of `kind`. The first is 1.
    pub async fn next(&self, store: &Store, kind: IdKind) -> Result<u64, StoreError> {
        let State { blocks, marks } = &mut *self.state.lock().await;
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
