//! The multi-pack index of a repository: an index over several packs, with a bitmap of what commits reach. It belongs
//! to the directory and can be written again at any time.
//!
//! Git opens the packs that it names without their own indexes. So it must not name a pack whose index was removed.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

use super::upkeep;

/// The name of the file. Git writes it with every bitmap, and also when it cannot create a bitmap. Its time therefore
/// shows the last attempt, so that a bitmap that cannot be created is not tried again after every push.
pub(super) const FILE: &str = "multi-pack-index";
/// Size of the header, bytes. Format: gitformat-pack(5).
const HEADER: usize = 12;
/// Position of the number of chunks in the header.
const CHUNKS: usize = 6;
/// Size of an entry in the table of chunks, bytes: an id and the position of the chunk. One more entry has the end of
/// the last chunk.
const CHUNK: usize = 12;
/// The id of the chunk with the names of packs.
const NAMES: &[u8] = b"PNAM";
/// Largest list of names that is read, bytes.
const NAMES_MAX: u64 = 16 << 20;

/// Returns whether the multi-pack index in a directory of packs names one of `packs`. A file that cannot be read in
/// this way counts as naming them.
pub(super) fn names_any(packs: &Path, names: &BTreeSet<String>) -> io::Result<bool> {
    let file = match File::open(packs.join(FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let Ok(found) = names_of(&file) else { return Ok(true) };
    // The names are those of the indexes, each followed by a zero byte.
    let mut found = found.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    Ok(found.any(|name| name.strip_suffix(".idx").is_some_and(|name| names.contains(name))))
}

fn names_of(file: &File) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let mut table = vec![0; (usize::from(header[CHUNKS]) + 1) * CHUNK];
    file.read_exact_at(&mut table, HEADER as u64)?;
    let (entries, _) = table.as_chunks::<CHUNK>();
    let start = |entry: &[u8; CHUNK]| entry[4..].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let at = entries.iter().position(|entry| entry.starts_with(NAMES)).ok_or_else(invalid)?;
    let (from, end) = (start(&entries[at]), entries.get(at + 1).map(start).ok_or_else(invalid)?);
    let length = end.checked_sub(from).filter(|length| *length <= NAMES_MAX).ok_or_else(invalid)?;
    let mut names = vec![0; usize::try_from(length).map_err(|_| invalid())?];
    file.read_exact_at(&mut names, from)?;
    Ok(names)
}

/// Removes the multi-pack index from a directory of packs, then its bitmaps. Nothing is lost: git reads the indexes of
/// the packs instead, and the next tidying writes new files.
pub(super) fn remove(packs: &Path) -> io::Result<()> {
    match fs::remove_file(packs.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let of_index = format!("{FILE}-");
    for entry in upkeep::files(packs)? {
        if entry.file_name().to_string_lossy().starts_with(&of_index) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
