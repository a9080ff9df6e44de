//! Queries of deliveries (lists, groups, results over time), and the actions of operators: redeliver, recover, replay,
//! test, ping.
//!
//! `delivery` makes the attempts.
//!
//! Some queries examine thousands of deliveries for each request, and so does [`recovery::recover`]. They are searches,
//! and need a share of `delivery_search`, so that clients cannot use all cores.

pub mod groups;
pub mod history;
pub mod listed;
pub mod recovery;
pub mod replay;
pub mod results;
pub mod test;
pub mod watch;

use std::time::Duration;

use super::{Context, Error};
use crate::shares::{Holder, Share};

/// How long a search waits for its share.
const QUEUE: Duration = Duration::from_secs(10);

/// Waits until `holder` may search, which it does until the share is dropped. Called before the snapshot is created,
/// which would hold old pages of the store while the request waits.
async fn search_share(context: &Context, holder: Holder) -> Result<Share, Error> {
    Ok(context.work.delivery_searches.wait(holder, QUEUE).await?)
}
