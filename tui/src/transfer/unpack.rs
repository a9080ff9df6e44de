//! Unpacks zip files.
//!
//! Zip files are not trusted: no entry may leave the directory, replace an existing file, or be a link. All
//! names are checked before the first file is written.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use zip::ZipArchive;

use crate::exit::Failure;

/// Unpacks `file` below `directory` and returns the number of files. Blocking.
pub(crate) fn unpack(file: File, directory: &Path, force: bool) -> Result<usize, Failure> {
    let mut archive = ZipArchive::new(file).map_err(broken("opening the zip file"))?;
    let targets = targets(&mut archive, directory, force)?;
    let mut files = 0;
    for (index, path) in targets {
        let doing = || format!("unpacking {}", path.display());
        let failed = |source| Failure::io(doing(), source);
        let mut entry = archive.by_index(index).map_err(broken(doing()))?;
        if entry.is_dir() {
            fs::create_dir_all(&path).map_err(failed)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        // The umask restricts the permissions for other users; set-uid bits are dropped.
        let mode = entry.unix_mode().map_or(0o666, |mode| mode & 0o777 | 0o600);
        let mut fresh = tempfile::Builder::new();
        fresh.prefix(".farrier-").permissions(fs::Permissions::from_mode(mode));
        let mut file = fresh.tempfile_in(path.parent().unwrap_or(directory)).map_err(failed)?;
        io::copy(&mut entry, &mut file).map_err(failed)?;
        // An existing file is kept until the new one is complete, so that a full disk or a damaged entry does
        // not destroy it.
        let persisted = if force { file.persist(&path) } else { file.persist_noclobber(&path) };
        persisted.map_err(|error| failed(error.error))?;
        files += 1;
    }
    Ok(files)
}

fn targets(archive: &mut ZipArchive<File>, directory: &Path, force: bool) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let mut targets = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(broken("reading the zip file"))?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let below = entry.enclosed_name().filter(|_| !entry.is_symlink());
        let below = below.ok_or_else(|| Failure::Other(format!("the zip file contains the unsafe path {name:?}")))?;
        let path = directory.join(below);
        if !entry.is_dir() && !force && path.symlink_metadata().is_ok() {
            return Err(Failure::Conflict(format!("{} exists; --force replaces it", path.display())));
        }
        targets.push((index, path));
    }
    Ok(targets)
}

fn broken(doing: impl Into<String>) -> impl FnOnce(zip::result::ZipError) -> Failure {
    let doing = doing.into();
    move |error| Failure::io(doing, error.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn zip_of(build: impl FnOnce(&mut ZipWriter<File>)) -> File {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        build(&mut writer);
        let mut file = writer.finish().unwrap();
        file.rewind().unwrap();
        file
    }

    fn with_file(name: &str) -> File {
        zip_of(|zip| {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(b"new").unwrap();
        })
    }

    #[test]
    fn entries_outside_the_directory_and_links_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("below");
        fs::create_dir(&below).unwrap();
        assert!(unpack(with_file("../evil"), &below, true).is_err());
        assert!(!dir.path().join("evil").exists());
        let link = zip_of(|zip| zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap());
        assert!(unpack(link, &below, true).is_err());
        assert!(unpack(tempfile::tempfile().unwrap(), &below, true).is_err());
        assert_eq!(fs::read_dir(&below).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_entry_keeps_the_existing_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "old").unwrap();
        let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let mut bytes = Vec::new();
        let mut file = zip_of(|zip| {
            zip.start_file("a", stored).unwrap();
            zip.write_all(b"new content").unwrap();
        });
        io::copy(&mut file, &mut bytes).unwrap();
        let at = bytes.windows(11).position(|part| part == b"new content").unwrap();
        bytes[at] = b'N';
        let mut damaged = tempfile::tempfile().unwrap();
        damaged.write_all(&bytes).unwrap();
        damaged.rewind().unwrap();
        unpack(damaged, dir.path(), true).unwrap_err();
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn existing_files_are_replaced_only_with_force() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "old").unwrap();
        let refused = unpack(with_file("a"), dir.path(), false).unwrap_err();
        assert_eq!(refused.code(), crate::exit::CONFLICT);
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"old");
        assert_eq!(unpack(with_file("a"), dir.path(), true).unwrap(), 1);
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"new");
    }
}
