//! Ids: small increasing integers, taken from the store in blocks.
//!
//! A sequence that every insert wrote would be a hot key; a block of ids costs one write. Ids of
//! a block that a stopped daemon had not used are lost, so there are gaps.
//!
//! Blocks of ids that name directories and files are also covered by the identity files beside the
//! data: no such id is handed out before the files say so. That is how a store that is older than its
//! data is recognised.

use std::{collections::HashMap, ops::Range, sync::Arc};

use farrier_proto::store::Sequence;
use tokio::sync::Mutex;

use super::{
    Read as _, Store, StoreError, Tx,
    identity::{self, Mark, MarkFiles},
    keys,
};

/// Ids taken from the store at a time.
const BLOCK: u64 = 64;
/// The same for events: each block that ends makes everybody wait for a commit.
const EVENT_BLOCK: u64 = 4_096;

/// What is counted; each kind counts for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Users and organisations, which the API lets stand for one another.
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
    /// Events.
    Event,
    /// Webhooks.
    Hook,
    /// Block files: never the same name twice, whatever was lost.
    BlockFile,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Owner,
        Self::Token,
        Self::Repository,
        Self::Run,
        Self::Job,
        Self::Artifact,
        Self::Event,
        Self::Hook,
        Self::BlockFile,
    ];

    /// Whether ids of this kind are names of directories or files.
    fn names_files(self) -> bool {
        matches!(self, Self::Repository | Self::Artifact | Self::BlockFile)
    }

    /// How many are taken at a time.
    fn block(self) -> u64 {
        match self {
            Self::Event => EVENT_BLOCK,
            _ => BLOCK,
        }
    }

    /// The word under which the sequence is stored. Never changed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Token => "token",
            Self::Repository => "repository",
            Self::Run => "run",
            Self::Job => "job",
            Self::Artifact => "artifact",
            Self::Event => "event",
            Self::Hook => "hook",
            Self::BlockFile => "block-file",
        }
    }
}

/// The blocks at hand.
#[derive(Default)]
pub struct Ids {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    blocks: HashMap<Kind, Range<u64>>,
    /// Absent while the store has no data beside it.
    marks: Option<Marks>,
}

/// The identity files and the mark that they hold.
struct Marks {
    files: Arc<dyn MarkFiles>,
    written: u64,
}

impl Ids {
    pub(super) async fn keep_marks(&self, files: Arc<dyn MarkFiles>, written: u64) {
        self.state.lock().await.marks = Some(Marks { files, written });
    }

    /// The next id of `kind`. The first is 1.
    pub async fn next(&self, store: &Store, kind: Kind) -> Result<u64, StoreError> {
        let State { blocks, marks } = &mut *self.state.lock().await;
        let block = blocks.entry(kind).or_default();
        if let Some(id) = block.next() {
            return Ok(id);
        }
        *block = match marks.as_mut().filter(|_| kind.names_files()) {
            Some(marks) => marks.take_block(store, kind).await?,
            None => store.write(async |tx: Tx| take_block(&tx, kind).await).await?,
        };
        Ok(block.next().expect("a fresh block holds ids"))
    }
}

/// What came of reserving a block together with the next mark.
enum TakenBlock {
    /// `None`: the store has no identity.
    Block(Range<u64>, Option<Mark>),
    /// The files lack the pending mark: they could not be written, or a commit whose outcome was
    /// unknown has happened. Nothing was reserved.
    Behind(Mark),
}

impl Marks {
    /// Reserves a block and the next mark in one transaction, then writes the files.
    async fn take_block(&mut self, store: &Store, kind: Kind) -> Result<Range<u64>, StoreError> {
        const TRIES: u32 = 2;
        for _ in 0..TRIES {
            let written = self.written;
            let taken = store.write(async |tx: Tx| {
                let behind = identity::pending(&tx).await?.filter(|mark| mark.mark != written);
                if let Some(mark) = behind {
                    return Ok(TakenBlock::Behind(mark));
                }
                let block = take_block(&tx, kind).await?;
                identity::advance(&tx).await?;
                Ok::<_, StoreError>(TakenBlock::Block(block, identity::pending(&tx).await?))
            });
            match taken.await? {
                TakenBlock::Block(block, mark) => {
                    if let Some(mark) = mark {
                        self.write(&mark).await?;
                    }
                    return Ok(block);
                }
                TakenBlock::Behind(mark) => self.write(&mark).await?,
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

async fn take_block(tx: &Tx, kind: Kind) -> Result<Range<u64>, StoreError> {
    let key = keys::sequence(kind);
    let first = tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next);
    let behind = first + kind.block();
    tx.put(key, &Sequence { next: behind });
    Ok(first..behind)
}

/// Lets the sequence of `kind` go on at `next` if it would go on below.
pub async fn raise(tx: &Tx, kind: Kind, next: u64) -> Result<(), StoreError> {
    let key = keys::sequence(kind);
    if tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next) < next {
        tx.put(key, &Sequence { next });
    }
    Ok(())
}
