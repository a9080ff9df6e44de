//! Lists `set-aside` and removes data whose retention is over.
//!
//! Removes only entries with names that this daemon writes. Other entries were created by a person or by another
//! version and are kept.

use std::{
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
};

use jiff::{civil::Date, tz::TimeZone};

use super::SetAside;
use crate::{
    clock::Millis,
    store::{STORE_FILE, totals::Total},
    tasks,
};

const DAY_MS: Millis = 86_400_000;
/// Pause after a failed removal.
const RETRY_MS: Millis = 3_600_000;

/// The kind of data in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// The directory of a repository.
    Repository,
    /// Blocks of an artifact.
    Artifact,
    /// A store file.
    Store,
    /// A name that the daemon does not recognize. It is never removed.
    Unknown,
}

impl ItemKind {
    /// Returns the name in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Artifact => "artifact",
            Self::Store => "store",
            Self::Unknown => "unknown",
        }
    }
}

/// A directory or file in `set-aside`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetAsideEntry {
    /// Its path below `set-aside`.
    pub path: PathBuf,
    /// Kind of its data.
    pub kind: ItemKind,
    /// Bytes of its files.
    pub bytes: u64,
    /// The day on which it was set aside. `None` for [`ItemKind::Unknown`].
    pub since: Option<Date>,
    /// When it is removed. `None`: never.
    pub removed_ms: Option<Millis>,
}

/// Totals of the last listing of `set-aside`.
#[derive(Debug)]
pub(super) struct LastListing {
    items: AtomicU64,
    bytes: AtomicU64,
    /// End of the first day on which data was set aside. `Millis::MAX`: none was.
    first_day_end_ms: AtomicI64,
    retry_ms: AtomicI64,
}

impl Default for LastListing {
    fn default() -> Self {
        Self {
            items: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            first_day_end_ms: AtomicI64::new(Millis::MAX),
            retry_ms: AtomicI64::new(Millis::MIN),
        }
    }
}

impl SetAside {
    /// Returns all entries, sorted by path. `days`: how long they are kept.
    pub async fn items(&self, days: u32) -> io::Result<Vec<SetAsideEntry>> {
        let root = self.root.clone();
        let items = tasks::blocking(move || list(&root, days)).await?;
        self.remember(&items);
        Ok(items)
    }

    /// Removes the entries that are older than `days` and returns their paths. An error stops the removal, which is
    /// retried an hour later.
    pub async fn remove_expired(&self, days: u32) -> io::Result<Vec<PathBuf>> {
        let (root, now) = (self.root.clone(), self.clock.now_ms());
        let removed = tasks::blocking(move || {
            let expired = list(&root, days)?.into_iter().filter(|item| item.removed_ms.is_some_and(|end| end <= now));
            expired.map(|item| remove(&root, &item).map(|()| item.path)).collect::<io::Result<Vec<_>>>()
        });
        let removed = removed.await;
        let retry_ms = if removed.is_ok() { Millis::MIN } else { now.saturating_add(RETRY_MS) };
        self.last_listing.retry_ms.store(retry_ms, Ordering::Relaxed);
        self.items(days).await?;
        removed
    }

    /// Returns when the next entry is due for removal, as of the last listing.
    pub fn next_removal_ms(&self, days: u32) -> Option<Millis> {
        let first = self.last_listing.first_day_end_ms.load(Ordering::Relaxed);
        let retry_ms = self.last_listing.retry_ms.load(Ordering::Relaxed);
        (first != Millis::MAX).then(|| removal_ms(first, days).max(retry_ms))
    }

    /// Returns number and size of the entries, as of the last listing.
    pub fn total(&self) -> Total {
        let last_listing = &self.last_listing;
        Total {
            count: last_listing.items.load(Ordering::Relaxed),
            size_bytes: last_listing.bytes.load(Ordering::Relaxed),
            ..Total::default()
        }
    }

    fn remember(&self, items: &[SetAsideEntry]) {
        let first = items.iter().filter_map(|item| item.since).min();
        self.last_listing.items.store(items.len() as u64, Ordering::Relaxed);
        self.last_listing.bytes.store(items.iter().map(|item| item.bytes).sum(), Ordering::Relaxed);
        self.last_listing.first_day_end_ms.store(first.map_or(Millis::MAX, day_end_ms), Ordering::Relaxed);
    }
}

