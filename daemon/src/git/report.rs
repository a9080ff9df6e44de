//! Builds the response to a push that the daemon rejects before it runs git. The response has git's own format.
//! Does no I/O.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};

use super::{
    commands::{Commands, Update},
    pkt,
};

/// Why the update of one ref is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefRefusal {
    /// The full ref name.
    pub name: String,
    /// A short reason for the person who pushes.
    pub reason: String,
}

/// Reason for the other refs of a rejected push: a push is applied completely or not at all.
const OTHER_REF_REFUSED: &str = "another ref of this push was refused";
/// Reason of git for the refs of a push whose pack could not be stored.
const UNPACKER_ERROR: &str = "unpacker error";
/// Longest payload of a side-band packet without its channel byte, bytes.
const BAND_MAX_BYTES: usize = 65_515;

/// Returns the report of a push with rejected updates. All its updates are reported as failed.
pub fn refused(commands: &Commands, refusals: &[RefRefusal]) -> Bytes {
    let by_name: HashMap<&str, &RefRefusal> = refusals.iter().rev().map(|refusal| (&*refusal.name, refusal)).collect();
    let reason =
        |update: &Update| by_name.get(&*update.name).map_or(OTHER_REF_REFUSED, |refusal| refusal.reason.as_str());
    report(commands, "ok", reason, refusals)
}

/// Returns the report of a push whose pack could not be stored. `problem`: one line for the person who pushes.
pub fn not_unpacked(commands: &Commands, problem: &str) -> Bytes {
    report(commands, &printable(problem), |_| UNPACKER_ERROR, &[])
}

fn report<'a>(
    commands: &Commands,
    unpacked: &str,
    reason: impl Fn(&Update) -> &'a str,
    refusals: &[RefRefusal],
) -> Bytes {
    let mut report = BytesMut::new();
    pkt::put(&mut report, format!("unpack {unpacked}\n").as_bytes());
    for update in &commands.updates {
        let reason = reason(update);
        let line = format!("ng {} {reason}\n", printable(&update.name));
        pkt::put(&mut report, &line.as_bytes()[..line.len().min(pkt::PAYLOAD_MAX_BYTES)]);
    }
    pkt::put_flush(&mut report);
    let reports = commands.has("report-status") || commands.has("report-status-v2");
    let mut out = BytesMut::new();
    if !commands.has("side-band-64k") {
        return if reports { report.freeze() } else { out.freeze() };
    }
    for refusal in refusals {
        let line = format!("\u{2}{}: {}\n", printable(&refusal.name), refusal.reason);
        pkt::put(&mut out, &line.as_bytes()[..line.len().min(pkt::PAYLOAD_MAX_BYTES)]);
    }
    for piece in report.chunks(BAND_MAX_BYTES).filter(|_| reports) {
        pkt::put(&mut out, &[b"\x01", piece].concat());
    }
    pkt::put_flush(&mut out);
    out.freeze()
}

/// Replaces the control characters of a ref name, so that it is safe to print to a terminal.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(capabilities: &str) -> Commands {
        let update = |name: &str| Update { name: name.into(), old: "0".repeat(40), new: "a".repeat(40) };
        Commands {
            updates: vec![update("refs/heads/a"), update("refs/heads/b")],
            capabilities: capabilities.split(' ').map(str::to_owned).collect(),
            options: Vec::new(),
        }
    }

    #[test]
    fn every_ref_is_reported_in_the_requested_format() {
        let refusals = [RefRefusal { name: "refs/heads/b".into(), reason: "no".into() }];
        let plain = refused(&push("report-status"), &refusals);
        let expected =
            "000eunpack ok\n0039ng refs/heads/a another ref of this push was refused\n0017ng refs/heads/b no\n0000";
        assert_eq!(plain, expected);
        let banded = refused(&push("report-status-v2 side-band-64k"), &refusals);
        assert_eq!(banded, format!("0016\u{2}refs/heads/b: no\n{:04x}\u{1}{expected}0000", expected.len() + 5));
        assert_eq!(refused(&push("quiet"), &refusals), "");
        let not_unpacked = not_unpacked(&push("report-status"), "bad\npack");
        let expected =
            "0014unpack bad?pack\n0023ng refs/heads/a unpacker error\n0023ng refs/heads/b unpacker error\n0000";
        assert_eq!(not_unpacked, expected);
    }
}
