//! Access tokens. A token's value is shown only when it is created and stored only as a hash.

mod expired;

use farrier_common::api::{CreateToken, TokenRepository};
use farrier_proto::store::{Token, User};

pub use self::expired::delete_expired;
use super::{
    Context, Error,
    access::{self, Action},
    audit::{self, AuditRecorder, Entry, Object},
    repositories, viewer,
};
use crate::{
    clock::Millis,
    model::{
        access_token,
        identity::Identity,
        scope::{Category, Level, Scopes},
        secret,
    },
    show,
    store::{
        Read, Tx,
        ids::IdKind,
        owners::{self, Owner},
        tokens,
    },
};

const NAME_MAX_CHARS: usize = 255;
/// Maximum number of repositories that a token can be limited to.
const REPOSITORIES_MAX: usize = 100;
const DAY_MS: Millis = 86_400_000;
/// How much an expiry may exceed the maximum and is then shortened, because the clock of the client may be ahead.
const CLOCK_TOLERANCE_MS: Millis = 60_000;

/// A new token with its value, which is not stored.
pub struct CreatedToken {
    /// The stored row.
    pub row: Token,
    /// The token's value.
    pub clear: String,
}

/// Returns the account whose tokens the caller may manage: the caller's own, or any account for a site administrator. A
/// token without the admin scope cannot manage those of other accounts.
async fn account(read: &impl Read, identity: &Identity, name: &str, level: Level) -> Result<User, Error> {
    let caller = access::require_account(identity)?;
    let Owner::User(user) = viewer::find(read, identity, name).await? else {
        return Err(Error::NotFound { what: "the user" });
    };
    if user.id == caller.user.id || (caller.user.admin && identity.in_scope(Category::Admin, level)) {
        return Ok(user);
    }
    Err(Error::Forbidden { reason: "only site administrators may manage tokens of other accounts".into() })
}

/// Creates a token for the account `user_name`: the caller's own, or any for a site administrator.
///
/// A token can only create tokens with scopes and a lifetime within its own. A token that is limited to repositories
/// creates none.
pub async fn create(
    context: &Context,
    identity: &Identity,
    user_name: &str,
    input: &CreateToken,
) -> Result<CreatedToken, Error> {
    access::require_all_repositories(identity)?;
    let snapshot = context.store.read().await?;
    let user = account(&snapshot, identity, user_name, Level::Write).await?;
    if input.name.is_empty() || input.name.chars().count() > NAME_MAX_CHARS {
        return Err(Error::invalid("name", format!("must have 1 to {NAME_MAX_CHARS} characters")));
    }
    let scopes = Scopes::parse(input.scopes.iter().map(String::as_str))
        .map_err(|unknown| Error::invalid("scopes", unknown.to_string()))?;
    if scopes.is_empty() {
        return Err(Error::invalid("scopes", "access token must have a scope"));
    }
    let repository_ids = requested_repositories(&snapshot, identity, input.repositories.as_deref()).await?;
    drop(snapshot);
    let now = context.now_ms();
    let expires_ms = expiry(input.expires_at.as_deref(), now, context.config.auth.token_max_days)?;
    require_within(identity, scopes, expires_ms)?;

    let clear = access_token::generate();
    let row = Token {
        id: context.store.next_id(IdKind::Token).await?,
        user_id: user.id,
        name: input.name.clone(),
        scopes: scopes.words(),
        last_eight: clear[clear.len() - 8..].to_owned(),
        created_ms: now,
        expires_ms,
        last_used_ms: 0,
        repository_ids,
        last_used_address: String::new(),
    };
    let hash = secret::sha256(clear.as_bytes());
    let (row_ref, hash_ref) = (&row, &hash);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            // The account may have been deleted since.
            let user = owners::user(&tx, row_ref.user_id).await?.ok_or(Error::NotFound { what: "the user" })?;
            let others = tokens::of_user(&tx, row_ref.user_id).await?;
            if others.iter().any(|other| other.name == row_ref.name) {
                return Err(Error::invalid("name", "access token name has been used already"));
            }
            if others.len() >= tokens::PER_USER_MAX {
                return Err(Error::invalid("name", "the account has too many tokens"));
            }
            tokens::insert(&tx, hash_ref, row_ref);
            let mut entry = Entry::new(audit::Action::TokenCreate, Object::token(row_ref, &user.name))
                .set("scopes", row_ref.scopes.clone());
            if !row_ref.repository_ids.is_empty() {
                entry = entry.set("repository_ids", row_ref.repository_ids.clone());
            }
            if row_ref.expires_ms != 0 {
                entry = entry.set("expires_at", show::time(row_ref.expires_ms));
            }
            recorder.record(&tx, entry).await?;
            Ok(())
        })
        .await?;
    Ok(CreatedToken { row, clear })
}

/// Returns an error if the caller's own token has fewer scopes than a new token, or expires earlier.
fn require_within(identity: &Identity, scopes: Scopes, expires_ms: i64) -> Result<(), Error> {
    let Some(parent) = identity.token() else { return Ok(()) };
    if !parent.scopes.covers(scopes) {
        return Err(Error::Forbidden { reason: "a token cannot create one with scopes that it lacks".into() });
    }
    if parent.expires_ms != 0 && (expires_ms == 0 || expires_ms > parent.expires_ms) {
        return Err(Error::Forbidden { reason: "a token cannot create a token that expires later".into() });
    }
    Ok(())
}

