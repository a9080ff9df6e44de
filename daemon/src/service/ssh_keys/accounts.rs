//! SSH keys of accounts.

use farrier_proto::store::{OwnerKind, SshKey, User};

use super::{MISSING, checked, has_fingerprint};
use crate::{
    model::{
        identity::Identity,
        scope::{Category, Level},
        secret, ssh_key,
    },
    service::{
        Context, Error, access,
        audit::{Action, AuditRecorder, Entry, Object},
        viewer,
    },
    store::{
        Read, Tx,
        ids::IdKind,
        owners::{self, Owner},
        ssh_keys as rows,
    },
};

/// Keys of an account.
#[derive(Debug)]
pub struct AccountKeys {
    /// The account.
    pub user: User,
    /// Its keys, by id.
    pub keys: Vec<SshKey>,
    /// Whether the caller sees the account in them.
    pub shows_user: bool,
}

/// Returns the caller's keys; with `fingerprint`, the key that has it.
pub async fn own(read: &impl Read, identity: &Identity, fingerprint: Option<&str>) -> Result<AccountKeys, Error> {
    let user = access::require_account(identity)?.user.clone();
    of_account(read, identity, user, fingerprint).await
}

/// Returns the keys of the account `name`; with `fingerprint`, the key that has it.
pub async fn of_user(
    read: &impl Read,
    identity: &Identity,
    name: &str,
    fingerprint: Option<&str>,
) -> Result<AccountKeys, Error> {
    access::require_account(identity)?;
    let user = user_called(read, identity, name).await?;
    of_account(read, identity, user, fingerprint).await
}

async fn of_account(
    read: &impl Read,
    identity: &Identity,
    user: User,
    fingerprint: Option<&str>,
) -> Result<AccountKeys, Error> {
    let mut keys = rows::of_account(read, user.id).await?;
    if let Some(fingerprint) = fingerprint {
        keys.retain(|row| has_fingerprint(row, fingerprint));
    }
    Ok(AccountKeys { shows_user: manages(identity, user.id, Level::Read), user, keys })
}

/// Returns the key `id`, if the caller manages it, and its account.
pub async fn get(read: &impl Read, identity: &Identity, id: u64) -> Result<(SshKey, User), Error> {
    access::require_account(identity)?;
    let row = rows::get(read, id).await?.filter(|row| manages(identity, row.account_id, Level::Read));
    let row = row.ok_or(MISSING)?;
    let user = owners::user(read, row.account_id).await?.ok_or(MISSING)?;
    Ok((row, user))
}

/// Adds a key to the caller's account.
pub async fn create(context: &Context, identity: &Identity, title: &str, key: &str) -> Result<(SshKey, User), Error> {
    access::require_whole_account(identity)?;
    let user = access::require_account(identity)?.user.id;
    insert(context, user, title, key).await
}

/// Adds a key to the account `name`, for a site administrator.
pub async fn create_for(
    context: &Context,
    identity: &Identity,
    name: &str,
    title: &str,
    key: &str,
) -> Result<(SshKey, User), Error> {
    access::require_site_admin(identity)?;
    access::require_whole_account(identity)?;
    let user = user_called(&context.store.read().await?, identity, name).await?.id;
    insert(context, user, title, key).await
}

async fn insert(context: &Context, account: u64, title: &str, key: &str) -> Result<(SshKey, User), Error> {
    let key = checked(title, key)?;
    let hash = &secret::sha256(&key.blob);
    let row = &SshKey {
        id: context.store.next_id(IdKind::SshKey).await?,
        account_id: account,
        blob: key.blob,
        created_ms: context.now_ms(),
        last_used_ms: 0,
        title: title.to_owned(),
        comment: key.comment,
    };
    let recorder = &AuditRecorder::new(context);
    let user = context.store.write(async |tx: Tx| {
        // The account may have been deleted since.
        let user = owners::user(&tx, account).await?.ok_or(Error::NotFound { what: "the user" })?;
        if let Some(other) = rows::by_hash(&tx, hash).await? {
            return Err(Error::invalid(
                "key",
                match other.account_id {
                    0 => "is a deploy key of a repository already",
                    id if id == account => "is a key of this account already",
                    _ => "is a key of an account already",
                },
            ));
        }
        let others = rows::of_account(&tx, account).await?;
        if others.iter().any(|other| other.title == row.title) {
            return Err(Error::invalid("title", "is used by another key of this account"));
        }
        if others.len() >= rows::PER_ACCOUNT_MAX {
            return Err(Error::invalid("key", format!("the account has {} keys already", others.len())));
        }
        rows::put(&tx, row);
        let entry = Entry::new(Action::KeyCreate, Object::ssh_key(row, &user.name));
        recorder.record(&tx, entry.set("fingerprint", ssh_key::fingerprint(&row.blob))).await?;
        Ok(user)
    });
    Ok((row.clone(), user.await?))
}

/// Deletes the key `id` of the caller, or of any account for a site administrator.
pub async fn delete(context: &Context, identity: &Identity, id: u64) -> Result<(), Error> {
    access::require_whole_account(identity)?;
    access::require_account(identity)?;
    remove(context, id, |row| {
        if manages(identity, row.account_id, Level::Write) {
            Ok(())
        } else {
            Err(Error::Forbidden { reason: "the key belongs to another account".into() })
        }
    })
    .await
}

/// Deletes the key `id` of the account `name`, for a site administrator.
pub async fn delete_for(context: &Context, identity: &Identity, name: &str, id: u64) -> Result<(), Error> {
    access::require_site_admin(identity)?;
    access::require_whole_account(identity)?;
    let user = user_called(&context.store.read().await?, identity, name).await?;
    remove(context, id, |row| if row.account_id == user.id { Ok(()) } else { Err(MISSING) }).await
}

async fn remove(
    context: &Context,
    id: u64,
    allowed: impl Fn(&SshKey) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = rows::get(&tx, id).await?.filter(|row| row.account_id != 0).ok_or(MISSING)?;
            allowed(&row)?;
            rows::delete(&tx, &row);
            let owner = owners::user(&tx, row.account_id).await?.map(|user| user.name).unwrap_or_default();
            let entry = Entry::new(Action::KeyDelete, Object::ssh_key(&row, &owner));
            recorder.record(&tx, entry.had("fingerprint", ssh_key::fingerprint(&row.blob))).await?;
            Ok(())
        })
        .await
}

/// Returns whether the caller manages the keys of an account: its own, or all for a site administrator.
fn manages(identity: &Identity, account: u64, level: Level) -> bool {
    account != 0
        && (account == identity.user_id() || (identity.is_admin() && identity.in_scope(Category::Admin, level)))
}

async fn user_called(read: &impl Read, identity: &Identity, name: &str) -> Result<User, Error> {
    match viewer::find_of_kind(read, identity, name, OwnerKind::User).await? {
        Owner::User(user) => Ok(user),
        Owner::Org(_) => Err(Error::NotFound { what: "the user" }),
    }
}
