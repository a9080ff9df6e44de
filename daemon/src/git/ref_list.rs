//! Reads all refs of a repository from its files.
//!
//! Every fetch and every push starts with this list, and reading the files is faster than starting a git
//! process. Cases that this module does not support are left to git: symbolic refs, invalid names, alternates,
//! shallow repositories.

use std::{
    collections::BTreeMap,
    error::Error as StdError,
    fs,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Git, GitError,
    objects::{ObjectId, ObjectLimits, ReadError, open_regular},
    packed_refs,
    ref_name::{HEADS, TAGS, is_hidden, is_object_id, is_valid},
};
use crate::{
    shares::{Refused, RequestMemory},
    tasks,
};

/// Files that show that the repository uses alternates or is shallow.
const UNSUPPORTED: [&str; 2] = ["objects/info/alternates", "shallow"];
/// Deepest nesting of directories below `refs`. Git itself has no such limit.
const DEPTH_MAX: usize = 32;
/// Longest loose ref, bytes. Git writes an id and a line break.
pub(super) const LOOSE_MAX_BYTES: u64 = 4_096;
/// Largest `packed-refs` that the daemon reads, bytes. Larger files are left to git.
pub(super) const PACKED_MAX_BYTES: u64 = 64 << 20;

/// Maximum number of tags that are followed for a list, and the longest time for all of them. A list with more tags
/// whose targets are unknown is left to git if a client requests the targets.
const FOLLOWED_MAX: usize = 256;
const FOLLOW_TIME: Duration = Duration::from_millis(500);

/// Memory of a loose ref besides its name, bytes.
pub(super) const LOOSE_BYTES: usize = 160;
/// Memory of `packed-refs` and of the refs that are parsed from it, as a multiple of its size.
const PACKED_FACTOR: usize = 4;

/// The value of a repository's `HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A symbolic ref. The named ref may not exist.
    Ref(String),
    /// A detached `HEAD` with an object id.
    Detached(String),
}

/// The object that a ref points to after all tag objects are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peeled {
    /// The ref does not point to a tag object.
    Same,
    /// The id of the peeled object.
    To(String),
    /// Unknown without reading the object.
    Unknown,
}

/// A ref that clients may see. Ids are hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Id of the object that the ref points to.
    pub id: String,
    /// The peeled object.
    pub peeled: Peeled,
}

/// The refs of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefList {
    /// The value of `HEAD`.
    pub head: Head,
    /// Refs by full name, without hidden refs.
    pub tips: BTreeMap<String, Tip>,
}

impl Git {
    /// Returns the refs of a repository: those that an earlier request has read if nothing has changed since, else
    /// those in the files. A list that is read counts to `memory`, which the caller drops with the list. `None` if only
    /// git can read the refs, or if the list does not fit into the memory of requests: git writes it as a stream.
    pub async fn ref_list(
        &self,
        repository: u64,
        memory: &Arc<RequestMemory>,
    ) -> Result<Option<Arc<RefList>>, GitError> {
        if let Some(kept) = self.kept_refs(repository)
            && let Some(list) = kept.list()
        {
            return Ok(Some(list.clone()));
        }
        let (git, memory) = (self.clone(), memory.clone());
        let result = tasks::blocking(move || -> io::Result<_> {
            let stamp = git.begin_keeping(repository);
            let Some(mut list) = read(&git.directory(repository), &memory)? else { return Ok(None) };
            if let Err(error) = git.follow_tags(repository, &mut list, &memory) {
                tracing::debug!(repository, error = &error as &dyn StdError, "git reads the tags for a list of refs");
            }
            let list = Arc::new(list);
            git.keep_refs(repository, stamp, |kept| kept.set_list(&list));
            Ok(Some(list))
        });
        match result.await.map_err(io::Error::downcast::<Refused>) {
            Ok(list) => Ok(list),
            Err(Ok(_)) => Ok(None),
            Err(Err(error)) => Err(GitError::io("reading refs")(error)),
        }
    }

    /// Finds the targets that the files do not have, which are those of loose tags. What cannot be found stays unknown.
    fn follow_tags(&self, repository: u64, list: &mut RefList, memory: &Arc<RequestMemory>) -> Result<(), ReadError> {
        let tips = list.tips.values_mut().filter(|tip| tip.peeled == Peeled::Unknown);
        let unknown: Vec<&mut Tip> = tips.take(FOLLOWED_MAX + 1).collect();
        if unknown.is_empty() || unknown.len() > FOLLOWED_MAX {
            return Ok(());
        }
        let limits = ObjectLimits::new(Instant::now() + FOLLOW_TIME, Arc::default(), Some(memory.clone()));
        let mut reader = self.object_reader(repository, limits)?;
        for tip in unknown {
            if let Some(id) = ObjectId::parse(&tip.id)
                && let Some(end) = reader.behind_tags(&id)?
            {
                tip.peeled = if end == id { Peeled::Same } else { Peeled::To(end.hex()) };
            }
        }
        Ok(())
    }
}

