//! Reads the content of repositories: branches, tags, commits, trees, files and archives.
//!
//! Callers check permissions first (`repositories::find`). Nothing here writes.

pub mod archives;
pub mod branches;
pub mod commits;
pub mod contents;
pub mod licenses;
pub mod objects;
pub mod tags;

use std::{collections::BTreeMap, sync::Arc};

use farrier_proto::store::User;

use super::{Context, Error, migrations, repositories::FoundRepository};
use crate::{
    git::read::{RepositoryReader, commit::CommitObject, languages::LanguageSizes, rev},
    shares::{Holder, RequestMemory},
    store::{Read, owners},
};

/// A repository whose content is being read.
#[derive(Clone, Debug)]
pub struct Browse {
    /// The repository and the caller's access level.
    pub found: FoundRepository,
    /// Runs git.
    pub git: RepositoryReader,
    /// The caller, for the shares of archives.
    pub holder: Holder,
}

/// The items of a page, and the total number of items.
pub type PageWithTotal<T> = (Vec<T>, u64);

impl Browse {
    /// Creates a reader of `found` for `holder`, after its directory was brought to the version in the store. A
    /// repository that is being migrated is read as empty.
    pub async fn new(context: &Context, found: FoundRepository, holder: Holder) -> Result<Self, Error> {
        let id = migrations::readable(&found.repository);
        context.copies.current(id).await?;
        let git = context.git.reader(id).for_holder(holder);
        Ok(Self { found, git, holder })
    }

    /// Counts what is read to the memory of a request.
    #[must_use]
    pub fn with_memory(self, memory: Option<Arc<RequestMemory>>) -> Self {
        Self { git: self.git.with_memory(memory), ..self }
    }

    /// Returns the id of the commit that `revision` resolves to. Empty: the tip of the default branch.
    pub async fn resolve(&self, revision: &str) -> Result<String, Error> {
        let revision = if revision.is_empty() { &self.found.repository.default_branch } else { revision };
        self.git.resolve(revision).await?.ok_or(Error::NotFound { what: "the branch, tag or commit" })
    }

    /// Returns the commit `id`.
    pub async fn commit(&self, id: &str) -> Result<CommitObject, Error> {
        let found = self.git.commits(&[id.to_owned()]).await?;
        found.into_iter().next().ok_or(Error::NotFound { what: "the commit" })
    }

    /// Returns the languages of the default branch with their bytes, largest first. Empty if the branch does not exist.
    pub async fn languages(&self) -> Result<Arc<LanguageSizes>, Error> {
        let branch = format!("refs/heads/{}^{{commit}}", self.found.repository.default_branch);
        let Some(tip) = self.git.first(&[branch]).await? else { return Ok(Arc::default()) };
        Ok(self.git.languages(&tip.id).await?)
    }
}

/// Checks a path from a client and removes slashes at its ends.
pub fn path(text: &str) -> Result<&str, Error> {
    rev::path(text).map_err(|bad| match bad {
        rev::BadPath::Dots => Error::invalid("path", "must not have parts called . or .."),
        rev::BadPath::Unknown => Error::NotFound { what: "the path" },
    })
}

/// Returns the page of `items` after the first `skip`, and the total.
fn page_of<T>(items: Vec<T>, skip: u64, limit: usize) -> PageWithTotal<T> {
    let total = items.len() as u64;
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    (items.into_iter().skip(skip).take(limit).collect(), total)
}

/// Returns the accounts of the authors and committers of `commits`, by e-mail address in lower case.
pub async fn people(read: &impl Read, commits: &[&CommitObject]) -> Result<BTreeMap<String, User>, Error> {
    let people = commits.iter().flat_map(|commit| [&commit.author, &commit.committer]);
    let addresses: Vec<&str> = people.map(|person| person.email.as_str()).collect();
    Ok(owners::users_by_email(read, &addresses).await?)
}
