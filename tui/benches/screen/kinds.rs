//! The kinds of lists, with rows that vary as in real data.

use serde_json::{Value, json};

/// A list of the fake daemon.
pub(crate) struct Listing {
    /// The path, without a query.
    pub(crate) path: &'static str,
    /// Whether the daemon sends it in pages.
    pub(crate) has_pages: bool,
    /// The JSON before and after the rows of a page.
    pub(crate) around: [&'static str; 2],
    pub(crate) rows: Vec<String>,
}

/// A kind of list of the program.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The keys that open it.
    pub(crate) keys: &'static str,
    /// Returns the lists of a daemon with this number of rows.
    pub(crate) listings: fn(usize) -> Vec<Listing>,
    pub(crate) load: Load,
    /// Returns how many of the loaded rows are shown without a filter.
    pub(crate) shown: fn(usize) -> usize,
}

/// How the program loads the rows of a list.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    All,
    /// The newest ones, at most this many.
    Newest(usize),
    /// The newest ones, and older ones as soon as the cursor comes near the last row, at most this many.
    Steps(usize),
}

impl Load {
    /// Returns how many of `rows` rows are loaded.
    pub(crate) fn loaded(self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::Newest(most) | Self::Steps(most) => rows.min(most),
        }
    }
}

/// The screen of logs keeps at most this many records.
const LOGS_MAX: usize = 5_000;
/// The daemon remembers 200 tasks that ended. This is more than run at the same time besides them.
const TASKS_MAX: usize = 1_000;
/// Audit log, deliveries and runs load at most this many rows.
const STEPS_MAX: usize = 16_000;
/// Rows of an unfolded run: the run, its job and two artifacts.
const ROWS_OF_RUN: usize = 4;
/// The screen of artifacts unfolds this many runs. A filter unfolds all.
const UNFOLDED: usize = 3;
const TIME: &str = "2026-11-20T11:00:00Z";
const LISTED: [&str; 2] = ["[", "]"];

/// The list that the program shows first.
pub(crate) const REPOSITORIES: Kind =
    Kind { name: "repositories", keys: "", listings: repositories, load: Load::All, shown: all };

/// All kinds.
pub(crate) const ALL: [Kind; 13] = [
    REPOSITORIES,
    Kind {
        name: "hooks",
        keys: "3",
        listings: |rows| one("/api/farrier/v1/hooks", rows, hook),
        load: Load::All,
        shown: all,
    },
    Kind {
        name: "deliveries",
        keys: "4",
        listings: |rows| one("/api/farrier/v1/deliveries", rows, delivery),
        load: Load::Steps(STEPS_MAX),
        shown: all,
    },
    Kind {
        name: "artifacts",
        keys: "5",
        listings: artifacts,
        load: Load::All,
        shown: |rows| rows / ROWS_OF_RUN + UNFOLDED * (ROWS_OF_RUN - 1),
    },
    Kind {
        name: "caches",
        keys: "5c",
        listings: |rows| one("/api/farrier/v1/caches", rows, cache),
        load: Load::All,
        shown: all,
    },
    Kind {
        name: "audit log",
        keys: "6",
        listings: |rows| one("/api/farrier/v1/audit", rows, audit),
        load: Load::Steps(STEPS_MAX),
        shown: all,
    },
    Kind {
        name: "users",
        keys: "7",
        listings: |rows| one("/api/v1/admin/users", rows, user),
        load: Load::All,
        shown: all,
    },
    Kind {
        name: "organizations",
        keys: "7u",
        listings: |rows| one("/api/v1/orgs", rows, organization),
        load: Load::All,
        shown: all,
    },
    Kind {
        name: "runs",
        keys: "8",
        listings: |rows| one("/api/farrier/v1/runs", rows, run),
        load: Load::Steps(STEPS_MAX),
        shown: all,
    },
    Kind { name: "tasks", keys: "9", listings: tasks, load: Load::Newest(TASKS_MAX), shown: all },
    Kind { name: "logs", keys: "0", listings: logs, load: Load::Newest(LOGS_MAX), shown: all },
    Kind {
        name: "deleted repositories",
        keys: "u",
        listings: |rows| one("/api/farrier/v1/deleted/repositories", rows, deleted_repository),
        load: Load::All,
        shown: all,
    },
    Kind {
        name: "deleted artifacts",
        keys: "5u",
        listings: |rows| one("/api/farrier/v1/deleted/artifacts", rows, deleted_artifact),
        load: Load::All,
        shown: all,
    },
];

