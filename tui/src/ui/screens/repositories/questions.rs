//! Finds the objects of open questions that no longer exist.

use std::collections::HashMap;

use farrier_common::client::RepositoryPath;

use super::{Repositories, detail::Detail};
use crate::ui::{
    list::{Feed, ListView as _, Row},
    net::{ExpectedRepository, Request},
};

impl Repositories {
    /// Returns the listed repositories with these names, with their IDs.
    pub(crate) fn identified(&self, paths: &[&RepositoryPath]) -> Vec<ExpectedRepository> {
        if paths.is_empty() {
            return Vec::new();
        }
        let names: HashMap<String, &RepositoryPath> = paths.iter().map(|path| (path.to_string(), *path)).collect();
        let rows = self.repos.list.rows().iter();
        let known = rows.filter_map(|row| Some((*names.get(row.full_name())?, row.id)));
        known.map(|(path, id)| ExpectedRepository { path: path.clone(), id }).collect()
    }

    /// Returns the name of the repository, branch, tag or row of an open question that no longer exists.
    pub(super) fn lost_target(&self, request: &Request) -> Option<String> {
        match request {
            Request::DeleteRepository(path) => self.lost_repository(path),
            Request::Batch(batch) => batch.items.iter().find_map(|(_, request)| self.lost_target(request)),
            // The repository was removed or renamed, and another one can have its name by now.
            Request::DeleteBranch(path, _) | Request::DeleteTag(path, _) | Request::Manage(path, _)
                if !self.in_detail || self.detail.is_of_other(path) =>
            {
                Some(path.to_string())
            }
            request => self.detail.lost(request),
        }
    }

    /// Returns the name of a repository that was listed and no longer exists.
    fn lost_repository(&self, path: &RepositoryPath) -> Option<String> {
        let name = path.to_string();
        let is_gone = self.repos.has_all() && !self.repos.list.rows().iter().any(|repo| repo.full_name() == name);
        is_gone.then_some(name)
    }
}

impl Detail {
    /// Returns the name of the branch, tag or row of an open confirmation that no longer exists.
    fn lost(&self, request: &Request) -> Option<String> {
        fn is_lost<T: Row<Id = String>>(feed: &Feed<T>, id: &str) -> bool {
            feed.has_all() && !feed.list.rows().iter().any(|row| row.id() == id)
        }
        match request {
            Request::DeleteBranch(path, name) if self.of.as_ref() == Some(path) => {
                is_lost(&self.branches, name).then(|| name.clone())
            }
            Request::DeleteTag(path, name) if self.of.as_ref() == Some(path) => {
                is_lost(&self.content.tags, name).then(|| name.clone())
            }
            Request::Manage(path, change) if self.of.as_ref() == Some(path) => self.management.lost(change),
            _ => None,
        }
    }

    /// Returns whether the lists are those of a repository with another name.
    fn is_of_other(&self, repo: &RepositoryPath) -> bool {
        self.of.as_ref().is_some_and(|of| of != repo)
    }
}
