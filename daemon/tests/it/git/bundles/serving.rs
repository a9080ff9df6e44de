//! Which repositories get bundles, and how clients download them.

use std::fs;

use farrierd::clock::Clock;
use http::Method;

use super::{daemon, filled, prepared, stored};
use crate::{
    git::fetch_cache::Counts,
    support::{TestDaemon, eventually, git::Client, send},
};

const NOW: i64 = 1_764_000_000_000;
const DAY_MS: i64 = 86_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_was_cloned_twice_gets_a_bundle_of_its_branches_and_tags() {
    let (farrier, work) = daemon().await;
    work.done(&["push", "-q", "origin", "HEAD:refs/notes/x", "HEAD~1:refs/heads/side"]);
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    clones.done(&["clone", "-q", &url, "one"]);
    clones.done(&["clone", "-q", "--depth", "1", &url, "shallow"]);
    clones.done(&["clone", "-q", "--filter=blob:none", "--bare", &url, "partial"]);
    work.done(&["fetch", "-q", "origin"]);
    assert!(farrier.offers_bundles("").await && farrier.bundles("").await.is_empty(), "one full clone");
    clones.done(&["clone", "-q", &url, "two"]);
    eventually("a bundle is listed", async || !farrier.bundles("").await.is_empty()).await;

    let address = farrier.bundles("").await.remove(0);
    let file = stored(&farrier, "base.bundle", &farrier.bundle_at("", &address).await);
    work.done(&["bundle", "verify", "-q", &file]);
    let heads = work.done(&["bundle", "list-heads", &file]);
    let mut names: Vec<&str> = heads.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    names.sort_unstable();
    assert_eq!(names, ["refs/heads/main", "refs/heads/side", "refs/tags/v1"]);
    assert_eq!(farrier.bundle_files().len(), 1);
    // The git of the tests reads the file, and asks for the rest.
    work.commit("later", "x");
    work.done(&["push", "-q", "origin", "main"]);
    let from = format!("--bundle-uri={}{address}", farrier.url);
    clones.done(&["clone", "-q", &from, &url, "bundled"]);
    let bundled = clones.below("bundled");
    assert_eq!(bundled.done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD"]));
    assert_eq!(bundled.done(&["rev-parse", "refs/bundles/main"]), work.done(&["rev-parse", "HEAD~1"]));
    bundled.done(&["fsck"]);
}

/// Whether git asks the server for its bundles if the user has opted in.
fn asks_for_bundles(client: &Client) -> bool {
    let version = client.done(&["--version"]);
    let mut numbers = version.split([' ', '.']).filter_map(|word| word.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(40))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gets_a_current_bundle_sends_no_fetch_and_other_clients_clone_as_usual() {
    let (farrier, work) = daemon().await;
    // At the newest commit: git regards a tag at a commit with an earlier date as unknown, and requests it.
    work.done(&["tag", "-f", "v1"]);
    work.done(&["push", "-q", "--force", "origin", "v1"]);
    let address = prepared(&farrier, "").await;
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    let fetches = async || {
        let counts = Counts::of(&farrier).await;
        counts.hits + counts.joins + counts.misses
    };
    let before = fetches().await;
    clones.done(&["clone", "-q", &format!("--bundle-uri={}{address}", farrier.url), &url, "named"]);
    assert_eq!(fetches().await, before, "everything is in the bundle");
    clones.done(&["-c", "transfer.bundleURI=true", "clone", "-q", &url, "opted-in"]);
    assert_eq!(fetches().await - before, u64::from(!asks_for_bundles(&clones)));
    for name in ["named", "opted-in"] {
        let copy = clones.below(name);
        assert_eq!(copy.done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD"]));
        assert_eq!(copy.done(&["rev-parse", "v1"]), work.done(&["rev-parse", "v1"]));
        copy.done(&["fsck"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clones_of_clients_that_ask_for_no_bundles_prepare_none() {
    let (farrier, _) = daemon().await;
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    for name in ["one", "two", "three"] {
        clones.done(&["clone", "-q", &url, name]);
    }
    assert!(farrier.bundle_files().is_empty(), "no client would download it");
    assert!(farrier.bundles("").await.is_empty());
    clones.done(&["clone", "-q", &url, "four"]);
    eventually("a bundle is listed", async || !farrier.bundles("").await.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_repositories_get_no_bundles_and_0_turns_them_off() {
    for bytes in [1 << 30, 0] {
        let farrier = TestDaemon::with(|config| config.git.bundle_min_bytes = bytes).await;
        filled(&farrier, 1_000).await;
        let clones = Client::at(farrier.scratch().join("clones"));
        for name in ["one", "two", "three"] {
            clones.done(&["clone", "-q", &format!("{}/admin/demo", farrier.url), name]);
        }
        assert!(!farrier.offers_bundles("").await && farrier.bundles("").await.is_empty());
        assert!(farrier.bundle_files().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_served_whole_in_parts_and_not_again() {
    let (farrier, _) = daemon().await;
    let address = prepared(&farrier, "").await;
    let whole = farrier.bundle_at("", &address).await;
    assert!(whole.body.starts_with(b"# v2 git bundle\n"), "{whole:?}");
    let (size, etag) = (whole.body.len(), whole.header("etag").to_owned());
    assert_eq!(whole.header("content-length"), size.to_string());
    assert!(etag.starts_with('"') && etag.len() > 30, "{etag}");
    let get = async |method: Method, name: &'static str, value: String| {
        send(&farrier.tcp(), method, &address, &[(name, value.as_str())], "").await
    };
    let head = get(Method::HEAD, "accept", "*/*".into()).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (200, size.to_string().as_str(), 0));
    let part = get(Method::GET, "range", "bytes=100-199".into()).await;
    assert_eq!((part.status, &part.body[..]), (206, &whole.body[100..200]));
    assert_eq!(part.header("content-range"), format!("bytes 100-199/{size}"));
    let end = get(Method::GET, "range", "bytes=-7".into()).await;
    assert_eq!((end.status, &end.body[..]), (206, &whole.body[size - 7..]));
    let beyond = get(Method::GET, "range", format!("bytes={size}-")).await;
    assert_eq!((beyond.status, beyond.header("content-range")), (416, format!("bytes */{size}").as_str()));
    assert_eq!(get(Method::GET, "if-none-match", etag).await.status, 304);
    for other in ["x", "x.bundle", ".bundle", "..%2f..%2fHEAD.bundle", "%00.bundle"] {
        let answer = farrier.bundle_at("", &format!("/admin/demo.git/bundles/{other}")).await;
        assert!(matches!(answer.status, 400 | 404), "{other}: {answer:?}");
    }
    let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
    assert!(metrics.contains("\nfarrier_bundled_repositories 1\n"), "{metrics}");
    let served = format!("\nfarrier_bundle_served_bytes_total {}\n", size + 107);
    assert!(metrics.contains(&served), "{served} {metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_day_adds_an_increment_and_the_eighth_replaces_all_by_a_new_base() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.git.bundle_min_bytes = 1).await;
    let work = filled(&farrier, 50_000).await;
    let first = prepared(&farrier, "").await;
    for number in 1..=7 {
        let tip = work.commit("a", format!("day {number}"));
        work.done(&["push", "-q", "origin", "main"]);
        farrier.clock.advance_ms(DAY_MS);
        eventually("the next increment is listed", async || farrier.bundles("").await.len() > number).await;
        let listed = farrier.bundles("").await;
        assert_eq!((listed.len(), &listed[0]), (number + 1, &first));
        let file = stored(&farrier, "daily.bundle", &farrier.bundle_at("", &listed[number]).await);
        assert_eq!(work.done(&["bundle", "list-heads", &file]), format!("{tip} refs/heads/main"));
        assert!(fs::metadata(&file).expect("a file").len() < 10_000, "only what is new");
        // Clones keep the bundles in use.
        assert_eq!(farrier.bundle_files().len(), number + 1);
    }
    let tip = work.commit("a", "day 8");
    work.done(&["push", "-q", "origin", "main"]);
    farrier.clock.advance_ms(DAY_MS);
    eventually("a new base is listed", async || farrier.bundles("").await.len() == 1).await;
    let base = farrier.bundles("").await.remove(0);
    assert_ne!(base, first);
    let file = stored(&farrier, "base.bundle", &farrier.bundle_at("", &base).await);
    let copies = Client::at(farrier.scratch().join("copies"));
    copies.done(&["clone", "-q", "-b", "main", &file, "copy"]);
    assert_eq!(copies.below("copy").done(&["rev-parse", "HEAD"]), tip);
    eventually("the earlier files are removed", async || farrier.bundle_files().len() == 1).await;
    // Bundles that no client uses for a week are dropped.
    farrier.clock.advance_ms(8 * DAY_MS);
    eventually("unused bundles are dropped", async || farrier.bundle_files().is_empty()).await;
    assert!(farrier.bundles("").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_free_disk_space_clones_work_and_no_bundle_stays() {
    let farrier = TestDaemon::with(|config| {
        config.git.bundle_min_bytes = 1;
        config.artifacts.reserve_bytes = u64::MAX;
    })
    .await;
    let work = filled(&farrier, 50_000).await;
    let clones = Client::at(farrier.scratch().join("clones"));
    for name in ["one", "two"] {
        assert!(farrier.bundles("").await.is_empty());
        clones.done(&["clone", "-q", &format!("{}/admin/demo", farrier.url), name]);
        assert_eq!(clones.below(name).done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD"]));
    }
    let directory = farrier.data_dir().join("bundles/1");
    eventually("the attempt has ended", async || directory.exists() && farrier.bundle_files().is_empty()).await;
    assert!(farrier.bundles("").await.is_empty());
}
