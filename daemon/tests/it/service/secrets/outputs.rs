//! Collects all outputs of a daemon and searches them for secrets.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use http::Method;

use crate::support::{Answer, Binary, ServerAddress, send};

/// A secret that was given to the daemon or created by it.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    what: &'static str,
    pub(super) text: Cow<'static, str>,
    /// The secret may appear in outputs whose name contains one of these texts.
    shown_by: &'static [&'static str],
}

impl Secret {
    /// A secret that must not appear in any output.
    pub(super) const fn never(what: &'static str, text: &'static str) -> Self {
        Self::but(what, text, &[])
    }

    /// A secret that may appear only in these outputs.
    pub(super) const fn but(what: &'static str, text: &'static str, shown_by: &'static [&'static str]) -> Self {
        Self { what, text: Cow::Borrowed(text), shown_by }
    }

    /// A secret that the daemon created, which may appear only in these outputs.
    pub(super) fn generated(what: &'static str, text: &str, shown_by: &'static [&'static str]) -> Self {
        assert!(text.len() > 12, "{what} is too short to search for: {text}");
        Self { what, text: Cow::Owned(text.to_owned()), shown_by }
    }

    /// The secret as plain text, and its three possible base64 encodings inside a longer text.
    fn spellings(&self) -> Vec<String> {
        let shifted = |shift: usize| {
            let all = BASE64.encode([vec![b':'; shift], self.text.as_bytes().to_vec()].concat());
            // Leave out the characters that depend on the neighboring bytes.
            all[(shift * 8).div_ceil(6)..(shift + self.text.len()) * 8 / 6].to_owned()
        };
        [self.text.to_string()].into_iter().chain((0..3).map(shifted)).collect()
    }
}

/// All outputs, with their names.
pub(super) struct Outputs {
    pub(super) tcp: ServerAddress,
    pub(super) unix: ServerAddress,
    all: Vec<(String, String)>,
    secrets: Vec<Secret>,
}

impl Outputs {
    pub(super) fn of(program: &Binary) -> Self {
        Self { tcp: program.tcp(), unix: program.unix(), all: Vec::new(), secrets: Vec::new() }
    }

    /// Adds a secret to search for.
    pub(super) fn secret(&mut self, secret: Secret) {
        self.secrets.push(secret);
    }

    /// Adds an output.
    pub(super) fn note(&mut self, name: &str, output: impl Into<Vec<u8>>) {
        self.all.push((name.to_owned(), String::from_utf8_lossy(&output.into()).into_owned()));
    }

    /// Sends a request as the administrator over the Unix socket and records the response.
    pub(super) async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask_at(self.unix.clone(), method, path, headers, body).await
    }

    pub(super) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    /// Sends a request over TCP and records the response.
    pub(super) async fn ask_as(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask_at(self.tcp.clone(), method, path, headers, body).await
    }

    async fn ask_at(
        &mut self,
        server: ServerAddress,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let words: Method = method.parse().expect("a method");
        let answer = send(&server, words, path, headers, body.to_owned()).await;
        let name = format!("{method} {}", path.split('?').next().unwrap_or_default());
        self.note(&name, format!("{} {:?}\n{}", answer.status, answer.headers, answer.text()));
        answer
    }

    /// Records the arguments and environments of the process `pid` and its descendants.
    pub(super) fn processes(&mut self, pid: u32) {
        let mut family = vec![pid];
        let mut at = 0;
        while let Some(parent) = family.get(at) {
            let children = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
            let lists = children.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
            let started: Vec<u32> =
                lists.flat_map(|list| list.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect();
            family.extend(started);
            at += 1;
        }
        for pid in family {
            for (file, name) in [("cmdline", "arguments of a process"), ("environ", "environment of a process")] {
                // A process may have ended since it was listed.
                self.note(name, std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
            }
        }
    }

    /// Number of outputs that contain `text`.
    pub(super) fn with(&self, text: &str) -> usize {
        self.all.iter().filter(|(_, output)| output.contains(text)).count()
    }

    /// Fails if a secret appears in an output where it must not.
    pub(super) fn assert_no_secret_shown(&self) {
        let mut found = Vec::new();
        for secret in &self.secrets {
            for spelling in secret.spellings() {
                let outputs = self.all.iter().filter(|(_, output)| output.contains(&spelling)).map(|(name, _)| name);
                let others = outputs.filter(|name| !secret.shown_by.iter().any(|allowed| name.contains(allowed)));
                found.extend(others.map(|name| format!("{} ({spelling}) in {name}", secret.what)));
            }
        }
        found.dedup();
        assert!(found.is_empty(), "{}\n{}", found.join("\n"), self.lines_with(&found));
    }

    /// The first lines that contain one of the found secrets, to help debugging.
    fn lines_with(&self, found: &[String]) -> String {
        let spellings: Vec<&str> = found.iter().filter_map(|text| text.split(['(', ')']).nth(1)).collect();
        let lines = self.all.iter().flat_map(|(_, output)| output.lines());
        let showing = lines.filter(|line| spellings.iter().any(|spelling| line.contains(spelling)));
        showing.take(10).map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
    }
}

#[test]
fn a_secret_is_found_inside_base64_of_a_longer_text() {
    let secret = Secret::never("a password", "wombat-x1");
    for user in ["a", "ab", "abc"] {
        let header = BASE64.encode(format!("{user}:{} and more", secret.text));
        let found = secret.spellings().iter().filter(|spelling| header.contains(*spelling)).count();
        assert_eq!(found, 1, "{header}");
    }
}
