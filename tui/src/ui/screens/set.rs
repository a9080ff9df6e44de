//! The set of all screens, and the suggestions from their lists. Hidden screens keep their state.

use std::collections::BTreeSet;

use super::{
    Screen, ScreenId,
    artifacts::Artifacts,
    audit::AuditLog,
    caches::Caches,
    dashboard::Dashboard,
    deleted::Deleted,
    deliveries::{Deliveries, actions::host_of},
    delivery_groups::DeliveryGroups,
    hooks::Hooks,
    logs::DaemonLog,
    organizations::Organizations,
    repositories::Repositories,
    runs::Runs,
    tasks::Tasks,
    users::Users,
};
use crate::{
    audit_text,
    ui::{
        deleted::{DeletedArtifactSummary, DeletedRepositorySummary},
        keymap::Object,
        layer::Offer,
        list::ListView,
        words::rfc3339,
    },
};

/// Maximum number of suggestions.
const OFFERS_MAX: usize = 50;

#[derive(Debug, Default)]
pub(crate) struct Screens {
    pub(crate) dashboard: Dashboard,
    pub(crate) repositories: Repositories,
    pub(crate) hooks: Hooks,
    pub(crate) deliveries: Deliveries,
    pub(crate) delivery_groups: DeliveryGroups,
    pub(crate) artifacts: Artifacts,
    pub(crate) audit: AuditLog,
    pub(crate) caches: Caches,
    pub(crate) users: Users,
    pub(crate) organizations: Organizations,
    pub(crate) runs: Runs,
    pub(crate) tasks: Tasks,
    pub(crate) logs: DaemonLog,
    pub(crate) deleted_repositories: Deleted<DeletedRepositorySummary>,
    pub(crate) deleted_artifacts: Deleted<DeletedArtifactSummary>,
}

impl Screens {
    pub(crate) fn get(&self, id: ScreenId) -> &dyn Screen {
        match id {
            ScreenId::Dashboard => &self.dashboard,
            ScreenId::Repositories => &self.repositories,
            ScreenId::Hooks => &self.hooks,
            ScreenId::Deliveries => &self.deliveries,
            ScreenId::DeliveryGroups => &self.delivery_groups,
            ScreenId::Artifacts => &self.artifacts,
            ScreenId::Audit => &self.audit,
            ScreenId::Caches => &self.caches,
            ScreenId::Users => &self.users,
            ScreenId::Organizations => &self.organizations,
            ScreenId::Runs => &self.runs,
            ScreenId::Tasks => &self.tasks,
            ScreenId::Logs => &self.logs,
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
            ScreenId::DeliveryGroups => &mut self.delivery_groups,
            ScreenId::Artifacts => &mut self.artifacts,
            ScreenId::Audit => &mut self.audit,
            ScreenId::Caches => &mut self.caches,
            ScreenId::Users => &mut self.users,
            ScreenId::Organizations => &mut self.organizations,
            ScreenId::Runs => &mut self.runs,
            ScreenId::Tasks => &mut self.tasks,
            ScreenId::Logs => &mut self.logs,
            ScreenId::DeletedRepositories => &mut self.deleted_repositories,
            ScreenId::DeletedArtifacts => &mut self.deleted_artifacts,
        }
    }

    /// Prepares the list of a screen for the first key of a filter.
    pub(crate) fn prepare_filter(&mut self, id: ScreenId) {
        match id {
            ScreenId::Artifacts => self.artifacts.prepare_filter(),
            id => {
                if let Some(list) = self.get_mut(id).list_mut() {
                    list.prepare_filter();
                }
            }
        }
    }

    /// Drops what was prepared for a filter of a screen.
    pub(crate) fn end_filter(&mut self, id: ScreenId) {
        match id {
            ScreenId::Artifacts => self.artifacts.end_filter(),
            id => {
                if let Some(list) = self.get_mut(id).list_mut() {
                    list.end_filter();
                }
            }
        }
    }

