//! Organizations: users create them, and their owners manage them.

mod members;

use farrier_common::{
    api::{CreateOrg, EditOrg},
    names,
};
use farrier_proto::store::{Membership, Org, OrgRole, OwnerKind};

pub use self::members::{Members, Permissions, members, permissions, set_concealed};
use super::{
    Context, Error, access,
    accounts::{
        DESCRIPTION_MAX_CHARS, FULL_NAME_MAX_CHARS, LOCATION_MAX_CHARS, check_email, check_text, check_website,
        visibility,
    },
    audit::{Action, AuditRecorder, Entry, Object},
    hooks,
    viewer::{self, Viewer},
};
use crate::{
    model::{identity::Identity, words},
    store::{Read, Tx, ids::IdKind, orgs, owners, owners::Owner, repositories},
};

/// Organizations to read per scan.
const BATCH: usize = 1_000;
/// Maximum number of repositories to count for the error message of a deletion.
const COUNT_MAX: u64 = 1_000_000;

/// Creates an organization. Its owner is the caller or, for a site administrator, the user `owner`.
pub async fn create(
    context: &Context,
    identity: &Identity,
    owner: Option<&str>,
    input: CreateOrg,
) -> Result<Org, Error> {
    let owner_id = new_owner(context, identity, owner).await?;
    names::check_owner(&input.username).map_err(|e| Error::invalid("username", format!("name {e}")))?;
    let now = context.now_ms();
    let mut row = Org {
        id: context.store.next_id(IdKind::Owner).await?,
        name: input.username,
        created_ms: now,
        updated_ms: now,
        ..Org::default()
    };
    let texts = EditOrg {
        full_name: Some(input.full_name),
        email: Some(input.email),
        description: Some(input.description),
        website: Some(input.website),
        location: Some(input.location),
        visibility: Some(input.visibility),
        repo_admin_change_team_access: Some(input.repo_admin_change_team_access),
    };
    apply(&mut row, &texts)?;
    if row.visibility != 0 {
        access::require_whole_account(identity)?;
    }
    let created = &row;
    let recorder = &AuditRecorder::new(context);
    let free = context.store.write(async |tx: Tx| {
        // It would be impossible to manage an organization without an owner.
        let owner = owners::user(&tx, owner_id).await?.ok_or(Error::NotFound { what: "the user" })?;
        let free = orgs::insert(&tx, created).await?;
        if free {
            let member = Membership { role: OrgRole::Owner.into(), since_ms: now, concealed: true };
            orgs::put_member(&tx, created.id, owner_id, &member);
            let entry = entry(Action::OrgCreate, &Org::default(), created).created();
            recorder.record(&tx, entry.set("owner", owner.name)).await?;
        }
        Ok::<_, Error>(free)
    });
    if free.await? { Ok(row) } else { Err(Error::in_use("username", format!("user already exists: {}", row.name))) }
}

/// Returns the id of the new organization's owner, if the caller may create it.
async fn new_owner(context: &Context, identity: &Identity, owner: Option<&str>) -> Result<u64, Error> {
    let account = access::require_account(identity)?;
    let Some(name) = owner else {
        if account.user.may_not_create_orgs && !account.user.admin {
            return Err(Error::Forbidden { reason: "the account may not create organizations".into() });
        }
        return Ok(account.user.id);
    };
    access::require_site_admin(identity)?;
    let snapshot = context.store.read().await?;
    match viewer::find(&snapshot, identity, name).await? {
        Owner::User(user) => Ok(user.id),
        Owner::Org(_) => Err(Error::invalid("username", "an organization cannot own another")),
    }
}

/// Returns the organization `name`, if the caller sees it.
pub async fn find(read: &impl Read, identity: &Identity, name: &str) -> Result<Org, Error> {
    match viewer::find_of_kind(read, identity, name, OwnerKind::Org).await? {
        Owner::Org(org) => Ok(org),
        Owner::User(_) => Err(Error::NotFound { what: "the organization" }),
    }
}

/// Returns the organization `name`, if the caller owns it or is a site administrator.
pub async fn find_own(read: &impl Read, identity: &Identity, name: &str) -> Result<Org, Error> {
    let org = find(read, identity, name).await?;
    let account = access::require_account(identity)?;
    let role = owners::membership(read, org.id, account.user.id).await?.map(|member| member.role());
    if role == Some(OrgRole::Owner) || account.user.admin {
        return Ok(org);
    }
    Err(Error::Forbidden { reason: "must be an owner of the organization".into() })
}

/// Changes an organization. Omitted fields keep their values.
pub async fn edit(context: &Context, identity: &Identity, name: &str, input: &EditOrg) -> Result<Org, Error> {
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let old = find_own(&tx, identity, name).await?;
            let mut row = old.clone();
            apply(&mut row, input)?;
            row.updated_ms = now;
            orgs::update(&tx, &old, &row).await?;
            if row.visibility != old.visibility {
                repositories::relist(&tx, row.id, row.visibility()).await?;
            }
            let entry = entry(Action::OrgEdit, &old, &row);
            if !entry.is_unchanged() {
                recorder.record(&tx, entry).await?;
            }
            Ok(row)
        })
        .await
}

