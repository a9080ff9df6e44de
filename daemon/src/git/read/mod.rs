//! Questions about a repository, each answered by one short git process.
//!
//! Names that came from outside go to git's standard input or stand behind `--`; everything else
//! that becomes an argument is an id that git itself has given. What git prints is read by the
//! pure modules below this one.

pub mod archive;
pub mod commit;
pub mod history;
pub mod objects;
mod query;
pub mod refs;
pub mod rev;
pub mod tree;

use std::io;

use bytes::Bytes;

pub use self::query::Query;
use self::{
    commit::{Commit, Tag},
    history::Changes,
    objects::{Info, Object},
    refs::Reference,
    tree::Entry,
};
use super::{Call, Git, GitError, GitProcess};

/// Most bytes of references or of a tree that are read at once.
const LIST_MAX_BYTES: usize = 64 << 20;
/// Most bytes of commits and tags that are read at once.
const COMMITS_MAX_BYTES: usize = 64 << 20;

/// Reads one repository.
#[derive(Clone, Debug)]
pub struct Reader {
    git: Git,
    repository: u64,
}

impl Git {
    /// Reads the repository with number `repository`.
    pub fn reader(&self, repository: u64) -> Reader {
        Reader { git: self.clone(), repository }
    }
}

impl Reader {
    /// What each of `names` is; `None` for what there is not, or what is no name.
    pub async fn infos(&self, names: &[String]) -> Result<Vec<Option<Info>>, GitError> {
        let output = self.git.run(self.repository, ["cat-file", "--batch-check"], lines(names)).await?;
        Ok(objects::infos(&output.stdout))
    }

    /// Each of `names` with its content, `limit` bytes in all.
    pub async fn objects(&self, names: &[String], limit: usize) -> Result<Vec<Option<Object>>, GitError> {
        let call = self.git.call(self.repository, ["cat-file", "--batch"]);
        let output = call.stdin(lines(names)).output_max_bytes(limit).run().await?;
        objects::objects(&output.stdout).map_err(garbled)
    }

    /// The commit that `revision` names: a branch before a tag before anything else.
    pub async fn resolve(&self, revision: &str) -> Result<Option<String>, GitError> {
        if !rev::is_revision(revision) {
            return Ok(None);
        }
        let peel = |prefix: &str| format!("{prefix}{revision}^{{commit}}");
        // An id in full is never taken for a branch of that name.
        let names =
            if rev::is_full_id(revision) { vec![peel("")] } else { ["refs/heads/", "refs/tags/", ""].map(peel).into() };
        Ok(self.infos(&names).await?.into_iter().flatten().next().map(|info| info.id))
    }

    /// The commits with these ids, in this order; those that there are not are left out.
    pub async fn commits(&self, ids: &[String]) -> Result<Vec<Commit>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.objects(ids, COMMITS_MAX_BYTES).await?.into_iter().flatten();
        let commits = found.filter(|object| object.info.kind == "commit");
        Ok(commits.map(|object| Commit::parse(&object.info.id, &object.content)).collect())
    }

    /// The tag objects with these ids, in this order; those that there are not are left out.
    pub async fn tags(&self, ids: &[String]) -> Result<Vec<Tag>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.objects(ids, COMMITS_MAX_BYTES).await?.into_iter().flatten();
        let tags = found.filter(|object| object.info.kind == "tag");
        Ok(tags.map(|object| Tag::parse(&object.info.id, &object.content)).collect())
    }

    /// References below `prefix`, such as `refs/heads/`, by name.
    pub async fn refs(&self, prefix: &str) -> Result<Vec<Reference>, GitError> {
        let call = self.git.call(self.repository, ["for-each-ref", refs::FORMAT]);
        let output = call.paths([prefix]).output_max_bytes(LIST_MAX_BYTES).run().await?;
        Ok(refs::parse(&output.stdout))
    }

    /// Whether there is no reference at all.
    pub async fn is_empty(&self) -> Result<bool, GitError> {
        let output = self.git.run(self.repository, ["for-each-ref", "--count=1"], "").await?;
        Ok(output.stdout.is_empty())
    }

    /// The entries of the tree or commit with the id `id`; with `recursive` those of its
    /// directories, too.
    pub async fn tree(&self, id: &str, recursive: bool) -> Result<Vec<Entry>, GitError> {
        let call = self.git.call(self.repository, ["ls-tree", "-z", "-l", "--full-tree"]);
        let call = if recursive { call.args(["-r", "-t"]) } else { call };
        let output = call.paths([id]).output_max_bytes(LIST_MAX_BYTES).run().await?;
        Ok(tree::parse(&output.stdout))
    }

    /// The entry at `path` in the commit with the id `commit`.
    pub async fn entry(&self, commit: &str, path: &str) -> Result<Option<Entry>, GitError> {
        let call = self.git.call(self.repository, ["ls-tree", "-z", "-l", "--full-tree"]);
        let output = call.env("GIT_LITERAL_PATHSPECS", "1").paths([commit, path]).run().await?;
        Ok(tree::parse(&output.stdout).into_iter().find(|entry| entry.path == path))
    }

    /// Commits with what they changed, newest first.
    pub async fn history(&self, query: &Query) -> Result<Vec<Changes>, GitError> {
        let log = async |call: Call| {
            let output = call.output_max_bytes(COMMITS_MAX_BYTES).run().await?;
            Ok::<_, GitError>(history::parse(&output.stdout))
        };
        if !query.in_two_steps() {
            return log(query.log(&self.git, self.repository)).await;
        }
        let found = log(Query { changes: false, ..query.clone() }.log(&self.git, self.repository)).await?;
        let ids: Vec<String> = found.into_iter().map(|commit| commit.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        log(query::changes_of(&self.git, self.repository).stdin(lines(&ids))).await
    }

    /// How many commits there are, on all pages.
    pub async fn count(&self, query: &Query) -> Result<u64, GitError> {
        let output = query.count(&self.git, self.repository).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().map_err(garbled)
    }

    /// Starts to write the blob with the id `id`.
    pub async fn blob(&self, id: &str) -> Result<GitProcess, GitError> {
        self.git.call(self.repository, ["cat-file", "blob"]).args([id]).stream().await
    }

    /// Starts to write what the commit with the id `id` changed, as people mail it or not.
    pub async fn diff(&self, id: &str, mail: bool) -> Result<GitProcess, GitError> {
        let mailed = ["format-patch", "-1", "--stdout", "--no-signature"];
        let args = if mail { mailed } else { ["show", "--format=", "--first-parent", "--patch"] };
        let call = self.git.call(self.repository, args);
        call.args(["--no-ext-diff", "--no-textconv", "--full-index", id]).stream().await
    }
}

fn garbled(source: impl std::error::Error + Send + Sync + 'static) -> GitError {
    GitError::Io { doing: "reading its answer", source: io::Error::new(io::ErrorKind::InvalidData, source) }
}

/// One name a line. A name with a line break in it would be two: it is none.
fn lines(names: &[String]) -> Bytes {
    let mut text = String::new();
    for name in names {
        text.push_str(if name.contains(['\n', '\r', '\0']) { "" } else { name });
        text.push('\n');
    }
    text.into()
}
