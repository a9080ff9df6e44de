//! Accounts, access tokens and keys.

use farrier_common::api::{AccessToken, GpgKey, GpgKeyEmail, PublicKey, User};

use super::super::prelude::*;
use crate::ui::{net::Page, user::UserCompactor};

/// Four accounts: an administrator, two users, and a user who is turned off.
pub(in super::super) fn users() -> Answer {
    let user = |id: i64, login: &str, full_name: &str, last_login: &str| User {
        id,
        login: login.into(),
        full_name: full_name.into(),
        email: format!("{login}@example.org"),
        last_login: last_login.into(),
        created: format!("2026-0{id}-02T03:04:05Z"),
        is_admin: id == 1,
        active: id != 4,
        ..User::default()
    };
    let items = vec![
        user(1, "admin", "", "2026-11-21T11:00:00Z"),
        user(2, "mia", "Mia Okafor", "2026-11-21T09:30:00Z"),
        user(3, "ops-a", "Operations", "2026-11-01T09:30:00Z"),
        user(4, "tomas", "Tomás Ruiz", "0001-01-01T00:00:00Z"),
    ];
    let mut compactor = UserCompactor::default();
    let items = items.into_iter().map(|user| compactor.compact(user)).collect();
    Answer::Users(Page { total: Some(4), items, last: true })
}

fn token(id: i64, name: &str, expires_at: Option<&str>) -> AccessToken {
    AccessToken {
        id,
        name: name.into(),
        token_last_eight: format!("4f9a01c{id}"),
        scopes: vec!["write:repository".into(), "read:user".into()],
        created_at: "2026-10-02T03:04:05Z".into(),
        last_used_at: if id == 3 { "0001-01-01T00:00:00Z" } else { "2026-11-21T10:00:00Z" }.to_owned(),
        last_used_address: (id != 3).then(|| "192.0.2.14".to_owned()),
        expires_at: expires_at.map(str::to_owned),
        expired: id == 2,
        ..AccessToken::default()
    }
}

/// Three tokens; the second one has expired.
pub(in super::super) fn tokens() -> Answer {
    let items = vec![
        token(1, "laptop", Some("2026-12-21T12:00:00Z")),
        token(2, "old-ci", Some("2026-11-20T12:00:00Z")),
        token(3, "spare", None),
    ];
    Answer::Tokens(Page { total: Some(3), items, last: true })
}

/// The response to the creation of a token.
pub(in super::super) fn new_token() -> Answer {
    let sha1 = "frr_4WmTq9yZk0LxVb7RnC2sEaHd8JfUg5PoIi31".into();
    Answer::Token(Box::new(AccessToken { sha1, ..token(4, "laptop", Some("2026-12-21T12:00:00Z")) }))
}

/// Two SSH keys, of which the second was never used, and an OpenPGP key.
pub(in super::super) fn account_keys() -> Answer {
    let ssh = |id: i64, title: &str, last_used_at: &str| PublicKey {
        id,
        title: title.into(),
        key: format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{id} {title}"),
        fingerprint: format!("SHA256:{id}bXk5zQWc0b2VnZ2Zk"),
        created_at: "2026-10-02T03:04:05Z".into(),
        last_used_at: last_used_at.into(),
        ..PublicKey::default()
    };
    let gpg = GpgKey {
        id: 3,
        key_id: "5D1E0B9A7C3F2E64".into(),
        emails: vec![GpgKeyEmail { email: "mia@example.org".into(), verified: true }],
        can_sign: true,
        verified: true,
        created_at: "2026-09-02T03:04:05Z".into(),
        expires_at: "1970-01-01T00:00:00Z".into(),
        ..GpgKey::default()
    };
    let all = vec![ssh(7, "laptop", "2026-11-21T10:00:00Z"), ssh(8, "spare", "2026-10-02T03:04:05Z")];
    Answer::AccountKeys(all, vec![gpg])
}
