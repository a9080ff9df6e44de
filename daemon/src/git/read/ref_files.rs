//! Reads refs from their files, for queries of the API. Symbolic refs and unusual files are left to git.

use std::{collections::BTreeMap, fs, io, path::Path};

use crate::git::{
    objects::{ObjectId, ObjectLimits, ReadError, open_regular},
    packed_refs,
    ref_list::{self, LOOSE_BYTES, LOOSE_MAX_BYTES, PACKED_MAX_BYTES, Tip},
    ref_name::{is_object_id, is_valid},
};

/// How much one read may take. A read that would take more fails with [`ReadError::ManyRefs`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RefBounds {
    /// Number of files and directories below `refs`.
    loose: usize,
    /// Size of `packed-refs`, bytes.
    packed_bytes: u64,
}

impl RefBounds {
    /// So few refs that reading them takes less time than waiting for a share.
    pub(super) const FEW: Self = Self { loose: 256, packed_bytes: 256 << 10 };
    /// All refs that are read without git.
    pub(super) const ALL: Self = Self { loose: usize::MAX, packed_bytes: PACKED_MAX_BYTES };
}

/// The values of refs, as read from their files. Equal values mean equal refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefFiles {
    /// Names and ids of loose refs.
    loose: BTreeMap<String, String>,
    packed: String,
}

/// The value of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefValue {
    /// The ref has this id.
    Id(ObjectId),
    /// The ref does not exist.
    Missing,
    /// Only git can read it.
    Unsupported,
}

impl RefFiles {
    /// Reads all loose refs at and below `prefix`, such as `refs/heads/`, and `packed-refs`. `None`: only git can read
    /// them.
    pub(super) fn read(
        directory: &Path,
        prefix: &str,
        bounds: RefBounds,
        limits: &ObjectLimits,
    ) -> Result<Option<Self>, ReadError> {
        let at = prefix.trim_end_matches('/');
        if at != "refs" && !is_valid(at) {
            return Ok(None);
        }
        // Loose refs first: a ref that git packs in between is then found twice, not missed.
        let (mut tips, mut paths) = (BTreeMap::new(), 0);
        let mut count = |path: &str| {
            paths += 1;
            if paths > bounds.loose {
                return Err(ReadError::ManyRefs);
            }
            limits.check_time()?;
            limits.grow(path.len() + LOOSE_BYTES)
        };
        let supported = match fs::symlink_metadata(directory.join(at)) {
            Ok(found) if found.is_dir() => {
                ref_list::read_loose(directory, &mut at.to_owned(), 0, &mut tips, &mut count)?
            }
            Ok(found) if found.is_file() => ref_list::read_loose_ref(directory, at, &mut tips)?,
            Ok(_) => false,
            Err(error) => is_missing(&error),
        };
        let Some(packed) = packed(directory, bounds, limits)?.filter(|_| supported) else { return Ok(None) };
        let loose = tips.into_iter().map(|(name, Tip { id, .. })| (name, id)).collect();
        Ok(Some(Self { loose, packed }))
    }

    /// Returns the refs that `prefix` selects, by name: all below it if it ends with a slash, else also the ref with
    /// this name. `None`: only git can read them.
    pub(super) fn select(&self, prefix: &str) -> Option<BTreeMap<&str, &str>> {
        let is_selected = |name: &str| {
            let rest = name.strip_prefix(prefix.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/') || (rest.is_empty() && !prefix.ends_with('/')))
        };
        let mut refs: BTreeMap<&str, &str> = BTreeMap::new();
        for line in self.packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
            let (id, name) = line.split_once(' ')?;
            if is_selected(name) {
                if !is_object_id(id) || !is_valid(name) {
                    return None;
                }
                refs.insert(name, id);
            }
        }
        refs.extend(
            self.loose.iter().map(|(name, id)| (name.as_str(), id.as_str())).filter(|(name, _)| is_selected(name)),
        );
        Some(refs)
    }

    /// Returns the memory in use, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packed.len() + self.loose.iter().map(|(name, id)| name.len() + id.len() + 96).sum::<usize>()
    }
}

