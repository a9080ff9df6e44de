//! Converts access tokens.

use farrier_common::api;
use farrier_proto::store::{Token, User};

use super::{number, time};
use crate::{
    service::Error,
    store::{Read, owners, repositories},
};

/// Converts a token. `clear` is its value, which only the response to its creation contains.
pub(in crate::http) async fn token(
    read: &impl Read,
    row: &Token,
    clear: &str,
    now: i64,
) -> Result<api::AccessToken, Error> {
    let set = |ms| (ms != 0).then(|| time(ms));
    Ok(api::AccessToken {
        id: number(row.id),
        name: row.name.clone(),
        sha1: clear.to_owned(),
        token_last_eight: row.last_eight.clone(),
        scopes: row.scopes.clone(),
        created_at: time(row.created_ms),
        last_used_at: time(row.last_used_ms),
        last_used_address: (!row.last_used_address.is_empty()).then(|| row.last_used_address.clone()),
        expires_at: set(row.expires_ms),
        expired: row.expires_ms != 0 && row.expires_ms <= now,
        repositories: limits(read, row).await?,
    })
}

/// Converts the token of the current request, which uses it at `now`.
pub(in crate::http) async fn current_token(
    read: &impl Read,
    row: &Token,
    user: &User,
    now: i64,
) -> Result<api::CurrentToken, Error> {
    let used_ms = if row.last_used_ms == 0 { now } else { row.last_used_ms };
    Ok(api::CurrentToken {
        id: number(row.id),
        name: row.name.clone(),
        scopes: row.scopes.clone(),
        created_at: time(row.created_ms),
        last_used_at: time(used_ms),
        expires_at: (row.expires_ms != 0).then(|| time(row.expires_ms)),
        repositories: limits(read, row).await?,
        user: api::TokenUser { id: number(user.id), login: user.name.clone() },
    })
}

/// Returns the repositories that a token is limited to. Skips deleted ones.
async fn limits(read: &impl Read, row: &Token) -> Result<Option<Vec<api::TokenRepository>>, Error> {
    if row.repository_ids.is_empty() {
        return Ok(None);
    }
    let mut shown = Vec::new();
    for id in &row.repository_ids {
        let Some(found) = repositories::get(read, *id).await? else { continue };
        let Some(owner) = owners::owner(read, found.owner_kind(), found.owner_id).await? else { continue };
        shown.push(api::TokenRepository {
            id: Some(number(found.id)),
            full_name: Some(format!("{}/{}", owner.name(), found.name)),
            owner: owner.name().to_owned(),
            name: found.name,
        });
    }
    Ok(Some(shown))
}
