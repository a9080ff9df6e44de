//! Lists forks, and returns what a caller sees of the relation of repositories to their sources and forks.

use std::collections::HashMap;

use farrier_proto::store::{Repository, Visibility};

use super::{FoundRepository, allowing, seen::SeenRepositories, with_access_levels};
use crate::{
    model::identity::Identity,
    service::{Error, access::Action},
    store::{
        Snapshot, StoreError,
        listings::{self, RepositoryList},
        repositories::{self, forks as rows},
    },
};

/// The relation of a repository to its source and its forks, as a caller sees it.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Whether it is a fork of a repository that is not deleted.
    pub is_fork: bool,
    /// That repository, if the caller may see it.
    pub parent: Option<FoundRepository>,
    /// The number of forks that the caller sees.
    pub forks: u64,
}

/// Returns the ids of the forks of `parent` on a page that the caller sees, newest first, and their total number.
async fn ids_of_page(
    read: &Snapshot,
    seen: &SeenRepositories,
    parent: u64,
    window: (u64, usize),
) -> Result<(Vec<u64>, u64), StoreError> {
    let singles = seen.singles.iter().filter(|row| row.parent == parent && !row.deleted);
    let mut singles: Vec<(u64, Visibility)> = singles.map(|row| (row.id, row.listed())).collect();
    let mut owners: Vec<u64> = seen.of_owners.iter().map(|list| list.scope).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners {
        let forks = rows::of_owner(read, parent, owner).await?.into_iter();
        let sees = |row: &Repository| seen.of_owners.contains(&RepositoryList { scope: owner, class: row.listed() });
        singles.extend(forks.filter(sees).map(|row| (row.id, row.listed())));
    }
    singles.retain(|(_, class)| !seen.classes.contains(class));
    let mut singles: Vec<u64> = singles.into_iter().map(|(id, _)| id).collect();
    singles.sort_unstable();
    singles.dedup();
    listings::forks(read, parent, &seen.classes, &singles, window).await
}

/// Returns a page of the forks of a repository that the caller sees, newest first, and their total number.
pub async fn forks(
    read: &Snapshot,
    identity: &Identity,
    parent: u64,
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let (ids, total) = ids_of_page(read, &SeenRepositories::of(read, identity).await?, parent, (skip, limit)).await?;
    Ok((with_access_levels(read, identity, repositories::many(read, &ids).await?).await?, total))
}

/// Returns the relation of each repository to its source and its forks.
pub async fn networks(
    read: &Snapshot,
    identity: &Identity,
    found: &[FoundRepository],
) -> Result<Vec<Network>, StoreError> {
    let mut reader = NetworkReader { read, identity, seen: None, sources: HashMap::new() };
    let mut networks = Vec::with_capacity(found.len());
    for FoundRepository { repository, .. } in found {
        let forks = reader.forks(repository).await?;
        let Source { exists, visible } = reader.source(repository).await?;
        networks.push(Network { is_fork: exists, parent: visible, forks });
    }
    Ok(networks)
}

/// The source of forks, as a caller sees it.
#[derive(Clone, Default)]
struct Source {
    /// Whether there is a source that is not deleted.
    exists: bool,
    /// The source, if the caller may see it, with the number of its visible forks.
    visible: Option<FoundRepository>,
}

/// Reads the sources and counts the forks of the repositories of a list. All forks on a page may have the same source,
/// so each source is read and its forks are counted once.
struct NetworkReader<'a> {
    read: &'a Snapshot,
    identity: &'a Identity,
    /// Read for the first repository that has forks.
    seen: Option<SeenRepositories>,
    /// By ID.
    sources: HashMap<u64, Source>,
}

impl NetworkReader<'_> {
    async fn source(&mut self, fork: &Repository) -> Result<Source, StoreError> {
        if let Some(known) = self.sources.get(&fork.parent) {
            return Ok(known.clone());
        }
        let mut source = Source { exists: rows::parent(self.read, fork).await?.is_some(), visible: None };
        if source.exists {
            source.visible = allowing(self.read, self.identity, fork.parent, Action::Read).await?;
        }
        if let Some(found) = &mut source.visible {
            found.repository.forks = self.forks(&found.repository).await?;
        }
        self.sources.insert(fork.parent, source.clone());
        Ok(source)
    }

    async fn forks(&mut self, repository: &Repository) -> Result<u64, StoreError> {
        if repository.forks == 0 {
            return Ok(0);
        }
        if self.seen.is_none() {
            self.seen = Some(SeenRepositories::of(self.read, self.identity).await?);
        }
        match &self.seen {
            Some(seen) => Ok(ids_of_page(self.read, seen, repository.id, (0, 0)).await?.1),
            None => Ok(0),
        }
    }
}
