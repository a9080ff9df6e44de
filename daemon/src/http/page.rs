//! Pages of lists: which one is asked for, and the headers that lead to the others.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Serialize;

use super::extract::ok;
use crate::app::App;

/// Items of a page when the request names no number.
pub(super) const LIMIT_DEFAULT: usize = 30;
/// Most items of a page in the API family.
pub(super) const LIMIT_MAX: usize = 50;
/// Clients of Actions ask for so many and believe that they get them.
const ACTIONS_LIMIT_MAX: usize = 100;
/// Entries of a page of a tree, and most of them.
const TREE_LIMIT: usize = 1_000;

/// The page that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// From 1.
    pub(super) number: u64,
    /// Items of each page.
    pub(super) limit: usize,
}

impl Page {
    /// Reads `page` and `limit` as the API family does: what makes no sense counts as absent, and
    /// more than the most is the most.
    pub(super) fn of(query: Option<&str>) -> Self {
        Self::read(query, &["limit"], LIMIT_DEFAULT, LIMIT_MAX)
    }

    /// The same for lists of Actions, whose clients say `per_page`.
    pub(super) fn of_actions(query: Option<&str>) -> Self {
        Self::read(query, &["limit", "per_page"], LIMIT_DEFAULT, ACTIONS_LIMIT_MAX)
    }

    /// The same for deliveries, whose page GitHub's clients call `per_page`.
    pub(super) fn of_deliveries(query: Option<&str>) -> Self {
        Self::read(query, &["limit", "per_page"], LIMIT_DEFAULT, LIMIT_MAX)
    }

    /// The same for entries of a tree.
    pub(super) fn of_trees(query: Option<&str>) -> Self {
        Self::read(query, &["per_page"], TREE_LIMIT, TREE_LIMIT)
    }

    /// The headers of a list of `total` items that has no pages.
    pub(super) fn all(total: u64) -> HeaderMap {
        let limit = usize::try_from(total).unwrap_or(usize::MAX).max(1);
        Self { number: 1, limit }.headers("", None, total)
    }

    fn read(query: Option<&str>, limits: &[&str], default: usize, most: usize) -> Self {
        let number = |words: &[&str]| {
            let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
            let found = pairs.find(|(name, _)| words.contains(&name.as_ref()));
            found.and_then(|(_, value)| value.parse::<u64>().ok()).filter(|number| *number > 0)
        };
        let limit = number(limits).map_or(default, |limit| usize::try_from(limit).unwrap_or(most).min(most));
        Self { number: number(&["page"]).unwrap_or(1), limit }
    }

    /// How many pages `total` items fill; an empty list fills one.
    pub(super) fn count(self, total: u64) -> u64 {
        total.div_ceil(self.limit as u64).max(1)
    }

    /// Items before this page.
    pub(super) fn skip(self) -> u64 {
        (self.number - 1).saturating_mul(self.limit as u64)
    }

    /// Items before this page, and how many it has.
    pub(super) fn window(self) -> (u64, usize) {
        (self.skip(), self.limit)
    }

    /// The items of this page out of all of them, and how many those are.
    pub(super) fn cut<T>(self, all: Vec<T>) -> (Vec<T>, u64) {
        let total = all.len() as u64;
        let skip = usize::try_from(self.skip()).unwrap_or(usize::MAX);
        (all.into_iter().skip(skip).take(self.limit).collect(), total)
    }

    /// The answer with one page of a list: `path` is the list's path below the base address.
    pub(super) fn answer<T: Serialize>(
        self,
        app: &App,
        path: &str,
        query: Option<&str>,
        total: u64,
        body: T,
    ) -> Response {
        (self.headers(&format!("{}{path}", app.root_url), query, total), ok(body)).into_response()
    }