/// Returns the value of the ref `name`.
pub(super) fn value(
    directory: &Path,
    name: &str,
    bounds: RefBounds,
    limits: &ObjectLimits,
) -> Result<RefValue, ReadError> {
    if !is_valid(name) {
        return Ok(RefValue::Unsupported);
    }
    let loose = match open_regular(&directory.join(name)) {
        Ok(Some(file)) if file.metadata()?.len() > LOOSE_MAX_BYTES => return Ok(RefValue::Unsupported),
        Ok(file) => file,
        // A directory of refs, a link or a pipe.
        Err(ReadError::Unsupported(_)) if directory.join(name).is_dir() => None,
        Err(ReadError::Unsupported(_)) => return Ok(RefValue::Unsupported),
        Err(error) => return Err(error),
    };
    let parse = |id: &str| ObjectId::parse(id).map_or(RefValue::Unsupported, RefValue::Id);
    if let Some(file) = loose {
        return Ok(io::read_to_string(file).map_or(RefValue::Unsupported, |text| parse(text.trim_end())));
    }
    let Some(packed) = packed(directory, bounds, limits)? else { return Ok(RefValue::Unsupported) };
    let line = packed.lines().find(|line| line.split_once(' ').is_some_and(|(id, found)| found == name && id != "#"));
    Ok(line.and_then(|line| line.split_once(' ')).map_or(RefValue::Missing, |(id, _)| parse(id)))
}

/// Returns whether the repository has no refs. `None`: only git knows.
pub(super) fn is_empty(directory: &Path, bounds: RefBounds, limits: &ObjectLimits) -> Result<Option<bool>, ReadError> {
    let Some(files) = RefFiles::read(directory, "refs", bounds, limits)? else { return Ok(None) };
    Ok(files.select("refs/").map(|refs| refs.is_empty()))
}

