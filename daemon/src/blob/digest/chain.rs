//! Decides which blocks of an upload are hashed next. Does no I/O and never waits.
//!
//! A chain is the sequence of blocks in the hash so far, with the states of the hash after some of them. At most one
//! *appender* may add to it at a time: a writer that hashes while it writes, or a reader that hashes blocks written
//! before. If the appender's work becomes useless, it loses this right, and its result is ignored.

use std::{collections::BTreeMap, sync::Arc};

use sha2::{Digest, Sha256};

use super::{super::BlockRef, order::Order};

/// Blocks read in one turn: many small ones, or one that has more bytes than this.
const WORK_BYTES: u64 = 8 * 1024 * 1024;
const WORK_BLOCKS_MAX: usize = 1024;
/// Bytes that could be hashed and are not, beyond which uploading should wait: some 10 ms of work.
const LAG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// States that are kept, of about 120 bytes each.
const STATES_MAX: usize = 128;

/// One upload's hash.
pub(super) struct Chain {
    order: Order,
    /// The blocks that are in the hash.
    hashed: Vec<BlockRef>,
    /// After how many blocks the hash was in which state: the first with none, the last with all.
    states: Vec<(usize, Sha256)>,
    /// Blocks that are stored and not hashed, by guessed position.
    waiting: BTreeMap<usize, BlockRef>,
    /// The list that was committed: no guess any more.
    list: Option<Arc<[BlockRef]>>,
    appender: Appender,
}

/// Who may append blocks to the hash.
enum Appender {
    Free,
    /// A writer; its ticket.
    Claimed(u64),
    /// A reader; its ticket and what it reads.
    Reading(u64, Arc<[BlockRef]>),
}

/// What a reader is to append.
pub(super) struct Work {
    pub(super) ticket: u64,
    pub(super) blocks: Arc<[BlockRef]>,
    pub(super) state: Sha256,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            order: Order::default(),
            hashed: Vec::new(),
            states: vec![(0, Sha256::new())],
            waiting: BTreeMap::new(),
            list: None,
            appender: Appender::Free,
        }
    }
}

impl Chain {
    /// Gives the turn to the writer of a block, if that is the one that comes next.
    pub(super) fn claim(&mut self, id: &str, ticket: u64) -> Option<Sha256> {
        if self.list.is_some() {
            return None;
        }
        let next = self.hashed.len();
        // The position is asked for in any case, as asking may count the block.
        let is_next = self.order.position(id) == Some(next) && !self.waiting.contains_key(&next);
        if !is_next || !matches!(self.appender, Appender::Free) {
            return None;
        }
        self.appender = Appender::Claimed(ticket);
        Some(self.state())
    }

    /// Whoever has `ticket` will not append.
    pub(super) fn release(&mut self, ticket: u64) {
        match &self.appender {
            Appender::Claimed(holder) | Appender::Reading(holder, _) if *holder == ticket => {
                self.appender = Appender::Free;
            }
            _ => {}
        }
    }

    /// A block was stored, in place of an earlier one with the same id if there was one. `claimed`
    /// is its writer's ticket and the state after it.
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
                // Either somebody stored the block that another is still writing, or a reader is
                // at its predecessor.
                _ => self.appender = Appender::Free,
            }
        } else if let Appender::Reading(_, blocks) = &self.appender
            && position < next + blocks.len()
        {
            self.appender = Appender::Free;
        }
        self.waiting.insert(position, block);
    }

    /// The list that decides.
    pub(super) fn commit(&mut self, list: &Arc<[BlockRef]>) {
        if self.list.as_ref() == Some(list) {
            return;
        }
        self.list = Some(list.clone());
        self.waiting.clear();
        self.order = Order::default();
        let same = self.hashed.iter().zip(list.iter()).take_while(|(hashed, listed)| hashed == listed).count();
        if same < self.hashed.len() {
            self.rewind(same);
        } else if !matches!(&self.appender, Appender::Reading(_, blocks) if list[same..].starts_with(blocks)) {
            self.appender = Appender::Free;
        }
    }

    /// Gives the turn to a reader, if it is free and something can be read.
    pub(super) fn next_work(&mut self, ticket: u64) -> Option<Work> {
        if !self.has_work() {
            return None;
        }
        let next = self.hashed.len();
        let blocks: Arc<[BlockRef]> = match &self.list {
            Some(list) => take(list[next..].iter().copied()),
            None => take((next..).map_while(|position| self.waiting.get(&position).copied())),
        };
        self.appender = Appender::Reading(ticket, blocks.clone());
        Some(Work { ticket, blocks, state: self.state() })
    }

    /// Whether a reader could have the turn.
    pub(super) fn has_work(&self) -> bool {
        let next = self.hashed.len();
        matches!(self.appender, Appender::Free)
            && self.list.as_ref().map_or_else(|| self.waiting.contains_key(&next), |list| next < list.len())
    }

    /// Whether hashing has fallen behind, only for want of time.
    pub(super) fn lags(&self) -> bool {
        let ready = (self.hashed.len()..).map_while(|position| self.waiting.get(&position));
        let (mut blocks, mut bytes) = (0, 0);
        for block in ready {
            blocks += 1;
            bytes += block.size;
            if bytes > LAG_BYTES_MAX || blocks > WORK_BLOCKS_MAX {
                return true;
            }
        }
        false
    }

    /// A reader is through with its work.
    pub(super) fn read(&mut self, ticket: u64, state: Sha256) {
        if let Some(blocks) = self.end_reading(ticket) {
            for position in self.hashed.len()..self.hashed.len() + blocks.len() {
                self.waiting.remove(&position);
            }
            self.append(&blocks, state);
        }
    }

    /// A reader could not do its work. Answers whether that still matters; if so, the blocks are
    /// not tried again before they are stored again or listed.
    pub(super) fn unreadable(&mut self, ticket: u64) -> bool {
        let Some(blocks) = self.end_reading(ticket) else { return false };
        for position in self.hashed.len()..self.hashed.len() + blocks.len() {
            self.waiting.remove(&position);
        }
        true
    }

    /// The hash of the list, once everything in it is hashed.
    pub(super) fn digest(&self) -> Option<[u8; 32]> {
        let list = self.list.as_ref()?;
        (self.hashed.len() == list.len()).then(|| self.state().finalize().into())
    }

    /// Blocks that are remembered in one way or another: what a chain costs.
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
            // Every second goes. Their number is odd now, so the first and the last stay.
            let mut keep = false;
            self.states.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// Goes back to where the hash has at most `count` blocks. What is hashed no longer waits
    /// again, but for the block at `count`, which is to be replaced.
    fn rewind(&mut self, count: usize) {
        self.appender = Appender::Free;
        self.states.retain(|(blocks, _)| *blocks <= count);
        let back = self.states.last().map_or(0, |(blocks, _)| *blocks);
        if self.list.is_none() {
            self.waiting.extend((back..).zip(self.hashed[back..].iter().copied()));
        }
        self.hashed.truncate(back);
    }
}

