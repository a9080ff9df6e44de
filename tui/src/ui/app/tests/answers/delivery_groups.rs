//! Groups of deliveries and their results over time.

use farrier_common::api::{DeliveryGroup, DeliveryGroups, DeliveryResults};

use super::super::prelude::*;

fn groups(by: &str, groups: Vec<DeliveryGroup>) -> Answer {
    let total_count = i64::try_from(groups.len()).unwrap();
    Answer::DeliveryGroups(Box::new(DeliveryGroups {
        by: by.into(),
        groups,
        total_count,
        examined: 20_000,
        truncated: true,
    }))
}

fn group(key: &str, host: Option<&str>, [failed, pending, count]: [i64; 3], hooks: &[i64]) -> DeliveryGroup {
    DeliveryGroup {
        key: key.into(),
        host: host.map(str::to_owned),
        count,
        failed,
        pending,
        first_at: "2026-11-18T08:00:00Z".into(),
        last_at: "2026-11-21T11:55:00Z".into(),
        example: "9f1c2a7e-44b0-4a51-8a53-0d7a1b6f0c12".into(),
        hooks: hooks.to_vec(),
        hook_count: i64::try_from(hooks.len()).unwrap(),
    }
}

/// The groups of three hooks; one of them was deleted.
pub(in super::super) fn groups_by_hook() -> Answer {
    groups(
        "hook",
        vec![
            group("12", Some("ci.example.net"), [1_204, 3, 9_312], &[12]),
            group("7", None, [2, 0, 2], &[7]),
            group("3", Some("audit.lan"), [0, 0, 10_686], &[3]),
        ],
    )
}

/// The groups of three reasons.
pub(in super::super) fn groups_by_reason() -> Answer {
    groups(
        "reason",
        vec![
            group("http 503", None, [1_100, 3, 1_103], &[3, 12]),
            group("timeout", None, [106, 0, 106], &[7, 12]),
            group("OK", None, [0, 0, 18_791], &[3, 12]),
        ],
    )
}

/// The groups of three hosts: one with two hooks, one with one hook, and the deliveries of deleted hooks.
pub(in super::super) fn groups_by_host() -> Answer {
    groups(
        "host",
        vec![
            group("ci.example.net", Some("ci.example.net"), [1_204, 3, 9_312], &[12, 15]),
            group("audit.lan", Some("audit.lan"), [4, 0, 10_686], &[3]),
            group("", None, [2, 0, 2], &[7]),
        ],
    )
}

/// The results of a day that ends with failures.
pub(in super::super) fn delivery_results() -> Answer {
    Answer::DeliveryResults(Box::new(DeliveryResults {
        step_secs: 900,
        start_at: "2026-11-20T12:15:00Z".into(),
        attempted: (0..96).map(|step| 40 + step * 13 % 60).collect(),
        failed: (0..96).map(|step| i64::from(step > 80) * (step % 7) * 5).collect(),
        p50_millis: (0..96).map(|step| 30 + step % 9).collect(),
        p95_millis: (0..96).map(|step| if step > 80 { 9_000 } else { 80 + step * 3 % 50 }).collect(),
        max_millis: (0..96).map(|step| if step > 80 { 10_000 } else { 200 }).collect(),
        examined: 7_000,
        truncated: false,
    }))
}
