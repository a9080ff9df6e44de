//! Lists of refs in git's wire format: the ref advertisement of a push, and the response to the command `ls-refs` of
//! protocol version 2.
//!
//! Formats: gitprotocol-pack(5), "Reference Discovery"; gitprotocol-v2(5), "ls-refs".

use bytes::{BufMut as _, BytesMut};

use crate::git::{
    pkt::{self, Packet},
    ref_list::{Head, Peeled, RefList, Tip},
};

/// Longest request that is parsed; git sends a few hundred bytes.
pub const REQUEST_MAX_BYTES: usize = 64 << 10;
/// Most prefixes of a request. Each ref is compared with each of them. Git sends about ten.
const PREFIXES_MAX: usize = 64;

/// An `ls-refs` request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LsRefs {
    peel: bool,
    symrefs: bool,
    unborn: bool,
    /// Prefixes of ref names; empty: all refs.
    prefixes: Vec<String>,
}

impl LsRefs {
    /// Parses a request. `None` for other commands and for everything that git itself must answer.
    pub fn parse(body: &[u8], sha256: bool) -> Option<Self> {
        let mut lines = Lines(body);
        if !matches!(lines.next()?, Line::Text("command=ls-refs")) {
            return None;
        }
        let mut format = "sha1";
        while let Line::Text(capability) = lines.next()? {
            match capability.split_once('=')? {
                ("object-format", named) => format = named,
                ("agent" | "session-id" | "server-option", _) => {}
                _ => return None,
            }
        }
        if (format == "sha256") != sha256 || !matches!(format, "sha1" | "sha256") {
            return None;
        }
        let mut request = Self::default();
        if lines.has_section() {
            while let Line::Text(argument) = lines.next()? {
                match argument.split_once(' ') {
                    None if argument == "peel" => request.peel = true,
                    None if argument == "symrefs" => request.symrefs = true,
                    None if argument == "unborn" => request.unborn = true,
                    Some(("ref-prefix", prefix)) if request.prefixes.len() < PREFIXES_MAX => {
                        request.prefixes.push(prefix.to_owned());
                    }
                    _ => return None,
                }
            }
        }
        (lines.0 == pkt::FLUSH).then_some(request)
    }

    /// Returns the response, or `None` if the target of a tag is needed but not known.
    pub fn list(&self, list: &RefList) -> Option<BytesMut> {
        let mut out = BytesMut::new();
        self.put_head(&mut out, list);
        for (name, tip) in &list.tips {
            if !self.includes(name) {
                continue;
            }
            let peeled = match &tip.peeled {
                Peeled::To(id) if self.peel => format!(" peeled:{id}"),
                Peeled::Unknown if self.peel => return None,
                _ => String::new(),
            };
            pkt::put(&mut out, format!("{} {name}{peeled}\n", tip.id).as_bytes());
        }
        pkt::put_flush(&mut out);
        Some(out)
    }

    fn put_head(&self, out: &mut BytesMut, list: &RefList) {
        if !self.includes("HEAD") {
            return;
        }
        let line = match &list.head {
            Head::Detached(id) => format!("{id} HEAD\n"),
            Head::Ref(name) => {
                let target = if self.symrefs { format!(" symref-target:{name}") } else { String::new() };
                match list.tips.get(name) {
                    Some(tip) => format!("{} HEAD{target}\n", tip.id),
                    None if self.unborn && self.symrefs => format!("unborn HEAD{target}\n"),
                    None => return,
                }
            }
        };
        pkt::put(out, line.as_bytes());
    }

