//! Lists and deletes cache entries of workflow jobs.

use farrier_common::{
    api::{CacheUsage, FoundCacheEntry},
    client::{CacheFilter, Client, ClientError},
};

use super::{Answer, Page, Request, fetch::pages};
use crate::ui::cache::{CacheCompactor, CacheSummary};

/// Handles a request about cache entries. `part` receives the pages before the last one.
pub(super) async fn answer(client: &Client, request: Request, part: &impl Fn(Answer)) -> Result<Answer, ClientError> {
    Ok(match request {
        Request::Caches => {
            let filter = CacheFilter::default();
            let mut compactor = CacheCompactor::default();
            let open = |list: Vec<FoundCacheEntry>| list.iter().map(|entry| compactor.compact(entry)).collect();
            pages(client.caches(&filter), open, |entry: &CacheSummary| entry.id, part, Answer::Caches).await?
        }
        Request::CacheUsage => {
            // The screen shows the largest repositories. Each further page costs the daemon as much as the first.
            let mut pages = client.cache_usage_of_all();
            let items = pages.next(|page: Vec<CacheUsage>| (0, page), |usage| usage.full_name.clone()).await?;
            Answer::CacheUsage(Page { items: items.unwrap_or_default(), total: pages.total(), last: true })
        }
        Request::DeleteCache { repo, id, .. } => {
            client.delete_cache(&repo, id).await?;
            Answer::Done
        }
        _ => Answer::Done,
    })
}