/// Returns the end of a day in UTC.
fn day_end_ms(date: Date) -> Millis {
    let begin = date.to_zoned(TimeZone::UTC).map_or(Millis::MAX, |begin| begin.timestamp().as_millisecond());
    begin.saturating_add(DAY_MS)
}

/// Returns when an entry is removed: after `days` whole days, or at once if `days` is 0.
fn removal_ms(day_end_ms: Millis, days: u32) -> Millis {
    if days == 0 { Millis::MIN } else { day_end_ms.saturating_add(Millis::from(days).saturating_mul(DAY_MS)) }
}

fn list(root: &Path, days: u32) -> io::Result<Vec<SetAsideEntry>> {
    let mut items = Vec::new();
    for day in entries(root)? {
        let date = name(&day).and_then(|name| parse_date(&name)).filter(|_| is_directory(&day));
        let Some(date) = date else {
            items.push(new_entry(root, &day, ItemKind::Unknown, None, days)?);
            continue;
        };
        for kind in entries(&day.path())? {
            match name(&kind).filter(|_| is_directory(&kind)).as_deref() {
                Some("repositories") => {
                    add_entries(root, &kind, (ItemKind::Repository, date, days), is_repository, &mut items)?;
                }
                Some("store") => add_entries(root, &kind, (ItemKind::Store, date, days), is_store, &mut items)?,
                Some("artifacts") => {
                    for artifact in entries(&kind.path())? {
                        if name(&artifact).is_some_and(|name| is_number(&name)) && is_directory(&artifact) {
                            add_entries(root, &artifact, (ItemKind::Artifact, date, days), is_generation, &mut items)?;
                        } else {
                            items.push(new_entry(root, &artifact, ItemKind::Unknown, None, days)?);
                        }
                    }
                }
                _ => items.push(new_entry(root, &kind, ItemKind::Unknown, None, days)?),
            }
        }
    }
    items.sort();
    Ok(items)
}

/// Adds every entry of `directory`. Names that `is_ours` does not recognize become [`ItemKind::Unknown`].
fn add_entries(
    root: &Path,
    directory: &DirEntry,
    (kind, date, days): (ItemKind, Date, u32),
    is_ours: fn(&str) -> bool,
    items: &mut Vec<SetAsideEntry>,
) -> io::Result<()> {
    for entry in entries(&directory.path())? {
        let is_recognized = name(&entry).is_some_and(|name| is_ours(&name));
        let (kind, since) = if is_recognized { (kind, Some(date)) } else { (ItemKind::Unknown, None) };
        items.push(new_entry(root, &entry, kind, since, days)?);
    }
    Ok(())
}

fn new_entry(
    root: &Path,
    entry: &DirEntry,
    kind: ItemKind,
    since: Option<Date>,
    days: u32,
) -> io::Result<SetAsideEntry> {
    let path = entry.path();
    let bytes = size(&path)?;
    let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
    Ok(SetAsideEntry { path, kind, bytes, since, removed_ms: since.map(|date| removal_ms(day_end_ms(date), days)) })
}

/// Lists a directory. A missing directory has no entries.
fn entries(directory: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn name(entry: &DirEntry) -> Option<String> {
    entry.file_name().into_string().ok()
}

/// Returns whether the entry itself is a directory, not a symbolic link to one.
fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn parse_date(name: &str) -> Option<Date> {
    name.parse::<Date>().ok().filter(|date| date.to_string() == name)
}

/// Returns whether `name` is a number, optionally followed by a hyphen and the number of a copy.
fn is_generation(name: &str) -> bool {
    name.split('-').count() <= 2 && name.split('-').all(is_number)
}

fn is_repository(name: &str) -> bool {
    let parts = name.split_once(".git").filter(|(id, _)| is_number(id));
    parts.is_some_and(|(_, copy)| copy.is_empty() || copy.strip_prefix('-').is_some_and(is_number))
}

fn is_store(name: &str) -> bool {
    let copy = name.strip_prefix(STORE_FILE);
    copy.is_some_and(|copy| copy.is_empty() || copy.strip_prefix('-').is_some_and(is_number))
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|number| number.to_string() == text)
}

