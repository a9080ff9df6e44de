//! The decision about changes of refs.

use std::collections::HashMap;

use farrier_proto::store::{BranchRule, RuleList};

use super::signed;
use crate::{
    git::{
        GitError, Workspace,
        commands::{Commands, Update},
        ref_name::{self, RefKind},
        report::RefRefusal,
    },
    model::{
        identity::Identity,
        ref_rules::{
            BranchRights, ChangeKind, CompiledBranchRule, CompiledTagRule, ListKind, Named, ObjectCheck, RefDecision,
            decide_branch, decide_tag,
        },
    },
    service::{Context, Error},
    shares::Holder,
    store::{Read, StoreError, ref_rules as rows, teams},
    tasks,
};

/// Most updates of a push whose objects are checked. Each needs up to two git processes.
const OBJECT_CHECKS_MAX: usize = 100;
/// Updates that are compared with the rules before other tasks run.
const UPDATES_AT_ONCE: usize = 200;

/// Who changes refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefChanger {
    /// The account with this ID.
    Account(u64),
    /// A deploy key of the repository.
    DeployKey,
}

impl RefChanger {
    /// Returns the caller of a request who may write to the repository.
    pub fn of(identity: &Identity) -> Self {
        match identity {
            Identity::DeployKey(_) => Self::DeployKey,
            _ => Self::Account(identity.user_id()),
        }
    }
}

/// The decision about a list of updates.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The refused updates.
    pub refusals: Vec<RefRefusal>,
    /// The updates about which the objects decide.
    pending: Vec<Pending>,
}

/// An update of a branch about which the objects decide.
#[derive(Clone, Debug)]
struct Pending {
    name: String,
    branch: String,
    old: Option<String>,
    new: String,
    check: ObjectCheck,
}

/// The rules of a repository, and what is known about the caller.
struct Rules {
    branches: Vec<CompiledBranchRule>,
    tags: Vec<CompiledTagRule>,
    /// By ID of the branch rule.
    named: HashMap<u64, Named>,
    /// By ID of the tag rule.
    in_tag_list: HashMap<u64, bool>,
}

impl Rules {
    async fn load(read: &impl Read, repository: u64) -> Result<Self, StoreError> {
        let branches = rows::of_branches(read, repository).await?.into_iter().map(CompiledBranchRule::new).collect();
        let tags = rows::of_tags(read, repository).await?.into_iter().map(CompiledTagRule::new).collect();
        Ok(Self { branches, tags, named: HashMap::new(), in_tag_list: HashMap::new() })
    }

    /// Returns the rule of the branch `name` and the rights that it gives.
    async fn of_branch(
        &mut self,
        read: &impl Read,
        changer: RefChanger,
        name: &str,
    ) -> Result<Option<(&CompiledBranchRule, BranchRights)>, StoreError> {
        let Some(rule) = self.branches.iter().find(|rule| rule.applies_to(name)) else { return Ok(None) };
        let row = &rule.row;
        let named = if let Some(named) = self.named.get(&row.id) {
            *named
        } else {
            let named = Named {
                push: names(read, ListKind::Push.of(row), changer).await?,
                force_push: names(read, ListKind::ForcePush.of(row), changer).await?,
                merge: names(read, ListKind::Merge.of(row), changer).await?,
            };
            self.named.insert(row.id, named);
            named
        };
        Ok(Some((rule, BranchRights::of(row, named))))
    }

    /// Returns why a change of the tag `name` is refused.
    async fn of_tag(
        &mut self,
        read: &impl Read,
        changer: RefChanger,
        name: &str,
    ) -> Result<Option<String>, StoreError> {
        let mut matching = Vec::new();
        for CompiledTagRule { row, .. } in self.tags.iter().filter(|rule| rule.applies_to(name)) {
            let is_named = if let Some(is_named) = self.in_tag_list.get(&row.id) {
                *is_named
            } else {
                let is_named = is_in(read, &row.users, &row.teams, false, changer).await?;
                self.in_tag_list.insert(row.id, is_named);
                is_named
            };
            matching.push((row.pattern.as_str(), is_named));
        }
        Ok(decide_tag(name, matching))
    }
}

