//! Takes the leases of shards of deliveries, and gives them back, so that all nodes have equally many.

use std::{error::Error as StdError, time::Duration};

use tokio::time::Instant;

use super::Context;
use crate::{
    delivery::ShardState,
    hints::Topic,
    store::{
        StoreError, Tx,
        delivery_shards::{COUNT, ShardTable, lease_name},
        leases::{self, HeldLease},
    },
};

/// Interval at which the leases are read while there are other nodes.
const POLL: Duration = Duration::from_secs(2);
/// Interval while there are none.
const POLL_ALONE: Duration = Duration::from_secs(5);
/// Pause after an error, and after another node was faster.
const PAUSE: Duration = Duration::from_millis(500);
/// Time beyond `server.drain_grace_secs` in which the leases are given back when the daemon stops.
const GIVE_BACK_TIME: Duration = Duration::from_secs(2);

/// Runs until the daemon stops, and then gives all leases back. Does nothing if no other process can use the store.
pub async fn run(context: Context) {
    let stop = context.tasks.stop().clone();
    if !context.store.is_shared() {
        stop.cancelled().await;
        return context.shards.close();
    }
    tokio::select! {
        () = stop.cancelled() => {}
        () = keep_share(&context) => {}
    }
    give_back_all(&context).await;
    context.hints.add(Topic::Nodes);
    context.shards.close();
}

/// Reads the leases at intervals, and after each change that this node knows of.
async fn keep_share(context: &Context) {
    let (shards, clock) = (&context.shards, &context.clock);
    let mut renewals = context.node.renewals();
    let mut checked_epoch = None;
    loop {
        let renewed = *renewals.borrow_and_update();
        // A node that was renewed in time still has its leases.
        let was_sure = shards.is_sure(clock) && checked_epoch == Some(renewed.epoch());
        if was_sure {
            shards.set_sure_until(renewed.sure_until_ms());
        }
        let pause = match pass(context, renewed.epoch()).await {
            Ok(pause) => {
                shards.set_sure_until(renewed.sure_until_ms());
                checked_epoch = Some(renewed.epoch());
                if !was_sure {
                    // Workers end while it is not sure.
                    context.outbox.announce_any();
                }
                pause
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn StdError, "the shards of deliveries cannot be read");
                PAUSE
            }
        };
        tokio::select! {
            // Does not fail: the context has the sender.
            _ = renewals.changed() => {}
            () = shards.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Compares the shards of this node with its share. Gives back, takes, and ends the workers of shards that it has lost.
/// Returns the pause until the next pass.
async fn pass(context: &Context, epoch: u64) -> Result<Duration, StoreError> {
    let (shards, own) = (&context.shards, context.node.id());
    let table = ShardTable::read(&context.store.read().await?, context.now_ms()).await?;
    let has_others = table.nodes.iter().any(|node| node.id != own);
    context.hints.set_has_others(has_others);
    let lost = |shard: usize, lease: HeldLease| !lease.is(&table.leases[shard]) || lease.epoch() != epoch;
    let mut serving = Vec::new();
    let (mut ended, mut ended_leases, mut must_check) = (Vec::new(), Vec::new(), false);
    for (shard, state) in shards.states().into_iter().enumerate() {
        match state {
            ShardState::Serving(lease) if lost(shard, lease) => {
                shards.end(shard);
                must_check = true;
            }
            ShardState::Serving(_) => serving.push(shard),
            // Another node may have it already.
            ShardState::Ended(lease) if lost(shard, lease) => shards.forget(shard),
            ShardState::Ended(lease) => {
                ended.push(shard);
                ended_leases.push(lease);
            }
            ShardState::Ending(_) | ShardState::None => {}
        }
    }
    let Some(share) = table.share_of(own, epoch) else { return Ok(PAUSE) };
    serving.sort_by_key(|shard| !table.prefers(own, *shard));
    for shard in serving.iter().skip(share) {
        shards.end(*shard);
    }
    give_back(context, &ended, &ended_leases).await?;
    let missing = share.saturating_sub(serving.len());
    // Shards without running workers have ended at once.
    if must_check || serving.len() > share || !ended.is_empty() && missing > 0 {
        shards.check();
    }
    let states = shards.states();
    let is_free = |shard: &usize| table.is_free(*shard) && states[*shard] == ShardState::None;
    let mut free: Vec<usize> = (0..COUNT).filter(is_free).collect();
    free.sort_by_key(|shard| !table.prefers(own, *shard));
    free.truncate(missing);
    let taken = take(context, &free, epoch).await?;
    let pause = if taken < free.len() { PAUSE } else { POLL };
    Ok(if has_others { pause } else { pause.max(POLL_ALONE) })
}

/// Takes free shards. Returns how many of them this node serves now.
async fn take(context: &Context, free: &[usize], epoch: u64) -> Result<usize, StoreError> {
    if free.is_empty() {
        return Ok(0);
    }
    let names: Vec<&'static str> = free.iter().map(|shard| lease_name(*shard)).collect();
    let (own, now) = ((context.node.id(), epoch), context.now_ms());
    let taken = context.store.write(async |tx: Tx| leases::take_all(&tx, &names, own, now).await).await?;
    let mut count = 0;
    for (shard, lease) in free.iter().zip(taken) {
        if let Some(lease) = lease {
            context.shards.begin(*shard, lease);
            count += 1;
        }
    }
    // The queues of the new shards are not known yet.
    context.outbox.announce_any();
    Ok(count)
}

/// Gives back shards whose workers have ended, and notifies the other nodes.
async fn give_back(context: &Context, shards: &[usize], held: &[HeldLease]) -> Result<(), StoreError> {
    if shards.is_empty() {
        return Ok(());
    }
    context.store.write(async |tx: Tx| leases::give_back(&tx, held).await).await?;
    for shard in shards {
        context.shards.forget(*shard);
    }
    context.hints.add(Topic::Nodes);
    Ok(())
}

/// Gives back each shard as soon as its workers have ended. They end after their current attempts.
async fn give_back_all(context: &Context) {
    let deadline = Instant::now() + context.config.server.drain_grace + GIVE_BACK_TIME;
    loop {
        let (mut ended, mut held, mut is_serving) = (Vec::new(), Vec::new(), false);
        for (shard, state) in context.shards.states().into_iter().enumerate() {
            match state {
                ShardState::Ended(lease) => {
                    ended.push(shard);
                    held.push(lease);
                }
                ShardState::Serving(_) | ShardState::Ending(_) => is_serving = true,
                ShardState::None => {}
            }
        }
        if let Err(error) = give_back(context, &ended, &held).await {
            return tracing::debug!(error = &error as &dyn StdError, "the shards of deliveries end in a few seconds");
        }
        if !is_serving {
            return;
        }
        tokio::select! {
            () = context.shards.changed() => {}
            () = tokio::time::sleep_until(deadline) => return,
        }
    }
}
