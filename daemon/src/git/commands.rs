//! Parses the list of ref updates at the start of a receive-pack request. Does no I/O.
//!
//! The request consists of `shallow <id>` lines, one packet per update (the first also carries the
//! capabilities), a flush packet, the push options and another flush packet if the client uses the capability
//! `push-options`, and the pack. See gitprotocol-pack(5).

use super::{
    pkt::{self, Malformed, Packet},
    ref_name::{is_object_id, is_zero},
};

/// Longest list of updates, bytes.
pub const LIST_MAX_BYTES: usize = 8 << 20;
/// Most ref updates in one push.
pub const UPDATES_MAX: usize = 50_000;
/// Most push options in one push.
const OPTIONS_MAX: usize = 100;

/// One ref update of a push. Ids are hexadecimal; all zeros mean "no object" (the ref is created or deleted).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The full ref name as the client sent it. Not validated.
    pub name: String,
    /// The id that the client expects the ref to have now.
    pub old: String,
    /// The id that the ref is set to.
    pub new: String,
}

impl Update {
    /// Returns whether the update deletes the ref.
    pub fn deletes(&self) -> bool {
        is_zero(&self.new)
    }
}

/// The parsed command list of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The ref updates, in the order in which the client sent them. Empty if the client only checks whether it
    /// may push.
    pub updates: Vec<Update>,
    /// The capabilities that the client uses.
    pub capabilities: Vec<String>,
    /// Push options.
    pub options: Vec<String>,
}

impl Commands {
    /// Returns whether the client uses `capability`.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|sent| sent == capability)
    }
}

/// Errors of parsing a command list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandsError {
    /// The bytes are not packet lines.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A packet is not a ref update.
    #[error("the list of ref updates cannot be read")]
    NoUpdate,
    /// A ref name is not UTF-8.
    #[error("names of refs must be UTF-8")]
    Encoding,
    /// The client sent a signed push, which the daemon does not advertise.
    #[error("signed pushes are not offered")]
    Signed,
    /// The list exceeds a limit.
    #[error("the list of ref updates is too long")]
    TooLong,
}

/// Parses a command list incrementally. Keeps no update until the list is complete, because many clients can send
/// incomplete lists.
#[derive(Debug, Default)]
pub struct Parser {
    capabilities: Vec<String>,
    options: Vec<String>,
    /// Number of updates so far.
    updates: usize,
    is_shallow: bool,
    stage: Stage,
    /// Number of bytes parsed so far.
    read: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Updates,
    Options,
    Done,
}

/// The content of a line in the first section of a list.
enum Line<'a> {
    Shallow,
    Update { old: &'a str, new: &'a str, name: &'a str },
}

impl Parser {
    /// Parses the rest of `all`, which holds every byte received so far. Returns `true` when the list is
    /// complete.
    pub fn advance(&mut self, all: &[u8]) -> Result<bool, CommandsError> {
        while self.stage != Stage::Done {
            let Some((packet, length)) = pkt::first(all.get(self.read..).unwrap_or_default())? else { break };
            self.read += length;
            match packet {
                Packet::Flush if self.stage == Stage::Updates && self.uses_options() => self.stage = Stage::Options,
                Packet::Flush => self.stage = Stage::Done,
                Packet::Data(payload) if self.stage == Stage::Updates => self.line(payload)?,
                Packet::Data(payload) => self.option(payload)?,
            }
        }
        if self.read > LIST_MAX_BYTES || (self.stage != Stage::Done && all.len() > LIST_MAX_BYTES) {
            return Err(CommandsError::TooLong);
        }
        Ok(self.stage == Stage::Done)
    }

    /// Returns the number of bytes that were parsed. After the end of the list, its length.
    pub fn length(&self) -> usize {
        self.read
    }

    /// Returns whether the client lacks the parents of some commits.
    pub fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    /// Returns the list in `all`, for which [`Parser::advance`] returned `true`.
    pub fn finish(self, all: &[u8]) -> Commands {
        let mut updates = Vec::with_capacity(self.updates);
        let mut rest = all;
        while let Ok(Some((Packet::Data(payload), length))) = pkt::first(rest) {
            if let Ok((Line::Update { old, new, name }, _)) = parse_line(payload) {
                updates.push(Update { name: name.to_owned(), old: old.to_owned(), new: new.to_owned() });
            }
            rest = &rest[length..];
        }
        Commands { updates, capabilities: self.capabilities, options: self.options }
    }

    fn uses_options(&self) -> bool {
        self.capabilities.iter().any(|sent| sent == "push-options")
    }

    fn line(&mut self, payload: &[u8]) -> Result<(), CommandsError> {
        let (line, capabilities) = parse_line(payload)?;
        if let Some(words) = capabilities.filter(|_| self.updates == 0) {
            let words = String::from_utf8_lossy(words);
            self.capabilities = words.split_ascii_whitespace().map(str::to_owned).collect();
        }
        match line {
            Line::Shallow => self.is_shallow = true,
            Line::Update { .. } => self.updates += 1,
        }
        if self.updates > UPDATES_MAX { Err(CommandsError::TooLong) } else { Ok(()) }
    }

