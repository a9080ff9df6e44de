//! Responses with deleted repositories and artifacts.

use farrier_common::api::{ArtifactRun, RestorableArtifact, RestorableRepository};

use super::super::prelude::*;
use crate::ui::net::Page;

fn page<T, S: From<T>>(items: Vec<T>) -> Page<S> {
    Page { total: i64::try_from(items.len()).ok(), items: items.into_iter().map(S::from).collect(), last: true }
}

/// Three deleted repositories; the owner of the last one no longer exists.
pub(in super::super) fn deleted_repositories() -> Answer {
    let repository = |id: i64, name: &str, deleted_at: &str, owner_exists: bool| RestorableRepository {
        id,
        repository: name.into(),
        owner_exists,
        private: id % 2 == 0,
        size_bytes: id * 1_300_000,
        deleted_at: deleted_at.into(),
        deleted_by: "ops-a".into(),
        restorable_until: deleted_at.replace("-11-", "-12-"),
    };
    Answer::DeletedRepositories(page(vec![
        repository(31, "infra/relay", "2026-11-21T11:40:00Z", true),
        repository(12, "data/lake-old", "2026-11-20T09:00:00Z", true),
        repository(4, "gone/tool", "2026-11-03T08:30:00Z", false),
    ]))
}

/// Two deleted artifacts; the repository of the last one is deleted, too.
pub(in super::super) fn deleted_artifacts() -> Answer {
    let artifact = |id: i64, name: &str, repository: &str, repository_deleted: bool| RestorableArtifact {
        id,
        name: name.into(),
        size_in_bytes: id * 1_500_000,
        repository: repository.into(),
        repository_deleted,
        workflow_run: ArtifactRun { id: 9, ..ArtifactRun::default() },
        deleted_at: "2026-11-21T11:30:00Z".into(),
        deleted_by: if id == 21 { "ops-a".into() } else { String::new() },
        restorable_until: "2026-12-21T11:30:00Z".into(),
    };
    Answer::DeletedArtifacts(page(vec![
        artifact(21, "dist-linux.zip", "infra/gateway", false),
        artifact(17, "logs.zip", "infra/relay", true),
    ]))
}
