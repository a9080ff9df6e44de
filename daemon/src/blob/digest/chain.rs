//! Decides which blocks of an upload are hashed next. Does no I/O and never waits.
//!
//! A chain is the sequence of blocks that are in the hash so far, with saved hash states after some of them. At
//! most one *appender* may extend it at a time: a writer that hashes the block that it writes, or a reader that
//! hashes blocks written before. If a change makes the appender's work useless, the appender loses this right
//! and its result is ignored.

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};

use super::{super::BlockRef, order::BlockOrder};

/// Limit of the blocks read in one job, bytes. A single larger block is also one job.
const JOB_BYTES: u64 = 8 * 1024 * 1024;
const JOB_BLOCKS_MAX: usize = 1024;
/// When more bytes than this are ready to be hashed, uploads should wait. Hashing them takes about 10 ms.
const LAG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most saved hash states of one chain. Each has about 120 bytes.
const STATES_MAX: usize = 128;

/// The hash of one upload.
pub(super) struct Chain {
    order: BlockOrder,
    /// The blocks in the hash.
    hashed: Vec<BlockRef>,
    /// Saved hash states, each with the number of blocks in it. The first is empty, the last contains all of
    /// `hashed`.
    states: Vec<(usize, Sha256)>,
    /// Stored blocks that are not hashed, by predicted position.
    waiting: BTreeMap<usize, BlockRef>,
    /// The committed block list. It replaces the predicted order.
    list: Option<Arc<[BlockRef]>>,
    appender: Appender,
}

/// Who may extend the chain.
enum Appender {
    Free,
    /// A writer with this ticket.
    Claimed(u64),
    /// A reader with this ticket, which reads these blocks.
    Reading(u64, Arc<[BlockRef]>),
}

/// Blocks that a reader should hash.
pub(super) struct ReadJob {
    pub(super) ticket: u64,
    pub(super) blocks: Arc<[BlockRef]>,
    pub(super) state: Sha256,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            order: BlockOrder::default(),
            hashed: Vec::new(),
            states: vec![(0, Sha256::new())],
            waiting: BTreeMap::new(),
            list: None,
            appender: Appender::Free,
        }
    }
}

impl Chain {
    /// Makes the writer of block `id` the appender and returns the current hash state, if the block is next in
    /// the predicted order and there is no appender.
    pub(super) fn claim(&mut self, id: &str, ticket: u64) -> Option<Sha256> {
        if self.list.is_some() {
            return None;
        }
        let next = self.hashed.len();
        // The position is computed in every case, because this records new ids.
        let is_next = self.order.position(id) == Some(next) && !self.waiting.contains_key(&next);
        if !is_next || !matches!(self.appender, Appender::Free) {
            return None;
        }
        self.appender = Appender::Claimed(ticket);
        Some(self.state())
    }

    /// Ends the right of the appender with `ticket` without extending the chain.
    pub(super) fn release(&mut self, ticket: u64) {
        match &self.appender {
            Appender::Claimed(holder) | Appender::Reading(holder, _) if *holder == ticket => {
                self.appender = Appender::Free;
            }
            _ => {}
        }
    }

    /// Records a stored block. It replaces an earlier block with the same id. `claimed` holds its writer's
    /// ticket and the hash state after the block.
    pub(super) fn stored(&mut self, id: &str, block: BlockRef, claimed: Option<(u64, Sha256)>) {
        if self.list.is_some() {
            return;
        }
        let Some(position) = self.order.position(id) else { return };
        let next = self.hashed.len();
        if position < next {
            if self.hashed[position] == block {
                return;
            }
            self.rewind(position);
        } else if position == next {
            match (claimed, &self.appender) {
                (Some((ticket, state)), Appender::Claimed(holder)) if *holder == ticket => {
                    self.append(&[block], state);
                    self.waiting.remove(&position);
                    return;
                }
                // Another writer stored the block while its appender was still writing it, or a reader is
                // hashing the block that it replaces.
                _ => self.appender = Appender::Free,
            }
        } else if let Appender::Reading(_, blocks) = &self.appender
            && position < next + blocks.len()
        {
            self.appender = Appender::Free;
        }
        self.waiting.insert(position, block);
    }

