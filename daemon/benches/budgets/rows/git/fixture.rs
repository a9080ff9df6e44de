//! A repository of the size of a project that is some years old, and the git commands for it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use crate::Result;

/// The only branch.
pub(in crate::rows) const BRANCH: &str = "refs/heads/main";
/// The files of a repository.
#[derive(Clone, Copy)]
struct Files {
    /// Number of files in the tree.
    count: usize,
    /// Size of a file before compression, bytes. The content is random, so it does not compress.
    bytes: usize,
}

const LARGE_FILES: Files = Files { count: 2_000, bytes: 5 << 10 };
/// With one commit for each MiB.
const HALF_MEBIBYTES: Files = Files { count: 4_000, bytes: 512 << 10 };
const SMALL_FILES: Files = Files { count: 8_000, bytes: 512 };

/// Creates a bare repository of `commits` commits in one pack. Each commit rewrites two files. With 5,000
/// commits it has about 50 MB.
pub(in crate::rows) async fn make(dir: &Path, commits: usize) -> Result<PathBuf> {
    make_with(dir, commits, LARGE_FILES).await
}

/// Like [`make`], with small files: 38,000 commits have about 50 MB and eight times as many objects. The work of
/// `git upload-pack` grows with the objects, that of copying its output with the bytes.
pub(in crate::rows) async fn make_with_many_objects(dir: &Path, commits: usize) -> Result<PathBuf> {
    make_with(dir, commits, SMALL_FILES).await
}

/// Creates a bare repository of `mib` commits and about as many MiB in one pack, which is not compressed.
pub(in crate::rows) async fn make_large(dir: &Path, mib: usize) -> Result<PathBuf> {
    let bare = import(dir, mib, HALF_MEBIBYTES, "0").await?;
    // Several packs would be compared for deltas in each push.
    git_at(&bare, &["-c", "pack.window=0", "-c", "pack.compression=0", "repack", "-adq"]).await?;
    Ok(bare)
}

async fn make_with(dir: &Path, commits: usize, files: Files) -> Result<PathBuf> {
    let bare = import(dir, commits, files, "-1").await?;
    git_at(&bare, &["repack", "-adq"]).await?;
    Ok(bare)
}

async fn import(dir: &Path, commits: usize, files: Files, compression: &str) -> Result<PathBuf> {
    let bare = dir.join("bare.git");
    let path = bare.to_str().ok_or("the directory is not UTF-8")?;
    git(&["init", "--quiet", "--bare", "--initial-branch=main", path]).await?;
    let compression = format!("core.compression={compression}");
    let mut command = command(&["-C", path, "-c", &compression, "fast-import", "--quiet"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut process = command.spawn()?;
    let mut input = process.stdin.take().ok_or("no input")?;
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for number in 0..commits {
        input.write_all(&commit_of(number, files, &mut random)).await?;
    }
    drop(input);
    if !process.wait().await?.success() {
        return Err("git fast-import failed".into());
    }
    Ok(bare)
}

/// Formats one commit for `git fast-import`.
fn commit_of(number: usize, files: Files, random: &mut Random) -> Vec<u8> {
    let message = format!("change {number}\n");
    let mut text = format!("commit {BRANCH}\n");
    let _ = writeln!(text, "committer Bench <bench@example.org> {} +0000", 1_700_000_000 + number * 60);
    let _ = write!(text, "data {}\n{message}", message.len());
    let mut bytes = text.into_bytes();
    for file in [number * 2 % files.count, (number * 2 + 1) % files.count] {
        let head = format!("M 100644 inline src/{:02}/file-{file}\ndata {}\n", file % 50, files.bytes);
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend((0..files.bytes / 8).flat_map(|_| random.next().to_le_bytes()));
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    bytes
}

/// A pseudo-random sequence that is the same in every run.
pub(in crate::rows) struct Random(u64);

impl Random {
    /// Returns the sequence that begins with `seed`, which is not 0.
    pub(in crate::rows) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `limit`, which is not 0.
    pub(in crate::rows) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }
}

/// Adds a commit with the parent `parent` that changes one file of the repository `bare`, as the ref `name`. Returns
/// its ID, which is the same in every run.
pub(in crate::rows) async fn add_commit(bare: &Path, parent: &str, name: &str, number: usize) -> Result<String> {
    let (message, content) = (format!("change {name}\n"), format!("{name}\n").repeat(100));
    let mut text = format!("commit {name}\n");
    let _ = writeln!(text, "committer Bench <bench@example.org> {} +0000", 1_800_000_000 + number * 60);
    let _ = write!(text, "data {}\n{message}from {parent}\n", message.len());
    let _ = write!(text, "M 100644 inline src/00/one-file\ndata {}\n{content}\n", content.len());
    let mut command = command(&["-C", bare.to_str().ok_or("the directory is not UTF-8")?, "fast-import", "--quiet"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut process = command.spawn()?;
    let mut input = process.stdin.take().ok_or("no input")?;
    input.write_all(text.as_bytes()).await?;
    drop(input);
    if !process.wait().await?.success() {
        return Err("git fast-import failed".into());
    }
    git_at(bare, &["rev-parse", name]).await
}

/// Commits a change of one file in `work`.
pub(in crate::rows) async fn commit(work: &Path, number: usize) -> Result<()> {
    std::fs::write(work.join("one-file"), format!("{number}\n"))?;
    git_at(work, &["add", "one-file"]).await?;
    git_at(work, &["commit", "--quiet", "-m", "one file"]).await.map(drop)
}

/// Returns a git command that reads no user or system configuration.
pub(in crate::rows) fn command(args: &[&str]) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the client and the reference are git itself")]
    let mut command = Command::new("git");
    command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let identity = [("AUTHOR", "NAME"), ("AUTHOR", "EMAIL"), ("COMMITTER", "NAME"), ("COMMITTER", "EMAIL")];
    for (who, what) in identity {
        command.env(format!("GIT_{who}_{what}"), "bench@example.org");
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent").env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs git and returns its output.
pub(in crate::rows) async fn git(args: &[&str]) -> Result<String> {
    let output = command(args).stdout(Stdio::piped()).output().await?;
    if !output.status.success() {
        return Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs git in `dir`.
pub(in crate::rows) async fn git_at(dir: &Path, args: &[&str]) -> Result<String> {
    let dir = dir.to_str().ok_or("the directory is not UTF-8")?;
    git(&[&["-C", dir], args].concat()).await
}
