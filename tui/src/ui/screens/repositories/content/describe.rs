//! Describes what is shown of a repository, and the row under the cursor.

use super::RepositoryContent;
use crate::{
    output::clean_line,
    ui::{list::ListView as _, net::Request, screens::repositories::tab::RepositoryTab, times::Clock, words},
};

impl RepositoryContent {
    /// Returns what the lists show: `main  src/ui/`, and the commit of the files.
    pub(in crate::ui::screens::repositories) fn heading(
        &self,
        tab: RepositoryTab,
        default_branch: &str,
        clock: &Clock,
    ) -> (String, String) {
        let reference = self.reference(default_branch);
        if tab == RepositoryTab::Commits {
            let of = if self.history.is_empty() { String::new() } else { format!("  {}", self.history) };
            return (format!("{reference}{of}"), String::new());
        }
        let directory = if self.directory.is_empty() { String::new() } else { format!("{}/", self.directory) };
        let commit = self.commit.as_ref().map(|commit| {
            let short: String = commit.sha.chars().take(7).collect();
            format!("{short}  {} ago", clock.since(words::seconds(&commit.created)))
        });
        (format!("{reference}  {directory}"), commit.unwrap_or_default())
    }

    /// Returns the left half of the status line of a tab.
    pub(in crate::ui::screens::repositories) fn status(&self, tab: RepositoryTab) -> Option<String> {
        let is_of_tab = |request: &&Request| {
            matches!(
                (tab, request),
                (RepositoryTab::Files, Request::FileContent { .. }) | (RepositoryTab::Commits, Request::Commit(..))
            )
        };
        if let Some(request) = self.opening.as_ref().filter(is_of_tab) {
            return Some(format!("{} …  Esc stops", request.doing()));
        }
        if let Some(viewer) = self.viewer(tab) {
            return Some(viewer.status());
        }
        // The total is shown beside the tabs. The daemon does not search in commits.
        (tab == RepositoryTab::Commits).then(|| {
            let is_full = self.commits.has_all() && self.commits.list.rows().len() >= self.row_limit;
            let note = if is_full || self.commits.is_cut() { self.commits.list.loaded_rows_note() } else { "" };
            self.commits.list.status_text(self.commits.total) + note
        })
    }

    /// Returns the texts to copy for the row under the cursor: key, label and text. Paths and titles can contain line
    /// breaks and escape sequences, which must not reach the shell that they are pasted into.
    pub(in crate::ui::screens::repositories) fn copies(&self, tab: RepositoryTab) -> Vec<(char, &'static str, String)> {
        match tab {
            RepositoryTab::Files => {
                let path = self.current_path().map(|path| ('p', "path", clean_line(&path).into_owned()));
                let id = self.files.list.current().map(|row| ('i', "object", row.sha.clone()));
                let commit = self.commit.as_ref().map(|commit| ('c', "commit", commit.sha.clone()));
                path.into_iter().chain(id).chain(commit).collect()
            }
            RepositoryTab::Commits => {
                let row = self.commits.list.current();
                row.map_or_else(Vec::new, |row| {
                    vec![('c', "commit", row.sha.clone()), ('t', "title", clean_line(&row.title).into_owned())]
                })
            }
            RepositoryTab::Tags => {
                let row = self.tags.list.current();
                row.map_or_else(Vec::new, |row| {
                    vec![('t', "tag", row.name.clone()), ('c', "commit", row.commit.clone())]
                })
            }
            _ => Vec::new(),
        }
    }

    /// Returns the commit of the row under the cursor, or of the files.
    pub(in crate::ui::screens::repositories) fn current_commit(&self, tab: RepositoryTab) -> Option<&str> {
        match tab {
            RepositoryTab::Files => self.commit.as_ref().map(|commit| commit.sha.as_str()),
            RepositoryTab::Commits => self.commits.list.current().map(|row| row.sha.as_str()),
            RepositoryTab::Tags => self.tags.list.current().map(|row| row.commit.as_str()),
            _ => None,
        }
    }

    /// Returns the tag under the cursor: its name and its commit.
    pub(in crate::ui::screens::repositories) fn current_tag(&self) -> Option<(&str, &str)> {
        self.tags.list.current().map(|row| (row.name.as_str(), row.commit.as_str()))
    }
}
