//! Scenes of the dashboard of a daemon whose store can be used by several.

use farrier_common::api::{BucketStatus, Health, NodeFigures, NodeStatus, Status, StoreServer, StoreStatus};

use super::{super::prelude::*, Scene, on};
use crate::ui::net::ProblemKind;

pub(in super::super) const NODES: &[Scene] = &[
    on("nodes-one", |screen| open(screen, &["live"], "")),
    on("nodes-two", |screen| open(screen, &["live", "stopped"], "")),
    on("nodes-three", |screen| open(screen, &["live", "live", "gone"], LOST)),
    on("nodes-bucket-away", |screen| open(screen, &["live", "live", "live"], BUCKET_AWAY)),
    on("nodes-store-away", |screen| {
        open(screen, &["live", "live", "live"], "");
        screen.advance(Duration::from_secs(6));
        let text = "reading the status: the store is not available at the moment (503)";
        let problem = Problem::new(ProblemKind::Busy(None), text);
        screen.answer(|request| *request == Request::Status, Err(problem));
    }),
];

const LOST: &str = "a node has ended without having been stopped: see the nodes in the status";
const BUCKET_AWAY: &str = "the bucket does not respond: pushes, uploads and downloads of artifacts are refused";

/// Opens the dashboard with nodes in these states. `problem`: what the health check found; empty for nothing.
fn open(screen: &mut TestScreen, states: &[&str], problem: &str) {
    let node = |(at, state): (usize, &&str)| NodeStatus {
        name: format!("forge0{}", at + 1),
        version: "0.1.0".into(),
        state: (*state).into(),
        since: "2026-11-21T09:00:00Z".into(),
        responds: at == 0,
        leases: if at == 0 { vec!["deliveries (32)".into(), "sweep".into()] } else { Vec::new() },
        figures: (*state == "live").then_some(NodeFigures {
            clock_offset_ms: Some(12 - 4_000 * i64::from(at == 1)),
            requests_per_minute: 24 + 400 * i64::from(at == 1),
            git_processes: 3,
            copies_bytes: Some(7 << 30),
        }),
        ..NodeStatus::default()
    };
    let Answer::Status(mut answer) = status() else { panic!("a status") };
    let problems: Vec<String> = Some(problem).filter(|text| !text.is_empty()).map(str::to_owned).into_iter().collect();
    let word = if problems.is_empty() { "pass" } else { "warn" };
    let server = StoreServer {
        address: "db1.lan:5432".into(),
        reachable_since: "2026-11-21T09:00:00Z".into(),
        synchronous_standby: Some(true),
        connections: 3,
        max_connections: 24,
    };
    let (away, url) = (problem == BUCKET_AWAY, "s3://forge/data".into());
    let last_error = if away { "the server did not answer in time".to_owned() } else { String::new() };
    answer.0 = Status {
        store: StoreStatus { engine: "postgres".into(), server: Some(server), ..answer.0.store },
        bucket: Some(BucketStatus { url, reachable: !away, last_error, ..BucketStatus::default() }),
        nodes: states.iter().enumerate().map(node).collect(),
        ..answer.0
    };
    answer.1 = Health { status: word.into(), problems, ..Health::default() };
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(answer)));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
}
