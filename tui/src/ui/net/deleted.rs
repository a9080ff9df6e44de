//! Deleted repositories and artifacts: lists, restores and purges them.

use farrier_common::{
    api::{RestorableArtifact, RestorableRepository},
    client::{Client, ClientError},
};

use super::{Answer, Request, fetch::pages};
use crate::ui::deleted::{DeletedArtifactSummary, DeletedRepositorySummary};

/// Handles a request about deleted objects. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::DeletedRepositories => {
            let open = |list: Vec<RestorableRepository>| list.into_iter().map(DeletedRepositorySummary::from).collect();
            pages(
                client.deleted_repositories(None),
                open,
                |one: &DeletedRepositorySummary| one.id,
                part,
                Answer::DeletedRepositories,
            )
            .await?
        }
        Request::DeletedArtifacts => {
            let open = |list: Vec<RestorableArtifact>| list.into_iter().map(DeletedArtifactSummary::from).collect();
            pages(
                client.deleted_artifacts(None),
                open,
                |one: &DeletedArtifactSummary| one.id,
                part,
                Answer::DeletedArtifacts,
            )
            .await?
        }
        Request::RestoreRepository { id, target, .. } => {
            Answer::Repository(Box::new(client.restore_repository(id, &target).await?))
        }
        Request::RestoreArtifact { id, .. } => {
            client.restore_artifact(id).await?;
            Answer::Done
        }
        // The user typed the name or the number of the object: the daemon removes exactly this one, and only if it
        // is still deleted.
        Request::PurgeRepository { id, .. } => {
            client.purge_repository(id).await?;
            Answer::Done
        }
        Request::PurgeArtifact { id, .. } => {
            client.purge_artifact(id).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}
