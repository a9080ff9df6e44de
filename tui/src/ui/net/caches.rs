//! Lists and deletes cache entries of workflow jobs.

use farrier_common::{
    api::FoundCacheEntry,
    client::{CacheFilter, Client, ClientError},
};

use super::{Answer, Request, fetch::pages};

/// Handles a request about cache entries. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Caches => {
            let filter = CacheFilter::default();
            let open = |list: Vec<FoundCacheEntry>| list;
            pages(client.caches(&filter), open, |entry| entry.id, part, Answer::Caches).await?
        }
        Request::CacheUsage => Answer::CacheUsage(client.cache_usage_of_all().await?),
        Request::DeleteCache { repo, id, .. } => {
            client.delete_cache(&repo, id).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}
