//! The artifact service: what its clients rely on.

mod all_repositories;
mod azure;
mod blocks;
mod blocks_bad_input;
mod bucket;
mod client;
mod client_raw;
mod client_rest;
mod conditions;
mod damaged;
mod expiry;
mod expiry_edits;
mod files;
mod files_bad_input;
pub mod limits;
mod program;
mod rest;
mod rpc;
mod rpc_bad_input;
mod signed;

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Job, TestDaemon, send};

/// Incompressible bytes, the same for each `seed`.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Writes `content` to the file `name` below `root` and creates its directories.
pub fn write(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, content).expect("a file");
}

/// All files and empty directories below `root`, sorted. Files have their content.
pub fn tree(root: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        let name = path.strip_prefix(root).expect("below").display().to_string();
        if path.is_file() {
            // The daemon may have removed it meanwhile.
            found.extend(std::fs::read(&path).ok().map(|content| (name, Some(content))));
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        let entries: Vec<_> = entries.map(|e| e.expect("a name").path()).collect();
        if entries.is_empty() && path != root {
            found.push((name, None));
        }
        left.extend(entries);
    }
    found.sort();
    found
}

/// Sends a `PUT` to a signed URL with additional query parameters.
async fn put(farrier: &TestDaemon, address: &str, parameters: &str, body: impl Into<bytes::Bytes>) -> Answer {
    send(&farrier.tcp(), Method::PUT, &format!("{address}{parameters}"), &[], body).await
}

/// Puts one block, which must succeed.
async fn block(farrier: &TestDaemon, address: &str, id: &str, body: impl Into<bytes::Bytes>) {
    let answer = put(farrier, address, &format!("&comp=block&blockid={id}"), body).await;
    assert_eq!((answer.status, answer.body.len()), (201, 0), "{answer:?}");
}

/// Commits a block list.
async fn commit(farrier: &TestDaemon, address: &str, ids: &[&str]) -> Answer {
    let blocks: Vec<String> = ids.iter().map(|id| format!("<Latest>{id}</Latest>")).collect();
    let blocks = blocks.concat();
    put(farrier, address, "&comp=blocklist", format!("<BlockList>{blocks}</BlockList>")).await
}

/// Finalizes an upload with its size only.
async fn finalize(farrier: &TestDaemon, job: &Job, name: &str, size: usize) -> Answer {
    farrier.call(job, "FinalizeArtifact", json!({ "name": name, "size": size.to_string() })).await
}

/// The artifacts that `ListArtifacts` returns to a job.
async fn list(farrier: &TestDaemon, job: &Job) -> Vec<Value> {
    let answer = farrier.call(job, "ListArtifacts", json!({})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["artifacts"].as_array().expect("a list").clone()
}

/// Path and query of the signed URL for downloading `name`.
async fn read_address(farrier: &TestDaemon, job: &Job, name: &str) -> String {
    let answer = farrier.call(job, "GetSignedArtifactURL", json!({ "name": name })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    farrier.path_of(answer.json()["signed_url"].as_str().expect("an address"))
}

/// Downloads `name` as a job does.
async fn read(farrier: &TestDaemon, job: &Job, name: &str) -> bytes::Bytes {
    let address = read_address(farrier, job, name).await;
    let answer = send(&farrier.tcp(), Method::GET, &address, &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Size of all stored blocks.
pub fn bytes_on_disk(farrier: &TestDaemon) -> usize {
    let files = tree(&farrier.data_dir().join("artifacts"));
    let files = files.into_iter().filter(|(name, _)| name != farrierd::data_dir::FILE);
    files.filter_map(|(_, content)| content).map(|content| content.len()).sum()
}

/// Checks an error of the block blob protocol: its code is in a header and in the XML body.
fn assert_xml_error(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.header("x-ms-error-code")), (status, code), "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/xml");
    let body = answer.text();
    assert!(body.contains(&format!("<Error><Code>{code}</Code><Message>")), "{body}");
}

/// Checks a Twirp error and returns its message.
fn assert_twirp_error(answer: &Answer, status: u16, code: &str) -> String {
    let body = answer.json();
    assert_eq!((answer.status, body["code"].as_str()), (status, Some(code)), "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/json");
    body["msg"].as_str().expect("a text").to_owned()
}
