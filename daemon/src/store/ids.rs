//! Ids: small increasing integers, taken from the store in blocks.
//!
//! A sequence that every insert wrote would be a hot key; a block of ids costs one write. Ids of
//! a block that a stopped daemon had not used are lost, so there are gaps.

use std::collections::HashMap;

use farrier_proto::store::Sequence;
use tokio::sync::Mutex;

use super::{Read as _, Store, StoreError, Tx, keys};

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
    blocks: Mutex<HashMap<Kind, std::ops::Range<u64>>>,
}

impl Ids {
    /// The next id of `kind`. The first is 1.
    pub async fn next(&self, store: &Store, kind: Kind) -> Result<u64, StoreError> {
        let mut blocks = self.blocks.lock().await;
        let block = blocks.entry(kind).or_default();
        if let Some(id) = block.next() {
            return Ok(id);
        }
        *block = take_block(store, kind).await?;
        Ok(block.next().expect("a fresh block holds ids"))
    }
}

async fn take_block(store: &Store, kind: Kind) -> Result<std::ops::Range<u64>, StoreError> {
    store
        .write(async |tx: Tx| {
            let key = keys::sequence(kind);
            let first = tx.get::<Sequence>(&key).await?.map_or(1, |sequence| sequence.next);
            let behind = first + kind.block();
            tx.put(key, &Sequence { next: behind });
            Ok(first..behind)
        })
        .await
}
