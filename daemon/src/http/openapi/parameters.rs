//! What stands in paths and queries.

#![allow(dead_code)] // queries are described here and read leniently where they are needed

use serde_json::{Value, json};
use utoipa::IntoParams;

/// What a capture of a path is.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Text,
    /// Text of this form.
    Form(&'static str),
}
use Kind::{Form, Number, Text};

/// Captures of paths as the route table writes them.
const CAPTURES: &[(&str, &str, Kind)] = &[
    ("owner", "Account or organisation that owns the repository.", Text),
    ("repo", "Name of the repository.", Text),
    ("org", "Name of the organisation.", Text),
    ("name", "Name of the account or organisation.", Text),
    ("user", "Name of the account.", Text),
    ("team", "Number of the team.", Number),
    ("token", "Number or name of the token.", Text),
    ("id", "Its number.", Number),
    ("delivery", "Identifier or number of the delivery.", Text),
    ("run", "Number of the run.", Number),
    ("job", "Number of the job.", Number),
    ("task", "Number of the task.", Number),
    ("attempt", "Number of the attempt; there is only 1.", Number),
    ("key", "Key of the licence.", Text),
    ("template", "Name of the template.", Text),
    ("sha", "Id of the object in full.", Form("^([0-9a-f]{40}|[0-9a-f]{64})$")),
    ("*sha", "Branch, tag, id, or what git makes of `main~1`.", Text),
    ("*branch", "Name of the branch.", Text),
    ("*tag", "Name of the tag.", Text),
    ("*prefix", "Begin of names, without `refs/`.", Text),
    ("*both", "Two revisions with three dots between them.", Form("^.+\\.\\.\\..+$")),
    ("*path", "Path of the file or directory.", Text),
    ("*name", "A revision, and `.zip`, `.tar.gz` or `.bundle` behind it.", Form("^.+\\.(zip|tar\\.gz|bundle)$")),
    ("*ref", "Branch, tag, id, or what git makes of `main~1`.", Text),
];

/// The parameter that the capture `name` is.
pub(super) fn of_path(name: &str) -> Value {
    let known = CAPTURES.iter().find(|capture| capture.0 == name);
    let (_, about, kind) = known.copied().unwrap_or((name, "", Text));
    let schema = match kind {
        Number => json!({ "type": "integer", "format": "int64", "minimum": 1 }),
        Text => json!({ "type": "string", "minLength": 1 }),
        Form(pattern) => json!({ "type": "string", "pattern": pattern }),
    };
    let name = name.trim_start_matches('*');
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
}

/// Declares sets of parameters of the query.
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

