//! Makes packs from the objects of other packs of the same repository. The caller moves them to the repository and
//! records them; the other packs do not change.

use std::{
    fs::{self, File},
    io,
};

use super::{
    Git, GitError, IncomingPack, RepositoryLock, Workspace,
    incoming::{self, PackFiles},
    multi_pack_index, upkeep,
};
use crate::tasks;

/// The operation that errors name.
const DOING: &str = "combining packs";
/// Start of the names of files that a killed process leaves ([`upkeep::remove_unfinished`]).
const UNFINISHED: &str = ".tmp-";

impl Git {
    /// Makes one pack in a workspace that has the objects of the packs `combined`, except those that the packs `others`
    /// have as well. Returns `None` if none is left. Needs no lock: the caller ensures that no pack is removed
    /// meanwhile.
    pub async fn combine_packs(
        &self,
        repository: u64,
        combined: &[String],
        others: &[String],
    ) -> Result<Option<IncomingPack>, GitError> {
        let lines = lines("", combined, ".pack") + &lines("^", others, ".pack");
        self.pack_into_workspace(repository, ["pack-objects", "--stdin-packs"], lines).await
    }

    /// Makes one pack in a workspace that has all objects that refs reach. Returns `None` if there is none.
    pub async fn pack_reachable(
        &self,
        repository: u64,
        _lock: &RepositoryLock,
    ) -> Result<Option<IncomingPack>, GitError> {
        self.pack_into_workspace(repository, ["pack-objects", "--all"], String::new()).await
    }

    async fn pack_into_workspace<const N: usize>(
        &self,
        repository: u64,
        args: [&str; N],
        stdin: String,
    ) -> Result<Option<IncomingPack>, GitError> {
        let workspace = Workspace::create(self.clone(), repository, None, None).await?;
        let pack = workspace.call(args).args(["--non-empty", "--delta-base-offset", "-q"]);
        // A reverse index would be another file beside the pack.
        let pack = pack.config("pack.writeReverseIndex", "false").args([workspace.directory().join("new")]);
        let output = pack.stdin(stdin).run().await?;
        let digest = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if digest.is_empty() {
            return Ok(None);
        }
        let written = workspace.directory().join(format!("new-{digest}"));
        let files = PackFiles::new(workspace.directory());
        let stored = files.clone();
        let named = tasks::blocking(move || {
            fs::rename(written.with_extension("pack"), &stored.pack)?;
            fs::rename(written.with_extension("idx"), &stored.index)?;
            stored.sync()?;
            incoming::measure(&stored.pack)
        });
        let measured = named.await.map_err(GitError::io(DOING))?;
        Ok(Some(IncomingPack::new(files, workspace, measured)))
    }

    /// Writes a cruft pack: the objects of the packs `dropped` that the pack `kept` does not have. Each has the time of
    /// the file in which git finds it. Objects with times before `expiry_secs` are left out, unless a newer one needs
    /// them. Returns the name of the pack, whose files are in the repository and on stable storage; `None` if no object
    /// is left.
    pub async fn write_cruft_pack(
        &self,
        repository: u64,
        kept: Option<&str>,
        dropped: &[String],
        expiry_secs: u64,
        _lock: &RepositoryLock,
    ) -> Result<Option<String>, GitError> {
        let packs = self.directory(repository).join("objects").join("pack");
        let files = PackFiles::new(&packs);
        let written = packs.join(format!("{UNFINISHED}{}", files.name()));
        let kept = kept.map(|name| format!("{name}.pack\n")).unwrap_or_default();
        let lines = kept + &lines("-", dropped, ".pack");
        // Git looks only for packs that are not borrowed, so the pack cannot be made in a workspace.
        let call = self.call(repository, ["pack-objects", "--cruft", "--non-empty", "--delta-base-offset", "-q"]);
        let call = call.args([format!("--cruft-expiration=@{expiry_secs} +0000")]).args([written.clone()]);
        let output = call.config("pack.writeReverseIndex", "false").stdin(lines).run().await?;
        let digest = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if digest.is_empty() {
            return Ok(None);
        }
        let name = files.name();
        self.0.installed.add(repository, name.clone(), None);
        let start = format!("{UNFINISHED}{name}-{digest}");
        let file = move |end: &str| packs.join(format!("{start}.{end}"));
        let targets = [
            ("mtimes", files.pack.with_extension("mtimes")),
            ("idx", files.index.clone()),
            ("pack", files.pack.clone()),
        ];
        let named = tasks::blocking(move || {
            // See `PackFiles::install` for the order.
            targets.iter().try_for_each(|(end, _)| File::open(file(end))?.sync_all())?;
            targets.iter().try_for_each(|(end, target)| fs::rename(file(end), target))
        });
        named.await.map_err(GitError::io(DOING))?;
        Ok(Some(name))
    }

    /// Returns which packs of a repository are cruft packs.
    pub async fn cruft_packs(&self, repository: u64) -> Result<Vec<String>, GitError> {
        let packs = self.directory(repository).join("objects").join("pack");
        let list = move || -> io::Result<Vec<String>> {
            let names = upkeep::files(&packs)?.into_iter().map(|entry| entry.file_name());
            Ok(names.filter_map(|name| Some(name.to_str()?.strip_suffix(".mtimes")?.to_owned())).collect())
        };
        tasks::blocking(list).await.map_err(GitError::io("listing packs"))
    }

    /// Writes the files that git derives from the packs `names`, the largest first, and from the refs: the multi-pack
    /// index with a bitmap, and the commit graph. Other packs in the directory are left out. Needs no lock of the
    /// repository: no other process of the daemon writes these files, because only one task tidies or prunes it.
    pub async fn write_derived(&self, repository: u64, names: &[String]) -> Result<(), GitError> {
        let lines = lines("", names, ".idx");
        let write = async {
            let largest = names.first().map(|name| format!("--preferred-pack={name}.idx"));
            let index = self.call(repository, [multi_pack_index::FILE, "write", "--bitmap", "--stdin-packs"]);
            index.args(["--no-progress"]).args(largest).stdin(lines).run().await?;
            self.write_commit_graph(repository, "--split").await
        };
        let _changed = self.0.generations.raise_at_end(repository);
        self.with_derived_lock_files(repository, write).await
    }

    /// Writes the commit graph from the refs. `split`: which existing layers stay.
    pub(super) async fn write_commit_graph(&self, repository: u64, split: &str) -> Result<(), GitError> {
        let graph = ["commit-graph", "write", "--reachable", split, "--no-progress"];
        self.run(repository, graph, "").await.map(drop)
    }
}

/// Returns a line for each of `names`, with this start and end.
fn lines(start: &str, names: &[String], end: &str) -> String {
    names.iter().flat_map(|name| [start, name, end, "\n"]).collect()
}