    /// `X-Total-Count`, and `Link` when there are more pages. `address` is the list's absolute
    /// address without a query.
    pub(super) fn headers(self, address: &str, query: Option<&str>, total: u64) -> HeaderMap {
        const TOTAL: HeaderName = HeaderName::from_static("x-total-count");
        let last = self.count(total);
        let mut targets = Vec::new();
        if self.number < last {
            targets.extend([("next", self.number + 1), ("last", last)]);
        }
        if self.number > 1 {
            targets.extend([("first", 1), ("prev", (self.number - 1).min(last))]);
        }
        let links: Vec<String> = targets
            .into_iter()
            .map(|(rel, number)| format!("<{address}?{}>; rel=\"{rel}\"", with_page(query, number)))
            .collect();
        let mut headers = HeaderMap::new();
        headers.insert(TOTAL, total.into());
        let mut exposed = "X-Total-Count";
        if let Ok(value) = HeaderValue::from_str(&links.join(","))
            && !links.is_empty()
        {
            headers.insert(header::LINK, value);
            exposed = "X-Total-Count, Link";
        }
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        headers
    }
}

/// The headers of a list whose pages have no numbers: `Link` leads behind `next`, if there is more.
/// `path` is the list's path below the base address.
pub(super) fn by_cursor(app: &App, path: &str, query: Option<&str>, next: Option<&str>, limit: usize) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(next) = next {
        let address = format!("{}{path}?{}", app.root_url, with_cursor(query, next, limit));
        if let Ok(link) = HeaderValue::try_from(format!("<{address}>; rel=\"next\"")) {
            headers.insert(header::LINK, link);
        }
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Total-Count, Link"));
    headers
}

/// The query of the page behind `next`. Credentials in it are left out.
fn with_cursor(query: Option<&str>, next: &str, limit: usize) -> String {
    let own = ["page", "cursor", "limit", "per_page", "token", "access_token"];
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
    let mut pairs: Vec<(String, String)> = pairs.filter(|(name, _)| !own.contains(&name.as_str())).collect();
    pairs.extend([("cursor".into(), next.to_owned()), ("limit".into(), limit.to_string())]);
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The query with another page, keys sorted. Credentials in it are left out.
fn with_page(query: Option<&str>, number: u64) -> String {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let secret = ["page", "token", "access_token"];
    let mut pairs: Vec<(String, String)> =
        pairs.into_owned().filter(|(name, _)| !secret.contains(&name.as_str())).collect();
    pairs.push(("page".into(), number.to_string()));
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_counts_as_absent_and_limits_hold() {
        let page = |query| Page::of_actions(Some(query));
        assert_eq!(page("page=0&limit=-1"), Page { number: 1, limit: 30 });
        assert_eq!(page("page=x&limit=999"), Page { number: 1, limit: 100 });
        assert_eq!(page("page=3&limit=5").skip(), 10);
        assert_eq!(Page::of(Some("limit=500&per_page=3")), Page { number: 1, limit: 50 });
        assert_eq!(Page::of(Some("limit=2&page=2")).cut(vec![1, 2, 3]), (vec![3], 3));
        assert_eq!(Page::of_actions(Some("per_page=100&page=2")), Page { number: 2, limit: 100 });
        assert_eq!(page(&format!("page={}", u64::MAX)).skip(), u64::MAX);
        assert_eq!(Page::of(Some("limit=500&page=-1")), Page { number: 1, limit: 50 });
        assert_eq!(Page::of(Some("limit=0&page=2")), Page { number: 2, limit: 30 });
        assert_eq!(Page::of_trees(Some("per_page=7&limit=3")), Page { number: 1, limit: 7 });
        assert_eq!([0, 1, 7, 8].map(|total| Page::of_trees(Some("per_page=7")).count(total)), [1, 1, 1, 2]);
    }

    #[test]
    fn links_lead_to_the_neighbours_without_credentials() {
        let query = Some("page=2&limit=2&token=secret&b=1");
        let headers = Page::of_actions(query).headers("http://h/api/v1/x", query, 5);
        assert_eq!(headers["x-total-count"], "5");
        let link = headers["link"].to_str().expect("text");
        let base = "http://h/api/v1/x?b=1&limit=2&page=";
        let expected = [("3", "next"), ("3", "last"), ("1", "first"), ("1", "prev")];
        assert_eq!(link, expected.map(|(n, rel)| format!("<{base}{n}>; rel=\"{rel}\"")).join(","));
        assert!(!Page::of_actions(None).headers("x", None, 3).contains_key("link"));
        assert_eq!(with_cursor(Some("token=secret&limit=9&b=1&cursor=4"), "5-7", 3), "b=1&cursor=5-7&limit=3");
    }
}
