//! Files that are attached to releases.
//!
//! The upload is marked before its first byte is written, and the transaction that writes the row removes the mark. At
//! the next start, the bytes of uploads that are still marked are removed.

use bytes::Bytes;
use farrier_proto::store::{AssetMark, ReleaseAsset};
use futures_util::Stream;

use super::{
    MISSING, MISSING_FILE,
    receive::{check_quota, check_recorded, receive},
    rows,
};
use crate::{
    blob::UploadKey,
    model::{identity::Identity, secret},
    service::{
        Context, Error, access,
        access_watch::AccessWatch,
        audit::{Action, AuditRecorder, Entry, Object, RequestScope},
        browse::Browse,
        marked_uploads::MarkedUpload,
    },
    shares::Holder,
    store::{
        Tx,
        ids::IdKind,
        releases::assets::{self, ASSETS_MAX},
        repositories as repository_rows,
    },
    tasks,
};

/// Longest name, in bytes.
const NAME_MAX_BYTES: usize = 255;

/// Returns the key of the bytes of the file `id`.
pub(super) fn upload_key(id: u64) -> UploadKey {
    UploadKey { artifact: id, generation: assets::GENERATION }
}

/// A file being received.
pub struct AssetInput<S> {
    /// Name of the file.
    pub name: String,
    /// The client, for the shares of uploads.
    pub holder: Holder,
    /// Number of bytes that the client announced, with those of a form around the file; 0 if it announced none.
    pub announced: u64,
    /// The bytes. An error means that the client disconnected, stalled or sent an invalid body.
    pub body: S,
}

/// Attaches a file to the release `release`. It is durable when this returns. Fails if the caller loses its access
/// before that.
pub async fn upload<S, E>(
    context: &Context,
    identity: &Identity,
    browse: &Browse,
    release: u64,
    input: AssetInput<S>,
) -> Result<ReleaseAsset, Error>
where
    S: Stream<Item = Result<Bytes, E>> + Send,
    E: std::fmt::Display,
{
    let account = access::require_account(identity)?;
    let repository = browse.found.repository.id;
    access::require_writable(&browse.found.repository)?;
    check_name(&input.name)?;
    let _share = context.work.uploads.take(input.holder)?;
    let id = context.store.next_id(IdKind::Artifact).await?;
    let file = context.store.next_id(IdKind::BlockFile).await?;
    let mark =
        AssetMark { repository_id: repository, since_ms: context.now_ms(), begun_by: Some(context.node.this_start()) };
    let name = input.name.as_str();
    context
        .store
        .write(async |tx: Tx| {
            require_free_name(&tx, repository, release, name, 0).await?;
            assets::mark(&tx, id, &mark);
            Ok::<_, Error>(())
        })
        .await?;
    let mut upload = MarkedUpload::new(context, id);
    let mut access = AccessWatch::new(context, identity.clone(), Some((repository, access::Action::WriteReleases)));
    let place = (repository, id, file);
    let (size, sha256) = receive(context, &mut access, place, input.announced, input.body).await?;
    let row = ReleaseAsset {
        id,
        repository_id: repository,
        release_id: release,
        name: name.to_owned(),
        size,
        sha256: sha256.to_vec(),
        uuid: random_uuid().to_vec(),
        file,
        uploader_id: account.user.id,
        created_ms: context.now_ms(),
        downloads: 0,
    };
    record(context, browse, &row).await?;
    upload.recorded();
    Ok(row)
}

/// Renames the file `id` of a release. An empty name changes nothing.
pub async fn rename(
    context: &Context,
    browse: &Browse,
    (release, id): (u64, u64),
    name: &str,
) -> Result<ReleaseAsset, Error> {
    access::require_writable(&browse.found.repository)?;
    if !name.is_empty() {
        check_name(name)?;
    }
    let repository = browse.found.repository.id;
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let before = assets::get(&tx, repository, release, id).await?.ok_or(MISSING_FILE)?;
            if name.is_empty() || name == before.name {
                return Ok(before);
            }
            require_free_name(&tx, repository, release, name, id).await?;
            let row = ReleaseAsset { name: name.to_owned(), ..before.clone() };
            assets::put(&tx, &row);
            let entry = Entry::new(Action::AssetEdit, object(browse, &row));
            recorder.record(&tx, entry.field("name", before.name.as_str(), name)).await?;
            Ok::<_, Error>(row)
        })
        .await
}

