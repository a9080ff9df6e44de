//! A simulated disk with a log of operations, fault injection and power failures.
//!
//! In a power failure, writes that were not synced may be lost, be complete or be present in part, by sectors.
//! After a failed sync, none of the writes since the previous sync are certain.

use std::{
    collections::HashSet,
    io,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::redb::StorageBackend;

/// Unit in which a torn write is kept or lost, bytes.
const SECTOR_BYTES: usize = 512;
/// Unit of allocation, bytes. A full disk cannot allocate more.
const BLOCK_BYTES: usize = 4096;

/// A disk with one file. Clones share its state.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    log: Vec<Op>,
    /// Operations that undo the writes since the last sync, oldest first.
    undo: Vec<Op>,
    /// Blocks that were written at least once.
    blocks: HashSet<usize>,
    fault: Option<Fault>,
    /// Whether the fault has occurred.
    occurred: bool,
    fail_reads: bool,
}

/// An operation on the disk.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Write(usize, Vec<u8>),
    Resize(usize),
    Sync,
    /// Marks the time at which this number of transactions had been acknowledged.
    Acknowledged(u64),
}

/// A fault, and the number of writes, resizes and syncs before it occurs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// New blocks cannot be allocated until the disk is healed.
    Full { after: u32 },
    /// All operations fail until the disk is healed.
    Dead { after: u32 },
    /// One operation fails. If it is a sync, the unsynced writes are lost.
    Once { after: u32 },
}

impl Disk {
    /// Creates a disk with these contents.
    pub(super) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state().bytes = bytes;
        disk
    }

    pub(super) fn arm(&self, fault: Fault) {
        let mut state = self.state();
        (state.fault, state.occurred) = (Some(fault), false);
    }

    /// Removes all faults. Returns whether the fault has occurred.
    pub(super) fn heal(&self) -> bool {
        let mut state = self.state();
        (state.fault, state.fail_reads) = (None, false);
        state.occurred
    }

    /// Makes every read fail until the disk is healed.
    pub(super) fn fail_reads(&self) {
        self.state().fail_reads = true;
    }

    pub(super) fn acknowledged(&self, transactions: u64) {
        self.state().log.push(Op::Acknowledged(transactions));
    }

    pub(super) fn log(&self) -> Vec<Op> {
        self.state().log.clone()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Performs `op`, or fails according to the fault.
    fn perform(&mut self, op: Op) -> io::Result<()> {
        if let Some(error) = self.failure(&op) {
            self.occurred = true;
            if matches!(op, Op::Sync) {
                while let Some(undo) = self.undo.pop() {
                    apply(&mut self.bytes, &undo);
                }
            }
            return Err(error);
        }
        match &op {
            Op::Write(offset, data) => {
                self.blocks.extend(blocks(*offset, data));
                let end = (*offset + data.len()).min(self.bytes.len());
                let old = Op::Write(*offset, self.bytes[(*offset).min(end)..end].to_vec());
                self.undo.extend([old, Op::Resize(self.bytes.len())]);
            }
            Op::Resize(_) => self.undo.push(Op::Resize(self.bytes.len())),
            Op::Sync => self.undo.clear(),
            Op::Acknowledged(_) => {}
        }
        apply(&mut self.bytes, &op);
        self.log.push(op);
        Ok(())
    }

    fn failure(&mut self, op: &Op) -> Option<io::Error> {
        let (Fault::Full { after } | Fault::Dead { after } | Fault::Once { after }) = self.fault.as_mut()?;
        if *after > 0 {
            *after -= 1;
            return None;
        }
        let new = match op {
            Op::Write(offset, data) => blocks(*offset, data).any(|block| !self.blocks.contains(&block)),
            _ => false,
        };
        match self.fault? {
            Fault::Full { .. } if !new => None,
            Fault::Full { .. } => Some(io::ErrorKind::StorageFull.into()),
            Fault::Dead { .. } => Some(io::Error::other("the disk has failed")),
            Fault::Once { .. } => {
                self.fault = None;
                Some(io::Error::other("the disk failed once"))
            }
        }
    }
}

fn blocks(offset: usize, data: &[u8]) -> Range<usize> {
    offset / BLOCK_BYTES..(offset + data.len()).div_ceil(BLOCK_BYTES)
}

fn apply(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write(offset, data) => {
            let end = offset + data.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*offset..end].copy_from_slice(data);
        }
        Op::Resize(len) => bytes.resize(*len, 0),
        Op::Sync | Op::Acknowledged(_) => {}
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a small disk")
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if state.fail_reads {
            return Err(io::Error::other("the disk cannot be read"));
        }
        let found = state.bytes.get(index(offset)..index(offset) + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().perform(Op::Resize(index(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.state().perform(Op::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().perform(Op::Write(index(offset), data.to_vec()))
    }
}

/// What a power failure does to writes that were not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// None of them are kept.
    Dropped,
    /// All of them are kept.
    Kept,
    /// Some of them and some of their sectors are kept. The number is the seed of the selection.
    Torn(u64),
}

/// Replays the log of a disk and simulates a power failure at any operation.
#[derive(Default)]
pub(super) struct Replay {
    durable: Vec<u8>,
    pending: Vec<Op>,
    /// Number of acknowledged transactions.
    pub(super) acknowledged: u64,
}

impl Replay {
    /// Starts a replay with a disk of these contents.
    pub(super) fn on(bytes: Vec<u8>) -> Self {
        Self { durable: bytes, ..Self::default() }
    }

    pub(super) fn step(&mut self, op: Op) {
        match op {
            Op::Acknowledged(transactions) => self.acknowledged = transactions,
            Op::Sync => {
                for op in self.pending.drain(..) {
                    apply(&mut self.durable, &op);
                }
            }
            op => self.pending.push(op),
        }
    }

    /// Returns the disk after a power failure at this operation.
    pub(super) fn cut(&self, how: Cut) -> Disk {
        let mut bytes = self.durable.clone();
        match how {
            Cut::Dropped => {}
            Cut::Kept => self.pending.iter().for_each(|op| apply(&mut bytes, op)),
            Cut::Torn(mut seed) => self.pending.iter().for_each(|op| tear(&mut bytes, op, &mut seed)),
        }
        Disk::holding(bytes)
    }
}

fn tear(bytes: &mut Vec<u8>, op: &Op, seed: &mut u64) {
    let mut coin = || {
        // A linear congruential generator, so that runs are reproducible.
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 63 == 1
    };
    match op {
        Op::Write(offset, data) => {
            for (number, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                if coin() {
                    apply(bytes, &Op::Write(offset + number * SECTOR_BYTES, sector.to_vec()));
                }
            }
        }
        op if coin() => apply(bytes, op),
        _ => {}
    }
}
