//! What is in `set-aside`, and the removal of what has been there long enough.
//!
//! Only names that this daemon writes are ever removed: everything else in `set-aside` was put there by
//! somebody else, or by another version, and stays.

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
/// After a removal that failed, the next attempt is made this much later.
const RETRY_MS: Millis = 3_600_000;

/// What an item holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// The directory of a repository.
    Repository,
    /// Blocks of an artifact.
    Artifact,
    /// A store file.
    Store,
    /// A name that the daemon does not know. It is never removed.
    Unknown,
}

impl ItemKind {
    /// The word on the wire.
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
pub struct Item {
    /// Its path below `set-aside`.
    pub path: PathBuf,
    /// What it holds.
    pub kind: ItemKind,
    /// Bytes of its files.
    pub bytes: u64,
    /// The day on which it was set aside; `None` for [`ItemKind::Unknown`].
    pub since: Option<Date>,
    /// When it is removed; `None`: never.
    pub removed_ms: Option<Millis>,
}

/// What the last look at `set-aside` found.
#[derive(Debug)]
pub(super) struct Seen {
    items: AtomicU64,
    bytes: AtomicU64,
    /// End of the first day on which something was set aside; `Millis::MAX`: nothing was.
    first_day_end_ms: AtomicI64,
    retry_ms: AtomicI64,
}

impl Default for Seen {
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
    /// Everything in `set-aside`, by path. `days`: how long it is kept.
    pub async fn items(&self, days: u32) -> io::Result<Vec<Item>> {
        let root = self.root.clone();
        let items = tasks::blocking(move || list(&root, days)).await?;
        self.remember(&items);
        Ok(items)
    }

    /// Removes the items whose `days` are over and returns their paths. A failure keeps the rest; it is
    /// tried again an hour later.
    pub async fn remove_over(&self, days: u32) -> io::Result<Vec<PathBuf>> {
        let (root, now) = (self.root.clone(), self.clock.now_ms());
        let removed = tasks::blocking(move || {
            let over = list(&root, days)?.into_iter().filter(|item| item.removed_ms.is_some_and(|end| end <= now));
            over.map(|item| remove(&root, &item).map(|()| item.path)).collect::<io::Result<Vec<_>>>()
        });
        let removed = removed.await;
        let retry_ms = if removed.is_ok() { Millis::MIN } else { now.saturating_add(RETRY_MS) };
        self.seen.retry_ms.store(retry_ms, Ordering::Relaxed);
        self.items(days).await?;
        removed
    }

    /// When the next item is to be removed, as of the last look.
    pub fn next_removal_ms(&self, days: u32) -> Option<Millis> {
        let first = self.seen.first_day_end_ms.load(Ordering::Relaxed);
        let retry_ms = self.seen.retry_ms.load(Ordering::Relaxed);
        (first != Millis::MAX).then(|| removal_ms(first, days).max(retry_ms))
    }

    /// Items and bytes, as of the last look.
    pub fn total(&self) -> Total {
        let seen = &self.seen;
        Total { count: seen.items.load(Ordering::Relaxed), size_bytes: seen.bytes.load(Ordering::Relaxed) }
    }

    fn remember(&self, items: &[Item]) {
        let first = items.iter().filter_map(|item| item.since).min();
        self.seen.items.store(items.len() as u64, Ordering::Relaxed);
        self.seen.bytes.store(items.iter().map(|item| item.bytes).sum(), Ordering::Relaxed);
        self.seen.first_day_end_ms.store(first.map_or(Millis::MAX, day_end_ms), Ordering::Relaxed);
    }
}

/// The end of a day in UTC.
fn day_end_ms(date: Date) -> Millis {
    let begin = date.to_zoned(TimeZone::UTC).map_or(Millis::MAX, |begin| begin.timestamp().as_millisecond());
    begin.saturating_add(DAY_MS)
}

/// Items are kept for whole days after the day on which they were set aside; with `days` 0 not at all.
fn removal_ms(day_end_ms: Millis, days: u32) -> Millis {
    if days == 0 { Millis::MIN } else { day_end_ms.saturating_add(Millis::from(days).saturating_mul(DAY_MS)) }
}

fn list(root: &Path, days: u32) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    for day in entries(root)? {
        let date = name(&day).and_then(|name| parse_date(&name)).filter(|_| is_directory(&day));
        let Some(date) = date else {
            items.push(item(root, &day, ItemKind::Unknown, None, days)?);
            continue;
        };
        for kind in entries(&day.path())? {
            match name(&kind).filter(|_| is_directory(&kind)).as_deref() {
                Some("repositories") => {
                    below(root, &kind, (ItemKind::Repository, date, days), is_repository, &mut items)?;
                }
                Some("store") => below(root, &kind, (ItemKind::Store, date, days), is_store, &mut items)?,
                Some("artifacts") => {
                    for artifact in entries(&kind.path())? {
                        if name(&artifact).is_some_and(|name| is_number(&name)) && is_directory(&artifact) {
                            below(root, &artifact, (ItemKind::Artifact, date, days), is_generation, &mut items)?;
                        } else {
                            items.push(item(root, &artifact, ItemKind::Unknown, None, days)?);
                        }
                    }
                }
                _ => items.push(item(root, &kind, ItemKind::Unknown, None, days)?),
            }
        }
    }
    items.sort();
    Ok(items)
}