/// Returns the content of `packed-refs`, which is empty if the file does not exist. `None`: only git can read it.
fn packed(directory: &Path, bounds: RefBounds, limits: &ObjectLimits) -> Result<Option<String>, ReadError> {
    let file = match open_regular(&directory.join(packed_refs::FILE)) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Some(String::new())),
        Err(ReadError::Unsupported(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let bytes = file.metadata()?.len();
    if bytes > PACKED_MAX_BYTES {
        return Ok(None);
    }
    if bytes > bounds.packed_bytes {
        return Err(ReadError::ManyRefs);
    }
    limits.check_time()?;
    limits.grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    match io::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };

    use super::{RefBounds as Bounds, *};

    fn limits() -> ObjectLimits {
        ObjectLimits::new(Instant::now() + Duration::from_secs(60), Arc::default(), None)
    }

    fn file(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn loose_refs_override_packed_refs_and_prefixes_select_whole_segments() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        file(dir.path(), "refs/heads/a", &format!("{one}\n"));
        file(dir.path(), "refs/tags/v1", &format!("{one}\n"));
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{two} refs/heads/a\n{two} refs/heads/a-b/c\n{two} refs/tags/v1.1\n^{one}\n"
        );
        file(dir.path(), "packed-refs", &packed);
        let names = |prefix: &str| {
            let files =
                RefFiles::read(dir.path(), prefix, Bounds::FEW, &limits()).expect("readable").expect("supported");
            let refs = files.select(prefix).expect("valid");
            refs.into_iter().map(|(name, id)| format!("{name} {}", &id[..1])).collect::<Vec<_>>()
        };
        assert_eq!(names("refs/heads/"), ["refs/heads/a 1", "refs/heads/a-b/c 2"]);
        assert_eq!(names("refs/tags/v1"), ["refs/tags/v1 1"]);
        assert_eq!(names("refs/tags/v1/"), [""; 0]);
        assert_eq!(names("refs").len(), 4);
        let id = |text: &str| RefValue::Id(ObjectId::parse(text).expect("valid"));
        for (name, expected) in [
            ("refs/heads/a", id(&one)),
            ("refs/heads/a-b/c", id(&two)),
            ("refs/heads/a/b", RefValue::Missing),
            ("refs/heads/a-b", RefValue::Missing),
            ("refs/heads/../tags/v1", RefValue::Unsupported),
        ] {
            assert_eq!(value(dir.path(), name, Bounds::FEW, &limits()).expect("readable"), expected, "{name}");
        }
    }

    #[test]
    fn symbolic_refs_links_and_invalid_lines_are_left_to_git() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(is_empty(dir.path(), Bounds::FEW, &limits()).expect("readable"), Some(true));
        for (name, text) in [
            ("refs/heads/s", "ref: refs/heads/s\n"),
            ("refs/heads/s", ""),
            ("packed-refs", "nothing refs/heads/x\n"),
            ("packed-refs", "no refs\n\n"),
        ] {
            file(dir.path(), name, text);
            let files = RefFiles::read(dir.path(), "refs", Bounds::FEW, &limits()).expect("readable");
            assert!(files.is_none_or(|files| files.select("refs").is_none()), "{name}: {text}");
            fs::remove_file(dir.path().join(name)).expect("removed");
        }
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("refs/heads/l")).expect("a link");
        assert_eq!(RefFiles::read(dir.path(), "refs/heads/", Bounds::FEW, &limits()).expect("readable"), None);
        assert!(value(dir.path(), "refs/heads/l", Bounds::FEW, &limits()).is_err());
        fs::remove_file(dir.path().join("refs/heads/l")).expect("removed");
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("packed-refs"), rustix::fs::Mode::RWXU).expect("a pipe");
        let read = value(dir.path(), "refs/heads/x", Bounds::FEW, &limits());
        assert_eq!(read.expect("no wait"), RefValue::Unsupported);
    }

    #[test]
    fn many_refs_end_a_read_of_few_and_every_read_ends_in_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let one = "1".repeat(40);
        let few = || RefFiles::read(dir.path(), "refs/heads/", Bounds::FEW, &limits());
        for number in 0..Bounds::FEW.loose {
            file(dir.path(), &format!("refs/heads/b{number}"), &one);
        }
        assert_eq!(few().expect("readable").expect("supported").loose.len(), Bounds::FEW.loose);
        file(dir.path(), "refs/heads/one-more", &one);
        assert!(matches!(few(), Err(ReadError::ManyRefs)));
        let all = RefFiles::read(dir.path(), "refs/heads/", Bounds::ALL, &limits()).expect("readable");
        assert_eq!(all.expect("supported").loose.len(), Bounds::FEW.loose + 1);
        let over = ObjectLimits::new(Instant::now(), Arc::default(), None);
        let read = RefFiles::read(dir.path(), "refs/heads/", Bounds::ALL, &over);
        assert!(matches!(read, Err(ReadError::Timeout)), "{read:?}");

        let line = format!("{one} refs/tags/{}\n", "x".repeat(100));
        file(dir.path(), "packed-refs", &line.repeat(3_000));
        let read = value(dir.path(), "refs/heads/missing", Bounds::FEW, &limits());
        assert!(matches!(read, Err(ReadError::ManyRefs)), "{read:?}");
        let read = value(dir.path(), "refs/heads/missing", Bounds::ALL, &limits());
        assert_eq!(read.expect("readable"), RefValue::Missing);
        assert!(value(dir.path(), "refs/heads/b0", Bounds::FEW, &limits()).is_ok(), "reads one small file");
    }

    #[test]
    fn a_large_file_in_place_of_a_loose_ref_is_not_read_into_memory() {
        let dir = tempfile::tempdir().expect("a directory");
        let padded = format!("{}{}", "1".repeat(40), " ".repeat(1 << 20));
        file(dir.path(), "refs/heads/a", &format!("{padded}x"));
        let read = RefFiles::read(dir.path(), "refs/heads/", Bounds::FEW, &limits()).expect("readable");
        assert!(read.is_none_or(|files| files.bytes() < 1 << 10), "not kept in memory");
        let read = value(dir.path(), "refs/heads/a", Bounds::FEW, &limits());
        assert_eq!(read.expect("readable"), RefValue::Unsupported);
    }
}