queries! {
    /// A page of a list.
    Paging {
        /// Which page, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Items of a page; more than 50 are 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }

    /// A page of a list that clients of Actions read.
    ActionsPaging {
        /// Which page, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Items of a page; more than 100 are 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
        /// The same as `limit`.
        #[param(minimum = 1, maximum = 100)]
        per_page: u64,
    }

    /// Which deliveries. Pages have no numbers here: totals are not always counted.
    DeliveryQuery {
        /// How they ended.
        #[param(pattern = "^(success|failure|pending|cancelled)$")]
        status: String,
        /// Only those of this event.
        event: String,
        /// Only those of the hook with this number, where all are listed.
        #[param(minimum = 1)]
        hook: u64,
        /// Only those about the repository with this number.
        #[param(minimum = 1)]
        repository_id: u64,
        /// Only those that are not older.
        #[param(format = DateTime)]
        since: String,
        /// Only those that are older.
        #[param(format = DateTime)]
        until: String,
        /// The delivery behind which the page begins, as `Link` has it.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items of a page; more than 50 are 50.
        #[param(minimum = 1, maximum = 50, default = 30)]
        limit: u64,
    }

    /// What a hook is tested with.
    TestQuery {
        /// Branch, tag or commit; absent: the default branch.
        #[param(rename = "ref")]
        revision: String,
        /// `owner/name` of a repository, for hooks that belong to none; absent: one with a commit.
        repository: String,
        /// Whether to wait for what comes of it.
        #[param(default = false)]
        wait: bool,
    }

    /// How a hook is greeted.
    PingQuery {
        /// Whether to wait for what comes of it.
        #[param(default = false)]
        wait: bool,
    }

    /// A page of a tree.
    Trees {
        /// Also what stands in directories below.
        #[param(default = false)]
        recursive: bool,
        /// Which page, from 1.
        #[param(minimum = 1, default = 1)]
        page: u64,
        /// Entries of a page; more than 1000 are 1000.
        #[param(minimum = 1, maximum = 1000, default = 1000)]
        per_page: u64,
    }

    /// Of which revision.
    AtRevision {
        /// Branch, tag or commit; absent: the default branch.
        #[param(rename = "ref")]
        revision: String,
    }

    /// Which artifacts.
    ArtifactName {
        /// Only those of this name.
        name: String,
    }

    /// Which artifacts of all repositories.
    WhichArtifacts {
        /// Only of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only of the run with this number.
        #[param(minimum = 1)]
        run: u64,
        /// Only those of this name.
        name: String,
        /// Only those in this state; absent: `ready` and `expired` ones.
        #[param(pattern = "^(uploading|ready|expired)$")]
        state: String,
        /// `expiry`: only those that can be read, the first to expire first.
        #[param(pattern = "^(newest|expiry)$", default = "newest")]
        sort: String,
        /// Only those that expire before this time, the first to expire first.
        #[param(format = DateTime)]
        expires_before: String,
        /// Where the page begins, as `Link` has it.
        cursor: String,
        /// Items of a page; more than 100 are 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Which deleted repositories or artifacts.
    WhichDeleted {
        /// Only of the repository `OWNER/NAME`, in any case.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Where the page begins, as `Link` has it.
        cursor: String,
        /// Items of a page; more than 100 are 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Which runs of all repositories.
    WhichRuns {
        /// Only of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only runs with this status.
        #[param(pattern = "^(in_progress|completed)$")]
        status: String,
        /// The run behind which the page begins, as `Link` has it.
        #[param(minimum = 1)]
        cursor: u64,
        /// Items of a page; more than 100 are 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Which commits.
    Commits {
        /// Branch, tag or commit to begin at; absent: the default branch.
        sha: String,
        /// Leaves out what this revision has.
        not: String,
        /// Only those that touch this path.
        path: String,
        /// Only those that are not older.
        #[param(format = DateTime)]
        since: String,
        /// Only those that are not newer.
        #[param(format = DateTime)]
        until: String,
    }

    /// What is shown of commits.
    CommitParts {
        /// Lines that changed.
        #[param(default = true)]
        stat: bool,
        /// Paths that changed.
        #[param(default = true)]
        files: bool,
        /// Signatures.
        #[param(default = true)]
        verification: bool,
    }

    /// Which accounts.
    SearchUsers {
        /// Part of the name or of the full name.
        q: String,
        /// Only the account with this number.
        #[param(minimum = 0)]
        uid: i64,
    }

    /// Which accounts, for administrators.
    ListUsers {
        /// Part of the name, the full name or the address.
        q: String,
        /// External source; there is none but 0.
        source_id: i64,
        /// Name at an external source; nobody has one.
        login_name: String,
        /// What they are sorted by.
        #[param(pattern = "^(id|name|created|updated)$")]
        sort: String,
        /// Which way they are sorted.
        #[param(pattern = "^(asc|desc)$")]
        order: String,
        /// Who may see them.
        #[param(pattern = "^(public|limited|private)$")]
        visibility: String,
        /// Whether they may be used.
        is_active: bool,
        /// Whether they administer the site.
        is_admin: bool,
        /// Whether they see only what they are given.
        is_restricted: bool,
        /// Whether they may not sign in.
        is_prohibit_login: bool,
        /// Whether they have a second factor; nobody has one.
        is_2fa_enabled: bool,
    }

    /// Which of administrators' hooks.
    WhichHooks {
        /// Another word means `system`.
        #[param(example = "all", default = "system")]
        r#type: String,
    }

    /// Which hooks of all places.
    ManagedHookQuery {
        /// Only hooks of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only hooks of this user or organisation and of its repositories.
        owner: String,
        /// Only of these kinds, separated by commas: `system`, `default`, `repository`, `organization`, `user`.
        scope: String,
        /// Only active or only inactive hooks.
        active: bool,
        /// Only hooks in these states, separated by commas: `ok`, `failing`, `unused`, `off`, `disabled`.
        state: String,
        /// Only hooks whose name, address, owner or repository contains this text, in upper or lower case.
        q: String,
        /// What the list is sorted by. Other orders than `id` are refused for more than 50,000 hooks.
        #[param(pattern = "^(id|name|url|last_delivery|failures|failing_since)$", default = "id")]
        sort: String,
        /// Ascending or descending.
        #[param(pattern = "^(asc|desc)$", default = "asc")]
        order: String,
        /// Where the page begins, as `Link` has it.
        cursor: String,
        /// Items of a page; more than 100 are 100.
        #[param(minimum = 1, maximum = 100, default = 30)]
        limit: u64,
    }

    /// Which events.
    WhichEvents {
        /// Only of the repository `OWNER/NAME`.
        #[param(pattern = "^[^/]+/.+$")]
        repository: String,
        /// Only of these kinds, with commas between; may be there several times.
        kind: String,
        /// Only behind the event with this number; a stream without it begins now, a page with the first.
        #[param(minimum = 0)]
        after: u64,
        /// Events of a page; more than 1000 are 1000.
        #[param(minimum = 0, default = 100)]
        limit: u64,
        /// Without `after`: how many of the last 4,096 events to send, the newest ones, oldest first. A
        /// stream begins with them; a page holds at most 1000 of them.
        #[param(minimum = 0)]
        last: u64,
    }

    /// How an account is deleted.
    DeleteUser {
        /// Ends memberships, and organisations without repositories that nobody else owns.
        #[param(default = false)]
        purge: bool,
    }

    /// How the caller's repositories are sorted.
    OwnRepositories {
        /// What they are sorted by.
        #[param(pattern = "^(name|id|newest|oldest|recentupdate|leastupdate|alphabetically|reversealphabetically|size|reversesize|gitsize|reversegitsize|lfssize|reverselfssize|moststars|feweststars|mostforks|fewestforks)$")]
        order_by: String,
    }

    /// Which repositories.
    SearchRepositories {
        /// Part of the name.
        q: String,
        /// Searches topics, which there are not.
        topic: bool,
        /// Also searches descriptions.
        #[param(rename = "includeDesc")]
        include_desc: bool,
        /// Number of an account or organisation: what it owns or works on.
        #[param(minimum = 0)]
        uid: i64,
        /// Only what `uid` owns.
        exclusive: bool,
        /// Number of a team; teams have no repositories of their own.
        team_id: i64,
        /// Number of an account; there are no stars.
        #[param(rename = "starredBy")]
        starred_by: i64,
        /// False leaves out private ones.
        private: bool,
        /// Only private ones, or only others.
        is_private: bool,
        /// Only templates, or only others.
        template: bool,
        /// Only archived ones, or only others.
        archived: bool,
        /// Which kind.
        #[param(pattern = "^(source|fork|mirror|collaborative)$")]
        mode: String,
        /// What they are sorted by.
        #[param(pattern = "^(alpha|created|updated|size|git_size|lfs_size|stars|forks|id)$")]
        sort: String,
        /// Which way they are sorted.
        #[param(pattern = "^(asc|desc)$")]
        order: String,
    }
}

/// The state in which an object is changed.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct IfMatchHeader {
    /// Entity tags as `ETag` gave them: 412 if the object was edited since.
    #[param(rename = "If-Match")]
    if_match: Option<String>,
}

/// When a migration answers.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct Prefer {
    /// `respond-async`: at once.
    #[param(rename = "Prefer")]
    prefer: Option<String>,
}

/// Where a client that lost its stream goes on.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(in crate::http) struct LastEvent {
    /// Number of the last event that came; comes before `after`.
    #[param(rename = "Last-Event-ID", minimum = 0)]
    last_event_id: Option<u64>,
}
