//! Actions on the hooks and artifacts in the tabs of a repository. The screens of hooks and of artifacts handle the
//! responses.

use farrier_common::client::{HookOwner, RepositoryPath};

use super::{Repositories, tab::RepositoryTab};
use crate::ui::{
    bulk::BulkAction,
    keymap::Action,
    layer::Layer,
    net::{Existing, Request},
    screens::{
        ScreenId,
        hooks::actions::{delete_one_question, recover_question, switched},
    },
    world::{Cmd, Env},
};

impl Repositories {
    /// Carries out an action on the hooks or artifacts of the shown tab. Returns whether there was one.
    pub(super) fn act_on_part(&self, action: Action, env: &mut Env) -> bool {
        let Some((_, path)) = self.here().filter(|_| self.in_detail && self.shows_current()) else { return false };
        match self.detail.tab {
            RepositoryTab::Hooks => self.act_on_hook(action, path, env),
            RepositoryTab::Artifacts => self.act_on_artifacts(action, &path, env),
            _ => false,
        }
    }

    fn act_on_hook(&self, action: Action, path: RepositoryPath, env: &mut Env) -> bool {
        let Ok(Some(hook)) = self.detail.hooks.list.target() else { return false };
        let owner = HookOwner::Repository(path);
        let question = |layer: Layer| Cmd::OpenFor(ScreenId::Hooks, Box::new(layer));
        env.push(match action {
            Action::Toggle => Cmd::SendFor(ScreenId::Hooks, switched(owner, hook.id, !hook.is_active())),
            Action::Test => Cmd::SendFor(ScreenId::Hooks, Request::TestHook(owner, hook.id)),
            Action::Recover => question(recover_question(std::iter::once(hook), &[hook.id], env.world)),
            Action::DeleteEntry => question(delete_one_question(&owner, hook.id, Some(hook), env.world)),
            _ => return false,
        });
        true
    }

    /// Downloads or deletes the marked artifacts, or the one under the cursor.
    fn act_on_artifacts(&self, action: Action, path: &RepositoryPath, env: &mut Env) -> bool {
        let targets = self.detail.artifacts.list.targets();
        match action {
            Action::Download => {
                for artifact in targets.iter().filter(|artifact| !artifact.expired) {
                    let (repo, name) = (path.clone(), artifact.name.clone());
                    env.send(Request::Download { repo, id: artifact.id, name, existing: Existing::Keep });
                }
            }
            Action::DeleteEntry => {
                let name = |id: i64, name: &str, run: i64| format!("{name}   run {run}   artifact {id}");
                let bulk = BulkAction {
                    verb: "Delete",
                    noun: "artifact",
                    names: targets.iter().map(|one| name(one.id, &one.name, one.run)).collect(),
                    bytes: targets.iter().filter(|one| !one.expired).map(|one| one.bytes).sum(),
                    effect: "The content is deleted.",
                    destroys: true,
                    restorable: env.world.after_deletion(),
                    skipped: self.detail.artifacts.list.hidden_note().into_iter().collect(),
                    ..BulkAction::default()
                };
                let ids = targets.iter().map(|one| one.id).collect();
                let question = Layer::Confirm(bulk.question(Request::DeleteArtifacts(ids), env.world));
                env.push(Cmd::OpenFor(ScreenId::Artifacts, Box::new(question)));
            }
            _ => return false,
        }
        true
    }

    /// Returns why an action on the hooks or artifacts of the shown tab is not available now. `None`: it is available,
    /// or belongs to another tab.
    pub(super) fn unavailable_on_part(&self, action: Action) -> Option<String> {
        match self.detail.tab {
            RepositoryTab::Hooks => match self.detail.hooks.list.target() {
                Err(why) => Some(why),
                Ok(None) => Some("no hook selected".to_owned()),
                Ok(Some(hook)) if matches!(action, Action::Test | Action::Recover) && !hook.is_active() => {
                    Some(format!("hook {} is off; turn it on first (t)", hook.id))
                }
                Ok(Some(_)) => None,
            },
            RepositoryTab::Artifacts => {
                let targets = self.detail.artifacts.list.targets();
                if targets.is_empty() {
                    return Some(
                        self.detail.artifacts.list.hidden_note().unwrap_or_else(|| "no artifact selected".to_owned()),
                    );
                }
                let has_no_content = action == Action::Download && targets.iter().all(|one| one.expired);
                has_no_content.then(|| "expired artifacts have no content".to_owned())
            }
            _ => None,
        }
    }
}
