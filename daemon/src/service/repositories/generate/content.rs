//! The first commit of a repository that is generated from a template: the files of the default branch of the template,
//! in which variables are replaced.
//!
//! The objects are written to a workspace of the template, checked like those of a push, and then copied to the new
//! repository. The row of its branch is inserted with the row of the repository. Nothing is written to the template.

use bytes::Bytes;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{super::create::NewRepository, variables::Variables};
use crate::{
    git::{
        Workspace,
        read::tree::{EntryKind, TreeEntry},
        ref_name::HEADS,
        tree_edit::{EditEntry, PathConflict, TreeEdit},
    },
    model::identity::Identity,
    service::{
        Context, Error, access,
        browse::{Browse, objects::content},
        file_changes::{checked_path, refused},
        initial,
    },
    store::refs,
};

/// The file of a template that lists the files in which variables are replaced.
const LIST: &str = ".gitea/template";
/// Longest list, in bytes, and most patterns in it.
const LIST_MAX_BYTES: u64 = 1 << 20;
const PATTERNS_MAX: usize = 1_000;
/// Variables are not replaced in larger files.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Most files in which variables are replaced, and their total size before and after, in bytes.
const FILES_MAX: usize = 1_000;
const FILES_MAX_BYTES: usize = 32 << 20;
/// Room for the lines that git prints around a blob, in bytes.
const FRAME_BYTES: usize = 256;

/// Copies the files of the template to the new repository, as one commit by the caller. Returns the id of the commit;
/// `None` if the template has no files.
pub(super) async fn copy(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    new: &NewRepository,
) -> Result<Option<String>, Error> {
    let template = &browse.found.repository;
    let names = vec![format!("{HEADS}{}", template.default_branch)];
    let tips = refs::tips(&context.store.read().await?, template.id, &names).await?;
    let Some(tip) = tips.into_iter().next().flatten() else { return Ok(None) };
    let workspace = browse.git.workspace().await.map_err(Error::git("preparing the files"))?;
    let copied = copy_in(&workspace, context, identity, browse, new, &tip).await;
    workspace.remove().await;
    copied.map(Some)
}

async fn copy_in(
    workspace: &Workspace,
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    new: &NewRepository,
    tip: &str,
) -> Result<String, Error> {
    let list = browse.git.entry(tip, LIST).await?.filter(|entry| entry.entry_kind() == EntryKind::File);
    let tree = if let Some(list) = list {
        expanded(workspace, context, browse, new, tip, &list).await?
    } else {
        let found = browse.git.infos(&[format!("{tip}^{{tree}}")]).await?.into_iter().flatten().next();
        found.ok_or(Error::NotFound { what: "the tree" })?.id
    };
    let person = initial::identity(context, access::require_account(identity)?);
    let person = format!("{} <{}> {} +0000", person.name, person.email, context.now_ms().div_euclid(1_000));
    let commit = format!("tree {tree}\nauthor {person}\ncommitter {person}\n\nInitial commit\n");
    let commit = workspace.write_object("commit", &commit).await.map_err(Error::git("writing a commit"))?;
    let packed = workspace.pack_for(new.row.id, &commit, None).await.map_err(refused)?;
    let lock = context.git.lock(new.row.id).await;
    packed.install(&lock).await.map_err(Error::git("writing a commit"))?;
    Ok(commit)
}

