//! Git over HTTP, tested with the real git as the client.

mod access;
mod bucket;
mod bundles;
mod commands_of_push;
mod events;
mod fetch;
pub(crate) mod fetch_cache;
mod followed_copies;
mod hand_edits;
mod limits;
mod lost_answers;
mod manifests;
mod nodes;
mod prune;
mod push;
mod races;
mod refs;
mod removed_copies;
mod small_packs;
mod tidying;
mod two_nodes;
mod wire;

use crate::support::TestDaemon;

/// A daemon with the repository `admin/demo`, and the URL for pushes to it.
async fn demo() -> (TestDaemon, String) {
    let farrier = TestDaemon::start().await;
    let remote = demo_of(&farrier).await;
    (farrier, remote)
}

async fn demo_of(farrier: &TestDaemon) -> String {
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    farrier.remote("admin/demo", &token)
}
