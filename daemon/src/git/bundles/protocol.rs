//! The list of bundles in protocol version 2: the command `bundle-uri`.
//!
//! Formats: gitprotocol-v2(5), "bundle-uri"; git's technical document about bundle URIs.

use bytes::{Bytes, BytesMut};

use super::{Bundle, BundleSet};
use crate::git::pkt::{self, Packet};

/// The line of the capability in the greeting.
pub(in crate::git) const CAPABILITY: &[u8] = b"bundle-uri\n";
const COMMAND: &str = "command=bundle-uri";

/// Returns whether `request` asks for the list of bundles. Git sends its capabilities before the command.
pub fn is_request(request: &[u8], sha256: bool) -> bool {
    let (mut rest, mut is_asked) = (request, false);
    while rest != pkt::FLUSH {
        if let Some(arguments) = rest.strip_prefix(pkt::DELIMITER) {
            // The command has no arguments.
            return is_asked && arguments == pkt::FLUSH;
        }
        let Ok(Some((Packet::Data(line), length))) = pkt::first(rest) else { return false };
        let Ok(line) = std::str::from_utf8(line) else { return false };
        match line.trim_end_matches('\n') {
            COMMAND if !is_asked => is_asked = true,
            "object-format=sha1" if !sha256 => {}
            "object-format=sha256" if sha256 => {}
            other if ["agent=", "session-id=", "server-option="].iter().any(|known| other.starts_with(known)) => {}
            _ => return false,
        }
        rest = &rest[length..];
    }
    is_asked
}

/// Returns the list of bundles. `None`: an empty list, with which clients continue as usual.
///
/// The addresses are relative: clients resolve them below the address of the repository, and send the same credentials.
/// Names of keys are in lower case, because clients compare them byte by byte.
pub fn list(set: Option<&BundleSet>) -> Bytes {
    let mut out = BytesMut::new();
    if let Some(set) = set {
        for line in ["bundle.version=1", "bundle.mode=all", "bundle.heuristic=creationToken"] {
            pkt::put(&mut out, line.as_bytes());
        }
        for bundle in set.bundles() {
            let Bundle { token, creation_token, .. } = bundle.as_ref();
            pkt::put(&mut out, format!("bundle.b{creation_token}.uri=bundles/{token}.bundle").as_bytes());
            pkt::put(&mut out, format!("bundle.b{creation_token}.creationtoken={creation_token}").as_bytes());
        }
    }
    pkt::put_flush(&mut out);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::git::bundles::RepositoryFacts;

    fn line(text: &str) -> String {
        format!("{:04x}{text}\n", text.len() + 5)
    }

    #[test]
    fn the_command_is_found_after_and_before_the_capabilities() {
        let (command, agent, format) = (line("command=bundle-uri"), line("agent=git/2.55"), line("object-format=sha1"));
        for request in [
            format!("{agent}{format}{command}0000"),
            format!("{command}{agent}0000"),
            format!("{agent}{command}00010000"),
            // Lines need no line break.
            "0016command=bundle-uri0000".to_owned(),
        ] {
            assert!(is_request(request.as_bytes(), false), "{request}");
        }
        for request in [
            String::new(),
            "0000".to_owned(),
            "0001".to_owned(),
            command.clone(),
            format!("{agent}0000"),
            format!("{command}{command}0000"),
            format!("{command}0001{}0000", line("x")),
            format!("{command}00000000"),
            format!("{}{command}0000", line("object-format=sha256")),
            format!("{}{command}0000", line("unknown")),
            format!("{}0000", line("command=ls-refs")),
            "0006\u{fffd}".to_owned(),
            "zzzz".to_owned(),
        ] {
            assert!(!is_request(request.as_bytes(), false), "{request}");
        }
        assert!(is_request(format!("{}{command}0000", line("object-format=sha256")).as_bytes(), true));
        assert!(!is_request(b"0006\xff\xff0000", false));
    }

    #[test]
    fn bundles_are_listed_with_relative_addresses_and_rising_tokens() {
        let bundle = |token: &str, creation_token| {
            let (token, path) = (token.to_owned(), std::path::PathBuf::new());
            Arc::new(Bundle { token, size: 1, creation_token, tips: Vec::new(), path })
        };
        let facts = RepositoryFacts { repository: 1, owner: (1, 1), name: "demo".into(), private: false };
        let set = BundleSet::new(facts, vec![bundle("aa", 5), bundle("bb", 6)], 0);
        let listed = list(Some(&set));
        let (mut rest, mut lines) = (&listed[..], Vec::new());
        while let Ok(Some((Packet::Data(line), length))) = pkt::first(rest) {
            lines.push(String::from_utf8_lossy(line).into_owned());
            rest = &rest[length..];
        }
        assert_eq!(
            lines,
            [
                "bundle.version=1",
                "bundle.mode=all",
                "bundle.heuristic=creationToken",
                "bundle.b5.uri=bundles/aa.bundle",
                "bundle.b5.creationtoken=5",
                "bundle.b6.uri=bundles/bb.bundle",
                "bundle.b6.creationtoken=6",
            ]
        );
        assert_eq!(rest, pkt::FLUSH);
        assert_eq!(&list(None)[..], pkt::FLUSH);
    }
}
