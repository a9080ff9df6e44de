//! Parses git's progress output.

use farrier_proto::store as rows;

use crate::clock::Millis;

/// The progress of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The current phase, with git's name.
    pub phase: String,
    /// When the phase began.
    pub phase_since_ms: Millis,
    /// Number of processed items.
    pub done: u64,
    /// Total number of items in the phase. 0: unknown.
    pub total: u64,
    /// Number of received objects.
    pub objects: u64,
    /// Number of bytes that were received or are on disk.
    pub bytes: u64,
    /// Finished phases, in order.
    pub finished: Vec<FinishedPhase>,
}

/// A finished phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishedPhase {
    /// Its name.
    pub phase: String,
    /// Total number of its items. 0: unknown.
    pub total: u64,
    /// Its duration.
    pub took_ms: Millis,
}

const PHASE_MAX_CHARS: usize = 60;
/// Maximum number of finished phases. git has few; a source with more cannot fill the memory.
const FINISHED_MAX: usize = 16;

impl Progress {
    /// Returns the progress in the row of a task.
    pub(super) fn of_row(row: rows::ImportProgress) -> Self {
        let rows::ImportProgress { phase, phase_since_ms, done, total, objects, bytes, finished } = row;
        let of_row = |rows::FinishedPhase { phase, total, took_ms }| FinishedPhase { phase, total, took_ms };
        let finished = finished.into_iter().map(of_row).collect();
        Self { phase, phase_since_ms, done, total, objects, bytes, finished }
    }

    /// Returns the progress for the row of a task.
    pub(in crate::service) fn to_row(&self) -> rows::ImportProgress {
        let Self { phase, phase_since_ms, done, total, objects, bytes, finished } = self.clone();
        let to_row = |FinishedPhase { phase, total, took_ms }| rows::FinishedPhase { phase, total, took_ms };
        let finished = finished.into_iter().map(to_row).collect();
        rows::ImportProgress { phase, phase_since_ms, done, total, objects, bytes, finished }
    }

    /// Begins a phase and ends the current one.
    pub fn enter(&mut self, phase: &str, now: Millis) {
        if self.phase == phase {
            return;
        }
        self.leave(now);
        (self.phase, self.phase_since_ms) = (phase.to_owned(), now);
    }

    /// Ends the current phase.
    pub fn leave(&mut self, now: Millis) {
        let phase = std::mem::take(&mut self.phase);
        if !phase.is_empty() && self.finished.len() < FINISHED_MAX {
            self.finished.push(FinishedPhase { phase, total: self.total, took_ms: now - self.phase_since_ms });
        }
        (self.done, self.total) = (0, 0);
    }

    /// Processes a line of git's output, such as `Receiving objects:  12% (34/280), 1.20 MiB | 300 KiB/s`, and the size
    /// on disk. Counters of received data never decrease.
    pub fn update(&mut self, line: &str, size: u64, now: Millis) {
        self.bytes = self.bytes.max(size);
        let Some((phase, rest)) = line.split_once(": ") else { return };
        let (phase, rest) = match phase {
            "remote" => rest.split_once(": ").unwrap_or((rest, "")),
            _ => (phase, rest),
        };
        if !rest.contains('%') && !rest.ends_with("done.") {
            return;
        }
        let phase: String = phase.trim().chars().take(PHASE_MAX_CHARS).collect();
        self.enter(&phase, now);
        if let Some((done, total)) = parts(rest) {
            (self.done, self.total) = (done, total);
        }
        if matches!(self.phase.as_str(), "Receiving objects" | "Unpacking objects") {
            self.objects = self.objects.max(self.done);
            self.bytes = self.bytes.max(bytes(rest).unwrap_or(0));
        }
    }
}

/// Parses 34 and 280 from `12% (34/280)`.
fn parts(text: &str) -> Option<(u64, u64)> {
    let (done, rest) = text.split_once('(')?.1.split_once('/')?;
    Some((done.parse().ok()?, rest.split_once(')')?.0.parse().ok()?))
}

/// Parses the bytes from `…, 1.20 MiB | 300 KiB/s`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once("), ")?.1.split(['|', ',']).next()?.trim().split_once(' ')?;
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let power = ["bytes", "KiB", "MiB", "GiB", "TiB"].iter().position(|name| *name == unit)?;
    let scale = 1u64 << (10 * power);
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits < 6)?;
    let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(integer.parse::<u64>().ok()?.saturating_mul(scale) + fraction * scale / 10u64.pow(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_from_progress_lines_never_decrease() {
        let mut progress = Progress::default();
        for (line, size, phase, objects, bytes) in [
            ("", 10, "", 0, 10),
            ("remote: Enumerating objects: 280, done.", 0, "Enumerating objects", 0, 10),
            ("remote: Counting objects:  50% (140/280)", 0, "Counting objects", 0, 10),
            ("Receiving objects:  12% (34/280)", 0, "Receiving objects", 34, 10),
            ("Receiving objects:  13% (37/280), 1.25 MiB | 300.00 KiB/s", 0, "Receiving objects", 37, 1_310_720),
            ("Receiving objects: 100% (280/280), 2.00 KiB, done.", 2_000_000, "Receiving objects", 280, 2_000_000),
            ("Resolving deltas: 100% (9/9), done.", 0, "Resolving deltas", 280, 2_000_000),
            ("warning: something (1/2): odd", 0, "Resolving deltas", 280, 2_000_000),
            ("Receiving objects:  x% (99999999999999999999/2), 1.1234567 MiB", 0, "Receiving objects", 280, 2_000_000),
        ] {
            progress.update(line, size, 7);
            assert_eq!((progress.phase.as_str(), progress.objects, progress.bytes), (phase, objects, bytes), "{line}");
        }
    }

    #[test]
    fn finished_phases_are_kept_with_their_durations() {
        let mut progress = Progress::default();
        progress.enter("connecting", 1_000);
        progress.update("Receiving objects:  12% (34/280), 1.20 MiB | 300 KiB/s", 0, 1_400);
        progress.update("Receiving objects: 100% (280/280), 9.20 MiB | 300 KiB/s, done.", 0, 2_000);
        assert_eq!((progress.done, progress.total, progress.phase_since_ms), (280, 280, 1_400));
        progress.update("Resolving deltas:  10% (1/9)", 0, 3_400);
        let finished = |phase: &str, total, took_ms| FinishedPhase { phase: phase.into(), total, took_ms };
        assert_eq!(progress.finished, [finished("connecting", 0, 400), finished("Receiving objects", 280, 2_000)]);
        assert_eq!((progress.done, progress.total), (1, 9));
        for number in 0..100 {
            progress.enter(&format!("phase {number}"), 4_000);
        }
        assert_eq!(progress.finished.len(), FINISHED_MAX);
    }
}
