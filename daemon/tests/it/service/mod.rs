//! farrierd as a system service: unit files, notifications, reloads, restarts and logs.

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
