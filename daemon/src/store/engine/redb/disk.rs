//! A disk for tests: it keeps a log of what was done to it, fails on request and can be cut off.
//!
//! What was not synced may be lost, be there, or be there in parts of a sector's size: a power cut
//! does all of these. After a failed sync nothing of what it should have written is certain.

use std::{
    collections::HashSet,
    io,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::redb::StorageBackend;

/// What a torn write keeps or loses as one.
const SECTOR_BYTES: usize = 512;
/// What a full file system has no more of.
const BLOCK_BYTES: usize = 4096;

/// A disk with one file. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    log: Vec<Op>,
    /// How to undo what was not synced, the oldest first.
    undo: Vec<Op>,
    /// Blocks that have ever been written.
    blocks: HashSet<usize>,
    fault: Option<Fault>,
    /// Whether the fault has struck.
    struck: bool,
    fail_reads: bool,
}

/// One thing done to the disk.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Write(usize, Vec<u8>),
    Resize(usize),
    Sync,
    /// A caller was told that so many transactions are durable.
    Acknowledged(u64),
}

/// What goes wrong, and after how many further writes, resizes and syncs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// New blocks cannot be written until there is space.
    Full { after: u32 },
    /// Nothing can be written until the disk is healed.
    Dead { after: u32 },
    /// One operation fails; a sync that does loses what it should have made durable.
    Once { after: u32 },
}

impl Disk {
    /// A disk that holds `bytes`.
    pub(super) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state().bytes = bytes;
        disk
    }

    pub(super) fn arm(&self, fault: Fault) {
        let mut state = self.state();
        (state.fault, state.struck) = (Some(fault), false);
    }

    /// Ends every fault; whether it has struck.
    pub(super) fn heal(&self) -> bool {
        let mut state = self.state();
        (state.fault, state.fail_reads) = (None, false);
        state.struck
    }

    /// Every read fails until the disk is healed.
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
    /// Does `op`, or lets it fail.
    fn perform(&mut self, op: Op) -> io::Result<()> {
        if let Some(error) = self.failure(&op) {
            self.struck = true;
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
            Fault::Dead { .. } => Some(io::Error::other("the disk is dead")),
            Fault::Once { .. } => {
                self.fault = None;
                Some(io::Error::other("the disk stumbled"))
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

fn at(offset: u64) -> usize {
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
        let found = state.bytes.get(at(offset)..at(offset) + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().perform(Op::Resize(at(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.state().perform(Op::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().perform(Op::Write(at(offset), data.to_vec()))
    }
}

/// What a power cut does to writes that were not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// None has reached the disk.
    Dropped,
    /// All have.
    Kept,
    /// Some have, and some of their sectors; this number says which.
    Torn(u64),
}

/// A disk's log played again, to be cut off anywhere.
#[derive(Default)]
pub(super) struct Replay {
    durable: Vec<u8>,
    pending: Vec<Op>,
    /// Transactions that callers were told of.
    pub(super) acknowledged: u64,
}

impl Replay {
    /// A replay on a disk that held `bytes`.
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

    /// What is on the disk when the power is cut here.
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
        // A linear congruential generator: good enough to choose, and the same every time.
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
