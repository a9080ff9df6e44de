//! Queries of deliveries, and the actions of operators: redeliver, recover, test, ping.
//!
//! Attempts are made by `delivery`.

pub mod history;
pub mod known;
pub mod test;
pub mod watch;