    /// Returns the lists whose sort order is saved, with their names.
    pub(crate) fn sorted_lists(&self) -> [(&'static str, &dyn ListView); 2] {
        [("repositories", &self.repositories.repos), ("hooks", &self.hooks.feed)]
    }

    /// Returns a list whose sort order can be restored, by its name.
    pub(crate) fn sorted_list(&mut self, name: &str) -> Option<&mut dyn ListView> {
        match name {
            "repositories" => Some(&mut self.repositories.repos),
            "branches" => Some(&mut self.repositories.detail.branches),
            "hooks" => Some(&mut self.hooks.feed),
            _ => None,
        }
    }

    /// Returns whether objects of a kind have been listed.
    pub(crate) fn is_known(&self, object: Object) -> bool {
        match object {
            // The visible list of the screen can be that of branches.
            Object::Repository | Object::Branch => self.repositories.repos.was_requested(),
            Object::Organization => self.organizations.rows.was_requested(),
            Object::Team => self.organizations.teams.was_requested(),
            // The program and the configuration file name them.
            Object::Context | Object::Theme => true,
            _ => self.get(ScreenId::listing(object)).list().is_some_and(ListView::was_requested),
        }
    }

    /// Returns the hosts of the hooks, each once.
    fn hook_hosts(&self) -> impl Iterator<Item = String> {
        self.hooks.all().filter_map(|hook| host_of(hook.url())).collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns the objects whose name or description contains `typed`. Those that begin with it come first.
    pub(crate) fn suggestions(&self, object: Object, typed: &str) -> Vec<Offer> {
        let typed = typed.to_lowercase();
        let offer = |value: String, about: String| Offer { value, about };
        let all: Box<dyn Iterator<Item = Offer>> = match object {
            Object::Repository => {
                let rows = self.repositories.repos.list.rows().iter();
                // Descriptions are copied only for matching rows.
                let found = rows.filter(|repo| repo.full_name().to_lowercase().contains(&typed));
                Box::new(found.map(move |repo| offer(repo.full_name().to_owned(), repo.description().to_owned())))
            }
            Object::Hook => Box::new(self.hooks.all().map(move |hook| {
                let state = if hook.is_active() { "on" } else { "off" };
                offer(hook.id.to_string(), format!("{state:<3} {}", hook.url()))
            })),
            Object::HookHost => Box::new(self.hook_hosts().map(move |host| offer(host, String::new()))),
            Object::Delivery => Box::new(
                self.deliveries
                    .rows
                    .list
                    .rows()
                    .iter()
                    .map(move |one| offer(one.guid(), format!("hook {} {}", one.hook, one.event()))),
            ),
            Object::Run => Box::new(self.runs.rows.list.rows().iter().map(move |run| {
                let about = format!("{}  {}  {}", run.repository(), run.title(), run.branch());
                offer(run.id.to_string(), about.trim_end().to_owned())
            })),
            Object::Task => {
                let rows = self.tasks.rows.list.rows().iter();
                Box::new(rows.map(move |task| offer(task.id.to_string(), format!("{} {}", task.kind, task.repository))))
            }
            Object::Artifact => Box::new(self.artifacts.tree.entries().flat_map(move |entry| {
                let about = |name: &str| format!("{name}  run {}  {}", entry.run.id, entry.run.repo);
                entry.artifacts.iter().map(move |one| offer(one.id.to_string(), about(one.name())))
            })),
            Object::DeletedRepository => Box::new(self.deleted_repositories.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  deleted {} by {}", one.full_name(), rfc3339(one.deleted()), one.deleted_by());
                offer(one.id.to_string(), about)
            })),
            Object::DeletedArtifact => Box::new(self.deleted_artifacts.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  of {}  deleted {}", one.name(), one.repository(), rfc3339(one.deleted()));
                offer(one.id.to_string(), about)
            })),
            Object::AuditEntry => Box::new(self.audit.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  {}  {}", one.action(), audit_text::actor(one.actor()), one.object());
                offer(one.id.to_string(), about)
            })),
            Object::CacheEntry => Box::new(self.caches.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  {}  of {}", one.key(), one.git_ref(), one.repository());
                offer(one.id.to_string(), about)
            })),
            Object::User => {
                let rows = self.users.rows.list.rows().iter();
                Box::new(rows.map(move |one| offer(one.login().to_owned(), one.full_name().to_owned())))
            }
            Object::Token => Box::new(
                self.users.tokens.list.rows().iter().map(move |one| offer(one.id.to_string(), one.name.clone())),
            ),
            Object::Organization => {
                let rows = self.organizations.rows.list.rows().iter();
                Box::new(rows.map(move |org| offer(org.name().to_owned(), org.full_name().to_owned())))
            }
            Object::Team => {
                let arguments = self.organizations.team_arguments().into_iter();
                Box::new(arguments.map(move |(argument, about)| offer(argument, about)))
            }
            Object::Branch => {
                let rows = self.repositories.detail.branches.list.rows().iter();
                Box::new(rows.map(move |row| offer(row.branch_name().to_owned(), row.commit_title())))
            }
            Object::Key
            | Object::Context
            | Object::Theme
            | Object::Event
            | Object::LogRecord
            | Object::Member
            | Object::ListedRepository => Box::new(std::iter::empty()),
        };
        let has = |one: &Offer| one.value.to_lowercase().contains(&typed) || one.about.to_lowercase().contains(&typed);
        let mut found: Vec<Offer> = all.filter(has).take(OFFERS_MAX).collect();
        found.sort_by_key(|one| !one.value.to_lowercase().starts_with(&typed));
        found
    }
}
