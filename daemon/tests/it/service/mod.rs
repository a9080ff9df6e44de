//! farrier as a service: its units, and what passes between the daemon and its manager.

mod activated;
mod descriptors;
mod exits;
mod figures;
mod health;
mod log;
mod log_lines;
mod notices;
mod proxied;
mod reload;
mod restart;
mod secrets;
mod units;
