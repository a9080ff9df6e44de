//! farrierd as a system service: unit files, notifications, reloads, restarts and logs.

mod descriptors;
mod exec_paths;
mod exits;
mod health;
mod log;
mod log_lines;
mod log_records;
mod metrics;
mod nginx;
mod notifications;
mod reload;
mod restart;
mod secrets;
mod socket_activation;
mod units;
