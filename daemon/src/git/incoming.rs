//! Incoming packs, which are not in a repository yet: the pack of a push while it is received and checked, and the pack
//! of a change that the daemon makes. A complete pack is installed in a repository, or removed.
//!
//! `git index-pack --strict` receives the pack of a push. It refuses a pack if an object in it names an object that
//! neither the pack nor the repository has. Nothing is written to the repository before [`IncomingPack::install`].
//!
//! A pack has a random number, which is in the names of its files: `pack-<40 hexadecimal digits>`. Git accepts any such
//! name. Two packs with the same content therefore have different files, and removing one never removes the other.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::AsyncReadExt as _,
    process::{ChildStderr, ChildStdin},
};

use super::{Git, GitError, GitProcess, Workspace, error::cleaned, repository::sync_dir};
use crate::{model::secret, shares::Holder, tasks};

/// Start of the names of files that are copied from another file system. They become packs only by a rename.
const COPY: &str = "incoming-";
/// Size of one read of git's messages, bytes.
const MESSAGE_BYTES: usize = 4_096;
/// Limit of the messages that are kept, bytes. The last messages have the reason of a refusal.
const KEPT_MAX_BYTES: usize = 16 << 10;
/// Limit of the output that is kept, bytes. Git writes one line.
const OUTPUT_MAX_BYTES: usize = 4_096;
/// Longest time for checking a received pack again.
const CHECK_MAX: Duration = Duration::from_secs(3_600);
/// Starts of the messages that say why git refuses a pack.
const REASONS: [&str; 2] = ["error: ", "fatal: "];

/// The names of the files of one pack that is not in a repository.
#[derive(Clone, Debug)]
pub(super) struct PackFiles {
    number: u64,
    /// The pack.
    pub(super) pack: PathBuf,
    /// Its index.
    pub(super) index: PathBuf,
    /// The name of its objects in a bucket ([`super::NewPack`]).
    pub(super) object: Option<String>,
}

impl PackFiles {
    /// Names the files of a new pack in `directory`.
    pub(super) fn new(directory: &Path) -> Self {
        let number = u64::from_be_bytes(secret::random_bytes()) >> 1;
        let name = name(number);
        let file = |end| directory.join(format!("{name}.{end}"));
        Self { number, pack: file("pack"), index: file("idx"), object: None }
    }

    /// Returns the name of the files, without an extension.
    pub(super) fn name(&self) -> String {
        name(self.number)
    }

    /// Writes the content of the files to stable storage.
    pub(super) fn sync(&self) -> io::Result<()> {
        for path in [&self.pack, &self.index] {
            File::open(path)?.sync_all()?;
        }
        Ok(())
    }

