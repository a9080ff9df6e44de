//! A connection that is ready for use: its settings, its prepared statements and how the server identifies it.

use futures_util::future::try_join_all;
use tokio_postgres::{Client, Error, Row, Statement, types::ToSql};

/// Settings of every connection. The planner must not choose a sequential scan, not even of a small table: it would
/// lock the whole table for reading, so that all transactions conflict. `idle_session_timeout` exists since version 14.
const SETTINGS: &str = "
    SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET statement_timeout = '10s'; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '10s';
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');
    SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout';";

/// Commits a change of the row of the owner. When this has returned, every change that was visible before is as durable
/// as this one, also on a synchronous standby, because a standby receives commits in their order. A commit that was
/// interrupted while it waited for the standby is visible without being there.
pub(super) const CONFIRM: &str = "UPDATE farrier_owner SET since = since WHERE id = $1 RETURNING single";

/// Ends another connection, given its process and start. Returns no row if the connection has ended. One whose commit
/// waits for a synchronous standby is left alone: the commit would be visible to all daemons without being there.
pub(super) const END: &str = "SELECT \
     CASE WHEN wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(pid) END FROM pg_stat_activity \
     WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2";

/// Takes the lock of transactions that run after conflicts, and waits for it. Earlier statements of the connection must
/// have ended. The number is arbitrary, but the same in every release.
pub(super) const LOCK_AFTER_CONFLICTS: &str = "SELECT pg_advisory_lock(7377303500329677315)";
/// Releases it.
pub(super) const UNLOCK_AFTER_CONFLICTS: &str = "SELECT pg_advisory_unlock(7377303500329677315)";
/// Ends the open transaction without its writes, and releases the lock.
pub(super) const ROLLBACK_AND_UNLOCK: &str = "ROLLBACK; SELECT pg_advisory_unlock(7377303500329677315)";

/// A prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// The value of a key.
    Get,
    /// The keys and values of a list of keys, in any order.
    GetMany,
    /// The entries from a key up to another, with a limit and an offset.
    Scan,
    /// The same from the last entry to the first.
    ScanReverse,
    /// The number of entries from a key up to another, up to a limit.
    Count,
    /// Writes a list of keys and a list of values.
    Put,
    /// Deletes a list of keys.
    Delete,
    /// Reads nothing, but fixes the state that the transaction reads.
    Fix,
    /// The size of the table and its index, in bytes, and whether a standby confirms each commit. `NULL`: the user may
    /// not read the latter.
    Server,
    /// The owner of the store.
    Owner,
    /// Ends another connection, see [`END`].
    End,
    /// Commits a change of the row of the owner, given its id. Returns no row if there is another owner.
    Confirm,
    /// The ID of the transaction.
    Order,
    /// The lowest ID of a transaction that had not ended in the state that this one reads.
    Settled,
    /// The time of the server, milliseconds since the Unix epoch.
    Now,
    /// The next number of a sequence, given its name. It is durable, also on a synchronous standby: after a failure
    /// of the server, no daemon gets a number again that another one has got before.
    NextNumber,
    /// Takes the numbers of a sequence below another one, given its name and this number.
    SkipNumbers,
    /// The transaction with this ID: its process, user, database and age in seconds, as far as they are visible.
    OldestWrite,
}

