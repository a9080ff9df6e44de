//! `farrier status`: shows the state of the daemon.

use std::{fmt::Write as _, time::Duration};

use farrier_common::{
    api::{Amount, BucketStatus, NodeFigures, NodeStatus, Status, StorageSizes, StoreServer, StoreStatus, WorkLimit},
    client::Client,
};

use crate::{
    exit::Failure,
    output::{Output, clock_offset, counted, fields, human_bytes, moment},
    ui::rate,
};

/// How often the status is updated.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(client: &Client, output: &Output) -> Result<(), Failure> {
    let status = client.status().await.map_err(Failure::call("requesting the status"))?;
    output.page(&status, &status.version, || page(&status))?;
    if status.status == "fail" {
        return Err(Failure::Unhealthy(status.problems.join("; ")));
    }
    Ok(())
}

/// Shows the status every second until output is closed or the user interrupts. On a terminal the page is updated in
/// place, and a daemon that does not answer is reported there.
pub(super) async fn watch(client: &Client, output: &Output) -> Result<(), Failure> {
    let mut page_above = output.live_page();
    let mut seconds = tokio::time::interval(REFRESH_INTERVAL);
    loop {
        seconds.tick().await;
        let result = client.status().await.map_err(Failure::call("requesting the status"));
        match (result, &mut page_above) {
            (Ok(status), None) => output.page(&status, &status.version, || page(&status) + "\n")?,
            (Ok(status), Some(above)) => above.replace(&page(&status))?,
            (Err(failure), None) => return Err(failure),
            (Err(failure), Some(above)) => above.replace(&failure.report())?,
        }
    }
}

