//! Reads lists page by page.
//!
//! The next page is determined by the `Link` header, because the daemon may continue by key instead of page
//! number; without the header, by the next page number until the announced total is reached. Items are returned
//! page by page, so a long list needs only the memory of one page.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use http::{HeaderMap, Method, header};
use serde::de::DeserializeOwned;

use super::{Call, Client, ClientError, answer};

/// Number of items requested per page.
pub const PAGE_ITEMS: usize = 50;
/// Most pages of a list: fifty million items. A longer list is an error of the daemon.
const PAGES_MAX: u32 = 1_000_000;

/// A list that is read page by page.
#[derive(Debug)]
pub struct Pages<'c> {
    client: &'c Client,
    base: String,
    next: Option<String>,
    number: u32,
    /// Ids of the last page. Lists start with the newest item, so items that are added meanwhile move the end
    /// of one page to the start of the next.
    last_ids: HashSet<u64>,
    received: i64,
    total: Option<i64>,
    examined: Option<i64>,
}

impl<'c> Pages<'c> {
    pub(super) fn new(client: &'c Client, base: String) -> Self {
        let first = numbered(&base, 1);
        let last_ids = HashSet::new();
        Self { client, base, next: Some(first), number: 1, last_ids, received: 0, total: None, examined: None }
    }

    /// Returns the total number of items, if the last page contained it.
    pub fn total(&self) -> Option<i64> {
        self.total
    }

    /// Returns the number of rows that the daemon read for the pages so far, if it reports it. It does so for searches,
    /// which read a bounded number of rows for each page.
    pub fn examined(&self) -> Option<i64> {
        self.examined
    }

    /// Returns whether there may be another page.
    pub fn more(&self) -> bool {
        self.next.is_some()
    }

    /// Returns the total number of items, if the daemon reports it. Requests only one item.
    pub async fn count(self) -> Result<Option<i64>, ClientError> {
        let joint = if self.base.contains('?') { '&' } else { '?' };
        let target = format!("{}{joint}page=1&limit=1", self.base);
        let reply = answer::successful(self.client.send(Call::new(Method::GET, target)).await?).await?;
        let counted = total(reply.headers());
        answer::drain(reply).await?;
        Ok(counted)
    }

    /// Returns the next page of items, or `None` after the last page. `open` returns the total and the items of
    /// a body; `id` identifies an item.
    pub async fn next<B, T, K>(
        &mut self,
        open: impl FnOnce(B) -> (i64, Vec<T>),
        id: impl Fn(&T) -> K,
    ) -> Result<Option<Vec<T>>, ClientError>
    where
        B: DeserializeOwned,
        K: Hash,
    {
        let id = |item: &T| {
            let mut hasher = DefaultHasher::new();
            id(item).hash(&mut hasher);
            hasher.finish()
        };
        let Some(target) = self.next.take() else { return Ok(None) };
        if self.number > PAGES_MAX {
            return Err(ClientError::Answer { what: "its list does not end" });
        }
        let reply = self.client.send(Call::new(Method::GET, target)).await?;
        let linked = linked(reply.headers());
        let counted = total(reply.headers());
        if let Some(rows) = number(reply.headers(), "x-examined-count") {
            self.examined = Some(self.examined.unwrap_or_default().saturating_add(rows));
        }
        let (total, mut items) = open(answer::json(reply).await?);
        self.total = counted.or((total > 0).then_some(total)).or(self.total);
        // An empty page may still have a next page, if all items that it examined were filtered out.
        if items.is_empty() && linked.is_none() {
            return Ok(None);
        }
        self.received += i64::try_from(items.len()).unwrap_or(i64::MAX);
        self.number += 1;
        self.next = linked.or_else(|| (self.received < total).then(|| numbered(&self.base, self.number)));
        let ids = items.iter().map(&id).collect();
        let previous_ids = std::mem::replace(&mut self.last_ids, ids);
        items.retain(|item| !previous_ids.contains(&id(item)));
        Ok(Some(items))
    }
}

fn numbered(base: &str, page: u32) -> String {
    let joint = if base.contains('?') { '&' } else { '?' };
    format!("{base}{joint}page={page}&limit={PAGE_ITEMS}")
}

/// Returns the path and query of the `rel="next"` link. The host of the link is ignored: it may be the public
/// name of the daemon.
fn linked(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::LINK)?.to_str().ok()?;
    let next = text.split(',').find(|link| link.contains(r#"rel="next""#))?;
    let url = next.trim_start().strip_prefix('<')?.split_once('>')?.0;
    let below_api = url.find("/api/")?;
    Some(url[below_api..].to_owned())
}

/// Returns the total of lists without an envelope, which is in a header.
fn total(headers: &HeaderMap) -> Option<i64> {
    number(headers, "x-total-count")
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_read_from_the_link_header() {
        let link =
            |text: &'static str| linked(&HeaderMap::from_iter([(header::LINK, http::HeaderValue::from_static(text))]));
        assert_eq!(
            link(r#"<http://h/sub/api/v1/x?limit=2&page=2>; rel="next",<http://h/api/v1/x?page=9>; rel="last""#)
                .as_deref(),
            Some("/api/v1/x?limit=2&page=2")
        );
        for none in ["", r#"<http://h/api/v1/x?page=1>; rel="first""#, r#"rel="next""#, r#"<http://h/x>; rel="next""#] {
            assert_eq!(link(none), None, "{none}");
        }
    }

    #[test]
    fn page_numbers_are_appended_to_any_target() {
        assert_eq!(numbered("/a", 1), "/a?page=1&limit=50");
        assert_eq!(numbered("/a?name=x", 2), "/a?name=x&page=2&limit=50");
    }
}
