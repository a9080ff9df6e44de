//! The users and teams that rules name. Rules store IDs; clients send and get names.

use std::collections::{HashMap, hash_map::Entry};

use farrier_proto::store::{BranchRule, RuleList};

use crate::{
    service::Error,
    show::ref_rules::{ListNames, RuleNames},
    store::{Read, StoreError, owners, owners::Owner, teams},
};

/// Most users, and most teams, of a list.
const LIST_MAX: usize = 500;

/// Returns the IDs of users, without duplicates.
pub(super) async fn users(read: &impl Read, field: &'static str, names: &[String]) -> Result<Vec<u64>, Error> {
    require_few(field, names)?;
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let user = owners::user_by_name(read, name).await?;
        ids.push(user.ok_or_else(|| Error::invalid(field, format!("user {name:?} does not exist")))?.id);
    }
    Ok(distinct(ids))
}

/// Returns the IDs of teams of the owner, without duplicates. Only organizations have teams.
pub(super) async fn teams(
    read: &impl Read,
    owner: &Owner,
    field: &'static str,
    names: &[String],
) -> Result<Vec<u64>, Error> {
    require_few(field, names)?;
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let team = match owner {
            Owner::Org(org) => teams::by_name(read, org.id, name).await?,
            Owner::User(_) => None,
        };
        let missing = || Error::invalid(field, format!("team {name:?} does not exist in {}", owner.name()));
        ids.push(team.ok_or_else(missing)?.id);
    }
    Ok(distinct(ids))
}

fn require_few(field: &'static str, names: &[String]) -> Result<(), Error> {
    if names.len() > LIST_MAX {
        return Err(Error::invalid(field, format!("has more than {LIST_MAX} names")));
    }
    Ok(())
}

fn distinct(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The names of users and teams that were read. Many rules can list the same ones, so each is read once for an answer.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    users: HashMap<u64, Option<String>>,
    teams: HashMap<u64, Option<String>>,
}

impl KnownNames {
    /// Returns the names of the users and teams that exist.
    pub(super) async fn list(
        &mut self,
        read: &impl Read,
        users: &[u64],
        teams: &[u64],
    ) -> Result<ListNames, StoreError> {
        let mut names = ListNames::default();
        for id in users {
            names.users.extend(match self.users.entry(*id) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(unknown) => unknown.insert(owners::user(read, *id).await?.map(|row| row.name)).clone(),
            });
        }
        for id in teams {
            names.teams.extend(match self.teams.entry(*id) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(unknown) => unknown.insert(teams::get(read, *id).await?.map(|row| row.name)).clone(),
            });
        }
        Ok(names)
    }

    /// Returns the names in the lists of a branch rule.
    pub(super) async fn rule(&mut self, read: &impl Read, row: &BranchRule) -> Result<RuleNames, StoreError> {
        Ok(RuleNames {
            push: self.of(read, row.push_list.as_ref()).await?,
            force_push: self.of(read, row.force_push_list.as_ref()).await?,
            merge: self.of(read, row.merge_list.as_ref()).await?,
            bypass: self.of(read, row.bypass_list.as_ref()).await?,
            approvals: self.of(read, row.approvals_list.as_ref()).await?,
        })
    }

    async fn of(&mut self, read: &impl Read, list: Option<&RuleList>) -> Result<ListNames, StoreError> {
        match list {
            Some(list) => self.list(read, &list.users, &list.teams).await,
            None => Ok(ListNames::default()),
        }
    }
}

/// Returns the names in the lists of a branch rule.
pub(super) async fn rule_names(read: &impl Read, row: &BranchRule) -> Result<RuleNames, StoreError> {
    KnownNames::default().rule(read, row).await
}
