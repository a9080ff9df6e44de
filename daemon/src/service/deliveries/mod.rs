//! Queries of deliveries, and the actions of operators: redeliver, recover, test, ping.
//!
//! `delivery` makes the attempts.

pub mod history;
pub mod listed;
pub mod test;
pub mod watch;
