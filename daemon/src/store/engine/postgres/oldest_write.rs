//! Finds the transaction of the server that keeps views from being settled, and so holds up the readers of events. It
//! can be of another program and in another database of the server.

use std::{
    fmt::Write as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_postgres::Row;

use super::{session::Query, view::PostgresView};
use crate::store::engine::{EngineError, OldestWrite};

/// Age from which the transaction is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// The oldest transaction that was found last: its ID, and when it was found first. The server hides the age of the
/// transactions of other users.
#[derive(Debug, Default)]
pub(super) struct OldestWrites(Mutex<Option<(i64, Instant)>>);

impl OldestWrites {
    /// Returns the oldest transaction that writes, if it has been open for long.
    pub(super) async fn find(&self, view: &PostgresView) -> Result<Option<OldestWrite>, EngineError> {
        let rows = view.read(Query::OldestWrite, &[]).await?;
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(row) = rows.first() else {
            *last = None;
            return Ok(None);
        };
        let id = row.get(0);
        let since = last.filter(|(known, _)| *known == id).map_or_else(Instant::now, |(_, since)| since);
        *last = Some((id, since));
        let visible = row.get::<_, Option<f64>>(4).and_then(|secs| Duration::try_from_secs_f64(secs).ok());
        let open_for = since.elapsed().max(visible.unwrap_or_default());
        Ok((open_for >= REPORTED_AFTER).then(|| OldestWrite { by: describe(row), open_for }))
    }
}

fn describe(row: &Row) -> String {
    let Some(process) = row.get::<_, Option<i32>>(1) else { return "a prepared transaction".to_owned() };
    let mut text = format!("process {process}");
    if let Some(user) = row.get::<_, Option<&str>>(2) {
        _ = write!(text, " of {user}");
    }
    if let Some(database) = row.get::<_, Option<&str>>(3) {
        _ = write!(text, " in database {database}");
    }
    text
}
