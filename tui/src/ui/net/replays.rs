//! Sends a replay of a delivery, with the payload from a file.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use farrier_common::{api::ReplayDelivery, client::Client};

use super::Answer;
use crate::{blocking, exit::Failure, ui::redacted::Redacted};

/// Longest payload. The daemon refuses longer ones.
const PAYLOAD_MAX_BYTES: u64 = 1 << 20;

/// A replay of a delivery. The file of the payload is read when the request is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplayRequest {
    pub(crate) guid: String,
    /// URL of another receiver, which can contain a password; `None`: that of the hook.
    pub(crate) target: Option<Redacted>,
    /// Signs the request to another receiver.
    pub(crate) secret: Option<Redacted>,
    /// `None`: `payload`.
    pub(crate) payload_file: Option<PathBuf>,
    /// The payload from the editor; `None`: the stored one.
    pub(crate) payload: Option<Redacted>,
}

/// Sends a replay.
pub(super) async fn answer(client: &Client, replay: ReplayRequest) -> Result<Answer, Failure> {
    let text = |secret: Option<Redacted>| secret.map(|Redacted(text)| text);
    let payload = match replay.payload_file {
        Some(file) => Some(blocking::run(move || read_payload(&file)).await?),
        None => text(replay.payload),
    };
    let request = ReplayDelivery { url: text(replay.target), secret: text(replay.secret), payload };
    let doing = format!("replaying delivery {}", replay.guid);
    let replayed = client.replay(&replay.guid, &request).await.map_err(Failure::call(doing))?;
    Ok(Answer::Replayed(Box::new(replayed)))
}

/// Reads a payload from a regular file. Others, such as pipes, could block forever.
pub(crate) fn read_payload(file: &Path) -> Result<String, Failure> {
    let doing = || format!("reading {}", file.display());
    let about = std::fs::metadata(file).map_err(|source| Failure::io(doing(), source))?;
    if !about.is_file() {
        return Err(Failure::Usage(format!("{} is not a file", file.display())));
    }
    let mut text = String::new();
    let read = File::open(file).and_then(|open| open.take(PAYLOAD_MAX_BYTES + 1).read_to_string(&mut text));
    read.map_err(|source| Failure::io(doing(), source))?;
    if text.len() as u64 > PAYLOAD_MAX_BYTES {
        return Err(Failure::Usage(format!("{} is larger than 1 MiB", file.display())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_text_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        assert_eq!(read_payload(&write("good", b"{}")).unwrap(), "{}");
        for bad in [write("binary", b"\xff\xfe"), write("large", &vec![b' '; (1 << 20) + 1]), dir.path().to_owned()] {
            assert!(read_payload(&bad).is_err(), "{}", bad.display());
        }
        assert!(read_payload(&dir.path().join("missing")).is_err());
    }
}
