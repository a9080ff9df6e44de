//! Deliveries of webhooks: making attempts, looking at them, asking for them again.

pub mod attempt;
mod complete;
pub mod history;
pub mod known;
pub mod metrics;
pub mod sweep;
pub mod test;
pub mod watch;
