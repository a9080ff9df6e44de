//! The content of audit entries: the object, and the changed fields before and after the change.

use farrier_proto::store::{
    Artifact, AuditActor, AuditActorKind, AuditEntry, AuditObject, AuditResult, DeployKey, GpgKey, Hook, HookScope,
    Org, Repository, SshKey, Token, User,
};
use serde_json::{Map, Value};

use super::Action;
use crate::{
    model::{
        gpg_key,
        ref_name::{self, RefKind},
    },
    store::{Read, StoreError, owners, owners::Owner, repositories},
};

/// Longer texts of fields are cut to this length.
const TEXT_MAX_CHARS: usize = 500;

/// The content of an audit entry. The recorder adds ID, time, actor and request.
#[derive(Clone, Debug)]
pub struct Entry {
    row: AuditEntry,
    before: Map<String, Value>,
    after: Map<String, Value>,
}

impl Entry {
    /// Creates the entry of a successful action.
    pub fn new(action: Action, object: Object) -> Self {
        let row = AuditEntry {
            action: action.word().to_owned(),
            result: AuditResult::Done.into(),
            object: Some(object.row),
            repository_id: object.repository_id,
            ..AuditEntry::default()
        };
        Self { row, before: Map::new(), after: Map::new() }
    }

    /// Sets the result to refused.
    #[must_use]
    pub fn refused(mut self, reason: &str) -> Self {
        self.row.set_result(AuditResult::Refused);
        self.row.reason = cut(reason);
        self
    }

    /// Sets the result to failed.
    #[must_use]
    pub fn failed(mut self, reason: &str) -> Self {
        self.row.set_result(AuditResult::Failed);
        self.row.reason = cut(reason);
        self
    }

    /// Removes the fields before the change: the object is new.
    #[must_use]
    pub fn created(mut self) -> Self {
        self.before.clear();
        self
    }

    /// Sets the number of equal actions that the entry represents.
    #[must_use]
    pub fn count(mut self, count: u64) -> Self {
        self.row.count = count;
        self
    }

    /// Sets the actor to an unknown caller. `source`: the origin of the request, as the limits of sign-ins name it.
    #[must_use]
    pub fn from_source(mut self, source: &str) -> Self {
        let uid = source.strip_prefix("uid ").and_then(|uid| uid.parse().ok());
        let address = source.strip_prefix("ip ").unwrap_or(source);
        let address = if uid.is_some() { String::new() } else { address.to_owned() };
        let kind = AuditActorKind::Anonymous.into();
        self.row.actor = Some(AuditActor { kind, address, uid, ..AuditActor::default() });
        self
    }

    /// Adds a field if its value has changed.
    #[must_use]
    pub fn field<T: Into<Value> + PartialEq>(mut self, name: &str, before: T, after: T) -> Self {
        if before != after {
            self.before.insert(name.to_owned(), limited(before.into()));
            self.after.insert(name.to_owned(), limited(after.into()));
        }
        self
    }

    /// Adds a field of a new object.
    #[must_use]
    pub fn set(mut self, name: &str, after: impl Into<Value>) -> Self {
        self.after.insert(name.to_owned(), limited(after.into()));
        self
    }

    /// Adds a field of a removed object.
    #[must_use]
    pub fn had(mut self, name: &str, before: impl Into<Value>) -> Self {
        self.before.insert(name.to_owned(), limited(before.into()));
        self
    }

    /// Adds a URL if it has changed. The entry shows only its scheme, host and port, because the rest can be secret.
    #[must_use]
    pub fn url(mut self, name: &str, before: &str, after: &str) -> Self {
        if before == after {
            return self;
        }
        let (shown_before, shown_after) = (origin(before), origin(after));
        let suffix = if shown_before == shown_after { " (changed)" } else { "" };
        self.before.insert(name.to_owned(), shown_before.into());
        self.after.insert(name.to_owned(), format!("{shown_after}{suffix}").into());
        self
    }

