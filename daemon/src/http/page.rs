//! Pagination of lists: reads the requested page and writes the headers that link to other pages.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Serialize;

use super::{AppState, extract::ok};

/// Default number of items per page.
pub(super) const LIMIT_DEFAULT: usize = 30;
/// Maximum number of items per page, as in Gitea-family APIs.
pub(super) const LIMIT_MAX: usize = 50;
/// Maximum for lists that Actions clients read: they request 100 items and do not check how many they get.
const ACTIONS_LIMIT_MAX: usize = 100;
/// Default and maximum number of tree entries per page.
const TREE_LIMIT: usize = 1_000;

/// The page that a request asks for, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageQuery {
    /// Page number, from 1.
    pub(super) number: u64,
    /// Items per page.
    pub(super) limit: usize,
}

impl PageQuery {
    /// Reads `page` and `limit` as Gitea-family APIs do: invalid values are ignored, and a limit that is too large is
    /// reduced to the maximum.
    pub(super) fn of(query: Option<&str>) -> Self {
        Self::read(query, &["limit"], LIMIT_DEFAULT, LIMIT_MAX)
    }

    /// Like [`PageQuery::of`], for lists of Actions, whose clients send `per_page`.
    pub(super) fn of_actions(query: Option<&str>) -> Self {
        Self::read(query, &["limit", "per_page"], LIMIT_DEFAULT, ACTIONS_LIMIT_MAX)
    }

    /// Like [`PageQuery::of`], for deliveries, where GitHub clients send `per_page`.
    pub(super) fn of_deliveries(query: Option<&str>) -> Self {
        Self::read(query, &["limit", "per_page"], LIMIT_DEFAULT, LIMIT_MAX)
    }

    /// Like [`PageQuery::of`], for entries of a tree.
    pub(super) fn of_trees(query: Option<&str>) -> Self {
        Self::read(query, &["per_page"], TREE_LIMIT, TREE_LIMIT)
    }

    /// Returns the headers of a list of `total` items that is not paginated.
    pub(super) fn all(total: u64) -> HeaderMap {
        let limit = usize::try_from(total).unwrap_or(usize::MAX).max(1);
        Self { number: 1, limit }.headers("", None, total)
    }

    fn read(query: Option<&str>, limit_names: &[&str], default: usize, max: usize) -> Self {
        let number = |names: &[&str]| {
            let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
            let found = pairs.find(|(name, _)| names.contains(&name.as_ref()));
            found.and_then(|(_, value)| value.parse::<u64>().ok()).filter(|number| *number > 0)
        };
        let limit = number(limit_names).map_or(default, |limit| usize::try_from(limit).unwrap_or(max).min(max));
        Self { number: number(&["page"]).unwrap_or(1), limit }
    }

    /// Returns the number of pages for `total` items, at least 1.
    pub(super) fn count(self, total: u64) -> u64 {
        total.div_ceil(self.limit as u64).max(1)
    }

    /// Returns the number of items before this page.
    pub(super) fn skip(self) -> u64 {
        (self.number - 1).saturating_mul(self.limit as u64)
    }

    /// Returns the number of items before this page, and the page size.
    pub(super) fn window(self) -> (u64, usize) {
        (self.skip(), self.limit)
    }

    /// Returns the items of this page and the total number of items.
    pub(super) fn cut<T>(self, all: Vec<T>) -> (Vec<T>, u64) {
        let total = all.len() as u64;
        let skip = usize::try_from(self.skip()).unwrap_or(usize::MAX);
        (all.into_iter().skip(skip).take(self.limit).collect(), total)
    }

    /// Returns a response with one page of a list. `path` is the path of the list below the base address.
    pub(super) fn response<T: Serialize>(
        self,
        state: &AppState,
        path: &str,
        query: Option<&str>,
        total: u64,
        body: T,
    ) -> Response {
        (self.headers(&format!("{}{path}", state.root_url), query, total), ok(body)).into_response()
    }