    fn option(&mut self, payload: &[u8]) -> Result<(), CommandsError> {
        let text = String::from_utf8_lossy(payload);
        self.options.push(text.trim_end_matches('\n').to_owned());
        if self.options.len() > OPTIONS_MAX { Err(CommandsError::TooLong) } else { Ok(()) }
    }
}

/// Parses a packet of the first section. Also returns the capabilities, which follow a zero byte.
fn parse_line(payload: &[u8]) -> Result<(Line<'_>, Option<&[u8]>), CommandsError> {
    let (line, capabilities) = match payload.iter().position(|byte| *byte == 0) {
        Some(end) => (&payload[..end], Some(&payload[end + 1..])),
        None => (payload, None),
    };
    if line.starts_with(b"push-cert") {
        return Err(CommandsError::Signed);
    }
    let line = std::str::from_utf8(line).map_err(|_| CommandsError::Encoding)?.trim_end_matches('\n');
    if line.strip_prefix("shallow ").is_some_and(is_object_id) {
        return Ok((Line::Shallow, capabilities));
    }
    let update = parse_update(line).ok_or(CommandsError::NoUpdate)?;
    Ok((update, capabilities))
}

fn parse_update(line: &str) -> Option<Line<'_>> {
    let (old, rest) = line.split_once(' ')?;
    let (new, name) = rest.split_once(' ')?;
    let valid = is_object_id(old) && is_object_id(new) && old.len() == new.len();
    valid.then_some(Line::Update { old, new, name })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;

    fn list(lines: &[&[u8]], options: Option<&[&str]>) -> Vec<u8> {
        let mut out = BytesMut::new();
        for line in lines {
            pkt::put(&mut out, line);
        }
        pkt::put_flush(&mut out);
        if let Some(options) = options {
            for option in options {
                pkt::put(&mut out, option.as_bytes());
            }
            pkt::put_flush(&mut out);
        }
        out.to_vec()
    }

    fn ids() -> (String, String) {
        ("0".repeat(40), "a1".repeat(20))
    }

    #[test]
    fn a_command_list_can_be_parsed_at_once_or_byte_by_byte() {
        let (zero, id) = ids();
        let lines = [
            format!("shallow {id}"),
            format!("{zero} {id} refs/heads/main\0 report-status push-options side-band-64k agent=git/2.47"),
            format!("{id} {zero} refs/heads/old thing\n"),
        ];
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let mut bytes = list(&lines, Some(&["x=y", "z\n"]));
        let length = bytes.len();
        bytes.extend_from_slice(b"PACK");
        let mut parser = Parser::default();
        assert_eq!(parser.advance(&bytes), Ok(true));
        assert_eq!(parser.read, length);
        assert!(parser.is_shallow());
        let mut pieces = Parser::default();
        for end in 0..length {
            assert_eq!(pieces.advance(&bytes[..end]), Ok(false), "{end}");
        }
        assert_eq!(pieces.advance(&bytes[..length]), Ok(true));
        let commands = parser.finish(&bytes);
        assert_eq!(commands, pieces.finish(&bytes[..length]));
        assert_eq!(commands.options, ["x=y", "z"]);
        assert!(commands.has("side-band-64k") && !commands.has("side-band"));
        let names: Vec<_> = commands.updates.iter().map(|u| (u.name.as_str(), u.deletes())).collect();
        assert_eq!(names, [("refs/heads/main", false), ("refs/heads/old thing", true)]);
    }

    #[test]
    fn a_flush_packet_alone_is_an_empty_list() {
        let mut parser = Parser::default();
        assert_eq!(parser.advance(b"0000"), Ok(true));
        assert!(!parser.is_shallow());
        assert_eq!(parser.finish(b"0000"), Commands::default());
    }

    #[test]
    fn malformed_lists_are_rejected() {
        let (zero, id) = ids();
        let update = |text: String| list(&[text.as_bytes()], None);
        for (bytes, expected) in [
            (b"PACK".to_vec(), CommandsError::Malformed(Malformed)),
            (update(String::new()), CommandsError::NoUpdate),
            (update(format!("{zero} {id}")), CommandsError::NoUpdate),
            (update(format!("{zero} {} refs/heads/x", "a".repeat(64))), CommandsError::NoUpdate),
            (update(format!("{zero} {} refs/heads/x", "A".repeat(40))), CommandsError::NoUpdate),
            (update("shallow x".into()), CommandsError::NoUpdate),
            (update(format!("push-cert\0 report-status {id}")), CommandsError::Signed),
            (list(&[format!("{zero} {id} refs/heads/").as_bytes(), b"\xff"], None), CommandsError::Encoding),
        ] {
            assert_eq!(Parser::default().advance(&bytes), Err(expected), "{}", bytes.escape_ascii());
        }
        let endless = b"0004".repeat(LIST_MAX_BYTES);
        assert!(Parser::default().advance(&endless).is_err());
        let mut options = list(&[format!("{zero} {id} refs/heads/x\0push-options").as_bytes()], None);
        options.extend(b"0005x".repeat(OPTIONS_MAX + 1));
        assert_eq!(Parser::default().advance(&options), Err(CommandsError::TooLong));
    }
}
