//! Removes multipart uploads that killed daemons left. Their parts use space, but are not an object.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, header::DATE};
use http_body_util::{BodyExt as _, Limited};
use object_store::{
    Error,
    aws::AmazonS3,
    client::{HttpRequestBody, HttpService as _},
    path::Path,
    signer::{SignedUrlOptions, Signer as _},
};

use super::{BlobError, Bucket, BucketError, bucket_unavailable, connector::BucketConnector};
use crate::{blob::BlobFailure, clock::Millis};

/// Largest page of the list.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// Time for which the signature of a request is valid.
const SIGNED_FOR: Duration = Duration::from_secs(300);
const LISTING: &str = "listing unfinished uploads";

/// Lists unfinished multipart uploads.
pub(super) struct UploadList {
    client: AmazonS3,
    connector: BucketConnector,
}

/// An unfinished multipart upload.
#[derive(Debug, PartialEq, Eq)]
struct Unfinished {
    location: Path,
    id: String,
    started_ms: Millis,
}

impl UploadList {
    pub(super) fn new(client: AmazonS3, connector: BucketConnector) -> Self {
        Self { client, connector }
    }

    /// Returns whether the server has answered the last request of any kind.
    pub(super) fn server_answers(&self) -> bool {
        self.connector.answers()
    }

    /// Returns the last failure of the server since the start.
    pub(super) fn last_failure(&self) -> Option<BlobFailure> {
        self.connector.last_failure()
    }

    /// Returns at most 1,000 uploads of objects below `prefix`, and the time of the server.
    async fn page(&self, prefix: &Path) -> Result<(Vec<Unfinished>, Millis), BlobError> {
        let query = [("uploads", String::new()), ("prefix", format!("{prefix}/"))];
        let options = SignedUrlOptions::new().with_query(query);
        let url = self.client.signed_url_opts(Method::GET, &Path::default(), SIGNED_FOR, &options).await;
        let url = url.map_err(bucket_unavailable(LISTING))?;
        // Without the error, whose text may have the signed URL.
        let failed = |reason: &str| BlobError::BucketUnavailable { doing: LISTING, source: BucketError(reason.into()) };
        let request = Request::get(url.as_str()).body(HttpRequestBody::empty());
        let request = request.map_err(|_| failed("the URL is not valid"))?;
        let response = self.connector.call(request).await.map_err(|_| failed("the server did not answer"))?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(&format!("the server answered {status}")));
        }
        let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
        let now = date.and_then(http_date).ok_or_else(|| failed("the answer has no valid date"))?;
        let body = Limited::new(response.into_body(), PAGE_BYTES_MAX).collect().await;
        let body: Bytes = body.map_err(|_| failed("the answer was cut off or is too large"))?.to_bytes();
        Ok((parse(&String::from_utf8_lossy(&body)), now))
    }
}

/// Aborts the uploads of blocks and packs that are older than `age`, at most 1,000 of each, and returns how many. The
/// clock of the server counts: that of this machine could be wrong, and uploads that still run would be aborted.
///
/// An upload that is not completed has no object, so no acknowledged block or pack is affected. A writer that is still
/// running after that time gets an error.
pub(super) async fn remove(bucket: &Bucket, age: Duration) -> Result<usize, BlobError> {
    let Some(list) = &bucket.unfinished else { return Ok(0) };
    let mut removed = 0;
    for prefix in [bucket.blocks(), bucket.packs()] {
        let (uploads, now) = list.page(&prefix).await?;
        let before_ms = now.saturating_sub(Millis::try_from(age.as_millis()).unwrap_or(Millis::MAX));
        for upload in uploads {
            let location = &upload.location;
            // Servers may ignore the prefix.
            let is_ours = bucket.block(location).is_some() || bucket.is_pack(location);
            if upload.started_ms >= before_ms || !is_ours {
                continue;
            }
            match bucket.objects.abort_multipart(location, &upload.id).await {
                Ok(()) | Err(Error::NotFound { .. }) => removed += 1,
                Err(error) => return Err(bucket_unavailable("aborting an unfinished upload")(error)),
            }
        }
    }
    Ok(removed)
}

/// Parses the value of a header `Date`.
fn http_date(text: &str) -> Option<Millis> {
    Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond())
}

/// Reads the list of the server. Uploads without a valid key, ID or time are left out.
fn parse(xml: &str) -> Vec<Unfinished> {
    let uploads = xml.split("<Upload>").skip(1).filter_map(|rest| rest.split_once("</Upload>"));
    uploads.filter_map(|(upload, _)| parse_upload(upload)).collect()
}

fn parse_upload(xml: &str) -> Option<Unfinished> {
    let text = |name: &str| {
        let (_, rest) = xml.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    let started: jiff::Timestamp = text("Initiated")?.parse().ok()?;
    let id = text("UploadId").filter(|id| !id.is_empty() && !id.contains('&'))?;
    let location = Path::parse(text("Key")?).ok()?;
    Some(Unfinished { location, id: id.to_owned(), started_ms: started.as_millisecond() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_a_server_is_read_and_invalid_items_are_left_out() {
        let item = |key: &str, id: &str, time: &str| {
            format!("<Upload>\n<Key>{key}</Key><UploadId>{id}</UploadId><Initiated>{time}</Initiated></Upload>")
        };
        let valid = item("p/a/7/2/9", "2~x.y_z-1", "1970-01-01T00:00:01.500Z");
        let xml = format!(
            "<ListMultipartUploadsResult><Prefix>p/a/</Prefix>{valid}{}{}{}{}<IsTruncated>false</IsTruncated>",
            item("p/a/7/2/9", "", "1970-01-01T00:00:01Z"),
            item("p/a/7/2/9", "x", "yesterday"),
            item("p//a", "x", "1970-01-01T00:00:01Z"),
            "<Upload><Key>p/a/1/1/1</Key>",
        );
        let expected = Unfinished { location: Path::from("p/a/7/2/9"), id: "2~x.y_z-1".into(), started_ms: 1_500 };
        assert_eq!(parse(&xml), [expected]);
        assert_eq!(parse("not XML"), []);
    }

    #[test]
    fn the_date_of_a_server_is_read() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:02 GMT"), Some(2_000));
        assert_eq!(http_date("yesterday"), None);
    }
}
