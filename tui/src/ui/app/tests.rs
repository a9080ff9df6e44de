//! What happens, as lists of messages; what is seen, as snapshots.

mod answers;
mod artifacts;
mod away;
mod budgets;
mod comfort;
mod commands;
mod dashboard;
mod deliveries;
mod failed;
mod forms;
mod hooks;
mod keys;
mod lists;
mod panes;
mod parts;
mod pictures;
mod prelude;
mod pulse;
mod questions;
mod repositories;
mod scenes;
mod silence;
mod sizes;
mod story;
mod transfers;
mod typing;
