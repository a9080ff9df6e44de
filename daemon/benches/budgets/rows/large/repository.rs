//! A repository of several gigabytes.

use std::{path::Path, time::Instant};

use super::memory;
use crate::{
    Result,
    farrier::Farrier,
    figures::{megabytes_per_second, mib, plain},
    plan::Plan,
    rows::{
        cluster::scene::{Cluster, Servers, cold_copy, url},
        git::{
            fetch_request,
            fixture::{self, BRANCH, git_at},
            post,
        },
        peak, quiet, settle,
    },
    table::Table,
};

/// Larger than the default, so that the repository can be pushed at once.
const CONFIG: &str = "[git]\nmax_push_bytes = 1099511627776\n";
/// Size of the read buffer, bytes.
const ROOM: usize = 256 << 10;

pub(in crate::rows) async fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    let bare = fixture::make_large(&plan.dir("large-git")?, plan.large_mib).await?;
    let tip = git_at(&bare, &["rev-parse", BRANCH]).await?;
    let dir = plan.dir("large-redb")?;
    let farrier = Farrier::configured(&dir, CONFIG).await?;
    push(plan, table, &farrier, &bare, "redb and local files").await?;
    clone(table, &farrier, &tip).await?;
    farrier.stop()?;
    std::fs::remove_dir_all(&dir)?;

    let Some(servers) = Servers::start(plan, "large repository", table).await? else { return Ok(()) };
    let cluster = Cluster::new(plan, &servers, "large", CONFIG)?;
    let farrier = cluster.start(0).await?;
    push(plan, table, &farrier, &bare, "PostgreSQL and a bucket").await?;
    farrier.stop()?;
    // The first daemon is the one without a copy, so that there is only one copy at a time.
    let copy = cold_copy(&cluster, 0, "large", &tip).await?;
    let bytes = (plan.large_mib as u64) << 20;
    let rate = plain(megabytes_per_second(bytes, copy.elapsed));
    let text = format!("{} s, {rate} MB/s", plain(copy.elapsed.as_secs_f64()));
    table.value(&format!("cold copy of {} MiB until a commit is served", plan.large_mib), text);
    memory(table, "the cold copy", mib(copy.grown));
    Ok(())
}

async fn push(plan: &Plan, table: &mut Table, farrier: &Farrier, bare: &Path, name: &str) -> Result<()> {
    farrier.repository("large").await?;
    let url = url(farrier, &farrier.token().await?, "large")?;
    settle().await;
    let (idle, begun) = (farrier.watch().resident()?, Instant::now());
    let spec = format!("{BRANCH}:{BRANCH}");
    let (_, highest) = peak(farrier.watch(), git_at(bare, &["push", "--quiet", &url, &spec])).await?;
    let elapsed = begun.elapsed();
    let rate = plain(megabytes_per_second((plan.large_mib as u64) << 20, elapsed));
    let what = format!("push of {} MiB, {name}", plan.large_mib);
    table.value(&what, format!("{} s, {rate} MB/s", plain(elapsed.as_secs_f64())));
    memory(table, &what, mib(highest.saturating_sub(idle)));
    quiet(farrier.watch()).await
}

/// Requests the whole repository and discards it.
async fn clone(table: &mut Table, farrier: &Farrier, tip: &str) -> Result<()> {
    let request = post("/admin/large.git/git-upload-pack", &fetch_request(tip, &[]));
    let (idle, begun) = (farrier.watch().resident()?, Instant::now());
    let (bytes, highest) = peak(farrier.watch(), async {
        let mut connection = farrier.tcp.connect().await?;
        connection.send(&request).await?;
        connection.discard_body(&mut vec![0; ROOM]).await
    })
    .await?;
    let rate = plain(megabytes_per_second(bytes, begun.elapsed()));
    table.value("a clone of it", format!("{} s, {rate} MB/s", plain(begun.elapsed().as_secs_f64())));
    memory(table, "the clone", mib(highest.saturating_sub(idle)));
    Ok(())
}