/// Returns the total size of all files below `path`. Files that disappear meanwhile count as 0.
fn size(path: &Path) -> io::Result<u64> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    entries(path)?.iter().map(|entry| size(&entry.path())).sum()
}

/// Removes an entry whose retention is over, and the parent directories that become empty.
///
/// The data was set aside because no row referred to it, and the retention gave operators time to restore it.
fn remove(root: &Path, item: &SetAsideEntry) -> io::Result<()> {
    let path = root.join(&item.path);
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(&path)?;
    } else {
        fs::remove_file(&path)?;
    }
    for above in item.path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        // Fails if the directory is not empty.
        if fs::remove_dir(root.join(above)).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    /// The start of 2024-10-04.
    const BEGIN_MS: Millis = 20_000 * DAY_MS;

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, "1234").expect("written");
    }

    fn paths(items: &[SetAsideEntry]) -> Vec<String> {
        items.iter().map(|item| format!("{} {}", item.kind.word(), item.path.display())).collect()
    }

    #[tokio::test]
    async fn only_known_names_are_removed_after_their_retention() {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = Clock::manual(BEGIN_MS);
        let aside = SetAside::new(dir.path(), clock.clone());
        assert_eq!((aside.items(30).await.expect("listed"), aside.next_removal_ms(30)), (Vec::new(), None));
        let ours = [
            "2024-10-04/artifacts/3/1/7",
            "2024-10-04/artifacts/3/2-2/7",
            "2024-10-04/repositories/7.git/HEAD",
            "2024-10-04/repositories/7.git-2/HEAD",
            "2024-10-04/store/farrier.redb",
            "2024-10-06/repositories/8.git/HEAD",
        ];
        let others = [
            "2024-10-04/artifacts/03/1/7",
            "2024-10-04/artifacts/3/x/7",
            "2024-10-04/notes.txt",
            "2024-10-04/repositories/demo.git/HEAD",
            "2024-10-4/repositories/7.git/HEAD",
            "9.git/HEAD",
        ];
        for path in ours.iter().chain(&others) {
            write(aside.root(), path);
        }
        let items = aside.items(30).await.expect("listed");
        assert_eq!(items.len(), ours.len() + others.len(), "{items:?}");
        assert_eq!(aside.total(), Total { count: 12, size_bytes: 48, ..Total::default() });
        assert_eq!(aside.next_removal_ms(30), Some(BEGIN_MS + 31 * DAY_MS));

        clock.advance_ms(31 * DAY_MS - 1);
        assert_eq!(aside.remove_expired(30).await.expect("nothing has expired"), Vec::<PathBuf>::new());
        clock.advance_ms(1);
        assert_eq!(aside.remove_expired(30).await.expect("removed").len(), 5);
        assert_eq!(aside.next_removal_ms(30), Some(BEGIN_MS + 33 * DAY_MS));
        clock.advance_ms(2 * DAY_MS);
        assert_eq!(paths_of(&aside.remove_expired(30).await.expect("removed")), ["2024-10-06/repositories/8.git"]);
        assert!(!aside.root().join("2024-10-06").exists(), "an empty day directory is removed");
        assert_eq!(
            paths(&aside.items(30).await.expect("listed")),
            [
                "unknown 2024-10-04/artifacts/03",
                "unknown 2024-10-04/artifacts/3/x",
                "unknown 2024-10-04/notes.txt",
                "unknown 2024-10-04/repositories/demo.git",
                "unknown 2024-10-4",
                "unknown 9.git",
            ]
        );
        assert_eq!(aside.next_removal_ms(30), None, "unknown entries are never removed");
    }

    #[tokio::test]
    async fn zero_days_remove_all_entries() {
        let dir = tempfile::tempdir().expect("a directory");
        let aside = SetAside::new(dir.path(), Clock::manual(BEGIN_MS));
        write(aside.root(), "2024-10-04/repositories/7.git/HEAD");
        aside.items(0).await.expect("listed");
        assert!(aside.next_removal_ms(0).is_some_and(|at| at <= BEGIN_MS));
        assert_eq!(aside.remove_expired(0).await.expect("removed").len(), 1);
        assert_eq!(aside.next_removal_ms(0), None);
    }

    fn paths_of(removed: &[PathBuf]) -> Vec<String> {
        removed.iter().map(|path| path.display().to_string()).collect()
    }
}
