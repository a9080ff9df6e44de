//! What a repository holds, as readers see it: branches, tags, commits, trees, files, archives.
//!
//! Who may read was decided before (`repositories::find`); nothing here writes.

pub mod archives;
pub mod branches;
pub mod commits;
pub mod contents;
pub mod objects;
pub mod tags;

use std::collections::BTreeMap;

use farrier_proto::store::User;

use super::{Error, migrations, repositories::Found};
use crate::{
    app::App,
    git::read::{RepositoryReader, commit::CommitObject, rev},
    store::{Read, owners},
};

/// A repository whose content is read.
#[derive(Clone, Debug)]
pub struct Browse {
    /// The repository and how the caller stands to it.
    pub found: Found,
    /// Asks git.
    pub git: RepositoryReader,
}

/// Items of one page, and how many there are on all.
pub type PageOf<T> = (Vec<T>, u64);

impl Browse {
    /// Reads `found`. One that is being migrated reads as one without a commit.
    pub fn new(app: &App, found: Found) -> Self {
        Self { git: app.git.reader(migrations::readable(&found.repository)), found }
    }

    /// The commit that `revision` names, or the tip of the default branch when it is empty.
    pub async fn resolve(&self, revision: &str) -> Result<String, Error> {
        let revision = if revision.is_empty() { &self.found.repository.default_branch } else { revision };
        self.git.resolve(revision).await?.ok_or(Error::NotFound { what: "the branch, tag or commit" })
    }

    /// The commit with the id `id`.
    pub async fn commit(&self, id: &str) -> Result<CommitObject, Error> {
        let found = self.git.commits(&[id.to_owned()]).await?;
        found.into_iter().next().ok_or(Error::NotFound { what: "the commit" })
    }
}

/// A path from a client, without slashes at its ends.
pub fn path(text: &str) -> Result<&str, Error> {
    rev::path(text).map_err(|bad| match bad {
        rev::BadPath::Dots => Error::invalid("path", "must not have parts called . or .."),
        rev::BadPath::Unknown => Error::NotFound { what: "the path" },
    })
}

/// The page of `items` that begins behind `skip` of them.
fn page_of<T>(items: Vec<T>, skip: u64, limit: usize) -> PageOf<T> {
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
