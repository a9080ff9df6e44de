//! Revisions identify the state of an object's editable fields. A client sends the revision that it has read, so that
//! it does not overwrite a change that another client made since.
//!
//! A revision is computed from the row and not stored. It changes with every field that an editor can set or sees in
//! its form. It does not change with activity such as deliveries, pushes and sizes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use farrier_proto::store::{Hook, Repository};

use super::hook_config;

/// Identifies one state of the editable fields of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the revision of a hook.
    ///
    /// Secret values are not hashed: a revision is public and must not help to guess them. `updated_ms` covers
    /// them, since every change updates it.
    pub fn of_hook(row: &Hook) -> Self {
        let kind = hook_config::by_name(&row.r#type);
        let is_secret = |name: &str| kind.is_none_or(|kind| kind.is_secret(name));
        let mut settings: Vec<_> = row.settings.iter().filter(|(name, _)| !is_secret(name)).collect();
        settings.sort_unstable();
        let mut hasher = DefaultHasher::new();
        (row.id, row.scope, &row.name, &row.url, row.form, &row.events, &row.branch_filter).hash(&mut hasher);
        (row.active, &row.disabled_reason, row.updated_ms, settings).hash(&mut hasher);
        (row.secret.is_empty(), row.authorization.is_empty()).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the revision of a repository: of its name, owner and settings.
    pub fn of_repository(row: &Repository) -> Self {
        let mut hasher = DefaultHasher::new();
        (row.id, row.owner_id, &row.name, &row.description, &row.website).hash(&mut hasher);
        (&row.default_branch, row.private, row.template, row.archived).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The condition of a client for applying its change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Any state: the client has set no condition.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<Revision>),
}

impl Expected {
    /// Returns whether the change may be applied to an object with revision `current`.
    pub fn allows(&self, current: Revision) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(revisions) => revisions.contains(&current),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Hook {
        Hook {
            id: 7,
            r#type: "telegram".into(),
            url: "https://ci.example/in".into(),
            settings: [("bot_token".to_owned(), "one".to_owned()), ("chat_id".to_owned(), "5".to_owned())].into(),
            updated_ms: 5,
            ..Hook::default()
        }
    }

    #[test]
    fn a_hook_revision_changes_with_its_configuration() {
        let first = Revision::of_hook(&hook());
        assert_eq!(first, Revision::of_hook(&hook()));
        let edits: [fn(&mut Hook); 8] = [
            |row| row.url = "https://ci.example/out".into(),
            |row| row.events = vec!["push".into()],
            |row| row.active = true,
            |row| row.name = "ci".into(),
            |row| row.secret = "hush".into(),
            |row| row.disabled_reason = "answered 410".into(),
            |row| row.updated_ms = 6,
            |row| drop(row.settings.insert("chat_id".into(), "6".into())),
        ];
        for (number, edit) in edits.into_iter().enumerate() {
            let mut row = hook();
            edit(&mut row);
            assert_ne!(Revision::of_hook(&row), first, "edit {number}");
        }
        let mut row = hook();
        row.settings.insert("bot_token".into(), "two".into());
        assert_eq!(Revision::of_hook(&row), first, "the value of a secret does not change the revision");
    }

    #[test]
    fn a_repository_revision_ignores_pushes() {
        let before = Repository { id: 1, name: "tool".into(), empty: true, ..Repository::default() };
        let pushed = Repository { empty: false, size_bytes: 9, updated_ms: 8, ..before.clone() };
        assert_eq!(Revision::of_repository(&before), Revision::of_repository(&pushed));
        let renamed = Repository { name: "tools".into(), ..before.clone() };
        assert_ne!(Revision::of_repository(&before), Revision::of_repository(&renamed));
    }

    #[test]
    fn a_change_is_allowed_only_for_an_expected_revision() {
        let expected = Expected::OneOf(vec![Revision(1), Revision(2)]);
        assert!(expected.allows(Revision(2)) && !expected.allows(Revision(3)) && Expected::Any.allows(Revision(3)));
        assert!(!Expected::OneOf(Vec::new()).allows(Revision(1)));
    }
}
