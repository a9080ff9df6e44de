//! Packs that are not in a repository yet, for the caller that stores them in a bucket before.

use std::path::PathBuf;

use super::{IncomingPack, incoming::PackFiles, workspace::PackedChange};

/// A complete and synced pack that is not in a repository yet.
pub trait NewPack {
    /// Returns the directory with its two files and their name, without an extension. `None`: the pack has no objects.
    fn place(&self) -> Option<(PathBuf, String)>;

    /// Returns whether it was stored in a bucket.
    fn is_stored(&self) -> bool;

    /// Notes that the files were stored in a bucket as these objects.
    fn stored_as(&mut self, object: String);
}

impl NewPack for IncomingPack {
    fn place(&self) -> Option<(PathBuf, String)> {
        place(self.files(), self.objects)
    }

    fn is_stored(&self) -> bool {
        self.files().object.is_some()
    }

    fn stored_as(&mut self, object: String) {
        self.files_mut().object = Some(object);
    }
}

impl NewPack for PackedChange {
    fn place(&self) -> Option<(PathBuf, String)> {
        place(&self.files, self.measured.0)
    }

    fn is_stored(&self) -> bool {
        self.files.object.is_some()
    }

    fn stored_as(&mut self, object: String) {
        self.files.object = Some(object);
    }
}

fn place(files: &PackFiles, objects: u32) -> Option<(PathBuf, String)> {
    let directory = files.pack.parent().filter(|_| objects > 0)?;
    Some((directory.to_owned(), files.name()))
}
