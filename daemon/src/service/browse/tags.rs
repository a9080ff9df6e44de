//! Reads tags and tag objects.

use std::collections::HashMap;

use super::{Browse, PageWithTotal, page_of};
use crate::{
    git::read::{
        commit::{self, CommitObject},
        refs::Reference,
        rev,
    },
    service::Error,
};

const TAGS: &str = "refs/tags/";

/// A tag.
#[derive(Clone, Debug)]
pub struct NamedTag {
    /// Name without `refs/tags/`.
    pub name: String,
    /// Id of the tag object, or of the commit.
    pub id: String,
    /// Message of the tag object, or of the commit.
    pub message: String,
    /// The commit.
    pub commit: CommitObject,
}

/// Returns a page of the tags that point to commits, by name.
pub async fn list(browse: &Browse, skip: u64, limit: usize) -> Result<PageWithTotal<NamedTag>, Error> {
    let mut refs = browse.git.refs(TAGS).await?;
    refs.retain(|reference| reference.commit().is_some());
    let (refs, total) = page_of(refs, skip, limit);
    Ok((load(browse, &refs).await?, total))
}

/// Returns the tag `name`.
pub async fn get(browse: &Browse, name: &str) -> Result<NamedTag, Error> {
    let missing = || Error::NotFound { what: "the tag" };
    if !rev::is_revision(name) || name.contains(['~', '^']) {
        return Err(missing());
    }
    let full_name = format!("{TAGS}{name}");
    let refs: Vec<_> = browse.git.refs(&full_name).await?.into_iter().filter(|found| found.name == full_name).collect();
    load(browse, &refs).await?.into_iter().next().ok_or_else(missing)
}

/// Returns the tag object `id`.
pub async fn annotated(browse: &Browse, id: &str) -> Result<commit::TagObject, Error> {
    if !rev::is_id(id) {
        return Err(Error::Body { reason: "this is not a valid id of an object".into() });
    }
    let found = browse.git.tags(&[id.to_owned()]).await?;
    found.into_iter().next().ok_or(Error::NotFound { what: "the tag" })
}

async fn load(browse: &Browse, refs: &[Reference]) -> Result<Vec<NamedTag>, Error> {
    let ids: Vec<String> = refs.iter().filter_map(|found| found.commit().map(str::to_owned)).collect();
    let of_tags: Vec<String> = refs.iter().filter(|found| found.kind == "tag").map(|found| found.id.clone()).collect();
    let (commits, objects) = tokio::try_join!(browse.git.commits(&ids), browse.git.tags(&of_tags))?;
    let commits: HashMap<_, _> = commits.into_iter().map(|commit| (commit.id.clone(), commit)).collect();
    let objects: HashMap<_, _> = objects.into_iter().map(|tag| (tag.id.clone(), tag)).collect();
    let tags = refs.iter().filter_map(|found| {
        let commit = commits.get(found.commit()?)?.clone();
        let message = objects.get(&found.id).map_or(&commit.message, |tag| &tag.message).trim().to_owned();
        Some(NamedTag { name: found.name.trim_start_matches(TAGS).to_owned(), id: found.id.clone(), message, commit })
    });
    Ok(tags.collect())
}
