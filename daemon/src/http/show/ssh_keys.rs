//! Converts SSH keys and deploy keys.

use farrier_common::api;
use farrier_proto::store::{SshKey, User};

use super::{number, time, user};
use crate::{
    model::{identity::Identity, ssh_key},
    service::ssh_keys::DeployKeyWithContent,
};

/// Converts a key of an account. `owner`: the account, if the caller sees it in the key.
pub(in crate::http) fn public_key(
    root_url: &str,
    viewer: &Identity,
    row: &SshKey,
    owner: Option<&User>,
) -> api::PublicKey {
    api::PublicKey {
        id: number(row.id),
        key: ssh_key::line(&row.blob, &row.comment),
        url: format!("{root_url}/api/v1/user/keys/{}", row.id),
        title: row.title.clone(),
        fingerprint: ssh_key::fingerprint(&row.blob),
        created_at: time(row.created_ms),
        last_used_at: time(row.last_used_ms.max(row.created_ms)),
        user: owner.map(|owner| user(root_url, viewer, owner)),
        key_type: "user".into(),
    }
}

/// Converts a deploy key of the repository `path` (`owner/name`).
pub(in crate::http) fn deploy_key(root_url: &str, path: &str, key: &DeployKeyWithContent) -> api::DeployKey {
    let DeployKeyWithContent { row, content } = key;
    api::DeployKey {
        id: number(row.id),
        key_id: number(row.key_id),
        key: ssh_key::line(&content.blob, &row.comment),
        url: format!("{root_url}/api/v1/repos/{path}/keys/{}", row.id),
        title: row.title.clone(),
        fingerprint: ssh_key::fingerprint(&content.blob),
        created_at: time(row.created_ms),
        read_only: row.read_only,
        repository: None,
    }
}