    /// Sets the committed block list. Hashed blocks that do not match it are discarded.
    pub(super) fn commit(&mut self, list: &Arc<[BlockRef]>) {
        if self.list.as_ref() == Some(list) {
            return;
        }
        self.list = Some(list.clone());
        self.waiting.clear();
        self.order = BlockOrder::default();
        let same = self.hashed.iter().zip(list.iter()).take_while(|(hashed, listed)| hashed == listed).count();
        if same < self.hashed.len() {
            self.rewind(same);
        } else if !matches!(&self.appender, Appender::Reading(_, blocks) if list[same..].starts_with(blocks)) {
            self.appender = Appender::Free;
        }
    }

    /// Makes a reader the appender and returns the blocks that it should hash, if there is no appender and
    /// blocks are ready.
    pub(super) fn next_job(&mut self, ticket: u64) -> Option<ReadJob> {
        if !self.has_job() {
            return None;
        }
        let next = self.hashed.len();
        let blocks: Arc<[BlockRef]> = match &self.list {
            Some(list) => take(list[next..].iter().copied()),
            None => take((next..).map_while(|position| self.waiting.get(&position).copied())),
        };
        self.appender = Appender::Reading(ticket, blocks.clone());
        Some(ReadJob { ticket, blocks, state: self.state() })
    }

    /// Returns whether [`Chain::next_job`] would return a job.
    pub(super) fn has_job(&self) -> bool {
        let next = self.hashed.len();
        matches!(self.appender, Appender::Free)
            && self.list.as_ref().map_or_else(|| self.waiting.contains_key(&next), |list| next < list.len())
    }

    /// Returns whether more blocks are ready to be hashed than [`LAG_BYTES_MAX`] or [`WORK_BLOCKS_MAX`] allow.
    /// Blocks behind a gap do not count.
    pub(super) fn lags(&self) -> bool {
        let ready = (self.hashed.len()..).map_while(|position| self.waiting.get(&position));
        let (mut blocks, mut bytes) = (0, 0);
        for block in ready {
            blocks += 1;
            bytes += block.size;
            if bytes > LAG_BYTES_MAX || blocks > JOB_BLOCKS_MAX {
                return true;
            }
        }
        false
    }

    /// Adds the result of a reader's job. Ignored if the reader is no longer the appender.
    pub(super) fn finish_job(&mut self, ticket: u64, state: Sha256) {
        if let Some(blocks) = self.end_reading(ticket) {
            for position in self.hashed.len()..self.hashed.len() + blocks.len() {
                self.waiting.remove(&position);
            }
            self.append(&blocks, state);
        }
    }

    /// Records that a reader's job failed. Returns whether the reader was still the appender. If so, its blocks
    /// are not read again until they are stored again or a list is committed.
    pub(super) fn fail_job(&mut self, ticket: u64) -> bool {
        let Some(blocks) = self.end_reading(ticket) else { return false };
        for position in self.hashed.len()..self.hashed.len() + blocks.len() {
            self.waiting.remove(&position);
        }
        true
    }

    /// Returns the hash of the committed list when all its blocks are hashed.
    pub(super) fn digest(&self) -> Option<[u8; 32]> {
        let list = self.list.as_ref()?;
        (self.hashed.len() == list.len()).then(|| self.state().finalize().into())
    }

    /// Returns the number of blocks and states that the chain keeps, as a measure of its memory use.
    pub(super) fn weight(&self) -> usize {
        STATES_MAX
            + self.hashed.len()
            + self.waiting.len()
            + self.order.len()
            + self.list.as_ref().map_or(0, |list| list.len())
    }

    fn state(&self) -> Sha256 {
        self.states.last().map_or_else(Sha256::new, |(_, state)| state.clone())
    }

    fn end_reading(&mut self, ticket: u64) -> Option<Arc<[BlockRef]>> {
        match &self.appender {
            Appender::Reading(holder, blocks) if *holder == ticket => {
                let blocks = blocks.clone();
                self.appender = Appender::Free;
                Some(blocks)
            }
            _ => None,
        }
    }

