//! The place in the content of a repository: the branch, the directory, and the opened file or commit.

use farrier_common::client::RepositoryPath;

use super::{RepositoryContent, viewer::Viewer};
use crate::ui::{net::Request, place::ScreenPlace, screens::repositories::tab::RepositoryTab, world::Env};

impl RepositoryContent {
    /// Adds what a tab shows to a place.
    pub(in crate::ui::screens::repositories) fn place(&self, tab: RepositoryTab, place: ScreenPlace) -> ScreenPlace {
        let (name, revision) = self.chosen.as_ref().map_or(("", ""), |(name, at)| (name.as_str(), at.as_str()));
        let place = place
            .limited("branch", name)
            .limited("revision", revision)
            .limited("directory", self.directory.clone())
            .limited("history", self.history.clone());
        match self.viewer(tab) {
            Some(viewer) => {
                let (commit, path) = viewer.source();
                ScreenPlace { top: viewer.first_line(), ..place }.limited("commit", commit).limited("file", path)
            }
            None => place,
        }
    }

    /// Returns to a place of the repository `repo`. The lists are requested by the caller.
    pub(in crate::ui::screens::repositories) fn restore(
        &mut self,
        place: &ScreenPlace,
        repo: &RepositoryPath,
        env: &mut Env,
    ) {
        let limit = |name: &str| place.limit(name).to_owned();
        self.chosen = (!limit("branch").is_empty()).then(|| (limit("branch"), limit("revision")));
        (self.directory, self.history) = (limit("directory"), limit("history"));
        let (commit, path) = (limit("commit"), limit("file"));
        if !commit.is_empty() {
            let request = if path.is_empty() {
                Request::Commit(repo.clone(), commit)
            } else {
                Request::FileContent { repo: repo.clone(), commit, path }
            };
            self.stop_opening(env);
            self.opening = Some(request.clone());
            self.returning_to = place.top;
            env.send(request);
        }
    }

    /// Returns a document from the line of a place on, or from its beginning.
    pub(super) fn returned_to(&mut self, viewer: Viewer) -> Viewer {
        viewer.at_line(std::mem::take(&mut self.returning_to))
    }
}
