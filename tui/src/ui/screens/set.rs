//! The set of all screens. Hidden screens keep their state.

use farrier_common::api::{RestorableArtifact, RestorableRepository};

use super::{
    Screen, ScreenId, artifacts::Artifacts, dashboard::Dashboard, deleted::Deleted, deliveries::Deliveries,
    hooks::Hooks, repositories::Repositories,
};

#[derive(Debug, Default)]
pub(crate) struct Screens {
    pub(crate) dashboard: Dashboard,
    pub(crate) repositories: Repositories,
    pub(crate) hooks: Hooks,
    pub(crate) deliveries: Deliveries,
    pub(crate) artifacts: Artifacts,
    pub(crate) deleted_repositories: Deleted<RestorableRepository>,
    pub(crate) deleted_artifacts: Deleted<RestorableArtifact>,
}

impl Screens {
    pub(crate) fn get(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Dashboard => &self.dashboard,
            ScreenId::Repositories => &self.repositories,
            ScreenId::Hooks => &self.hooks,
            ScreenId::Deliveries => &self.deliveries,
            ScreenId::Artifacts => &self.artifacts,
            ScreenId::DeletedRepositories => &self.deleted_repositories,
            ScreenId::DeletedArtifacts => &self.deleted_artifacts,
        }
    }

    pub(crate) fn get_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
        match id {
            ScreenId::Dashboard => &mut self.dashboard,
            ScreenId::Repositories => &mut self.repositories,
            ScreenId::Hooks => &mut self.hooks,
            ScreenId::Deliveries => &mut self.deliveries,
            ScreenId::Artifacts => &mut self.artifacts,
            ScreenId::DeletedRepositories => &mut self.deleted_repositories,
            ScreenId::DeletedArtifacts => &mut self.deleted_artifacts,
        }
    }

    /// Returns all screens, in the order of [`ScreenId::ALL`].
    pub(crate) fn all_mut(&mut self) -> [&mut dyn Screen; ScreenId::ALL.len()] {
        [
            &mut self.dashboard,
            &mut self.repositories,
            &mut self.hooks,
            &mut self.deliveries,
            &mut self.artifacts,
            &mut self.deleted_repositories,
            &mut self.deleted_artifacts,
        ]
    }
}
