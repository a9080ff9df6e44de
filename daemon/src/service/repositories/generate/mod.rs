//! Generates repositories from templates.
//!
//! Files, objects and row are created as for any new repository, so a request that fails leaves nothing.

mod content;
mod variables;

use std::sync::Arc;

use farrier_common::api::GenerateRepository;
use farrier_proto::store::{Hook, HookScope, Repository};

use super::{FoundRepository, OwnerChoice, create, find, rules};
use crate::{
    model::identity::Identity,
    service::{
        Context, Error,
        access::{self, Action},
        browse::Browse,
        commit_outcome::CommitOutcome,
        events::Actor,
        lfs, migrations, packs,
    },
    shares::{Holder, RequestMemory},
    store::{Tx, hooks, ids::IdKind, owners::Owner, packs::Packs, ref_rules, refs::Ref, repositories},
};

/// Generates a repository from the template `owner`/`name`.
pub async fn generate(
    context: &Context,
    identity: &Identity,
    (holder, memory): (Holder, Option<Arc<RequestMemory>>),
    (owner, name): (&str, &str),
    input: &GenerateRepository,
) -> Result<FoundRepository, Error> {
    let snapshot = context.store.read().await?;
    let template = find(&snapshot, identity, owner, name, Action::Read).await?;
    drop(snapshot);
    access::require_account(identity)?;
    check(&template, input)?;
    let choice = if input.owner.is_empty() { OwnerChoice::Caller } else { OwnerChoice::Named(&input.owner) };
    let new_owner = create::owner_for(context, identity, choice).await?;
    let row = row(context, &template.repository, &new_owner, input)?;
    let from_template = TemplateCopies::prepare(context, &template.repository, input).await?;
    let mut new = create::reserve(context, new_owner, row).await?;
    new.from_template = Some(from_template);
    let id = new.row.id;
    let created = context.git.init_bare(id, &new.row.default_branch, new.row.sha256).await;
    created.map_err(Error::git("creating a repository"))?;
    let content = match Browse::new(context, template, holder).await {
        Ok(browse) if input.git_content => content::copy(context, identity, &browse.with_memory(memory), &new).await,
        Ok(_) => Ok(None),
        Err(error) => Err(error),
    };
    // Also without content: the manifest of the new repository is complete.
    let ready = match content {
        Ok(tip) => packs::of_new(context, id, new.row.sha256, Packs::new()).await.map(|packs| (tip, packs)),
        Err(error) => Err(error),
    };
    let created = match ready {
        Ok((tip, packs)) => {
            new.packs = packs;
            if let Some(tip) = tip {
                new.row.empty = false;
                new.row.branches = Some(1);
                // If the size cannot be read, the next push measures it.
                new.row.size_bytes = context.git.size_bytes(id).await.unwrap_or(0);
                new.tips.push((format!("refs/heads/{}", new.row.default_branch), Ref { tip, peeled: None }));
            }
            // It has no objects, or those of one commit, of which git copied everything that it reaches.
            new.closed = true;
            create::insert(context, new, Some(&Actor::of(identity))).await
        }
        Err(error) => CommitOutcome::Known(Err(error)),
    };
    create::conclude(context, id, created).await
}

fn check(template: &FoundRepository, input: &GenerateRepository) -> Result<(), Error> {
    if let Some(reason) = migrations::pending(&template.repository) {
        return Err(Error::Conflict { reason: reason.into() });
    }
    if !template.repository.template {
        return Err(Error::Unusable { reason: "the repository is not a template".into() });
    }
    let items = [
        input.git_content,
        input.topics,
        input.labels,
        input.webhooks,
        input.git_hooks,
        input.avatar,
        input.protected_branch,
    ];
    if !items.contains(&true) {
        return Err(Error::Unusable {
            reason: "select at least one part of the template to copy, such as git_content".into(),
        });
    }
    // The addresses and secrets of webhooks are visible only to administrators.
    if input.webhooks && !template.access_level.allows(Action::Administer) {
        return Err(Error::Forbidden { reason: "only administrators of the template may copy its webhooks".into() });
    }
    // So are the users and teams that branch rules name.
    if input.protected_branch && !template.access_level.allows(Action::Administer) {
        return Err(Error::Forbidden {
            reason: "only administrators of the template may copy its branch rules".into(),
        });
    }
    Ok(())
}

/// Returns the row of the new repository, without an id.
fn row(
    context: &Context,
    template: &Repository,
    owner: &Owner,
    input: &GenerateRepository,
) -> Result<Repository, Error> {
    rules::name("name", &input.name)?;
    rules::description(&input.description)?;
    let branch = match input.default_branch.as_str() {
        "" => template.default_branch.clone(),
        branch => {
            rules::branch("default_branch", branch)?;
            branch.to_owned()
        }
    };
    Ok(Repository {
        name: input.name.clone(),
        description: input.description.clone(),
        sha256: template.sha256,
        trust_model: template.trust_model.clone(),
        topics: if input.topics { template.topics.clone() } else { Vec::new() },
        ..create::default_row(context, owner, input.private, branch)
    })
}

/// What a new repository gets from its template in the transaction that inserts its row.
pub(in crate::service) struct TemplateCopies {
    template: u64,
    /// Whether the LFS objects are copied.
    lfs: bool,
    /// Reserved ids of the copied hooks; empty if none are copied.
    hook_ids: Vec<u64>,
    /// Reserved ids of the copied branch rules; empty if none are copied.
    rule_ids: Vec<u64>,
}

impl TemplateCopies {
    async fn prepare(context: &Context, template: &Repository, input: &GenerateRepository) -> Result<Self, Error> {
        let mut hook_ids = Vec::new();
        if input.webhooks {
            let hooks = hooks::ids_of(&context.store.read().await?, HookScope::Repository, template.id).await?;
            for _ in hooks {
                hook_ids.push(context.store.next_id(IdKind::Hook).await?);
            }
        }
        let mut rule_ids = Vec::new();
        if input.protected_branch {
            for _ in ref_rules::of_branches(&context.store.read().await?, template.id).await? {
                rule_ids.push(context.store.next_id(IdKind::Rule).await?);
            }
        }
        Ok(Self { template: template.id, lfs: input.git_content, hook_ids, rule_ids })
    }

    /// Writes the copies and sets the fields of `row` that depend on them.
    pub(super) async fn insert(
        &self,
        context: &Context,
        tx: &Tx,
        owner: &Owner,
        row: &mut Repository,
    ) -> Result<(), Error> {
        // The template may have been deleted since, and then its objects may be removed.
        let template = repositories::get(tx, self.template).await?.filter(|row| !row.deleted).ok_or(super::MISSING)?;
        if self.lfs && template.lfs_size > 0 {
            lfs::copy_objects(context, tx, template.id, row).await?;
        }
        let copied = (template.id, row.id);
        // Other owners have other teams.
        let with_teams = template.owner_id == owner.id();
        ref_rules::copy_branch_rules(tx, copied, &self.rule_ids, with_teams, row.created_ms).await?;
        let all = if self.hook_ids.is_empty() {
            Vec::new()
        } else {
            hooks::of(tx, HookScope::Repository, template.id).await?
        };
        for (hook, id) in all.iter().zip(&self.hook_ids) {
            let copy = Hook {
                id: *id,
                target_id: row.id,
                copied_from: 0,
                created_ms: row.created_ms,
                updated_ms: row.created_ms,
                ..hook.clone()
            };
            hooks::insert(tx, &copy);
        }
        Ok(())
    }
}
