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
const PIECES_MAX: usize = 16;

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
enum Got {
    /// The complete response is in the part file.
    All,
    /// The request failed. The received part of the response is in the part file.
    Broken(ClientError),
    /// The response was not usable. The part file is empty.
    Nothing,
}

/// Properties of the content from earlier responses.
#[derive(Debug, Default)]
struct Known {
    etag: Option<String>,
    content_type: Option<String>,
}

/// Downloads `wanted` from the URL that `locate` returns, with as many requests as necessary.
pub(crate) async fn fetch(
    client: &Client,
    wanted: &DownloadRequest,
    locate: impl AsyncFn() -> Result<SignedUrl, ClientError>,
    bar: &ProgressBar,
) -> Result<Fetched, Failure> {
    let mut part = open(wanted).await?;
    let mut url = retry::retrying(retry::once_reached, &locate).await.map_err(Failure::call("asking for the bytes"))?;
    let (mut known, mut failures) = (Known::default(), 0);
    let (mut url_is_fresh, mut asked_again) = (true, false);
    loop {
        match resume::start(part.have(), wanted.size) {
            resume::Start::Complete => break,
            resume::Start::Over => restart(&mut part)?,
            resume::Start::From(_) => {}
        }
        bar.set_position(part.have());
        let before = part.have();
        let (back, got) = attempt(client, &url, part, &mut known, wanted, bar).await?;
        part = back;
        let error = match got {
            Got::All => break,
            Got::Broken(error) => error,
            Got::Nothing if asked_again => {
                return Err(Failure::Other("downloading: the daemon sent other bytes than requested".into()));
            }
            Got::Nothing => {
                asked_again = true;
                continue;
            }
        };
        let refused = error.status().is_some_and(|status| matches!(status.as_u16(), 401 | 403 | 404));
        if refused && !url_is_fresh {
            // Signed URLs expire, possibly during a long download.
            let again = retry::retrying(retry::passing, &locate).await;
            url = again.map_err(Failure::call("asking for the bytes again"))?;
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
    checked(part, wanted, is_zip(known.content_type.as_deref(), &url))
}

async fn open(wanted: &DownloadRequest) -> Result<Part, Failure> {
    let path = wanted.part.clone();
    let doing = format!("opening {}", path.display());
    let mut part = blocking::run(move || Part::open(path).map_err(|source| Failure::io(doing, source))).await?;
    if wanted.digest.is_empty() {
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
    known: &mut Known,
    wanted: &DownloadRequest,
    bar: &ProgressBar,
) -> Result<(Part, Got), Failure> {
    let download = match client.get_signed(url, part.have(), known.etag.as_deref()).await {
        Ok(download) => download,
        Err(error) => return Ok((part, Got::Broken(error))),
    };
    match resume::answer(part.have(), wanted.size, download.status, download.range) {
        resume::Write::Append => {}
        resume::Write::Replace => restart(&mut part)?,
        resume::Write::AskAgain => {
            restart(&mut part)?;
            known.etag = None;
            return Ok((part, Got::Nothing));
        }
    }
    bar.set_position(part.have());
    known.etag.clone_from(&download.etag);
    known.content_type.clone_from(&download.content_type);
    receive(part, download, wanted.size, bar).await
}

/// Writes chunks to the part file on another thread while more are received.
async fn receive(mut part: Part, mut download: Download, size: u64, bar: &ProgressBar) -> Result<(Part, Got), Failure> {
    let mut room = size.saturating_sub(part.have());
    let (sender, mut pieces) = mpsc::channel::<bytes::Bytes>(PIECES_MAX);
    let writing = blocking::start(move || {
        while let Some(piece) = pieces.blocking_recv() {
            if let Err(error) = part.append(&piece) {
                return (part, Err(error));
            }
        }
        (part, Ok(()))
    });
    let received = loop {
        let piece = match download.chunks.next().await {
            None => break Got::All,
            Some(Err(error)) => break Got::Broken(error),
            Some(Ok(piece)) => piece,
        };
        let length = piece.len() as u64;
        if length > room {
            break Got::Broken(ClientError::Answer { what: "there are more bytes than were announced" });
        }
        room -= length;
        if sender.send(piece).await.is_err() {
            // Writing failed. The error is returned below.
            break Got::All;
        }
        bar.inc(length);
    };
    drop(sender);
    let (part, written) = writing.ended().await?;
    written.map_err(|source| Failure::io(format!("writing {}", part.path().display()), source))?;
    Ok((part, received))
}

/// Verifies size and digest. Removes the file if they differ, because no part of it can be trusted.
fn checked(part: Part, wanted: &DownloadRequest, is_zip: bool) -> Result<Fetched, Failure> {
    let digest = part.digest();
    let whole = part.have() == wanted.size && (wanted.digest.is_empty() || wanted.digest == digest);
    if whole {
        return Ok(Fetched { part, is_zip, digest });
    }
    let text = format!(
        "what was downloaded is not the artifact: {} bytes with {digest} instead of {} bytes with {}",
        part.have(),
        wanted.size,
        wanted.digest
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
    fn zip_files_are_recognised_by_type_or_address() {
        let url = |text| SignedUrl::new(text).unwrap();
        assert!(is_zip(Some("application/zip"), &url("/a/raw?x")));
        assert!(is_zip(Some("Application/X-Zip-Compressed; charset=binary"), &url("/a/raw?x")));
        assert!(is_zip(None, &url("/a/archive.zip?x")));
        for other in [None, Some("zip"), Some("application/octet-stream")] {
            assert!(!is_zip(other, &url("/a/raw?x")), "{other:?}");
        }
    }
}
