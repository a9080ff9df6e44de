//! Reads git objects: references, trees and blobs.

use bytes::Bytes;

use super::{Browse, PageWithTotal, page_of};
use crate::{
    git::read::{objects::ObjectInfo, refs::Reference, rev, tree::TreeEntry},
    service::Error,
};

/// Largest blob to include in JSON, in bytes.
pub const SHOWN_MAX_BYTES: u64 = 10 << 20;
/// Room for the lines that git prints around a blob, in bytes.
const FRAME_BYTES: usize = 4_096;

/// Returns the references whose name begins with `refs/` followed by `prefix`, by name.
pub async fn refs(browse: &Browse, prefix: &str) -> Result<Vec<Reference>, Error> {
    let missing = || Error::NotFound { what: "the reference" };
    if !prefix.is_empty() && !rev::is_revision(prefix) {
        return Err(missing());
    }
    let full_name = format!("refs/{}", prefix.trim_matches('/'));
    // git matches whole segments of a name, the API family any prefix.
    let parent = &full_name[..=full_name.rfind('/').unwrap_or(0)];
    let mut found = browse.git.refs(parent.trim_end_matches('/')).await?;
    found.retain(|reference| reference.name.starts_with(&full_name));
    if found.is_empty() && !prefix.is_empty() { Err(missing()) } else { Ok(found) }
}

/// Returns the id of a tree and a page of its entries. `name` is the id of a tree, or a commit, branch or tag.
pub async fn tree(
    browse: &Browse,
    name: &str,
    recursive: bool,
    skip: u64,
    limit: usize,
) -> Result<(String, PageWithTotal<TreeEntry>), Error> {
    if !rev::is_revision(name) {
        return Err(Error::Body { reason: "this is not a valid name of a tree".into() });
    }
    let peel = |prefix: &str| format!("{prefix}{name}^{{tree}}");
    let names = if rev::is_full_id(name) { vec![peel("")] } else { ["refs/heads/", "refs/tags/", ""].map(peel).into() };
    let id = browse.git.first(&names).await?.ok_or(Error::NotFound { what: "the tree" })?.id;
    let entries = browse.git.tree(&id, recursive).await?;
    Ok((id, page_of(entries, skip, limit)))
}

/// Returns a blob by id. Its content is `None` if it is too large for JSON.
pub async fn blob(browse: &Browse, id: &str) -> Result<(ObjectInfo, Option<Bytes>), Error> {
    if !rev::is_id(id) {
        return Err(Error::Body { reason: "this is not a valid id of an object".into() });
    }
    let found = browse.git.first(&[id.to_owned()]).await?;
    let info = found.filter(|info| info.kind == "blob").ok_or(Error::NotFound { what: "the blob" })?;
    let content = content(browse, &info.id, info.size).await?;
    Ok((info, content))
}

/// Returns the content of the blob `id` with `size` bytes, unless it is too large for JSON.
pub(in crate::service) async fn content(browse: &Browse, id: &str, size: u64) -> Result<Option<Bytes>, Error> {
    if size > SHOWN_MAX_BYTES {
        return Ok(None);
    }
    let limit = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(FRAME_BYTES);
    let found = browse.git.objects(&[id.to_owned()], limit).await?.into_iter().flatten().next();
    Ok(Some(found.ok_or(Error::NotFound { what: "the blob" })?.content))
}
