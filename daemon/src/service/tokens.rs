//! Access tokens: made once, shown once, kept as a hash.

use farrier_common::api::CreateToken;
use farrier_proto::store::Token;

use super::Error;
use crate::{
    app::App,
    model::{identity::Identity, scope::Scopes, secret},
    store::{Tx, ids::Kind, owners, tokens},
};

const NAME_MAX_CHARS: usize = 255;

/// A token that was just made, with its clear form, which is not kept.
pub struct Minted {
    /// What is kept.
    pub row: Token,
    /// 40 hexadecimal digits.
    pub clear: String,
}

/// Makes a token for the account `user_name`: for oneself, or as a site administrator.
///
/// A token may mint only what it has itself: scopes, repositories and lifetime.
pub async fn create(app: &App, identity: &Identity, user_name: &str, input: &CreateToken) -> Result<Minted, Error> {
    let caller = identity.account().ok_or_else(|| Error::Unauthenticated { reason: "token is required".into() })?;
    let snapshot = app.store.read().await?;
    let user = owners::user_by_name(&snapshot, user_name).await?.ok_or(Error::NotFound { what: "the user" })?;
    drop(snapshot);
    if user.id != caller.user.id && !caller.user.admin {
        return Err(Error::Forbidden { reason: "tokens of another account are for site administrators".into() });
    }
    if input.name.is_empty() || input.name.chars().count() > NAME_MAX_CHARS {
        return Err(Error::invalid("name", format!("must have 1 to {NAME_MAX_CHARS} characters")));
    }
    let scopes = Scopes::parse(input.scopes.iter().map(String::as_str))
        .map_err(|unknown| Error::invalid("scopes", unknown.to_string()))?;
    if scopes.is_empty() {
        return Err(Error::invalid("scopes", "access token must have a scope"));
    }
    let now = app.now_ms();
    let expires_ms = expiry(input.expires_at.as_deref(), now)?;
    let repository_ids = inherited(identity, scopes, expires_ms)?;

    let clear = hex::encode(secret::random_bytes::<20>());
    let row = Token {
        id: app.store.next_id(Kind::Token).await?,
        user_id: user.id,
        name: input.name.clone(),
        scopes: scopes.words(),
        last_eight: clear[clear.len() - 8..].to_owned(),
        created_ms: now,
        expires_ms,
        last_used_ms: 0,
        repository_ids,
    };
    let hash = secret::sha256(clear.as_bytes());
    let (row_ref, hash_ref) = (&row, &hash);
    app.store
        .write(async |tx: Tx| {
            let others = tokens::of_user(&tx, row_ref.user_id).await?;
            if others.iter().any(|other| other.name == row_ref.name) {
                return Err(Error::invalid("name", "access token name has been used already"));
            }
            if others.len() >= tokens::PER_USER_MAX {
                return Err(Error::invalid("name", "the account has too many tokens"));
            }
            tokens::insert(&tx, hash_ref, row_ref);
            Ok(())
        })
        .await?;
    Ok(Minted { row, clear })
}

/// What a token that mints another hands down; refuses what it does not have itself.
fn inherited(identity: &Identity, scopes: Scopes, expires_ms: i64) -> Result<Vec<u64>, Error> {
    let Some(parent) = identity.token() else { return Ok(Vec::new()) };
    if !parent.scopes.covers(scopes) {
        return Err(Error::Forbidden { reason: "a token cannot make one with scopes that it lacks".into() });
    }
    if parent.expires_ms != 0 && (expires_ms == 0 || expires_ms > parent.expires_ms) {
        return Err(Error::Forbidden { reason: "a token cannot make one that outlives it".into() });
    }
    Ok(parent.repositories.clone())
}

fn expiry(text: Option<&str>, now: i64) -> Result<i64, Error> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(0) };
    let instant: jiff::Timestamp = text.parse().map_err(|_| Error::invalid("expires_at", "is no time of RFC 3339"))?;
    let ms = instant.as_millisecond();
    if ms > now { Ok(ms) } else { Err(Error::invalid("expires_at", "lies in the past")) }
}
