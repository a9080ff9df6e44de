//! Converts rows to the objects of the REST API, for responses and for the payloads of deliveries.
//!
//! The functions take values: rows, and the base URL of the daemon, with which all URLs start. `http::show` converts
//! the results of services.

mod audit;
mod event;
mod hooks;
mod owners;
pub(crate) mod ref_rules;
mod releases;

use farrier_common::api;
use farrier_proto::store::{
    Artifact, ArtifactState, Job, Migration, MigrationState, Mirror, MirrorRemote, Repository, Run, User,
};

pub(crate) use self::{
    audit::audit_entry,
    event::event,
    hooks::{hook, unsent_warning, warning},
    owners::{organization, team},
    releases::{attachment, release},
};
use crate::{
    clock::Millis,
    model::{
        access_level::{AccessLevel, Action},
        go_duration,
        identity::Identity,
        root_url::RootUrl,
        words,
    },
    store::owners::Owner,
};

/// The API family's value for a time that is not set.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";
const EPOCH: &str = "1970-01-01T00:00:00Z";
/// The event that begins a run. Runs are always begun by agents.
pub(crate) const RUN_EVENT: &str = "workflow_dispatch";

/// Formats a time as RFC 3339 in UTC with whole seconds, or as the zero time if it is not set.
pub(crate) fn time(ms: Millis) -> String {
    if ms == 0 {
        return ZERO_TIME.to_owned();
    }
    let instant = jiff::Timestamp::from_second(ms.div_euclid(1_000));
    instant.map_or_else(|_| ZERO_TIME.to_owned(), |instant| format!("{instant:.0}"))
}

