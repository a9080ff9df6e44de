//! What happens, as lists of messages; what is seen, as snapshots.

mod artifacts;
mod away;
mod budgets;
mod comfort;
mod commands;
mod failed;
mod forms;
mod lists;
mod parts;
mod pictures;
mod prelude;
mod questions;
mod scenes;
mod sizes;
mod story;
mod updates;
mod work;
