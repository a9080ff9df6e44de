//! The database itself: references, trees, blobs.

use bytes::Bytes;

use super::{Browse, PageOf, page_of};
use crate::{
    git::read::{objects::ObjectInfo, refs::Reference, rev, tree::TreeEntry},
    service::Error,
};

/// A blob larger than this is not shown inside JSON, bytes.
pub const SHOWN_MAX_BYTES: u64 = 10 << 20;
/// Room for the lines that git writes around a blob, bytes.
const FRAME_BYTES: usize = 4_096;

/// References whose name begins with `refs/` and `prefix`, by name. `true`: `prefix` is the whole
/// name of the one that there is.
pub async fn refs(browse: &Browse, prefix: &str) -> Result<(Vec<Reference>, bool), Error> {
    let missing = || Error::NotFound { what: "the reference" };
    if !prefix.is_empty() && !rev::is_revision(prefix) {
        return Err(missing());
    }
    let whole = format!("refs/{}", prefix.trim_matches('/'));
    // Git matches whole parts of a name; the API family any beginning of it.
    let parent = &whole[..=whole.rfind('/').unwrap_or(0)];
    let mut found = browse.git.refs(parent.trim_end_matches('/')).await?;
    if let Some(at) = found.iter().position(|reference| reference.name == whole) {
        return Ok((vec![found.swap_remove(at)], true));
    }
    found.retain(|reference| reference.name.starts_with(&whole));
    if found.is_empty() && !prefix.is_empty() { Err(missing()) } else { Ok((found, false)) }
}

/// A tree by its id, or that of a commit, branch or tag: its own id and a page of its entries.
pub async fn tree(
    browse: &Browse,
    name: &str,
    recursive: bool,
    skip: u64,
    limit: usize,
) -> Result<(String, PageOf<TreeEntry>), Error> {
    if !rev::is_revision(name) {
        return Err(Error::Body { reason: "this is no name of a tree".into() });
    }
    let peel = |prefix: &str| format!("{prefix}{name}^{{tree}}");
    let names = if rev::is_full_id(name) { vec![peel("")] } else { ["refs/heads/", "refs/tags/", ""].map(peel).into() };
    let found = browse.git.infos(&names).await?.into_iter().flatten().next();
    let id = found.ok_or(Error::NotFound { what: "the tree" })?.id;
    let entries = browse.git.tree(&id, recursive).await?;
    Ok((id, page_of(entries, skip, limit)))
}

/// A blob by its id; `None` for the content of one that is too large to be shown.
pub async fn blob(browse: &Browse, id: &str) -> Result<(ObjectInfo, Option<Bytes>), Error> {
    if !rev::is_id(id) {
        return Err(Error::Body { reason: "this is no id of an object".into() });
    }
    let found = browse.git.infos(&[id.to_owned()]).await?.into_iter().flatten().next();
    let info = found.filter(|info| info.kind == "blob").ok_or(Error::NotFound { what: "the blob" })?;
    let content = content(browse, &info.id, info.size).await?;
    Ok((info, content))
}

/// The content of the blob with the id `id` and `size` bytes, unless it is too large to be shown.
pub(super) async fn content(browse: &Browse, id: &str, size: u64) -> Result<Option<Bytes>, Error> {
    if size > SHOWN_MAX_BYTES {
        return Ok(None);
    }
    let limit = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(FRAME_BYTES);
    let found = browse.git.objects(&[id.to_owned()], limit).await?.into_iter().flatten().next();
    Ok(Some(found.ok_or(Error::NotFound { what: "the blob" })?.content))
}