    fn includes(&self, name: &str) -> bool {
        self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// Writes the ref advertisement of a push: all refs, with `capabilities` after the first one.
pub fn put_advertisement(out: &mut BytesMut, list: &RefList, capabilities: &[u8], sha256: bool) {
    let zero = Tip { id: "0".repeat(if sha256 { 64 } else { 40 }), peeled: Peeled::Same };
    let mut tips: Vec<(&str, &Tip)> = list.tips.iter().map(|(name, tip)| (name.as_str(), tip)).collect();
    if tips.is_empty() {
        tips.push(("capabilities^{}", &zero));
    }
    for (index, (name, tip)) in tips.into_iter().enumerate() {
        let mut line = BytesMut::from(format!("{} {name}", tip.id).as_bytes());
        if index == 0 {
            line.put_u8(0);
            line.put_slice(capabilities);
        }
        line.put_u8(b'\n');
        pkt::put(out, &line);
    }
    pkt::put_flush(out);
}

/// A packet of a request.
enum Line<'a> {
    /// A line, without its line break.
    Text(&'a str),
    /// The end of the section. It is not consumed.
    End,
}

/// Reads the packets of a request.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    /// Returns the next packet. `None` if the data is incomplete or not UTF-8.
    fn next(&mut self) -> Option<Line<'a>> {
        if self.0.starts_with(pkt::DELIMITER) {
            return Some(Line::End);
        }
        let (packet, length) = pkt::first(self.0).ok()??;
        match packet {
            Packet::Flush => Some(Line::End),
            Packet::Data(line) => {
                self.0 = &self.0[length..];
                let line = std::str::from_utf8(line).ok()?;
                Some(Line::Text(line.strip_suffix('\n').unwrap_or(line)))
            }
        }
    }

    /// Returns whether another section follows, and skips the delimiter before it.
    fn has_section(&mut self) -> bool {
        let rest = self.0.strip_prefix(pkt::DELIMITER);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Option<LsRefs> {
        LsRefs::parse(body.as_bytes(), false)
    }

    #[test]
    fn requests_are_parsed_or_left_to_git() {
        let all = "0014command=ls-refs\n0015agent=git/2.39.5\n0016object-format=sha100010009peel\n000csymrefs\n\
                   000bunborn\n001bref-prefix refs/heads/\n0013ref-prefix HEAD0000";
        let expected =
            LsRefs { peel: true, symrefs: true, unborn: true, prefixes: vec!["refs/heads/".into(), "HEAD".into()] };
        assert_eq!(parse(all), Some(expected));
        assert_eq!(parse("0013command=ls-refs0000"), Some(LsRefs::default()));
        assert_eq!(parse("0013command=ls-refs00010000"), Some(LsRefs::default()));
        assert_eq!(LsRefs::parse(all.as_bytes(), true), None, "the repository has another format");
        for other in [
            "",
            "0000",
            "0014command=fetch\n0000",
            "0013command=ls-refs",
            "0013command=ls-refs0001",
            "0013command=ls-refs0000x",
            "0013command=ls-refs00010009peel\n00010000",
            "0013command=ls-refs0009what\n0000",
            "0013command=ls-refs000bcapa=b\n0000",
            "0013command=ls-refs00010008odd\n0000",
            "0013command=ls-refs00010005\u{ff}0000",
            "0013command=ls-refs0001zzzz",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn requests_with_many_prefixes_are_left_to_git() {
        let parsed = |prefixes: usize| {
            let mut request = BytesMut::new();
            pkt::put(&mut request, b"command=ls-refs\n");
            request.extend_from_slice(pkt::DELIMITER);
            (0..prefixes).for_each(|_| pkt::put(&mut request, b"ref-prefix refs/heads/"));
            pkt::put_flush(&mut request);
            LsRefs::parse(&request, false)
        };
        assert!(parsed(PREFIXES_MAX).is_some());
        assert!(parsed(PREFIXES_MAX + 1).is_none());
    }

    #[test]
    fn an_unknown_tag_target_is_left_to_git_only_if_the_request_asks_to_peel() {
        let tip = Tip { id: "1".repeat(40), peeled: Peeled::Unknown };
        let list = RefList { head: Head::Ref("refs/heads/main".into()), tips: [("refs/tags/v".into(), tip)].into() };
        assert!(LsRefs::default().list(&list).is_some());
        let peel = |prefix: &str| LsRefs { peel: true, prefixes: vec![prefix.into()], ..LsRefs::default() };
        assert!(peel("refs/tags/").list(&list).is_none());
        assert_eq!(peel("refs/heads/").list(&list).as_deref(), Some(pkt::FLUSH));
    }
}
