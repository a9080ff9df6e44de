//! Builds the report that ends a push, in the format of `git receive-pack`. Does no I/O.
//!
//! With the capability `side-band-64k`, the report is the content of band 1, messages for the person who pushes are
//! that of band 2. `report-status-v2` has the same lines as `report-status`, because the daemon moves exactly the refs
//! that the client named.

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

/// Reason for a ref whose new value, or an object that it needs, is not in the repository.
pub const MISSING_OBJECTS: &str = "missing necessary objects";
/// Reason for the refs of a push from a shallow clone whose missing commits the repository does not have either.
const SHALLOW: &str = "shallow update not allowed";

/// Reason for the other refs of a push that is rejected because of its list or a rule: no update is applied then.
const OTHER_REF_REFUSED: &str = "another ref of this push was refused";
/// Reason of git for the refs of a push whose pack could not be stored.
const UNPACKER_ERROR: &str = "unpacker error";
/// Maximum length of the problem of a pack in a report, in characters.
const PROBLEM_MAX_CHARS: usize = 300;
/// Longest payload of a side-band packet without its channel byte, bytes.
const BAND_MAX_BYTES: usize = 65_515;
/// The channel of the report.
const REPORT_BAND: u8 = 1;
/// The channel of messages for the person who pushes.
const MESSAGE_BAND: u8 = 2;

/// A keepalive packet, which is an empty message, for a client that waits for the report.
pub const KEEPALIVE: &[u8] = b"0005\x02";

/// Returns the report of a push with rejected updates. All its updates are reported as failed.
pub fn refused(commands: &Commands, refusals: &[RefRefusal]) -> Bytes {
    let by_name: HashMap<&str, &RefRefusal> = refusals.iter().rev().map(|refusal| (&*refusal.name, refusal)).collect();
    let reason =
        |update: &Update| by_name.get(&*update.name).map_or(OTHER_REF_REFUSED, |refusal| refusal.reason.as_str());
    let messages = refusals.iter().map(|refusal| format!("{}: {}", refusal.name, refusal.reason));
    report(commands, "ok", commands.updates.iter().map(|update| Some(reason(update))), messages)
}

/// Returns the report of a push whose pack could not be stored. `problem`: one line for the person who pushes.
/// `is_shallow`: the pack lacks objects that a shallow clone does not have.
pub fn not_unpacked(commands: &Commands, problem: &str, is_shallow: bool) -> Bytes {
    let reason = if is_shallow { SHALLOW } else { UNPACKER_ERROR };
    let problem: String = problem.chars().take(PROBLEM_MAX_CHARS).collect();
    report(commands, &problem, commands.updates.iter().map(|_| Some(reason)), [])
}

/// Returns the report of a push that was carried out. `reasons`: for each update why its ref was not moved, `None` if
/// it was. `messages`: lines for the person who pushes.
pub fn ended(commands: &Commands, reasons: &[Option<&str>], messages: Vec<String>) -> Bytes {
    report(commands, "ok", reasons.iter().copied(), messages)
}

/// Returns `text` as messages for the person who pushes. Empty if the client cannot show them.
pub fn message(commands: &Commands, text: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    if commands.has("side-band-64k") {
        put_band(&mut out, MESSAGE_BAND, text);
    }
    out.freeze()
}

fn report<'a>(
    commands: &Commands,
    unpacked: &str,
    reasons: impl IntoIterator<Item = Option<&'a str>>,
    messages: impl IntoIterator<Item = String>,
) -> Bytes {
    let mut report = BytesMut::new();
    put_line(&mut report, &format!("unpack {}", printable(unpacked)));
    for (update, reason) in commands.updates.iter().zip(reasons) {
        let name = printable(&update.name);
        let line = reason.map_or_else(|| format!("ok {name}"), |reason| format!("ng {name} {}", printable(reason)));
        put_line(&mut report, &line);
    }
    pkt::put_flush(&mut report);
    let reports = commands.has("report-status") || commands.has("report-status-v2");
    let mut out = BytesMut::new();
    if !commands.has("side-band-64k") {
        return if reports { report.freeze() } else { out.freeze() };
    }
    for message in messages {
        put_band(&mut out, MESSAGE_BAND, format!("{}\n", printable(&message)).as_bytes());
    }
    if reports {
        put_band(&mut out, REPORT_BAND, &report);
    }
    pkt::put_flush(&mut out);
    out.freeze()
}

