//! Converts the results of services to the objects of the REST API. Uses [`crate::show`] for the rows in them.

mod caches;
mod deleted;
mod deliveries;
mod found;
mod gpg_keys;
mod hooks;
mod logs;
mod ssh_keys;
mod tasks;
mod tokens;

use farrier_common::api;

pub(super) use self::{
    caches::{cache_entry, cache_usage, found_cache_entry},
    deleted::{restorable_artifact, restorable_repository, set_aside_item},
    deliveries::{delivery, delivery_detail, delivery_groups, delivery_results, guid, replayed_delivery},
    found::{failing_workflows, found_artifact, found_mirror, found_run},
    gpg_keys::gpg_key,
    hooks::{hook, hook_event, hook_type, managed_hook, saved_hook},
    logs::log_page,
    ssh_keys::{deploy_key, public_key},
    tasks::background_task,
    tokens::{current_token, token},
};
use super::AppState;
pub(super) use crate::show::{
    actions_url, artifact, artifact_run, audit_entry, event, http_date, job, number, organization, owner, push_mirror,
    run, task, team, time, user,
};
use crate::{
    model::identity::Identity,
    service::{
        Error,
        orgs::Permissions,
        repositories::{self, FoundRepository},
    },
};

/// Converts repositories as `viewer` may see them, with their sources and the number of their visible forks.
pub(super) async fn repositories(
    state: &AppState,
    viewer: &Identity,
    found: &[FoundRepository],
) -> Result<Vec<api::Repository>, Error> {
    let networks = repositories::networks(&state.store.read().await?, viewer, found).await?;
    let shown = found.iter().zip(&networks).map(|(found, network)| api::Repository {
        fork: network.is_fork,
        parent: network.parent.as_ref().map(|parent| Box::new(repository(state, viewer, parent))),
        forks_count: number(network.forks),
        ..repository(state, viewer, found)
    });
    Ok(shown.collect())
}

/// Converts a repository as `viewer` may see it, with its source and the number of its visible forks.
pub(super) async fn whole_repository(
    state: &AppState,
    viewer: &Identity,
    found: &FoundRepository,
) -> Result<api::Repository, Error> {
    let shown = repositories(state, viewer, std::slice::from_ref(found)).await?;
    Ok(shown.into_iter().next().unwrap_or_default())
}

/// Converts a repository as `viewer` may see it, without its source. The number of forks counts all of them.
pub(super) fn repository(state: &AppState, viewer: &Identity, found: &FoundRepository) -> api::Repository {
    let FoundRepository { owner, repository, access_level } = found;
    let live = state.migrations.live(repository);
    crate::show::repository(&state.root_url, viewer, owner, repository, *access_level, live)
}

/// Converts a user's permissions in an organization.
pub(super) fn permissions(found: Permissions) -> api::OrgPermissions {
    api::OrgPermissions {
        is_owner: found.owner,
        is_admin: found.admin,
        can_write: found.write,
        can_read: found.read,
        can_create_repository: found.create,
    }
}
