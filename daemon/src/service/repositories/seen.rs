//! The repositories that a caller sees, for lists that have their own index, such as forks and stars.

use farrier_proto::store::{Repository, Visibility};

use super::list;
use crate::{
    model::identity::Identity,
    store::{Read, StoreError, listings::RepositoryList},
};

/// The repositories that a caller sees. Decides for a row without reading its owner.
pub(super) struct Seen {
    /// Classes of which the caller sees all repositories.
    pub(super) classes: Vec<Visibility>,
    /// Classes of single owners.
    pub(super) of_owners: Vec<RepositoryList>,
    /// Single repositories that are in none of these classes, by ID.
    pub(super) singles: Vec<Repository>,
}

impl Seen {
    /// Reads what `identity` sees.
    pub(super) async fn of(read: &impl Read, identity: &Identity) -> Result<Self, StoreError> {
        let mut listing = list::visible(read, identity, 0).await?;
        list::restrict(identity, &mut listing);
        let (all, of_owners): (Vec<_>, Vec<_>) = listing.lists.into_iter().partition(|list| list.scope == 0);
        let classes = all.into_iter().map(|list| list.class).collect();
        Ok(Self { classes, of_owners, singles: listing.singles })
    }

    /// Returns whether the caller sees a repository.
    pub(super) fn sees(&self, row: &Repository) -> bool {
        !row.deleted
            && (self.classes.contains(&row.listed())
                || self.of_owners.contains(&RepositoryList { scope: row.owner_id, class: row.listed() })
                || self.singles.binary_search_by_key(&row.id, |single| single.id).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use Visibility::{Limited, Private, Public};

    use super::*;

    fn row(id: u64, owner_id: u64, listed: Visibility) -> Repository {
        Repository { id, owner_id, listed: listed.into(), ..Repository::default() }
    }

    #[test]
    fn a_repository_is_seen_by_its_class_its_owner_or_its_id() {
        let seen = Seen {
            classes: vec![Public],
            of_owners: vec![RepositoryList { scope: 3, class: Private }],
            singles: vec![row(5, 9, Private), row(7, 9, Limited)],
        };
        for (id, owner, class, expected) in [
            (1, 9, Public, true),
            (1, 9, Limited, false),
            (1, 9, Private, false),
            (1, 3, Private, true),
            (1, 3, Limited, false),
            (5, 9, Private, true),
            (6, 9, Private, false),
            (7, 9, Limited, true),
        ] {
            assert_eq!(seen.sees(&row(id, owner, class)), expected, "{id} {owner} {class:?}");
        }
        assert!(!seen.sees(&Repository { deleted: true, ..row(5, 9, Private) }));
    }
}