fn all(rows: usize) -> usize {
    rows
}

/// Returns one list of JSON objects.
fn one(path: &'static str, rows: usize, row: fn(usize) -> Value) -> Vec<Listing> {
    let rows = (1..=rows).map(|id| row(id).to_string()).collect();
    vec![Listing { path, has_pages: true, around: LISTED, rows }]
}

/// Returns a number that is pseudo-random, but the same in each run.
fn odd(id: usize) -> usize {
    usize::try_from((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).unwrap()
}

fn pick<const N: usize>(of: [&'static str; N], number: usize) -> &'static str {
    of[number % N]
}

/// Returns a name without its owner.
fn name(id: usize) -> &'static str {
    const NAMES: [&str; 9] =
        ["gateway", "lake", "auth", "billing", "design-system", "docs", "agent", "proxy", "storefront"];
    pick(NAMES, odd(id) / 7)
}

/// Returns the path of a repository.
fn path(id: usize) -> String {
    let owner = pick(["infra", "data", "mobile", "web", "platform-team", "ops"], odd(id));
    format!("{owner}/{}-{id}", name(id))
}

/// Returns repositories, sorted by name.
pub(crate) fn repositories(count: usize) -> Vec<Listing> {
    let row = |id: usize| {
        let (odd, name) = (odd(id - 1), path(id - 1));
        let text = json!({
            "id": id, "full_name": name, "private": (odd / 3).is_multiple_of(2), "size": odd / 17 % 4_000_000,
            "default_branch": "main", "description": "edge proxy for the CI farm",
            "clone_url": format!("http://forge01.lan/{name}.git"), "created_at": "2026-01-02T03:04:05Z",
            "updated_at": format!("2026-{:02}-{:02}T11:00:00Z", odd / 5 % 11 + 1, odd / 11 % 28 + 1),
        });
        (name, text.to_string())
    };
    let mut rows: Vec<(String, String)> = (1..=count).map(row).collect();
    rows.sort();
    let rows = rows.into_iter().map(|(_, text)| text).collect();
    vec![Listing { path: "/api/v1/repos/search", has_pages: true, around: [r#"{"ok":true,"data":["#, "]}"], rows }]
}

fn hook(id: usize) -> Value {
    let url = format!("https://{}.example.net/hooks/{id}", name(id));
    json!({
        "id": id, "type": "farrier", "url": url, "scope": "repository", "repository": path(id),
        "events": ["push", "create"], "active": !id.is_multiple_of(9), "content_type": "json", "state": "ok",
        "last_status": 200, "last_delivery_at": TIME,
    })
}

fn delivery(id: usize) -> Value {
    json!({
        "id": id, "guid": format!("9f1c2a7e-44b0-4a51-8a53-{id:012}"), "hook_id": id % 99, "status_code": 200,
        "event": pick(["push", "create", "release"], id), "repository": path(id), "state": "success",
        "status": "OK", "created_at": TIME, "delivered_at": TIME, "attempts": 1, "max_attempts": 9,
    })
}

fn artifacts(count: usize) -> Vec<Listing> {
    // The newest first, as the real daemon.
    let runs = (1..=count / ROWS_OF_RUN).rev();
    let run_rows = runs.clone().map(|id| {
        let job = json!({"id": id, "name": "build-linux", "status": "completed", "conclusion": "success"});
        let mut run = run(id);
        run["jobs"] = json!([job]);
        run.to_string()
    });
    let artifact = |run: usize, number: usize| {
        let id = 2 * run + number;
        let text = json!({
            "id": id, "name": format!("{}-{id}.zip", name(id)), "size_in_bytes": odd(id) % (50 << 20),
            "created_at": TIME, "expires_at": "2099-01-01T00:00:00Z", "workflow_run": {"id": run},
            "repository": path(run), "job": {"id": run, "name": "build-linux"}, "state": "ready", "version": 4,
        });
        text.to_string()
    };
    let artifact_rows = runs.flat_map(|run| [artifact(run, 0), artifact(run, 1)]).collect();
    vec![
        Listing { path: "/api/farrier/v1/runs", has_pages: true, around: LISTED, rows: run_rows.collect() },
        Listing { path: "/api/farrier/v1/artifacts", has_pages: true, around: LISTED, rows: artifact_rows },
    ]
}

fn cache(id: usize) -> Value {
    json!({
        "id": id, "repository": path(id), "ref": "refs/heads/main", "key": format!("cargo-{}-{id}", name(id)),
        "version": "9f1c2a7e", "last_accessed_at": TIME, "created_at": TIME, "size_in_bytes": odd(id) % (50 << 20),
        "hits": id % 40,
    })
}

fn audit(id: usize) -> Value {
    json!({
        "id": id, "at": TIME, "action": "hook.edit", "result": "done", "actor": {"name": "mia"},
        "object": {"kind": "hook", "id": id, "name": name(id)},
    })
}

fn user(id: usize) -> Value {
    let login = format!("{}-{id}", name(id));
    json!({
        "id": id, "login": login, "full_name": format!("Mia {id}"), "email": format!("{login}@example.org"),
        "active": true, "created": TIME, "last_login": TIME, "visibility": "public", "username": login,
        "avatar_url": format!("http://forge01.lan/avatars/{id}"), "html_url": format!("http://forge01.lan/{login}"),
    })
}

/// Returns an organization. The list is sorted by name.
fn organization(id: usize) -> Value {
    let name = format!("team-{id:06}");
    json!({
        "id": id, "name": name, "full_name": format!("Team {id}"), "description": "services of the edge",
        "avatar_url": format!("http://forge01.lan/avatars/{id}"), "visibility": "public", "username": name,
        "created": TIME,
    })
}

fn run(id: usize) -> Value {
    json!({
        "id": id, "repository": path(id), "display_title": "build", "head_branch": "main",
        "head_sha": "a1b2c3d4e5".repeat(4), "status": "completed", "conclusion": "success", "started_at": TIME,
        "completed_at": TIME,
    })
}

fn tasks(count: usize) -> Vec<Listing> {
    let row = |id: usize| json!({"id": id, "kind": "migration", "repository": path(id), "state": "done", "millis": id, "began_at": TIME});
    let rows = (1..=count.min(TASKS_MAX)).map(|id| row(id).to_string()).collect();
    vec![Listing { path: "/api/farrier/v1/tasks", has_pages: false, around: [r#"{"tasks":["#, "]}"], rows }]
}

fn logs(count: usize) -> Vec<Listing> {
    let row = |id: usize| {
        json!({
            "sequence": id, "at": "2026-11-20T11:00:00.123Z", "level": pick(["info", "warn"], id),
            "target": "farrierd::delivery::worker", "message": format!("delivered to {}", path(id)),
            "fields": [{"name": "hook", "value": id.to_string()}],
        })
    };
    let count = count.min(LOGS_MAX);
    let rows = (1..=count).map(|id| row(id).to_string()).collect();
    // The records end before the number that the next request continues after.
    vec![Listing {
        path: "/api/farrier/v1/logs",
        has_pages: false,
        around: [r#"{"next":5001,"records":["#, "]}"],
        rows,
    }]
}

fn deleted_repository(id: usize) -> Value {
    json!({
        "id": id, "repository": path(id), "owner_exists": true, "size_bytes": odd(id) % (50 << 20),
        "deleted_at": TIME, "deleted_by": "mia", "restorable_until": "2099-01-01T00:00:00Z",
    })
}

fn deleted_artifact(id: usize) -> Value {
    json!({
        "id": id, "name": format!("{}-{id}.zip", name(id)), "size_in_bytes": odd(id) % (50 << 20),
        "repository": path(id), "workflow_run": {"id": id}, "deleted_at": TIME, "deleted_by": "mia",
        "restorable_until": "2099-01-01T00:00:00Z",
    })
}
