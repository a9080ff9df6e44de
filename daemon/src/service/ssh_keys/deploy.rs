//! Deploy keys: keys that give access to one repository each.

use farrier_common::api::CreateKey;
use farrier_proto::store::{DeployKey, SshKey};

use super::{MISSING, checked, has_fingerprint};
use crate::{
    model::{identity::Identity, secret, ssh_key},
    service::{
        Context, Error,
        access::{self, Action},
        audit::{self, AuditRecorder, Entry, Object},
        repositories::{self, FoundRepository},
    },
    store::{Read, Tx, ids::IdKind, repositories as repository_rows, ssh_keys as rows},
};

const NO_REPOSITORY: Error = Error::NotFound { what: "the repository" };

/// A deploy key with its content.
#[derive(Clone, Debug, PartialEq)]
pub struct DeployKeyWithContent {
    /// The deploy key.
    pub row: DeployKey,
    /// Its content.
    pub content: SshKey,
}

/// Selects deploy keys of a list.
#[derive(Clone, Debug, Default)]
pub struct DeployKeyFilter {
    /// Only the one with this content.
    pub key_id: Option<u64>,
    /// Only the one with this fingerprint.
    pub fingerprint: Option<String>,
}

/// Returns the deploy keys of a repository, by id.
pub async fn deploy_keys(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    filter: &DeployKeyFilter,
) -> Result<(FoundRepository, Vec<DeployKeyWithContent>), Error> {
    access::require_account(identity)?;
    let found = repositories::find(read, identity, owner, name, Action::Administer).await?;
    let mut all = Vec::new();
    for row in rows::of_repository(read, found.repository.id).await? {
        if filter.key_id.is_some_and(|id| id != row.key_id) {
            continue;
        }
        let Some(content) = rows::get(read, row.key_id).await? else { continue };
        if filter.fingerprint.as_ref().is_none_or(|fingerprint| has_fingerprint(&content, fingerprint)) {
            all.push(DeployKeyWithContent { row, content });
        }
    }
    Ok((found, all))
}

/// Returns the deploy key `id` of a repository.
pub async fn deploy_key(
    read: &impl Read,
    identity: &Identity,
    (owner, name): (&str, &str),
    id: u64,
) -> Result<(FoundRepository, DeployKeyWithContent), Error> {
    access::require_account(identity)?;
    let found = repositories::find(read, identity, owner, name, Action::Administer).await?;
    let row = rows::deploy_key(read, found.repository.id, id).await?.ok_or(MISSING)?;
    let content = rows::get(read, row.key_id).await?.ok_or(MISSING)?;
    Ok((found, DeployKeyWithContent { row, content }))
}

/// Adds a deploy key to a repository.
pub async fn create_deploy_key(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    input: &CreateKey,
) -> Result<(FoundRepository, DeployKeyWithContent), Error> {
    let added_by = access::require_account(identity)?.user.id;
    let found = repositories::find(&context.store.read().await?, identity, owner, name, Action::Administer).await?;
    let key = checked(&input.title, &input.key)?;
    let hash = &secret::sha256(&key.blob);
    let new_content = &SshKey {
        id: context.store.next_id(IdKind::SshKey).await?,
        blob: key.blob,
        created_ms: context.now_ms(),
        ..SshKey::default()
    };
    let row = &DeployKey {
        id: context.store.next_id(IdKind::DeployKey).await?,
        repository_id: found.repository.id,
        key_id: new_content.id,
        title: input.title.clone(),
        comment: key.comment,
        read_only: input.read_only,
        created_ms: new_content.created_ms,
        added_by,
    };
    let (recorder, path) = (&AuditRecorder::new(context), &found.path());
    let added = context.store.write(async |tx: Tx| {
        require_repository(&tx, row.repository_id).await?;
        let others = rows::of_repository(&tx, row.repository_id).await?;
        let content = match rows::by_hash(&tx, hash).await? {
            Some(content) if content.account_id != 0 => {
                return Err(Error::invalid("key", "is a key of an account already"));
            }
            Some(content) if others.iter().any(|other| other.key_id == content.id) => {
                return Err(Error::invalid("key", "is a deploy key of this repository already"));
            }
            Some(content) => content,
            None => new_content.clone(),
        };
        if others.iter().any(|other| other.title == row.title) {
            return Err(Error::invalid("title", "is used by another deploy key of this repository"));
        }
        if others.len() >= rows::PER_REPOSITORY_MAX {
            return Err(Error::invalid("key", format!("the repository has {} deploy keys already", others.len())));
        }
        let row = DeployKey { key_id: content.id, ..row.clone() };
        rows::put(&tx, &content);
        rows::put_deploy_key(&tx, &row);
        let entry = Entry::new(audit::Action::DeployKeyCreate, Object::deploy_key(&row, path));
        let entry = entry.set("fingerprint", ssh_key::fingerprint(&content.blob));
        recorder.record(&tx, entry.set("read_only", row.read_only)).await?;
        Ok(DeployKeyWithContent { row, content })
    });
    let added = added.await?;
    Ok((found, added))
}

/// Deletes a deploy key of a repository.
pub async fn delete_deploy_key(
    context: &Context,
    identity: &Identity,
    (owner, name): (&str, &str),
    id: u64,
) -> Result<(), Error> {
    access::require_account(identity)?;
    let found = repositories::find(&context.store.read().await?, identity, owner, name, Action::Administer).await?;
    let repository = found.repository.id;
    let (recorder, path) = (&AuditRecorder::new(context), &found.path());
    context
        .store
        .write(async |tx: Tx| {
            require_repository(&tx, repository).await?;
            let row = rows::deploy_key(&tx, repository, id).await?.ok_or(MISSING)?;
            let content = rows::get(&tx, row.key_id).await?.unwrap_or_default();
            rows::delete_deploy_key(&tx, &row).await?;
            let entry = Entry::new(audit::Action::DeployKeyDelete, Object::deploy_key(&row, path));
            let entry = entry.had("fingerprint", ssh_key::fingerprint(&content.blob));
            recorder.record(&tx, entry.had("read_only", row.read_only)).await?;
            Ok(())
        })
        .await
}

/// Returns an error if the repository was deleted after the caller's access to it was checked.
async fn require_repository(tx: &Tx, id: u64) -> Result<(), Error> {
    match repository_rows::get(tx, id).await? {
        Some(row) if !row.deleted => Ok(()),
        _ => Err(NO_REPOSITORY),
    }
}
