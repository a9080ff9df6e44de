//! The administration of branch rules.

use farrier_common::api::ChangeBranchProtection;
use farrier_proto::store::BranchRule;
use serde_json::Value;

use super::{
    branch_fields::changed,
    people::{self, KnownNames},
    require_repository,
};
use crate::{
    model::{identity::Identity, ref_rules::NamePattern},
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        repositories::{self, FoundRepository},
    },
    show::ref_rules::{RuleNames, branch_protection},
    store::{Read, Tx, ids::IdKind, ref_rules as rows},
};

const MISSING: Error = Error::NotFound { what: "the branch rule" };
/// The name that the route for priorities takes.
const RESERVED: &str = "priority";

/// A branch rule with the names in its lists.
#[derive(Clone, Debug, Default)]
pub struct BranchRuleWithNames {
    /// The rule.
    pub row: BranchRule,
    /// The names.
    pub(crate) names: RuleNames,
}

/// Returns the branch rules of a repository, by priority.
pub async fn branch_rules(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
) -> Result<Vec<BranchRuleWithNames>, Error> {
    let found = administered(read, identity, owner, name).await?;
    let (mut all, mut known) = (Vec::new(), KnownNames::default());
    for row in rows::of_branches(read, found.repository.id).await? {
        let names = known.rule(read, &row).await?;
        all.push(BranchRuleWithNames { row, names });
    }
    Ok(all)
}

/// Returns the branch rule `pattern` of a repository.
pub async fn branch_rule(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    pattern: &str,
) -> Result<BranchRuleWithNames, Error> {
    let found = administered(read, identity, owner, name).await?;
    let row = named(read, found.repository.id, pattern).await?;
    let names = people::rule_names(read, &row).await?;
    Ok(BranchRuleWithNames { row, names })
}

/// Adds a branch rule to a repository.
pub async fn create_branch_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    input: &ChangeBranchProtection,
) -> Result<BranchRuleWithNames, Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    let given = [&input.rule_name, &input.branch_name].into_iter().flatten().find(|name| !name.is_empty());
    let pattern = given.ok_or(Error::Body { reason: "rule_name is required".into() })?;
    if pattern == RESERVED {
        return Err(Error::invalid("rule_name", "is reserved; use the pattern [p]riority for a branch of this name"));
    }
    NamePattern::of_branches(pattern).map_err(|problem| Error::invalid("rule_name", problem))?;
    let now = context.now_ms();
    let empty = &BranchRule {
        id: context.store.next_id(IdKind::Rule).await?,
        repository_id: found.repository.id,
        pattern: pattern.clone(),
        created_ms: now,
        updated_ms: now,
        ..BranchRule::default()
    };
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, empty.repository_id).await?;
            let others = rows::of_branches(&tx, empty.repository_id).await?;
            if others.iter().any(|other| other.pattern == empty.pattern) {
                return Err(Error::Exists { message: format!("branch rule already exists: {}", empty.pattern) });
            }
            if others.len() >= rows::PER_REPOSITORY_MAX {
                let reason = format!("the repository has {} branch rules already", others.len());
                return Err(Error::invalid("rule_name", reason));
            }
            let mut row = changed(&tx, &found.owner, empty, input).await?;
            if row.priority == 0 {
                row.priority = others.iter().map(|other| other.priority).max().unwrap_or(0).saturating_add(1);
            }
            rows::put_branch_rule(&tx, &row);
            let names = people::rule_names(&tx, &row).await?;
            let after = BranchRuleWithNames { row, names };
            let before = BranchRuleWithNames::default();
            recorder.record(&tx, entry(audit::Action::BranchRuleCreate, &found, &before, &after).created()).await?;
            Ok(after)
        })
        .await
}