/// Appends a line as one packet. A line that is too long is cut.
fn put_line(out: &mut BytesMut, line: &str) {
    let mut end = line.len().min(pkt::PAYLOAD_MAX_BYTES - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    pkt::put(out, format!("{}\n", &line[..end]).as_bytes());
}

/// Appends `content` as packets of one channel.
fn put_band(out: &mut BytesMut, band: u8, content: &[u8]) {
    for piece in content.chunks(BAND_MAX_BYTES) {
        pkt::put(out, &[&[band], piece].concat());
    }
}

/// Replaces the control characters of a text, so that it is one line and safe to print to a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
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
        let not_unpacked = not_unpacked(&push("report-status"), "bad\npack", false);
        let expected =
            "0014unpack bad?pack\n0023ng refs/heads/a unpacker error\n0023ng refs/heads/b unpacker error\n0000";
        assert_eq!(not_unpacked, expected);
        let long = super::not_unpacked(&push("report-status"), &"x".repeat(1_000), true);
        let expected = format!("0138unpack {}\n002fng refs/heads/a shallow update not allowed\n", "x".repeat(300));
        assert!(long.starts_with(expected.as_bytes()), "{long:?}");
    }

    #[test]
    fn refs_that_moved_and_refs_that_did_not_are_reported_like_git_does() {
        // What git 2.39 sends for such a push.
        let expected = "000eunpack ok\n0014ok refs/heads/a\n0029ng refs/heads/b failed to update ref\n0000";
        let reasons = [None, Some("failed to update ref")];
        assert_eq!(ended(&push("report-status"), &reasons, vec!["unseen".to_owned()]), expected);
        for capability in ["report-status", "report-status-v2"] {
            let banded = ended(&push(&format!("{capability} side-band-64k")), &reasons, vec!["a\rb".to_owned()]);
            assert_eq!(banded, format!("0009\u{2}a?b\n{:04x}\u{1}{expected}0000", expected.len() + 5));
        }
        assert_eq!(ended(&push("side-band-64k"), &reasons, Vec::new()), "0000");
        assert_eq!(ended(&push("quiet"), &reasons, Vec::new()), "");
    }

    #[test]
    fn long_reports_are_divided_into_packets() {
        let mut commands = push("report-status side-band-64k");
        commands.updates = vec![commands.updates[0].clone(); 5_000];
        let report = ended(&commands, &vec![None; 5_000], Vec::new());
        let (mut rest, mut content) = (&report[..], Vec::new());
        while let Ok(Some((pkt::Packet::Data(payload), length))) = pkt::first(rest) {
            assert_eq!(payload[0], REPORT_BAND);
            content.extend_from_slice(&payload[1..]);
            rest = &rest[length..];
        }
        assert_eq!(rest, pkt::FLUSH);
        assert_eq!(content.len(), "000eunpack ok\n".len() + 5_000 * "0014ok refs/heads/a\n".len() + 4);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let mut commands = push("report-status");
        commands.updates[0].name = "ä".repeat(40_000);
        let report = ended(&commands, &[None, None], Vec::new());
        let (packet, length) = pkt::first(&report[14..]).expect("a packet").expect("a complete packet");
        let pkt::Packet::Data(line) = packet else { panic!("a flush packet") };
        assert!(std::str::from_utf8(line).is_ok_and(|line| line.ends_with("ä\n")), "{length}");
    }

    #[test]
    fn messages_go_to_their_own_channel() {
        assert_eq!(message(&push("side-band-64k"), b"50%\r"), "0009\u{2}50%\r");
        assert_eq!(message(&push("report-status"), b"50%\r"), "");
        assert_eq!(message(&push("side-band-64k"), &vec![b'x'; BAND_MAX_BYTES + 1]).len(), BAND_MAX_BYTES + 1 + 10);
        let (packet, _) = pkt::first(KEEPALIVE).expect("a packet").expect("a complete packet");
        assert_eq!(packet, pkt::Packet::Data(&[MESSAGE_BAND]));
    }
}
