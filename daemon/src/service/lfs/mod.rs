//! Git LFS: objects, locks, and the tokens of `git-lfs-authenticate`.
//!
//! A repository has an object only because it received and hashed the bytes. Knowing the ID of an object of another
//! repository gives nothing. A repository loses an object when no file of it has named the object for
//! `lfs.keep_unreferenced_secs`.

mod batch;
mod collect;
mod collection;
mod download;
mod grants;
mod import;
pub mod locks;
mod sink;
mod sweep;
mod tokens;
mod upload;

use farrier_proto::store::{LfsObject, Repository};
use futures_util::TryStreamExt as _;

pub use self::{
    batch::{BatchObject, BatchOperation, ObjectProblem, ObjectState, batch},
    collect::{Searched, collect},
    collection::{CollectionProgress, CollectionTask, LfsCollection},
    download::{LfsContent, Opened, of_repository, open, verify},
    grants::sign,
    import::{ImportedObjects, LfsSource, forget_import, import},
    sweep::{next_due_ms, sweep},
    tokens::{LfsAuthentication, authenticate, has_token_form, token},
    upload::{UploadInput, upload},
};
use super::{
    Context, Error,
    quota_watch::{QuotaKind, QuotaUse},
};
pub use crate::model::lfs_token::LfsAccess;
use crate::{
    blob::UploadKey,
    store::{
        Read, StoreError, Tx,
        lfs::{self as rows, Oid},
    },
};

const MISSING: Error = Error::NotFound { what: "the object" };
const MISSING_REPOSITORY: Error = Error::NotFound { what: "the repository" };
/// Most objects to copy to another repository. One transaction writes them all.
const COPIED_MAX: u64 = 100_000;

/// Parses the ID of an object: the SHA-256 in lower-case hexadecimal digits.
pub fn parse_oid(text: &str) -> Option<Oid> {
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    let mut oid = [0; 32];
    (is_canonical && hex::decode_to_slice(text, &mut oid).is_ok()).then_some(oid)
}

fn upload_key(id: u64) -> UploadKey {
    UploadKey { artifact: id, generation: rows::GENERATION }
}

/// Returns whether the file with the bytes of an object exists and has the right size.
async fn is_intact(context: &Context, row: &LfsObject) -> Result<bool, Error> {
    let mut files = context.blobs.files(upload_key(row.id));
    let failed = |source| Error::Blob { doing: "looking for an LFS object", source };
    while let Some(block) = files.try_next().await.map_err(failed)? {
        if block.file == row.file {
            return Ok(block.size == row.size);
        }
    }
    Ok(false)
}

/// Returns how many more bytes of objects the owner of `repository` may store.
async fn quota_left(context: &Context, read: &impl Read, repository: &Repository) -> Result<u64, StoreError> {
    match context.config.lfs.quota_bytes {
        0 => Ok(u64::MAX),
        max => {
            let used = rows::size_of_owner(read, repository.owner_id).await?;
            let (kind, now_ms) = (QuotaKind::LfsObjects, context.now_ms());
            let found = QuotaUse { kind, repository: repository.id, used, max, since_ms: now_ms, checked_ms: now_ms };
            context.quotas.note(repository.owner_id, found);
            Ok(max.saturating_sub(used))
        }
    }
}

fn quota_exceeded(context: &Context) -> Error {
    let quota = context.config.lfs.quota_bytes;
    Error::Quota { reason: format!("the repositories of an owner may have at most {quota} bytes of LFS objects") }
}

/// Adds the objects of the repository `source` to `target`, a fork or a repository that is generated, and their size to
/// its row, which is not written. The caller reads `source`, so it could download and upload them. Returns an error if
/// the owner of `target` would have more bytes than the quota allows.
pub async fn copy_objects(context: &Context, tx: &Tx, source: u64, target: &mut Repository) -> Result<(), Error> {
    if rows::count_of(tx, source, COPIED_MAX + 1).await? > COPIED_MAX {
        let reason = format!("the source has more than {COPIED_MAX} LFS objects; push a clone to a new repository");
        return Err(Error::Unusable { reason });
    }
    let left = quota_left(context, tx, target).await?;
    let added = rows::copy_entries(tx, source, target.id).await?;
    if added > left {
        return Err(quota_exceeded(context));
    }
    target.lfs_size = target.lfs_size.saturating_add(added);
    Ok(())
}

/// Returns the size limit of an object, if there is one.
fn largest(context: &Context) -> u64 {
    match context.config.lfs.max_object_bytes {
        0 => u64::MAX,
        limit => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sha256_in_lower_case_digits_is_an_oid() {
        assert_eq!(parse_oid(&"0a".repeat(32)), Some([10; 32]));
        for bad in ["", "0a", &"0A".repeat(32), &"0a".repeat(33), &"zz".repeat(32), &format!("{}/", "0a".repeat(31))] {
            assert_eq!(parse_oid(bad), None, "{bad}");
        }
    }
}