    /// Adds a secret field if its value has changed. The entry shows only whether it is set.
    #[must_use]
    pub fn secret<T: AsRef<[u8]>>(mut self, name: &str, before: T, after: T) -> Self {
        let (before, after) = (before.as_ref(), after.as_ref());
        if before == after {
            return self;
        }
        let word = |value: &[u8], set| if value.is_empty() { Value::Null } else { Value::from(set) };
        let is_replaced = !before.is_empty();
        self.before.insert(name.to_owned(), word(before, "(set)"));
        self.after.insert(name.to_owned(), word(after, if is_replaced { "(changed)" } else { "(set)" }));
        self
    }

    /// Returns whether no field has changed.
    pub fn is_unchanged(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Returns the row without the fields that the recorder sets.
    pub(super) fn into_row(self) -> AuditEntry {
        let text = |fields: Map<String, Value>| {
            if fields.is_empty() { String::new() } else { Value::Object(fields).to_string() }
        };
        AuditEntry { before: text(self.before), after: text(self.after), ..self.row }
    }
}

/// Returns scheme, host and port of a URL.
fn origin(url: &str) -> String {
    url::Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

fn limited(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text)),
        Value::Array(items) => Value::Array(items.into_iter().take(100).map(limited).collect()),
        other => other,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What an entry is about.
#[derive(Clone, Debug, Default)]
pub struct Object {
    row: AuditObject,
    repository_id: u64,
}

impl Object {
    /// Creates an object that belongs to no repository.
    pub fn new(kind: &str, id: u64, name: &str) -> Self {
        let row = AuditObject { kind: kind.to_owned(), id, name: cut(name), owner: String::new() };
        Self { row, repository_id: 0 }
    }

    /// Sets the owner.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        owner.clone_into(&mut self.row.owner);
        self
    }

    /// Sets the repository that the object belongs to. `path`: its owner and name.
    #[must_use]
    pub fn in_repository(mut self, id: u64, path: &str) -> Self {
        self.repository_id = id;
        self.owned_by(path)
    }

    /// A user.
    pub fn user(row: &User) -> Self {
        Self::new("user", row.id, &row.name)
    }

    /// An organization.
    pub fn org(row: &Org) -> Self {
        Self::new("organization", row.id, &row.name)
    }

    /// A member of an organization.
    pub fn member(org: &Org, user: &User) -> Self {
        Self::new("member", user.id, &user.name).owned_by(&org.name)
    }

    /// A token. `owner`: the name of its account.
    pub fn token(row: &Token, owner: &str) -> Self {
        Self::new("token", row.id, &row.name).owned_by(owner)
    }

    /// An SSH key. `owner`: the name of its account.
    pub fn ssh_key(row: &SshKey, owner: &str) -> Self {
        Self::new("key", row.id, &row.title).owned_by(owner)
    }

    /// An OpenPGP key. `owner`: the name of its account.
    pub fn gpg_key(row: &GpgKey, owner: &str) -> Self {
        let key_id = row.parts.first().map_or(0, |primary| primary.key_id);
        Self::new("gpg_key", row.id, &gpg_key::shown_id(key_id)).owned_by(owner)
    }

    /// A deploy key. `path`: owner and name of its repository.
    pub fn deploy_key(row: &DeployKey, path: &str) -> Self {
        Self::new("deploy_key", row.id, &row.title).in_repository(row.repository_id, path)
    }

    /// A repository. `owner`: the name of its owner.
    pub fn repository(row: &Repository, owner: &str) -> Self {
        Self { repository_id: row.id, ..Self::new("repository", row.id, &row.name).owned_by(owner) }
    }

    /// A deleted repository, whose row has its former path.
    pub fn deleted_repository(row: &Repository) -> Self {
        let (owner, name) = row.deleted_path.split_once('/').unwrap_or(("", &row.name));
        Self { repository_id: row.id, ..Self::new("repository", row.id, name).owned_by(owner) }
    }

