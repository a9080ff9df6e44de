//! Lists, restores and purges deleted repositories and artifacts, for administrators.
//!
//! Deletion itself belongs to `repositories` and `artifacts`. Deleted data can be restored for
//! `storage.set_aside_days`; the sweep then removes it.

pub mod artifacts;
pub mod repositories;

use super::Context;
use crate::clock::Millis;

const DAY_MS: Millis = 86_400_000;
/// Rows to read per scan.
const STEP: usize = 100;
/// Maximum number of rows that one page skips because a filter excludes them.
const SKIPPED_MAX: usize = 4_096;

/// Returns how long deleted data is kept, in milliseconds. 0: not at all.
pub fn keep_ms(context: &Context) -> Millis {
    Millis::from(context.config.storage.set_aside_days).saturating_mul(DAY_MS)
}

/// Returns until when data that was deleted at `since_ms` can be restored.
pub fn kept_until_ms(context: &Context, since_ms: Millis) -> Millis {
    since_ms.saturating_add(keep_ms(context))
}

/// Returns the latest deletion time of data whose retention is over.
pub fn retention_over_until_ms(context: &Context) -> Millis {
    context.now_ms().saturating_sub(keep_ms(context))
}

/// The filter and position of a list of deleted repositories or artifacts.
#[derive(Clone, Debug, Default)]
pub struct DeletedQuery {
    /// Only of the repository with this `owner/name`, now or when it was deleted, ignoring case. `None`: of all
    /// repositories.
    pub path: Option<String>,
    /// Start after this time of deletion and id.
    pub after: Option<(Millis, u64)>,
    /// Maximum number of entries.
    pub limit: usize,
}

impl DeletedQuery {
    fn matches(&self, path: &str) -> bool {
        self.path.as_ref().is_none_or(|expected| expected.eq_ignore_ascii_case(path))
    }
}

/// A page of deleted repositories or artifacts, last deleted first.
#[derive(Debug)]
pub struct DeletedPage<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// Position of the next page. `None`: this is the last page.
    pub next: Option<(Millis, u64)>,
}
