//! Downloads artifacts to part files. Interrupted downloads are continued, and the complete file is verified.
//!
//! A signed URL may expire, the connection may be lost and the daemon may restart during a download. The
//! download is retried as long as it makes progress.

use std::path::PathBuf;

use farrier_common::client::{Client, ClientError, Download, SignedUrl};
use indicatif::ProgressBar;
use tokio::sync::mpsc;

use super::{resume, retry, sink::Part};
use crate::{blocking, exit::Failure};

/// Chunks that were received but not written yet; a chunk has at most a few hundred KiB.
const QUEUED_CHUNKS_MAX: usize = 16;

/// An artifact to download.
#[derive(Debug)]
pub(crate) struct DownloadRequest {
    /// Size according to the list, bytes.
    pub(crate) size: u64,
    /// `sha256:…` according to the list; empty if the daemon did not send it.
    pub(crate) digest: String,
    /// The file for the incomplete content.
    pub(crate) part: PathBuf,
}

/// A complete, verified download.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The file with the content.
    pub(crate) part: Part,
    /// Whether the content is a zip file.
    pub(crate) is_zip: bool,
    /// `sha256:…` of the content.
    pub(crate) digest: String,
}

/// The result of one request.
#[derive(Debug)]
enum RequestOutcome {
    /// The complete response is in the part file.
    Complete,
    /// The request failed. The received part of the response is in the part file.
    Failed(ClientError),
    /// The response was not usable. The part file is empty.
    Unusable,
}

/// Properties of the content from earlier responses.
#[derive(Debug, Default)]
struct ContentProperties {
    etag: Option<String>,
    content_type: Option<String>,
}

/// Downloads `request` from the URL that `locate` returns, with as many requests as necessary.
pub(crate) async fn fetch(
    client: &Client,
    request: &DownloadRequest,
    locate: impl AsyncFn() -> Result<SignedUrl, ClientError>,
    bar: &ProgressBar,
) -> Result<Fetched, Failure> {
    let mut part = open(request).await?;
    let mut url = retry::retrying(retry::is_temporary_after_connect, &locate)
        .await
        .map_err(Failure::call("requesting the download URL"))?;
    let (mut properties, mut failures) = (ContentProperties::default(), 0);
    let (mut url_is_fresh, mut has_restarted) = (true, false);
    loop {
        match resume::start(part.have(), request.size) {
            resume::Start::Complete => break,
            resume::Start::Restart => restart(&mut part)?,
            resume::Start::From(_) => {}
        }
        bar.set_position(part.have());
        let before = part.have();
        let (returned, outcome) = attempt(client, &url, part, &mut properties, request, bar).await?;
        part = returned;
        let error = match outcome {
            RequestOutcome::Complete => break,
            RequestOutcome::Failed(error) => error,
            RequestOutcome::Unusable if has_restarted => {
                return Err(Failure::Other("downloading: the daemon sent other bytes than requested".into()));
            }
            RequestOutcome::Unusable => {
                has_restarted = true;
                continue;
            }
        };
        let refused = error.status().is_some_and(|status| matches!(status.as_u16(), 401 | 403 | 404));
        if refused && !url_is_fresh {
            // Signed URLs expire, possibly during a long download.
            let again = retry::retrying(retry::is_temporary, &locate).await;
            url = again.map_err(Failure::call("requesting the download URL again"))?;
            url_is_fresh = true;
            continue;
        }
        url_is_fresh = false;
        failures = if part.have() > before { 1 } else { failures + 1 };
        match retry::delay(failures).filter(|_| error.is_transient()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(Failure::call("downloading")(error)),
        }
    }
    verify(part, request, is_zip(properties.content_type.as_deref(), &url))
}

async fn open(request: &DownloadRequest) -> Result<Part, Failure> {
    let path = request.part.clone();
    let doing = format!("opening {}", path.display());
    let mut part = blocking::run(move || Part::open(path).map_err(|source| Failure::io(doing, source))).await?;
    if request.digest.is_empty() {
        // Without a digest, it is unknown whether existing bytes belong to this artifact.
        restart(&mut part)?;
    }
    Ok(part)
}

