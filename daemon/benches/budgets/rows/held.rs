//! Memory that clients without an account, and clients that never complete a push, can make the daemon hold.

use std::fmt::Write as _;

use super::settle;
use crate::{
    Result,
    client::Connection,
    farrier::Farrier,
    figures::{mib, plain},
    plan::Plan,
    table::Table,
};

/// Number of clients with an incomplete head.
const HEADS: usize = 900;
/// Bytes of each head. The daemon reads no larger ones.
const HEAD_BYTES: usize = 60 << 10;
/// Number of clients with an incomplete list of ref updates.
const LISTS: usize = 60;
/// Number of updates in each list: about 5 MB.
const UPDATES: usize = 49_000;
/// `server.request_memory_mib`.
const BUDGET_MIB: f64 = 256.0;
/// Memory of connections and buffers in addition to the budget, MiB.
const CONNECTIONS_MIB: f64 = 64.0;
/// Memory that may remain in use after the clients have left, in addition to the idle memory, MiB.
const REMAINING_MIB: f64 = 32.0;

pub(super) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let farrier = Farrier::configured(
        &plan.dir("held")?,
        "[server]\nmax_connections_per_address = 0\nheader_timeout_secs = 60\n",
    )
    .await?;
    farrier.repository("demo").await?;
    let token = farrier.token().await?;
    settle().await;
    let idle = mib(farrier.watch().resident()?);

    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx-large: {}", "x".repeat(HEAD_BYTES));
    let held = open(&farrier, HEADS, head.as_bytes()).await?;
    write(table, &format!("memory with {HEADS} incomplete heads of {} KiB", HEAD_BYTES >> 10), &farrier, idle)?;
    leave(table, &farrier, held, idle).await?;

    let list = push(&token);
    let held = open(&farrier, LISTS, list.as_bytes()).await?;
    let what = format!("memory with {LISTS} incomplete lists of {UPDATES} ref updates");
    write(table, &what, &farrier, idle)?;
    leave(table, &farrier, held, idle).await
}

/// Opens connections that send `bytes` and then nothing more. The daemon may refuse some of them.
async fn open(farrier: &Farrier, count: usize, bytes: &[u8]) -> Result<Vec<Connection>> {
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = farrier.tcp.connect().await?;
        let _ = connection.send(bytes).await;
        open.push(connection);
    }
    settle().await;
    Ok(open)
}

fn write(table: &mut Table, what: &str, farrier: &Farrier, idle: f64) -> Result<()> {
    let resident = mib(farrier.watch().resident()?);
    let text = format!("{} MiB, idle {} MiB", plain(resident), plain(idle));
    let max = idle + BUDGET_MIB + CONNECTIONS_MIB;
    table.alone(what, text, "+ ≤ 256 MiB for requests, 64 MiB for connections", resident <= max);
    Ok(())
}

/// Closes the connections and measures what remains.
async fn leave(table: &mut Table, farrier: &Farrier, held: Vec<Connection>, idle: f64) -> Result<()> {
    drop(held);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let resident = mib(farrier.watch().resident()?);
    let text = format!("{} MiB, idle {} MiB", plain(resident), plain(idle));
    table.alone("memory after they have left", text, "+ ≤ 32 MiB", resident <= idle + REMAINING_MIB);
    Ok(())
}

/// A push whose list of ref updates does not end.
fn push(token: &str) -> String {
    let mut text = format!(
        "POST /admin/demo.git/git-receive-pack HTTP/1.1\r\nhost: x\r\nauthorization: token {token}\r\n\
         content-type: application/x-git-receive-pack-request\r\ncontent-length: 8000000\r\n\r\n"
    );
    for number in 0..UPDATES {
        let line = format!("{} {} refs/heads/branch-{number:05}", "0".repeat(40), "a1".repeat(20));
        let _ = write!(text, "{:04x}{line}", line.len() + 4);
    }
    text
}
