//! Writes log lines about the security of accounts and repositories, with the target [`TARGET`].
//!
//! The lines name accounts, repositories and addresses, but never a secret. The name of an account that does not exist
//! is not logged either, because programs send tokens as user names and people type passwords there by mistake.

use farrier_proto::store::{Token, User};

use crate::model::identity::Identity;

/// The target of the log lines.
const TARGET: &str = "farrierd::security";

/// Logs a wrong password or token. `account`: an existing account whose password was wrong.
pub(super) fn failed_sign_in(account: Option<&str>, source: &str) {
    let account = account.unwrap_or("-");
    tracing::warn!(target: TARGET, account, source, "sign-in failed");
}

/// Logs that further attempts are refused for some time. `account`: an existing account, if passwords were tried.
pub(super) fn locked_out(account: Option<&str>, source: &str, retry_after_secs: u64) {
    let account = account.unwrap_or("-");
    tracing::warn!(target: TARGET, account, source, retry_after_secs, "too many failed sign-ins: further ones are refused");
}

/// Logs a new account.
pub(super) fn user_created(by: &Identity, user: &User) {
    tracing::info!(target: TARGET, by = by.label(), user = user.name, admin = user.admin, "user created");
}

/// Logs changes of the rights or the password of an account.
pub(super) fn user_changed(by: &Identity, before: &User, after: &User) {
    let (by, user) = (by.label(), after.name.as_str());
    if before.admin != after.admin {
        tracing::warn!(target: TARGET, by, user, admin = after.admin, "administrator rights changed");
    }
    if before.password_hash != after.password_hash {
        tracing::info!(target: TARGET, by, user, "password changed");
    }
    if (before.prohibit_login, before.inactive) != (after.prohibit_login, after.inactive) {
        let may_sign_in = !after.prohibit_login && !after.inactive;
        tracing::info!(target: TARGET, by, user, may_sign_in, "permission to sign in changed");
    }
}

/// Logs the deletion of an account.
pub(super) fn user_deleted(by: &Identity, user: &User) {
    tracing::warn!(target: TARGET, by = by.label(), user = user.name, "user deleted");
}

/// Logs a new token.
pub(super) fn token_created(by: &Identity, owner: &User, token: &Token) {
    let (scopes, repositories) = (token.scopes.join(","), token.repository_ids.len());
    tracing::info!(target: TARGET, by = by.label(), user = owner.name, token_id = token.id, scopes, repositories, "token created");
}

/// Logs the deletion of a token.
pub(super) fn token_deleted(by: &Identity, owner: u64, token: u64) {
    tracing::info!(target: TARGET, by = by.label(), user_id = owner, token_id = token, "token deleted");
}

/// Logs the deletion of a token whose retention after its expiry is over.
pub(super) fn expired_token_deleted(owner: u64, token: u64) {
    tracing::info!(target: TARGET, user_id = owner, token_id = token, "expired token deleted");
}

/// Logs a request with an expired token.
pub(super) fn expired_token_used(owner: &str, token: u64, source: &str) {
    tracing::warn!(target: TARGET, account = owner, token_id = token, source, "sign-in with an expired token");
}

/// Logs the deletion of a repository.
pub(super) fn repository_deleted(by: &Identity, owner: &str, name: &str, id: u64) {
    tracing::warn!(target: TARGET, by = by.label(), repository = format!("{owner}/{name}"), id, "repository deleted");
}

/// Logs a push that moved a branch to a commit that does not contain its former tip.
pub(super) fn forced_push(by_user_id: u64, repository: u64, branch: &str, before: &str, after: &str) {
    tracing::warn!(target: TARGET, by_user_id, repository, branch, before, after, "branch overwritten by a forced push");
}
