//! Removes old backups, and contents that no backup names.

use std::{collections::HashSet, fs};

use super::{
    BackupError,
    destination::{BackupDestination, PARTIAL},
    manifest,
};

/// Keeps the newest `keep` complete backups and removes the others. Returns the names of those that were removed.
/// `newest`: the backup that was just made, which is kept even if the clock was set back and other names are later.
///
/// Removes whole backups, and contents that no remaining backup names. If a remaining backup cannot be read, nothing is
/// removed: its contents are not known. The caller has the lock of the destination, so no backup is being written.
/// Blocks.
pub(super) fn retain(destination: &BackupDestination, keep: usize, newest: &str) -> Result<Vec<String>, BackupError> {
    let mut names = destination.complete()?;
    names.sort_by_key(|name| name.as_str() == newest);
    let (old, kept) = names.split_at(names.len().saturating_sub(keep.max(1)));
    if old.is_empty() {
        return Ok(Vec::new());
    }
    let mut named = HashSet::new();
    for name in kept {
        named.extend(manifest::read(destination, name)?.1.into_iter().map(|file| file.sha256));
    }
    for name in old {
        // An interrupted removal leaves no backup that seems complete. The next backup removes the rest.
        let partial = destination.directory(&format!("{name}{PARTIAL}"));
        fs::rename(destination.directory(name), &partial).map_err(BackupError::writing(&partial))?;
        fs::remove_dir_all(&partial).map_err(BackupError::writing(&partial))?;
    }
    let contents = destination.contents();
    for directory in fs::read_dir(&contents).map_err(BackupError::reading(&contents))? {
        let directory = directory.map_err(BackupError::reading(&contents))?.path();
        if !directory.is_dir() {
            continue;
        }
        for file in fs::read_dir(&directory).map_err(BackupError::reading(&directory))? {
            let file = file.map_err(BackupError::reading(&directory))?;
            let is_named = file.file_name().to_str().is_none_or(|name| named.contains(name));
            if !is_named {
                fs::remove_file(file.path()).map_err(BackupError::writing(&file.path()))?;
            }
        }
    }
    Ok(old.to_vec())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use super::{
        super::writer::{BackupFacts, BackupWriter},
        *,
    };

    fn backup(root: &Path, name: &str, contents: &[&str]) {
        let destination = BackupDestination::open(root, Path::new("/nonexistent/data")).expect("a directory");
        let mut writer = BackupWriter::begin(Box::new(destination), name, Arc::default()).expect("begun");
        for content in contents {
            writer.add_bytes(content, content.as_bytes(), root).expect("copied");
        }
        writer.finish(BackupFacts::default()).expect("complete");
    }

    fn count(destination: &BackupDestination) -> usize {
        let directories = fs::read_dir(destination.contents()).expect("a directory").flatten();
        directories.filter_map(|directory| fs::read_dir(directory.path()).ok()).flatten().count()
    }

    #[test]
    fn whole_backups_and_contents_without_a_backup_are_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, contents) in [("a", ["old", "both"]), ("b", ["both", "new"]), ("c", ["both", "last"])] {
            backup(dir.path(), name, &contents);
        }
        let destination = BackupDestination::open_existing(dir.path()).expect("backups");
        assert_eq!(retain(&destination, 3, "c").expect("kept"), [] as [String; 0]);
        assert_eq!(count(&destination), 4);
        assert_eq!(retain(&destination, 2, "c").expect("removed"), ["a"]);
        assert_eq!((count(&destination), destination.complete().expect("listed")), (3, vec!["b".into(), "c".into()]));
        manifest::read(&destination, "b").expect("complete");
    }

    #[test]
    fn a_new_backup_is_kept_after_the_clock_was_set_back() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["b", "c", "a"] {
            backup(dir.path(), name, &[name]);
        }
        let destination = BackupDestination::open_existing(dir.path()).expect("backups");
        assert_eq!(retain(&destination, 2, "a").expect("removed"), ["b"]);
        assert_eq!(destination.complete().expect("listed"), ["a", "c"]);
        manifest::read(&destination, "a").expect("complete");
    }

    #[test]
    fn nothing_is_removed_beside_a_backup_that_cannot_be_read() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["a", "b"] {
            backup(dir.path(), name, &[name]);
        }
        let destination = BackupDestination::open_existing(dir.path()).expect("backups");
        fs::write(destination.directory("b").join(manifest::LIST), "damaged").expect("a file");
        assert!(matches!(retain(&destination, 1, "b"), Err(BackupError::Damaged { .. })));
        assert_eq!((count(&destination), destination.complete().expect("listed").len()), (2, 2));
    }
}
