//! Counts pending deliveries for status and metrics. The scan is bounded, because queues may be long.

use farrier_proto::store::Delivery;

use crate::store::{
    Read, StoreError,
    engine::{Range, Scan},
    keys,
};

/// How many deliveries wait: in line, asked for, or for their next attempt. Of each of the three no
/// more than `most` are counted.
pub async fn waiting_in_all(read: &impl Read, most: u64) -> Result<u64, StoreError> {
    let places = [Range::prefix(keys::queues()), Range::prefix(keys::all_urgent()), keys::retries(i64::MAX - 1)];
    let mut sum = 0;
    for place in places {
        sum += read.count(&place, most).await?;
    }
    Ok(sum)
}

/// The delivery that comes next in the line of each hook, for at most `most` hooks.
pub async fn heads_of_lines(read: &impl Read, most: usize) -> Result<Vec<Delivery>, StoreError> {
    let mut query = Vec::new();
    let mut range = Range::prefix(keys::queues());
    while query.len() < most {
        let pairs = read.scan_bytes(&Scan::of(range.clone(), 1)).await?;
        let Some((key, _)) = pairs.first() else { break };
        let (Some(hook), Some(delivery)) = (keys::queue_hook(key), keys::trailing_id(key)) else { break };
        query.push(delivery);
        let Some(behind) = Range::prefix(keys::queue(hook)).high else { break };
        range.low = behind;
    }
    Ok(super::many(read, &query).await?.into_iter().flatten().collect())
}
