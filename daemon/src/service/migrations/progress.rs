//! What git says about its progress, as numbers.

/// How far a migration is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in git's words.
    pub phase: String,
    /// Objects that have come.
    pub objects: u64,
    /// Bytes that have come, or lie on disk.
    pub bytes: u64,
}

const PHASE_MAX_CHARS: usize = 60;

impl Progress {
    /// Takes in a line of git, such as `Receiving objects:  12% (34/280), 1.20 MiB | 300 KiB/s`,
    /// and the size on disk. Numbers never go back.
    pub fn hear(&mut self, line: &str, size: u64) {
        self.bytes = self.bytes.max(size);
        let Some((phase, rest)) = line.split_once(": ") else { return };
        let (phase, rest) = match phase {
            "remote" => rest.split_once(": ").unwrap_or((rest, "")),
            _ => (phase, rest),
        };
        if !rest.contains('%') && !rest.ends_with("done.") {
            return;
        }
        self.phase = phase.trim().chars().take(PHASE_MAX_CHARS).collect();
        if matches!(self.phase.as_str(), "Receiving objects" | "Unpacking objects") {
            self.objects = self.objects.max(objects(rest).unwrap_or(0));
            self.bytes = self.bytes.max(bytes(rest).unwrap_or(0));
        }
    }
}

/// `34` of `12% (34/280)`
fn objects(text: &str) -> Option<u64> {
    text.split_once('(')?.1.split_once('/')?.0.parse().ok()
}

/// The bytes of `…, 1.20 MiB | 300 KiB/s`
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once("), ")?.1.split(['|', ',']).next()?.trim().split_once(' ')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let power = ["bytes", "KiB", "MiB", "GiB", "TiB"].iter().position(|known| *known == unit)?;
    let scale = 1u64 << (10 * power);
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits < 6)?;
    let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(whole.parse::<u64>().ok()?.saturating_mul(scale) + fraction * scale / 10u64.pow(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_numbers_that_never_go_back() {
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
            progress.hear(line, size);
            assert_eq!(progress, Progress { phase: phase.into(), objects, bytes }, "{line}");
        }
    }
}
