//! Lists the refs of a repository that is being created, and writes them as one file.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use crate::git::{
    Git, GitCommand, GitError, packed_refs,
    ref_name::{self, RefKind, is_object_id},
};

/// Lists branches and tags. For a tag object, the next line has the object to which it leads.
pub(super) const LIST: [&str; 4] = ["show-ref", "--dereference", "--heads", "--tags"];
/// The end of the name in the line of the object to which a tag object leads.
const PEELED: &str = "^{}";
/// The status of `show-ref` if there are no refs.
const NO_REFS: i32 = 1;
/// Limit of a list of refs, bytes.
const REFS_MAX_BYTES: usize = 128 << 20;

/// A branch or tag of a repository that is being created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRef {
    /// The full name.
    pub name: String,
    /// The object id.
    pub id: String,
    /// The object to which a tag object leads, through other tag objects if it names some. `None` for other refs.
    pub peeled: Option<String>,
}

impl Git {
    /// Returns the branches and tags in the directory of a repository that has no rows of refs yet, sorted by name.
    pub async fn new_refs(&self, repository: u64) -> Result<Vec<NewRef>, GitError> {
        list(self.call(repository, LIST), repository).await
    }
}

/// Runs [`LIST`] of `repository`. Fails if git ignores a ref that it cannot read.
pub(super) async fn list(call: GitCommand, repository: u64) -> Result<Vec<NewRef>, GitError> {
    let listed = match call.output_max_bytes(REFS_MAX_BYTES).run().await {
        Ok(listed) => listed,
        Err(GitError::Failed { status: Some(NO_REFS), stderr, .. }) if stderr.is_empty() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // Git warns about a damaged ref, leaves it out and exits with 0.
    if !listed.stderr.is_empty() {
        return Err(GitError::Failed { command: "show-ref".into(), status: Some(0), stderr: listed.stderr });
    }
    let (refs, left_out) = parse(&listed.stdout);
    if left_out > 0 {
        tracing::warn!(repository, left_out, "branches and tags whose names are not accepted were left out");
    }
    Ok(refs)
}

/// Parses the output of [`LIST`]. Also returns the number of refs whose names farrier does not accept.
fn parse(listed: &[u8]) -> (Vec<NewRef>, usize) {
    let (mut refs, mut left_out): (Vec<NewRef>, usize) = (Vec::new(), 0);
    for line in listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let parts = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '));
        let parts = parts.filter(|(id, _)| is_object_id(id));
        // No valid name ends with `^{}`.
        if let Some((id, name)) = parts.and_then(|(id, name)| Some((id, name.strip_suffix(PEELED)?))) {
            if let Some(tag) = refs.last_mut().filter(|tag| tag.name == name) {
                tag.peeled = Some(id.to_owned());
            }
            continue;
        }
        match parts.filter(|(_, name)| ref_name::is_valid(name) && ref_name::kind(name) != RefKind::Other) {
            Some((id, name)) => refs.push(NewRef { name: name.to_owned(), id: id.to_owned(), peeled: None }),
            None => left_out += 1,
        }
    }
    refs.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    (refs, left_out)
}

/// Replaces the files of refs in a staging directory by a list of `refs`, which are all refs with names that farrier
/// accepts. The directory is not in use yet.
pub(super) fn pack_fetched_refs(staging: &Path, refs: &[NewRef]) -> io::Result<()> {
    write_packed_refs(staging, refs)?;
    for kind in ["heads", "tags"] {
        let files = staging.join("refs").join(kind);
        fs::remove_dir_all(&files)?;
        fs::create_dir(&files)?;
    }
    Ok(())
}

/// Writes the list of refs of a repository that is being created.
pub(in crate::git) fn write_packed_refs(staging: &Path, refs: &[NewRef]) -> io::Result<()> {
    if refs.is_empty() {
        return Ok(());
    }
    let mut text = packed_refs::HEADER.to_owned();
    for NewRef { name, id, peeled } in refs {
        text.push_str(&packed_refs::lines(name, id, peeled.as_deref()));
    }
    let mut file = File::create(staging.join(packed_refs::FILE))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::git;

    #[tokio::test]
    async fn tags_of_tags_lead_to_the_commit() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(1, "main", false).await.expect("created");
        assert!(git.new_refs(1).await.expect("no refs").is_empty());
        let stream = "commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 0\n\n";
        git.run(1, ["fast-import", "--quiet"], stream).await.expect("a commit");
        let commit = git.new_refs(1).await.expect("refs").pop().expect("a branch").id;
        let mut target = (commit.clone(), "commit");
        for name in ["v1", "v2"] {
            let text = format!("object {}\ntype {}\ntag {name}\ntagger a <a@b> 1 +0000\n\nx\n", target.0, target.1);
            let output = git.run(1, ["mktag"], text).await.expect("a tag");
            let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            fs::write(git.directory(1).join("refs/tags").join(name), format!("{id}\n")).expect("a ref");
            target = (id, "tag");
        }
        let found = git.new_refs(1).await.expect("refs");
        let peeled: Vec<_> = found.iter().map(|new| (new.name.as_str(), new.peeled.as_deref())).collect();
        let commit = Some(commit.as_str());
        assert_eq!(peeled, [("refs/heads/main", None), ("refs/tags/v1", commit), ("refs/tags/v2", commit)]);
        fs::write(git.directory(1).join("refs/tags/v3"), "damaged").expect("a file");
        assert!(git.new_refs(1).await.is_err(), "no ref is left out silently");
    }

    #[test]
    fn refs_are_listed_with_what_their_tag_objects_lead_to() {
        let [a, b, c] = ["a", "b", "c"].map(|digit| digit.repeat(40));
        let listed = format!(
            "{a} refs/heads/main\n{a} refs/heads/-x\n{b} refs/tags/v1\n{c} refs/tags/v1^{{}}\n{a} refs/tags/v2\n\
             {b} refs/tags/-v\n{c} refs/tags/-v^{{}}\n{a} refs/heads/{}\nbad refs/heads/y\n",
            "x".repeat(400)
        );
        let mut listed = listed.into_bytes();
        listed.extend([a.as_bytes(), &b" refs/heads/\xff\n"[..]].concat());
        let (refs, left_out) = parse(&listed);
        let new = |name: &str, id: &str, peeled: Option<&String>| NewRef {
            name: name.to_owned(),
            id: id.to_owned(),
            peeled: peeled.cloned(),
        };
        let expected =
            [new("refs/heads/main", &a, None), new("refs/tags/v1", &b, Some(&c)), new("refs/tags/v2", &a, None)];
        assert_eq!((refs.as_slice(), left_out), (&expected[..], 5));

        let dir = tempfile::tempdir().expect("a directory");
        for file in ["refs/heads/a/b", "refs/tags/v1"] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
            fs::write(file, "x").expect("a file");
        }
        pack_fetched_refs(dir.path(), &refs).expect("packed");
        let text = fs::read_to_string(dir.path().join("packed-refs")).expect("a list");
        let expected = format!("{a} refs/heads/main\n{b} refs/tags/v1\n^{c}\n{a} refs/tags/v2\n");
        assert_eq!(text, packed_refs::HEADER.to_owned() + &expected);
        assert!(dir.path().join("refs/heads").is_dir() && !dir.path().join("refs/heads/a").exists());
    }
}
