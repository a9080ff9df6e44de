//! Hostile paths and names.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use http::Method;
use serde_json::json;

use super::assert_healthy;
use crate::support::{Answer, TestDaemon, send};

/// Values that are put in the place of a route's parameters.
const HOSTILE_VALUES: [&str; 18] = [
    "%2e%2e",
    "..",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%2f..%2fx",
    "%00",
    "a%00b",
    "%2f",
    "%5c..%5c",
    "%ff%fe",
    "%c0%ae%c0%ae",
    "%",
    "%zz",
    "%252e%252e",
    "-1",
    "0",
    "99999999999999999999999",
    "%F0%9F%94%A5",
    "%0d%0aset-cookie:%20a=b",
];

/// Routes with parameters.
const ROUTES: [&str; 19] = [
    "/_blob/{}/{}/{}?op=w&exp=99999999999&sig=00&comp=block&blockid={}",
    "/api/v1/repos/{}/{}",
    "/api/v1/users/{}/tokens",
    "/api/v1/admin/users/{}/repos",
    "/api/v1/repos/{}/{}/actions/artifacts",
    "/api/v1/repos/admin/tool/actions/artifacts/{}",
    "/api/v1/repos/admin/tool/actions/artifacts/{}/zip",
    "/api/v1/repos/admin/tool/actions/runs/{}",
    "/api/v1/repos/admin/tool/actions/runs/{}/artifacts",
    "/api/v1/repos/admin/tool/actions/runs/{}/jobs",
    "/api/v1/repos/admin/tool/actions/runs/{}/attempts/{}",
    "/api/v1/repos/admin/tool/actions/runs/{}/attempts/{}/jobs",
    "/api/v1/repos/admin/tool/actions/jobs/{}",
    "/api/farrier/v1/jobs/{}/end",
    "/api/farrier/v1/jobs/{}/renew",
    "/api/farrier/v1/runs/{}",
    "/api/farrier/v1/runs/{}/cancel",
    "/twirp/{}/{}",
    "/twirp/github.actions.results.api.v1.ArtifactService/{}",
];

/// All paths below `dir`.
fn tree(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        found.insert(entry.path());
        found.extend(tree(&entry.path()));
    }
    found
}

#[tokio::test]
async fn hostile_paths_change_nothing() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    farrier.upload(&job, "there", b"bytes").await;
    let home = farrier.scratch().parent().expect("a directory").to_owned();
    let before = tree(&home);
    for route in ROUTES {
        for value in HOSTILE_VALUES {
            let path = route.replace("{}", value);
            for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
                let headers = [("content-type", "application/json")];
                let answer = send(&farrier.unix(), method.clone(), &path, &headers, "{}").await;
                // The list of a run that does not exist is empty.
                if answer.status == 200 && answer.json()["total_count"] == 0 {
                    continue;
                }
                assert!((400..500).contains(&answer.status), "{method} {path}: {answer:?}");
                assert!(!answer.headers.contains_key("set-cookie"), "{method} {path}: {answer:?}");
                assert_error_format(&path, &answer);
            }
        }
    }
    assert_eq!(tree(&home), before, "no file was created or removed");
    assert_healthy(&farrier).await;
}

/// Checks that the error has the format of its protocol.
fn assert_error_format(path: &str, answer: &Answer) {
    if path.starts_with("/_blob/") && answer.status != 405 && answer.status != 404 {
        assert!(answer.text().contains("<Error><Code>") && !answer.header("x-ms-error-code").is_empty(), "{answer:?}");
        return;
    }
    let json = answer.json();
    let text = if path.starts_with("/twirp/") { &json["msg"] } else { &json["message"] };
    assert!(text.is_string(), "{path}: {answer:?}");
}

#[tokio::test]
async fn names_are_never_used_as_paths() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    let home = farrier.scratch().parent().expect("a directory").to_owned();
    let before = tree(&home);
    for name in ["", ".", "..", "../../x", "/etc/x", "a\\b", "a\0b", "a\nb", "C:x", "\u{7f}", &"x".repeat(5_000)] {
        let created = farrier.call(&job, "CreateArtifact", json!({ "name": name })).await;
        assert_eq!((created.status, created.json()["code"].as_str()), (400, Some("invalid_argument")), "{name:?}");
    }
    assert_eq!(tree(&home), before);

    farrier.upload(&job, "..%2f..%2fetc", b"bytes").await;
    let address = farrier.create(&job, "CON").await;
    for id in ["/../x", "..%2f..%2fx", "%2fetc%2fx", "%25"] {
        let path = format!("{address}&comp=block&blockid={id}");
        assert_eq!(send(&farrier.tcp(), Method::PUT, &path, &[], "x").await.status, 201, "{id}");
    }
    for id in ["%00", "a%0ab", "%7f", &"x".repeat(300)] {
        let path = format!("{address}&comp=block&blockid={id}");
        assert_eq!(send(&farrier.tcp(), Method::PUT, &path, &[], "x").await.status, 400, "{id}");
    }
    let response = tree(&home);
    let artifacts = farrier.data_dir().join("artifacts");
    for path in response.difference(&before) {
        let below = path.strip_prefix(&artifacts).expect("files are created below artifacts only");
        let plain = below.iter().all(|part| part.to_str().is_some_and(|part| part.parse::<u64>().is_ok()));
        assert!(plain, "all files and directories have numbers as names: {}", path.display());
    }
}
