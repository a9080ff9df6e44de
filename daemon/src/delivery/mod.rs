//! The path of a delivery, from the subscription of a hook to the recorded result.
//!
//! 1. [`fan_out`] decides which hooks get an event, builds the body with [`payload`], and enqueues one delivery per
//!    hook: in the transaction that records the event if these are few, otherwise in bounded steps after it. After each
//!    commit, the hooks are announced in the [`Outbox`].
//! 2. The dispatcher ([`run`]) starts or wakes a worker for each announced hook and for each retry that is due.
//! 3. A worker claims deliveries from the queue of its hook, waits for a permit of the concurrency limits, and makes
//!    one attempt at a time: [`attempt`] reads the hook, builds the request and sends it with `webhook::Client`;
//!    [`retry`] decides what comes next. Before the first attempt of a push, `completion` adds the commits to the
//!    payload.
//! 4. The recorder writes the results of all workers in common transactions and releases the claims.
//!
//! A [`PreparedReplay`] is sent outside this path: once, at the request of an operator, without a row and without an
//! effect on the hook.
//!
//! The queues are rows of `store::deliveries`. Claims exist only in memory: after a crash, a delivery without a
//! recorded result is still in its queue and is sent again. `webhook` below this module is the HTTP client: requests,
//! signatures, addresses, TLS. `service::deliveries` above it has the queries and the actions of operators.

pub mod attempt;
mod completion;
mod context;
mod dispatcher;
mod event_kind;
mod exchange;
pub mod fan_out;
mod growth;
mod limits;
mod outbox;
pub mod payload;
mod recorder;
mod replay;
mod results;
pub mod retention;
pub mod retry;
mod shards;
mod subscriber;
mod worker;
mod worker_handle;

pub use self::{
    completion::{Completions, DeliveryError},
    context::{DeliveryContext, DeliveryFields},
    dispatcher::run,
    event_kind::{Actor, EventKind, KINDS, Subject},
    fan_out::Backlog,
    growth::HistoryGrowth,
    outbox::Outbox,
    replay::{PreparedReplay, ReplayError, SentReplay},
    results::Results,
    shards::{ShardState, Shards},
};