/// Writes the tree of the commit `tip` with the variables replaced and without the list. Returns its id.
async fn expanded(
    workspace: &Workspace,
    context: &Context,
    browse: &Browse,
    new: &NewRepository,
    tip: &str,
    list: &TreeEntry,
) -> Result<String, Error> {
    if list.size > LIST_MAX_BYTES {
        return Err(too_large(format!("{LIST} has more than {LIST_MAX_BYTES} bytes")));
    }
    let patterns = patterns(&content(browse, &list.id, list.size).await?.unwrap_or_default())?;
    let variables = Variables::new(context, browse, new);
    let files = browse.git.tree(tip, true).await?;
    // A path that is not UTF-8 contains the replacement character, and is not in the tree under this name.
    let is_listed = |file: &&TreeEntry| {
        file.entry_kind() == EntryKind::File
            && file.path != LIST
            && file.size <= FILE_MAX_BYTES
            && !file.path.contains(char::REPLACEMENT_CHARACTER)
            && patterns.is_match(&file.path)
    };
    let files: Vec<&TreeEntry> = files.iter().filter(is_listed).collect();
    let total: u64 = files.iter().map(|file| file.size).sum();
    if files.len() > FILES_MAX || total > FILES_MAX_BYTES as u64 {
        return Err(too_large(format!(
            "variables are replaced in at most {FILES_MAX} files with {FILES_MAX_BYTES} bytes in total"
        )));
    }
    let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
    let limit = FILES_MAX_BYTES + FILES_MAX * FRAME_BYTES;
    let objects = if ids.is_empty() { Vec::new() } else { browse.git.objects(&ids, limit).await? };
    let (mut contents, mut left) = (Vec::with_capacity(files.len()), FILES_MAX_BYTES);
    for object in objects {
        let object = object.ok_or(Error::NotFound { what: "a file of the template" })?;
        let text = variables.expand(&object.content, left).ok_or_else(|| {
            too_large(format!("the files have more than {FILES_MAX_BYTES} bytes after variables were replaced"))
        })?;
        left -= text.len();
        contents.push(text);
    }
    let contents: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let blobs = workspace.write_blobs(&contents).await.map_err(Error::git("writing files"))?;
    let mut paths = Vec::with_capacity(files.len());
    for file in &files {
        let path = variables.expand(file.path.as_bytes(), FILES_MAX_BYTES).unwrap_or_default();
        paths.push(checked_path("template", &String::from_utf8_lossy(&path))?);
    }
    let old = files.iter().map(|file| file.path.as_str());
    let all: Vec<&str> = old.chain(paths.iter().map(String::as_str)).chain([LIST]).collect();
    let mut trees = TreeEdit::read(&browse.git, Some(tip), &all).await?;
    trees.remove(LIST);
    for file in &files {
        trees.remove(&file.path);
    }
    for ((file, path), id) in files.iter().zip(&paths).zip(blobs) {
        let conflict = |at: &str| Error::invalid("template", format!("{at:?} is used by two files of the template"));
        if trees.get(path).is_some() {
            return Err(conflict(path));
        }
        let entry = EditEntry { mode: file.mode.clone(), id };
        trees.set(path, entry).map_err(|PathConflict(at)| conflict(&at))?;
    }
    trees.write(workspace).await.map_err(Error::git("writing trees"))
}

fn too_large(reason: String) -> Error {
    Error::invalid("template", reason)
}

/// Parses the list of files. Lines that are empty, begin with `#` or are not valid are left out.
fn patterns(text: &Bytes) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines.take(PATTERNS_MAX) {
        if let Ok(glob) = GlobBuilder::new(&any_depth(line)).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().map_err(|error| Error::invalid("template", format!("the patterns in {LIST} are not valid: {error}")))
}

/// Writes `**` before other characters than a slash as `**/*`: `**.go` matches files in all directories.
fn any_depth(pattern: &str) -> String {
    let mut parts = pattern.trim_start_matches('/').split("**");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(if part.is_empty() || part.starts_with('/') { "**" } else { "**/*" });
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_a_template_has_patterns_and_comments() {
        let set =
            patterns(&Bytes::from_static(b"# text\n\n**.go\r\ntext/*.txt\n/a/b.json\n[\ndocs/**\n")).expect("a set");
        for path in ["main.go", "a/b/c.go", "text/x.txt", "a/b.json", "docs/x/y"] {
            assert!(set.is_match(path), "{path}");
        }
        for path in ["text/a/x.txt", "x.txt", "# text", "b.json", "goo"] {
            assert!(!set.is_match(path), "{path}");
        }
    }
}
