//! Collaborators of repositories.

use farrier_proto::store::{Permission, User};

use super::{FoundRepository, find};
use crate::{
    model::{
        identity::{Account, Identity, Proof},
        words::permission_word as word,
    },
    service::{
        Context, Error,
        access::{self, AccessLevel, Action},
        audit::{self, AuditRecorder, Entry, Object},
        events::{Actor, EventKind, EventRecorder, Subject},
        orgs::{self, Members},
        viewer::Viewer,
    },
    store::{
        Read, StoreError, Tx,
        owners::{self, Owner},
        repositories,
    },
};

const NO_USER: &str = "the user does not exist";

/// Returns a page of the collaborators that the caller sees, and their total number.
pub async fn collaborators(
    read: &impl Read,
    identity: &Identity,
    owner: &str,
    name: &str,
    skip: u64,
    limit: usize,
) -> Result<(Vec<User>, u64), Error> {
    access::require_account(identity)?;
    let found = find(read, identity, owner, name, Action::Read).await?;
    let viewer = Viewer::of(read, identity).await?;
    let mut users = Vec::new();
    for (id, _) in repositories::collaborators(read, found.repository.id, usize::MAX).await? {
        let user = owners::user(read, id).await?;
        let sees = |user: &User| manages(&found) || viewer.sees(&Owner::User(user.clone()));
        users.extend(user.filter(sees));
    }
    let total = users.len() as u64;
    Ok((users.into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(limit).collect(), total))
}

/// Returns whether the caller manages the collaborators of a repository, and therefore sees all of them.
fn manages(found: &FoundRepository) -> bool {
    found.access_level.allows(Action::Administer)
}

/// Returns the user `name`, if the caller sees the user: by the user's visibility, or as one of the collaborators that
/// the caller manages.
async fn visible_user(
    read: &impl Read,
    identity: &Identity,
    found: &FoundRepository,
    name: &str,
) -> Result<Option<User>, Error> {
    let Some(user) = owners::user_by_name(read, name).await? else { return Ok(None) };
    if Viewer::of(read, identity).await?.sees(&Owner::User(user.clone())) {
        return Ok(Some(user));
    }
    let permission = repositories::collaborator(read, found.repository.id, user.id).await?;
    Ok(Some(user).filter(|_| manages(found) && permission != Permission::None))
}

/// Returns an error unless `user` is a collaborator.
pub async fn collaborator(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    user: &str,
) -> Result<(), Error> {
    access::require_account(identity)?;
    let found = find(read, identity, owner, name, Action::Read).await?;
    let user = visible_user(read, identity, &found, user).await?;
    let user = user.ok_or_else(|| Error::invalid("collaborator", NO_USER))?;
    match repositories::collaborator(read, found.repository.id, user.id).await? {
        Permission::None => Err(Error::NotFound { what: "the collaborator" }),
        _ => Ok(()),
    }
}

/// Returns the accounts of a repository that may do `action` there and that the caller sees, by name: its owner or the
/// members of its organization, and its collaborators.
pub async fn people(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    action: Action,
) -> Result<Vec<User>, Error> {
    access::require_account(identity)?;
    let found = find(read, identity, owner, name, Action::Read).await?;
    let viewer = Viewer::of(read, identity).await?;
    let mut users = match &found.owner {
        Owner::User(user) => vec![user.clone()],
        Owner::Org(org) if viewer.sees(&found.owner) => orgs::members(read, identity, org, Members::All).await?,
        // Collaborators who do not see the organization do not learn who its members are.
        Owner::Org(_) => Vec::new(),
    };
    for (id, _) in repositories::collaborators(read, found.repository.id, usize::MAX).await? {
        users.extend(owners::user(read, id).await?);
    }
    users.sort_by_cached_key(|user| (user.name.to_lowercase(), user.id));
    users.dedup_by_key(|user| user.id);
    users.retain(|user| manages(&found) || viewer.sees(&Owner::User(user.clone())));
    let levels = access::access_levels(read, &users, &found.owner, &found.repository).await?;
    let people = users.into_iter().zip(levels).filter(|(_, level)| level.allows(action));
    Ok(people.map(|(user, _)| user).collect())
}

/// Returns the access level of `user` in a repository.
async fn level_of(read: &impl Read, user: &User, found: &FoundRepository) -> Result<AccessLevel, StoreError> {
    let identity = Identity::Account(Box::new(Account { user: user.clone(), proof: Proof::Password }));
    access::access_level(read, &identity, &found.owner, &found.repository).await
}

