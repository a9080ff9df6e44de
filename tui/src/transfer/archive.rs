//! Creates zip files for uploads.
//!
//! Decides which files are added and under which names. The zip file is a temporary file without a name, so
//! nothing remains of it after a crash.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Seek as _},
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use indicatif::ProgressBar;
use jiff::{Timestamp, tz::TimeZone};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::exit::Failure;

/// The content of a zip file, sorted by name.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    entries: BTreeMap<String, Entry>,
    /// Paths that are neither files nor directories, dangling links, and links to a directory that contains
    /// them.
    pub(crate) skipped: Vec<PathBuf>,
    /// Total size of the files, bytes.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    metadata: Metadata,
}

/// Collects the files in `paths`. Names in the zip file are relative to the deepest common directory; for a
/// single directory, to that directory. Links are followed.
pub(crate) fn collect(paths: &[PathBuf]) -> Result<Contents, Failure> {
    let mut contents = Contents::default();
    let mut found = Vec::new();
    for path in paths {
        let absolute = lexical(path).map_err(|source| broken(path, source))?;
        let is_directory = fs::metadata(&absolute).map_err(|source| broken(path, source))?.is_dir();
        found.push((absolute, is_directory));
    }
    let tops =
        found.iter().map(|(path, is_directory)| if *is_directory { path } else { path.parent().unwrap_or(path) });
    let root = common(tops.map(AsRef::as_ref));
    for (path, _) in &found {
        contents.add(&root, path, &mut Vec::new())?;
    }
    if contents.entries.is_empty() {
        return Err(Failure::Usage("no files to upload".into()));
    }
    Ok(contents)
}

impl Contents {
    /// `above` contains the directories on the way to `path`, to detect links to one of them.
    fn add(&mut self, root: &Path, path: &Path, above: &mut Vec<PathBuf>) -> Result<(), Failure> {
        let metadata = match fs::metadata(path) {
            // A dangling link does not fail the upload.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
                self.skipped.push(path.to_owned());
                return Ok(());
            }
            result => result.map_err(|source| broken(path, source))?,
        };
        if metadata.is_dir() {
            let real = path.canonicalize().map_err(|source| broken(path, source))?;
            if above.contains(&real) {
                self.skipped.push(path.to_owned());
                return Ok(());
            }
            above.push(real);
            for child in fs::read_dir(path).map_err(|source| broken(path, source))? {
                self.add(root, &child.map_err(|source| broken(path, source))?.path(), above)?;
            }
            above.pop();
        } else if metadata.is_file() {
            self.bytes += metadata.len();
        } else {
            self.skipped.push(path.to_owned());
            return Ok(());
        }
        let name = name_below(root, path)?;
        if !name.is_empty() {
            self.entries.insert(name, Entry { path: path.to_owned(), metadata });
        }
        Ok(())
    }

    /// Writes the zip file and returns it, ready to be read. Blocking.
    pub(crate) fn write(self, level: u8, bar: &ProgressBar) -> Result<File, Failure> {
        let failed = |source| Failure::io("creating a temporary file", source);
        let zipped = |path: &Path| {
            let doing = format!("adding {}", path.display());
            move |error: zip::result::ZipError| Failure::io(doing, error.into())
        };
        let mut writer = ZipWriter::new(tempfile::tempfile().map_err(failed)?).set_auto_large_file();
        for (name, entry) in self.entries {
            let options = options(&entry.metadata, level);
            if entry.metadata.is_dir() {
                writer.add_directory(name, options).map_err(zipped(&entry.path))?;
            } else {
                let options = options.large_file(entry.metadata.len() > u64::from(u32::MAX) / 2);
                writer.start_file(name, options).map_err(zipped(&entry.path))?;
                let file = File::open(&entry.path).map_err(|source| broken(&entry.path, source))?;
                io::copy(&mut bar.wrap_read(file), &mut writer).map_err(|source| broken(&entry.path, source))?;
            }
        }
        let mut file = writer.finish().map_err(zipped(Path::new("the directory of the zip file")))?;
        file.rewind().map_err(failed)?;
        Ok(file)
    }
}

