//! The repositories of a backup: their directories, or the files that such directories would have.

use std::{collections::BTreeSet, path::Path};

use farrier_proto::store::{Migration, MigrationState, Repository, RepositoryVersion};

use super::{BackupError, create::BackupRun, source::BucketSource, writer::BackupWriter};
use crate::{
    git::{RepositoryFile, files_of_refs, tips_in},
    store::{
        Snapshot,
        packs::{self, Packs, bucket},
        refs, repositories,
    },
    tasks,
};

/// Rows to read at a time.
const PAGE: usize = 200;

impl BackupRun<'_> {
    /// Adds the directories of all repositories that the snapshot has.
    pub(super) async fn add_repositories(&mut self, snapshot: &Snapshot) -> Result<(), BackupError> {
        let mut after = None;
        loop {
            let (page, next) = repositories::batch(snapshot, after.as_deref(), PAGE).await?;
            for row in page.iter().filter(|row| has_directory(row)) {
                self.add_repository(snapshot, row).await?;
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn add_repository(&mut self, snapshot: &Snapshot, row: &Repository) -> Result<(), BackupError> {
        let version = refs::version(snapshot, row.id).await?;
        let has_manifest = version.as_ref().is_some_and(|version| version.has_manifest);
        let named = if has_manifest { packs::all(snapshot, row.id).await? } else { Packs::new() };
        let source = self.source;
        match (&source.bucket, &version) {
            (Some(bucket), Some(version)) if has_manifest && !version.from_disk && bucket::are_all(&named) => {
                self.add_from_rows(snapshot, row, version.sha256, (bucket, named)).await
            }
            _ => self.add_directory(snapshot, row, version, named).await,
        }
    }

    /// Adds the files that the directory of a repository would have. Its packs are in the bucket or in the store, and
    /// the directory is only a copy of them.
    async fn add_from_rows(
        &mut self,
        snapshot: &Snapshot,
        row: &Repository,
        sha256: bool,
        (bucket, named): (&BucketSource, Packs),
    ) -> Result<(), BackupError> {
        let mut files = self.files_of_new(sha256).await?;
        files.extend(files_of_rows(snapshot, row).await?);
        self.add_files(row.id, files).await?;
        self.add_packs(snapshot, (row.id, sha256), bucket, named).await
    }

    /// Returns the files of an empty repository without refs.
    async fn files_of_new(&mut self, sha256: bool) -> Result<Vec<RepositoryFile>, BackupError> {
        if let Some(files) = &self.empty[usize::from(sha256)] {
            return Ok(files.clone());
        }
        let files = self.source.git.files_of_new(sha256, self.scratch.path()).await?;
        self.empty[usize::from(sha256)] = Some(files.clone());
        Ok(files)
    }

    /// Adds the directory of a repository, which has its packs. `named`: the packs of its manifest.
    async fn add_directory(
        &mut self,
        snapshot: &Snapshot,
        row: &Repository,
        version: Option<RepositoryVersion>,
        named: Packs,
    ) -> Result<(), BackupError> {
        let (id, git) = (row.id, &self.source.git);
        let from_disk = version.as_ref().is_none_or(|version| version.from_disk);
        let lock = git.lock(id).await;
        let Some(mut files) = git.files_for_backup(id, from_disk, &lock).await? else {
            self.warnings.push(format!("repository {id} has no directory; run farrierd check-data"));
            return Ok(());
        };
        drop(lock);
        let missing = missing_packs(&files, &named);
        let (only_here, elsewhere): (Packs, Packs) = named
            .into_iter()
            .filter(|(name, _)| missing.contains(name))
            .partition(|(_, row)| bucket::is_only_local(row));
        self.warnings.extend(
            only_here
                .keys()
                .map(|name| format!("repository {id}: the pack {name} is missing; run farrierd check-data")),
        );
        // Those that are fetched have both files.
        let is_fetched = |file: &RepositoryFile| elsewhere.keys().any(|name| is_of_pack(file, name));
        files.retain(|file| !is_fetched(file));
        if from_disk {
            files = self.compare_refs(snapshot, row, files).await?;
        } else {
            files.extend(files_of_rows(snapshot, row).await?);
        }
        self.add_files(id, files).await?;
        if let (Some(bucket), Some(version)) = (&self.source.bucket, version) {
            self.add_packs(snapshot, (id, version.sha256), bucket, elsewhere).await?;
        }
        Ok(())
    }

    async fn add_files(&mut self, id: u64, files: Vec<RepositoryFile>) -> Result<(), BackupError> {
        let directory = self.source.git.directory(id);
        self.write(move |writer| {
            files.into_iter().try_for_each(|file| add_repository_file(writer, id, &directory, file))
        })
        .await
    }

    /// Notes whether the files of refs, which decide in a repository that was not adopted yet, differ from the rows.
    async fn compare_refs(
        &mut self,
        snapshot: &Snapshot,
        row: &Repository,
        files: Vec<RepositoryFile>,
    ) -> Result<Vec<RepositoryFile>, BackupError> {
        // A large repository has many refs, which take a while to read.
        let head = format!("ref: refs/heads/{}\n", row.default_branch);
        let (files, tips, has_head) = tasks::blocking(move || {
            let is_head = |file: &RepositoryFile| file.path == Path::new("HEAD");
            let has_head = files.iter().any(|file| is_head(file) && file.content.as_deref() == Some(head.as_bytes()));
            let tips = tips_in(&files);
            (files, tips, has_head)
        })
        .await;
        if !has_head || refs::all(snapshot, row.id).await? != tips {
            self.moved.push(row.id);
        }
        Ok(files)
    }
}

/// Returns `HEAD` and the file of refs that the rows say.
async fn files_of_rows(snapshot: &Snapshot, row: &Repository) -> Result<[RepositoryFile; 2], BackupError> {
    let refs = refs_of(snapshot, row.id).await?;
    let branch = row.default_branch.clone();
    Ok(tasks::blocking(move || files_of_refs(&branch, refs)).await)
}

/// Returns the packs of a manifest that are not among the files of a repository.
fn missing_packs(files: &[RepositoryFile], named: &Packs) -> BTreeSet<String> {
    let found: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
    let has = |name: &str, end| found.contains(Path::new(&pack_path(name, end)));
    named.keys().filter(|name| !has(name, "pack") || !has(name, "idx")).cloned().collect()
}

/// Returns whether a file is one of the two files of a pack.
fn is_of_pack(file: &RepositoryFile, name: &str) -> bool {
    ["pack", "idx"].iter().any(|end| file.path == Path::new(&pack_path(name, end)))
}

/// Returns the path of a file of a pack below the directory of its repository.
pub(super) fn pack_path(name: &str, end: &str) -> String {
    format!("objects/pack/{name}.{end}")
}

/// Returns the refs in the snapshot, sorted by name: name, object id, and what a tag object leads to.
async fn refs_of(snapshot: &Snapshot, id: u64) -> Result<Vec<(String, String, Option<String>)>, BackupError> {
    let mut all: Vec<(String, String, Option<String>)> = Vec::new();
    loop {
        let after = all.last().map(|(name, ..)| name.clone());
        let page = refs::page(snapshot, id, after.as_deref(), PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page.into_iter().map(|(name, found)| (name, found.tip, found.peeled)));
    }
}

/// Returns whether a repository has a directory: it is complete, and it can be restored if it was deleted.
fn has_directory(row: &Repository) -> bool {
    let is_complete = row.migration.as_ref().map(Migration::state).is_none_or(|state| state == MigrationState::Done);
    is_complete && (!row.deleted || row.deleted_ms != 0)
}

fn add_repository_file(
    writer: &mut BackupWriter,
    id: u64,
    directory: &Path,
    file: RepositoryFile,
) -> Result<(), BackupError> {
    let from = directory.join(&file.path);
    let Some(below) = file.path.to_str() else { return Err(BackupError::Name { path: from }) };
    let path = format!("repositories/{id}.git/{below}");
    match file.content {
        Some(content) => writer.add_bytes(&path, &content, &from),
        None if writer.add_file(&path, &from, true)? => Ok(()),
        None => Err(BackupError::Vanished { path: from }),
    }
}
