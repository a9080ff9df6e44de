//! Compact representation of a repository for lists.
//!
//! Values that repositories have in common, such as their switches, are stored once. The complete object is requested
//! from the daemon when it is needed.

use std::sync::Arc;

use farrier_common::api::{MigrationProgress, Permissions, Repository};

use super::{
    compact::{PackedTexts, SharedValues},
    words,
};

/// The places of texts among those of a repository.
const NAME: usize = 0;
const BRANCH: usize = 1;
const ABOUT: usize = 2;

/// The data of a repository that a list, its filters and its actions need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositorySummary {
    pub(crate) id: i64,
    /// Full name, default branch and description.
    texts: PackedTexts<3>,
    /// KiB, as in the API.
    pub(crate) size: i64,
    /// Seconds since 1970; 0 for none.
    pub(crate) created: i64,
    pub(crate) updated: i64,
    kind: Arc<Kind>,
    rare: Option<Arc<Rare>>,
}

/// Values that most repositories of a daemon have in common.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    https: Address,
    ssh: Address,
    format: String,
    permissions: Permissions,
    switches: u8,
}

/// Values that only few repositories have.
#[derive(Debug, PartialEq, Eq)]
struct Rare {
    source: String,
    website: String,
    migration: Option<MigrationProgress>,
}

/// A URL, split around the name of a repository.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    before: String,
    /// `None` if the URL does not contain the name.
    after: Option<String>,
}

impl Address {
    fn of(address: &str, name: &str) -> Self {
        match address.rsplit_once(name) {
            Some((before, after)) => Self { before: before.to_owned(), after: Some(after.to_owned()) },
            None => Self { before: address.to_owned(), after: None },
        }
    }

    fn with(&self, name: &str) -> String {
        self.after.as_ref().map_or_else(|| self.before.clone(), |after| format!("{}{name}{after}", self.before))
    }
}

const PRIVATE: u8 = 1;
const EMPTY: u8 = 2;
const ARCHIVED: u8 = 4;
const MIRROR: u8 = 8;

impl RepositorySummary {
    pub(crate) fn full_name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns the name without the owner.
    pub(crate) fn name(&self) -> &str {
        self.full_name().rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn default_branch(&self) -> &str {
        self.texts.get(BRANCH)
    }

    pub(crate) fn description(&self) -> &str {
        self.texts.get(ABOUT)
    }

    pub(crate) fn is_private(&self) -> bool {
        self.kind.switches & PRIVATE != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kind.switches & EMPTY != 0
    }

    pub(crate) fn is_archived(&self) -> bool {
        self.kind.switches & ARCHIVED != 0
    }

    pub(crate) fn is_mirror(&self) -> bool {
        self.kind.switches & MIRROR != 0
    }

    pub(crate) fn clone_url(&self) -> String {
        self.kind.https.with(self.full_name())
    }

    pub(crate) fn ssh_url(&self) -> String {
        self.kind.ssh.with(self.full_name())
    }

    pub(crate) fn format(&self) -> &str {
        &self.kind.format
    }

    pub(crate) fn permissions(&self) -> Permissions {
        self.kind.permissions
    }

    /// Returns the URL that it was imported from.
    pub(crate) fn source(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.source)
    }

    pub(crate) fn website(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.website)
    }

    pub(crate) fn migration(&self) -> Option<&MigrationProgress> {
        self.rare.as_ref()?.migration.as_ref()
    }
}

/// Converts repositories to the compact form and shares common values.
#[derive(Debug, Default)]
pub(crate) struct RepositoryCompactor {
    kinds: SharedValues<Kind>,
}

impl RepositoryCompactor {
    pub(crate) fn compact(&mut self, repository: Repository) -> RepositorySummary {
        let switches = [
            (repository.private, PRIVATE),
            (repository.empty, EMPTY),
            (repository.archived, ARCHIVED),
            (repository.mirror, MIRROR),
        ];
        let kind = Kind {
            https: Address::of(&repository.clone_url, &repository.full_name),
            ssh: Address::of(&repository.ssh_url, &repository.full_name),
            format: repository.object_format_name,
            permissions: repository.permissions,
            switches: switches.into_iter().filter_map(|(on, bit)| on.then_some(bit)).sum(),
        };
        let rare = Rare {
            source: repository.original_url,
            website: repository.website,
            migration: repository.farrier_migration,
        };
        let has_rare = !rare.source.is_empty() || !rare.website.is_empty() || rare.migration.is_some();
        RepositorySummary {
            id: repository.id,
            texts: PackedTexts::of([&repository.full_name, &repository.default_branch, &repository.description]),
            size: repository.size,
            created: words::seconds(&repository.created_at),
            updated: words::seconds(&repository.updated_at),
            kind: self.kinds.share(kind),
            rare: has_rare.then(|| Arc::new(rare)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(name: &str) -> Repository {
        Repository {
            full_name: name.to_owned(),
            default_branch: "main".to_owned(),
            description: "edge proxy".to_owned(),
            clone_url: format!("http://{name}.lan/{name}.git"),
            ssh_url: "ssh://elsewhere".to_owned(),
            object_format_name: "sha1".to_owned(),
            private: true,
            mirror: true,
            created_at: "1970-01-01T00:01:00Z".to_owned(),
            updated_at: "0001-01-01T00:00:00Z".to_owned(),
            ..Repository::default()
        }
    }

    #[test]
    fn compacting_preserves_the_values_of_a_repository() {
        let mut compactor = RepositoryCompactor::default();
        let mut fetched = repository("infra/日本語");
        fetched.website = "https://site.lan".to_owned();
        fetched.farrier_migration = Some(MigrationProgress::default());
        let repo = compactor.compact(fetched.clone());
        assert_eq!((repo.full_name(), repo.name()), ("infra/日本語", "日本語"));
        assert_eq!((repo.default_branch(), repo.description()), ("main", "edge proxy"));
        assert_eq!((repo.clone_url(), repo.ssh_url()), (fetched.clone_url, fetched.ssh_url));
        assert_eq!((repo.format(), repo.source(), repo.website()), ("sha1", "", "https://site.lan"));
        assert_eq!(repo.migration(), fetched.farrier_migration.as_ref());
        assert!(repo.is_private() && repo.is_mirror() && !repo.is_empty() && !repo.is_archived());
        assert_eq!((repo.created, repo.updated), (60, 0));
    }

    #[test]
    fn common_values_of_repositories_are_stored_once() {
        let mut compactor = RepositoryCompactor::default();
        let named = |name: &str| Repository { clone_url: format!("http://forge.lan/{name}.git"), ..repository(name) };
        let (one, other) = (compactor.compact(named("a/b")), compactor.compact(named("infra/gateway")));
        assert!(Arc::ptr_eq(&one.kind, &other.kind));
        assert!(size_of::<RepositorySummary>() <= 80, "{} bytes a row", size_of::<RepositorySummary>());
    }
}