/// The first blocks that one turn should read.
fn take(blocks: impl Iterator<Item = BlockRef>) -> Arc<[BlockRef]> {
    let mut bytes = 0;
    blocks
        .take(WORK_BLOCKS_MAX)
        .take_while(|block| {
            let more = bytes == 0 || bytes + block.size <= WORK_BYTES;
            bytes += block.size;
            more
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

    /// Stores blocks, each an index and a file, after a reader took its turn when told so; tells
    /// what the next reader would read.
    fn next(stored: &[(u64, u64)], read_after: usize, list: Option<&[u64]>) -> Vec<u64> {
        let mut chain = Chain::default();
        for (count, (index, file)) in (1..).zip(stored) {
            chain.stored(&BASE64_STANDARD.encode(format!("block-{index:04}")), block(*file), None);
            if count == read_after {
                let work = chain.next_work(1).expect("something to read");
                chain.read(work.ticket, work.state);
            }
        }
        if let Some(list) = list {
            chain.commit(&list.iter().map(|file| block(*file)).collect());
        }
        chain.next_work(2).map_or_else(Vec::new, |work| files(&work.blocks))
    }

    /// What [`next`] is given and what it should answer.
    type Case<'a> = (&'a [(u64, u64)], usize, Option<&'a [u64]>, &'a [u64]);

    #[test]
    fn what_is_read_next() {
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
            // The reader hashed both in one turn, so it begins again.
            (again, 2, None, &[10, 21]),
            (in_order, 3, Some(&[10, 11, 12]), &[]),
            (in_order, 2, Some(&[10, 11, 12]), &[12]),
            (in_order, 3, Some(&[11, 10, 12]), &[11, 10, 12]),
            (in_order, 3, Some(&[]), &[]),
            (gap, 2, Some(&[10, 12]), &[12]),
            (gap, 0, Some(&[12]), &[12]),
        ];
        for (stored, read_after, list, wanted) in cases {
            assert_eq!(next(stored, *read_after, *list), *wanted, "{stored:?}, read after {read_after}, list {list:?}");
        }
    }

    #[test]
    fn whoever_lost_the_turn_changes_nothing() {
        let mut chain = Chain::default();
        chain.stored("a!", block(1), None);
        let reading = chain.next_work(1).expect("block 1");
        chain.stored("a!", block(2), None);
        chain.read(reading.ticket, reading.state);
        assert!(!chain.unreadable(reading.ticket));
        chain.release(reading.ticket);
        assert_eq!(files(&chain.next_work(2).expect("block 2").blocks), [2]);
        assert!(chain.next_work(3).is_none(), "one turn at a time");
        assert!(chain.claim("b!", 4).is_none());
    }

    #[test]
    fn states_are_thinned_and_the_first_and_the_last_stay() {
        let mut chain = Chain::default();
        for file in 0..1000 {
            chain.append(&[block(file)], Sha256::new());
            assert!(chain.states.len() <= STATES_MAX);
            let (first, last) = (chain.states.first().expect("one"), chain.states.last().expect("one"));
            assert_eq!((first.0, last.0), (0, chain.hashed.len()));
        }
    }
}
