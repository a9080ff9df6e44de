//! Changes accounts. Omitted fields keep their values.

use farrier_common::{api::EditUser, names};
use farrier_proto::store::User;

use super::{
    ADMIN_ID, DESCRIPTION_MAX_CHARS, FULL_NAME_MAX_CHARS, LOCATION_MAX_CHARS, check_email, check_password, check_text,
    check_website, user_to_change, visibility,
};
use crate::{
    model::{identity::Identity, words},
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        password_hash,
    },
    store::{Tx, interests, owners, repositories},
};

/// Changes an account. Requires a site administrator.
pub async fn edit(context: &Context, identity: &Identity, name: &str, input: EditUser) -> Result<User, Error> {
    access::require_site_admin(identity)?;
    check(&input)?;
    let password_hash = match input.password.clone().filter(|password| !password.is_empty()) {
        Some(password) => {
            check_password("password", &password)?;
            Some(password_hash::hash(context, identity, password).await?)
        }
        None => None,
    };
    let now = context.now_ms();
    let (input, hash) = (&input, &password_hash);
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let old = user_to_change(&tx, identity, name).await?;
            let mut row = old.clone();
            apply(&mut row, input)?;
            if let Some(hash) = hash {
                row.password_hash.clone_from(hash);
            }
            row.updated_ms = now;
            if row.id == ADMIN_ID && !row.admin {
                return Err(Error::invalid("admin", "the built-in administrator stays one"));
            }
            if row.visibility != old.visibility {
                repositories::relist(&tx, row.id, row.visibility()).await?;
                interests::set_class(&tx, row.id, row.visibility()).await?;
            }
            match owners::update_user(&tx, &old, &row).await? {
                None => {
                    let entry = entry(Action::UserEdit, &old, &row);
                    if !entry.is_unchanged() {
                        recorder.record(&tx, entry).await?;
                    }
                    Ok(row)
                }
                Some(_) => Err(Error::in_use("email", "e-mail already in use")),
            }
        })
        .await
}

/// Returns the audit entry of a change of an account.
pub(super) fn entry(action: Action, before: &User, after: &User) -> Entry {
    let flags = [
        ("admin", before.admin, after.admin),
        ("prohibit_login", before.prohibit_login, after.prohibit_login),
        ("active", !before.inactive, !after.inactive),
        ("restricted", before.restricted, after.restricted),
        ("must_change_password", before.must_change_password, after.must_change_password),
        ("allow_create_organization", !before.may_not_create_orgs, !after.may_not_create_orgs),
    ];
    let texts = [
        ("email", &before.email, &after.email),
        ("full_name", &before.full_name, &after.full_name),
        ("website", &before.website, &after.website),
        ("location", &before.location, &after.location),
        ("description", &before.description, &after.description),
    ];
    let visibility = |row: &User| words::visibility_word(row.visibility());
    let mut entry = Entry::new(action, Object::user(after))
        .secret("password", before.password_hash.as_str(), &after.password_hash)
        .field("visibility", visibility(before), visibility(after))
        .field("max_repo_creation", before.max_repositories, after.max_repositories);
    for (name, before, after) in flags {
        entry = entry.field(name, before, after);
    }
    for (name, before, after) in texts {
        entry = entry.field(name, before.as_str(), after);
    }
    entry
}

fn check(input: &EditUser) -> Result<(), Error> {
    if input.source_id.is_some_and(|source| source != 0) {
        return Err(Error::invalid("source_id", "there is no external source"));
    }
    if let Some(email) = &input.email {
        check_email(email)?;
    }
    if let Some(website) = &input.website {
        check_website(website)?;
    }
    let texts = [
        ("full_name", &input.full_name, FULL_NAME_MAX_CHARS),
        ("location", &input.location, LOCATION_MAX_CHARS),
        ("description", &input.description, DESCRIPTION_MAX_CHARS),
    ];
    for (field, text, max) in texts {
        check_text(field, text.as_deref().unwrap_or_default(), max)?;
    }
    Ok(())
}

fn apply(row: &mut User, input: &EditUser) -> Result<(), Error> {
    fn set<T: Clone>(into: &mut T, value: Option<&T>) {
        if let Some(value) = value {
            into.clone_from(value);
        }
    }
    set(&mut row.email, input.email.as_ref());
    set(&mut row.full_name, input.full_name.as_ref());
    set(&mut row.website, input.website.as_ref());
    set(&mut row.location, input.location.as_ref());
    set(&mut row.description, input.description.as_ref());
    set(&mut row.must_change_password, input.must_change_password.as_ref());
    set(&mut row.prohibit_login, input.prohibit_login.as_ref());
    set(&mut row.admin, input.admin.as_ref());
    set(&mut row.restricted, input.restricted.as_ref());
    row.max_repositories = input.max_repo_creation.or(row.max_repositories);
    set(&mut row.inactive, input.active.map(|active| !active).as_ref());
    set(&mut row.may_not_create_orgs, input.allow_create_organization.map(|may| !may).as_ref());
    if let Some(word) = &input.visibility {
        row.visibility = visibility(word)?.into();
    }
    Ok(())
}

/// Renames an account. The old name redirects to the new one until another account takes it.
pub async fn rename(context: &Context, identity: &Identity, name: &str, new: &str) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    names::check_owner(new).map_err(|e| Error::invalid("new_username", format!("name {e}")))?;
    let now = context.now_ms();
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let old = user_to_change(&tx, identity, name).await?;
            let row = User { name: new.to_owned(), updated_ms: now, ..old.clone() };
            match owners::update_user(&tx, &old, &row).await? {
                None => {
                    let entry = Entry::new(Action::UserRename, Object::user(&row));
                    recorder.record(&tx, entry.field("name", old.name.as_str(), new)).await?;
                    Ok(())
                }
                Some(_) => Err(Error::in_use("new_username", format!("user already exists: {new}"))),
            }
        })
        .await
}