/// Deletes the file `id` of a release. Its bytes cannot be restored.
pub async fn delete(context: &Context, browse: &Browse, (release, id): (u64, u64)) -> Result<(), Error> {
    access::require_writable(&browse.found.repository)?;
    let (repository, now) = (browse.found.repository.id, context.now_ms());
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            let row = assets::get(&tx, repository, release, id).await?.ok_or(MISSING_FILE)?;
            assets::delete(&tx, &row, now);
            let entry = Entry::new(Action::AssetDelete, object(browse, &row));
            recorder.record(&tx, entry.had("name", row.name.as_str()).had("size", row.size)).await?;
            Ok::<_, Error>(())
        })
        .await?;
    context.sweep.now();
    Ok(())
}

/// Checks the name of a file, which becomes part of a URL and the name of a saved download.
fn check_name(name: &str) -> Result<(), Error> {
    let reason = if name.is_empty() {
        "Required"
    } else if name.len() > NAME_MAX_BYTES {
        "MaxSize: is longer than 255 bytes"
    } else if name.contains(['/', '\\']) || name.chars().any(char::is_control) || matches!(name, "." | "..") {
        "must not be . or .. and must not contain slashes, backslashes or control characters"
    } else {
        return Ok(());
    };
    Err(Error::invalid("name", reason))
}

/// Checks that the release exists and that no other file than `own` has the name.
async fn require_free_name(tx: &Tx, repository: u64, release: u64, name: &str, own: u64) -> Result<(), Error> {
    let is_live = repository_rows::get(tx, repository).await?.is_some_and(|row| !row.deleted);
    rows::get(tx, repository, release).await?.filter(|_| is_live).ok_or(MISSING)?;
    let all = assets::of_release(tx, repository, release).await?;
    if all.iter().any(|row| row.name == name && row.id != own) {
        return Err(Error::Exists { message: format!("the release has a file called {name} already") });
    }
    if own == 0 && all.len() >= ASSETS_MAX {
        return Err(Error::invalid("attachment", format!("a release has at most {ASSETS_MAX} files")));
    }
    Ok(())
}

/// Writes the row of a received file, unless the release was deleted or changed or the quota was used up meanwhile.
async fn record(context: &Context, browse: &Browse, row: &ReleaseAsset) -> Result<(), Error> {
    let entry = Entry::new(Action::AssetCreate, object(browse, row));
    let entry = entry.set("name", row.name.as_str()).set("size", row.size);
    let lock = check_quota(context, row.repository_id, row.size).await?;
    let (context, row) = (context.clone(), row.clone());
    // If the client disconnects, the lock is held nevertheless until the commit has ended.
    let written = tasks::detached(RequestScope::inherit(async move {
        let written = write(&context, &row, &entry).await;
        drop(lock);
        written
    }));
    written.await.unwrap_or(Err(Error::Busy))
}

async fn write(context: &Context, row: &ReleaseAsset, entry: &Entry) -> Result<(), Error> {
    let recorder = &AuditRecorder::new(context);
    context
        .store
        .write(async |tx: Tx| {
            if !assets::is_marked(&tx, row.id).await? {
                return Err(MISSING_FILE); // it was abandoned
            }
            require_free_name(&tx, row.repository_id, row.release_id, &row.name, 0).await?;
            assets::unmark(&tx, row.id);
            assets::put(&tx, row);
            check_recorded(context, &tx, row.repository_id).await?;
            recorder.record(&tx, entry.clone()).await?;
            Ok::<_, Error>(())
        })
        .await
}

/// Returns a random UUID, version 4.
fn random_uuid() -> [u8; 16] {
    let mut bytes: [u8; 16] = secret::random_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn object(browse: &Browse, row: &ReleaseAsset) -> Object {
    Object::new("release_file", row.id, &row.name).in_repository(row.repository_id, &browse.found.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_file_names_are_refused() {
        for name in ["a", "a b.tar.gz", ".hidden", "...", "ü%\"", &"x".repeat(255)] {
            check_name(name).expect(name);
        }
        for name in ["", ".", "..", "../a", "a/b", "a\\b", "a\nb", "a\0", &"x".repeat(256)] {
            assert!(matches!(check_name(name), Err(Error::Invalid { field: "name", .. })), "{name:?}");
        }
    }
}
