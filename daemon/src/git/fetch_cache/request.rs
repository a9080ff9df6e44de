//! The canonical form of a fetch request: equal for all requests that git answers with the same objects.
//!
//! Only requests whose every line is understood have one. Git is run with the canonical form, not with the bytes of the
//! client, so the stored answer cannot depend on anything that the key does not contain.
//!
//! Formats: gitprotocol-v2(5), "fetch"; gitprotocol-pack(5), "Packfile Negotiation".

mod dependence;

use std::{collections::BTreeSet, sync::Arc};

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};

use super::state::StateScope;
use crate::git::{
    objects::ObjectId,
    pkt::{self, Packet},
    ref_name::is_object_id,
};

/// Longest request that has a canonical form, bytes: about 20,000 wants.
pub const REQUEST_MAX_BYTES: usize = 1 << 20;
/// Most haves of a request that does not end the negotiation. Its answer depends on the history of one client.
const OPEN_HAVES_MAX: usize = 64;
/// Makes git send no progress. Answers without progress suit every client.
const NO_PROGRESS: &str = "no-progress";
/// Arguments without a value.
const FLAGS: [&str; 4] = ["thin-pack", "include-tag", "ofs-delta", "deepen-relative"];
/// Capabilities of protocol version 0 that a request may select.
const CAPABILITIES: [&str; 12] = [
    "multi_ack",
    "multi_ack_detailed",
    "no-done",
    "thin-pack",
    "side-band",
    "side-band-64k",
    "ofs-delta",
    "include-tag",
    "deepen-since",
    "deepen-not",
    "deepen-relative",
    "filter",
];

/// A SHA-256.
pub type Digest = [u8; 32];

/// A fetch request in its canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    protocol: &'static str,
    body: Bytes,
    is_full_clone: bool,
    has_haves: bool,
    scope: StateScope,
    /// The objects that the repository must have, so that the answer depends on no more than `scope`.
    named: Arc<[ObjectId]>,
    /// The SHA-256 of everything but the IDs of objects.
    outline: Digest,
}

impl FetchRequest {
    /// Returns the canonical form of `body`. `protocol` is the value of the header `Git-Protocol`, `sha256` the object
    /// format of the repository. `None`: the answer must not be shared.
    pub fn parse(protocol: &str, body: &[u8], sha256: bool) -> Option<Self> {
        if body.len() > REQUEST_MAX_BYTES {
            return None;
        }
        let mut arguments = Arguments { sha256, ..Arguments::default() };
        let (protocol, body) = match protocol {
            "version=2" => ("version=2", arguments.parse_v2(body)?),
            "" | "version=0" => ("", arguments.parse_v0(body)?),
            _ => return None,
        };
        let (scope, named) = arguments.dependence(protocol);
        let (is_full_clone, outline) = (arguments.are_of_full_clone(), arguments.outline(protocol));
        let has_haves = !arguments.haves.is_empty();
        Some(Self { protocol, body, is_full_clone, has_haves, scope, named, outline })
    }

    /// Returns whether a request that begins with `start` may have a canonical form.
    pub fn may_begin_with(start: &[u8]) -> bool {
        let line = start.get(4..).unwrap_or_default();
        line.starts_with(b"command=fetch") || line.starts_with(b"want ")
    }

    /// Returns whether the client has no commits and wants the whole history and all files.
    pub fn is_full_clone(&self) -> bool {
        self.is_full_clone
    }

    /// Returns whether the client names commits that it has, so that git sends only what is newer.
    pub(super) fn has_haves(&self) -> bool {
        self.has_haves
    }

    /// Returns the request to send to git.
    pub fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// Returns the value of `GIT_PROTOCOL` for git.
    pub fn protocol(&self) -> &'static str {
        self.protocol
    }

    /// Returns the SHA-256 of the request to `repository`. Requests with equal digests get the same objects while the
    /// repository is in the same state.
    pub fn digest(&self, repository: u64) -> Digest {
        let mut hash = Sha256::new();
        hash.update(repository.to_be_bytes());
        hash.update([u8::from(!self.protocol.is_empty())]);
        // Packet lines begin with their length, so different requests have different bytes.
        hash.update(&self.body);
        hash.finalize().into()
    }

    /// Returns the SHA-256 that requests to `repository` have in common if they differ only in the IDs of objects.
    pub(super) fn shape(&self, repository: u64) -> Digest {
        Sha256::new().chain_update(repository.to_be_bytes()).chain_update(self.outline).finalize().into()
    }

    /// Returns the refs on which the answer depends if the repository has the objects [`FetchRequest::named`].
    /// Otherwise it depends on all of them.
    pub(super) fn scope(&self) -> StateScope {
        self.scope
    }

    /// Returns the wants, haves and shallow commits of a request whose answer does not depend on all refs.
    pub(super) fn named(&self) -> &Arc<[ObjectId]> {
        &self.named
    }
}

/// The arguments of a request that were read so far.
#[derive(Debug, Default)]
struct Arguments {
    sha256: bool,
    /// Flags, and the arguments about the depth and the filter, as they were sent.
    options: BTreeSet<String>,
    wants: BTreeSet<String>,
    shallow: BTreeSet<String>,
    haves: Vec<String>,
    done: bool,
    /// The capabilities of version 0.
    selected: String,
}

