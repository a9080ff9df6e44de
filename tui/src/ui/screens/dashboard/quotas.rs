//! The problems that quotas are full or nearly full.

use farrier_common::api::{QuotaStatus, Status};

use super::problems::{HealthProblem, ProblemTarget};
use crate::{output::human_bytes, ui::words};

/// Returns one problem for each quota that is full or nearly full.
pub(super) fn of_quotas(status: &Status) -> Vec<HealthProblem> {
    status.quotas.iter().map(of_quota).collect()
}

fn of_quota(quota: &QuotaStatus) -> HealthProblem {
    let what = match quota.kind.as_str() {
        "artifacts" => "artifacts",
        "release_files" => "files of releases",
        "lfs_objects" => "LFS objects",
        other => other,
    };
    let percent = words::percent(quota.used_bytes, quota.max_bytes);
    let (used, max) = (human_bytes(quota.used_bytes), human_bytes(quota.max_bytes));
    let text = format!("{} uses {percent} % of its quota for {what}: {used} of {max}", quota.holder);
    let target = ProblemTarget::Quota {
        repository: quota.repository_id,
        kind: quota.kind.clone(),
        holder: quota.holder.clone(),
    };
    HealthProblem { text, since: words::seconds(&quota.since), trend: None, target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_problem_with_its_holder_and_its_use() {
        let quota = QuotaStatus {
            kind: "lfs_objects".into(),
            holder: "tools".into(),
            repository_id: 7,
            used_bytes: 95 << 20,
            max_bytes: 100 << 20,
            since: "2026-11-21T11:00:00Z".into(),
        };
        let problems = of_quotas(&Status { quotas: vec![quota], ..Status::default() });
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].text, "tools uses 95 % of its quota for LFS objects: 95.0 MiB of 100.0 MiB");
        assert_eq!(problems[0].since, words::seconds("2026-11-21T11:00:00Z"));
        let target = ProblemTarget::Quota { repository: 7, kind: "lfs_objects".into(), holder: "tools".into() };
        assert_eq!(problems[0].target, target);
    }

    #[test]
    fn two_quotas_of_one_repository_are_different_problems() {
        let quota = |kind: &str, used_bytes| QuotaStatus {
            kind: kind.into(),
            holder: "tools/cli".into(),
            repository_id: 7,
            used_bytes,
            max_bytes: 100,
            ..QuotaStatus::default()
        };
        let problem = |kind: &str, used_bytes| of_quota(&quota(kind, used_bytes));
        assert!(!problem("artifacts", 95).is_same(&problem("release_files", 95)));
        assert!(problem("artifacts", 95).is_same(&problem("artifacts", 99)));
        let of_owner = |repository_id| {
            of_quota(&QuotaStatus { holder: "tools".into(), repository_id, ..quota("lfs_objects", 95) })
        };
        assert!(of_owner(7).is_same(&of_owner(8)));
    }
}
