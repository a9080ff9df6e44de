//! Reads artifacts: finds them, signs URLs and opens their bytes.

use std::ops::Range;

use farrier_proto::store::{Artifact, Content, Run};

use super::{MISSING, NO_TARGET, block_refs, missing, require_repository, rows, validators, visible};
use crate::{
    blob::{BlockReader, UploadKey},
    clock::Millis,
    model::{
        conditions::Validators,
        identity::Identity,
        mime,
        signed_url::{Grant, IssuedTo, Operation},
    },
    service::{
        Context, Error,
        access::Action,
        access_watch::AccessWatch,
        authentication::{self, JobIdentity},
        caches,
    },
    store::{
        Read, runs,
        uploads::{self, UploadTarget},
    },
};

/// A finalized artifact that can be read.
pub struct VisibleArtifact {
    /// Its row.
    pub row: Artifact,
    /// Its confirmed content.
    pub content: Content,
}

/// The target of a signed URL.
pub struct Download {
    /// Name of the artifact or key of the cache entry.
    pub name: String,
    /// Its finalized content.
    pub content: Content,
    modified_ms: Millis,
    key: UploadKey,
    /// The access of the account that received the URL.
    pub access: Option<AccessWatch>,
}

/// Returns the artifact `name` as a job of the run sees it: the one of job `job_id` if that job has one, else the
/// newest of the run.
pub async fn find_in_run(
    context: &Context,
    job: &JobIdentity,
    job_id: &str,
    name: &str,
) -> Result<VisibleArtifact, Error> {
    let filter = super::RunArtifactFilter { name: Some(name.to_owned()), ..super::RunArtifactFilter::default() };
    let found = super::list_run(context, job, &filter).await?;
    let own = job_id.parse().ok().and_then(|id: u64| found.iter().find(|row| row.job_id == id));
    let row = own.or(found.last()).cloned().ok_or(MISSING)?;
    let content = row.content.clone().ok_or(MISSING)?;
    Ok(VisibleArtifact { row, content })
}

/// Returns the finalized or expired artifact `id` of a repository, with its run.
pub async fn find(read: &impl Read, repository: u64, id: u64) -> Result<(Artifact, Run), Error> {
    let row = rows::get(read, id).await?;
    let row = row.filter(|row| row.repository_id == repository && row.content.is_some() && row.deleted_ms == 0);
    let row = row.ok_or(MISSING)?;
    let run = runs::run(read, row.run_id).await?.unwrap_or_default();
    Ok((row, run))
}

/// Returns path and query of a URL that reads a visible artifact. It is valid only as long as the access of `caller`;
/// `None`: a job.
pub fn read_address(context: &Context, row: &Artifact, caller: Option<&Identity>) -> Result<String, Error> {
    let content = visible(row, context.now_ms()).ok_or(Error::NotFound { what: "the artifact (it has expired)" })?;
    Ok(address(
        context,
        Operation::Read,
        UploadKey { artifact: row.id, generation: content.generation },
        &content.mime_type,
        caller.and_then(authentication::issued_to),
    ))
}

/// Returns path and query of a URL that uploads to `key`.
pub fn upload_address(context: &Context, key: UploadKey, mime_type: &str) -> String {
    address(context, Operation::Write, key, mime_type, None)
}

/// Signs a URL. Clients extract a download if the path ends in `.zip`, regardless of its type.
fn address(
    context: &Context,
    operation: Operation,
    key: UploadKey,
    mime_type: &str,
    issued_to: Option<IssuedTo>,
) -> String {
    let file = if mime::is_zip(mime_type) { "archive.zip" } else { "artifact" };
    sign(context, operation, key, file, issued_to)
}

/// Returns path and query of a URL for `key` whose path ends in `file`.
pub(in crate::service) fn sign(
    context: &Context,
    operation: Operation,
    key: UploadKey,
    file: &str,
    issued_to: Option<IssuedTo>,
) -> String {
    let life = i64::try_from(context.config.artifacts.signed_url.as_secs()).unwrap_or(i64::MAX);
    let expires_secs = context.now_ms().div_euclid(1_000).saturating_add(life);
    let grant = Grant { operation, artifact: key.artifact, generation: key.generation, expires_secs, issued_to };
    grant.path_and_query(&context.keys.signed_url, file)
}

/// Opens the artifact or cache entry that `grant` permits to read, if it still exists.
pub async fn open(context: &Context, grant: Grant) -> Result<Download, Error> {
    let snapshot = context.store.read().await?;
    let target = uploads::get(&snapshot, grant.artifact).await?.ok_or(NO_TARGET)?;
    require_repository(&snapshot, &target).await?;
    let access = match grant.issued_to {
        Some(account) => Some(access(context, &snapshot, account, target.repository_id()).await?),
        None => None,
    };
    drop(snapshot);
    let (name, content) = match &target {
        UploadTarget::Artifact(row) => (&row.name, visible(row, context.now_ms())),
        UploadTarget::CacheEntry(row) => (&row.key, row.content.as_ref()),
    };
    let content = content.filter(|content| content.generation == grant.generation);
    let content = content.ok_or_else(|| missing(&target))?.clone();
    let modified_ms = match &target {
        UploadTarget::Artifact(row) => validators::modified_ms(&content, row),
        UploadTarget::CacheEntry(row) => {
            caches::note_access(context, row);
            content.committed_ms
        }
    };
    let key = UploadKey { artifact: grant.artifact, generation: content.generation };
    Ok(Download { name: name.clone(), content, modified_ms, key, access })
}

/// Returns the access of the account that received a URL, or an error if it lost its access.
async fn access(context: &Context, read: &impl Read, account: IssuedTo, repository: u64) -> Result<AccessWatch, Error> {
    let revoked = || Error::Forbidden { reason: "the account that received this address has lost its access".into() };
    let (accepts_passwords, now) = (context.config.auth.password_login, context.now_ms());
    let identity = authentication::of_url(read, account, accepts_passwords, now).await?.ok_or_else(revoked)?;
    let repository = Some((repository, Action::ReadActions));
    AccessWatch::checked(context, read, identity, repository).await?.ok_or_else(revoked)
}

impl Download {
    /// Returns the validators of the content.
    pub fn validators(&self) -> Validators {
        validators::of_content(&self.content, self.modified_ms)
    }

    /// Opens `range`, which must be inside the content.
    ///
    /// The whole content is compared with its SHA-256 while it is read, unless that was done recently.
    pub async fn bytes(&self, context: &Context, range: Range<u64>) -> Result<BlockReader, Error> {
        let refs = block_refs(&context.store.read().await?, self.key).await?;
        let (key, is_whole) = (self.key, range == (0..self.content.size));
        let reader = context.blobs.read(key, refs, range);
        if !is_whole || !context.verified.is_due(key, context.now_ms()) {
            return Ok(reader);
        }
        let context = context.clone();
        Ok(reader.verified(key, self.content.sha256.clone(), move |matches| {
            if matches {
                context.verified.record(key, context.now_ms());
            } else {
                context.metrics.damaged_artifacts.inc();
            }
        }))
    }
}
