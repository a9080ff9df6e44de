//! Entity tags and modification times of uploads and artifacts, and the conditions that requests set on them.

use farrier_proto::store::{Artifact, Committed, Content, Upload};

use crate::{
    blob::UploadKey,
    clock::Millis,
    model::conditions::{Conditions, Unmet, Validators},
    service::Error,
};

/// Returns the validators of finalized content that was written at `modified_ms`.
pub(super) fn of_content(content: &Content, modified_ms: Millis) -> Validators {
    let etag = format!("\"sha256-{}\"", hex::encode(&content.sha256));
    let upload_etag = Some(&content.files_sha256).filter(|hash| !hash.is_empty()).map(|hash| list_tag(hash));
    Validators { etag, upload_etag, modified_secs: modified_ms.div_euclid(1_000) }
}

/// Returns when `content` of the artifact `row` was written.
pub(super) fn modified_ms(content: &Content, row: &Artifact) -> Millis {
    // Earlier versions did not record the time. The row was not changed before its content.
    if content.committed_ms > 0 { content.committed_ms } else { row.updated_ms }
}

/// Returns the validators of a committed block list.
pub(super) fn of_commit(committed: &Committed) -> Validators {
    let etag = list_tag(&committed.files_sha256);
    Validators { etag, upload_etag: None, modified_secs: committed.committed_ms.div_euclid(1_000) }
}

/// Returns the entity tag of a committed block list. The SHA-256 of its content may not be computed yet.
fn list_tag(files_sha256: &[u8]) -> String {
    format!("\"list-{}\"", hex::encode(files_sha256))
}

/// Returns the validators of the committed block list of `upload` if it is the upload `key`, else of the finalized
/// `content` of that upload. `None`: nothing was committed.
fn of_upload(upload: Option<&Upload>, content: Option<&Content>, key: UploadKey) -> Option<Validators> {
    if let Some(upload) = upload.filter(|upload| upload.generation == key.generation) {
        return upload.committed.as_ref().map(of_commit);
    }
    let content = content.filter(|content| content.generation == key.generation)?;
    Some(of_content(content, content.committed_ms))
}

/// Returns an error unless the upload `key`, which is `upload` or has become `content`, meets the conditions.
pub(super) fn require(
    conditions: &Conditions,
    upload: Option<&Upload>,
    content: Option<&Content>,
    key: UploadKey,
) -> Result<(), Error> {
    conditions.check(of_upload(upload, content, key).as_ref()).map_err(|unmet| match unmet {
        Unmet::Exists => Error::Exists { message: "content was already uploaded to this address".into() },
        Unmet::Changed | Unmet::Unchanged => Error::Changed { what: "the content" },
    })
}
