//! Lists forks, and returns what a caller sees of the relation of repositories to their sources and forks.

use farrier_proto::store::{Repository, Visibility};

use super::{FoundRepository, allowing, list, with_access_levels};
use crate::{
    model::identity::Identity,
    service::{Error, access::Action},
    store::{
        Snapshot, StoreError, listings,
        listings::RepositoryList,
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

/// The repositories that a caller sees, as far as it does not depend on their source.
struct Seen {
    /// Classes of which the caller sees all repositories.
    classes: Vec<Visibility>,
    /// Classes of single owners.
    of_owners: Vec<RepositoryList>,
    singles: Vec<Repository>,
}

impl Seen {
    async fn of(read: &Snapshot, identity: &Identity) -> Result<Self, StoreError> {
        let mut listing = list::visible(read, identity, 0).await?;
        list::restrict(identity, &mut listing);
        let (all, of_owners): (Vec<_>, Vec<_>) = listing.lists.into_iter().partition(|list| list.scope == 0);
        let classes = all.into_iter().map(|list| list.class).collect();
        Ok(Self { classes, of_owners, singles: listing.singles })
    }

    /// Returns the ids of the visible forks on a page, newest first, and their total number.
    async fn page(&self, read: &Snapshot, parent: u64, window: (u64, usize)) -> Result<(Vec<u64>, u64), StoreError> {
        let singles = self.singles.iter().filter(|row| row.parent == parent && !row.deleted);
        let mut singles: Vec<(u64, Visibility)> = singles.map(|row| (row.id, row.listed())).collect();
        let mut owners: Vec<u64> = self.of_owners.iter().map(|list| list.scope).collect();
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            let forks = rows::of_owner(read, parent, owner).await?.into_iter();
            let sees =
                |row: &Repository| self.of_owners.contains(&RepositoryList { scope: owner, class: row.listed() });
            singles.extend(forks.filter(sees).map(|row| (row.id, row.listed())));
        }
        singles.retain(|(_, class)| !self.classes.contains(class));
        let mut singles: Vec<u64> = singles.into_iter().map(|(id, _)| id).collect();
        singles.sort_unstable();
        singles.dedup();
        listings::forks(read, parent, &self.classes, &singles, window).await
    }
}

/// Returns a page of the forks of a repository that the caller sees, newest first, and their total number.
pub async fn forks(
    read: &Snapshot,
    identity: &Identity,
    parent: u64,
    skip: u64,
    limit: usize,
) -> Result<(Vec<FoundRepository>, u64), Error> {
    let (ids, total) = Seen::of(read, identity).await?.page(read, parent, (skip, limit)).await?;
    Ok((with_access_levels(read, identity, repositories::many(read, &ids).await?).await?, total))
}

/// Returns the relation of each repository to its source and its forks.
pub async fn networks(
    read: &Snapshot,
    identity: &Identity,
    found: &[FoundRepository],
) -> Result<Vec<Network>, StoreError> {
    let mut counter = Counter { read, identity, seen: None };
    let mut networks = Vec::with_capacity(found.len());
    for FoundRepository { repository, .. } in found {
        let mut network = Network { forks: counter.forks(repository).await?, ..Network::default() };
        if rows::parent(read, repository).await?.is_some() {
            network.is_fork = true;
            network.parent = allowing(read, identity, repository.parent, Action::Read).await?;
            if let Some(parent) = &mut network.parent {
                parent.repository.forks = counter.forks(&parent.repository).await?;
            }
        }
        networks.push(network);
    }
    Ok(networks)
}

/// Counts the visible forks of several repositories.
struct Counter<'a> {
    read: &'a Snapshot,
    identity: &'a Identity,
    /// Read for the first repository that has forks.
    seen: Option<Seen>,
}

impl Counter<'_> {
    async fn forks(&mut self, repository: &Repository) -> Result<u64, StoreError> {
        if repository.forks == 0 {
            return Ok(0);
        }
        if self.seen.is_none() {
            self.seen = Some(Seen::of(self.read, self.identity).await?);
        }
        match &self.seen {
            Some(seen) => Ok(seen.page(self.read, repository.id, (0, 0)).await?.1),
            None => Ok(0),
        }
    }
}
