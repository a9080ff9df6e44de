//! The search of the daemon for runs with the words in the filter.

use super::{ROWS_STEP, Runs};
use crate::ui::{list::ListView as _, words, world::Env};

/// Longest text that the daemon accepts, in bytes.
const TEXT_MAX_BYTES: usize = 512;
/// Columns whose texts are parts of the text in which the daemon looks for words.
const TEXTS: [&str; 4] = ["repo", "workflow", "branch", "commit"];
/// A search is repeated less often for each time that the daemon examines this number of runs.
const EXAMINED_STEP: i64 = 20_000;

impl Runs {
    /// Returns the words that the daemon looks for. Empty if all runs are loaded.
    pub(super) fn text_for_daemon(&self) -> String {
        if self.is_complete {
            return String::new();
        }
        self.rows.list.filter().required_words(&TEXTS, TEXT_MAX_BYTES)
    }

    /// Requests the runs with the words in the filter, unless they are loaded or requested. The shown rows stay until
    /// the response arrives.
    pub(super) fn request_filtered(&mut self, env: &mut Env) {
        if self.rows.was_requested() && self.text_for_daemon() != self.requested_text {
            self.row_limit = ROWS_STEP;
            self.rows.stop(env);
            self.request_rows(env);
        }
    }

    /// Returns how many intervals longer to wait before a search is repeated.
    pub(super) fn search_steps(&self) -> u32 {
        u32::try_from(self.searched.examined.unwrap_or_default() / EXAMINED_STEP).unwrap_or(u32::MAX)
    }

    /// Formats how far the daemon has searched. `None` if it has not.
    pub(super) fn search_text(&self) -> Option<String> {
        if self.rows.is_waiting() && !self.requested_text.is_empty() {
            return Some("searching on the daemon".to_owned());
        }
        let examined = words::count(self.searched.examined?);
        let is_cut = self.searched.more;
        Some(if is_cut { format!("searched the newest {examined} runs") } else { "searched all runs".to_owned() })
    }
}
