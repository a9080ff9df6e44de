//! Responses of the simulated daemon: a few repositories, an import, the status, and errors.

mod artifacts;
mod audit;
mod caches;
mod content;
mod deleted;
mod delivery_groups;
mod hooks;
mod logs;
mod management;
mod organizations;
mod runs;
mod users;

use farrier_common::api::{
    Amount, BackgroundTask, Branch, Health, Kept, ListenerStatus, MigrationProgress, OwnerStorage, PayloadCommit,
    PayloadUser, Repository, Status, StorageByOwner, StorageSizes, StoreStatus, TaskPhase,
};

pub(super) use self::{
    artifacts::*, audit::*, caches::*, content::*, deleted::*, delivery_groups::*, hooks::*, logs::*, management::*,
    organizations::*, runs::*, users::*,
};
use super::prelude::*;
use crate::ui::{
    net::{CommitSummary, Page, ProblemKind, RepositoryCounts},
    repo::RepositoryCompactor,
};

pub(super) const NAMES: [&str; 6] = ["infra/gateway", "data/lake", "web/site", "infra/auth", "ops/日本語", "tools/cli"];

pub(super) fn repository(id: i64, name: &str) -> Repository {
    Repository {
        id,
        full_name: name.to_owned(),
        name: name.rsplit('/').next().unwrap().to_owned(),
        private: id % 2 == 0,
        empty: id == 3,
        size: id * 1_500,
        default_branch: "main".to_owned(),
        description: "edge proxy for the CI farm".to_owned(),
        clone_url: format!("http://forge01.lan/{name}.git"),
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        updated_at: format!("2026-11-{:02}T11:00:00Z", 21 - id),
        ..Repository::default()
    }
}

pub(super) fn repositories(names: &[&str]) -> Answer {
    let items = (1..).zip(names).map(|(id, name)| repository(id, name)).collect::<Vec<_>>();
    listed(i64::try_from(items.len()).ok(), items)
}

/// Returns the response with all repositories.
pub(super) fn listed(total: Option<i64>, items: Vec<Repository>) -> Answer {
    let mut compactor = RepositoryCompactor::default();
    let items = items.into_iter().map(|repository| compactor.compact(repository)).collect();
    Answer::Repositories(Page { items, total, last: true })
}

pub(super) fn status() -> Answer {
    let status = Status {
        version: "0.1.0".into(),
        api_version: "1.24.0".into(),
        api_level: farrier_common::API_LEVEL,
        root_url: "http://forge01.lan:3000".into(),
        uptime_secs: 1_051_860,
        listeners: vec![ListenerStatus { kind: "unix".into(), address: "/run/farrier/farrier.sock".into() }],
        resident_bytes: 14 << 20,
        disk: farrier_common::api::DiskStatus { free_bytes: 9 << 30, total_bytes: 100 << 30 },
        connections: 3,
        restore_days: 30,
        identity: "admin".into(),
        store: StoreStatus { engine: "redb".into(), size_bytes: 212 << 20, ..StoreStatus::default() },
        kept: Some(Kept {
            repositories: Amount { count: 1_204, size_bytes: 18 << 30 },
            artifacts: Amount { count: 1_904, size_bytes: 41 << 30 },
            ..Kept::default()
        }),
        ..Status::default()
    };
    let health = Health { status: "fail".into(), problems: vec!["the store is read-only".into()], ..Health::default() };
    Answer::Status(Box::new((status, health)))
}

/// Returns a status with the storage of `count` owners.
pub(super) fn status_with_owners(count: i64) -> Answer {
    let Answer::Status(mut answer) = status() else { panic!("a status") };
    let owner = |id: i64| OwnerStorage {
        id,
        name: format!("owner{id}"),
        repositories: id,
        sizes: StorageSizes { git_bytes: (20 - id) << 30, artifact_bytes: 3 << 30, ..StorageSizes::default() },
    };
    let storage = StorageByOwner {
        computed_at: "2026-11-21T11:58:00Z".into(),
        owners: (1..=count).map(owner).collect(),
        other_owners: 4,
        others: StorageSizes { lfs_bytes: 5 << 20, ..StorageSizes::default() },
    };
    answer.0.storage = Some(storage);
    Answer::Status(answer)
}

