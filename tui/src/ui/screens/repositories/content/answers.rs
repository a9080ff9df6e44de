//! Handles responses about the content of a repository.

use super::{FileRow, RepositoryContent, TagRow, document, viewer::Viewer};
use crate::ui::{
    list::ListView as _,
    net::{Answer, CommitSummary, Directory, Page, Problem, Request},
    world::Env,
};

impl RepositoryContent {
    /// Handles a response for the lists, or for the file or commit to open.
    pub(in crate::ui::screens::repositories) fn answered(
        &mut self,
        request: &Request,
        result: &Result<Answer, Problem>,
        env: &mut Env,
    ) {
        match (request, result) {
            (Request::Directory { .. }, Ok(Answer::Directory(found))) if self.files.awaits(request) => {
                self.take_directory(found, env);
            }
            (Request::Commits { .. }, Ok(Answer::Commits(page))) if self.commits.awaits(request) => {
                let items = page.items.iter().map(CommitSummary::from).collect();
                self.commits.take(Page { items, total: page.total, last: page.last }, env.world);
            }
            (Request::Tags(_), Ok(Answer::Tags(page))) if self.tags.awaits(request) => {
                let items = page.items.iter().map(TagRow::from).collect();
                self.tags.take(Page { items, total: page.total, last: page.last }, env.world);
            }
            (request, result) if self.opening.as_ref() == Some(request) => {
                self.opening = None;
                match (request, result) {
                    (Request::FileContent { commit, path, .. }, Ok(Answer::FileContent(excerpt))) => {
                        let viewer = Viewer::new(document::of_file(path, excerpt)).of(commit, path);
                        self.file = Some(self.returned_to(viewer));
                    }
                    (Request::Commit(_, sha), Ok(Answer::Commit(found))) => {
                        let document = document::of_commit(&found.0, &found.1, &env.world.clock);
                        let viewer = Viewer::new(document).of(sha, "");
                        self.opened_commit = Some(self.returned_to(viewer));
                    }
                    (_, Err(problem)) => env.warn(problem.line()),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn take_directory(&mut self, found: &Directory, env: &mut Env) {
        // During a refresh, the old rows stay until the last page.
        if found.entries.last || !self.files.has_all() {
            if found.path != self.directory {
                env.notify(format!("{} no longer exists", self.directory));
                self.directory.clone_from(&found.path);
            }
            (self.commit, self.is_pinned) = (Some(found.commit.clone()), true);
        }
        let items = found.entries.items.iter().map(FileRow::from).collect();
        self.files.take(Page { items, total: found.entries.total, last: found.entries.last }, env.world);
    }
}
