//! The content of one repository: files, commits and tags, and the opened file and commit.
//!
//! Owns the branch, tag or commit whose content is shown, and the directory in it. Files are shown as of one commit:
//! the daemon resolves a branch when its root directory is opened.

mod answers;
mod commit_rows;
mod describe;
mod document;
mod file_rows;
mod place;
mod tag_rows;
mod viewer;

use farrier_common::{api::Commit, client::RepositoryPath};

use self::file_rows::FileKind;
pub(super) use self::viewer::Viewer;
pub(in crate::ui::screens) use self::{file_rows::FileRow, tag_rows::TagRow};
use super::tab::RepositoryTab;
use crate::ui::{
    list::{Feed, Filter, List, ListView as _},
    net::{CommitSummary, Request},
    world::{Cmd, Env},
};

/// Number of commits that are loaded first.
const ROWS_STEP: usize = 100;
/// Older commits are loaded when fewer rows than this are left below the cursor.
const NEAR: usize = 50;
/// Above this number of loaded commits, older ones are not loaded any more.
const ROWS_MAX: usize = 16_000;

#[derive(Debug)]
pub(super) struct RepositoryContent {
    pub(super) files: Feed<FileRow>,
    pub(super) commits: Feed<CommitSummary>,
    pub(super) tags: Feed<TagRow>,
    /// The chosen branch or tag and the revision that it stands for; `None` for the default branch.
    chosen: Option<(String, String)>,
    /// The commit whose files are shown.
    commit: Option<Commit>,
    /// Whether directories are opened at this commit. Otherwise the next one shows the newest commit.
    is_pinned: bool,
    /// The directory, without slashes at its ends; empty for the root.
    directory: String,
    /// Only commits that changed this path are listed; empty for all.
    history: String,
    /// Maximum number of commits to load.
    row_limit: usize,
    file: Option<Viewer>,
    opened_commit: Option<Viewer>,
    /// The request for a file or a commit to open.
    opening: Option<Request>,
    /// The line of a place that is shown first when the file or commit is loaded.
    returning_to: usize,
    /// The repository's update time when the lists were requested.
    updated: i64,
    /// The tabs whose lists are out of date.
    outdated: Vec<RepositoryTab>,
}

impl Default for RepositoryContent {
    fn default() -> Self {
        Self {
            files: Feed::new(List::default()),
            commits: Feed::new(List::default()),
            tags: Feed::new(List::default()),
            chosen: None,
            commit: None,
            is_pinned: false,
            directory: String::new(),
            history: String::new(),
            row_limit: ROWS_STEP,
            file: None,
            opened_commit: None,
            opening: None,
            returning_to: 0,
            updated: 0,
            outdated: Vec::new(),
        }
    }
}

impl RepositoryContent {
    /// Forgets the shown repository. The order of the lists is kept.
    pub(super) fn forget(&mut self, env: &mut Env) {
        self.stop_opening(env);
        self.chosen = None;
        self.enter(String::new(), env);
        self.show_history(String::new(), env);
        self.tags.stop(env);
        self.tags.empty();
        (self.commit, self.file, self.updated) = (None, None, 0);
        self.outdated.clear();
    }

    /// Requests everything again when it is shown next; the files as of the newest commit.
    pub(super) fn refresh(&mut self) {
        self.is_pinned = false;
        self.expire();
    }

    fn expire(&mut self) {
        self.outdated = vec![RepositoryTab::Files, RepositoryTab::Commits, RepositoryTab::Tags];
    }

    /// Notices a push: the lists are requested again when they are shown next. An opened directory stays at its commit.
    pub(super) fn note_update(&mut self, updated: i64) {
        if std::mem::replace(&mut self.updated, updated) != updated {
            self.expire();
        }
    }

    /// Returns whether the list of a tab must be requested, because it is out of date or too short.
    pub(super) fn must_load(&mut self, tab: RepositoryTab) -> bool {
        let before = self.outdated.len();
        self.outdated.retain(|outdated| *outdated != tab);
        let was_outdated = self.outdated.len() < before;
        was_outdated || (tab == RepositoryTab::Commits && self.grow())
    }

    /// Raises the number of commits to load if the cursor comes near the last loaded one.
    fn grow(&mut self) -> bool {
        let loaded = self.commits.list.rows().len();
        let has_more = self.commits.has_all() && loaded >= self.row_limit;
        let is_near = !self.commits.is_waiting() && self.commits.list.below() < NEAR;
        let grows = has_more && is_near && self.row_limit < ROWS_MAX;
        if grows {
            self.row_limit = (self.row_limit * 2).min(ROWS_MAX);
        }
        grows
    }

    /// Returns the name of the branch or tag that is shown.
    pub(super) fn reference<'a>(&'a self, default_branch: &'a str) -> &'a str {
        self.chosen.as_ref().map_or(default_branch, |(name, _)| name.as_str())
    }

    /// Returns the branch or commit whose content is shown. For a tag it is the commit, because a branch may have the
    /// same name.
    pub(super) fn revision<'a>(&'a self, default_branch: &'a str) -> &'a str {
        self.chosen.as_ref().map_or(default_branch, |(_, revision)| revision.as_str())
    }

