//! Sources that are gone, empty, slow, damaged, or that send the daemon elsewhere. The mirror keeps its refs.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use super::{COPY, mirror, ref_events, refs, synced};
use crate::support::{Source, eventually, git::Client};

const WORKING: usize = 0;
const GONE: usize = 1;
const EMPTY: usize = 2;
const REDIRECTS: usize = 3;
const HANGS: usize = 4;
const DAMAGED: usize = 5;
const REFLECTS: usize = 6;

/// A static server of the repository in `directory` whose behavior can be changed. `elsewhere`: the target of
/// redirects.
async fn source(directory: &Path, elsewhere: String) -> (Source, Arc<AtomicUsize>) {
    let behavior = Arc::new(AtomicUsize::new(WORKING));
    let (current, directory) = (behavior.clone(), directory.to_owned());
    let answer = |head: &str, body: Vec<u8>| {
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        Some([head.into_bytes(), body].concat())
    };
    let source = Source::answering(move |path| {
        let file = || std::fs::read(directory.join(path.trim_start_matches('/')));
        match current.load(Ordering::SeqCst) {
            GONE => answer("404 Not Found", Vec::new()),
            EMPTY if path.ends_with("info/refs") => answer("200 OK", Vec::new()),
            REDIRECTS => answer(&format!("302 Found\r\nLocation: {elsewhere}{path}"), Vec::new()),
            HANGS => None,
            DAMAGED if path.contains("/objects/") => answer("200 OK", b"damaged".to_vec()),
            REFLECTS => answer("500 s3cret dTpzM2NyZXQ=", b"s3cret dTpzM2NyZXQ=".to_vec()),
            _ => match file() {
                Ok(body) => answer("200 OK", body),
                Err(_) => answer("404 Not Found", Vec::new()),
            },
        }
    });
    (source.await, behavior)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_in_any_way_is_reported_and_deletes_nothing() {
    let mut farrier = super::daemon().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "one");
    work.done(&["tag", "v1"]);
    let bare = farrier.scratch().join("bare.git");
    work.done(&["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    let served = Client::at(&bare);
    served.done(&["update-server-info"]);
    let elsewhere = Source::answering(|_| None).await;
    let (source, behavior) = source(&bare, elsewhere.url("").trim_end_matches('/').to_owned()).await;
    let credentials = json!({ "auth_username": "u", "auth_password": "s3cret" });
    let copy = mirror(&farrier, &source.url(""), credentials).await;
    let id = &copy["id"];
    let before = refs(&farrier, id);
    assert!(before.contains("refs/heads/main") && before.contains("refs/tags/v1"), "{before}");

    let two = work.commit("b", "two");
    work.done(&["push", "-q", &bare.display().to_string(), "main", ":v1"]);
    served.done(&["update-server-info"]);
    // A source that hangs costs the whole time limit, so it has a short one. The others finish in their time.
    let mut limit = Duration::from_secs(2);
    for (failure, part) in [
        (GONE, "not found"),
        (EMPTY, "no branches and tags"),
        (REDIRECTS, ""),
        (DAMAGED, ""),
        (REFLECTS, ""),
        (HANGS, "took too long"),
    ] {
        if failure == HANGS {
            farrier.configure(|config| std::mem::swap(&mut config.migration.timeout, &mut limit));
            farrier.restart().await;
        }
        behavior.store(failure, Ordering::SeqCst);
        let state = synced(&farrier).await;
        let error = state["last_error"].as_str().expect("text");
        assert!(state["state"] == "failing" && !error.is_empty() && error.contains(part), "{failure}: {state}");
        assert!(!error.contains("s3cret") && !error.contains("dTpzM2NyZXQ="), "{state}");
        assert_eq!(refs(&farrier, id), before, "{failure}");
    }
    assert_eq!(elsewhere.requests.load(Ordering::SeqCst), 0, "redirects are not followed");
    assert!(ref_events(&farrier, id).await.is_empty());
    // Strangers see that it fails, but not why.
    let shown = crate::support::send(&farrier.tcp(), Method::GET, COPY, &[], "").await.json();
    assert_eq!(
        (&shown["farrier_mirror"]["state"], &shown["farrier_mirror"]["last_error"]),
        (&json!("failing"), &json!(""))
    );

    // The error and the refs survive a restart, and the source can recover.
    farrier.configure(|config| config.migration.timeout = limit);
    farrier.restart().await;
    assert_eq!(farrier.show(COPY).await.json()["farrier_mirror"]["state"], "failing");
    behavior.store(WORKING, Ordering::SeqCst);
    assert_eq!(synced(&farrier).await["last_error"], "");
    assert_eq!(refs(&farrier, id), format!("refs/heads/main {two}\n"));
    farrier.git(id, &["fsck", "--strict"]);
    let leftovers = std::fs::read_dir(farrier.data_dir().join("incoming")).expect("a directory").count();
    assert_eq!(leftovers, 0, "no workspace is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_policy_is_checked_at_each_sync() {
    let mut farrier = super::daemon().await;
    let bare = farrier.scratch().join("bare.git");
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "one");
    work.done(&["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    Client::at(&bare).done(&["update-server-info"]);
    let (source, _) = source(&bare, String::new()).await;
    mirror(&farrier, &source.url(""), json!({})).await;
    let before = source.requests.load(Ordering::SeqCst);
    farrier.configure(|config| config.migration.allowed_hosts = "external".into());
    farrier.restart().await;
    let state = synced(&farrier).await;
    assert!(state["last_error"].as_str().expect("text").contains("the host is not allowed"), "{state}");
    assert_eq!(source.requests.load(Ordering::SeqCst), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_daemon_and_a_conversion_end_a_sync_that_hangs() {
    let mut farrier = super::daemon().await;
    let bare = farrier.scratch().join("bare.git");
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "one");
    work.done(&["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    Client::at(&bare).done(&["update-server-info"]);
    let (source, behavior) = source(&bare, String::new()).await;
    let copy = mirror(&farrier, &source.url(""), json!({})).await;
    let before = refs(&farrier, &copy["id"]);
    behavior.store(HANGS, Ordering::SeqCst);
    let requests = source.requests.load(Ordering::SeqCst);
    assert_eq!(farrier.admin(Method::POST, &format!("{COPY}/mirror-sync"), Value::Null).await.status, 200);
    eventually("the sync has begun", || async { source.requests.load(Ordering::SeqCst) > requests }).await;
    let requests = source.requests.load(Ordering::SeqCst);
    farrier.restart().await;
    eventually("the interrupted sync is repeated", || async { source.requests.load(Ordering::SeqCst) > requests })
        .await;
    let converted = farrier.admin(Method::POST, &format!("{COPY}/convert"), Value::Null).await;
    assert_eq!((converted.status, &converted.json()["mirror"]), (200, &json!(false)), "{converted:?}");
    eventually("the cancelled sync has ended", || async {
        let metrics = farrier.admin(Method::GET, "/metrics", Value::Null).await.text();
        metrics.lines().any(|line| line == "farrier_work_running{kind=\"mirror\"} 0")
    })
    .await;
    assert_eq!(refs(&farrier, &copy["id"]), before);
}