/// Formats seconds since the epoch for an HTTP header.
pub(crate) fn http_date(seconds: i64) -> String {
    let instant = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    instant.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Converts an id to the API's number type.
pub(crate) fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// Converts an account as `viewer` may see it.
pub(crate) fn user(root_url: &str, viewer: &Identity, row: &User) -> api::User {
    let sees_private_fields = viewer.is_admin() || viewer.user_id() == row.id;
    let hidden = || format!("{}@noreply.{}", row.name.to_lowercase(), host(root_url));
    let sees_email = viewer.account().is_some() && (sees_private_fields || !row.hide_email);
    let address = if sees_email && !row.email.is_empty() { row.email.clone() } else { hidden() };
    api::User {
        id: number(row.id),
        login: row.name.clone(),
        full_name: row.full_name.clone(),
        email: address,
        avatar_url: format!("{root_url}/avatars/{}", row.id),
        html_url: format!("{root_url}/{}", row.name),
        is_admin: sees_private_fields && row.admin,
        last_login: time(if sees_private_fields { row.last_login_ms } else { 0 }),
        created: time(row.created_ms),
        restricted: row.restricted,
        active: sees_private_fields && !row.inactive,
        prohibit_login: sees_private_fields && row.prohibit_login,
        location: row.location.clone(),
        website: row.website.clone(),
        description: row.description.clone(),
        visibility: words::visibility_word(row.visibility()).into(),
        username: row.name.clone(),
        must_change_password: sees_private_fields && row.must_change_password,
        ..api::User::default()
    }
}

/// Returns the host of the configured root URL.
fn host(root_url: &str) -> &str {
    let rest = root_url.split_once("://").map_or(root_url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    port.map_or(authority, |(host, _)| host)
}

/// Converts an owner as `viewer` may see it. Organizations are converted to the object of a user.
pub(crate) fn owner(root_url: &str, viewer: &Identity, owner: &Owner) -> api::User {
    match owner {
        Owner::User(row) => user(root_url, viewer, row),
        Owner::Org(org) => api::User {
            id: number(org.id),
            login: org.name.clone(),
            full_name: org.full_name.clone(),
            email: org.email.clone(),
            avatar_url: format!("{root_url}/avatars/{}", org.id),
            html_url: format!("{root_url}/{}", org.name),
            last_login: time(0),
            created: time(org.created_ms),
            location: org.location.clone(),
            website: org.website.clone(),
            description: org.description.clone(),
            visibility: words::visibility_word(org.visibility()).into(),
            username: org.name.clone(),
            ..api::User::default()
        },
    }
}

/// The progress of a running migration. All fields are empty while no migration is running.
#[derive(Clone, Debug, Default)]
pub struct LiveMigration {
    /// The current phase.
    pub phase: String,
    /// The number of received objects.
    pub objects: u64,
    /// The number of received bytes.
    pub bytes: u64,
}

/// Converts a repository of `owner` as `viewer` may see it. `live` is the progress of its running migration.
pub(crate) fn repository(
    root_url: &RootUrl,
    viewer: &Identity,
    owner: &Owner,
    row: &Repository,
    access_level: AccessLevel,
    live: LiveMigration,
) -> api::Repository {
    let path = format!("{}/{}", owner.name(), row.name);
    let api = format!("{root_url}/api/v1/repos/{path}");
    let may = |action| access_level.allows(action);
    let pull = row.mirror.as_ref().filter(|mirror| mirror.pull);
    api::Repository {
        id: number(row.id),
        owner: self::owner(root_url, viewer, owner),
        name: row.name.clone(),
        full_name: path.clone(),
        description: row.description.clone(),
        empty: row.empty,
        private: row.private,
        template: row.template,
        size: number(row.size_bytes.div_ceil(1_024)),
        branch_count: number(row.branches.unwrap_or(0)),
        original_url: row.original_url.clone(),
        website: row.website.clone(),
        archived: row.archived,
        languages_url: format!("{api}/languages"),
        html_url: format!("{root_url}/{path}"),
        url: api,
        clone_url: format!("{root_url}/{path}.git"),
        ssh_url: root_url.ssh_url(&path),
        default_branch: row.default_branch.clone(),
        created_at: time(row.created_ms),
        updated_at: time(row.updated_ms),
        archived_at: if row.archived { time(row.archived_ms) } else { EPOCH.into() },
        topics: row.topics.clone(),
        permissions: api::Permissions {
            admin: may(Action::Administer),
            push: may(Action::Write),
            pull: may(Action::Read),
        },
        has_code: true,
        has_releases: true,
        release_counter: number(row.releases),
        fork: row.parent != 0,
        forks_count: number(row.forks),
        stars_count: number(row.stars),
        watchers_count: number(row.watchers),
        projects_mode: "all".into(),
        has_actions: true,
        default_merge_style: "merge".into(),
        default_update_style: "merge".into(),
        object_format_name: if row.sha256 { "sha256" } else { "sha1" }.into(),
        mirror: pull.is_some(),
        mirror_interval: pull.map(|mirror| interval(mirror.interval_ms)).unwrap_or_default(),
        mirror_updated: time(pull.map_or(0, |mirror| mirror.updated_ms)),
        mirror_last_sync_at: time(pull.map_or(0, |mirror| mirror.synced_ms)),
        farrier_mirror: pull.map(|mirror| self::mirror(mirror, may(Action::Administer))),
        farrier_migration: row.migration.as_ref().map(|migration| self::migration(migration, live)),
        ..api::Repository::default()
    }
}

/// Converts the progress of a migration: from memory while it runs, from the row afterwards.
fn migration(row: &Migration, live: LiveMigration) -> api::MigrationProgress {
    api::MigrationProgress {
        state: match row.state() {
            MigrationState::Unspecified | MigrationState::Running => "running",
            MigrationState::Done => "done",
            MigrationState::Failed => "failed",
        }
        .into(),
        phase: live.phase,
        objects_received: number(live.objects.max(row.objects_received)),
        bytes_received: number(live.bytes.max(row.bytes_received)),
        error: row.error.clone(),
        started_at: time(row.started_ms),
    }
}

/// Converts the state of a pull mirror. Its error may name internal hosts, so only administrators see it.
fn mirror(row: &Mirror, is_administrator: bool) -> api::MirrorProgress {
    api::MirrorProgress {
        state: if row.last_error.is_empty() { "ok" } else { "failing" }.into(),
        last_error: if is_administrator { row.last_error.clone() } else { String::new() },
        next_at: (row.next_ms != 0).then(|| time(row.next_ms)),
    }
}

/// Formats an interval in milliseconds, for example `8h0m0s`.
pub(crate) fn interval(ms: Millis) -> String {
    go_duration::format(std::time::Duration::from_millis(u64::try_from(ms).unwrap_or_default()))
}

/// Converts a push mirror of the repository `name`.
pub(crate) fn push_mirror(name: &str, row: &MirrorRemote) -> api::PushMirror {
    api::PushMirror {
        repo_name: name.to_owned(),
        remote_name: row.name.clone(),
        remote_address: row.address.clone(),
        created: time(row.created_ms),
        last_update: if row.updated_ms == 0 { EPOCH.into() } else { time(row.updated_ms) },
        last_error: row.last_error.clone(),
        interval: interval(row.interval_ms),
        sync_on_commit: row.sync_on_commit,
        ..api::PushMirror::default()
    }
}

/// Returns the absolute URL of a repository's actions.
pub(crate) fn actions_url(root_url: &str, path: &str) -> String {
    format!("{root_url}/api/v1/repos/{path}/actions")
}

/// Converts a run of the repository `path` (`owner/name`).
pub(crate) fn run(root_url: &str, path: &str, row: &Run) -> api::Run {
    api::Run {
        id: number(row.id),
        url: format!("{}/runs/{}", actions_url(root_url, path), row.id),
        html_url: format!("{root_url}/{path}/actions/runs/{}", row.id),
        display_title: row.workflow.clone(),
        path: row.workflow.clone(),
        event: RUN_EVENT.into(),
        run_attempt: 1,
        run_number: number(row.number),
        repository_id: number(row.repository_id),
        head_sha: row.head_sha.clone(),
        head_branch: row.head_branch.clone(),
        status: words::run_status_word(row.status()).into(),
        conclusion: words::conclusion_word(row.conclusion()).into(),
        started_at: time(row.created_ms),
        completed_at: time(row.completed_ms),
    }
}

/// Converts a job of `run`.
pub(crate) fn job(root_url: &str, path: &str, run: &Run, row: &Job) -> api::Job {
    let actions = actions_url(root_url, path);
    api::Job {
        id: number(row.id),
        url: format!("{actions}/jobs/{}", row.id),
        html_url: format!("{root_url}/{path}/actions/runs/{}/jobs/{}", run.id, row.id),
        run_id: number(run.id),
        run_url: format!("{actions}/runs/{}", run.id),
        name: row.name.clone(),
        run_attempt: 1,
        head_sha: run.head_sha.clone(),
        head_branch: run.head_branch.clone(),
        status: words::run_status_word(row.status()).into(),
        conclusion: words::conclusion_word(row.conclusion()).into(),
        created_at: time(row.started_ms),
        started_at: time(row.started_ms),
        completed_at: time(row.completed_ms),
        ..api::Job::default()
    }
}

/// Converts a run to the older object of the tasks API.
pub(crate) fn task(root_url: &str, path: &str, row: &Run) -> api::Task {
    let shown = run(root_url, path, row);
    let status = if shown.conclusion.is_empty() { "running".to_owned() } else { shown.conclusion };
    api::Task {
        id: shown.id,
        name: row.workflow.clone(),
        head_branch: shown.head_branch,
        head_sha: shown.head_sha,
        run_number: shown.run_number,
        event: shown.event,
        display_title: shown.display_title,
        status,
        workflow_id: row.workflow.clone(),
        url: shown.url,
        created_at: time(row.created_ms),
        updated_at: time(row.updated_ms),
        run_started_at: time(row.created_ms),
    }
}

/// Converts a finalized or expired artifact of `run`.
pub(crate) fn artifact(root_url: &str, path: &str, row: &Artifact, run: &Run, now: Millis) -> api::Artifact {
    let url = format!("{}/artifacts/{}", actions_url(root_url, path), row.id);
    let content = row.content.clone().unwrap_or_default();
    let expired = row.state() == ArtifactState::Expired || row.expires_ms <= now;
    api::Artifact {
        id: number(row.id),
        name: row.name.clone(),
        size_in_bytes: number(content.size),
        archive_download_url: format!("{url}/zip"),
        url,
        expired,
        digest: words::digest_text(&content.sha256),
        created_at: time(row.created_ms),
        updated_at: time(row.updated_ms),
        expires_at: time(row.expires_ms),
        workflow_run: artifact_run(row, run),
    }
}

/// Converts the run of an artifact to its short object.
pub(crate) fn artifact_run(row: &Artifact, run: &Run) -> api::ArtifactRun {
    api::ArtifactRun {
        id: number(row.run_id),
        repository_id: number(row.repository_id),
        head_repository_id: number(row.repository_id),
        head_branch: run.head_branch.clone(),
        head_sha: run.head_sha.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_returned_without_port() {
        for (address, expected) in [
            ("http://127.0.0.1:3000", "127.0.0.1"),
            ("https://forge.example/farrier", "forge.example"),
            ("https://forge.example:8443/a:1", "forge.example"),
            ("http://[::1]:3000", "[::1]"),
            ("http://[::1]", "[::1]"),
            ("http://a:b@forge.example", "forge.example"),
        ] {
            assert_eq!(host(address), expected, "{address}");
        }
    }

    #[test]
    fn times_are_whole_seconds_in_utc() {
        assert_eq!(time(0), "0001-01-01T00:00:00Z");
        assert_eq!(time(1_767_323_045_999), "2026-01-02T03:04:05Z");
        assert_eq!(http_date(1_767_323_045), "Fri, 02 Jan 2026 03:04:05 GMT");
    }
}
