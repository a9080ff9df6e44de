//! Suggestions for command arguments, and the current selection.

use super::{Screen as _, Screens};
use crate::ui::{keymap::Object, layer::Offer, list::feed::Load, world::Env};

/// Maximum number of suggestions.
const OFFERS_MAX: usize = 50;

/// The objects that the actions of a screen apply to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) object: Object,
    /// Name for messages.
    pub(crate) name: String,
    /// Identifies the rows, because names may be equal.
    pub(crate) rows: String,
}

impl Screens {
    /// Whether objects of a kind have been listed.
    pub(crate) fn is_known(&self, object: Object) -> bool {
        match object {
            Object::Hook => self.hooks.feed.load != Load::Never,
            Object::Delivery => self.deliveries.rows.load != Load::Never,
            Object::Run | Object::Artifact => self.artifacts.rows.load != Load::Never,
            Object::DeletedRepository => self.deleted_repositories.rows.load != Load::Never,
            Object::DeletedArtifact => self.deleted_artifacts.rows.load != Load::Never,
            // Repositories are listed from the start.
            Object::Repository | Object::Branch => true,
        }
    }

    /// Requests the objects of a kind.
    pub(crate) fn load(&mut self, object: Object, env: &mut Env) {
        match object {
            Object::Hook => self.hooks.refresh(env),
            Object::Delivery => self.deliveries.refresh(env),
            Object::Run | Object::Artifact => self.artifacts.refresh(env),
            Object::DeletedRepository => self.deleted_repositories.refresh(env),
            Object::DeletedArtifact => self.deleted_artifacts.refresh(env),
            Object::Repository | Object::Branch => {}
        }
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
            Object::Hook => Box::new(self.hooks.all.iter().map(move |hook| {
                let state = if hook.active { "on" } else { "off" };
                offer(hook.id.to_string(), format!("{state:<3} {}", hook.url))
            })),
            Object::Delivery => Box::new(
                self.deliveries
                    .rows
                    .list
                    .rows()
                    .iter()
                    .map(move |one| offer(one.guid.clone(), format!("hook {} {}", one.hook_id, one.event))),
            ),
            Object::Run => Box::new(
                self.artifacts
                    .tree
                    .entries()
                    .map(move |entry| offer(entry.run.id.to_string(), entry.run.repo.to_string())),
            ),
            Object::Artifact => Box::new(self.artifacts.tree.entries().flat_map(move |entry| {
                let about = |name: &str| format!("{name}  run {}  {}", entry.run.id, entry.run.repo);
                entry.artifacts.iter().map(move |one| offer(one.id.to_string(), about(one.name())))
            })),
            Object::DeletedRepository => Box::new(self.deleted_repositories.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  deleted {} by {}", one.repository, one.deleted_at, one.deleted_by);
                offer(one.id.to_string(), about)
            })),
            Object::DeletedArtifact => Box::new(self.deleted_artifacts.rows.list.rows().iter().map(move |one| {
                let about = format!("{}  of {}  deleted {}", one.name, one.repository, one.deleted_at);
                offer(one.id.to_string(), about)
            })),
            Object::Branch => Box::new(std::iter::empty()),
        };
        let has = |one: &Offer| one.value.to_lowercase().contains(&typed) || one.about.to_lowercase().contains(&typed);
        let mut found: Vec<Offer> = all.filter(has).take(OFFERS_MAX).collect();
        found.sort_by_key(|one| !one.value.to_lowercase().starts_with(&typed));
        found
    }
}
