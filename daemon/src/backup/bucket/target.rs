//! Writes backups to a bucket.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::BucketClient;
use crate::backup::{
    BackupError, BackupFile, BackupProgress,
    manifest::{self, LIST, MANIFEST},
    place::{
        BACKUPS, BackupTarget, MARK, MARK_TEXT, MeasuredContent, ReadSeek, ScratchDirectory, StoredBackups as _,
        StoredContent, content_path, names,
    },
};

/// Objects that name the store whose backups are in a prefix.
const OWNER: &str = "owner";

/// A backup that is written to a bucket. Contents are sent while they are read; the list, the copy of the store and a
/// part of an object are on this machine.
pub(in crate::backup) struct BucketTarget {
    client: BucketClient,
    data_dir: PathBuf,
    /// Identity of the store.
    owner: String,
    scratch: Option<ScratchDirectory>,
    /// The contents that the bucket has, with their sizes.
    contents: HashMap<String, u64>,
    /// The contents that this backup names.
    named: HashSet<String>,
}

impl BucketTarget {
    pub(in crate::backup) fn new(client: BucketClient, data_dir: &Path, owner: String) -> Self {
        let (contents, named) = (HashMap::new(), HashSet::new());
        Self { client, data_dir: data_dir.to_owned(), owner, scratch: None, contents, named }
    }

    /// Marks the prefix, which must be empty or have backups of this store only.
    fn claim(&self) -> Result<(), BackupError> {
        match self.client.get(MARK) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !self.client.list("")?.is_empty() {
                    let reason = "it is not empty, and it has no backups of farrierd";
                    return Err(BackupError::Destination { path: self.client.at(""), reason });
                }
                self.client.put(MARK, MARK_TEXT.into())?;
            }
            Err(error) => return Err(BackupError::reading(&self.client.at(MARK))(error)),
        }
        let own = format!("{OWNER}/{}", self.owner);
        let was_owner = self.owners()?.contains(&own);
        self.client.put(&own, Vec::new())?;
        // After the write: of two stores, at least one finds both objects.
        match self.owners()?.into_iter().find(|object| *object != own) {
            None => Ok(()),
            Some(object) => {
                if !was_owner {
                    self.client.delete(&own)?;
                }
                Err(BackupError::Owner { place: self.client.at(""), object })
            }
        }
    }

    fn owners(&self) -> Result<Vec<String>, BackupError> {
        Ok(self.client.list(OWNER)?.into_iter().map(|(path, _)| path).collect())
    }
}

impl BackupTarget for BucketTarget {
    /// Of the newest complete backup. What an interrupted one copied is found by its SHA-256.
    fn known(&self) -> Result<Vec<BackupFile>, BackupError> {
        let Some(newest) = self.client.complete()?.pop() else { return Ok(Vec::new()) };
        match manifest::read(&self.client, &newest) {
            Ok((_, files)) => Ok(files),
            Err(BackupError::Damaged { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn begin(&mut self, name: &str) -> Result<(String, PathBuf), BackupError> {
        self.claim()?;
        let existing = self.client.backups_with(LIST)?;
        let name = names(name).find(|name| !existing.contains(name)).expect("one of the names is free");
        self.contents = self.client.contents()?;
        let scratch = self.scratch.insert(ScratchDirectory::create(&self.data_dir)?);
        Ok((name, scratch.path().to_owned()))
    }

    /// An object exists only if it was received completely.
    fn has_content(&self, file: &BackupFile) -> bool {
        self.contents.get(&file.sha256) == Some(&file.bytes)
    }

    fn note_known(&mut self, file: &BackupFile) {
        self.named.insert(file.sha256.clone());
    }

    fn store(
        &mut self,
        from: &mut dyn ReadSeek,
        source: &Path,
        progress: &BackupProgress,
    ) -> Result<StoredContent, BackupError> {
        let measured = MeasuredContent::read(from, source, progress)?;
        let is_new = self.contents.get(&measured.sha256) != Some(&measured.bytes);
        if is_new {
            self.client.put_measured(&content_path(&measured.sha256), &measured, from, source, progress)?;
            self.contents.insert(measured.sha256.clone(), measured.bytes);
        }
        self.named.insert(measured.sha256.clone());
        Ok(StoredContent { sha256: measured.sha256, bytes: measured.bytes, is_new })
    }

    fn complete(&mut self, name: &str, directory: &Path, manifest: &[u8]) -> Result<(), BackupError> {
        // A content may have been deleted by hand, by a rule of the bucket, or by a late request of a killed backup.
        let found = self.client.contents()?;
        if self.named.iter().any(|sha256| found.get(sha256) != self.contents.get(sha256)) {
            return Err(BackupError::Lost { place: self.client.at("") });
        }
        let path = directory.join(LIST);
        let (mut list, progress) = (File::open(&path).map_err(BackupError::reading(&path))?, BackupProgress::default());
        let measured = MeasuredContent::read_list(&mut list, &path)?;
        self.client.put_measured(&format!("{BACKUPS}/{name}/{LIST}"), &measured, &mut list, &path, &progress)?;
        self.client.put(&format!("{BACKUPS}/{name}/{MANIFEST}"), manifest.to_vec())?;
        self.scratch = None;
        Ok(())
    }

    /// Deletes manifests first, then lists, then contents that no kept backup names. Could hit the contents of kept
    /// backups: their lists are read before anything is deleted, and if one cannot be read, nothing is. Nothing is
    /// deleted either if the listing of the bucket lacks the new backup: it may lack others, whose contents would look
    /// unused. Could hit contents that another backup is about to name: only this store has backups in the prefix, and
    /// its lock admits one backup at a time.
    fn retain(&mut self, keep: usize, newest: &str) -> Result<Vec<String>, BackupError> {
        let mut complete = self.client.complete()?;
        if !complete.iter().any(|name| name == newest) {
            return Err(BackupError::NoBackup { path: self.client.at(""), name: Some(newest.to_owned()) });
        }
        complete.sort_by_key(|name| name.as_str() == newest);
        let (old, kept) = complete.split_at(complete.len().saturating_sub(keep.max(1)));
        if old.is_empty() {
            return Ok(Vec::new());
        }
        let mut named = HashSet::new();
        for name in kept {
            named.extend(manifest::read(&self.client, name)?.1.into_iter().map(|file| file.sha256));
        }
        for name in old {
            self.client.delete(&format!("{BACKUPS}/{name}/{MANIFEST}"))?;
        }
        // Also those that interrupted backups left.
        for name in self.client.backups_with(LIST)?.iter().filter(|name| !kept.contains(name)) {
            self.client.delete(&format!("{BACKUPS}/{name}/{LIST}"))?;
        }
        for sha256 in self.client.contents()?.keys().filter(|sha256| !named.contains(*sha256)) {
            self.client.delete(&content_path(sha256))?;
        }
        Ok(old.to_vec())
    }
}
