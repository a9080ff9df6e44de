//! Locks of files.

use axum::{
    extract::{Path, RawQuery, Request, State},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use farrier_proto::store::LfsLock;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    access::{Need, allow},
    body,
    failure::LfsFailure,
    json,
};
use crate::{
    http::AppState,
    service::{
        Error,
        lfs::locks::{self, LockOutcome, LockQuery, PAGE_MAX},
    },
    show,
    store::Read,
};

/// What a decoded cursor begins with. The rest is the ID of the last lock.
const CURSOR: &str = "after:";

type RepositoryPath = Path<(String, String)>;

#[derive(Serialize)]
struct ShownLock {
    id: String,
    path: String,
    locked_at: String,
    owner: ShownOwner,
}

#[derive(Serialize)]
struct ShownOwner {
    name: String,
}

#[derive(Deserialize)]
struct LockRequest {
    path: String,
}

#[derive(Deserialize)]
struct UnlockRequest {
    #[serde(default)]
    force: Option<bool>,
}

#[derive(Deserialize)]
struct VerifyRequest {
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<u64>,
}

#[derive(Serialize)]
struct LockList {
    locks: Vec<ShownLock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct VerifiedLocks {
    ours: Vec<ShownLock>,
    theirs: Vec<ShownLock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// `GET …/info/lfs/locks`
pub(in crate::http) async fn list(
    State(state): State<AppState>,
    Path(repository): RepositoryPath,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, LfsFailure> {
    let (parts, _) = request.into_parts();
    let allowed = allow(&state, &parts, &repository, Need::ReadLocks).await?;
    let query = query.unwrap_or_default();
    let text = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
    };
    let limit = match text("limit") {
        Some(limit) => Some(limit.parse().map_err(|_| LfsFailure::unprocessable("limit must be a number"))?),
        None => None,
    };
    let mut query = page_query(text("cursor"), limit)?;
    query.path = text("path");
    query.id = text("id");
    let read = state.store.read().await.map_err(Error::from)?;
    let (rows, next) = locks::list(&read, allowed.found.repository.id, &query).await?;
    let mut shown_locks = Vec::with_capacity(rows.len());
    for row in &rows {
        shown_locks.push(shown(&read, row).await?);
    }
    Ok(json(StatusCode::OK, &LockList { locks: shown_locks, next_cursor: next.map(cursor) }))
}

/// `POST …/info/lfs/locks`
pub(in crate::http) async fn lock(
    State(state): State<AppState>,
    Path(repository): RepositoryPath,
    request: Request,
) -> Result<Response, LfsFailure> {
    let (parts, content) = request.into_parts();
    let allowed = allow(&state, &parts, &repository, Need::WriteLocks).await?;
    let input: LockRequest = body(&state, &parts, content).await?;
    let outcome = locks::create(&state, &allowed.identity, &allowed.found, &input.path).await?;
    let read = state.store.read().await.map_err(Error::from)?;
    match outcome {
        LockOutcome::Created(row) => Ok(json(StatusCode::CREATED, &json!({ "lock": shown(&read, &row).await? }))),
        LockOutcome::Exists(row) => {
            let lock = json!(shown(&read, &row).await?);
            Err(LfsFailure::new(StatusCode::CONFLICT, "the path is locked already").with("lock", lock))
        }
    }
}

/// `POST …/info/lfs/locks/verify`: the locks of the caller and of others, before a push.
pub(in crate::http) async fn verify(
    State(state): State<AppState>,
    Path(repository): RepositoryPath,
    request: Request,
) -> Result<Response, LfsFailure> {
    let (parts, content) = request.into_parts();
    let allowed = allow(&state, &parts, &repository, Need::WriteLocks).await?;
    let input: VerifyRequest = body(&state, &parts, content).await?;
    let query = page_query(input.cursor.filter(|cursor| !cursor.is_empty()), input.limit)?;
    let read = state.store.read().await.map_err(Error::from)?;
    let (rows, next) = locks::list(&read, allowed.found.repository.id, &query).await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for row in &rows {
        let list = if row.owner_id == allowed.identity.user_id() { &mut ours } else { &mut theirs };
        list.push(shown(&read, row).await?);
    }
    Ok(json(StatusCode::OK, &VerifiedLocks { ours, theirs, next_cursor: next.map(cursor) }))
}

/// `POST …/info/lfs/locks/{id}/unlock`
pub(in crate::http) async fn unlock(
    State(state): State<AppState>,
    Path((owner, name, id)): Path<(String, String, String)>,
    request: Request,
) -> Result<Response, LfsFailure> {
    let (parts, content) = request.into_parts();
    let allowed = allow(&state, &parts, &(owner, name), Need::WriteLocks).await?;
    let input: UnlockRequest = body(&state, &parts, content).await?;
    let force = input.force.unwrap_or_default();
    let row = locks::unlock(&state, &allowed.identity, &allowed.found, &id, force).await?;
    let read = state.store.read().await.map_err(Error::from)?;
    Ok(json(StatusCode::OK, &json!({ "lock": shown(&read, &row).await? })))
}

async fn shown(read: &impl Read, row: &LfsLock) -> Result<ShownLock, Error> {
    Ok(ShownLock {
        id: row.id.to_string(),
        path: row.path.clone(),
        locked_at: show::time(row.locked_ms),
        owner: ShownOwner { name: locks::owner_name(read, row).await? },
    })
}

/// Returns the query of a page. `limit`: 0 means the largest page.
fn page_query(cursor: Option<String>, limit: Option<u64>) -> Result<LockQuery, LfsFailure> {
    let after = match cursor {
        Some(cursor) => position(&cursor).ok_or_else(|| LfsFailure::unprocessable("the cursor is not valid"))?,
        None => 0,
    };
    let limit = match limit {
        None | Some(0) => PAGE_MAX,
        Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    Ok(LockQuery { after, limit, ..LockQuery::default() })
}

fn cursor(id: u64) -> String {
    BASE64.encode(format!("{CURSOR}{id}"))
}

fn position(cursor: &str) -> Option<u64> {
    let text = String::from_utf8(BASE64.decode(cursor).ok()?).ok()?;
    text.strip_prefix(CURSOR)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_back_and_others_refused() {
        assert_eq!(position(&cursor(17)), Some(17));
        for bad in ["", "17", "!", &BASE64.encode("17"), &BASE64.encode("after:x")] {
            assert_eq!(position(bad), None, "{bad}");
        }
    }
}
