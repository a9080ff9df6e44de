//! The languages of a repository.

use std::sync::Arc;

use super::Browse;
use crate::{git::read::languages::LanguageSizes, service::Error};

/// Returns the languages of the default branch with their bytes, largest first. Empty if the branch does not exist.
pub async fn languages(browse: &Browse) -> Result<Arc<LanguageSizes>, Error> {
    let branch = format!("refs/heads/{}^{{commit}}", browse.found.repository.default_branch);
    let Some(tip) = browse.git.first(&[branch]).await? else { return Ok(Arc::default()) };
    Ok(browse.git.languages(&tip.id).await?)
}