    /// Moves the files to the directory of packs `packs` of a repository, whose other packs do not change. The caller
    /// has synced the files ([`PackFiles::sync`]) before it took the lock of the repository, because syncing a large
    /// pack takes long.
    ///
    /// The steps: rename the index, then the pack. Until both files have their names, neither git nor the daemon's
    /// reader uses the pack: both list the indexes and skip those without a pack. Then both find a complete pack. A
    /// reader that listed the directory before lists it again when it misses an object. The index comes first, because
    /// `git repack --cruft` before version 2.42 lists the packs, and fails if one has no index. No lock is needed,
    /// because no other process knows the names. [`Git::pack_changes`]
    /// syncs the directory before a transaction adds the pack to the manifest.
    ///
    /// If the daemon is killed: before the first rename, the files are in the workspace, which the next start removes.
    /// Between the renames, the repository has an index without a pack, which is ignored and stays. After the second
    /// rename, it has a pack without a row, which the next transaction adds to the manifest. A power cut before the
    /// directory is synced leaves any of these states.
    ///
    /// From another file system, both files are copied to names that start with [`COPY`] and synced first. A failure
    /// removes these copies, which nothing else reads. If the daemon is killed, [`remove_copies`] removes them later.
    fn install(&self, packs: &Path, start: &str) -> io::Result<()> {
        create_missing(packs)?;
        let name = name(self.number);
        let (pack, index) = (packs.join(format!("{name}.pack")), packs.join(format!("{name}.idx")));
        match fs::rename(&self.index, &index) {
            Ok(()) => fs::rename(&self.pack, &pack)?,
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.install_copies(packs, start, (pack.as_path(), index.as_path()))?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn install_copies(&self, packs: &Path, start: &str, (pack, index): (&Path, &Path)) -> io::Result<()> {
        let copy = |extension: &str| packs.join(format!("{COPY}{start}-{:016x}.{extension}", self.number));
        let (pack_copy, index_copy) = (copy("pack"), copy("idx"));
        let copied = copy_synced(&self.pack, &pack_copy)
            .and_then(|()| copy_synced(&self.index, &index_copy))
            .and_then(|()| fs::rename(&index_copy, index))
            .and_then(|()| fs::rename(&pack_copy, pack));
        if copied.is_err() {
            let _ = fs::remove_file(&pack_copy);
            let _ = fs::remove_file(&index_copy);
        }
        copied
    }
}

/// Returns the name of the files of a pack, without an extension.
fn name(number: u64) -> String {
    format!("pack-{number:040x}")
}

/// Creates the directory of packs if an operator has removed it. Never creates a repository.
fn create_missing(packs: &Path) -> io::Result<()> {
    match fs::create_dir(packs) {
        Ok(()) => sync_dir(packs.parent().unwrap_or(packs)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn copy_synced(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

/// Removes the copies in the directory of packs `packs` that an earlier start of the daemon did not complete. `start`:
/// the name of this start, whose copies may be in progress. No acknowledged data is lost with them: nothing reads a
/// copy before a rename gives it the name of a pack, and a change is acknowledged after that.
pub(super) fn remove_copies(packs: &Path, start: &str) -> io::Result<()> {
    let own = format!("{COPY}{start}-");
    for entry in super::upkeep::files(packs)? {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(COPY) && !name.starts_with(&own) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the number of objects of a pack and its size in bytes.
pub(super) fn measure(pack: &Path) -> io::Result<(u32, u64)> {
    let file = File::open(pack)?;
    let mut objects = [0; 4];
    // After the signature and the version, see gitformat-pack(5).
    file.read_exact_at(&mut objects, 8)?;
    Ok((u32::from_be_bytes(objects), file.metadata()?.len()))
}

/// A received, complete, checked and synced pack in a workspace. Its files are removed when it is dropped.
#[derive(Debug)]
pub struct IncomingPack {
    files: PackFiles,
    workspace: Workspace,
    /// The number of objects, with the bases of deltas that git added.
    pub objects: u32,
    /// The size of the pack, bytes.
    pub bytes: u64,
}

impl IncomingPack {
    /// Describes a complete and synced pack in a workspace, with its number of objects and its size in bytes.
    pub(super) fn new(files: PackFiles, workspace: Workspace, (objects, bytes): (u32, u64)) -> Self {
        Self { files, workspace, objects, bytes }
    }

    /// Returns the name that the files of the pack will have in a repository, without an extension.
    pub fn name(&self) -> String {
        self.files.name()
    }

    /// Returns the workspace, in which git reads the objects of the pack.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(super) fn files(&self) -> &PackFiles {
        &self.files
    }

    pub(super) fn files_mut(&mut self) -> &mut PackFiles {
        &mut self.files
    }

    /// Checks again whether the pack and its repository have every object that the objects of the pack name, after some
    /// were removed from the repository. Returns git's message if one is missing.
    pub async fn problem(&self) -> Result<Option<String>, GitError> {
        // Git writes an index with every check. This path keeps it from replacing the index of the pack.
        let index = self.files.index.with_extension("again");
        let check = self.workspace.call(["index-pack", "--strict", "-o"]).config("pack.writeReverseIndex", "false");
        match check.args([index, self.files.pack.clone()]).timeout(CHECK_MAX).run().await {
            Ok(_) => Ok(None),
            Err(GitError::Failed { status: Some(_), stderr, .. }) => Ok(Some(stderr)),
            Err(error) => Err(error),
        }
    }

    /// Makes the objects part of the repository `into`, and returns the size of the pack in bytes.
    /// [`Git::pack_changes`] makes the names of its files durable. A pack without objects is removed; its size is 0.
    /// Continues if the future is dropped.
    ///
    /// After an error, the repository may have the pack. It is complete then, and no ref names its objects.
    pub async fn install(self, into: u64) -> Result<u64, GitError> {
        let git = self.workspace.git().clone();
        git.install_pack(self.files, into, (self.objects, self.bytes), Some(self.workspace)).await
    }
}

/// How the reception of a pack ended.
#[derive(Debug)]
pub enum Receive {
    /// The pack is complete and passed all checks.
    Pack(IncomingPack),
    /// Git refuses the pack. Contains git's message as one line.
    Refused(String),
}

/// A pack that is being received. Dropping it ends git and removes what was received. The caller limits its time.
#[derive(Debug)]
pub struct PackReception {
    // Dropped before the workspace, because it writes there.
    process: GitProcess,
    stderr: Option<ChildStderr>,
    /// The end of what git wrote to standard error.
    kept: Vec<u8>,
    files: PackFiles,
    workspace: Workspace,
}

impl PackReception {
    /// Takes the pipe for the bytes of the pack. The caller reads [`PackReception::messages`] meanwhile, and drops the
    /// pipe after the last byte. Writing fails when git has refused the pack.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin()
    }

    /// Returns the next part of git's messages for the client: progress, warnings and errors. `None`: there are no
    /// more, because git has ended. Nothing is lost if the future is dropped.
    pub async fn messages(&mut self) -> Option<Bytes> {
        let stderr = self.stderr.as_mut()?;
        let mut part = BytesMut::with_capacity(MESSAGE_BYTES);
        match stderr.read_buf(&mut part).await {
            Ok(bytes) if bytes > 0 => {
                self.kept.extend_from_slice(&part);
                let surplus = self.kept.len().saturating_sub(KEPT_MAX_BYTES);
                self.kept.drain(..surplus);
                Some(part.freeze())
            }
            Ok(_) | Err(_) => {
                self.stderr = None;
                None
            }
        }
    }

    /// Waits for the end of git. The caller has dropped the pipe for the pack.
    ///
    /// A pack that git refuses is not an error. It is an error if git was killed, or a file cannot be read.
    pub async fn end(mut self) -> Result<Receive, GitError> {
        drop(self.process.stdin());
        while self.messages().await.is_some() {}
        // Dropped in the reverse order: the process first.
        let Self { workspace, files, kept, mut process, .. } = self;
        let output = output(&mut process).await;
        let exit = process.wait().await?;
        let refusal = match exit.status {
            Some(0) if is_one_line(&output) => None,
            Some(0) => Some("there is more data after the pack".to_owned()),
            Some(status) => Some(reason(&kept, status)),
            None => {
                let stderr = cleaned(&kept);
                return Err(GitError::Failed { command: exit.command, status: None, stderr });
            }
        };
        if let Some(refusal) = refusal {
            workspace.remove().await;
            return Ok(Receive::Refused(refusal));
        }
        let received = files.clone();
        let measured = tasks::blocking(move || {
            received.sync()?;
            measure(&received.pack)
        });
        let (objects, bytes) = measured.await.map_err(GitError::io("storing the pack of a push"))?;
        Ok(Receive::Pack(IncomingPack { files, workspace, objects, bytes }))
    }
}

/// Returns the beginning of git's output. Leaves out output that cannot be read.
async fn output(process: &mut GitProcess) -> BytesMut {
    let mut output = BytesMut::new();
    loop {
        let mut part = BytesMut::with_capacity(OUTPUT_MAX_BYTES);
        match process.read_buf(&mut part).await {
            Ok(0) | Err(_) => return output,
            Ok(_) if output.len() < OUTPUT_MAX_BYTES => output.extend_from_slice(&part),
            Ok(_) => {}
        }
    }
}

/// Returns whether git wrote only the line with the checksum. After it, git repeats what it has read beyond the end of
/// the pack. It does not read what arrives after it has ended; such bytes have no effect and are not noticed.
fn is_one_line(output: &[u8]) -> bool {
    output.iter().position(|byte| *byte == b'\n').is_some_and(|end| end + 1 == output.len())
}

/// Returns the lines that say why git refuses the pack, as one line.
fn reason(stderr: &[u8], status: i32) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.split(['\n', '\r']).filter(|line| REASONS.iter().any(|start| line.starts_with(start)));
    let reasons = cleaned(lines.collect::<Vec<_>>().join("\n").as_bytes());
    if reasons.is_empty() { format!("git index-pack ended with status {status}") } else { reasons }
}

impl Git {
    /// Starts to receive a pack for a repository: it may have deltas against objects of the repository, and its objects
    /// may name them. A pack of more than `max_bytes` is refused. Needs no lock and writes nothing to the repository.
    pub async fn receive(&self, repository: u64, max_bytes: u64, holder: Holder) -> Result<PackReception, GitError> {
        let workspace = Workspace::create(self.clone(), repository, Some(holder), None).await?;
        let files = PackFiles::new(&workspace.packs());
        let call = workspace
            .call(["index-pack", "--stdin", "--fix-thin", "--strict", "--show-resolving-progress"])
            .args([format!("--max-input-size={max_bytes}")])
            .args([OsString::from("-o"), files.index.clone().into_os_string(), files.pack.clone().into_os_string()])
            // A reverse index would be another file beside the pack, and only saves time for large packs.
            .config("pack.writeReverseIndex", "false");
        let mut process = call.stream(holder).await?;
        let stderr = process.take_stderr();
        Ok(PackReception { process, stderr, kept: Vec::new(), files, workspace })
    }

    /// Moves a complete and synced pack to the repository `into`, and returns its size. `with`, the workspace with the
    /// files, is removed afterwards, even if the future is dropped. If the caller keeps the workspace and removes it
    /// meanwhile, the repository may get an index without a pack, which has no effect.
    pub(super) async fn install_pack(
        &self,
        files: PackFiles,
        into: u64,
        (objects, bytes): (u32, u64),
        with: Option<Workspace>,
    ) -> Result<u64, GitError> {
        let git = self.clone();
        let installed = tasks::blocking(move || {
            let _with = with;
            if objects == 0 {
                return Ok(0);
            }
            let packs = git.directory(into).join("objects").join("pack");
            git.0.installed.add(into, files.name(), files.object.clone());
            let installed = files.install(&packs, &git.0.start);
            // Also after an error: the repository may have the pack. The next reader lists the packs again, and no
            // answer that was computed without them is served for the changed state.
            git.0.generations.raise(into);
            installed.map(|()| bytes)
        });
        installed.await.map_err(GitError::io("moving a pack to a repository"))
    }
}

#[cfg(test)]
mod tests;