/// The SQL of each [`Query`], in the same order.
const SQL: [(Query, &str); 18] = [
    (Query::Get, "SELECT v FROM farrier_kv WHERE k = $1"),
    (Query::GetMany, "SELECT k, v FROM farrier_kv WHERE k = ANY($1::bytea[])"),
    (Query::Scan, "SELECT k, v FROM farrier_kv WHERE k >= $1 AND k < $2 ORDER BY k LIMIT $3 OFFSET $4"),
    (Query::ScanReverse, "SELECT k, v FROM farrier_kv WHERE k >= $1 AND k < $2 ORDER BY k DESC LIMIT $3 OFFSET $4"),
    (Query::Count, "SELECT count(*) FROM (SELECT 1 FROM farrier_kv WHERE k >= $1 AND k < $2 LIMIT $3) AS entries"),
    (
        Query::Put,
        "INSERT INTO farrier_kv (k, v) SELECT k, v FROM unnest($1::bytea[], $2::bytea[]) AS put (k, v) \
         ON CONFLICT (k) DO UPDATE SET v = excluded.v",
    ),
    (Query::Delete, "DELETE FROM farrier_kv WHERE k = ANY($1::bytea[])"),
    (Query::Fix, "SELECT 1"),
    (
        Query::Server,
        // Everybody sees that a standby is connected, but only some users see whether it is synchronous.
        "SELECT pg_total_relation_size('farrier_kv'), CASE \
         WHEN current_setting('synchronous_standby_names') = '' THEN false \
         WHEN bool_or(sync_state IN ('sync', 'quorum')) THEN true \
         WHEN bool_or(sync_state IS NULL) THEN NULL \
         ELSE false END \
         FROM pg_stat_replication",
    ),
    (Query::Owner, "SELECT id, holder FROM farrier_owner"),
    (Query::End, END),
    (Query::Confirm, CONFIRM),
    (Query::Order, "SELECT pg_current_xact_id()::text::bigint"),
    (Query::Settled, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"),
    (Query::Now, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"),
    (
        Query::NextNumber,
        // Only some numbers of a sequence are written to the log of the server. The message makes each commit durable.
        "SELECT nextval($1::text::regclass), pg_logical_emit_message(true, 'farrier', '')::text",
    ),
    (
        Query::SkipNumbers,
        "SELECT count(nextval($1::text::regclass)) \
         FROM generate_series((SELECT nextval($1::text::regclass)) + 1, $2::bigint - 1)",
    ),
    (
        Query::OldestWrite,
        // A transaction holds a lock on its own ID, of which the table of locks has the low 32 bits.
        "SELECT oldest.id, locks.pid, activity.usename::text, activity.datname::text, \
         extract(epoch FROM clock_timestamp() - activity.xact_start)::float8 \
         FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS id) AS oldest \
         JOIN pg_locks AS locks ON locks.locktype = 'transactionid' AND locks.mode = 'ExclusiveLock' \
             AND locks.granted AND locks.transactionid = (oldest.id % 4294967296)::text::xid \
         LEFT JOIN pg_stat_activity AS activity ON activity.pid = locks.pid",
    ),
];

/// A process of the server that serves a connection. The numbers of ended processes are used again, so their start
/// belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    /// The number of the process.
    pub(super) pid: i32,
    /// Its start, microseconds since the Unix epoch.
    pub(super) started_us: i64,
}

impl Backend {
    /// Returns the process that serves `client`.
    pub(super) async fn of(client: &Client) -> Result<Self, Error> {
        let own = "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_stat_activity \
                   WHERE pid = pg_backend_pid()";
        let row = client.query_one(own, &[]).await?;
        Ok(Self { pid: row.get(0), started_us: row.get(1) })
    }
}

/// A connection with settings and prepared statements.
pub(super) struct Session {
    client: Client,
    statements: Vec<Statement>,
    /// The process that serves the connection.
    pub(super) backend: Backend,
}

impl Session {
    /// Prepares a new connection. The tables must exist.
    pub(super) async fn new(client: Client) -> Result<Self, Error> {
        settings(&client).await?;
        let statements = try_join_all(SQL.map(|(_, sql)| client.prepare(sql))).await?;
        let backend = Backend::of(&client).await?;
        Ok(Self { client, statements, backend })
    }

    /// Runs a prepared statement.
    pub(super) async fn query(&self, query: Query, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.client.query(&self.statements[query as usize], params).await
    }

    /// Runs a statement without parameters and results.
    pub(super) async fn execute(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Returns whether the connection was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

/// Applies the settings of every connection.
pub(super) async fn settings(client: &Client) -> Result<(), Error> {
    client.batch_execute(SETTINGS).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_each_statement_is_that_of_its_query() {
        for (index, (query, _)) in SQL.iter().enumerate() {
            assert_eq!(*query as usize, index);
        }
    }
}