fn page(status: &Status) -> String {
    let listeners: Vec<String> = status.listeners.iter().map(|l| format!("{} {}", l.kind, l.address)).collect();
    let identity = if status.identity.is_empty() { "not signed in" } else { &status.identity };
    let mut lines = vec![("health", health(status))];
    lines.extend(status.problems.iter().map(|problem| ("problem", problem.clone())));
    lines.extend([
        ("version", format!("{} (API {})", status.version, status.api_version)),
        ("uptime", duration(status.uptime_secs)),
        ("address", status.root_url.clone()),
        ("listening", listeners.join(", ")),
        ("you are", identity.to_owned()),
        ("connections", status.connections.to_string()),
        ("memory", human_bytes(status.resident_bytes)),
        ("store", store(status)),
    ]);
    lines.extend(status.store.server.iter().map(|one| ("store server", server(one))));
    lines.extend(status.bucket.iter().map(|one| ("bucket", bucket(one))));
    lines.push(("events", feed(&status.store)));
    lines.extend(status.nodes.iter().map(|one| ("node", node(one, status.store.format_level))));
    let (free, total) = (human_bytes(status.disk.free_bytes), human_bytes(status.disk.total_bytes));
    lines.push(("disk", format!("{free} free of {total}")));
    let host_keys = status.ssh_host_keys.iter();
    lines.extend(host_keys.map(|key| ("ssh host key", format!("{} {}", key.r#type, key.fingerprint))));
    let busy = status.limits.iter().filter(|limit| limit.running > 0 || limit.waiting > 0 || limit.refused > 0);
    lines.extend(busy.map(|limit| ("limit", work_limit(limit))));
    if let Some(kept) = &status.kept {
        lines.push(("repositories", amount(&kept.repositories)));
        lines.push(("artifacts", amount(&kept.artifacts)));
        let deleted = [&kept.deleted_repositories, &kept.deleted_artifacts];
        if deleted.iter().any(|amount| amount.count > 0) {
            lines.push(("deleted", format!("repositories {}; artifacts {}", amount(deleted[0]), amount(deleted[1]))));
        }
        if kept.set_aside.count > 0 {
            lines.push(("set aside", amount(&kept.set_aside)));
        }
        let last = if kept.last_backup_at.is_empty() { "never".to_owned() } else { moment(&kept.last_backup_at) };
        lines.push(("last backup", last));
        if kept.fan_out_events > 0 {
            let events = counted(kept.fan_out_events, "event");
            lines.push(("fan-out", format!("the deliveries of {events} are still to be written")));
        }
    }
    if let Some(storage) = &status.storage {
        lines.extend(storage.owners.iter().map(|owner| {
            let name = format!("{} ({})", owner.name, counted(owner.repositories, "repository"));
            ("storage", sizes(&name, &owner.sizes))
        }));
        if storage.other_owners > 0 {
            lines.push(("storage", sizes(&counted(storage.other_owners, "other owner"), &storage.others)));
        }
        lines.push(("storage as of", moment(&storage.computed_at)));
    }
    fields(&lines)
}

/// Returns the server of the store: `db1:5432, reachable since 12:00, 3 of 24 connections in use, no synchronous
/// standby`.
fn server(server: &StoreServer) -> String {
    let standby = match server.synchronous_standby {
        Some(true) => "synchronous standby",
        Some(false) => "no synchronous standby",
        None => "synchronous standby not known",
    };
    format!(
        "{}, reachable since {}, {} of {} connections in use, {standby}",
        server.address,
        moment(&server.reachable_since),
        server.connections,
        server.max_connections
    )
}

/// Returns the bucket, its last error, and the packs in it that wait for their deletion.
fn bucket(bucket: &BucketStatus) -> String {
    let mut parts = vec![bucket.url.clone()];
    if !bucket.reachable {
        parts.push("does not respond".to_owned());
    }
    if !bucket.last_error.is_empty() {
        parts.push(format!("last error {}: {}", moment(&bucket.last_error_at), bucket.last_error));
    }
    if bucket.unused_packs > 0 {
        parts.push(format!("{} to delete", counted(bucket.unused_packs, "unused pack")));
    }
    parts.join("; ")
}

/// Returns up to which event the event stream is complete, and the transaction for which it waits. Empty for older
/// daemons.
fn feed(store: &StoreStatus) -> String {
    let settled = match store.events_settled_to {
        ..=0 => String::new(),
        last => format!("complete up to ID {last}"),
    };
    let waits = match store.events_wait_for.as_str() {
        "" => String::new(),
        transaction => format!("waiting for {transaction}"),
    };
    let parts = [settled, waits].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns the engine and the size of the store, its repeated transactions, and its format level if a live node can
/// read another one.
fn store(status: &Status) -> String {
    let level = status.store.format_level;
    let differs = |node: &NodeStatus| node.state == "live" && node.format_level != level;
    let shown = if status.nodes.iter().any(differs) { format!(", format level {level}") } else { String::new() };
    let retries = match status.store.retries_per_minute {
        0 => String::new(),
        many => format!(", {} in the last minute", counted(many, "repeated transaction")),
    };
    format!("{}, {}{retries}{shown}", status.store.engine, human_bytes(status.store.size_bytes))
}

/// Returns the state of a node: `forge-1 (this node): live since 12:00; 1.2.3; requests 0.4/s, git processes 2, copies
/// 1.2 GiB, clock +3 ms; prune, sweep`. `store_level`: the format level of the store; another one of the node is shown.
fn node(node: &NodeStatus, store_level: i64) -> String {
    let own = if node.responds { " (this node)" } else { "" };
    let work = if node.leases.is_empty() { String::new() } else { format!("; {}", node.leases.join(", ")) };
    let differs = node.format_level != store_level;
    let level = if differs { format!(", format level {}", node.format_level) } else { String::new() };
    let figures = node.figures.as_ref().map_or_else(String::new, figures);
    format!("{}{own}: {} since {}; {}{level}{figures}{work}", node.name, node.state, moment(&node.since), node.version)
}

/// Returns what a node measured.
fn figures(figures: &NodeFigures) -> String {
    let requests = rate(figures.requests_per_minute, 60, 60);
    let mut text = format!("; requests {requests}, git processes {}", figures.git_processes);
    if let Some(bytes) = figures.copies_bytes {
        let _ = write!(text, ", copies {}", human_bytes(bytes));
    }
    if let Some(offset) = figures.clock_offset_ms {
        let _ = write!(text, ", clock {}", clock_offset(offset));
    }
    text
}

/// Returns what an owner uses: `mia (2 repositories): 3.0 MiB; git 2.0 MiB, caches 1.0 MiB`.
fn sizes(name: &str, sizes: &StorageSizes) -> String {
    let used = sizes.named().into_iter().filter(|(_, bytes)| *bytes > 0);
    let kinds: Vec<String> = used.map(|(kind, bytes)| format!("{kind} {}", human_bytes(bytes))).collect();
    let details = if kinds.is_empty() { String::new() } else { format!("; {}", kinds.join(", ")) };
    format!("{name}: {}{details}", human_bytes(sizes.total()))
}

/// Returns the use of a limited kind of work.
fn work_limit(limit: &WorkLimit) -> String {
    let kind = &limit.kind;
    let mut text = match limit.unit.as_str() {
        "bytes" => format!("{kind}: {} of {} in use", human_bytes(limit.running), human_bytes(limit.max)),
        _ => format!("{kind}: {} of {} running", limit.running, limit.max),
    };
    for (count, word) in [(limit.waiting, "waiting"), (limit.refused, "refused")] {
        if count > 0 {
            let _ = write!(text, ", {count} {word}");
        }
    }
    text
}

/// Returns the health of the daemon in a word. Older daemons do not send one.
fn health(status: &Status) -> String {
    match status.status.as_str() {
        "pass" => "ok".to_owned(),
        "warn" => "warning".to_owned(),
        "fail" => "failing".to_owned(),
        "" => "unknown".to_owned(),
        other => other.to_owned(),
    }
}

fn amount(amount: &Amount) -> String {
    format!("{}, {}", amount.count, human_bytes(amount.size_bytes))
}

fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3_600 % 24, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use farrier_common::api::{OwnerStorage, StorageByOwner};

    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let cases = [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_661, "1 h 1 min"), (90_000, "1 d 1 h")];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn the_status_page_shows_the_limits_that_are_in_use() {
        let limit = |kind: &str, running, refused| WorkLimit {
            kind: kind.into(),
            running,
            refused,
            max: 24,
            ..WorkLimit::default()
        };
        let memory = WorkLimit { unit: "bytes".into(), max: 256 << 20, ..limit("request_memory", 3 << 20, 1) };
        let limits = vec![limit("git", 3, 2), limit("upload", 0, 0), memory];
        let page = page(&Status { limits, ..Status::default() });
        assert!(page.contains("git: 3 of 24 running, 2 refused\n") && !page.contains("upload"), "{page}");
        assert!(page.contains("request_memory: 3.0 MiB of 256.0 MiB in use, 1 refused\n"), "{page}");
    }

    #[test]
    fn the_status_page_shows_the_nodes_with_their_work() {
        let one = NodeStatus {
            name: "forge-1".into(),
            version: "1.2.3".into(),
            state: "live".into(),
            since: "2026-11-21T12:00:00Z".into(),
            responds: true,
            leases: vec!["prune".into(), "sweep".into()],
            figures: Some(NodeFigures {
                clock_offset_ms: Some(-1_500),
                requests_per_minute: 24,
                git_processes: 2,
                copies_bytes: Some(3 << 20),
            }),
            ..NodeStatus::default()
        };
        let gone = NodeStatus { name: "forge-2".into(), state: "gone".into(), ..NodeStatus::default() };
        let page = page(&Status { nodes: vec![one, gone], ..Status::default() });
        assert!(
            page.contains("forge-1 (this node): live since ")
                && page
                    .contains("; 1.2.3; requests 0.4/s, git processes 2, copies 3.0 MiB, clock -1.5 s; prune, sweep\n"),
            "{page}"
        );
        assert!(page.contains("forge-2: gone since "), "{page}");
    }

    #[test]
    fn the_status_page_shows_format_levels_if_they_differ() {
        let node = |name: &str, format_level| NodeStatus {
            name: name.into(),
            version: "1.2.3".into(),
            state: "live".into(),
            format_level,
            ..NodeStatus::default()
        };
        let shown = |format_level, nodes| {
            let store = StoreStatus { engine: "postgres".into(), format_level, ..StoreStatus::default() };
            page(&Status { store, nodes, ..Status::default() })
        };
        let upgrading = shown(7, vec![node("old", 7), node("new", 8)]);
        assert!(upgrading.contains("postgres, 0 B, format level 7\n"), "{upgrading}");
        assert!(upgrading.contains("; 1.2.3, format level 8\n") && upgrading.contains("; 1.2.3\n"), "{upgrading}");
        let upgraded = shown(8, vec![node("one", 8), node("two", 8)]);
        assert!(!upgraded.contains("format level"), "{upgraded}");
    }

    #[test]
    fn the_status_page_shows_the_server_of_the_store_the_bucket_and_the_event_stream() {
        let server = StoreServer {
            address: "db1.example.org:5432".into(),
            reachable_since: "2026-11-21T12:00:00Z".into(),
            synchronous_standby: Some(false),
            connections: 3,
            max_connections: 24,
        };
        let store = StoreStatus {
            engine: "postgres".into(),
            retries_per_minute: 1,
            server: Some(server),
            events_settled_to: 8_191,
            events_wait_for: "process 7, open for 9 s".into(),
            ..StoreStatus::default()
        };
        let bucket = BucketStatus {
            url: "s3://forge/data".into(),
            last_error: "the server answered 503 Service Unavailable".into(),
            last_error_at: "2026-11-21T12:00:00Z".into(),
            unused_packs: 2,
            ..BucketStatus::default()
        };
        let page = page(&Status { store, bucket: Some(bucket), ..Status::default() });
        for part in [
            "postgres, 0 B, 1 repeated transaction in the last minute\n",
            "db1.example.org:5432, reachable since ",
            ", 3 of 24 connections in use, no synchronous standby\n",
            "s3://forge/data; does not respond; last error ",
            ": the server answered 503 Service Unavailable; 2 unused packs to delete\n",
            "complete up to ID 8191; waiting for process 7, open for 9 s\n",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn the_status_page_shows_the_storage_of_owners() {
        let sizes = StorageSizes { git_bytes: 2 << 20, release_bytes: 1 << 20, ..StorageSizes::default() };
        let owner = OwnerStorage { id: 2, name: "mia".into(), repositories: 2, sizes };
        let storage = StorageByOwner {
            computed_at: "2026-11-21T12:00:00Z".into(),
            owners: vec![owner],
            other_owners: 3,
            others: StorageSizes::default(),
        };
        let page = page(&Status { storage: Some(storage), ..Status::default() });
        assert!(page.contains("mia (2 repositories): 3.0 MiB; git 2.0 MiB, release files 1.0 MiB\n"), "{page}");
        assert!(page.contains("3 other owners: 0 B\n") && page.contains("storage as of"), "{page}");
    }

    #[test]
    fn the_status_page_shows_the_caller_and_the_uptime() {
        let page = page(&Status { identity: "admin".into(), uptime_secs: 61, ..Status::default() });
        assert!(page.contains("you are      admin\n") && page.contains("uptime       1 min\n"), "{page}");
    }
}
