//! Reconcilers: background work that looks at the state, not at a message.
//!
//! Each takes no input. Woken by a signal or by the time at which something is due, it does a
//! bounded batch of what the store says is missing. With nothing due it does not wake at all.

mod deliver;
mod history;
mod outbox;
mod prune;
mod results;
mod sweep;
mod wake;

pub use self::{
    deliver::run as run_deliver, history::Growth, outbox::Outbox, prune::run as run_prune, results::Results,
    sweep::run as run_sweep, wake::Wake,
};