/// Reads the files. [`io::ErrorKind::OutOfMemory`]: the list does not fit into `memory`.
fn read(directory: &Path, memory: &RequestMemory) -> io::Result<Option<RefList>> {
    let grow = |bytes| memory.grow(bytes).map_err(|refused| io::Error::new(io::ErrorKind::OutOfMemory, refused));
    for file in UNSUPPORTED {
        if directory.join(file).try_exists()? {
            return Ok(None);
        }
    }
    let Some(head) = read_head(directory)? else { return Ok(None) };
    // Loose refs are read first: a ref that git packs in between is then found twice, not missed.
    let mut tips = BTreeMap::new();
    let mut count = |path: &str| grow(path.len() + LOOSE_BYTES);
    if !read_loose::<io::Error>(directory, &mut "refs".to_owned(), 0, &mut tips, &mut count)? {
        return Ok(None);
    }
    let packed = match open_regular(&directory.join(packed_refs::FILE)) {
        Ok(Some(file)) if file.metadata()?.len() > PACKED_MAX_BYTES => return Ok(None),
        Ok(Some(file)) => {
            let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
            grow(bytes.saturating_mul(PACKED_FACTOR))?;
            match io::read_to_string(file) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None) => String::new(),
        // A pipe, a link or a file that cannot be read.
        Err(_) => return Ok(None),
    };
    let Some(packed) = parse_packed(&packed) else { return Ok(None) };
    for (name, tip) in packed {
        tips.entry(name.to_owned()).or_insert(tip);
    }
    tips.retain(|name, _| !is_hidden(name));
    Ok(Some(RefList { head, tips }))
}

fn read_head(directory: &Path) -> io::Result<Option<Head>> {
    let text = fs::read_to_string(directory.join("HEAD"))?;
    let text = text.trim_end();
    Ok(match text.strip_prefix("ref:").map(str::trim_start) {
        Some(name) if is_valid(name) => Some(Head::Ref(name.to_owned())),
        None if is_object_id(text) => Some(Head::Detached(text.to_owned())),
        _ => None,
    })
}

