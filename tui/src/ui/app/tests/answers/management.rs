//! Responses about collaborators, rules, deploy keys, releases and mirrors of a repository.

use farrier_common::api::{
    Attachment, BranchProtection, DeployKey, MirrorProgress, PushMirror, Release, Repository, TagProtection, User,
};

use super::super::prelude::*;
use crate::ui::net::{Collaborator, Page};

fn page<T>(items: Vec<T>) -> Page<T> {
    Page { total: i64::try_from(items.len()).ok(), items, last: true }
}

pub(in super::super) fn collaborators() -> Answer {
    let one = |login: &str, full_name: &str, permission: &str| Collaborator {
        login: login.into(),
        full_name: full_name.into(),
        permission: permission.into(),
        direct: permission.into(),
    };
    let items = vec![one("mia", "Mia Okafor", "write"), one("ops-a", "Operations", "admin"), one("tomas", "", "read")];
    Answer::Collaborators(page(items))
}

/// Two rules for branches and one for tags.
pub(in super::super) fn rules() -> Answer {
    let rule = |id: i64, name: &str| BranchProtection {
        id,
        rule_name: name.into(),
        priority: id,
        enable_push: true,
        created_at: "2026-10-02T03:04:05Z".into(),
        updated_at: "2026-11-20T03:04:05Z".into(),
        ..BranchProtection::default()
    };
    let listed = BranchProtection {
        enable_push_whitelist: true,
        push_whitelist_usernames: vec!["mia".into()],
        push_whitelist_teams: vec!["release".into()],
        require_signed_commits: true,
        ..rule(2, "release/*")
    };
    let tags = TagProtection {
        id: 1,
        name_pattern: "v*".into(),
        whitelist_usernames: vec!["ops-a".into()],
        created_at: "2026-10-02T03:04:05Z".into(),
        ..TagProtection::default()
    };
    let main = BranchProtection { protected_file_patterns: "ci/**;*.lock".into(), ..rule(1, "main") };
    Answer::Rules(vec![main, listed], vec![tags])
}

pub(in super::super) fn deploy_keys() -> Answer {
    let key = |id: i64, title: &str, read_only: bool| DeployKey {
        id,
        title: title.into(),
        key: format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{id} {title}"),
        fingerprint: format!("SHA256:{id}bXk5zQWc0b2VnZ2Zk"),
        created_at: "2026-11-14T03:04:05Z".into(),
        read_only,
        ..DeployKey::default()
    };
    Answer::DeployKeys(page(vec![key(4, "ci", true), key(5, "release-bot", false)]))
}

fn release(id: i64, tag: &str) -> Release {
    let file =
        |name: &str, size: i64| Attachment { name: name.into(), size, download_count: 3, ..Attachment::default() };
    Release {
        id,
        tag_name: tag.into(),
        name: format!("Gateway {tag}"),
        prerelease: tag.ends_with("rc1"),
        published_at: format!("2026-11-{:02}T11:00:00Z", 21 - id),
        author: Some(User { login: "mia".into(), ..User::default() }),
        assets: vec![file("gateway.tar.gz", 4_200_000), file("SHA256SUMS", 130)],
        ..Release::default()
    }
}

pub(in super::super) fn releases() -> Answer {
    let draft = Release { draft: true, assets: Vec::new(), ..release(3, "v1.2") };
    Answer::Releases(page(vec![draft, release(2, "v1.1-rc1"), release(1, "v1.0")]))
}

pub(in super::super) fn opened_release() -> Answer {
    Answer::Release(Box::new(Release { body: "First stable release.\n\n* retries".into(), ..release(1, "v1.0") }))
}

/// A failing pull mirror, and two push mirrors, of which one fails.
pub(in super::super) fn mirrors() -> Answer {
    let source = Repository {
        mirror: true,
        original_url: "https://git.example.org/team/gateway.git".into(),
        mirror_interval: "8h0m0s".into(),
        mirror_updated: "2026-11-21T10:00:00Z".into(),
        farrier_mirror: Some(MirrorProgress { state: "ok".into(), ..MirrorProgress::default() }),
        ..repository(1, "infra/gateway")
    };
    let push = |name: &str, error: &str| PushMirror {
        remote_name: name.into(),
        remote_address: format!("https://backup.example.org/{name}.git"),
        last_update: "2026-11-21T11:30:00Z".into(),
        last_error: error.into(),
        interval: "1h0m0s".into(),
        ..PushMirror::default()
    };
    Answer::Mirrors(Box::new(source), vec![push("m1", ""), push("m2", "authentication failed")])
}
