//! Part files: incomplete downloads.
//!
//! A part file always has the hash of its content. It is locked, so that only one download writes to it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest as _, Sha256};

/// An open part file.
#[derive(Debug)]
pub(crate) struct Part {
    file: File,
    path: PathBuf,
    hash: Sha256,
    have: u64,
}

impl Part {
    /// Opens or creates a part file and hashes its content. Blocking.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        file.try_lock().map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "another download writes to it"))?;
        let mut part = Self { file, path, hash: Sha256::new(), have: 0 };
        let mut buffer = vec![0; 1 << 20];
        loop {
            match part.file.read(&mut buffer)? {
                0 => return Ok(part),
                n => {
                    part.hash.update(&buffer[..n]);
                    part.have += n as u64;
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes in the file.
    pub(crate) fn have(&self) -> u64 {
        self.have
    }

    /// Removes the content.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.hash = Sha256::new();
        self.have = 0;
        Ok(())
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.have += bytes.len() as u64;
        Ok(())
    }

    /// Returns `sha256:` and the digest of the content.
    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.hash.clone().finalize()))
    }

    /// Removes the file.
    pub(crate) fn discard(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    /// Renames the file to `target`. An existing file is only replaced with `force`, even if it was created in
    /// the meantime.
    pub(crate) fn finish(self, target: &Path, force: bool) -> io::Result<()> {
        self.file.sync_all()?;
        if force {
            return std::fs::rename(&self.path, target);
        }
        match renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
            // Some file systems do not support this flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !target.exists() => {
                std::fs::rename(&self.path, target)
            }
            renamed => renamed.map_err(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reopened_part_file_keeps_its_bytes_and_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.part");
        let mut part = Part::open(path.clone()).unwrap();
        part.append(b"hello ").unwrap();
        assert!(Part::open(path.clone()).is_err(), "the file is locked");
        drop(part);
        let mut part = Part::open(path.clone()).unwrap();
        assert_eq!(part.have(), 6);
        part.append(b"world\n").unwrap();
        assert_eq!(part.digest(), "sha256:a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447");
        part.restart().unwrap();
        assert_eq!(part.have(), 0);
        assert!(part.digest().starts_with("sha256:e3b0c442"));
    }

    #[test]
    fn existing_files_are_replaced_only_with_force() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("x.part"), dir.path().join("x"));
        std::fs::write(&target, "old").unwrap();
        let mut part = Part::open(path.clone()).unwrap();
        part.append(b"new").unwrap();
        assert_eq!(part.finish(&target, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        Part::open(path).unwrap().finish(&target, true).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
    }
}
