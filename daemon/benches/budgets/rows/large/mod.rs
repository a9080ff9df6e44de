//! Repositories with many refs, after many pushes, and of several gigabytes. These rows take long, see
//! [`super::LONG`].

mod pushes;
mod refs;
mod repository;

pub(super) use self::{
    pushes::measure as measure_pushes, refs::measure as measure_refs, repository::measure as measure_repository,
};
use crate::{figures::plain, table::Table};

/// Limit of the daemon's additional resident memory, MiB.
const MEMORY_MAX: f64 = 64.0;

/// Adds a row for the additional resident memory.
fn memory(table: &mut Table, what: &str, grown: f64) {
    let text = format!("{} MiB", plain(grown));
    table.alone(&format!("{what}: more memory than idle"), text, "≤ 64 MiB", grown <= MEMORY_MAX);
}
