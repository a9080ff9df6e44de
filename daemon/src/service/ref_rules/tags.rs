//! The administration of tag rules.

use farrier_common::api::ChangeTagProtection;
use farrier_proto::store::TagRule;

use super::{
    branches::administered,
    people::{self, KnownNames},
    require_repository,
};
use crate::{
    model::{identity::Identity, ref_rules::NamePattern},
    service::{
        Context, Error,
        audit::{self, AuditRecorder, Entry, Object},
        repositories::FoundRepository,
    },
    show::ref_rules::ListNames,
    store::{Read, Tx, ids::IdKind, owners::Owner, ref_rules as rows},
};

const MISSING: Error = Error::NotFound { what: "the tag rule" };

/// A tag rule with the names in its lists.
#[derive(Clone, Debug)]
pub struct TagRuleWithNames {
    /// The rule.
    pub row: TagRule,
    /// The names.
    pub(crate) names: ListNames,
}

/// Returns the tag rules of a repository, by ID.
pub async fn tag_rules(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
) -> Result<Vec<TagRuleWithNames>, Error> {
    let found = administered(read, identity, owner, name).await?;
    let (mut all, mut known) = (Vec::new(), KnownNames::default());
    for row in rows::of_tags(read, found.repository.id).await? {
        let names = known.list(read, &row.users, &row.teams).await?;
        all.push(TagRuleWithNames { row, names });
    }
    Ok(all)
}

/// Returns the tag rule `id` of a repository.
pub async fn tag_rule(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    id: u64,
) -> Result<TagRuleWithNames, Error> {
    let found = administered(read, identity, owner, name).await?;
    let row = rows::tag_rule(read, found.repository.id, id).await?.ok_or(MISSING)?;
    with_names(read, row).await
}

/// Adds a tag rule to a repository.
pub async fn create_tag_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    input: &ChangeTagProtection,
) -> Result<TagRuleWithNames, Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    if input.name_pattern.as_deref().unwrap_or_default().is_empty() {
        return Err(Error::Body { reason: "name_pattern is required".into() });
    }
    let is_empty = |names: &Option<Vec<String>>| names.as_ref().is_none_or(Vec::is_empty);
    if is_empty(&input.whitelist_usernames) && is_empty(&input.whitelist_teams) {
        return Err(Error::Body { reason: "whitelist_usernames or whitelist_teams is required".into() });
    }
    let now = context.now_ms();
    let empty = &TagRule {
        id: context.store.next_id(IdKind::Rule).await?,
        repository_id: found.repository.id,
        created_ms: now,
        updated_ms: now,
        ..TagRule::default()
    };
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, empty.repository_id).await?;
            let row = changed(&tx, &found.owner, empty, input).await?;
            let others = rows::of_tags(&tx, row.repository_id).await?;
            if others.iter().any(|other| other.pattern == row.pattern) {
                return Err(exists(&row));
            }
            if others.len() >= rows::PER_REPOSITORY_MAX {
                let reason = format!("the repository has {} tag rules already", others.len());
                return Err(Error::invalid("name_pattern", reason));
            }
            rows::put_tag_rule(&tx, &row);
            let after = with_names(&tx, row).await?;
            let entry = entry(audit::Action::TagRuleCreate, &found, (empty, &ListNames::default()), &after);
            recorder.record(&tx, entry.created()).await?;
            Ok(after)
        })
        .await
}

/// Changes the tag rule `id` of a repository.
pub async fn edit_tag_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    id: u64,
    input: &ChangeTagProtection,
) -> Result<TagRuleWithNames, Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, found.repository.id).await?;
            let old = rows::tag_rule(&tx, found.repository.id, id).await?.ok_or(MISSING)?;
            let row = TagRule { updated_ms: now, ..changed(&tx, &found.owner, &old, input).await? };
            let others = rows::of_tags(&tx, row.repository_id).await?;
            if others.iter().any(|other| other.id != row.id && other.pattern == row.pattern) {
                return Err(exists(&row));
            }
            rows::put_tag_rule(&tx, &row);
            let names = KnownNames::default().list(&tx, &old.users, &old.teams).await?;
            let after = with_names(&tx, row).await?;
            recorder.record(&tx, entry(audit::Action::TagRuleEdit, &found, (&old, &names), &after)).await?;
            Ok(after)
        })
        .await
}

/// Deletes the tag rule `id` of a repository.
pub async fn delete_tag_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    id: u64,
) -> Result<(), Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, found.repository.id).await?;
            let row = rows::tag_rule(&tx, found.repository.id, id).await?.ok_or(MISSING)?;
            rows::delete_tag_rule(&tx, &row);
            let entry = Entry::new(audit::Action::TagRuleDelete, object(&found, &row));
            recorder.record(&tx, entry.had("name_pattern", row.pattern.as_str())).await?;
            Ok(())
        })
        .await
}

async fn with_names(read: &impl Read, row: TagRule) -> Result<TagRuleWithNames, Error> {
    let names = KnownNames::default().list(read, &row.users, &row.teams).await?;
    Ok(TagRuleWithNames { row, names })
}

/// Returns `before` with the changes of a request. An empty pattern is the same as an absent one.
async fn changed(
    read: &impl Read,
    owner: &Owner,
    before: &TagRule,
    input: &ChangeTagProtection,
) -> Result<TagRule, Error> {
    let mut row = before.clone();
    if let Some(pattern) = input.name_pattern.as_ref().filter(|pattern| !pattern.is_empty()) {
        NamePattern::of_tags(pattern).map_err(|problem| Error::invalid("name_pattern", problem))?;
        row.pattern.clone_from(pattern);
    }
    if let Some(names) = &input.whitelist_usernames {
        row.users = people::users(read, "whitelist_usernames", names).await?;
    }
    if let Some(names) = &input.whitelist_teams {
        row.teams = people::teams(read, owner, "whitelist_teams", names).await?;
    }
    Ok(row)
}

fn exists(row: &TagRule) -> Error {
    Error::Exists { message: format!("tag rule already exists: {}", row.pattern) }
}

fn object(found: &FoundRepository, row: &TagRule) -> Object {
    Object::new("tag_rule", row.id, &row.pattern).in_repository(row.repository_id, &found.path())
}

fn entry(
    action: audit::Action,
    found: &FoundRepository,
    (old, old_names): (&TagRule, &ListNames),
    after: &TagRuleWithNames,
) -> Entry {
    let TagRuleWithNames { row, names } = after;
    Entry::new(action, object(found, row))
        .field("name_pattern", old.pattern.as_str(), row.pattern.as_str())
        .field("whitelist_usernames", old_names.users.clone(), names.users.clone())
        .field("whitelist_teams", old_names.teams.clone(), names.teams.clone())
}