    /// Returns `X-Total-Count`, and `Link` if there are other pages. `address` is the absolute address of the list
    /// without a query.
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

/// Returns the headers of a list with cursors: `Link` to the next page if `next` is a cursor. `path` is the path of
/// the list below the base address.
pub(super) fn by_cursor(
    state: &AppState,
    path: &str,
    query: Option<&str>,
    next: Option<&str>,
    limit: usize,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(next) = next {
        let address = format!("{}{path}?{}", state.root_url, with_cursor(query, next, limit));
        if let Ok(link) = HeaderValue::try_from(format!("<{address}>; rel=\"next\"")) {
            headers.insert(header::LINK, link);
        }
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Total-Count, Link"));
    headers
}

/// Returns the headers of a page of a search: the number of rows that the request read. Replaces the list of exposed
/// headers.
pub(super) fn examined(rows: usize) -> HeaderMap {
    let exposed = HeaderValue::from_static("X-Total-Count, X-Examined-Count, Link");
    HeaderMap::from_iter([
        (HeaderName::from_static("x-examined-count"), rows.into()),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed),
    ])
}

/// Returns the query of the page after the cursor `next`. Removes credentials.
fn with_cursor(query: Option<&str>, next: &str, limit: usize) -> String {
    let replaced = ["page", "cursor", "limit", "per_page", "token", "access_token"];
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
    let mut pairs: Vec<(String, String)> = pairs.filter(|(name, _)| !replaced.contains(&name.as_str())).collect();
    pairs.extend([("cursor".into(), next.to_owned()), ("limit".into(), limit.to_string())]);
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns the query of page `number`, with sorted keys. Removes credentials.
fn with_page(query: Option<&str>, number: u64) -> String {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let replaced = ["page", "token", "access_token"];
    let mut pairs: Vec<(String, String)> =
        pairs.into_owned().filter(|(name, _)| !replaced.contains(&name.as_str())).collect();
    pairs.push(("page".into(), number.to_string()));
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_ignored_and_limits_are_reduced() {
        let page = |query| PageQuery::of_actions(Some(query));
        assert_eq!(page("page=0&limit=-1"), PageQuery { number: 1, limit: 30 });
        assert_eq!(page("page=x&limit=999"), PageQuery { number: 1, limit: 100 });
        assert_eq!(page("page=3&limit=5").skip(), 10);
        assert_eq!(PageQuery::of(Some("limit=500&per_page=3")), PageQuery { number: 1, limit: 50 });
        assert_eq!(PageQuery::of(Some("limit=2&page=2")).cut(vec![1, 2, 3]), (vec![3], 3));
        assert_eq!(PageQuery::of_actions(Some("per_page=100&page=2")), PageQuery { number: 2, limit: 100 });
        assert_eq!(page(&format!("page={}", u64::MAX)).skip(), u64::MAX);
        assert_eq!(PageQuery::of(Some("limit=500&page=-1")), PageQuery { number: 1, limit: 50 });
        assert_eq!(PageQuery::of(Some("limit=0&page=2")), PageQuery { number: 2, limit: 30 });
        assert_eq!(PageQuery::of_trees(Some("per_page=7&limit=3")), PageQuery { number: 1, limit: 7 });
        assert_eq!([0, 1, 7, 8].map(|total| PageQuery::of_trees(Some("per_page=7")).count(total)), [1, 1, 1, 2]);
    }

    #[test]
    fn page_links_contain_no_credentials() {
        let query = Some("page=2&limit=2&token=secret&b=1");
        let headers = PageQuery::of_actions(query).headers("http://h/api/v1/x", query, 5);
        assert_eq!(headers["x-total-count"], "5");
        let link = headers["link"].to_str().expect("text");
        let base = "http://h/api/v1/x?b=1&limit=2&page=";
        let expected = [("3", "next"), ("3", "last"), ("1", "first"), ("1", "prev")];
        assert_eq!(link, expected.map(|(n, rel)| format!("<{base}{n}>; rel=\"{rel}\"")).join(","));
        assert!(!PageQuery::of_actions(None).headers("x", None, 3).contains_key("link"));
        assert_eq!(with_cursor(Some("token=secret&limit=9&b=1&cursor=4"), "5-7", 3), "b=1&cursor=5-7&limit=3");
    }
}