fn options(metadata: &Metadata, level: u8) -> SimpleFileOptions {
    let (method, level) = match level {
        0 => (CompressionMethod::Stored, None),
        level => (CompressionMethod::Deflated, Some(i64::from(level))),
    };
    let options = SimpleFileOptions::default().compression_method(method).compression_level(level);
    let options = options.unix_permissions(metadata.permissions().mode() & 0o777);
    match modified(metadata) {
        Some(time) => options.last_modified_time(time),
        None => options,
    }
}

/// Returns the modification time; `None` if it is outside the range of zip files, 1980 to 2107.
fn modified(metadata: &Metadata) -> Option<zip::DateTime> {
    let time = Timestamp::try_from(metadata.modified().ok()?).ok()?.to_zoned(TimeZone::UTC).datetime();
    let small = |n: i8| u8::try_from(n).ok();
    let (month, day, hour) = (small(time.month())?, small(time.day())?, small(time.hour())?);
    let year = u16::try_from(time.year()).ok()?;
    zip::DateTime::from_date_and_time(year, month, day, hour, small(time.minute())?, small(time.second())?).ok()
}

fn broken(path: &Path, source: io::Error) -> Failure {
    Failure::io(format!("reading {}", path.display()), source)
}

/// Returns the absolute path without `.` and `..`. Links are not resolved.
fn lexical(path: &Path) -> io::Result<PathBuf> {
    let mut clean = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    Ok(clean)
}

fn common<'p>(mut paths: impl Iterator<Item = &'p Path>) -> PathBuf {
    let first = paths.next().unwrap_or(Path::new("/")).to_owned();
    paths.fold(first, |root, path| {
        let same = root.components().zip(path.components()).take_while(|(a, b)| a == b);
        same.map(|(component, _)| component).collect()
    })
}

fn name_below(root: &Path, path: &Path) -> Result<String, Failure> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Option<Vec<&str>> = below.components().map(|component| component.as_os_str().to_str()).collect();
    let parts = parts.ok_or_else(|| Failure::Other(format!("{} has a name that is not UTF-8", path.display())))?;
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf]) -> Vec<String> {
        collect(paths).unwrap().entries.into_keys().collect()
    }

    #[test]
    fn entry_names_are_relative_to_the_common_directory() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("a/b/empty")).unwrap();
        fs::write(at("a/b/x.txt"), "x").unwrap();
        fs::write(at("a/y.txt"), "y").unwrap();
        assert_eq!(names(&[at("a")]), ["b", "b/empty", "b/x.txt", "y.txt"]);
        assert_eq!(names(&[at("a/b/../y.txt")]), ["y.txt"]);
        assert_eq!(names(&[at("a/b/x.txt"), at("a/y.txt")]), ["b/x.txt", "y.txt"]);
        assert_eq!(names(&[at("a/b"), at("a/y.txt")]), ["b", "b/empty", "b/x.txt", "y.txt"]);
        assert!(collect(&[at("missing")]).is_err());
    }

    #[test]
    fn symbolic_links_are_followed_and_loops_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("x"), "x").unwrap();
        std::os::unix::fs::symlink(at("x"), at("a/link")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("a/circle")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("a/dangling")).unwrap();
        let contents = collect(&[at("a")]).unwrap();
        assert_eq!(contents.entries.keys().collect::<Vec<_>>(), ["link"]);
        assert_eq!(contents.skipped.len(), 2);
    }

    #[test]
    fn a_zip_file_contains_the_collected_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("empty")).unwrap();
        fs::write(dir.path().join("run.sh"), "#!/bin/sh\n".repeat(1_000)).unwrap();
        fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        for level in [0, 6] {
            let file = collect(&[dir.path().to_owned()]).unwrap().write(level, &ProgressBar::hidden()).unwrap();
            let into = tempfile::tempdir().unwrap();
            super::super::unpack::unpack(file, into.path(), false).unwrap();
            assert!(into.path().join("empty").is_dir());
            let script = into.path().join("run.sh");
            assert_eq!(fs::read(&script).unwrap().len(), 10_000);
            assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o700, 0o700);
        }
    }
}
