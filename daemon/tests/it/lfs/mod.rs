//! Git LFS over HTTP.

mod batch;
mod bytes;
mod client;
mod collect;
mod kill;
mod large;
mod locks;
mod migrate;
mod storage;
mod tokens;

use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Answer, TestDaemon, send};

/// The content type of Git LFS.
const JSON: &str = "application/vnd.git-lfs+json";

/// The ID of an object.
fn oid(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The path of an absolute address of the daemon.
fn path_of(href: &Value) -> String {
    let href = href.as_str().unwrap_or_else(|| panic!("an address: {href}"));
    let (_, rest) = href.split_once("://").expect("absolute");
    rest[rest.find('/').expect("a path")..].to_owned()
}

/// The LFS routes of a repository, used by one caller.
struct Lfs<'a> {
    farrier: &'a TestDaemon,
    repository: String,
    authorization: String,
}

impl<'a> Lfs<'a> {
    /// Creates the repository `admin/NAME` and uses it as its owner.
    async fn new(farrier: &'a TestDaemon, name: &str) -> Self {
        farrier.repository(name).await;
        let body = json!({ "name": format!("lfs-{name}"), "scopes": ["all"] });
        let created = farrier.admin(Method::POST, "/api/v1/users/admin/tokens", body).await.json();
        let authorization = format!("token {}", created["sha1"].as_str().expect("text"));
        Self { farrier, repository: format!("admin/{name}"), authorization }
    }

    /// The same repository for another caller. Empty: without credentials.
    fn with(&self, authorization: &str) -> Self {
        let (repository, authorization) = (self.repository.clone(), authorization.to_owned());
        Self { farrier: self.farrier, repository, authorization }
    }

    async fn send(&self, method: Method, path: &str, body: String) -> Answer {
        let path = format!("/{}.git/info/lfs/{path}", self.repository);
        let headers = [("content-type", JSON), ("accept", JSON), ("authorization", self.authorization.as_str())];
        let headers = if self.authorization.is_empty() { &headers[..2] } else { &headers[..] };
        send(&self.farrier.tcp(), method, &path, headers, body).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body.to_string()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, String::new()).await
    }

    async fn batch(&self, operation: &str, objects: Value) -> Answer {
        self.post("objects/batch", json!({ "operation": operation, "objects": objects })).await
    }

    /// The entry of one object in the response to a batch request.
    async fn object(&self, operation: &str, oid: &str, size: usize) -> Value {
        let answer = self.batch(operation, json!([{ "oid": oid, "size": size }])).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["objects"][0].clone()
    }

    /// The path and query of the address for one object.
    async fn address(&self, operation: &str, oid: &str, size: usize) -> String {
        let object = self.object(operation, oid, size).await;
        path_of(&object["actions"][operation]["href"])
    }

    /// Sends `bytes` to a signed address.
    async fn put(&self, address: &str, bytes: &[u8]) -> Answer {
        let octets = [("content-type", "application/octet-stream")];
        send(&self.farrier.tcp(), Method::PUT, address, &octets, bytes.to_vec()).await
    }

    /// Uploads an object as git-lfs does, and returns its ID.
    async fn upload(&self, bytes: &[u8]) -> String {
        let oid = oid(bytes);
        let object = self.object("upload", &oid, bytes.len()).await;
        let answer = self.put(&path_of(&object["actions"]["upload"]["href"]), bytes).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = json!({ "oid": oid, "size": bytes.len() }).to_string();
        let verify = path_of(&object["actions"]["verify"]["href"]);
        let verified = send(&self.farrier.tcp(), Method::POST, &verify, &[("content-type", JSON)], body).await;
        assert_eq!(verified.status, 200, "{verified:?}");
        oid
    }

    /// Downloads an object of `size` bytes.
    async fn download(&self, oid: &str, size: usize) -> Answer {
        let address = self.address("download", oid, size).await;
        send(&self.farrier.tcp(), Method::GET, &address, &[], "").await
    }

    /// The error code of an object in a batch request; 0 without an error.
    async fn problem(&self, operation: &str, oid: &str, size: usize) -> u64 {
        let object = self.object(operation, oid, size).await;
        assert!(object["error"].is_null() || object["actions"].is_null(), "{object}");
        object["error"]["code"].as_u64().unwrap_or(0)
    }
}

/// The number of files with bytes of artifacts, files of releases and LFS objects.
fn stored(farrier: &TestDaemon) -> usize {
    let top = farrier.data_dir().join("artifacts");
    let (mut pending, mut found) = (vec![top.clone()], 0);
    while let Some(path) = pending.pop() {
        // A directory may be removed while it is read.
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                _ if path == top => {}
                _ => found += 1,
            }
        }
    }
    found
}
