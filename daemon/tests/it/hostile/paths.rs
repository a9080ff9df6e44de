//! Paths and names that try to mean something else.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use http::Method;
use serde_json::json;

use super::healthy;
use crate::support::{Answer, TestDaemon, send};

/// What stands where a route has a parameter.
const TRICKS: [&str; 18] = [
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

/// Every route with a parameter.
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

/// Everything below `dir`.
fn tree(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        found.insert(entry.path());
        found.extend(tree(&entry.path()));
    }
    found
}

#[tokio::test]
async fn no_path_reaches_what_it_should_not() {
    let farrier = TestDaemon::start().await;
    farrier.repository("tool").await;
    let job = farrier.begin("tool", None).await;
    farrier.upload(&job, "there", b"bytes").await;
    let home = farrier.scratch().parent().expect("a directory").to_owned();
    let before = tree(&home);
    for route in ROUTES {
        for trick in TRICKS {
            let path = route.replace("{}", trick);
            for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
                let headers = [("content-type", "application/json")];
                let answer = send(&farrier.unix(), method.clone(), &path, &headers, "{}").await;
                // The list of a run that is not there is an empty one.
                if answer.status == 200 && answer.json()["total_count"] == 0 {
                    continue;
                }
                assert!((400..500).contains(&answer.status), "{method} {path}: {answer:?}");
                assert!(!answer.headers.contains_key("set-cookie"), "{method} {path}: {answer:?}");
                in_its_own_form(&path, &answer);
            }
        }
    }
    assert_eq!(tree(&home), before, "nothing was made and nothing is gone");
    healthy(&farrier).await;
}

/// The error is one that clients of the protocol can read.
fn in_its_own_form(path: &str, answer: &Answer) {
    if path.starts_with("/_blob/") && answer.status != 405 && answer.status != 404 {
        assert!(answer.text().contains("<Error><Code>") && !answer.header("x-ms-error-code").is_empty(), "{answer:?}");
        return;
    }
    let json = answer.json();
    let text = if path.starts_with("/twirp/") { &json["msg"] } else { &json["message"] };
    assert!(text.is_string(), "{path}: {answer:?}");
}

#[tokio::test]
async fn no_name_reaches_the_file_system() {
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
    let made = tree(&home);
    let artifacts = farrier.data_dir().join("artifacts");
    for path in made.difference(&before) {
        let below = path.strip_prefix(&artifacts).expect("nothing is made elsewhere");
        let plain = below.iter().all(|part| part.to_str().is_some_and(|part| part.parse::<u64>().is_ok()));
        assert!(plain, "only numbers name files: {}", path.display());
    }
}
