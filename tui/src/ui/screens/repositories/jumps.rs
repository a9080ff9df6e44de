//! Shows branches and tags that the command line names.

use farrier_common::client::RepositoryPath;

use super::Repositories;
use crate::ui::world::Env;

impl Repositories {
    /// Returns the repository whose tabs have the focus.
    pub(crate) fn open_repository(&self) -> Option<RepositoryPath> {
        self.here().map(|(_, path)| path).filter(|_| self.in_detail)
    }

    /// Returns whether the list has a repository with this name.
    pub(crate) fn is_listed(&self, name: &str) -> bool {
        self.repos.list.rows().iter().any(|repo| repo.full_name().eq_ignore_ascii_case(name))
    }

    /// Shows the content of a branch or tag, if the repository `path` is open.
    pub(crate) fn choose_reference(&mut self, path: &RepositoryPath, reference: &str, env: &mut Env) {
        if self.is_open(path) {
            self.detail.content.choose(reference.to_owned(), reference.to_owned(), env);
            self.look(false, env);
        }
    }

    /// Returns whether the tabs show this repository. Its name may have been typed in another case.
    fn is_open(&self, path: &RepositoryPath) -> bool {
        let is_same = |of: &RepositoryPath| of.to_string().eq_ignore_ascii_case(&path.to_string());
        self.in_detail && self.detail.of.as_ref().is_some_and(is_same)
    }
}
