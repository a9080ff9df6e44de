//! The place of the repositories screen: the repository, the tab, and what the tab shows; and the places that belong to
//! a repository.

use farrier_common::client::RepositoryPath;

use super::{Repositories, detail::Detail, tab::RepositoryTab};
use crate::ui::{
    list::ListView,
    place::ScreenPlace,
    screens::{Related, places::Placed},
    world::Env,
};

impl Placed for Repositories {
    fn place(&self) -> ScreenPlace {
        let tab = self.detail.tab;
        let place = ScreenPlace {
            list: ListView::place(&self.repos),
            tab: RepositoryTab::ALL.iter().position(|one| *one == tab).unwrap_or(0),
            is_open: self.in_detail,
            pane: self.detail.list().map(ListView::place).unwrap_or_default(),
            ..ScreenPlace::default()
        };
        if let Some(returning) = &self.detail.returning_to {
            return ScreenPlace { list: place.list, is_open: place.is_open, ..returning.clone() };
        }
        let repo = self.repos.list.current().map(|repo| repo.full_name().to_owned()).unwrap_or_default();
        if self.in_detail { self.detail.content.place(tab, place.limited("repo", repo)) } else { place }
    }

    fn restore(&mut self, place: &ScreenPlace, env: &mut Env) {
        ListView::restore(&mut self.repos, &place.list);
        self.in_detail = place.is_open;
        if !place.is_open {
            self.detail.returning_to = None;
            return;
        }
        self.detail.show_tab(RepositoryTab::ALL.get(place.tab).copied().unwrap_or(RepositoryTab::Overview), env);
        self.detail.returning_to = Some(place.clone());
        // Its lists are requested again when the repository is shown.
        self.detail.forget(env);
        self.look(false, env);
    }

    fn objects(&self) -> Option<&dyn ListView> {
        Some(&self.repos)
    }

    fn has_unloaded_objects(&self) -> bool {
        self.repos.is_cut()
    }
}

impl Repositories {
    /// Opens a commit of the repository, which is under the cursor, with its diff.
    pub(crate) fn open_commit(&mut self, path: &RepositoryPath, commit: &str, env: &mut Env) {
        let name: String = commit.chars().take(10).collect();
        let tab = RepositoryTab::ALL.iter().position(|tab| *tab == RepositoryTab::Commits).unwrap_or(0);
        let list = ListView::place(&self.repos);
        let place = ScreenPlace { list, tab, is_open: true, ..ScreenPlace::default() }
            .limited("repo", path.to_string())
            .limited("branch", name)
            .limited("revision", commit)
            .limited("commit", commit);
        self.restore(&place, env);
    }
}

/// Returns the objects that belong to a repository, and to the commit that its pane shows.
pub(super) fn related_objects(path: &RepositoryPath, id: i64, commit: Option<&str>) -> Vec<Related> {
    let name = path.to_string();
    let of_commit = commit.and_then(Related::runs_of).into_iter();
    let push = commit.and_then(|commit| Related::push(&name, commit)).into_iter();
    let all = [
        Related::artifacts_of(&name),
        Related::hooks_of(&name),
        Related::runs_in(&name),
        Related::pushes_to(&name),
        Related::repositories_of(&path.owner),
        Related::audit_of("repository", &id.to_string()),
    ];
    Related::unique(of_commit.chain(push).chain(all))
}

impl Detail {
    /// Shows what a place of the repository `path` showed, if the pane returns to one.
    pub(super) fn return_to_place(&mut self, path: &RepositoryPath, env: &mut Env) {
        if let Some(place) = self.returning_to.take_if(|place| place.limit("repo") == path.to_string()) {
            self.content.restore(&place, path, env);
            if let Some(list) = self.list_mut() {
                list.restore(&place.pane);
            }
        }
    }
}
