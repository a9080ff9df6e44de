//! The kinds of lists, with rows that vary as in real data.

use serde_json::{Value, json};

/// A list of the fake daemon.
pub(crate) struct Listing {
    /// The path, without a query.
    pub(crate) path: &'static str,
    /// Rows per page.
    pub(crate) page: usize,
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
    /// Returns the number of rows that are shown without a filter.
    pub(crate) shown: fn(usize) -> usize,
}

/// The screen of logs keeps at most this many records.
const LOGS_MAX: usize = 5_000;
/// Rows of an unfolded run: the run, its job and two artifacts.
const ROWS_OF_RUN: usize = 4;
/// The screen of artifacts unfolds this many runs. A filter unfolds all.
const UNFOLDED: usize = 3;
/// Rows per page where the program reads all pages.
const PAGE: usize = 1_000;
const TIME: &str = "2026-11-20T11:00:00Z";
const LISTED: [&str; 2] = ["[", "]"];

/// All kinds. Audit log, deliveries and runs load older rows in steps, and tasks have no pages: the daemon sends all of
/// these in one page.
pub(crate) const ALL: [Kind; 12] = [
    Kind { name: "repositories", keys: "", listings: repositories, shown: all },
    Kind { name: "hooks", keys: "3", listings: |rows| one("/api/farrier/v1/hooks", PAGE, rows, hook), shown: all },
    Kind {
        name: "deliveries",
        keys: "4",
        listings: |rows| one("/api/farrier/v1/deliveries", rows, rows, delivery),
        shown: all,
    },
    Kind {
        name: "artifacts",
        keys: "5",
        listings: artifacts,
        shown: |rows| rows / ROWS_OF_RUN + UNFOLDED * (ROWS_OF_RUN - 1),
    },
    Kind { name: "caches", keys: "5c", listings: |rows| one("/api/farrier/v1/caches", PAGE, rows, cache), shown: all },
    Kind { name: "audit log", keys: "6", listings: |rows| one("/api/farrier/v1/audit", rows, rows, audit), shown: all },
    Kind { name: "users", keys: "7", listings: |rows| one("/api/v1/admin/users", PAGE, rows, user), shown: all },
    Kind { name: "runs", keys: "8", listings: |rows| one("/api/farrier/v1/runs", rows, rows, run), shown: all },
    Kind { name: "tasks", keys: "9", listings: tasks, shown: all },
    Kind { name: "logs", keys: "0", listings: logs, shown: |rows| rows.min(LOGS_MAX) },
    Kind {
        name: "deleted repositories",
        keys: "u",
        listings: |rows| one("/api/farrier/v1/deleted/repositories", PAGE, rows, deleted_repository),
        shown: all,
    },
    Kind {
        name: "deleted artifacts",
        keys: "5u",
        listings: |rows| one("/api/farrier/v1/deleted/artifacts", PAGE, rows, deleted_artifact),
        shown: all,
    },
];

fn all(rows: usize) -> usize {
    rows
}

/// Returns one list of JSON objects.
fn one(path: &'static str, page: usize, rows: usize, row: fn(usize) -> Value) -> Vec<Listing> {
    let rows = (1..=rows).map(|id| row(id).to_string()).collect();
    vec![Listing { path, page, around: LISTED, rows }]
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
    // The page of the real daemon, because the start of the program is measured with this list.
    vec![Listing { path: "/api/v1/repos/search", page: 50, around: [r#"{"ok":true,"data":["#, "]}"], rows }]
}

fn hook(id: usize) -> Value {
    let url = format!("https://{}.example.net/hooks/{id}", name(id));
    json!({
        "id": id, "type": "farrier", "url": url, "scope": "repository", "repository": path(id),
        "events": ["push", "create"], "active": !id.is_multiple_of(9), "content_type": "json", "state": "ok",
        "last_status": 200, "last_delivery_at": TIME,
    })
}

/// All rows must fit into one response, which may have 16 MiB.
fn delivery(id: usize) -> Value {
    json!({
        "id": id, "guid": format!("9f1c2a7e-44b0-4a51-8a53-{id:012}"), "hook_id": id % 99, "status_code": 200,
        "event": pick(["push", "create", "release"], id), "repository": path(id), "state": "success",
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
        Listing { path: "/api/farrier/v1/runs", page: PAGE, around: LISTED, rows: run_rows.collect() },
        Listing { path: "/api/farrier/v1/artifacts", page: PAGE, around: LISTED, rows: artifact_rows },
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
        "active": true, "created": TIME, "last_login": TIME,
    })
}

fn run(id: usize) -> Value {
    json!({
        "id": id, "repository": path(id), "display_title": "build", "head_branch": "main", "head_sha": "a1b2c3d",
        "status": "completed", "conclusion": "success",
    })
}

fn tasks(count: usize) -> Vec<Listing> {
    let row = |id: usize| json!({"id": id, "kind": "migration", "repository": path(id), "state": "done", "millis": id, "began_at": TIME});
    let rows = (1..=count).map(|id| row(id).to_string()).collect();
    vec![Listing { path: "/api/farrier/v1/tasks", page: count, around: [r#"{"tasks":["#, "]}"], rows }]
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
    vec![Listing { path: "/api/farrier/v1/logs", page: count, around: [r#"{"next":5001,"records":["#, "]}"], rows }]
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
