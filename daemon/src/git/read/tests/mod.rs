//! Compares what the daemon reads itself with what git prints, and reads damaged and hostile repositories.

mod agreement;
mod changes;
mod damage;

use std::{fmt::Write as _, path::Path, time::Duration};

use super::*;
use crate::{config, git::tests::git_config};

/// The number of the repository.
const ID: u64 = 1;

fn git_in(dir: &Path) -> Git {
    let config = config::GitConfig { max_processes: 8, ..git_config() };
    Git::open(dir, &config).expect("directories")
}

/// Runs git in the repository and returns its output as text.
async fn run(git: &Git, args: &[&str], input: impl Into<Bytes>) -> String {
    let output = git.call(ID, args.iter().copied()).stdin(input).output_max_bytes(64 << 20).run().await;
    String::from_utf8_lossy(&output.expect("git succeeds").stdout).trim_end().to_owned()
}

/// A reader without results of earlier reads.
fn fresh(git: &Git) -> RepositoryReader {
    git.0.read_cache.clear();
    git.reader(ID)
}

/// A pseudo-random sequence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Input of `git fast-import`: branches with merges, and entries of every kind, in an order that depends on `seed`.
fn history(seed: u64, commits: u64) -> Vec<u8> {
    let mut random = Random(seed | 1);
    let mut input = Vec::new();
    let branches = ["main", "feature/x", "feature/y", "w\u{fc}nsch"];
    let mut last = [0_u64; 4];
    for mark in 1..=commits {
        let branch = usize::try_from(random.below(4)).expect("small");
        let mut text = String::new();
        let _ = writeln!(text, "commit refs/heads/{}\nmark :{mark}", branches[branch]);
        let when = 1_700_000_000 + mark * 60;
        let _ = writeln!(text, "committer C \u{d6} <c@x.example> {when} +0530\ndata <<END\nchange {mark}\nEND");
        if last[branch] > 0 {
            let _ = writeln!(text, "from :{}", last[branch]);
        }
        let other = last[usize::try_from(random.below(4)).expect("small")];
        if last[branch] > 0 && other > 0 && other != last[branch] && random.below(3) == 0 {
            let _ = writeln!(text, "merge :{other}");
        }
        last[branch] = mark;
        input.extend_from_slice(text.as_bytes());
        for _ in 0..=random.below(4) {
            entry(&mut input, &mut random, mark);
        }
        input.push(b'\n');
    }
    let some = last.iter().copied().max().unwrap_or(1);
    let tag = |name: &str, from: &str| {
        format!("tag {name}\n{from}tagger T <t@x.example> 1700000000 +0000\ndata <<END\n{name}\nEND\n")
    };
    input.extend_from_slice(tag("v1.0", &format!("mark :9000\nfrom :{some}\n")).as_bytes());
    input.extend_from_slice(tag("of-a-tag", "from :9000\n").as_bytes());
    input.extend_from_slice(format!("reset refs/tags/light\nfrom :{some}\n\n").as_bytes());
    input.extend_from_slice(format!("reset refs/notes/x\nfrom :{some}\n\n").as_bytes());
    input
}

/// Adds or removes an entry of the last commit. Contents have parts in common, so that git stores deltas.
fn entry(input: &mut Vec<u8>, random: &mut Random, mark: u64) {
    let number = random.below(12);
    let mut content = vec![b'#'; 40];
    content.extend((0..random.below(3_000)).map(|n| if n % 97 == mark % 97 { b'\n' } else { b'a' + (n % 23) as u8 }));
    let path: &[u8] = match number {
        0 => b"\"link\"",
        1 => b"\"run.sh\"",
        2 => b"\"src/lib\"",
        3 => b"\"src/\\377\\376 odd\"",
        4 => "\"src/\u{65e5}\u{672c}/deep/er/file\"".as_bytes(),
        5 => b"\"a b\\tc\"",
        6 => b"\"src/a\"",
        7 => b"\"src-a\"",
        8 => b"\"src.a\"",
        9 => b"\"empty\"",
        10 => b"\"large\"",
        _ => b"\"README.md\"",
    };
    let mode = match number {
        0 => "120000",
        1 => "100755",
        2 => {
            input.extend_from_slice(b"M 160000 0123456789012345678901234567890123456789 \"lib\"\n");
            return;
        }
        9 => {
            // Commits may end without entries.
            input.extend_from_slice(if random.below(4) == 0 { b"deleteall\n" } else { b"D \"README.md\"\n" });
            return;
        }
        10 => {
            content = content.repeat(60);
            "100644"
        }
        _ => "100644",
    };
    input.extend_from_slice(format!("M {mode} inline ").as_bytes());
    input.extend_from_slice(path);
    input.extend_from_slice(format!("\ndata {}\n", content.len()).as_bytes());
    input.extend_from_slice(&content);
    input.push(b'\n');
}