/// Returns the ids of the repositories that a token is limited to. Empty: no limit.
async fn requested_repositories(
    read: &impl Read,
    identity: &Identity,
    requested: Option<&[TokenRepository]>,
) -> Result<Vec<u64>, Error> {
    let Some(requested) = requested else { return Ok(Vec::new()) };
    let refused = |reason: String| Error::invalid("repositories", reason);
    if requested.is_empty() || requested.len() > REPOSITORIES_MAX {
        return Err(refused(format!("must name 1 to {REPOSITORIES_MAX} repositories; leave it out for all")));
    }
    let mut ids = Vec::new();
    for TokenRepository { owner, name, .. } in requested {
        let found = repositories::find(read, identity, owner, name, Action::Read).await;
        ids.push(match found {
            Ok(found) => found.repository.id,
            Err(Error::NotFound { .. } | Error::Moved { .. }) => {
                return Err(refused(format!("the repository {owner}/{name} does not exist")));
            }
            Err(other) => return Err(other),
        });
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns the tokens of an account, newest first.
pub async fn list(read: &impl Read, identity: &Identity, user_name: &str) -> Result<Vec<Token>, Error> {
    let user = account(read, identity, user_name, Level::Read).await?;
    access::require_whole_account(identity)?;
    let mut rows = tokens::of_user(read, user.id).await?;
    rows.reverse();
    Ok(rows)
}

/// Deletes a token by its id or, if no token has this id, by its name.
pub async fn delete(context: &Context, identity: &Identity, user_name: &str, which: &str) -> Result<(), Error> {
    access::require_whole_account(identity)?;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let user = account(&tx, identity, user_name, Level::Write).await?;
            let rows = tokens::of_user(&tx, user.id).await?;
            let number = which.parse::<u64>().ok();
            let by_id = rows.iter().find(|row| Some(row.id) == number);
            let found = by_id.or_else(|| rows.iter().find(|row| row.name == which));
            let token = found.ok_or(Error::NotFound { what: "the token" })?;
            tokens::delete(&tx, user.id, token.id).await?;
            recorder.record(&tx, deletion_entry(token, &user.name)).await?;
            Ok(())
        })
        .await
}

/// Returns the token of the current request and its account.
pub async fn current(read: &impl Read, identity: &Identity) -> Result<(Token, User), Error> {
    let account = access::require_account(identity)?;
    let missing = || Error::NotFound { what: "a token of this request" };
    let proof = identity.token().ok_or_else(missing)?;
    // The owner of the token can differ from the account that the request acts as.
    let row = tokens::get(read, proof.user_id, proof.id).await?.ok_or_else(missing)?;
    Ok((row, account.user.clone()))
}

/// Deletes the token of the current request.
pub async fn delete_current(context: &Context, identity: &Identity) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let (row, _) = current(&tx, identity).await?;
            tokens::delete(&tx, row.user_id, row.id).await?;
            let owner = owners::user(&tx, row.user_id).await?.map(|user| user.name).unwrap_or_default();
            recorder.record(&tx, deletion_entry(&row, &owner)).await?;
            Ok(())
        })
        .await
}

/// Returns the audit entry of the deletion of a token.
pub(super) fn deletion_entry(row: &Token, owner: &str) -> Entry {
    Entry::new(audit::Action::TokenDelete, Object::token(row, owner)).had("scopes", row.scopes.clone())
}

/// Returns when a new token expires. 0: never. `max_days`: see `auth.token_max_days`.
fn expiry(text: Option<&str>, now: Millis, max_days: u32) -> Result<Millis, Error> {
    let refused = |reason: String| Error::invalid("expires_at", reason);
    let latest = (max_days != 0).then(|| now + Millis::from(max_days) * DAY_MS);
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(latest.unwrap_or(0)) };
    let instant: jiff::Timestamp = text.parse().map_err(|_| refused("is not a time in RFC 3339 format".into()))?;
    let ms = instant.as_millisecond();
    match latest {
        _ if ms <= now => Err(refused("is in the past".into())),
        Some(latest) if ms > latest + CLOCK_TOLERANCE_MS => {
            let time = show::time(latest);
            Err(refused(format!(
                "is later than {time}: auth.token_max_days = {max_days} limits the lifetime of tokens"
            )))
        }
        Some(latest) => Ok(ms.min(latest)),
        None => Ok(ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_767_323_045_000; // 2026-01-02T03:04:05Z

    #[test]
    fn an_expiry_is_in_the_future_and_within_the_maximum() {
        let text = |expiry: Result<Millis, Error>| match expiry {
            Ok(0) => "never".to_owned(),
            Ok(ms) => show::time(ms),
            Err(error) => error.to_string(),
        };
        let limit = "2026-01-12T03:04:05Z";
        for (given, max_days, expected) in [
            (None, 0, "never"),
            (Some(""), 0, "never"),
            (None, 10, limit),
            (Some("2026-01-03T00:00:00Z"), 10, "2026-01-03T00:00:00Z"),
            (Some(limit), 10, limit),
            (Some("2026-01-12T03:04:25Z"), 10, limit),
            (Some("9999-12-30T22:00:00Z"), 0, "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(text(expiry(given, NOW, max_days)), expected, "{given:?} {max_days}");
        }
        for (given, max_days, reason) in [
            ("2026-01-02T03:04:05Z", 0, "is in the past"),
            ("-009999-01-02T01:59:59Z", 0, "is in the past"),
            ("2026-01-12T03:06:00Z", 10, "is later than 2026-01-12T03:04:05Z: auth.token_max_days = 10"),
            ("9999-12-30T22:00:00Z", 36_500, "auth.token_max_days = 36500"),
            ("99999-01-01T00:00:00Z", 0, "is not a time"),
            ("10d", 0, "is not a time"),
        ] {
            let refused = text(expiry(Some(given), NOW, max_days));
            assert!(refused.contains(reason), "{given} {max_days}: {refused}");
        }
    }
}
