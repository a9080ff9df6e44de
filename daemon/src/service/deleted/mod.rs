//! Deleted repositories and artifacts for administrators: list, restore and purge.
//!
//! Deletion itself belongs to `repositories` and `artifacts`. Deleted data can be restored for
//! `storage.set_aside_days`; the sweep then removes it.

pub mod artifacts;
pub mod repositories;

use crate::{app::App, clock::Millis};

const DAY_MS: Millis = 86_400_000;
/// Rows that are read at a time.
const STEP: usize = 100;
/// Rows that one page passes over because a filter leaves them out.
const PASSED_MAX: usize = 4_096;

/// How long deleted data is kept, milliseconds; 0: not at all.
pub fn keep_ms(app: &App) -> Millis {
    Millis::from(app.config.storage.set_aside_days).saturating_mul(DAY_MS)
}

/// Until when data that was deleted at `since_ms` can be restored.
pub fn kept_until_ms(app: &App, since_ms: Millis) -> Millis {
    since_ms.saturating_add(keep_ms(app))
}

/// Data that was deleted at this time or before is to be removed now.
pub fn over_until_ms(app: &App) -> Millis {
    app.now_ms().saturating_sub(keep_ms(app))
}

/// Which deleted repositories or artifacts are listed.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only of the repository that had this `owner/name` when it was deleted, or that has it now; in
    /// any case. `None`: of all.
    pub path: Option<String>,
    /// Behind this time of deletion and number.
    pub after: Option<(Millis, u64)>,
    /// Maximum number of entries.
    pub limit: usize,
}

impl ListQuery {
    fn takes(&self, path: &str) -> bool {
        self.path.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(path))
    }
}

/// Entries of a list, the last deleted first, and where the next page begins.
#[derive(Debug)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// `None`: this is the last page.
    pub next: Option<(Millis, u64)>,
}
