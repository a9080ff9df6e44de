//! Replaces `packed-refs`, the list of refs.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use crate::git::{
    objects::open_regular,
    packed_refs::{FILE, LOCK, NEW},
    ref_name::{is_internal, is_object_id},
    refs::ignore_missing,
};

/// The lock of the list. As long as it exists, no git process moves loose refs into the list or removes refs from it.
#[derive(Debug)]
pub(super) struct ListLock {
    directory: PathBuf,
}

impl ListLock {
    /// Takes the lock. Fails if somebody has it.
    pub(super) fn take(directory: &Path) -> io::Result<Self> {
        File::create_new(directory.join(LOCK)).map_err(|error| super::at(&error, FILE))?;
        Ok(Self { directory: directory.to_owned() })
    }
}

impl Drop for ListLock {
    fn drop(&mut self) {
        // Created by this process. A lock that stays is removed at the next start.
        let _ = fs::remove_file(self.directory.join(LOCK));
    }
}

/// The next content of the list. If it is dropped before [`NewList::replace`], the list stays as it is.
#[derive(Debug)]
pub(super) struct NewList {
    directory: PathBuf,
    file: BufWriter<File>,
    /// Whether the file became the list.
    replaced: bool,
}

impl NewList {
    /// Begins to write a list. The lock must be held until it was replaced. Only the holder of the lock writes such a
    /// file: an existing one is that of a killed process.
    pub(super) fn begin(lock: &ListLock) -> io::Result<Self> {
        let new = lock.directory.join(NEW);
        ignore_missing(fs::remove_file(&new))?;
        let file = BufWriter::new(File::create_new(&new)?);
        Ok(Self { directory: lock.directory.clone(), file, replaced: false })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Replaces the list. `sync`: the new list has refs without rows, which a power failure must not lose.
    pub(super) fn replace(mut self, sync: bool) -> io::Result<()> {
        self.file.flush()?;
        if sync {
            self.file.get_ref().sync_all()?;
        }
        fs::rename(self.directory.join(NEW), self.directory.join(FILE))?;
        self.replaced = true;
        Ok(())
    }

    /// Removes the list, because there are no refs.
    pub(super) fn remove(self) -> io::Result<()> {
        ignore_missing(fs::remove_file(self.directory.join(FILE)))
    }
}

impl Drop for NewList {
    fn drop(&mut self) {
        if !self.replaced {
            let _ = fs::remove_file(self.directory.join(NEW));
        }
    }
}

/// A line of the list with its line break.
enum Line<'a> {
    Header,
    /// The id and the name of a ref.
    Ref(&'a str, &'a [u8]),
    /// The object to which the tag object in the line before leads.
    Peeled,
}

/// Parses a line; `None` if it does not have git's format.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let line = line.strip_suffix(b"\n")?;
    let id = |bytes| std::str::from_utf8(bytes).ok().filter(|id| is_object_id(id));
    if line.starts_with(b"#") {
        return Some(Line::Header);
    }
    if let Some(peeled) = line.strip_prefix(b"^") {
        return id(peeled).map(|_| Line::Peeled);
    }
    let space = line.iter().position(|byte| *byte == b' ')?;
    Some(Line::Ref(id(&line[..space])?, &line[space + 1..]))
}

fn open(directory: &Path) -> io::Result<Option<File>> {
    open_regular(&directory.join(FILE)).map_err(io::Error::other)
}

/// Removes refs from the list, which stays as it is if it has none of them. Fails if it does not have git's format.
/// `lock`: the lock of the list, without which git could move the refs to the list again.
pub(super) fn remove(lock: &ListLock, names: &HashSet<&[u8]>) -> io::Result<()> {
    let Some(mut file) = open(&lock.directory)? else { return Ok(()) };
    let mut has_any = false;
    for_each_line(&file, |line| {
        has_any |= matches!(parse_or_fail(line)?, Line::Ref(_, name) if names.contains(name));
        Ok(())
    })?;
    if !has_any {
        return Ok(());
    }
    let mut new = NewList::begin(lock)?;
    file.rewind()?;
    let (mut is_kept, mut sync) = (true, false);
    for_each_line(&file, |line| {
        match parse_or_fail(line)? {
            Line::Header => is_kept = true,
            Line::Ref(_, name) => {
                is_kept = !names.contains(name);
                sync |= is_internal(&String::from_utf8_lossy(name));
            }
            Line::Peeled => {}
        }
        if is_kept { new.write(line) } else { Ok(()) }
    })?;
    new.replace(sync)
}

/// Returns the refs in the list for which `is_wanted` is true: names and ids. Other lines, also damaged ones, are left
/// out.
pub(super) fn find(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    // The daemon writes no links and no directories with this name.
    let Ok(Some(file)) = open(directory) else { return Ok(found) };
    for_each_line(&file, |line| {
        if let Some(Line::Ref(id, name)) = parse(line)
            && let Some(name) = std::str::from_utf8(name).ok().filter(|name| is_wanted(name))
        {
            found.push((name.to_owned(), id.to_owned()));
        }
        Ok(())
    })?;
    Ok(found)
}

fn parse_or_fail(line: &[u8]) -> io::Result<Line<'_>> {
    parse(line).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "packed-refs does not have git's format"))
}

fn for_each_line(file: &File, mut with: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        with(&line)?;
        line.clear();
    }
    Ok(())
}
