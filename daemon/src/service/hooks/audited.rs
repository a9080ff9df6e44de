//! Audit entries of changes of hooks. They contain no secrets: of the URL only the origin, and of settings only whether
//! they are set.

use std::collections::BTreeSet;

use farrier_proto::store::{Hook, HookScope};

use crate::{
    service::audit::{Action, Entry, Object},
    store::{Read, StoreError},
};

/// Returns the entry of a new hook.
pub(super) async fn creation(read: &impl Read, row: &Hook) -> Result<Entry, StoreError> {
    Ok(change(read, Action::HookCreate, &Hook::default(), row).await?.created())
}

/// Returns the entry of a changed hook; `None` if nothing that is shown has changed.
pub(super) async fn edit(read: &impl Read, before: &Hook, after: &Hook) -> Result<Option<Entry>, StoreError> {
    let entry = change(read, Action::HookEdit, before, after).await?;
    Ok((!entry.is_unchanged()).then_some(entry))
}

/// Returns the entry of a deleted hook.
pub(super) async fn deletion(read: &impl Read, row: &Hook) -> Result<Entry, StoreError> {
    let entry = Entry::new(Action::HookDelete, Object::hook(read, row).await?);
    Ok(entry.had("type", row.r#type.as_str()).url("url", &row.url, ""))
}

async fn change(read: &impl Read, action: Action, before: &Hook, after: &Hook) -> Result<Entry, StoreError> {
    let mut entry = Entry::new(action, Object::hook(read, after).await?)
        .field("type", before.r#type.as_str(), &after.r#type)
        .field("scope", scope_word(before.scope()), scope_word(after.scope()))
        .field("name", before.name.as_str(), &after.name)
        .url("url", &before.url, &after.url)
        .field("form", before.form, after.form)
        .secret("secret", &before.secret, &after.secret)
        .secret("authorization_header", &before.authorization, &after.authorization)
        .field("events", before.events.clone(), after.events.clone())
        .field("branch_filter", before.branch_filter.as_str(), &after.branch_filter)
        .field("active", before.active, after.active);
    let names: BTreeSet<&String> = before.settings.keys().chain(after.settings.keys()).collect();
    for name in names {
        let value = |row: &Hook| row.settings.get(name).cloned().unwrap_or_default();
        entry = entry.secret(&format!("config.{name}"), value(before), value(after));
    }
    Ok(entry)
}

fn scope_word(scope: HookScope) -> &'static str {
    match scope {
        HookScope::Unspecified => "",
        HookScope::System => "system",
        HookScope::Default => "default",
        HookScope::Repository => "repository",
        HookScope::Org => "organization",
        HookScope::User => "user",
    }
}
