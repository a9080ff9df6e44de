//! Equal fetches share one stored answer.

mod answers;
mod clients;
mod dependence;
mod full_disk;
mod kept;
mod limits;
mod rights;
mod storm;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Method;

use crate::support::{
    Answer, TestDaemon,
    git::{Client, noise},
    send,
};

/// The counters of the cache, and the number of git processes started so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) hits: u64,
    pub(crate) joins: u64,
    pub(crate) misses: u64,
    pub(crate) evictions: u64,
    pub(crate) bytes: u64,
    pub(crate) processes: u64,
}

impl Counts {
    pub(crate) async fn of(farrier: &TestDaemon) -> Self {
        let text = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
        let get = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().expect("a number")
        };
        Self {
            hits: get("farrier_fetch_cache_hits_total"),
            joins: get("farrier_fetch_cache_joins_total"),
            misses: get("farrier_fetch_cache_misses_total"),
            evictions: get("farrier_fetch_cache_evictions_total"),
            bytes: get("farrier_fetch_cache_bytes"),
            processes: get("farrier_git_processes_started_total"),
        }
    }
}

/// A packet line.
pub(crate) fn line(text: &str) -> String {
    format!("{:04x}{text}\n", text.len() + 5)
}

/// A fetch in protocol version 2 with `arguments`.
fn fetch(arguments: &[&str]) -> String {
    let arguments: String = arguments.iter().map(|argument| line(argument)).collect();
    format!("{}{}0001{arguments}0000", line("command=fetch"), line("object-format=sha1"))
}

/// A clone of `tip` in protocol version 2.
pub(crate) fn clone_of(tip: &str) -> String {
    fetch(&["ofs-delta", &format!("want {tip}"), "done"])
}

async fn post(farrier: &TestDaemon, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let fixed = [("content-type", "application/x-git-upload-pack-request"), ("git-protocol", "version=2")];
    let headers = [&fixed[..], headers].concat();
    send(&farrier.tcp(), Method::POST, "/admin/demo.git/git-upload-pack", &headers, body).await
}

/// The head and the body of a request that is written byte by byte.
fn raw_request(body: &str) -> String {
    format!(
        "POST /admin/demo/git-upload-pack HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/x-git-upload-pack-request\r\ngit-protocol: version=2\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The pack in the body of a response.
fn pack(body: &[u8]) -> Vec<u8> {
    let (mut rest, mut pack) = (body, Vec::new());
    while !rest.is_empty() {
        let length = std::str::from_utf8(&rest[..4]).expect("text");
        let length = usize::from_str_radix(length, 16).expect("a number").max(4);
        if rest[4..length].first() == Some(&1) {
            pack.extend_from_slice(&rest[5..length]);
        }
        rest = &rest[length..];
    }
    pack
}

/// The ids of the objects in `pack`, which is checked by git.
fn objects(scratch: &Client, pack: &[u8]) -> BTreeSet<String> {
    let file = scratch.dir().join("received.pack");
    std::fs::write(&file, pack).expect("a file");
    scratch.done(&["index-pack", "received.pack"]);
    let listed = scratch.done(&["verify-pack", "-v", "received.idx"]);
    let ids = listed.lines().filter_map(|line| line.split(' ').next()).filter(|word| word.len() == 40);
    ids.map(str::to_owned).collect()
}

/// Creates the repository `admin/demo` with some commits, a tag, and `bytes` of noise. Returns the working copy.
pub(crate) async fn filled(farrier: &TestDaemon, bytes: usize) -> Client {
    let remote = super::demo_of(farrier).await;
    let work = Client::init(farrier.scratch().join("work"));
    work.done(&["remote", "add", "origin", &remote]);
    for number in 0..5 {
        work.commit("a", format!("{number}\n").repeat(100));
    }
    work.done(&["tag", "v1", "HEAD~2"]);
    std::fs::create_dir_all(work.dir().join("dir")).expect("a directory");
    work.commit("dir/large", noise(bytes));
    work.done(&["push", "-q", "origin", "main", "v1"]);
    work
}

/// An empty repository in which packs are checked.
fn scratch(farrier: &TestDaemon) -> Client {
    Client::init(farrier.scratch().join("packs"))
}
