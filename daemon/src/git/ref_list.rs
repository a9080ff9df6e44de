//! All refs of a repository, read from its files.
//!
//! Every fetch and every push begins with this list, and a process costs more than reading it.
//! Whatever looks unusual is left to git itself: symbolic refs, names that git would not take,
//! borrowed objects, repositories without all of their history.

use std::{collections::BTreeMap, fs, io, path::Path};

use super::{
    Git, GitError,
    ref_name::{HEADS, TAGS, is_hidden, is_object_id, is_valid},
};
use crate::tasks;

/// Where the objects of other repositories would be named, and commits without parents.
const UNUSUAL: [&str; 2] = ["objects/info/alternates", "shallow"];
/// Directories in the name of a ref; git itself would take more.
const DEPTH_MAX: usize = 32;

/// What a repository's `HEAD` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// It names a ref, which need not be there.
    Of(String),
    /// It names an object.
    At(String),
}

/// What a tag comes to when it is followed to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peeled {
    /// The ref names no tag object.
    Same,
    /// This object.
    To(String),
    /// Only the object itself could tell.
    Unknown,
}

/// A ref that clients may see. Ids are hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The object that it names.
    pub id: String,
    /// What that comes to.
    pub peeled: Peeled,
}

/// The refs of one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefList {
    /// What is checked out in a clone.
    pub head: Head,
    /// By full name, without hidden ones.
    pub tips: BTreeMap<String, Tip>,
}

impl Git {
    /// The refs of a repository; `None`: only git itself can tell.
    pub async fn ref_list(&self, repository: u64) -> Result<Option<RefList>, GitError> {
        let directory = self.directory(repository);
        tasks::blocking(move || read(&directory)).await.map_err(GitError::io("reading refs"))
    }
}

fn read(directory: &Path) -> io::Result<Option<RefList>> {
    for unusual in UNUSUAL {
        if directory.join(unusual).try_exists()? {
            return Ok(None);
        }
    }
    let Some(head) = read_head(directory)? else { return Ok(None) };
    // Loose refs first: one that is packed in between is then found twice, and not missed.
    let mut tips = BTreeMap::new();
    if !read_loose(directory, &mut "refs".to_owned(), 0, &mut tips)? {
        return Ok(None);
    }
    let packed = match fs::read_to_string(directory.join("packed-refs")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        Err(error) => return Err(error),
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
        Some(name) if is_valid(name) => Some(Head::Of(name.to_owned())),
        None if is_object_id(text) => Some(Head::At(text.to_owned())),
        _ => None,
    })
}

/// Reads the refs below `place` into `tips`; whether all of them were usual.
fn read_loose(
    directory: &Path,
    place: &mut String,
    depth: usize,
    tips: &mut BTreeMap<String, Tip>,
) -> io::Result<bool> {
    let entries = match fs::read_dir(directory.join(&*place)) {
        Ok(entries) => entries,
        // Git removes directories that have become empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { return Ok(false) };
        let kind = entry.file_type()?;
        if name.ends_with(".lock") && kind.is_file() {
            continue;
        }
        let length = place.len();
        place.push('/');
        place.push_str(&name);
        let usual = if kind.is_dir() {
            depth < DEPTH_MAX && read_loose(directory, place, depth + 1, tips)?
        } else {
            kind.is_file() && read_one(directory, place, tips)?
        };
        place.truncate(length);
        if !usual {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_one(directory: &Path, name: &str, tips: &mut BTreeMap<String, Tip>) -> io::Result<bool> {
    let text = match fs::read_to_string(directory.join(name)) {
        Ok(text) => text,
        // It was deleted or packed since the directory was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        Err(error) => return Err(error),
    };
    let id = text.trim_end();
    if !is_valid(name) || !is_object_id(id) {
        return Ok(false);
    }
    // Git takes nothing but commits for branches.
    let peeled = if name.starts_with(HEADS) { Peeled::Same } else { Peeled::Unknown };
    tips.insert(name.to_owned(), Tip { id: id.to_owned(), peeled });
    Ok(true)
}

/// The refs of a `packed-refs` file in its order; `None`: it is not as git writes it.
fn parse_packed(text: &str) -> Option<Vec<(&str, Tip)>> {
    let mut tips: Vec<(&str, Tip)> = Vec::new();
    // What the file says of tags: `peeled` of those that are called so, `fully-peeled` of all refs.
    let (mut tags, mut all) = (false, false);
    for line in text.lines() {
        if let Some(traits) = line.strip_prefix("# pack-refs with:") {
            tags = traits.split(' ').any(|word| word == "peeled");
            all = traits.split(' ').any(|word| word == "fully-peeled");
        } else if let Some(id) = line.strip_prefix('^') {
            let (_, last) = tips.last_mut().filter(|_| is_object_id(id))?;
            last.peeled = Peeled::To(id.to_owned());
        } else {
            let (id, name) = line.split_once(' ')?;
            if !is_object_id(id) || !is_valid(name) {
                return None;
            }
            let known = all || (tags && name.starts_with(TAGS)) || name.starts_with(HEADS);
            let peeled = if known { Peeled::Same } else { Peeled::Unknown };
            tips.push((name, Tip { id: id.to_owned(), peeled }));
        }
    }
    Some(tips)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    /// A directory with these files, each with a line end.
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
    fn loose_refs_win_and_hidden_ones_are_left_out() {
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
        let list = read(dir.path()).expect("readable").expect("usual");
        assert_eq!(list.head, Head::Of("refs/heads/main".into()));
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
    fn what_is_unusual_is_left_to_git() {
        let usual = [("HEAD", "ref: refs/heads/main"), ("refs/heads/a", &*id('1'))];
        assert!(read(with(&usual).path()).expect("readable").is_some());
        for odd in [
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
            let dir = with(&[&usual[..], &[odd]].concat());
            assert_eq!(read(dir.path()).expect("readable"), None, "{odd:?}");
        }
        assert!(read(with(&usual[1..]).path()).is_err(), "no HEAD");
    }
}