impl Arguments {
    fn parse_v2(&mut self, body: &[u8]) -> Option<Bytes> {
        let mut rest = body;
        if text(&mut rest)? != "command=fetch" {
            return None;
        }
        while !rest.starts_with(pkt::DELIMITER) {
            self.accept_capability(text(&mut rest)?)?;
        }
        rest = &rest[pkt::DELIMITER.len()..];
        while rest != pkt::FLUSH {
            let line = text(&mut rest)?;
            match line.split_once(' ') {
                None if line == "done" => self.done = true,
                None if line == NO_PROGRESS => {}
                None if FLAGS.contains(&line) => drop(self.options.insert(line.to_owned())),
                Some(("have", id)) => self.haves.push(self.id(id)?),
                _ => self.accept_line(line)?,
            }
        }
        if self.wants.is_empty() || !self.done && self.haves.len() > OPEN_HAVES_MAX {
            return None;
        }
        let mut out = BytesMut::new();
        put(&mut out, "command=fetch");
        put(&mut out, if self.sha256 { "object-format=sha256" } else { "object-format=sha1" });
        out.extend_from_slice(pkt::DELIMITER);
        put(&mut out, NO_PROGRESS);
        self.options.iter().for_each(|option| put(&mut out, option));
        self.shallow.iter().for_each(|id| put(&mut out, &format!("shallow {id}")));
        self.wants.iter().for_each(|id| put(&mut out, &format!("want {id}")));
        self.haves.iter().for_each(|id| put(&mut out, &format!("have {id}")));
        if self.done {
            put(&mut out, "done");
        }
        pkt::put_flush(&mut out);
        Some(out.freeze())
    }

    /// Parses a request without haves, which ends with `done`.
    fn parse_v0(&mut self, body: &[u8]) -> Option<Bytes> {
        let mut rest = body;
        let first = text(&mut rest)?.strip_prefix("want ")?;
        let (want, selected) = first.split_once(' ').unwrap_or((first, ""));
        self.wants.insert(self.id(want)?);
        let mut capabilities = BTreeSet::from([NO_PROGRESS]);
        for capability in selected.split(' ').filter(|word| !word.is_empty() && *word != NO_PROGRESS) {
            if CAPABILITIES.contains(&capability) {
                capabilities.insert(capability);
            } else {
                self.accept_capability(capability)?;
            }
        }
        while !rest.starts_with(pkt::FLUSH) {
            self.accept_line(text(&mut rest)?)?;
        }
        rest = &rest[pkt::FLUSH.len()..];
        if text(&mut rest)? != "done" || !rest.is_empty() {
            return None;
        }
        self.done = true;
        self.selected = capabilities.iter().copied().collect::<Vec<_>>().join(" ");
        let mut out = BytesMut::new();
        for (number, id) in self.wants.iter().enumerate() {
            let selected = capabilities.iter().filter(|_| number == 0).fold(String::new(), |all, one| all + " " + one);
            put(&mut out, &format!("want {id}{selected}"));
        }
        self.shallow.iter().for_each(|id| put(&mut out, &format!("shallow {id}")));
        self.options.iter().for_each(|option| put(&mut out, option));
        pkt::put_flush(&mut out);
        put(&mut out, "done");
        Some(out.freeze())
    }

    fn are_of_full_clone(&self) -> bool {
        let is_partial = |option: &String| option.starts_with("deepen") || option.starts_with("filter ");
        self.done && self.haves.is_empty() && self.shallow.is_empty() && !self.options.iter().any(is_partial)
    }

    /// Accepts a capability that does not change the answer.
    fn accept_capability(&self, capability: &str) -> Option<()> {
        match capability.split_once('=')? {
            ("agent" | "session-id", _) => Some(()),
            ("object-format", format) => (format == if self.sha256 { "sha256" } else { "sha1" }).then_some(()),
            _ => None,
        }
    }

    /// Accepts a line that both versions of the protocol have.
    fn accept_line(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(' ')?;
        match word {
            "want" => drop(self.wants.insert(self.id(value)?)),
            "shallow" => drop(self.shallow.insert(self.id(value)?)),
            "deepen" | "deepen-since" => {
                let is_number =
                    !value.is_empty() && value.len() < 20 && value.bytes().all(|byte| byte.is_ascii_digit());
                let is_first = !self.options.iter().any(|option| option.split(' ').next() == Some(word));
                (is_number && is_first).then(|| self.options.insert(line.to_owned()))?;
            }
            "deepen-not" => drop(self.options.insert(line.to_owned())),
            "filter" => {
                // Git combines several filters.
                let is_first = !self.options.iter().any(|option| option.starts_with("filter "));
                is_first.then(|| self.options.insert(line.to_owned()))?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns `text` if it is an object id of the repository's format.
    fn id(&self, text: &str) -> Option<String> {
        let length = if self.sha256 { 64 } else { 40 };
        (text.len() == length && is_object_id(text)).then(|| text.to_owned())
    }
}

/// Takes the next line of `rest`, without its line break. `None`: it is no complete data packet in UTF-8.
fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (packet, length) = pkt::first(rest).ok()??;
    let Packet::Data(line) = packet else { return None };
    *rest = &rest[length..];
    let line = std::str::from_utf8(line).ok()?;
    Some(line.strip_suffix('\n').unwrap_or(line))
}

fn put(out: &mut BytesMut, line: &str) {
    // A line of a client without a line break may be as long as a packet, and grows by one byte.
    let line = format!("{line}\n");
    pkt::put(out, line.as_bytes().get(..pkt::PAYLOAD_MAX_BYTES).unwrap_or(line.as_bytes()));
}

#[cfg(test)]
mod tests;
