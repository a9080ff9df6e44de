//! Queries of deliveries (lists, groups, results over time), and the actions of operators: redeliver, recover, test,
//! ping.
//!
//! `delivery` makes the attempts.

pub mod groups;
pub mod history;
pub mod listed;
pub mod results;
pub mod test;
pub mod watch;
