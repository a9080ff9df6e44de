//! All screens: each is kept while another one is looked at.

use super::{
    Screen, ScreenId, artifacts::Artifacts, dashboard::Dashboard, deliveries::Deliveries, hooks::Hooks,
    repositories::Repositories,
};

#[derive(Debug, Default)]
pub(crate) struct Screens {
    pub(crate) dashboard: Dashboard,
    pub(crate) repositories: Repositories,
    pub(crate) hooks: Hooks,
    pub(crate) deliveries: Deliveries,
    pub(crate) artifacts: Artifacts,
}

impl Screens {
    pub(crate) fn one(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Dashboard => &self.dashboard,
            ScreenId::Repositories => &self.repositories,
            ScreenId::Hooks => &self.hooks,
            ScreenId::Deliveries => &self.deliveries,
            ScreenId::Artifacts => &self.artifacts,
        }
    }

    pub(crate) fn one_mut(&mut self, id: ScreenId) -> &mut dyn Screen {
        match id {
            ScreenId::Dashboard => &mut self.dashboard,
            ScreenId::Repositories => &mut self.repositories,
            ScreenId::Hooks => &mut self.hooks,
            ScreenId::Deliveries => &mut self.deliveries,
            ScreenId::Artifacts => &mut self.artifacts,
        }
    }

    /// Each of them, in the order of their digits.
    pub(crate) fn each_mut(&mut self) -> [&mut dyn Screen; ScreenId::ALL.len()] {
        [&mut self.dashboard, &mut self.repositories, &mut self.hooks, &mut self.deliveries, &mut self.artifacts]
    }
}
