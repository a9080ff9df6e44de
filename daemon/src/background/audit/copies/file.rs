//! Appends audit entries to a file, one JSON object per line.
//!
//! The file is opened for each append, so that a program that renames it (log rotation) needs no signal.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use farrier_proto::store::AuditEntry;

use crate::{inherited, show, tasks};

/// Appends `entries` and sets `position` to the last one. Returns once they would survive a power failure.
pub(super) async fn append(path: &Path, entries: &[AuditEntry], position: &mut u64) -> io::Result<()> {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&serde_json::to_string(&show::audit_entry(entry))?);
        text.push('\n');
    }
    let path = path.to_owned();
    tasks::blocking(move || append_synced(&path, &text)).await?;
    *position = entries.last().map_or(*position, |entry| entry.id);
    Ok(())
}

/// Returns whether the file has entries.
pub(super) async fn has_entries(path: &Path) -> bool {
    let path = path.to_owned();
    tasks::blocking(move || path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0)).await
}

fn append_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // Without O_NONBLOCK, opening a named pipe would wait for a reader.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // Another daemon may append to the same file.
    let is_locked = lock(&file)?;
    // After the lock, because another daemon may have appended before.
    let length = file.metadata()?.len();
    // A full disk or a power failure can leave a part of a line.
    let separator = if ends_with_part(&mut file, length)? { "\n" } else { "" };
    let written = file.write_all(format!("{separator}{text}").as_bytes()).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // Removes only bytes that were appended above, because the lock keeps other daemons from appending, and other
        // programs must not append to this file. The caller appends these entries again, from the store. Without the
        // lock, or if the file system allows only appending, they appear twice.
        if is_locked {
            _ = file.set_len(length);
        }
        return Err(error);
    }
    if length == 0
        && let Some(directory) = path.parent()
    {
        // The file may be new.
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Locks `file`. Returns `false` on a file system without locks.
fn lock(file: &File) -> io::Result<bool> {
    match inherited::retry(|| file.try_lock(), |error| matches!(error, TryLockError::WouldBlock)) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another process has locked it")),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether the last line of the file has no end.
fn ends_with_part(file: &mut File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut byte)?;
    Ok(byte != *b"\n")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn entry(id: u64) -> AuditEntry {
        AuditEntry { id, action: "token.create".into(), reason: "a\nb".into(), ..AuditEntry::default() }
    }

    #[tokio::test]
    async fn entries_are_appended_as_lines_to_a_private_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("audit.jsonl");
        let mut position = 0;
        append(&path, &[entry(1), entry(2)], &mut position).await.expect("written");
        append(&path, &[entry(3)], &mut position).await.expect("written");
        assert_eq!(position, 3);
        let text = fs::read_to_string(&path).expect("text");
        let ids: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["id"].clone())
            .collect();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_part_of_a_line_does_not_damage_the_next_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("audit.jsonl");
        fs::write(&path, "{\"id\":1}\n{\"id\":").expect("written");
        append(&path, &[entry(2)], &mut 0).await.expect("written");
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.starts_with("{\"id\":1}\n{\"id\":\n{\"id\":2,"), "{text}");
    }

    #[tokio::test]
    async fn nothing_is_appended_while_another_process_has_locked_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("audit.jsonl");
        let other = File::create(&path).expect("a file");
        other.lock().expect("locked");
        let mut position = 0;
        let error = append(&path, &[entry(1)], &mut position).await.expect_err("refused");
        assert_eq!((error.to_string().as_str(), position), ("another process has locked it", 0));
        drop(other);
        append(&path, &[entry(1)], &mut position).await.expect("written");
        assert_eq!((position, fs::read_to_string(&path).expect("text").lines().count()), (1, 1));
    }

    #[tokio::test]
    async fn only_regular_files_are_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).expect("a pipe");
        for path in [dir.path(), &pipe, &dir.path().join("missing/file")] {
            let mut position = 7;
            append(path, &[entry(8)], &mut position).await.expect_err("refused");
            assert_eq!(position, 7, "{}", path.display());
        }
    }
}