    /// Returns the request for the list of a tab.
    pub(super) fn request(&self, tab: RepositoryTab, repo: RepositoryPath, default_branch: &str) -> Option<Request> {
        let revision = self.revision(default_branch).to_owned();
        match tab {
            RepositoryTab::Files => {
                let pinned = self.commit.as_ref().map(|commit| commit.sha.clone());
                let reference = pinned.filter(|_| self.is_pinned && !self.directory.is_empty()).unwrap_or(revision);
                Some(Request::Directory { repo, reference, path: self.directory.clone() })
            }
            RepositoryTab::Commits => {
                let path = self.history.clone();
                Some(Request::Commits { repo, reference: revision, path, rows: self.row_limit })
            }
            RepositoryTab::Tags => Some(Request::Tags(repo)),
            _ => None,
        }
    }

    /// Shows the content of a branch or tag from its root directory on.
    pub(super) fn choose(&mut self, name: String, revision: String, env: &mut Env) {
        self.stop_opening(env);
        self.chosen = Some((name, revision));
        (self.file, self.opened_commit) = (None, None);
        self.enter(String::new(), env);
        self.commit = None;
        self.show_history(String::new(), env);
    }

    /// Shows another directory.
    fn enter(&mut self, directory: String, env: &mut Env) {
        self.directory = directory;
        self.files.stop(env);
        self.files.empty();
        self.files.list.set_filter(Filter::default());
    }

    /// Lists the commits that changed a path, or all.
    fn show_history(&mut self, path: String, env: &mut Env) {
        (self.history, self.row_limit) = (path, ROWS_STEP);
        self.commits.stop(env);
        self.commits.empty();
        self.commits.list.set_filter(Filter::default());
        self.opened_commit = None;
    }

    /// Returns the path of the entry under the cursor.
    fn current_path(&self) -> Option<String> {
        let name = &self.files.list.current()?.name;
        Some(if self.directory.is_empty() { name.clone() } else { format!("{}/{name}", self.directory) })
    }

    /// Lists the commits that changed the entry under the cursor. Returns whether there is one.
    pub(super) fn list_history(&mut self, env: &mut Env) -> bool {
        let Some(path) = self.current_path() else { return false };
        self.show_history(path, env);
        true
    }

    /// Opens the directory, file or commit under the cursor.
    pub(super) fn open(&mut self, tab: RepositoryTab, repo: &RepositoryPath, env: &mut Env) {
        let request = match tab {
            RepositoryTab::Files => self.open_entry(repo, env),
            RepositoryTab::Commits => {
                self.commits.list.current().map(|row| Request::Commit(repo.clone(), row.sha.clone()))
            }
            _ => None,
        };
        if let Some(request) = request {
            self.stop_opening(env);
            self.returning_to = 0;
            self.opening = Some(request.clone());
            env.send(request);
        }
    }

    fn open_entry(&mut self, repo: &RepositoryPath, env: &mut Env) -> Option<Request> {
        let (path, row) = (self.current_path()?, self.files.list.current()?);
        match row.kind {
            FileKind::Directory => self.enter(path, env),
            FileKind::Submodule => {
                let short: String = row.sha.chars().take(7).collect();
                env.notify(format!("{path} is a submodule: commit {short}"));
            }
            FileKind::File | FileKind::Executable | FileKind::Link => {
                let commit = self.commit.as_ref()?.sha.clone();
                return Some(Request::FileContent { repo: repo.clone(), commit, path });
            }
        }
        None
    }

    fn stop_opening(&mut self, env: &mut Env) -> bool {
        let stopped = self.opening.take();
        let was_opening = stopped.is_some();
        env.commands.extend(stopped.map(Cmd::Cancel));
        was_opening
    }

    /// Returns the opened file or commit of a tab.
    pub(super) fn viewer(&self, tab: RepositoryTab) -> Option<&Viewer> {
        match tab {
            RepositoryTab::Files => self.file.as_ref(),
            RepositoryTab::Commits => self.opened_commit.as_ref(),
            _ => None,
        }
    }

    pub(super) fn viewer_mut(&mut self, tab: RepositoryTab) -> Option<&mut Viewer> {
        match tab {
            RepositoryTab::Files => self.file.as_mut(),
            RepositoryTab::Commits => self.opened_commit.as_mut(),
            _ => None,
        }
    }

    /// Closes the search, the file or the commit, or stops loading it. Returns whether there was one.
    pub(super) fn close(&mut self, tab: RepositoryTab, env: &mut Env) -> bool {
        if self.viewer_mut(tab).is_some_and(Viewer::forget_search) || self.stop_opening(env) {
            return true;
        }
        let closed = match tab {
            RepositoryTab::Files => self.file.take(),
            RepositoryTab::Commits => self.opened_commit.take(),
            _ => None,
        };
        closed.is_some()
    }

    /// Goes to the parent directory, or from the commits of a path to all. Returns whether there was one.
    pub(super) fn up(&mut self, tab: RepositoryTab, env: &mut Env) -> bool {
        match tab {
            RepositoryTab::Files if !self.directory.is_empty() => {
                let directory = std::mem::take(&mut self.directory);
                let (parent, name) = directory.rsplit_once('/').unwrap_or(("", directory.as_str()));
                self.enter(parent.to_owned(), env);
                self.files.list.select(name.to_owned());
                true
            }
            RepositoryTab::Commits if !self.history.is_empty() => {
                self.show_history(String::new(), env);
                true
            }
            _ => false,
        }
    }
}