fn restart(part: &mut Part) -> Result<(), Failure> {
    part.restart().map_err(|source| Failure::io(format!("truncating {}", part.path().display()), source))
}

/// Sends one request. The received bytes are in the part file, even if the response was incomplete.
async fn attempt(
    client: &Client,
    url: &SignedUrl,
    mut part: Part,
    properties: &mut ContentProperties,
    request: &DownloadRequest,
    bar: &ProgressBar,
) -> Result<(Part, RequestOutcome), Failure> {
    let download = match client.get_signed(url, part.have(), properties.etag.as_deref()).await {
        Ok(download) => download,
        Err(error) => return Ok((part, RequestOutcome::Failed(error))),
    };
    match resume::answer(part.have(), request.size, download.status, download.range) {
        resume::Write::Append => {}
        resume::Write::Replace => restart(&mut part)?,
        resume::Write::Restart => {
            restart(&mut part)?;
            properties.etag = None;
            return Ok((part, RequestOutcome::Unusable));
        }
    }
    bar.set_position(part.have());
    properties.etag.clone_from(&download.etag);
    properties.content_type.clone_from(&download.content_type);
    receive(part, download, request.size, bar).await
}

/// Writes chunks to the part file on another thread while more are received.
async fn receive(
    mut part: Part,
    mut download: Download,
    size: u64,
    bar: &ProgressBar,
) -> Result<(Part, RequestOutcome), Failure> {
    let mut remaining = size.saturating_sub(part.have());
    let (sender, mut receiver) = mpsc::channel::<bytes::Bytes>(QUEUED_CHUNKS_MAX);
    let writing = blocking::start(move || {
        while let Some(chunk) = receiver.blocking_recv() {
            if let Err(error) = part.append(&chunk) {
                return (part, Err(error));
            }
        }
        (part, Ok(()))
    });
    let received = loop {
        let chunk = match download.chunks.next().await {
            None => break RequestOutcome::Complete,
            Some(Err(error)) => break RequestOutcome::Failed(error),
            Some(Ok(chunk)) => chunk,
        };
        let length = chunk.len() as u64;
        if length > remaining {
            break RequestOutcome::Failed(ClientError::Answer { what: "it is larger than announced" });
        }
        remaining -= length;
        if sender.send(chunk).await.is_err() {
            // Writing failed. The error is returned below.
            break RequestOutcome::Complete;
        }
        bar.inc(length);
    };
    drop(sender);
    let (part, written) = writing.ended().await?;
    written.map_err(|source| Failure::io(format!("writing {}", part.path().display()), source))?;
    Ok((part, received))
}

/// Verifies size and digest. Removes the file if they differ, because no part of it can be trusted.
fn verify(part: Part, request: &DownloadRequest, is_zip: bool) -> Result<Fetched, Failure> {
    let digest = part.digest();
    let is_complete = part.have() == request.size && (request.digest.is_empty() || request.digest == digest);
    if is_complete {
        return Ok(Fetched { part, is_zip, digest });
    }
    let text = format!(
        "the downloaded content is not the artifact: {} bytes with {digest} instead of {} bytes with {}",
        part.have(),
        request.size,
        request.digest
    );
    part.discard().map_err(|source| Failure::io("removing an incomplete download", source))?;
    Err(Failure::Other(text))
}

/// Returns whether the content is a zip file, by the rule of the official client.
fn is_zip(content_type: Option<&str>, url: &SignedUrl) -> bool {
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    let zips = ["application/zip", "application/x-zip-compressed", "application/zip-compressed"];
    zips.contains(&essence.as_str()) || url.names_zip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zip_files_are_recognized_by_type_or_address() {
        let url = |text| SignedUrl::new(text).unwrap();
        assert!(is_zip(Some("application/zip"), &url("/a/raw?x")));
        assert!(is_zip(Some("Application/X-Zip-Compressed; charset=binary"), &url("/a/raw?x")));
        assert!(is_zip(None, &url("/a/archive.zip?x")));
        for other in [None, Some("zip"), Some("application/octet-stream")] {
            assert!(!is_zip(other, &url("/a/raw?x")), "{other:?}");
        }
    }
}
