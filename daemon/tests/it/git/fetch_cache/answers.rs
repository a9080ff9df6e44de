//! Stored answers are right, and shared exactly by equal requests.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::{Counts, clone_of, fetch, filled, line, objects, pack, post, scratch};
use crate::support::TestDaemon;

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_and_without_the_cache_have_the_same_objects() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 50_000).await;
    let (tip, old) = (work.done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD~3"]));
    let (want, have) = (format!("want {tip}"), format!("have {old}"));
    let scratch = scratch(&farrier);
    for arguments in [
        &["ofs-delta", want.as_str(), "done"][..],
        &[&want, "done"],
        &["ofs-delta", &want, "deepen 1", "done"],
        &["ofs-delta", "include-tag", &want, "deepen 3", "done"],
        &["ofs-delta", &want, "filter blob:none", "done"],
        &["ofs-delta", &want, "deepen 2", "filter tree:0", "done"],
        &["ofs-delta", &want, "deepen-not refs/tags/v1", "done"],
        &["ofs-delta", &want, &have, "done"],
        &["ofs-delta", &want, &have],
    ] {
        let body = fetch(arguments);
        let before = Counts::of(&farrier).await;
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(post(&farrier, &[], body.clone()).await);
        }
        let after = Counts::of(&farrier).await;
        // A client with commits gets an answer that is stored from the first request on.
        let runs = if arguments.contains(&have.as_str()) { 1 } else { 2 };
        assert_eq!((after.processes - before.processes, after.misses - before.misses), (runs, runs), "{arguments:?}");
        assert_eq!(after.hits - before.hits, 4 - runs, "{arguments:?}");
        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
        let direct = objects(&scratch, &pack(&answers[0].body));
        for answer in &answers[1..] {
            assert_eq!(objects(&scratch, &pack(&answer.body)), direct, "{arguments:?}");
        }
        assert!(!direct.is_empty());
        for hit in &answers[2..] {
            assert_eq!(hit.header("content-length"), hit.body.len().to_string(), "complete answers have a length");
            assert_eq!(hit.header("content-type"), "application/x-git-upload-pack-result");
            assert_eq!(hit.header("expires"), "Fri, 01 Jan 1980 00:00:00 GMT");
            assert_eq!(hit.body, answers[1].body, "both have the stored bytes");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_differ_in_form_only_share_an_answer() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 10_000).await;
    let (tip, tag) = (work.done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "v1"]));
    let (want, other) = (format!("want {tip}"), format!("want {tag}"));
    let forms = [
        fetch(&["thin-pack", "ofs-delta", &want, &other, "done"]),
        fetch(&["ofs-delta", "thin-pack", "no-progress", &other, &want, &other, "done"]),
        fetch(&["thin-pack", "ofs-delta", &want, &other, "done"])
            .replace(&line("object-format=sha1"), &line("agent=x/1")),
    ];
    let before = Counts::of(&farrier).await;
    for form in &forms {
        assert_eq!(post(&farrier, &[], form.clone()).await.status, 200, "{form}");
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(forms[0].as_bytes()).expect("memory");
    let packed = encoder.finish().expect("memory");
    let answer = post(&farrier, &[("content-encoding", "gzip")], packed.clone()).await;
    assert!(answer.body.windows(4).any(|window| window == b"PACK"));
    let after = Counts::of(&farrier).await;
    assert_eq!((after.processes - before.processes, after.hits - before.hits), (2, 2));
    let broken = post(&farrier, &[("content-encoding", "gzip")], packed[..packed.len() - 3].to_vec()).await;
    assert_eq!(broken.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_and_hostile_requests_are_answered_by_git_each_time() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 1_000).await;
    let want = format!("want {}", work.done(&["rev-parse", "HEAD"]));
    let haves: Vec<String> = (0..65).map(|number| format!("have {number:040x}")).collect();
    let many: Vec<&str> = [want.as_str()].into_iter().chain(haves.iter().map(String::as_str)).collect();
    let long: Vec<String> = (0..40_000).map(|number| format!("have {number:040x}")).collect();
    let too_long: Vec<&str> = [want.as_str()].into_iter().chain(long.iter().map(String::as_str)).collect();
    let server_option = fetch(&[&want, "done"]).replace(&line("object-format=sha1"), &line("server-option=x"));
    let bodies = [
        fetch(&[&want, "wait-for-done"]),
        fetch(&[&want, "unknown", "done"]),
        fetch(&[&want, "deepen 1", "deepen 2", "done"]),
        fetch(&[&want, "filter blob:none", "filter tree:0", "done"]),
        fetch(&["done"]),
        fetch(&["want x", "done"]),
        fetch(&many),
        fetch(&too_long),
        server_option,
        clone_of(&work.done(&["rev-parse", "HEAD"])).replace("0000", ""),
        "0011command=fetch".into(),
        "00".into(),
        "zzzz".into(),
        String::new(),
    ];
    let before = Counts::of(&farrier).await;
    for body in bodies {
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(post(&farrier, &[], body.clone()).await.status);
        }
        assert!(statuses.iter().all(|status| *status == statuses[0] && *status != 503), "{statuses:?}");
    }
    let after = Counts::of(&farrier).await;
    assert_eq!((after.hits, after.joins, after.bytes), (0, 0, 0), "{after:?}");
    assert_eq!(after.misses, before.misses, "none could have had a stored answer");
    assert_eq!(post(&farrier, &[], clone_of(&want[5..])).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_git_is_not_kept() {
    let farrier = TestDaemon::start().await;
    filled(&farrier, 1_000).await;
    let missing = clone_of(&"a".repeat(40));
    for _ in 0..4 {
        let answer = post(&farrier, &[], missing.clone()).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("not our ref"), "{answer:?}");
    }
    let counts = Counts::of(&farrier).await;
    assert_eq!((counts.hits, counts.joins, counts.bytes), (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn git_clients_share_answers_whether_they_show_progress_or_not() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 200_000).await;
    let tip = work.done(&["rev-parse", "HEAD"]);
    let url = format!("{}/admin/demo", farrier.url);
    let clones = crate::support::git::Client::at(farrier.scratch().join("clones"));
    for (way, args) in [
        &["clone"][..],
        &["clone", "--depth", "1"],
        &["clone", "--filter=blob:none", "--no-checkout"],
        &["-c", "protocol.version=0", "clone"],
        &["-c", "protocol.version=0", "clone", "--bare"],
        &["clone", "--single-branch"],
    ]
    .iter()
    .enumerate()
    {
        let before = Counts::of(&farrier).await;
        for (number, progress) in ["--progress", "-q", "--progress", "-q", "-q"].iter().enumerate() {
            let name = format!("{way}-{number}");
            clones.done(&[args, &[progress, url.as_str(), name.as_str()][..]].concat());
            let copy = clones.below(&name);
            assert_eq!(copy.done(&["rev-parse", "HEAD"]), tip, "{args:?}");
            copy.done(&["fsck", "--connectivity-only"]);
        }
        let after = Counts::of(&farrier).await;
        assert!(after.hits - before.hits >= 3, "{args:?}: {before:?} {after:?}");
    }
    // Incremental fetches of equal workspaces.
    let copies = ["0-0", "0-1", "0-2", "0-3"].map(|name| clones.below(name));
    let next = work.commit("b", "next");
    work.done(&["push", "-q", "origin", "main"]);
    let before = Counts::of(&farrier).await;
    for copy in &copies {
        copy.done(&["fetch", "-q"]);
        assert_eq!(copy.done(&["rev-parse", "origin/main"]), next);
        copy.done(&["fsck"]);
    }
    assert!(Counts::of(&farrier).await.hits > before.hits);
}