    /// A collaborator of a repository.
    pub fn collaborator(user: &User, repository: u64, path: &str) -> Self {
        Self::new("collaborator", user.id, &user.name).in_repository(repository, path)
    }

    /// A branch or tag. `name`: its full name.
    pub fn reference(name: &str, repository: u64, path: &str) -> Self {
        let (kind, short) = match ref_name::kind(name) {
            RefKind::Branch(short) => ("branch", short),
            RefKind::Tag(short) => ("tag", short),
            RefKind::Other => ("ref", name),
        };
        Self::new(kind, 0, short).in_repository(repository, path)
    }

    /// A hook.
    pub async fn hook(read: &impl Read, row: &Hook) -> Result<Self, StoreError> {
        let name = if row.name.is_empty() { &row.r#type } else { &row.name };
        let object = Self::new("hook", row.id, name);
        Ok(match row.scope() {
            HookScope::Repository => object.in_repository(row.target_id, &path_of(read, row.target_id).await?),
            HookScope::Org | HookScope::User => object.owned_by(&owner_name(read, row.target_id).await?),
            HookScope::System | HookScope::Default | HookScope::Unspecified => object,
        })
    }

    /// An artifact.
    pub async fn artifact(read: &impl Read, row: &Artifact) -> Result<Self, StoreError> {
        let path = path_of(read, row.repository_id).await?;
        Ok(Self::new("artifact", row.id, &row.name).in_repository(row.repository_id, &path))
    }
}

/// Returns `owner/name` of a repository, of a deleted one from before its deletion; empty if it does not exist.
pub async fn path_of(read: &impl Read, repository: u64) -> Result<String, StoreError> {
    let Some(row) = repositories::get(read, repository).await? else { return Ok(String::new()) };
    if row.deleted {
        return Ok(row.deleted_path);
    }
    let owner = owners::owner(read, row.owner_kind(), row.owner_id).await?;
    Ok(owner.map_or_else(String::new, |owner| format!("{}/{}", owner.name(), row.name)))
}

async fn owner_name(read: &impl Read, id: u64) -> Result<String, StoreError> {
    if let Some(user) = owners::user(read, id).await? {
        return Ok(user.name);
    }
    Ok(owners::org(read, id).await?.map(|org| Owner::Org(org).name().to_owned()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry::new(Action::HookEdit, Object::new("hook", 3, "x"))
    }

    #[test]
    fn only_changed_fields_are_recorded() {
        let row = entry().field("a", 1, 1).field("b", "x", "y").field("c", vec!["p"], vec!["p", "q"]).into_row();
        assert_eq!((row.before.as_str(), row.after.as_str()), (r#"{"b":"x","c":["p"]}"#, r#"{"b":"y","c":["p","q"]}"#));
        let unchanged = entry().field("a", true, true).secret("s", "k3y", "k3y");
        assert!(unchanged.is_unchanged());
        assert_eq!(unchanged.into_row().before, "");
    }

    #[test]
    fn secrets_appear_as_words() {
        for (before, after, expected) in [
            ("", "k3y", (r#"{"s":null}"#, r#"{"s":"(set)"}"#)),
            ("k3y", "other", (r#"{"s":"(set)"}"#, r#"{"s":"(changed)"}"#)),
            ("k3y", "", (r#"{"s":"(set)"}"#, r#"{"s":null}"#)),
        ] {
            let row = entry().secret("s", before, after).into_row();
            assert_eq!((row.before.as_str(), row.after.as_str()), expected);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let long = "ä".repeat(TEXT_MAX_CHARS + 1);
        let row = entry().field("a", String::new(), long.clone()).failed(&long).into_row();
        assert_eq!(row.after.chars().filter(|c| *c == 'ä').count(), TEXT_MAX_CHARS);
        assert_eq!(row.reason.chars().count(), TEXT_MAX_CHARS + 1);
    }
}