/// Adds every entry of `directory`, as an unknown one if `is_ours` does not know its name.
fn below(
    root: &Path,
    directory: &DirEntry,
    (kind, date, days): (ItemKind, Date, u32),
    is_ours: fn(&str) -> bool,
    items: &mut Vec<Item>,
) -> io::Result<()> {
    for entry in entries(&directory.path())? {
        let ours = name(&entry).is_some_and(|name| is_ours(&name));
        let (kind, since) = if ours { (kind, Some(date)) } else { (ItemKind::Unknown, None) };
        items.push(item(root, &entry, kind, since, days)?);
    }
    Ok(())
}

fn item(root: &Path, entry: &DirEntry, kind: ItemKind, since: Option<Date>, days: u32) -> io::Result<Item> {
    let path = entry.path();
    let bytes = size(&path)?;
    let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
    Ok(Item { path, kind, bytes, since, removed_ms: since.map(|date| removal_ms(day_end_ms(date), days)) })
}

/// The entries of a directory; none if it does not exist.
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

/// Whether it is a directory itself: a symbolic link to one is not.
fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn parse_date(name: &str) -> Option<Date> {
    name.parse::<Date>().ok().filter(|date| date.to_string() == name)
}

/// A number, or the number of a copy behind a hyphen.
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

/// Bytes of all files below `path`. What goes away meanwhile has none.
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

/// Removes an item whose retention is over, and the directories above it that are empty then. Data that
/// was set aside belonged to no row, and its days were there for somebody to notice.
fn remove(root: &Path, item: &Item) -> io::Result<()> {
    let path = root.join(&item.path);
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(&path)?;
    } else {
        fs::remove_file(&path)?;
    }
    for above in item.path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        // Fails while something else is in it.
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

    /// The begin of 2024-10-04.
    const BEGIN_MS: Millis = 20_000 * DAY_MS;

    fn write(root: &Path, path: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, "1234").expect("written");
    }

    fn paths(items: &[Item]) -> Vec<String> {
        items.iter().map(|item| format!("{} {}", item.kind.word(), item.path.display())).collect()
    }

    #[tokio::test]
    async fn only_known_names_are_removed_and_only_when_their_days_are_over() {
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
        assert_eq!(aside.total(), Total { count: 12, size_bytes: 48 });
        assert_eq!(aside.next_removal_ms(30), Some(BEGIN_MS + 31 * DAY_MS));

        clock.advance_ms(31 * DAY_MS - 1);
        assert_eq!(aside.remove_over(30).await.expect("nothing is over"), Vec::<PathBuf>::new());
        clock.advance_ms(1);
        assert_eq!(aside.remove_over(30).await.expect("removed").len(), 5);
        assert_eq!(aside.next_removal_ms(30), Some(BEGIN_MS + 33 * DAY_MS));
        clock.advance_ms(2 * DAY_MS);
        assert_eq!(paths_of(&aside.remove_over(30).await.expect("removed")), ["2024-10-06/repositories/8.git"]);
        assert!(!aside.root().join("2024-10-06").exists(), "its day is empty");
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
        assert_eq!(aside.next_removal_ms(30), None, "nothing wakes the daemon for what stays");
    }

    #[tokio::test]
    async fn zero_days_keep_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let aside = SetAside::new(dir.path(), Clock::manual(BEGIN_MS));
        write(aside.root(), "2024-10-04/repositories/7.git/HEAD");
        aside.items(0).await.expect("listed");
        assert!(aside.next_removal_ms(0).is_some_and(|at| at <= BEGIN_MS));
        assert_eq!(aside.remove_over(0).await.expect("removed").len(), 1);
        assert_eq!(aside.next_removal_ms(0), None);
    }

    fn paths_of(removed: &[PathBuf]) -> Vec<String> {
        removed.iter().map(|path| path.display().to_string()).collect()
    }
}
