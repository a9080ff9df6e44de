//! Numbers that increase across all daemons: a sequence of the server for each kind.
//!
//! They are used once the store is shared. While one process uses the store alone, it assigns numbers by itself.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use tokio_postgres::{Client, Error, types::ToSql};

use super::{
    failure::{failure, is_connection_lost},
    pool::Pool,
    session::Query,
    view::number,
};
use crate::store::engine::EngineError;

/// The advisory lock of daemons that create sequences. The number is arbitrary, but the same in every release.
const CREATE_LOCK: i64 = 0x6661_7272_6965_7202;
/// Time limit for a number. It includes the wait for a synchronous standby, which the server does not limit.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a request is repeated on a connection that was closed.
const TRIES_MAX: u32 = 20;

/// Returns the name of the sequence for `kind`, which has lower-case letters and hyphens.
fn sequence(kind: &str) -> String {
    format!("farrier_{}_ids", kind.replace('-', "_"))
}

/// Creates missing sequences that begin with the given numbers. `is_alone`: no other process uses the store, so
/// existing ones are raised to these numbers.
pub(super) async fn prepare(client: &Client, numbers: &[(&'static str, u64)], is_alone: bool) -> Result<(), Error> {
    // The server executes all statements in one transaction, which holds the lock until its end.
    let mut sql = format!("SELECT pg_advisory_xact_lock({CREATE_LOCK});");
    for (kind, first) in numbers {
        let name = sequence(kind);
        _ = write!(sql, "CREATE SEQUENCE IF NOT EXISTS {name} START {first};");
        if is_alone {
            _ = write!(
                sql,
                "SELECT setval('{name}', greatest({first}, last_value + is_called::int), false) FROM {name};"
            );
        }
    }
    client.batch_execute(&sql).await
}

/// Returns the next number of `kind`.
pub(super) async fn next(pool: &Arc<Pool>, kind: &str) -> Result<u64, EngineError> {
    read(pool, Query::NextNumber, &[&sequence(kind)]).await
}

/// Makes the next number of `kind` at least `first`, also while other daemons take numbers.
pub(super) async fn raise(pool: &Arc<Pool>, kind: &str, first: u64) -> Result<(), EngineError> {
    let first = i64::try_from(first).unwrap_or(i64::MAX);
    read(pool, Query::SkipNumbers, &[&sequence(kind), &first]).await.map(drop)
}

/// Runs a query that takes numbers. A repetition leaves a gap.
async fn read(pool: &Arc<Pool>, query: Query, params: &[&(dyn ToSql + Sync)]) -> Result<u64, EngineError> {
    let mut tries = 0;
    loop {
        let lease = pool.take().await?;
        match tokio::time::timeout(TIMEOUT, lease.session().query(query, params)).await {
            Ok(Ok(rows)) => return Ok(number(&rows)),
            Ok(Err(error)) if is_connection_lost(&error) && tries < TRIES_MAX => {
                tries += 1;
                lease.discard();
                pool.close_idle();
            }
            Ok(Err(error)) => return Err(failure(error)),
            Err(_) => {
                lease.discard_all();
                return Err(EngineError::Unavailable);
            }
        }
    }
}
