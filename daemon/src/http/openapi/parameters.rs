//! Query and header parameters.

#![allow(dead_code)] // used only for the description; handlers read queries leniently, by name

use utoipa::IntoParams;

/// Declares sets of query parameters.
macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(IntoParams)]
        #[into_params(parameter_in = Query)]
        pub(in crate::http) struct $name {
            $($(#[$meta])* $field: Option<$type>,)*
        }
    )*};
}

mod audit;
mod browse;
mod caches;
mod deliveries;
mod logs;
mod repositories;
mod ssh_keys;

pub(in crate::http) use self::{
    audit::{AuditListParams, OwnAuditListParams},
    browse::{
        AssetNameParams, CommitFieldParams, CommitListParams, DeleteFileParams, ReleaseListParams, RevisionParams,
        StatusListParams, TreeParams,
    },
    caches::{CacheKeyParams, CacheListParams, CachesOfAllParams},
    deliveries::{DeliveryGroupParams, DeliveryListParams, DeliveryResultsParams},
    logs::LogListParams,
    repositories::{OwnRepositoriesParams, SearchRepositoriesParams, SearchTopicsParams},
    ssh_keys::{DeployKeyParams, FingerprintParams},
};

queries! {
    /// A page of a list.
    PageParams {
        /// Page number, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Items per page; larger values are reduced to 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }

    /// A page of a list that clients of Actions read.
    ActionsPageParams {
        /// Page number, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
        /// The same as `limit`.
        #[param(minimum = 1, maximum = 100)]
        per_page: u64,
    }

    /// How a scheduled task runs.
    CronRunParams {
        /// Whether the task only counts and changes nothing; only for `collect_lfs_objects`.
        #[param(default = false)]
        dry_run: bool,
    }

    /// The period of a series of metrics.
    MetricsSeriesParams {
        /// The last minute in steps of a second, the last hour in steps of a minute, or the last day in steps of five
        /// minutes.
        #[param(pattern = "^(minute|hour|day)$", default = "minute")]
        span: String,
    }

    /// Content of a test delivery.
    TestHookParams {
        /// Branch, tag or commit; default: the default branch.
        #[param(rename = "ref")]
        revision: String,
        /// `owner/name` of a repository, for hooks that do not belong to one; default: a repository with a commit.
        repository: String,
        /// Whether to wait for the result of the delivery.
        #[param(default = false)]
        wait: bool,
    }

    /// Options of a ping.
    PingHookParams {
        /// Whether to wait for the result of the delivery.
        #[param(default = false)]
        wait: bool,
    }

    /// Filter of artifacts by name.
    ArtifactNameParams {
        /// Only artifacts with this name.
        name: String,
    }

    /// Filters and order of artifacts of all repositories.
    ArtifactListParams {
        /// Only artifacts of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only artifacts of the run with this number.
        #[param(minimum = 1)]
        run: u64,
        /// Only artifacts with this name.
        name: String,
        /// Only artifacts in this state; default: `ready` and `expired`.
        #[param(pattern = "^(uploading|ready|expired)$")]
        state: String,
        /// `newest`: newest first. `expiry`: only readable artifacts, the next to expire first.
        #[param(pattern = "^(newest|expiry)$", default = "newest")]
        sort: String,
        /// Only artifacts that expire before this time, the next to expire first.
        #[param(format = DateTime)]
        expires_before: String,
        /// Cursor of the page, from `Link`.
        cursor: String,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Filter of deleted repositories or artifacts.
    DeletedListParams {
        /// Only the repository `OWNER/NAME`, or its artifacts; upper and lower case are equal.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Cursor of the page, from `Link`.
        cursor: String,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Filters of runs of all repositories.
    RunListParams {
        /// Only runs of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only runs with this status.
        #[param(pattern = "^(in_progress|completed)$")]
        status: String,
        /// Only completed runs with this conclusion.
        #[param(pattern = "^(success|failure|cancelled|skipped)$")]
        conclusion: String,
        /// Words, in any case. Each must be a part of `run` and the ID, the repository, the workflow, the branch or the
        /// commit. A page examines about 4,096 runs and may be short or empty; the header `X-Examined-Count` has their
        /// number.
        q: String,
        /// Cursor of the page, from `Link`.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Filter of the mirrors of all repositories.
    MirrorListParams {
        /// Only mirrors whose last run succeeded (`ok`) or failed (`failing`), or that never ran (`unused`).
        #[param(pattern = "^(ok|failing|unused)$")]
        state: String,
        /// Cursor of the page, from `Link`.
        cursor: String,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Filters of accounts.
    SearchUsersParams {
        /// Part of the name, the full name or, for signed-in callers, the email address.
        q: String,
        /// Only the account with this number.
        #[param(minimum = 0)]
        uid: i64,
    }

    /// Filters and order of accounts, for administrators.
    ListUsersParams {
        /// Part of the name, the full name or the email address.
        q: String,
        /// External authentication source. Not supported: other values than 0 match no account.
        source_id: i64,
        /// Name at an external authentication source. Not supported: matches no account.
        login_name: String,
        /// Sort key.
        #[param(pattern = "^(id|name|created|updated)$")]
        sort: String,
        /// Ascending or descending.
        #[param(pattern = "^(asc|desc)$")]
        order: String,
        /// Only accounts with this visibility.
        #[param(pattern = "^(public|limited|private)$")]
        visibility: String,
        /// Only active or only inactive accounts.
        is_active: bool,
        /// Only site administrators, or only other accounts.
        is_admin: bool,
        /// Only restricted accounts, or only other accounts.
        is_restricted: bool,
        /// Only accounts that may not sign in, or only other accounts.
        is_prohibit_login: bool,
        /// Second factor. Not supported: `true` matches no account.
        is_2fa_enabled: bool,
    }

    /// Filters of teams.
    SearchTeamsParams {
        /// Part of the name or the description.
        q: String,
        /// Whether to search descriptions, too.
        #[param(default = true)]
        include_desc: bool,
    }

    /// Filter of hooks of administrators.
    AdminHookParams {
        /// `system`, `default` or `all`. Other values mean `system`.
        #[param(example = "all", default = "system")]
        r#type: String,
    }

    /// Filters and order of hooks of all owners.
    ManagedHookParams {
        /// Only hooks of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only hooks of this user or organization and of its repositories.
        owner: String,
        /// Only of these kinds, separated by commas: `system`, `default`, `repository`, `organization`, `user`.
        scope: String,
        /// Only active or only inactive hooks.
        active: bool,
        /// Only hooks in these states, separated by commas: `ok`, `failing`, `unused`, `off`, `disabled`.
        state: String,
        /// Only hooks whose name, address, owner or repository contains this text, in upper or lower case.
        q: String,
        /// Sort key. Other keys than `id` are refused for more than 50,000 hooks.
        #[param(pattern = "^(id|name|url|last_delivery|failures|failing_since)$", default = "id")]
        sort: String,
        /// Ascending or descending.
        #[param(pattern = "^(asc|desc)$", default = "asc")]
        order: String,
        /// Cursor of the page, from `Link`.
        cursor: String,
        /// Items per page; larger values are reduced to 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Filters and start of a list of events.
    EventParams {
        /// Only events of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only events of these kinds, separated by commas. Can be repeated.
        kind: String,
        /// Only events after the one with this number. Default: a stream begins with new events, a page with the
        /// oldest event.
        #[param(minimum = 0)]
        after: u64,
        /// Events per page; larger values are reduced to 1000.
        #[param(minimum = 0, default = 100)]
        limit: u64,
        /// Without `after`: begin with this number of the newest events, oldest first, taken from the last 4,096. A
        /// page has at most 1000.
        #[param(minimum = 0)]
        last: u64,
    }

    /// Options for deleting an account.
    DeleteUserParams {
        /// Whether to end the account's memberships, and to delete organizations without repositories that have no
        /// other owner.
        #[param(default = false)]
        purge: bool,
    }
}

/// Condition of a change.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct IfMatchHeader {
    /// Entity tags from `ETag`. The change is refused with 412 if the object was edited since.
    #[param(rename = "If-Match")]
    if_match: Option<String>,
}

/// Preference for when a migration responds.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct PreferHeader {
    /// `respond-async`: respond at once; the migration continues in the background.
    #[param(rename = "Prefer")]
    prefer: Option<String>,
}

/// Position at which a client continues after a lost stream.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct LastEventHeader {
    /// Number of the last event that the client received. Overrides `after`.
    #[param(rename = "Last-Event-ID", minimum = 0)]
    last_event_id: Option<u64>,
}
