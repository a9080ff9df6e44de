//! Appends audit entries to a file, one JSON object per line.
//!
//! The file is opened for each append, so that a program that renames it (log rotation) needs no signal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use farrier_proto::store::AuditEntry;

use crate::{show, tasks};

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

fn append_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // Without O_NONBLOCK, opening a named pipe would wait for a reader.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let mut file = options.open(path)?;
    // Another daemon may be configured to append to the same file.
    file.try_lock()?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let length = about.len();
    // A full disk or a power failure can leave a part of a line.
    let separator = if ends_with_part(&mut file, length)? { "\n" } else { "" };
    let written = file.write_all(format!("{separator}{text}").as_bytes()).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // Removes only bytes that were appended above, because the lock keeps other daemons from appending: the caller
        // appends these entries again, from the store. Other programs must not append to this file. May
        // fail if the file system allows only appending; then the entries appear twice.
        _ = file.set_len(length);
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