    fn append(&mut self, blocks: &[BlockRef], state: Sha256) {
        self.appender = Appender::Free;
        self.hashed.extend_from_slice(blocks);
        self.states.push((self.hashed.len(), state));
        if self.states.len() > STATES_MAX {
            // Removes every second state. The number of states is odd here, so the first and the last are kept.
            let mut keep = false;
            self.states.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// Goes back to the last saved state with at most `count` blocks. Blocks after it wait to be hashed again,
    /// except the block at `count`, which the caller replaces.
    fn rewind(&mut self, count: usize) {
        self.appender = Appender::Free;
        self.states.retain(|(blocks, _)| *blocks <= count);
        let checked = self.states.last().map_or(0, |(blocks, _)| *blocks);
        if self.list.is_none() {
            self.waiting.extend((checked..).zip(self.hashed[checked..].iter().copied()));
        }
        self.hashed.truncate(checked);
    }
}

/// Returns the first blocks, up to the size of one job.
fn take(blocks: impl Iterator<Item = BlockRef>) -> Arc<[BlockRef]> {
    let mut bytes = 0;
    blocks
        .take(JOB_BLOCKS_MAX)
        .take_while(|block| {
            let fits = bytes == 0 || bytes + block.size <= JOB_BYTES;
            bytes += block.size;
            fits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};

    use super::*;

    fn block(file: u64) -> BlockRef {
        BlockRef { file, size: 1 }
    }

    fn files(blocks: &[BlockRef]) -> Vec<u64> {
        blocks.iter().map(|block| block.file).collect()
    }

    /// Stores blocks, given as pairs of index and file. After `read_after` of them, a reader runs one job.
    /// Returns the files of the next job.
    fn next(stored: &[(u64, u64)], read_after: usize, list: Option<&[u64]>) -> Vec<u64> {
        let mut chain = Chain::default();
        for (count, (index, file)) in (1..).zip(stored) {
            chain.stored(&BASE64_STANDARD.encode(format!("block-{index:04}")), block(*file), None);
            if count == read_after {
                let job = chain.next_job(1).expect("something to read");
                chain.finish_job(job.ticket, job.state);
            }
        }
        if let Some(list) = list {
            chain.commit(&list.iter().map(|file| block(*file)).collect());
        }
        chain.next_job(2).map_or_else(Vec::new, |job| files(&job.blocks))
    }

    /// The arguments of [`next`] and the expected result.
    type Case<'a> = (&'a [(u64, u64)], usize, Option<&'a [u64]>, &'a [u64]);

    #[test]
    fn the_next_job_has_the_blocks_that_follow_the_hashed_ones() {
        let in_order: &[(u64, u64)] = &[(0, 10), (1, 11), (2, 12)];
        let gap: &[(u64, u64)] = &[(2, 12), (0, 10)];
        let again: &[(u64, u64)] = &[(0, 10), (1, 11), (1, 21)];
        let cases: &[Case<'_>] = &[
            (&[], 0, None, &[]),
            (in_order, 0, None, &[10, 11, 12]),
            (in_order, 1, None, &[11, 12]),
            (in_order, 3, None, &[]),
            (gap, 0, None, &[10]),
            (gap, 2, None, &[]),
            (again, 0, None, &[10, 21]),
            // The reader hashed both in one job, so it starts again.
            (again, 2, None, &[10, 21]),
            (in_order, 3, Some(&[10, 11, 12]), &[]),
            (in_order, 2, Some(&[10, 11, 12]), &[12]),
            (in_order, 3, Some(&[11, 10, 12]), &[11, 10, 12]),
            (in_order, 3, Some(&[]), &[]),
            (gap, 2, Some(&[10, 12]), &[12]),
            (gap, 0, Some(&[12]), &[12]),
        ];
        for (stored, read_after, list, expected) in cases {
            assert_eq!(
                next(stored, *read_after, *list),
                *expected,
                "{stored:?}, read after {read_after}, list {list:?}"
            );
        }
    }

    #[test]
    fn a_superseded_job_changes_nothing() {
        let mut chain = Chain::default();
        chain.stored("a!", block(1), None);
        let reading = chain.next_job(1).expect("block 1");
        chain.stored("a!", block(2), None);
        chain.finish_job(reading.ticket, reading.state);
        assert!(!chain.fail_job(reading.ticket));
        chain.release(reading.ticket);
        assert_eq!(files(&chain.next_job(2).expect("block 2").blocks), [2]);
        assert!(chain.next_job(3).is_none(), "a job is running");
        assert!(chain.claim("b!", 4).is_none());
    }

    #[test]
    fn saved_states_are_thinned_and_the_first_and_the_last_are_kept() {
        let mut chain = Chain::default();
        for file in 0..1000 {
            chain.append(&[block(file)], Sha256::new());
            assert!(chain.states.len() <= STATES_MAX);
            let (first, last) = (chain.states.first().expect("one"), chain.states.last().expect("one"));
            assert_eq!((first.0, last.0), (0, chain.hashed.len()));
        }
    }
}
