//! Everything that somebody can see of a daemon, and the secrets that must not be in it.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use http::Method;

use crate::support::{Answer, Binary, Over, send};

/// Something that was put in.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    what: &'static str,
    pub(super) text: Cow<'static, str>,
    /// It may be seen where one of these is in the name.
    shown_by: &'static [&'static str],
}

impl Secret {
    /// One that nothing shows.
    pub(super) const fn never(what: &'static str, text: &'static str) -> Self {
        Self::but(what, text, &[])
    }

    /// One that only these show.
    pub(super) const fn but(what: &'static str, text: &'static str, shown_by: &'static [&'static str]) -> Self {
        Self { what, text: Cow::Borrowed(text), shown_by }
    }

    /// One that the daemon has made, which only these show.
    pub(super) fn made(what: &'static str, text: &str, shown_by: &'static [&'static str]) -> Self {
        assert!(text.len() > 12, "{what} can be looked for: {text}");
        Self { what, text: Cow::Owned(text.to_owned()), shown_by }
    }

    /// It as it is, and the three ways in which it may stand in something in base64.
    fn spellings(&self) -> Vec<String> {
        let shifted = |shift: usize| {
            let all = BASE64.encode([vec![b':'; shift], self.text.as_bytes().to_vec()].concat());
            // What its neighbours decide about is left out.
            all[(shift * 8).div_ceil(6)..(shift + self.text.len()) * 8 / 6].to_owned()
        };
        [self.text.to_string()].into_iter().chain((0..3).map(shifted)).collect()
    }
}

/// What was seen, by name.
pub(super) struct Outputs {
    pub(super) tcp: Over,
    pub(super) unix: Over,
    all: Vec<(String, String)>,
    secrets: Vec<Secret>,
}

impl Outputs {
    pub(super) fn of(program: &Binary) -> Self {
        Self { tcp: program.tcp(), unix: program.unix(), all: Vec::new(), secrets: Vec::new() }
    }

    /// This must not be seen.
    pub(super) fn secret(&mut self, secret: Secret) {
        self.secrets.push(secret);
    }

    /// Somebody can see this.
    pub(super) fn note(&mut self, name: &str, seen: impl Into<Vec<u8>>) {
        self.all.push((name.to_owned(), String::from_utf8_lossy(&seen.into()).into_owned()));
    }

    /// Asks as the administrator, over the socket.
    pub(super) async fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask_over(self.unix.clone(), method, path, headers, body).await
    }

    pub(super) async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    /// Asks over TCP, as whom the request says.
    pub(super) async fn ask_as(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask_over(self.tcp.clone(), method, path, headers, body).await
    }

    async fn ask_over(&mut self, over: Over, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let words: Method = method.parse().expect("a method");
        let answer = send(&over, words, path, headers, body.to_owned()).await;
        let name = format!("{method} {}", path.split('?').next().unwrap_or_default());
        self.note(&name, format!("{} {:?}\n{}", answer.status, answer.headers, answer.text()));
        answer
    }

    /// Arguments and environments of `pid` and of all that it has started.
    pub(super) fn processes(&mut self, pid: u32) {
        let mut family = vec![pid];
        let mut at = 0;
        while let Some(parent) = family.get(at) {
            let children = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
            let lists = children.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
            let born: Vec<u32> =
                lists.flat_map(|list| list.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect();
            family.extend(born);
            at += 1;
        }
        for pid in family {
            for (file, name) in [("cmdline", "arguments of a process"), ("environ", "environment of a process")] {
                // Who has ended meanwhile shows nothing.
                self.note(name, std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
            }
        }
    }

    /// How many outputs have this in their text.
    pub(super) fn with(&self, text: &str) -> usize {
        self.all.iter().filter(|(_, seen)| seen.contains(text)).count()
    }

    /// Fails when a secret stands where it must not.
    pub(super) fn assert_secret(&self) {
        let mut found = Vec::new();
        for secret in &self.secrets {
            for spelling in secret.spellings() {
                let shows = self.all.iter().filter(|(_, seen)| seen.contains(&spelling)).map(|(name, _)| name);
                let others = shows.filter(|name| !secret.shown_by.iter().any(|may| name.contains(may)));
                found.extend(others.map(|name| format!("{} ({spelling}) in {name}", secret.what)));
            }
        }
        found.dedup();
        assert!(found.is_empty(), "{}\n{}", found.join("\n"), self.lines_with(&found));
    }

    /// The first lines of logs that show one of them, for whoever has to find the reason.
    fn lines_with(&self, found: &[String]) -> String {
        let spellings: Vec<&str> = found.iter().filter_map(|text| text.split(['(', ')']).nth(1)).collect();
        let lines = self.all.iter().flat_map(|(_, seen)| seen.lines());
        let showing = lines.filter(|line| spellings.iter().any(|spelling| line.contains(spelling)));
        showing.take(10).map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
    }
}

#[test]
fn a_secret_is_found_in_whatever_is_encoded_with_it() {
    let secret = Secret::never("a password", "wombat-x1");
    for user in ["a", "ab", "abc"] {
        let header = BASE64.encode(format!("{user}:{} and more", secret.text));
        let found = secret.spellings().iter().filter(|spelling| header.contains(*spelling)).count();
        assert_eq!(found, 1, "{header}");
    }
}
