//! Exchanges hints with the other nodes, so that a change on one node wakes the readers on all.
//!
//! This is the only place that sends hints and raises local signals for those of others. A hint can be lost. So while
//! other nodes are alive, the signals are also raised at intervals, and when the channel is opened again.

use std::{error::Error as StdError, time::Duration};

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::Context;
use crate::{
    clock::Millis,
    hints::{DueWork, Hint, Topic},
    store::{
        StoreError,
        engine::{HINT_MAX_BYTES, HintChannel},
    },
};

/// Shortest time between two hints.
const PAUSE: Duration = Duration::from_millis(20);
/// Interval at which signals are raised without a hint.
const POLL: Duration = Duration::from_secs(1);
/// Number of polls after which also those signals are raised that lead to many reads. While hints cannot be received,
/// every poll raises them.
const POLLS_PER_FULL_POLL: u32 = 60;
/// Interval at which the daemon looks for other nodes while there are none.
const POLL_ALONE: Duration = Duration::from_secs(5);

/// Time for the last hint when the daemon stops.
const LAST_HINT_TIME: Duration = Duration::from_secs(1);

/// The topics that each poll raises. Their readers make few reads if nothing has changed.
const POLLED: [Topic; 5] = [Topic::Audit, Topic::Events, Topic::FanOut, Topic::Queues, Topic::Results];
/// The work whose due times are read again by each full poll. Pruning reads all repositories.
const POLLED_WORK: [DueWork; 2] = [DueWork::Mirrors, DueWork::Sweep];

/// Exchanges hints until the daemon stops. Does nothing if no other process can use the store.
pub async fn run(context: Context) {
    if !context.store.is_shared() {
        return context.tasks.stop().cancelled().await;
    }
    let exchange = async {
        let mut is_reported = false;
        loop {
            match exchange(&context, &mut is_reported).await {
                Ok(()) => return,
                Err(error) if !is_reported => {
                    is_reported = true;
                    let error = &error as &dyn StdError;
                    tracing::warn!(error, "hints cannot be exchanged with other nodes; changes are polled");
                }
                Err(_) => {}
            }
            tokio::time::sleep(POLL).await;
            if context.hints.has_others() {
                raise(&context, &everything(&context, &POLLED_WORK));
            }
        }
    };
    let ended = async {
        context.shards.closed().await;
        tokio::time::sleep(LAST_HINT_TIME).await;
    };
    tokio::select! {
        () = ended => {}
        () = exchange => {}
    }
}

/// Opens a channel and exchanges hints until it fails. Returns when the daemon has stopped its work under leases.
async fn exchange(context: &Context, is_reported: &mut bool) -> Result<(), StoreError> {
    let Some(mut channel) = context.store.hints().await? else {
        context.shards.closed().await;
        return Ok(());
    };
    if std::mem::take(is_reported) {
        tracing::info!("hints are exchanged with other nodes again");
    }
    // Hints may have been lost before the channel was open. Others may not know yet that this node is alive.
    raise(context, &everything(context, &DueWork::ALL));
    send(channel.as_mut(), &Hint { topics: [Topic::Nodes].into(), ..Hint::default() }).await?;
    let mut next_send = Instant::now();
    let mut polls: u32 = 0;
    let mut next_poll = Instant::now() + POLL;
    loop {
        let outgoing = async {
            tokio::time::sleep_until(next_send).await;
            context.hints.taken().await
        };
        tokio::select! {
            hint = outgoing => {
                send(channel.as_mut(), &hint).await?;
                next_send = Instant::now() + PAUSE;
            }
            hint = channel.receive() => raise(context, &Hint::decode(&hint?)),
            () = context.shards.closed() => {
                if let Some(hint) = context.hints.taken().now_or_never() {
                    send(channel.as_mut(), &hint).await?;
                }
                return Ok(());
            }
            () = tokio::time::sleep_until(next_poll) => {
                let has_others = context.hints.has_others();
                next_poll = Instant::now() + if has_others { POLL } else { POLL_ALONE };
                if has_others {
                    polls += 1;
                    let is_full = polls.is_multiple_of(POLLS_PER_FULL_POLL);
                    let polled = Hint { topics: POLLED.into(), ..Hint::default() };
                    raise(context, &if is_full { everything(context, &POLLED_WORK) } else { polled });
                }
            }
        }
    }
}

async fn send(channel: &mut dyn HintChannel, hint: &Hint) -> Result<(), StoreError> {
    Ok(channel.send(&hint.encode(HINT_MAX_BYTES)).await?)
}

/// Returns a hint that everything may have changed, and that `work` may be due.
fn everything(context: &Context, work: &[DueWork]) -> Hint {
    let now = context.now_ms();
    Hint { topics: Topic::ALL.into(), due: work.iter().map(|work| (*work, now)).collect(), ..Hint::default() }
}

/// Raises the local signals for the changes of a hint. None of them is sent to other nodes.
fn raise(context: &Context, hint: &Hint) {
    for topic in &hint.topics {
        match topic {
            Topic::Access => context.access_changes.notify_here(),
            Topic::Audit => context.audit.wake(),
            Topic::Events => context.events.notify_here(),
            Topic::FanOut => context.backlog.wake_here(),
            Topic::Nodes => context.shards.check(),
            Topic::Queues => context.outbox.announce_any(),
            Topic::Results => context.results.any_recorded(),
        }
    }
    for (work, at_ms) in &hint.due {
        due(context, *work, *at_ms);
    }
    context.outbox.announce_here(hint.hooks.iter().map(|(hook, urgent)| (*hook, *urgent)));
}

fn due(context: &Context, work: DueWork, at_ms: Millis) {
    match work {
        DueWork::Mirrors => context.mirrors.due_here_at(at_ms),
        DueWork::Pruning => context.pruning.due_here_at(at_ms),
        DueWork::Sweep => context.sweep.due_here_at(at_ms),
    }
}