/// Returns the audit entry of a change of an organization.
fn entry(action: Action, before: &Org, after: &Org) -> Entry {
    let visibility = |row: &Org| words::visibility_word(row.visibility());
    let flag = |row: &Org| row.repo_admin_change_team_access;
    Entry::new(action, Object::org(after))
        .field("visibility", visibility(before), visibility(after))
        .field("repo_admin_change_team_access", flag(before), flag(after))
        .field("full_name", before.full_name.as_str(), &after.full_name)
        .field("email", before.email.as_str(), &after.email)
        .field("description", before.description.as_str(), &after.description)
        .field("website", before.website.as_str(), &after.website)
        .field("location", before.location.as_str(), &after.location)
}

fn apply(row: &mut Org, input: &EditOrg) -> Result<(), Error> {
    if let Some(email) = input.email.as_ref().filter(|email| !email.is_empty()) {
        check_email(email)?;
    }
    if let Some(website) = &input.website {
        check_website(website)?;
    }
    if let Some(word) = &input.visibility {
        row.visibility = visibility(word)?.into();
    }
    let texts = [
        ("full_name", &input.full_name, FULL_NAME_MAX_CHARS, &mut row.full_name),
        ("description", &input.description, DESCRIPTION_MAX_CHARS, &mut row.description),
        ("location", &input.location, LOCATION_MAX_CHARS, &mut row.location),
        ("website", &input.website, DESCRIPTION_MAX_CHARS, &mut row.website),
        ("email", &input.email, DESCRIPTION_MAX_CHARS, &mut row.email),
    ];
    for (field, text, max, into) in texts {
        if let Some(text) = text {
            check_text(field, text, max)?;
            into.clone_from(text);
        }
    }
    if let Some(may) = input.repo_admin_change_team_access {
        row.repo_admin_change_team_access = may;
    }
    Ok(())
}

/// Renames an organization. The old name redirects to the new one until another owner takes it.
pub async fn rename(context: &Context, identity: &Identity, name: &str, new: &str) -> Result<(), Error> {
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let old = find_own(&tx, identity, name).await?;
            names::check_owner(new).map_err(|e| Error::invalid("new_name", format!("name {e}")))?;
            let row = Org { name: new.to_owned(), updated_ms: now, ..old.clone() };
            if orgs::update(&tx, &old, &row).await? {
                let entry = Entry::new(Action::OrgRename, Object::org(&row));
                recorder.record(&tx, entry.field("name", old.name.as_str(), new)).await?;
                return Ok(());
            }
            Err(Error::in_use("new_name", format!("user already exists: {new}")))
        })
        .await
}

/// Deletes an organization without repositories.
pub async fn delete(context: &Context, identity: &Identity, name: &str) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context.store
        .write(async |tx: Tx| {
            let org = find_own(&tx, identity, name).await?;
            match repositories::count_of(&tx, org.id, COUNT_MAX).await? {
                0 => {
                    hooks::delete_of_owner(&tx, org.id).await?;
                    repositories::offers::end_of_account(&tx, org.id).await?;
                    orgs::delete(&tx, &org).await?;
                    recorder.record(&tx, Entry::new(Action::OrgDelete, Object::org(&org))).await?;
                    Ok(())
                }
                count => Err(Error::Exists {
                    message: format!(
                        "the organization still owns repositories: {count}; delete them first: each with `farrier repo delete OWNER/NAME`, or all with DELETE /api/v1/orgs/{}/repos",
                        org.name
                    ),
                }),
            }
        })
        .await
}

/// Returns a page of the organizations that `viewer` sees, by name, and their total number.
pub async fn list(read: &impl Read, viewer: &Viewer, (skip, limit): (u64, usize)) -> Result<(Vec<Org>, u64), Error> {
    let (mut page, mut total, mut next) = (Vec::new(), 0, None);
    loop {
        let (rows, after) = orgs::batch(read, next.as_deref(), BATCH).await?;
        for org in visible(viewer, rows) {
            if total >= skip && page.len() < limit {
                page.push(org);
            }
            total += 1;
        }
        match after {
            Some(_) => next = after,
            None => return Ok((page, total)),
        }
    }
}

/// Returns the organizations of the user `user` that `viewer` sees. Leaves out concealed memberships that the viewer
/// does not see.
pub async fn of_user(read: &impl Read, viewer: &Viewer, user: u64) -> Result<Vec<Org>, Error> {
    let mut found = Vec::new();
    for org in visible(viewer, orgs::of_user(read, user).await?) {
        let is_concealed =
            async || owners::membership(read, org.id, user).await.map(|row| row.is_none_or(|row| row.concealed));
        if viewer.sees_concealed_members(org.id) || !is_concealed().await? {
            found.push(org);
        }
    }
    Ok(found)
}

fn visible(viewer: &Viewer, rows: Vec<Org>) -> impl Iterator<Item = Org> {
    rows.into_iter().filter(|org| viewer.sees(&Owner::Org(org.clone())))
}
