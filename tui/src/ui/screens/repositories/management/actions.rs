//! Actions on collaborators, rules, deploy keys, releases and mirrors, with their confirmations.

use farrier_common::{api::Release, client::RepositoryPath};

use super::{RepositoryManagement, deploy_key_rows, form};
use crate::{
    output::{clean_line, human_bytes},
    quote,
    ui::{
        bulk,
        keymap::Action,
        layer::{Confirm, Layer, TextView},
        list::{Feed, List, ListView as _, Row},
        net::{ManagementRequest, Request},
        screens::repositories::{Repositories, tab::RepositoryTab},
        world::Env,
    },
};

/// Returns the row of an action: the marked one, or the one under the cursor.
fn target<T: Row>(list: &List<T>) -> Option<&T> {
    list.target().ok().flatten()
}

/// Title, lines and verb of a confirmation, and the request.
type Question = (String, Vec<String>, &'static str, ManagementRequest);

impl RepositoryManagement {
    /// Shows the details of the row under the cursor.
    pub(in crate::ui::screens::repositories) fn open(
        &mut self,
        tab: RepositoryTab,
        repo: &RepositoryPath,
        env: &mut Env,
    ) {
        let world = env.world;
        let clock = &world.clock;
        let view =
            match tab {
                RepositoryTab::Rules => self.rules.list.current().map(|rule| {
                    TextView::new(format!("Rule for the {} {}", rule.kind(), rule.pattern()), rule.details(clock))
                }),
                RepositoryTab::DeployKeys => self.deploy_keys.list.current().map(|key| {
                    TextView::new(format!("Deploy key {}", key.title), deploy_key_rows::details(key, clock))
                }),
                RepositoryTab::Mirrors => self
                    .mirrors
                    .list
                    .current()
                    .map(|mirror| TextView::new(format!("Mirror {}", mirror.address), mirror.details(clock))),
                RepositoryTab::Releases => {
                    let release = self.releases.list.current().map(|release| ManagementRequest::Release(release.id));
                    if let Some(release) = release {
                        self.stop_opening(env);
                        let request = Request::Manage(repo.clone(), release);
                        self.opening = Some(request.clone());
                        env.send(request);
                    }
                    None
                }
                _ => None,
            };
        if let Some(view) = view {
            env.open(Layer::TextView(view));
        }
    }

    /// Opens the form for a new row, or shows the command that adds one.
    pub(in crate::ui::screens::repositories) fn add(tab: RepositoryTab, repo: &RepositoryPath, env: &mut Env) {
        match tab {
            RepositoryTab::Collaborators => env.open(Layer::Form(Box::new(form::add_collaborator(repo.clone())))),
            RepositoryTab::DeployKeys => env.open(Layer::Form(Box::new(form::add_deploy_key(repo.clone())))),
            RepositoryTab::Rules => {
                let command = format!("farrier repo protect add {} PATTERN", quote::shell(&repo.to_string()));
                let text = format!(
                    "Run this command in a shell:\n\n{command}\n\nPATTERN is the name of a branch or a glob such as \
                     'release/*'. --push, --force, --users, --teams, --files and --signed set what is allowed; --tags \
                     protects tags. --help describes all flags."
                );
                let view = TextView::new("Add a rule", text).with_copy(Some(command), "command");
                env.open(Layer::TextView(view));
            }
            _ => {}
        }
    }

    /// Opens the form for the permission of a collaborator.
    pub(in crate::ui::screens::repositories) fn change(&self, repo: &RepositoryPath, env: &mut Env) {
        if let Some(one) = target(&self.collaborators.list) {
            let form = form::change_collaborator(repo.clone(), one);
            env.open(Layer::Form(Box::new(form)));
        }
    }

    /// Asks before the row is deleted.
    pub(in crate::ui::screens::repositories) fn delete(
        &self,
        tab: RepositoryTab,
        repo: &RepositoryPath,
        env: &mut Env,
    ) {
        if let Some(question) = self.question(tab, repo) {
            let (title, lines, verb, request) = question;
            let request = Request::Manage(repo.clone(), request);
            let question = Confirm::simple(title, lines, verb, request, env.world);
            env.open(Layer::Confirm(question));
        }
    }

    fn question(&self, tab: RepositoryTab, repo: &RepositoryPath) -> Option<Question> {
        Some(match tab {
            RepositoryTab::Collaborators => {
                let one = target(&self.collaborators.list)?;
                let lines = vec![
                    format!("{} is no longer a collaborator.", one.login),
                    "Access through a team or as an administrator stays.".to_owned(),
                ];
                let request = ManagementRequest::RemoveCollaborator(one.login.clone());
                (format!("Remove {} from {repo}", one.login), lines, "Remove", request)
            }
            RepositoryTab::Rules => {
                let rule = target(&self.rules.list)?;
                let lines = vec![format!("The rule no longer protects the {} that match it.", rule.plural())];
                let title = format!("Delete the {} rule {} of {repo}", rule.kind(), rule.pattern());
                (title, lines, "Delete", rule.deletion())
            }
            RepositoryTab::DeployKeys => {
                let key = target(&self.deploy_keys.list)?;
                let lines =
                    vec![key.fingerprint.clone(), "Clones, fetches and pushes with this key are refused.".to_owned()];
                let request = ManagementRequest::DeleteDeployKey { id: key.id, title: key.title.clone() };
                (format!("Delete deploy key {} of {repo}", key.title), lines, "Delete", request)
            }
            RepositoryTab::Releases => {
                let release = target(&self.releases.list)?;
                let files = bulk::counted(release.assets.len(), "file");
                let lines = vec![
                    format!("Its text and {files} ({}) are deleted.", human_bytes(release.weight())),
                    "This cannot be undone. The tag stays.".to_owned(),
                ];
                let request = ManagementRequest::DeleteRelease { id: release.id, tag: release.tag_name.clone() };
                (format!("Delete release {} of {repo}", release.tag_name), lines, "Delete", request)
            }
            RepositoryTab::Mirrors => {
                let mirror = target(&self.mirrors.list)?;
                let name = mirror.name.clone()?;
                let lines = vec![mirror.address.clone(), "The copy on the other server stays.".to_owned()];
                let title = format!("Delete push mirror {name} of {repo}");
                (title, lines, "Delete", ManagementRequest::DeletePushMirror(name))
            }
            _ => return None,
        })
    }

    /// Returns the name of the row of an open confirmation that no longer exists.
    pub(in crate::ui::screens::repositories) fn lost(&self, request: &ManagementRequest) -> Option<String> {
        fn is_lost<T: Row>(feed: &Feed<T>, is_it: impl Fn(&T) -> bool) -> bool {
            feed.has_all() && !feed.list.rows().iter().any(is_it)
        }
        let (is_lost, name) = match request {
            ManagementRequest::RemoveCollaborator(user) => {
                (is_lost(&self.collaborators, |one| one.login == *user), user)
            }
            ManagementRequest::DeleteBranchRule { .. } | ManagementRequest::DeleteTagRule { .. } => {
                let lost = is_lost(&self.rules, |rule| rule.deletion() == *request);
                return lost.then(|| "the rule".to_owned());
            }
            ManagementRequest::DeleteDeployKey { id, title } => {
                (is_lost(&self.deploy_keys, |key| key.id == *id), title)
            }
            ManagementRequest::DeleteRelease { id, tag } => (is_lost(&self.releases, |one| one.id == *id), tag),
            ManagementRequest::DeletePushMirror(name) => {
                (is_lost(&self.mirrors, |mirror| mirror.name.as_ref() == Some(name)), name)
            }
            _ => return None,
        };
        is_lost.then(|| name.clone())
    }

    /// Requests a sync of the pull mirror, or runs all push mirrors, depending on the row under the cursor.
    pub(in crate::ui::screens::repositories) fn sync(&self, repo: &RepositoryPath, env: &mut Env) {
        let Some(mirror) = target(&self.mirrors.list) else { return };
        let is_push = mirror.name.is_some();
        let request = if is_push { ManagementRequest::SyncPushMirrors } else { ManagementRequest::SyncPullMirror };
        env.notify(format!("Syncing {repo} …"));
        env.send(Request::Manage(repo.clone(), request));
    }

    /// Returns why an action on the rows of a tab is not available now.
    pub(in crate::ui::screens::repositories) fn unavailable(
        &self,
        tab: RepositoryTab,
        action: Action,
    ) -> Option<String> {
        let has_target = match tab {
            RepositoryTab::Collaborators => self.collaborators.list.target().map(|row| row.is_some()),
            RepositoryTab::Rules => self.rules.list.target().map(|row| row.is_some()),
            RepositoryTab::DeployKeys => self.deploy_keys.list.target().map(|row| row.is_some()),
            RepositoryTab::Releases => self.releases.list.target().map(|row| row.is_some()),
            RepositoryTab::Mirrors => self.mirrors.list.target().map(|row| row.is_some()),
            _ => Ok(false),
        };
        match (action, has_target) {
            (Action::AddEntry, _) => None,
            (_, Err(why)) => Some(why),
            (_, Ok(false)) => Some("nothing selected".to_owned()),
            (Action::DeleteEntry, Ok(true)) if tab == RepositoryTab::Mirrors => {
                let is_pull = target(&self.mirrors.list).is_some_and(|mirror| mirror.name.is_none());
                is_pull.then(|| "farrier mirror convert ends a pull mirror".to_owned())
            }
            (_, Ok(true)) => None,
        }
    }

    /// Returns the texts to copy for the row under the cursor: key, label and text. They can contain line breaks and
    /// escape sequences, which must not reach the shell that they are pasted into.
    pub(in crate::ui::screens::repositories) fn copies(&self, tab: RepositoryTab) -> Vec<(char, &'static str, String)> {
        let clean = |text: &str| clean_line(text).into_owned();
        let texts = match tab {
            RepositoryTab::Collaborators => {
                self.collaborators.list.current().map(|one| vec![('u', "user", clean(&one.login))])
            }
            RepositoryTab::Rules => self.rules.list.current().map(|rule| vec![('r', "rule", clean(rule.pattern()))]),
            RepositoryTab::DeployKeys => self.deploy_keys.list.current().map(|key| {
                vec![
                    ('k', "key", clean(&key.key)),
                    ('f', "fingerprint", clean(&key.fingerprint)),
                    ('i', "ID", key.id.to_string()),
                ]
            }),
            RepositoryTab::Releases => {
                let texts =
                    |one: &Release| vec![('t', "tag", clean(&one.tag_name)), ('p', "page", clean(&one.html_url))];
                self.releases.list.current().map(texts)
            }
            RepositoryTab::Mirrors => {
                self.mirrors.list.current().map(|mirror| vec![('m', "mirror", clean(&mirror.address))])
            }
            _ => None,
        };
        texts.unwrap_or_default()
    }

    /// Identifies the row under the cursor, for a command that runs later.
    pub(in crate::ui::screens::repositories) fn current_id(&self, tab: RepositoryTab) -> Option<String> {
        fn id<T: Row>(list: &List<T>) -> Option<String> {
            let ids: Vec<T::Id> = list.targets().into_iter().map(Row::id).collect();
            (!ids.is_empty()).then(|| format!("{ids:?}"))
        }
        match tab {
            RepositoryTab::Collaborators => id(&self.collaborators.list),
            RepositoryTab::Rules => id(&self.rules.list),
            RepositoryTab::DeployKeys => id(&self.deploy_keys.list),
            RepositoryTab::Releases => id(&self.releases.list),
            RepositoryTab::Mirrors => id(&self.mirrors.list),
            _ => None,
        }
    }
}

impl Repositories {
    /// Carries out an action on the rows of these lists. Returns whether the action is one of them.
    pub(in crate::ui::screens::repositories) fn manage(&self, action: Action, env: &mut Env) -> bool {
        if !matches!(action, Action::AddEntry | Action::ChangeEntry | Action::DeleteEntry | Action::SyncMirrors) {
            return false;
        }
        let here = self.here().filter(|_| self.in_detail && self.shows_current());
        let Some((_, path)) = here else { return true };
        let (management, tab) = (&self.detail.management, self.detail.tab);
        match action {
            Action::AddEntry => RepositoryManagement::add(tab, &path, env),
            Action::ChangeEntry => management.change(&path, env),
            Action::DeleteEntry => management.delete(tab, &path, env),
            _ => management.sync(&path, env),
        }
        true
    }

    /// Opens a tab of the repository under the cursor, if that is the repository `path`.
    pub(crate) fn open_tab(&mut self, path: &RepositoryPath, tab: RepositoryTab, env: &mut Env) {
        let path = path.to_string();
        self.in_detail = self.repos.list.current().is_some_and(|repo| repo.full_name().eq_ignore_ascii_case(&path));
        self.detail.show_tab(tab, env);
        self.look(false, env);
    }
}