/// Reads the loose refs below `prefix` into `tips`. Returns whether all of them are supported. `count` is called with
/// each path before it is read, and can end the read.
pub(super) fn read_loose<E: From<io::Error>>(
    directory: &Path,
    prefix: &mut String,
    depth: usize,
    tips: &mut BTreeMap<String, Tip>,
    count: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<bool, E> {
    let entries = match fs::read_dir(directory.join(&*prefix)) {
        Ok(entries) => entries,
        // Git removed the directory because it became empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { return Ok(false) };
        let kind = entry.file_type()?;
        if name.ends_with(".lock") && kind.is_file() {
            continue;
        }
        let length = prefix.len();
        prefix.push('/');
        prefix.push_str(&name);
        count(prefix.as_str())?;
        let supported = if kind.is_dir() {
            depth < DEPTH_MAX && read_loose::<E>(directory, prefix, depth + 1, tips, count)?
        } else {
            kind.is_file() && read_loose_ref(directory, prefix, tips)?
        };
        prefix.truncate(length);
        if !supported {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the loose ref `name` into `tips`. Returns whether it is supported.
pub(super) fn read_loose_ref(directory: &Path, name: &str, tips: &mut BTreeMap<String, Tip>) -> io::Result<bool> {
    let read = fs::File::open(directory.join(name)).and_then(|file| io::read_to_string(file.take(LOOSE_MAX_BYTES)));
    let text = match read {
        Ok(text) => text,
        // The ref was deleted or packed since the directory was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        Err(error) => return Err(error),
    };
    let id = text.trim_end();
    if !is_valid(name) || !is_object_id(id) {
        return Ok(false);
    }
    // Git allows only commits as branch tips.
    let peeled = if name.starts_with(HEADS) { Peeled::Same } else { Peeled::Unknown };
    tips.insert(name.to_owned(), Tip { id: id.to_owned(), peeled });
    Ok(true)
}

/// Parses a `packed-refs` file; `None` if it does not have git's format.
pub fn parse_packed(text: &str) -> Option<Vec<(&str, Tip)>> {
    let mut tips: Vec<(&str, Tip)> = Vec::new();
    // The header: `peeled` means that peeled ids are listed for tags, `fully-peeled` for all refs.
    let (mut tags_peeled, mut all_peeled) = (false, false);
    for line in text.lines() {
        if let Some(traits) = line.strip_prefix("# pack-refs with:") {
            tags_peeled = traits.split(' ').any(|word| word == "peeled");
            all_peeled = traits.split(' ').any(|word| word == "fully-peeled");
        } else if let Some(id) = line.strip_prefix('^') {
            let (_, last) = tips.last_mut().filter(|_| is_object_id(id))?;
            last.peeled = Peeled::To(id.to_owned());
        } else {
            let (id, name) = line.split_once(' ')?;
            if !is_object_id(id) || !is_valid(name) {
                return None;
            }
            let known = all_peeled || (tags_peeled && name.starts_with(TAGS)) || name.starts_with(HEADS);
            let peeled = if known { Peeled::Same } else { Peeled::Unknown };
            tips.push((name, Tip { id: id.to_owned(), peeled }));
        }
    }
    Some(tips)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::{Holder, MemoryBudget};

    fn memory(mib: usize) -> RequestMemory {
        MemoryBudget::new(mib).request(Holder::Address(None))
    }

    fn read(directory: &Path) -> io::Result<Option<RefList>> {
        super::read(directory, &memory(1_024))
    }

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    /// Creates a directory with these files and appends a line break to each.
    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
        dir
    }

    #[test]
    fn loose_refs_override_packed_refs_and_hidden_ones_are_left_out() {
        let (one, two, three) = (id('1'), id('2'), id('3'));
        let packed = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{two} refs/farrier/x\n{two} refs/heads/a\n\
             {two} refs/heads/z/deep\n{two} refs/tags/v1\n^{three}\n{two} refs/tags/v2"
        );
        let dir = with(&[
            ("HEAD", "ref: refs/heads/main"),
            ("refs/heads/a", &one),
            ("refs/heads/b.lock", ""),
            ("refs/tags/v3", &one),
            ("packed-refs", &packed),
        ]);
        let list = read(dir.path()).expect("readable").expect("supported");
        assert_eq!(list.head, Head::Ref("refs/heads/main".into()));
        let tips: Vec<_> = list.tips.iter().map(|(name, tip)| (name.as_str(), tip.id.as_str(), &tip.peeled)).collect();
        assert_eq!(
            tips,
            [
                ("refs/heads/a", &*one, &Peeled::Same),
                ("refs/heads/z/deep", &*two, &Peeled::Same),
                ("refs/tags/v1", &*two, &Peeled::To(three)),
                ("refs/tags/v2", &*two, &Peeled::Same),
                ("refs/tags/v3", &*one, &Peeled::Unknown),
            ]
        );
    }

    #[test]
    fn a_pipe_or_a_large_file_as_packed_refs_is_left_to_git() {
        let dir = with(&[("HEAD", "ref: refs/heads/main")]);
        let packed = dir.path().join("packed-refs");
        let large = fs::File::create(&packed).expect("a file");
        large.set_len(PACKED_MAX_BYTES + 1).expect("a sparse file");
        assert_eq!(read(dir.path()).expect("readable"), None);
        fs::remove_file(&packed).expect("removed");
        rustix::fs::mkfifoat(rustix::fs::CWD, &packed, rustix::fs::Mode::RWXU).expect("a pipe");
        assert_eq!(read(dir.path()).expect("no wait"), None);
    }

    #[test]
    fn a_list_over_the_memory_of_requests_is_not_read() {
        let line = format!("{} refs/heads/{}\n", id('1'), "x".repeat(200));
        let dir = with(&[("HEAD", "ref: refs/heads/main"), ("packed-refs", line.repeat(1_000).trim_end())]);
        let refused = super::read(dir.path(), &memory(1)).expect_err("a line is 251 bytes");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
        assert!(read(dir.path()).expect("readable").is_some());
        let branches = dir.path().join("refs/heads");
        fs::create_dir_all(&branches).expect("a directory");
        fs::remove_file(dir.path().join("packed-refs")).expect("removed");
        for number in 0..4_000 {
            fs::write(branches.join(format!("{number:04}")), id('1')).expect("a file");
        }
        let refused = super::read(dir.path(), &memory(1)).expect_err("each file counts");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn unsupported_repositories_are_left_to_git() {
        let supported = [("HEAD", "ref: refs/heads/main"), ("refs/heads/a", &*id('1'))];
        assert!(read(with(&supported).path()).expect("readable").is_some());
        for unsupported in [
            ("refs/heads/s", "ref: refs/heads/a"),
            ("refs/heads/empty", ""),
            ("refs/heads/short", "1234"),
            ("refs/heads/a..b", &*id('1')),
            ("objects/info/alternates", "/elsewhere"),
            ("shallow", &*id('1')),
            ("packed-refs", "no refs"),
            ("packed-refs", &format!("^{}", id('1'))),
            ("HEAD", "nothing"),
        ] {
            let dir = with(&[&supported[..], &[unsupported]].concat());
            assert_eq!(read(dir.path()).expect("readable"), None, "{unsupported:?}");
        }
        assert!(read(with(&supported[1..]).path()).is_err(), "no HEAD");
    }
}
