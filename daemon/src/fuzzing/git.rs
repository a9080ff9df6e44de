//! Checks of the parsers for git clients' input.

use std::path::{Component, Path};

use bytes::BytesMut;

use crate::{
    git::{
        commands::{Commands, CommandsError, Parser},
        fetch_cache::request::FetchRequest,
        import,
        pkt::{self, Packet},
        ref_list::{self, Peeled},
        ref_name::{self, HEADS, TAGS},
        survey,
    },
    store::{engine::KEY_MAX_BYTES, keys},
};

/// Longest input that is also parsed byte by byte, which takes quadratic time.
const PIECES_MAX_BYTES: usize = 4_096;

/// Checks packet lines: a parsed packet parses to the same packet when it is written again, and bytes after it
/// are ignored.
pub fn pkt_line(input: &[u8]) {
    let Ok(Some((packet, length))) = pkt::first(input) else { return };
    assert!((4..=input.len()).contains(&length), "{length} of {} bytes", input.len());
    assert_eq!(pkt::first(&input[..length]), Ok(Some((packet, length))));
    assert_eq!(pkt::first(&input[..length - 1]), Ok(None), "a truncated packet is incomplete");
    let mut written = BytesMut::new();
    match packet {
        Packet::Flush => pkt::put_flush(&mut written),
        Packet::Data(payload) => {
            assert_eq!(payload, &input[4..length]);
            pkt::put(&mut written, payload);
        }
    }
    assert_eq!(pkt::first(&written), Ok(Some((packet, length))));
}

/// Checks fetch requests: the canonical form is the canonical form of itself, and has the same digest.
pub fn fetch_request(input: &[u8]) {
    for protocol in ["version=2", ""] {
        for sha256 in [false, true] {
            let Some(request) = FetchRequest::parse(protocol, input, sha256) else { continue };
            let body = request.body();
            let again = FetchRequest::parse(request.protocol(), &body, sha256).expect("a canonical request");
            assert_eq!((again.body(), again.digest(7)), (body, request.digest(7)));
            assert_eq!(FetchRequest::parse(protocol, input, !sha256), None, "ids have one length");
        }
    }
}

/// Checks ref names: a valid name is a relative path without special components, and the name can be read from
/// its key.
pub fn ref_name(input: &[u8]) {
    let Ok(name) = std::str::from_utf8(input) else { return };
    for prefix in [HEADS, TAGS] {
        let full = format!("{prefix}{name}");
        let fits = full.len() <= ref_name::NAME_MAX_BYTES;
        assert_eq!(ref_name::is_valid(&full), ref_name::is_valid_short(name) && fits, "{name:?}");
    }
    if !ref_name::is_valid(name) {
        return;
    }
    let parts = Path::new(name).components();
    assert!(parts.clone().all(|part| matches!(part, Component::Normal(_))), "{name:?} is not a plain relative path");
    assert_eq!(parts.count(), name.split('/').count(), "{name:?} has two spellings");
    assert!(!name.contains(['\0', '\n', '\r', ' ', ':', '\\']) && !name.contains("..") && !name.contains("@{"));
    assert!(!name.split('/').any(|part| part.ends_with(".lock") || part.starts_with('.')), "{name:?}");
    let key = keys::ref_tip(7, name);
    assert!(key.len() <= KEY_MAX_BYTES, "{name:?}");
    assert_eq!(keys::ref_tip_name(&key), Some(name));
}

/// Checks push command lists: a list parses the same at once, byte by byte, and after it is written again.
pub fn push_commands(input: &[u8]) {
    let complete = read(input, input.len().max(1));
    if input.len() <= PIECES_MAX_BYTES {
        assert_eq!(read(input, 1), complete, "byte by byte");
    }
    let Ok(Some(commands)) = complete else { return };
    for update in &commands.updates {
        assert!(ref_name::is_object_id(&update.old) && ref_name::is_object_id(&update.new), "{update:?}");
        assert!(!update.name.contains('\0'), "{update:?}");
    }
    if let Some(written) = written(&commands) {
        assert_eq!(read(&written, written.len()), Ok(Some(commands)), "{}", written.escape_ascii());
    }
}

/// Parses a list that arrives `step` bytes at a time; `None` if it is incomplete.
fn read(input: &[u8], step: usize) -> Result<Option<Commands>, CommandsError> {
    let mut parser = Parser::default();
    let mut arrived = 0;
    loop {
        arrived = (arrived + step).min(input.len());
        if parser.advance(&input[..arrived])? {
            return Ok(Some(parser.finish(&input[..arrived])));
        }
        if arrived == input.len() {
            return Ok(None);
        }
    }
}

/// Encodes the list as a client would; `None` if a line is too long for a packet.
fn written(commands: &Commands) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    if !commands.capabilities.is_empty() {
        // The first line carries the capabilities, even if it is a `shallow` line.
        lines.push(format!("shallow {}\0{}", "0".repeat(40), commands.capabilities.join(" ")));
    }
    lines.extend(commands.updates.iter().map(|update| format!("{} {} {}", update.old, update.new, update.name)));
    let mut out = BytesMut::new();
    let mut put = |lines: &[String]| {
        for line in lines {
            if line.len() > pkt::PAYLOAD_MAX_BYTES {
                return None;
            }
            pkt::put(&mut out, line.as_bytes());
        }
        pkt::put_flush(&mut out);
        Some(())
    };
    put(&lines)?;
    if commands.has("push-options") {
        put(&commands.options)?;
    }
    Some(out.to_vec())
}

/// Checks the ref list of an import source: the default branch is a listed branch, and both readers find the same
/// object format.
pub fn source_refs(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let advertised = import::parse_ls_remote(&text);
    if let Some(head) = &advertised.head {
        let name = format!("{HEADS}{head}");
        assert!(text.lines().any(|line| line.split_once('\t').is_some_and(|(_, listed)| listed == name)), "{text:?}");
    }
    let summary = survey::parse_ls_remote(&text);
    assert!(summary.branches + summary.tags <= text.lines().count(), "{text:?}");
    assert!(!advertised.sha256 || summary.sha256, "{text:?}");
}

/// Checks a `packed-refs` file: all names and ids are valid, and the list parses to the same when it is written again.
pub fn packed_refs(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Some(tips) = ref_list::parse_packed(text) else { return };
    let mut written = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, tip) in &tips {
        assert!(ref_name::is_valid(name) && ref_name::is_object_id(&tip.id), "{name:?} {tip:?}");
        written.extend([tip.id.as_str(), " ", *name, "\n"]);
        if let Peeled::To(id) = &tip.peeled {
            assert!(ref_name::is_object_id(id), "{name:?} {tip:?}");
            written.extend(["^", id, "\n"]);
        }
    }
    let again = ref_list::parse_packed(&written).expect("git's format");
    let ids = |tips: &[(&str, ref_list::Tip)]| {
        tips.iter().map(|(name, tip)| ((*name).to_owned(), tip.id.clone())).collect::<Vec<_>>()
    };
    assert_eq!(ids(&again), ids(&tips), "{text:?}");
}
