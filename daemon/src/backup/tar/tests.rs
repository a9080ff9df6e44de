//! Tar streams that were written, cut, changed, or made by somebody else.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use super::TarTarget;
use crate::backup::{
    BackupError, BackupsPlace,
    manifest::{LIST, MANIFEST},
    place::{MARK, PIECE_BYTES},
    verify,
    writer::{BackupFacts, BackupWriter},
};

const NAME: &str = "20260102T030405Z";

/// Collects a stream in memory. Fails after `limit` bytes.
#[derive(Clone)]
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    limit: usize,
}

impl Collected {
    fn new(limit: usize) -> Self {
        Self { bytes: Arc::default(), limit }
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock().expect("no panic"))
    }
}

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut all = self.bytes.lock().expect("no panic");
        if all.len() + bytes.len() > self.limit {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a backup with a small content, the same content again, and a large one.
fn write(data: &Path, out: &Collected) -> Result<(), BackupError> {
    let file = data.join("large");
    fs::write(&file, vec![7_u8; PIECE_BYTES + 100]).expect("a file");
    let target = TarTarget::new(Box::new(out.clone()), data, 1_767_323_045);
    let mut writer = BackupWriter::begin(Box::new(target), NAME, Arc::default())?;
    writer.add_bytes("HEAD", b"content", data)?;
    writer.add_bytes("config", b"content", data)?;
    assert!(writer.add_file("artifacts/1/1/1", &file, true)?);
    let finished = writer.finish(BackupFacts::default())?.1;
    assert_eq!((finished.files, finished.added_bytes), (3, 7 + PIECE_BYTES as u64 + 100));
    Ok(())
}

/// Returns a complete stream.
fn stream() -> Vec<u8> {
    let data = tempfile::tempdir().expect("a directory");
    let out = Collected::new(usize::MAX);
    write(data.path(), &out).expect("written");
    let left: Vec<_> = fs::read_dir(data.path()).expect("a directory").collect();
    assert_eq!(left.len(), 1, "only the test's file: {left:?}");
    out.take()
}

fn saved(dir: &Path, bytes: &[u8]) -> BackupsPlace {
    let path = dir.join("backup.tar");
    fs::write(&path, bytes).expect("a file");
    BackupsPlace::Tar(path)
}

/// Returns the message of the refusal of a tar file.
fn refused(dir: &Path, bytes: &[u8]) -> String {
    verify(&saved(dir, bytes)).expect_err("refused").to_string()
}

#[test]
fn a_stream_is_complete_and_unpacks_to_a_directory_of_backups() {
    let (bytes, dir) = (stream(), tempfile::tempdir().expect("a directory"));
    let verified = verify(&saved(dir.path(), &bytes)).expect("read");
    assert_eq!((verified.backups, verified.contents, verified.damage), (vec![NAME.to_owned()], 2, Vec::new()));
    let mut archive = Archive::new(&*bytes);
    let paths: Vec<PathBuf> = archive
        .entries()
        .expect("entries")
        .map(|entry| entry.expect("an entry").path().expect("a path").into())
        .collect();
    assert_eq!(paths.first().map(PathBuf::as_path), Some(Path::new(MARK)));
    assert!(paths.last().is_some_and(|path| path.ends_with(MANIFEST)), "{paths:?}");
    let root = dir.path().join("unpacked");
    Archive::new(&*bytes).unpack(&root).expect("unpacked");
    let verified = verify(&BackupsPlace::Directory(root)).expect("read");
    assert_eq!((verified.backups, verified.damage), (vec![NAME.to_owned()], Vec::new()));
}

#[test]
fn a_stream_that_ended_early_is_never_a_backup() {
    let (bytes, dir) = (stream(), tempfile::tempdir().expect("a directory"));
    let end = bytes.len() - 1_024;
    let near_the_end = (end - 20 * 512..end).step_by(512);
    let cuts = (0..end).step_by(50 * 512).chain(near_the_end).chain([1, 100, 513, 700_000, bytes.len() - 1_500]);
    for cut in cuts {
        let result = verify(&saved(dir.path(), &bytes[..cut]));
        assert!(result.is_err(), "{cut} bytes: {result:?}");
    }
    // The last blocks only say that nothing follows.
    assert!(verify(&saved(dir.path(), &bytes[..bytes.len() - 1_024])).expect("read").damage.is_empty());
}

#[test]
fn a_stream_that_cannot_be_written_fails_and_leaves_nothing() {
    let length = stream().len();
    for limit in [0, 1, length / 2, length - 1] {
        let data = tempfile::tempdir().expect("a directory");
        let error = write(data.path(), &Collected::new(limit)).expect_err("cut");
        assert!(matches!(error, BackupError::Stream(_)), "{error:?}");
        assert!(!data.path().join("backup-scratch").exists());
    }
}

#[test]
fn a_changed_content_is_found() {
    let (mut bytes, dir) = (stream(), tempfile::tempdir().expect("a directory"));
    let at = bytes.windows(7).position(|part| part == b"content").expect("the content");
    bytes[at] ^= 1;
    let damage = verify(&saved(dir.path(), &bytes)).expect("read").damage;
    assert_eq!(damage.len(), 2, "both files with this content: {damage:?}");
    assert!(damage[0].reason.contains("SHA-256"), "{damage:?}");
}

/// Returns the mark and one more entry.
fn with_entry(path: &[u8], kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, size, content) in
        [(MARK.as_bytes(), EntryType::Regular, 2, &b"{}"[..]), (path, kind, size, content)]
    {
        let mut header = Header::new_gnu();
        // `set_path` refuses paths that the tests need.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        builder.append(&header, content).expect("in memory");
    }
    builder.into_inner().expect("in memory")
}