/// Returns whether a list names the caller. A list that is not used names everybody.
async fn names(read: &impl Read, list: Option<&RuleList>, changer: RefChanger) -> Result<bool, StoreError> {
    match list {
        Some(list) => is_in(read, &list.users, &list.teams, list.deploy_keys, changer).await,
        None => Ok(true),
    }
}

async fn is_in(
    read: &impl Read,
    users: &[u64],
    teams: &[u64],
    deploy_keys: bool,
    changer: RefChanger,
) -> Result<bool, StoreError> {
    match changer {
        RefChanger::DeployKey => Ok(deploy_keys),
        RefChanger::Account(user) if users.contains(&user) => Ok(true),
        RefChanger::Account(_) if teams.is_empty() => Ok(false),
        RefChanger::Account(user) => teams::is_member_of_any(read, teams, user).await,
    }
}

/// Decides about the updates of a push by `changer`, who may write to the repository, as far as their names suffice.
pub async fn check(
    context: &Context,
    repository: u64,
    changer: RefChanger,
    commands: &Commands,
) -> Result<Checked, Error> {
    Ok(check_in(&context.store.read().await?, repository, changer, &commands.updates).await?)
}

/// Like [`check()`], with the rules that `read` sees.
pub async fn check_in(
    read: &impl Read,
    repository: u64,
    changer: RefChanger,
    updates: &[Update],
) -> Result<Checked, StoreError> {
    let mut rules = Rules::load(read, repository).await?;
    let mut checked = Checked::default();
    if rules.branches.is_empty() && rules.tags.is_empty() {
        return Ok(checked);
    }
    for (number, update) in updates.iter().enumerate() {
        if number % UPDATES_AT_ONCE == UPDATES_AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
        match ref_name::kind(&update.name) {
            RefKind::Branch(branch) => {
                if let Some((rule, rights)) = rules.of_branch(read, changer, branch).await? {
                    let decision = decide_branch(rule, rights, branch, kind(update));
                    checked.add(update, branch, decision);
                }
            }
            RefKind::Tag(tag) => {
                if let Some(reason) = rules.of_tag(read, changer, tag).await? {
                    checked.refuse(&update.name, reason);
                }
            }
            RefKind::Other => {}
        }
    }
    Ok(checked)
}

fn kind(update: &Update) -> ChangeKind {
    if update.deletes() {
        ChangeKind::Delete
    } else if ref_name::is_zero(&update.old) {
        ChangeKind::Create
    } else {
        ChangeKind::Move
    }
}

impl Checked {
    /// Returns whether the decision about an update needs the objects.
    pub fn needs_objects(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns whether the same updates, whose objects have passed the checks of `passed`, need no other check.
    pub fn is_covered_by(&self, passed: &Self) -> bool {
        self.pending.iter().all(|pending| {
            let is_same =
                |other: &Pending| other.name == pending.name && other.old == pending.old && other.new == pending.new;
            passed.pending.iter().any(|other| is_same(other) && other.check.covers(&pending.check))
        })
    }

    fn refuse(&mut self, name: &str, reason: String) {
        self.refusals.push(RefRefusal { name: name.to_owned(), reason });
    }

    fn add(&mut self, update: &Update, branch: &str, decision: RefDecision) {
        match decision {
            RefDecision::Allowed => {}
            RefDecision::Refused(reason) => self.refuse(&update.name, reason),
            RefDecision::Depends(_) if self.pending.len() >= OBJECT_CHECKS_MAX => {
                let reason =
                    format!("branch {branch} is protected: push at most {OBJECT_CHECKS_MAX} such branches at once");
                self.refuse(&update.name, reason);
            }
            RefDecision::Depends(check) => self.pending.push(Pending {
                name: update.name.clone(),
                branch: branch.to_owned(),
                old: Some(update.old.clone()).filter(|old| !ref_name::is_zero(old)),
                new: update.new.clone(),
                check,
            }),
        }
    }

    /// Decides about the rest of the updates. `objects` has the objects of the push. `holder`: the caller, to whom
    /// checks of signatures count. Returns all refused updates.
    pub async fn with_objects(
        self,
        context: &Context,
        holder: Holder,
        objects: &Workspace,
    ) -> Result<Vec<RefRefusal>, Error> {
        let mut refusals = self.refusals;
        let mut commits_left = signed::COMMITS_MAX;
        for pending in self.pending {
            let mut reason = match pending.refused(objects).await {
                Ok(reason) => reason,
                // Git refuses such updates as well, or the list is larger than what is read.
                Err(GitError::Failed { .. }) => Some(pending.protected("the change cannot be read")),
                Err(GitError::TooMuch { .. }) => Some(pending.protected("too many files are changed to check them")),
                Err(error) => return Err(Error::git("checking a change of a protected branch")(error)),
            };
            if reason.is_none() && pending.check.signed {
                let change = (pending.old.as_deref(), pending.new.as_str());
                let problem = signed::refusal(context, holder, objects, change, &mut commits_left).await?;
                reason = problem.map(|problem| pending.protected(&problem));
            }
            refusals.extend(reason.map(|reason| RefRefusal { name: pending.name, reason }));
        }
        Ok(refusals)
    }
}

impl Pending {
    async fn refused(&self, objects: &Workspace) -> Result<Option<String>, GitError> {
        if self.check.no_force
            && let Some(old) = &self.old
            && objects.loses_commits(old, &self.new).await?
        {
            return Ok(Some(ObjectCheck::forced(&self.branch)));
        }
        if self.check.files.is_none() {
            return Ok(None);
        }
        let changed = objects.changed_files(self.old.as_deref(), &self.new).await?;
        let (check, branch) = (self.check.clone(), self.branch.clone());
        // Comparing a long list with many patterns takes seconds.
        let refused = tasks::blocking(move || {
            let paths = changed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            check.refuses_files(&branch, paths)
        });
        Ok(refused.await)
    }

