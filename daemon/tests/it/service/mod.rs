//! farrier as a service: its units, and what passes between the daemon and its manager.

mod descriptors;
mod figures;
mod health;
mod log;
mod notices;
mod proxied;
mod reload;
mod restart;
mod secrets;
mod units;
