//! Finalizes uploads: verifies the content and makes it visible.

use farrier_proto::store::{Artifact, ArtifactState, Committed, Content, Upload};

use super::{MISSING, block_refs, create::of_other_jobs, is_repository_live, quota, rows};
use crate::{
    blob::UploadKey,
    clock::Millis,
    config::UniquePer,
    model::words,
    service::{Context, Error, authentication::JobIdentity},
    store::Tx,
};

/// The client's claims about the upload.
#[derive(Clone, Debug)]
pub struct Finalize {
    /// Name of the artifact.
    pub name: String,
    /// Size in bytes.
    pub size: i64,
    /// `sha256:` followed by hexadecimal digits, if the client computed it.
    pub hash: Option<String>,
}

/// Finalizes an upload of `job` and returns the id of the artifact. Repeated calls return the same result.
pub async fn finalize(context: &Context, job: &JobIdentity, input: Finalize) -> Result<u64, Error> {
    let snapshot = context.store.read().await?;
    let row = rows::by_name(&snapshot, job.run_id, job.job_id, &input.name).await?.ok_or(MISSING)?;
    let Some((upload, committed)) = upload_to_finalize(&row)? else {
        let content = row.content.as_ref().ok_or(MISSING)?;
        check_claims(&input, content.size, &content.sha256)?;
        return Ok(row.id);
    };
    let key = UploadKey { artifact: row.id, generation: upload.generation };
    check_size(&input, committed.size)?;
    quota::check(context, &snapshot, row.repository_id, committed.size).await?;
    let refs = block_refs(&snapshot, key).await?;
    drop(snapshot);

    let failed = |source| Error::Blob { doing: "hashing the content", source };
    let sha256 = context.digests.finish(key, &refs).await.map_err(failed)?;
    check_claims(&input, committed.size, &sha256)?;
    let lock = quota::lock(context, row.repository_id).await;
    if lock.is_some() {
        // Other uploads may have been recorded meanwhile, also this one by a concurrent call.
        let snapshot = context.store.read().await?;
        let current = rows::get(&snapshot, key.artifact).await?.ok_or(MISSING)?;
        if !is_finalized(&current, key) {
            quota::check(context, &snapshot, row.repository_id, committed.size).await?;
        }
    }
    confirm(context, job, key, &committed, &sha256).await?;
    drop(lock);
    context.digests.forget(key);
    Ok(row.id)
}

/// Returns the upload to finalize, or `None` if it is finalized already.
fn upload_to_finalize(row: &Artifact) -> Result<Option<(Upload, Committed)>, Error> {
    match (&row.upload, row.state()) {
        (Some(upload), _) => match &upload.committed {
            Some(committed) => Ok(Some((upload.clone(), committed.clone()))),
            None => Err(Error::Precondition { reason: "no content was committed for this artifact".into() }),
        },
        (None, ArtifactState::Final) => Ok(None),
        (None, _) => Err(MISSING),
    }
}

fn check_size(input: &Finalize, size: u64) -> Result<(), Error> {
    if u64::try_from(input.size).ok() == Some(size) {
        return Ok(());
    }
    Err(Error::invalid("size", format!("the client expects {} bytes, {size} bytes were uploaded", input.size)))
}

fn check_claims(input: &Finalize, size: u64, sha256: &[u8]) -> Result<(), Error> {
    check_size(input, size)?;
    let actual = words::digest_text(sha256);
    match input.hash.as_deref() {
        None | Some("") => Ok(()),
        Some(expected) if expected.eq_ignore_ascii_case(&actual) => Ok(()),
        Some(expected) if !expected.starts_with("sha256:") => {
            Err(Error::invalid("hash", "must be sha256: and 64 hexadecimal digits"))
        }
        Some(expected) => {
            let shown: String = expected.chars().take(80).collect();
            Err(Error::invalid("hash", format!("the client expects {shown}, the uploaded bytes have {actual}")))
        }
    }
}

/// Makes the upload the content of the artifact, unless it has changed since it was checked.
async fn confirm(
    context: &Context,
    job: &JobIdentity,
    key: UploadKey,
    committed: &Committed,
    sha256: &[u8],
) -> Result<(), Error> {
    let now = context.now_ms();
    let expires_ms = context
        .store
        .write(async |tx: Tx| {
            let before = rows::get(&tx, key.artifact).await?.ok_or(MISSING)?;
            if !is_repository_live(&tx, before.repository_id).await? {
                return Err(MISSING);
            }
            let mut row = before.clone();
            if is_finalized(&row, key) {
                return Ok(None); // a concurrent call finalized it
            }
            let upload = row.upload.take().filter(|upload| upload.generation == key.generation).ok_or(MISSING)?;
            if upload.committed.as_ref() != Some(committed) {
                return Err(Error::Precondition { reason: "the block list was changed meanwhile".into() });
            }
            if let Some(old) = row.content.replace(content(&upload, committed, sha256)) {
                rows::discard(&tx, row.id, old.generation, now);
            }
            if context.config.artifacts.unique_per == UniquePer::Run {
                // Non-empty only in replace mode, since `create` refuses the name otherwise. The artifact stayed
                // readable until now and is replaced by the newer one.
                let replaced = of_other_jobs(&tx, job, &row.name, now).await?;
                for other in replaced.iter().filter(|other| other.state() == ArtifactState::Final) {
                    rows::delete(&tx, other, now);
                }
            }
            row.set_state(ArtifactState::Final);
            row.expires_ms = upload.expires_ms;
            row.updated_ms = now;
            rows::mark_trim(&tx, key.artifact, key.generation, now);
            rows::put(&tx, Some(&before), &row);
            quota::check_recorded(context, &tx, row.repository_id).await?;
            Ok(Some(row.expires_ms))
        })
        .await?;
    if let Some(expires_ms) = expires_ms {
        wake(context, expires_ms, now);
    }
    Ok(())
}

fn is_finalized(row: &Artifact, key: UploadKey) -> bool {
    row.content.as_ref().is_some_and(|content| content.generation == key.generation)
}

fn content(upload: &Upload, committed: &Committed, sha256: &[u8]) -> Content {
    Content {
        generation: upload.generation,
        size: committed.size,
        sha256: sha256.to_vec(),
        mime_type: upload.mime_type.clone(),
        blocks: committed.blocks,
        list_sha256: committed.list_sha256.clone(),
        version: upload.version,
        committed_ms: committed.committed_ms,
        files_sha256: committed.files_sha256.clone(),
    }
}

/// Schedules the removal of the upload's leftovers, and the expiry of the artifact.
fn wake(context: &Context, expires_ms: Millis, now: Millis) {
    context.sweep.due_at(expires_ms);
    context.sweep.due_at(now);
}
