//! Transfers with signed URLs: uploads of blocks and downloads of ranges.
//!
//! No credentials are sent, because the URL contains a signature. Signed URLs are valid on every listener, so
//! only their path and query are used: requests always go to the client's own daemon.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::{Call, Chunks, Client, ClientError, answer, full, path::segment};

/// The path and query of a signed URL.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedUrl(String);

impl SignedUrl {
    /// Parses an absolute URL or a path with query; `None` if it is neither.
    pub fn new(text: &str) -> Option<Self> {
        let target = if text.starts_with('/') {
            text.to_owned()
        } else {
            let url = url::Url::parse(text).ok()?;
            url.has_host().then_some(())?;
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
        };
        // A public URL may have a path prefix that a proxy removes.
        let start = target.find("/_blob/").unwrap_or(0);
        Some(Self(target[start..].to_owned()))
    }

    /// Returns whether the path ends with `.zip`.
    pub fn names_zip(&self) -> bool {
        let path = self.0.split('?').next().unwrap_or_default();
        path.len() >= 4 && path.as_bytes()[path.len() - 4..].eq_ignore_ascii_case(b".zip")
    }

    /// Returns the path and query, including the signature.
    pub fn target(&self) -> &str {
        &self.0
    }

    fn with(&self, parameters: &str) -> String {
        let joint = if self.0.contains('?') { '&' } else { '?' };
        format!("{}{joint}{parameters}", self.0)
    }
}

impl std::fmt::Debug for SignedUrl {
    /// Omits the query, which contains the signature.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignedUrl({}?…)", self.0.split('?').next().unwrap_or_default())
    }
}

/// A download of an artifact's content.
#[derive(Debug)]
pub struct Download {
    /// 200 for the complete content, 206 for a range, 416 for a range after the end.
    pub status: StatusCode,
    /// Length of this response, bytes.
    pub length: Option<u64>,
    /// Media type of the content.
    pub content_type: Option<String>,
    /// Entity tag of the content.
    pub etag: Option<String>,
    /// The range of this response.
    pub range: Option<ContentRange>,
    /// The content.
    pub chunks: Chunks,
}

/// A `Content-Range` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Offset of the first byte; absent if the range could not be satisfied.
    pub start: Option<u64>,
    /// Size of the complete content, bytes, if known.
    pub total: Option<u64>,
}

impl ContentRange {
    fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let start = match range {
            "*" => None,
            range => Some(range.split_once('-')?.0.parse().ok()?),
        };
        Some(Self { start, total: total.parse().ok() })
    }
}

impl Client {
    /// Uploads a block. Can be repeated.
    pub async fn put_block(&self, url: &SignedUrl, block_id: &str, bytes: Bytes) -> Result<(), ClientError> {
        let target = url.with(&format!("comp=block&blockid={}", segment(block_id)));
        let call = Call::new(Method::PUT, target)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))
            .body(full(bytes));
        self.put(call).await
    }

    /// Commits the list of blocks, in order. Can be repeated.
    pub async fn put_block_list(&self, url: &SignedUrl, block_ids: &[String], mime: &str) -> Result<(), ClientError> {
        let mut call = Call::new(Method::PUT, url.with("comp=blocklist"))
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"))
            .body(full(block_list(block_ids)));
        if let Ok(mime) = HeaderValue::from_str(mime) {
            call = call.header(HeaderName::from_static("x-ms-blob-content-type"), mime);
        }
        self.put(call).await
    }

    async fn put(&self, call: Call) -> Result<(), ClientError> {
        let version = (HeaderName::from_static("x-ms-version"), HeaderValue::from_static("2026-02-06"));
        let call = call
            .header(header::ACCEPT, HeaderValue::from_static("application/xml"))
            .header(version.0, version.1)
            .anonymous();
        answer::drain(self.send(call).await?).await
    }

    /// Downloads the content from `start` on. With `if_range`, the daemon sends the complete content if it no
    /// longer matches the entity tag. A range after the end is not an error.
    pub async fn get_signed(
        &self,
        url: &SignedUrl,
        start: u64,
        if_range: Option<&str>,
    ) -> Result<Download, ClientError> {
        let mut call =
            Call::new(Method::GET, url.0.clone()).header(header::ACCEPT, HeaderValue::from_static("*/*")).anonymous();
        if start > 0 {
            let range = HeaderValue::from_str(&format!("bytes={start}-")).map_err(|_| ClientError::Request)?;
            call = call.header(header::RANGE, range);
            if let Some(tag) = if_range.and_then(|tag| HeaderValue::from_str(tag).ok()) {
                call = call.header(header::IF_RANGE, tag);
            }
        }
        let reply = self.stream(call).await?;
        match reply.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {}
            StatusCode::NO_CONTENT => return Err(ClientError::Answer { what: "it has no content" }),
            status if status.is_success() || status.is_redirection() => {
                return Err(ClientError::Answer { what: "the artifact's bytes were expected" });
            }
            _ => return Err(answer::status_error(reply).await),
        }
        let (head, body) = reply.into_parts();
        Ok(Download {
            status: head.status,
            length: text(&head.headers, &header::CONTENT_LENGTH).and_then(|n| n.parse().ok()),
            content_type: text(&head.headers, &header::CONTENT_TYPE).map(str::to_owned),
            etag: text(&head.headers, &header::ETAG).map(str::to_owned),
            range: text(&head.headers, &header::CONTENT_RANGE).and_then(ContentRange::parse),
            chunks: Chunks::new(body),
        })
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Builds a block list. Block ids are base64, which needs no escaping in XML.
fn block_list(ids: &[String]) -> String {
    let mut xml = String::from(r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#);
    if ids.is_empty() {
        xml.push_str("<BlockList/>");
        return xml;
    }
    xml.push_str("<BlockList>");
    for id in ids {
        xml.push_str("<Latest>");
        xml.push_str(id);
        xml.push_str("</Latest>");
    }
    xml.push_str("</BlockList>");
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_url_is_reduced_to_its_path_and_query() {
        let url = SignedUrl::new("http://h:3000/_blob/7/1/archive.zip?sp=r&se=9&sig=abc").unwrap();
        assert_eq!(url.with("comp=blocklist"), "/_blob/7/1/archive.zip?sp=r&se=9&sig=abc&comp=blocklist");
        assert!(url.names_zip());
        assert_eq!(format!("{url:?}"), "SignedUrl(/_blob/7/1/archive.zip?…)");
        assert_eq!(SignedUrl::new("https://h/sub/_blob/7/1/raw?sig=a").unwrap().0, "/_blob/7/1/raw?sig=a");
        assert!(!SignedUrl::new("/x/zip").unwrap().names_zip());
        for bad in ["", "x", "data:x"] {
            assert!(SignedUrl::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn content_ranges_are_parsed() {
        let range = |start, total| Some(ContentRange { start, total });
        assert_eq!(ContentRange::parse("bytes 5-9/10"), range(Some(5), Some(10)));
        assert_eq!(ContentRange::parse("bytes 5-9/*"), range(Some(5), None));
        assert_eq!(ContentRange::parse("bytes */10"), range(None, Some(10)));
        for bad in ["", "5-9/10", "bytes 5/10", "bytes x-9/10"] {
            assert_eq!(ContentRange::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_block_list_is_written_as_xml() {
        assert!(block_list(&[]).ends_with("?><BlockList/>"));
        assert!(
            block_list(&["a==".into(), "b".into()])
                .ends_with("<BlockList><Latest>a==</Latest><Latest>b</Latest></BlockList>")
        );
    }
}