pub(super) fn series() -> Answer {
    Answer::Series(Box::new(farrier_common::api::MetricsSeries {
        step_secs: 1,
        requests: (0..60).map(|second| 30 + second * 7 % 23).collect(),
        git: (0..60).map(|second| second / 9 % 4).collect(),
        uploaded: (0..60).map(|second| i64::from(second > 44)).collect(),
        delivered: (0..60).map(|second| i64::from(second % 7 == 0) * 3).collect(),
        failed: (0..60).map(|second| i64::from(second == 41)).collect(),
        p50_micros: 2_048,
        p99_micros: 16_384,
        uploads: 2,
        waiting: 1_214,
        oldest_due_secs: 72,
    }))
}

pub(super) fn unreachable() -> Problem {
    let text =
        "no farrier daemon answers; looked at:\n  /run/farrier/farrier.sock: No such file or directory\nstart one";
    Problem::new(ProblemKind::Unreachable, text)
}

pub(super) fn refusal(text: &str) -> Problem {
    Problem::new(ProblemKind::Invalid, text)
}

/// A running import and a finished one.
pub(super) fn tasks() -> Answer {
    let phase = |name: &str, total: i64, took_millis: i64| {
        let unit = if total > 0 { "objects".into() } else { String::new() };
        TaskPhase { name: name.into(), total, unit, took_millis }
    };
    let running = BackgroundTask {
        id: 9,
        kind: "migration".into(),
        repository: "data/lake2".into(),
        repository_id: 9,
        state: "running".into(),
        phase: "Receiving objects".into(),
        phase_millis: 2_100,
        done: 412_204,
        total: 733_120,
        unit: "objects".into(),
        bytes: 40_100_000,
        phases: vec![phase("waiting", 0, 0), phase("connecting", 0, 420), phase("Counting objects", 733_120, 1_310)],
        millis: 4_000,
        began_at: "2026-11-21T11:59:56Z".into(),
        ..BackgroundTask::default()
    };
    let done = BackgroundTask { id: 8, state: "done".into(), repository: "data/old".into(), ..running.clone() };
    Answer::Tasks(vec![running, done])
}

/// Returns the counts of a repository.
pub(super) fn repository_counts() -> Answer {
    let tip = |name: &str, at: &str, title: &str| Branch {
        name: name.into(),
        commit: PayloadCommit {
            id: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2".into(),
            message: format!("{title}\n\nmore"),
            timestamp: at.into(),
            author: PayloadUser { name: "ops-a".into(), ..PayloadUser::default() },
            ..PayloadCommit::default()
        },
        ..Branch::default()
    };
    Answer::RepositoryCounts(Box::new(RepositoryCounts {
        branches: Some(14),
        tags: Some(61),
        hooks: Some(3),
        system_hooks: Some(2),
        artifacts: Some(212),
        newest: vec![
            tip("main", "2026-11-21T10:00:00Z", "fix: retry on 502"),
            tip("release/2.4", "2026-11-19T10:00:00Z", "chore: bump"),
        ],
        commits: (0..20).map(|number| CommitSummary::from(&commit(number))).collect(),
    }))
}

pub(super) fn branches() -> Answer {
    let Answer::RepositoryCounts(facts) = repository_counts() else { unreachable!() };
    Answer::Branches(Page { total: Some(2), items: facts.newest, last: true })
}

/// Returns the response with a single repository, which is being imported.
pub(super) fn migrating(progress: MigrationProgress) -> Answer {
    let progress = MigrationProgress { state: "running".into(), ..progress };
    listed(None, vec![Repository { farrier_migration: Some(progress), ..repository(9, "data/lake2") }])
}

pub(super) fn no_daemon() -> Problem {
    Problem { kind: ProblemKind::NoDaemon, ..unreachable() }
}

pub(super) fn refused() -> Problem {
    Problem::new(ProblemKind::Unauthorized, "loading the status: token expired (401)")
}

pub(super) fn broken() -> Problem {
    let text = "listing repositories: internal error (500), request 7d1e44b0\nthe daemon's log tells more";
    Problem { request: Some("7d1e44b0".into()), ..Problem::new(ProblemKind::Other, text) }
}