/// Adds `user` as a collaborator, or changes the permission of an existing one.
pub async fn add_collaborator(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    user: &str,
    word: &str,
) -> Result<(), Error> {
    let permission = match word {
        "" | "write" => Permission::Write,
        "read" => Permission::Read,
        "admin" => Permission::Admin,
        _ => return Err(Error::invalid("permission", "must be read, write or admin")),
    };
    let (found, user) = find_both(context, identity, (owner, name), user).await?;
    if matches!(&found.owner, Owner::User(owner) if owner.id == user.id) {
        return Err(Error::invalid("collaborator", "the owner cannot be a collaborator"));
    }
    set(context, identity, &found, &user, permission, "added").await
}

/// Removes the collaborator `user`. Does nothing if the user is not one.
pub async fn remove_collaborator(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    user: &str,
) -> Result<(), Error> {
    let (found, user) = find_both(context, identity, (owner, name), user).await?;
    set(context, identity, &found, &user, Permission::None, "removed").await
}

async fn find_both(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    user: &str,
) -> Result<(FoundRepository, User), Error> {
    let snapshot = context.store.read().await?;
    let found = find(&snapshot, identity, owner, name, Action::Administer).await?;
    let user = visible_user(&snapshot, identity, &found, user).await?;
    Ok((found, user.ok_or_else(|| Error::invalid("collaborator", NO_USER))?))
}

async fn set(
    context: &Context,
    identity: &Identity,
    found: &FoundRepository,
    user: &User,
    permission: Permission,
    action: &'static str,
) -> Result<(), Error> {
    let id = found.repository.id;
    let (recorder, actor) = (&EventRecorder::new(context), &Actor::of(identity));
    let audit = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            // The repository or the user may have been deleted since.
            let row = repositories::get(&tx, id).await?.filter(|row| !row.deleted).ok_or(super::MISSING)?;
            owners::user(&tx, user.id).await?.ok_or_else(|| Error::invalid("collaborator", NO_USER))?;
            let before = repositories::collaborator(&tx, id, user.id).await?;
            if before != permission {
                repositories::set_collaborator(&tx, id, user.id, permission);
                let subject = Subject { repository: &row, owner: &found.owner, actor };
                recorder.record(&tx, subject, &[EventKind::Collaborator { action }]).await?;
                let path = format!("{}/{}", found.owner.name(), row.name);
                let action = match permission {
                    Permission::None => audit::Action::CollaboratorRemove,
                    _ => audit::Action::CollaboratorAdd,
                };
                let entry = Entry::new(action, Object::collaborator(user, id, &path));
                audit.record(&tx, entry.field("permission", word(before), word(permission))).await?;
            }
            Ok::<_, Error>(())
        })
        .await
}

/// The permission of a user in a repository, with the API family's names.
#[derive(Clone, Debug, PartialEq)]
pub struct UserPermission {
    /// The permission from all sources.
    pub effective: &'static str,
    /// The permission that was granted to the user as a collaborator.
    pub direct: &'static str,
    /// The user.
    pub user: User,
}

/// Returns the permission of `user`. Administrators of the repository may request it for any user, others for
/// themselves.
pub async fn permission_of(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    user: &str,
) -> Result<UserPermission, Error> {
    let account = access::require_account(identity)?;
    let found = find(read, identity, owner, name, Action::Read).await?;
    if !found.access_level.allows(Action::Administer) && !account.user.name.eq_ignore_ascii_case(user) {
        return Err(Error::Forbidden {
            reason: "only administrators of the repository may request the permission of other users".into(),
        });
    }
    let user = visible_user(read, identity, &found, user).await?.ok_or(Error::NotFound { what: "the user" })?;
    let direct = word(repositories::collaborator(read, found.repository.id, user.id).await?);
    let effective = match level_of(read, &user, &found).await? {
        AccessLevel::Owner if found.repository.owner_id == user.id => "owner",
        // Owners of the organization and site administrators do not own this repository.
        level if level.allows(Action::Administer) => "admin",
        level if level.allows(Action::Write) => "write",
        level if level.allows(Action::Read) => "read",
        _ => "none",
    };
    Ok(UserPermission { effective, direct, user })
}