#[test]
fn entries_that_no_backup_has_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let digest = "0f".repeat(32);
    let content = format!("files/0f/{digest}");
    let list = format!("backups/{NAME}/{LIST}");
    let hostile: [(&str, EntryType); 9] = [
        ("/etc/passwd", EntryType::Regular),
        ("../outside", EntryType::Regular),
        ("files/../../outside", EntryType::Regular),
        ("backups/../manifest.json", EntryType::Regular),
        (&content, EntryType::Symlink),
        (&content, EntryType::Link),
        (&list, EntryType::Fifo),
        ("files/", EntryType::Symlink),
        ("long", EntryType::GNULongName),
    ];
    for (path, kind) in hostile {
        let message = refused(dir.path(), &with_entry(path.as_bytes(), kind, 0, b""));
        assert!(message.contains("which no backup has"), "{path} {kind:?}: {message}");
    }
    let message = refused(dir.path(), &with_entry(MARK.as_bytes(), EntryType::Regular, 2, b"{}"));
    assert!(message.contains("twice"), "{message}");
    assert!(refused(dir.path(), b"").contains("not written by farrierd"));
    assert!(refused(dir.path(), &[b'x'; 2_000]).contains("not a complete tar file"));
}

#[test]
fn sizes_beyond_the_end_of_the_file_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let content = format!("files/0f/{}", "0f".repeat(32));
    for size in [100_000, 1 << 40, u64::MAX - 1_024, u64::MAX] {
        for path in [content.clone(), format!("backups/{NAME}/{LIST}"), format!("backups/{NAME}/{MANIFEST}")] {
            let bytes = with_entry(path.as_bytes(), EntryType::Regular, size, b"few bytes");
            let message = refused(dir.path(), &bytes);
            let is_named = message.contains("the stream ended early") || message.contains("not a complete tar file");
            assert!(is_named, "{path} {size}: {message}");
        }
    }
}

#[test]
fn a_list_of_somebody_else_names_no_path_outside_of_the_data_directory() {
    let (mut bytes, dir) = (stream(), tempfile::tempdir().expect("a directory"));
    let find = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).position(|found| found == part);
    let start = find(&bytes, b"{\"path\":\"HEAD\"").expect("the list");
    let lines = bytes[start..].split_inclusive(|byte| *byte == b'\n').take(3).map(<[u8]>::len).sum::<usize>();
    let digest = hex::encode(Sha256::digest(&bytes[start..start + lines]));
    let at = find(&bytes, digest.as_bytes()).expect("the digest of the list is in the manifest");
    // The same length, so that the tar file stays valid.
    bytes[start + 9..start + 13].copy_from_slice(b"../x");
    let changed = verify(&saved(dir.path(), &bytes)).expect("read").damage;
    assert!(changed.len() == 1 && changed[0].reason.contains("was changed"), "{changed:?}");
    let digest = hex::encode(Sha256::digest(&bytes[start..start + lines]));
    bytes[at..at + digest.len()].copy_from_slice(digest.as_bytes());
    let damage = verify(&saved(dir.path(), &bytes)).expect("read").damage;
    assert!(damage.len() == 1 && damage[0].reason.contains("is not valid"), "{damage:?}");
}
