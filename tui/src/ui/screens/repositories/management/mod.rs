//! The lists of a repository that its administrators manage: collaborators, rules, deploy keys, releases and mirrors.
//!
//! Each is a tab of the repository. Rules, deploy keys and mirrors are short, so they are requested again at every
//! refresh of the screen; the others after a change and when the user refreshes.

mod actions;
mod answers;
mod collaborator_rows;
mod deploy_key_rows;
pub(in crate::ui::screens) mod form;
mod mirror_rows;
mod release_rows;
mod rule_rows;

use farrier_common::{
    api::{DeployKey, Release},
    client::RepositoryPath,
};

pub(in crate::ui::screens) use self::{mirror_rows::MirrorRow, rule_rows::RuleRow};
use super::tab::RepositoryTab;
use crate::ui::{
    list::{Feed, List, ListView},
    net::{Collaborator, ManagementRequest, Request},
    world::{Cmd, Env},
};

#[derive(Debug)]
pub(super) struct RepositoryManagement {
    collaborators: Feed<Collaborator>,
    rules: Feed<RuleRow>,
    deploy_keys: Feed<DeployKey>,
    releases: Feed<Release>,
    mirrors: Feed<MirrorRow>,
    /// The tabs whose lists are out of date.
    outdated: Vec<RepositoryTab>,
    /// The request for a release to open.
    opening: Option<Request>,
}

impl Default for RepositoryManagement {
    fn default() -> Self {
        Self {
            collaborators: Feed::new(List::sorted(0)),
            rules: Feed::new(List::sorted(1)),
            deploy_keys: Feed::new(List::sorted(0)),
            releases: Feed::new(List::default()),
            mirrors: Feed::new(List::default()),
            outdated: Vec::new(),
            opening: None,
        }
    }
}

impl RepositoryManagement {
    /// Returns the list of a tab; `None` for the tabs of others.
    pub(super) fn list(&self, tab: RepositoryTab) -> Option<&dyn ListView> {
        match tab {
            RepositoryTab::Collaborators => Some(&self.collaborators),
            RepositoryTab::Rules => Some(&self.rules),
            RepositoryTab::DeployKeys => Some(&self.deploy_keys),
            RepositoryTab::Releases => Some(&self.releases),
            RepositoryTab::Mirrors => Some(&self.mirrors),
            _ => None,
        }
    }

    pub(super) fn list_mut(&mut self, tab: RepositoryTab) -> Option<&mut dyn ListView> {
        match tab {
            RepositoryTab::Collaborators => Some(&mut self.collaborators),
            RepositoryTab::Rules => Some(&mut self.rules),
            RepositoryTab::DeployKeys => Some(&mut self.deploy_keys),
            RepositoryTab::Releases => Some(&mut self.releases),
            RepositoryTab::Mirrors => Some(&mut self.mirrors),
            _ => None,
        }
    }

    fn lists_mut(&mut self) -> [&mut dyn ListView; 5] {
        [&mut self.collaborators, &mut self.rules, &mut self.deploy_keys, &mut self.releases, &mut self.mirrors]
    }

    /// Returns the request for the list of a tab.
    pub(super) fn request(tab: RepositoryTab, repo: RepositoryPath) -> Option<Request> {
        let request = match tab {
            RepositoryTab::Collaborators => ManagementRequest::Collaborators,
            RepositoryTab::Rules => ManagementRequest::Rules,
            RepositoryTab::DeployKeys => ManagementRequest::DeployKeys,
            RepositoryTab::Releases => ManagementRequest::Releases,
            RepositoryTab::Mirrors => ManagementRequest::Mirrors,
            _ => return None,
        };
        Some(Request::Manage(repo, request))
    }

    /// Returns whether the list of a tab must be requested, because it is out of date. `again`: the screen is
    /// refreshed.
    pub(super) fn must_load(&mut self, tab: RepositoryTab, again: bool) -> bool {
        let before = self.outdated.len();
        self.outdated.retain(|outdated| *outdated != tab);
        let is_short = !matches!(tab, RepositoryTab::Collaborators | RepositoryTab::Releases);
        self.outdated.len() < before || (again && is_short)
    }

    /// Requests all lists again when they are shown next.
    pub(super) fn refresh(&mut self) {
        self.outdated = vec![
            RepositoryTab::Collaborators,
            RepositoryTab::Rules,
            RepositoryTab::DeployKeys,
            RepositoryTab::Releases,
            RepositoryTab::Mirrors,
        ];
    }

    /// Drops responses that may be older than a change, and requests all lists again when they are shown next.
    pub(super) fn expire(&mut self, env: &mut Env) {
        for list in self.lists_mut() {
            list.stop(env);
        }
        self.refresh();
    }

    /// Forgets the shown repository. The order of the lists is kept.
    pub(super) fn forget(&mut self, env: &mut Env) {
        self.stop_opening(env);
        for list in self.lists_mut() {
            list.stop(env);
            list.empty();
        }
        self.outdated.clear();
    }

    /// Stops loading a release to open. Returns whether one was being loaded.
    pub(super) fn stop_opening(&mut self, env: &mut Env) -> bool {
        let stopped = self.opening.take();
        let was_opening = stopped.is_some();
        env.commands.extend(stopped.map(Cmd::Cancel));
        was_opening
    }
}