/// Changes the branch rule `pattern` of a repository.
pub async fn edit_branch_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    pattern: &str,
    input: &ChangeBranchProtection,
) -> Result<BranchRuleWithNames, Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, found.repository.id).await?;
            let old = named(&tx, found.repository.id, pattern).await?;
            let row = BranchRule { updated_ms: now, ..changed(&tx, &found.owner, &old, input).await? };
            rows::put_branch_rule(&tx, &row);
            let before = BranchRuleWithNames { names: people::rule_names(&tx, &old).await?, row: old };
            let after = BranchRuleWithNames { names: people::rule_names(&tx, &row).await?, row };
            recorder.record(&tx, entry(audit::Action::BranchRuleEdit, &found, &before, &after)).await?;
            Ok(after)
        })
        .await
}

/// Deletes the branch rule `pattern` of a repository.
pub async fn delete_branch_rule(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    pattern: &str,
) -> Result<(), Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, found.repository.id).await?;
            let row = named(&tx, found.repository.id, pattern).await?;
            rows::delete_branch_rule(&tx, &row);
            let entry = Entry::new(audit::Action::BranchRuleDelete, object(&found, &row));
            recorder.record(&tx, entry.had("rule_name", row.pattern.as_str())).await?;
            Ok(())
        })
        .await
}

/// Gives the branch rules with these IDs the priorities 1, 2, … The other rules follow in their order.
pub async fn order_branch_rules(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    ids: &[u64],
) -> Result<(), Error> {
    let read = context.store.read().await?;
    let found = administered(&read, identity, owner, name).await?;
    drop(read);
    if ids.len() > rows::PER_REPOSITORY_MAX {
        return Err(Error::invalid("ids", format!("must have at most {} numbers", rows::PER_REPOSITORY_MAX)));
    }
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, found.repository.id).await?;
            let mut all = rows::of_branches(&tx, found.repository.id).await?;
            let order = |rules: &[BranchRule]| rules.iter().map(|row| row.pattern.clone()).collect::<Vec<_>>();
            let before = order(&all);
            if let Some(unknown) = ids.iter().find(|id| all.iter().all(|row| row.id != **id)) {
                return Err(Error::invalid("ids", format!("the repository has no branch rule {unknown}")));
            }
            all.sort_by_cached_key(|row| ids.iter().position(|id| *id == row.id).unwrap_or(usize::MAX));
            for (priority, row) in (1..).zip(&all) {
                if row.priority != priority {
                    rows::put_branch_rule(&tx, &BranchRule { priority, updated_ms: now, ..row.clone() });
                }
            }
            let path = found.path();
            let object = Object::new("branch_rule", 0, "").in_repository(found.repository.id, &path);
            let entry = Entry::new(audit::Action::BranchRuleOrder, object).field("rules", before, order(&all));
            recorder.record(&tx, entry).await?;
            Ok(())
        })
        .await
}

/// Returns a repository that the caller administers.
pub(super) async fn administered(
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
) -> Result<FoundRepository, Error> {
    access::require_account(identity)?;
    repositories::find(read, identity, owner, name, Action::Administer).await
}

async fn named(read: &impl Read, repository: u64, pattern: &str) -> Result<BranchRule, Error> {
    let all = rows::of_branches(read, repository).await?;
    all.into_iter().find(|row| row.pattern == pattern).ok_or(MISSING)
}

fn object(found: &FoundRepository, row: &BranchRule) -> Object {
    Object::new("branch_rule", row.id, &row.pattern).in_repository(row.repository_id, &found.path())
}

/// Returns the audit entry of a change, with every field of the API that differs.
fn entry(
    action: audit::Action,
    found: &FoundRepository,
    before: &BranchRuleWithNames,
    after: &BranchRuleWithNames,
) -> Entry {
    let fields = |rule: &BranchRuleWithNames| {
        let shown = serde_json::to_value(branch_protection(&rule.row, &rule.names)).unwrap_or_default();
        if let Value::Object(fields) = shown { fields } else { serde_json::Map::new() }
    };
    let (old, new) = (fields(before), fields(after));
    let mut entry = Entry::new(action, object(found, &after.row));
    for (name, value) in new {
        if !matches!(name.as_str(), "id" | "branch_name" | "created_at" | "updated_at" | "warning") {
            let before = old.get(&name).cloned().unwrap_or_default();
            entry = entry.field(&name, before, value);
        }
    }
    entry
}