    fn protected(&self, problem: &str) -> String {
        format!("branch {} is protected: {problem}", self.branch)
    }
}

/// Returns an error if a rule forbids one of the changes of an account through the API. Their objects are in the
/// repository. The result is what `ref_moves` needs, which reads the rules again when the refs move.
pub async fn require(context: &Context, repository: u64, account: u64, commands: &Commands) -> Result<Checked, Error> {
    let checked = check(context, repository, RefChanger::Account(account), commands).await?;
    require_objects(context, repository, account, &checked).await?;
    Ok(checked)
}

async fn require_objects(context: &Context, repository: u64, account: u64, checked: &Checked) -> Result<(), Error> {
    if !checked.needs_objects() || !checked.refusals.is_empty() {
        return refused(checked.refusals.clone());
    }
    let workspace = context.git.reader(repository).workspace().await.map_err(Error::git("checking a change"))?;
    let refusals = checked.clone().with_objects(context, Holder::Account(account), &workspace).await;
    workspace.remove().await;
    refused(refusals?)
}

/// Like [`require`], for changes whose objects are in `workspace`.
pub async fn require_in(
    context: &Context,
    repository: u64,
    account: u64,
    commands: &Commands,
    workspace: &Workspace,
) -> Result<(), Error> {
    let checked = check(context, repository, RefChanger::Account(account), commands).await?;
    refused(checked.with_objects(context, Holder::Account(account), workspace).await?)
}

/// Returns the first refusal as an error. The API family answers 422 for tags and 403 for branches.
fn refused(refusals: Vec<RefRefusal>) -> Result<(), Error> {
    match refusals.into_iter().next() {
        None => Ok(()),
        Some(RefRefusal { name, reason }) => match ref_name::kind(&name) {
            RefKind::Tag(_) => Err(Error::invalid("tag_name", reason)),
            RefKind::Branch(_) | RefKind::Other => Err(Error::Forbidden { reason }),
        },
    }
}

/// Returns whether a rule protects the branch `name`.
pub async fn protects_branch(read: &impl Read, repository: u64, name: &str) -> Result<bool, StoreError> {
    let rules = rows::of_branches(read, repository).await?;
    Ok(rules.into_iter().any(|rule| CompiledBranchRule::new(rule).applies_to(name)))
}

/// Returns the rule of each of these branches and the rights that it gives `changer`.
pub async fn branch_rights(
    read: &impl Read,
    repository: u64,
    changer: RefChanger,
    branches: &[&str],
) -> Result<Vec<Option<(BranchRule, BranchRights)>>, Error> {
    let mut rules = Rules::load(read, repository).await?;
    let mut found = Vec::with_capacity(branches.len());
    for branch in branches {
        let of_branch = rules.of_branch(read, changer, branch).await?;
        found.push(of_branch.map(|(rule, rights)| (rule.row.clone(), rights)));
    }
    Ok(found)
}
