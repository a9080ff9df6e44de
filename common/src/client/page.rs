//! Walking lists that come in pages.
//!
//! Owns where the next page is: where the `Link` header says, because the daemon may continue by
//! key and not by number; else the next number, until all that were announced have come. Items are
//! handed out page by page, so that a list of any length needs the memory of one page.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use http::{HeaderMap, Method, header};
use serde::de::DeserializeOwned;

use super::{Call, Client, ClientError, answer};

/// Items asked for at once.
pub const PAGE_ITEMS: usize = 50;
/// A daemon whose list does not end is broken; this is fifty million items.
const PAGES_MAX: u32 = 1_000_000;

/// A list that is being read.
#[derive(Debug)]
pub struct Pages<'c> {
    client: &'c Client,
    base: String,
    next: Option<String>,
    number: u32,
    /// Lists begin with the newest item: what is added meanwhile moves the end of one page to the
    /// beginning of the next.
    last_ids: HashSet<u64>,
    received: i64,
    total: Option<i64>,
}

impl<'c> Pages<'c> {
    pub(super) fn new(client: &'c Client, base: String) -> Self {
        let first = numbered(&base, 1);
        Self { client, base, next: Some(first), number: 1, last_ids: HashSet::new(), received: 0, total: None }
    }

    /// How many items there are on all pages, as far as the last page said.
    pub fn total(&self) -> Option<i64> {
        self.total
    }

    /// Whether there may be another page.
    pub fn more(&self) -> bool {
        self.next.is_some()
    }

    /// How many items there are on all pages, as far as the daemon says; asks for no more than one.
    pub async fn count(self) -> Result<Option<i64>, ClientError> {
        let joint = if self.base.contains('?') { '&' } else { '?' };
        let target = format!("{}{joint}page=1&limit=1", self.base);
        let reply = answer::successful(self.client.send(Call::new(Method::GET, target)).await?).await?;
        let counted = total(reply.headers());
        answer::drain(reply).await?;
        Ok(counted)
    }

    /// The next page of items, or `None` after the last. `open` takes the announced total and the
    /// items out of a body, `id` tells items apart.
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
        let (total, mut items) = open(answer::json(reply).await?);
        self.total = counted.or((total > 0).then_some(total)).or(self.total);
        // A page that passed over everything it looked at may still lead on.
        if items.is_empty() && linked.is_none() {
            return Ok(None);
        }
        self.received += i64::try_from(items.len()).unwrap_or(i64::MAX);
        self.number += 1;
        self.next = linked.or_else(|| (self.received < total).then(|| numbered(&self.base, self.number)));
        let ids = items.iter().map(&id).collect();
        let seen = std::mem::replace(&mut self.last_ids, ids);
        items.retain(|item| !seen.contains(&id(item)));
        Ok(Some(items))
    }
}

fn numbered(base: &str, page: u32) -> String {
    let joint = if base.contains('?') { '&' } else { '?' };
    format!("{base}{joint}page={page}&limit={PAGE_ITEMS}")
}

/// Path and query of `rel="next"`. The address itself is not trusted: it names the daemon as others
/// see it.
fn linked(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::LINK)?.to_str().ok()?;
    let next = text.split(',').find(|link| link.contains(r#"rel="next""#))?;
    let url = next.trim_start().strip_prefix('<')?.split_once('>')?.0;
    let below_api = url.find("/api/")?;
    Some(url[below_api..].to_owned())
}

/// Lists without an envelope say in a header how many there are.
fn total(headers: &HeaderMap) -> Option<i64> {
    headers.get("x-total-count")?.to_str().ok()?.parse().ok()
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
