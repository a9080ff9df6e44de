//! Converts deleted repositories, deleted artifacts and data that was set aside.

use farrier_common::api;

use super::{artifact_run, number, time};
use crate::{
    service::deleted::{artifacts, repositories},
    set_aside::SetAsideEntry,
};

/// Converts a deleted repository.
pub(in crate::http) fn restorable_repository(entry: &repositories::DeletedRepository) -> api::RestorableRepository {
    let row = &entry.row;
    api::RestorableRepository {
        id: number(row.id),
        repository: row.deleted_path.clone(),
        owner_exists: entry.owner_exists,
        private: row.private,
        size_bytes: number(row.size_bytes),
        deleted_at: time(row.deleted_ms),
        deleted_by: entry.deleted_by.clone(),
        restorable_until: time(entry.kept_until_ms),
    }
}

/// Converts a deleted artifact.
pub(in crate::http) fn restorable_artifact(entry: &artifacts::DeletedArtifact) -> api::RestorableArtifact {
    let row = &entry.row;
    api::RestorableArtifact {
        id: number(row.id),
        name: row.name.clone(),
        size_in_bytes: number(row.content.as_ref().map_or(0, |content| content.size)),
        repository: entry.path.clone(),
        repository_deleted: entry.repository_deleted,
        workflow_run: artifact_run(row, &entry.run),
        deleted_at: time(row.deleted_ms),
        deleted_by: entry.deleted_by.clone(),
        restorable_until: time(entry.kept_until_ms),
    }
}

/// Converts an entry of `set-aside`.
pub(in crate::http) fn set_aside_item(item: &SetAsideEntry) -> api::SetAsideItem {
    api::SetAsideItem {
        path: item.path.display().to_string(),
        kind: item.kind.word().into(),
        size_bytes: number(item.bytes),
        since: item.since.map(|date| date.to_string()).unwrap_or_default(),
        removed_at: item.removed_ms.map(time).unwrap_or_default(),
    }
}
