//! Prepared bundles. The git of the tests may be too old to ask for them, so the requests of a newer one are sent as
//! bytes, and the downloaded files are given to git.

mod dropping;
mod serving;

use std::fs;

use bytes::Bytes;
use http::Method;

use super::fetch_cache::{filled, line};
use crate::support::{Answer, TestDaemon, eventually, git::Client, send};

/// A daemon that prepares bundles for the smallest repositories, and its repository `admin/demo`.
async fn daemon() -> (TestDaemon, Client) {
    let farrier = TestDaemon::with(|config| config.git.bundle_min_bytes = 1).await;
    let work = filled(&farrier, 50_000).await;
    (farrier, work)
}

/// Headers with the access token `token`; empty: none.
fn headers(token: &str) -> Vec<(&'static str, String)> {
    let authorization = (!token.is_empty()).then(|| ("authorization", format!("token {token}")));
    authorization.into_iter().collect()
}

impl TestDaemon {
    /// Sends a request of protocol version 2 about the repository `path`.
    async fn version_2(&self, token: &str, method: Method, path: &str, body: impl Into<Bytes>) -> Answer {
        let own = headers(token);
        let mut all: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("git-protocol", "version=2"));
        all.push(("content-type", "application/x-git-upload-pack-request"));
        send(&self.tcp(), method, path, &all, body).await
    }

    /// Whether the greeting offers the list of bundles.
    async fn offers_bundles(&self, token: &str) -> bool {
        let path = "/admin/demo.git/info/refs?service=git-upload-pack";
        let answer = self.version_2(token, Method::GET, path, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.ends_with(b"0000") && answer.text().contains("ls-refs"), "{answer:?}");
        answer.text().contains("000fbundle-uri\n")
    }

    /// The addresses in the list of bundles, the base first. Git 2.55 sends its capabilities before the command.
    async fn bundles(&self, token: &str) -> Vec<String> {
        let request =
            format!("{}{}{}0000", line("agent=git/2.55"), line("object-format=sha1"), line("command=bundle-uri"));
        let answer = self.version_2(token, Method::POST, "/admin/demo.git/git-upload-pack", request).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = answer.text();
        assert!(text.ends_with("0000"), "{text}");
        let addresses = text.split(".uri=").skip(1).map(|rest| rest.split(".bundle").next().unwrap_or_default());
        addresses.map(|start| format!("/admin/demo.git/{start}.bundle")).collect()
    }

    /// Downloads a bundle.
    async fn bundle_at(&self, token: &str, address: &str) -> Answer {
        let own = headers(token);
        let all: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        send(&self.tcp(), Method::GET, address, &all, "").await
    }

    /// The names of the files of the bundles of the first repository.
    fn bundle_files(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.data_dir().join("bundles/1")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// Clones the repository twice with git, once after a request for bundles, and waits for its base bundle. Returns the
/// address.
async fn prepared(farrier: &TestDaemon, token: &str) -> String {
    let clones = tempfile::tempdir_in(farrier.scratch()).expect("a directory");
    let clones = Client::at(clones.keep());
    let url =
        if token.is_empty() { format!("{}/admin/demo", farrier.url) } else { farrier.remote("admin/demo", token) };
    clones.done(&["clone", "-q", &url, "first"]);
    assert!(farrier.offers_bundles(token).await && farrier.bundles(token).await.is_empty());
    clones.done(&["clone", "-q", &url, "second"]);
    eventually("the bundle is listed", async || !farrier.bundles(token).await.is_empty()).await;
    farrier.bundles(token).await.remove(0)
}

/// Stores a downloaded bundle in a file. Returns its path.
fn stored(farrier: &TestDaemon, name: &str, answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let path = farrier.scratch().join(name);
    fs::write(&path, &answer.body).expect("a file");
    path.to_str().expect("text").to_owned()
}
