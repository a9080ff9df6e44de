//! Compact representations of deleted repositories and artifacts for lists.

use farrier_common::api::{RestorableArtifact, RestorableRepository};

use super::compact::{PackedTexts, short_seconds};

/// The places of texts among those of a deleted object.
const NAME: usize = 0;
const DELETED_BY: usize = 1;
const REPOSITORY: usize = 2;

/// A deleted repository that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletedRepositorySummary {
    pub(crate) id: i64,
    /// `owner/name`, and who deleted it.
    texts: PackedTexts<2>,
    /// Bytes.
    pub(crate) size: i64,
    /// Seconds since 1970; 0 for none.
    deleted: u32,
    restorable_until: u32,
    pub(crate) owner_exists: bool,
    pub(crate) is_private: bool,
}

impl From<RestorableRepository> for DeletedRepositorySummary {
    fn from(repository: RestorableRepository) -> Self {
        Self {
            id: repository.id,
            texts: PackedTexts::of([&repository.repository, &repository.deleted_by]),
            size: repository.size_bytes,
            deleted: short_seconds(&repository.deleted_at),
            restorable_until: short_seconds(&repository.restorable_until),
            owner_exists: repository.owner_exists,
            is_private: repository.private,
        }
    }
}

impl DeletedRepositorySummary {
    /// Returns `owner/name` at the time of the deletion.
    pub(crate) fn full_name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns who deleted it; empty if the account no longer exists.
    pub(crate) fn deleted_by(&self) -> &str {
        self.texts.get(DELETED_BY)
    }

    /// Returns the time of the deletion in seconds since 1970.
    pub(crate) fn deleted(&self) -> i64 {
        self.deleted.into()
    }

    /// Returns the end of the retention in seconds since 1970.
    pub(crate) fn restorable_until(&self) -> i64 {
        self.restorable_until.into()
    }
}

/// A deleted artifact that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletedArtifactSummary {
    pub(crate) id: i64,
    pub(crate) run: i64,
    /// Name, who deleted it, and repository.
    texts: PackedTexts<3>,
    /// Bytes.
    pub(crate) size: i64,
    /// Seconds since 1970; 0 for none.
    deleted: u32,
    restorable_until: u32,
    /// Whether the repository is also deleted.
    pub(crate) repository_deleted: bool,
}

impl From<RestorableArtifact> for DeletedArtifactSummary {
    fn from(artifact: RestorableArtifact) -> Self {
        Self {
            id: artifact.id,
            run: artifact.workflow_run.id,
            texts: PackedTexts::of([&artifact.name, &artifact.deleted_by, &artifact.repository]),
            size: artifact.size_in_bytes,
            deleted: short_seconds(&artifact.deleted_at),
            restorable_until: short_seconds(&artifact.restorable_until),
            repository_deleted: artifact.repository_deleted,
        }
    }
}

impl DeletedArtifactSummary {
    pub(crate) fn name(&self) -> &str {
        self.texts.get(NAME)
    }

    /// Returns who deleted it; empty for a job or a local CI agent, or if the account no longer exists.
    pub(crate) fn deleted_by(&self) -> &str {
        self.texts.get(DELETED_BY)
    }

    /// Returns its repository, `owner/name`.
    pub(crate) fn repository(&self) -> &str {
        self.texts.get(REPOSITORY)
    }

    /// Returns the time of the deletion in seconds since 1970.
    pub(crate) fn deleted(&self) -> i64 {
        self.deleted.into()
    }

    /// Returns the end of the retention in seconds since 1970.
    pub(crate) fn restorable_until(&self) -> i64 {
        self.restorable_until.into()
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::ArtifactRun;

    use super::{super::compact::row_bytes, *};

    #[test]
    fn a_compact_deleted_repository_has_the_values_of_the_list() {
        let fetched = RestorableRepository {
            id: 31,
            repository: "infra/日本語-gateway".to_owned(),
            owner_exists: true,
            private: false,
            size_bytes: 40_300_000,
            deleted_at: "1970-01-01T00:01:00Z".to_owned(),
            deleted_by: "ops-a".to_owned(),
            restorable_until: "1970-01-02T00:00:00Z".to_owned(),
        };
        let row = DeletedRepositorySummary::from(fetched.clone());
        assert_eq!((row.id, row.full_name(), row.deleted_by()), (31, "infra/日本語-gateway", "ops-a"));
        assert_eq!((row.size, row.deleted(), row.restorable_until()), (40_300_000, 60, 86_400));
        assert_eq!((row.owner_exists, row.is_private), (true, false));
        let bytes = row_bytes::<DeletedRepositorySummary>(&[row.texts.heap_bytes()]);
        assert!(bytes <= 140, "{bytes} bytes a row");
        let other = RestorableRepository { owner_exists: false, private: true, ..fetched };
        let other = DeletedRepositorySummary::from(other);
        assert_eq!((other.owner_exists, other.is_private), (false, true));
    }

    #[test]
    fn a_compact_deleted_artifact_has_the_values_of_the_list() {
        let fetched = RestorableArtifact {
            id: 21,
            name: "dist-linux-amd64.zip".to_owned(),
            size_in_bytes: 31_500_000,
            repository: "infra/gateway".to_owned(),
            repository_deleted: true,
            workflow_run: ArtifactRun { id: 9, ..ArtifactRun::default() },
            deleted_at: "1970-01-01T00:01:00Z".to_owned(),
            deleted_by: String::new(),
            restorable_until: "1970-01-02T00:00:00Z".to_owned(),
        };
        let row = DeletedArtifactSummary::from(fetched.clone());
        assert_eq!((row.id, row.run, row.name(), row.repository()), (21, 9, "dist-linux-amd64.zip", "infra/gateway"));
        assert_eq!((row.size, row.deleted(), row.restorable_until()), (31_500_000, 60, 86_400));
        assert_eq!((row.deleted_by(), row.repository_deleted), ("", true));
        let bytes = row_bytes::<DeletedArtifactSummary>(&[row.texts.heap_bytes()]);
        assert!(bytes <= 160, "{bytes} bytes a row");
        let other = RestorableArtifact { repository_deleted: false, deleted_by: "ops-a".to_owned(), ..fetched };
        let other = DeletedArtifactSummary::from(other);
        assert_eq!((other.deleted_by(), other.repository_deleted), ("ops-a", false));
    }
}
