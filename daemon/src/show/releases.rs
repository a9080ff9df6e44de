//! Converts releases.

use farrier_common::api;
use farrier_proto::store::{Release, ReleaseAsset, User};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{number, time, user};
use crate::model::{identity::Identity, words};

/// Characters of a tag that cannot be in the path of a URL.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');

/// Converts a release of the repository `path` (`owner/name`), as `viewer` may see its author.
pub(crate) fn release(
    root_url: &str,
    viewer: &Identity,
    path: &str,
    row: &Release,
    author: Option<&User>,
    files: &[ReleaseAsset],
) -> api::Release {
    let tag = utf8_percent_encode(&row.tag, ESCAPED);
    let url = format!("{root_url}/api/v1/repos/{path}/releases/{}", row.id);
    let published_ms = if row.published_ms == 0 { row.created_ms } else { row.published_ms };
    api::Release {
        id: number(row.id),
        tag_name: row.tag.clone(),
        target_commitish: row.target.clone(),
        name: row.title.clone(),
        body: row.body.clone(),
        upload_url: format!("{url}/assets"),
        url,
        html_url: format!("{root_url}/{path}/releases/tag/{tag}"),
        tarball_url: format!("{root_url}/{path}/archive/{tag}.tar.gz"),
        zipball_url: format!("{root_url}/{path}/archive/{tag}.zip"),
        draft: row.draft,
        prerelease: row.prerelease,
        created_at: time(row.created_ms),
        published_at: time(published_ms),
        author: author.map(|author| user(root_url, viewer, author)),
        assets: files.iter().map(|file| attachment(root_url, path, &row.tag, file)).collect(),
    }
}

/// Converts a file of the release of `tag` in the repository `path` (`owner/name`).
pub(crate) fn attachment(root_url: &str, path: &str, tag: &str, row: &ReleaseAsset) -> api::Attachment {
    let (tag, name) = (utf8_percent_encode(tag, ESCAPED), utf8_percent_encode(&row.name, ESCAPED));
    api::Attachment {
        id: number(row.id),
        name: row.name.clone(),
        size: number(row.size),
        download_count: number(row.downloads),
        created_at: time(row.created_ms),
        uuid: uuid(&row.uuid),
        browser_download_url: format!("{root_url}/{path}/releases/download/{tag}/{name}"),
        digest: words::digest_text(&row.sha256),
    }
}

/// Formats a UUID.
fn uuid(bytes: &[u8]) -> String {
    let digits = hex::encode(bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
