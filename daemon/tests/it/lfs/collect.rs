//! Objects that no file names any more are removed, and no others.

use std::time::Duration;

use farrierd::clock::Clock;

use super::{Lfs, oid, stored};
use crate::support::{TestDaemon, eventually, git::Client};

const DAY_MS: i64 = 86_400_000;
const START_MS: i64 = 1_767_323_045_000;

/// The text of a pointer file.
fn pointer(bytes: &[u8]) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n", oid(bytes), bytes.len())
}

/// A daemon that keeps unreferenced objects for `days`, the routes of `admin/demo`, and a working copy.
async fn demo(clock: &Clock, days: u64) -> (TestDaemon, String, Client) {
    let farrier = TestDaemon::with_clock(clock.clone(), |config| {
        config.lfs.keep_unreferenced = Duration::from_secs(days * 86_400);
        // Unreachable commits stay.
        config.git.prune_after_days = 0;
    })
    .await;
    let authorization = Lfs::new(&farrier, "demo").await.authorization;
    let work = Client::init(farrier.scratch().join("work"));
    let remote = farrier.remote("admin/demo", &farrier.token("admin", &["all"]).await);
    work.done(&["remote", "add", "origin", &remote]);
    (farrier, authorization, work)
}

fn routes<'a>(farrier: &'a TestDaemon, authorization: &str) -> Lfs<'a> {
    Lfs { farrier, repository: "admin/demo".into(), authorization: authorization.to_owned() }
}

/// Lets `days` pass, one by one, with time for the search of each day.
async fn pass(clock: &Clock, days: u64) {
    for _ in 0..days {
        clock.advance_ms(DAY_MS);
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_removed_some_time_after_the_last_file_that_named_it() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 3).await;
    let lfs = routes(&farrier, &authorization);
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history", b"on a deleted branch", b"never named"] {
        lfs.upload(bytes).await;
    }
    work.commit("old.bin", pointer(b"in the history"));
    work.commit("old.bin", pointer(b"on a branch"));
    work.done(&["push", "-q", "origin", "main"]);
    work.done(&["checkout", "-q", "--orphan", "tagged"]);
    work.commit("tagged.bin", pointer(b"on a tag").replace('\n', "\r\n"));
    work.done(&["tag", "-a", "-m", "t", "t"]);
    work.done(&["push", "-q", "origin", "t"]);
    work.done(&["checkout", "-q", "-b", "side", "main"]);
    work.commit("side.bin", pointer(b"on a deleted branch"));
    work.done(&["push", "-q", "origin", "side"]);

    let problem = async |bytes: &[u8]| lfs.problem("download", &oid(bytes), bytes.len()).await;
    eventually("the object without a file is removed", async || {
        pass(&clock, 1).await;
        problem(b"never named").await == 404
    })
    .await;
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history", b"on a deleted branch"] {
        assert_eq!(problem(bytes).await, 0, "{}", bytes.escape_ascii());
    }
    work.done(&["push", "-q", "origin", ":side"]);
    pass(&clock, 1).await;
    assert_eq!(problem(b"on a deleted branch").await, 0, "kept for three days");
    eventually("the object of the deleted branch is removed", async || {
        pass(&clock, 1).await;
        problem(b"on a deleted branch").await == 404
    })
    .await;
    eventually("their bytes are removed", async || {
        pass(&clock, 1).await;
        stored(&farrier) == 3
    })
    .await;
    for bytes in [&b"on a branch"[..], b"on a tag", b"in the history"] {
        assert_eq!(lfs.download(&oid(bytes), bytes.len()).await.body, bytes);
    }
    drop(lfs);
    let mut farrier = farrier;
    farrier.stop().await;
    let checked = farrier.check_data(&["--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_a_client_was_told_not_to_upload_is_kept_until_its_push() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 3).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"late").await;
    work.commit("a", "a");
    work.done(&["push", "-q", "origin", "main"]);
    for _ in 0..4 {
        pass(&clock, 2).await;
        let object = lfs.object("upload", &id, 4).await;
        assert!(object["actions"].is_null() && object["error"].is_null(), "the repository has it: {object}");
    }
    work.commit("late.bin", pointer(b"late"));
    work.done(&["push", "-q", "origin", "main"]);
    pass(&clock, 6).await;
    assert_eq!(lfs.download(&id, 4).await.text(), "late");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_removed_if_the_refs_on_disk_differ() {
    let clock = Clock::manual(START_MS);
    let (farrier, authorization, work) = demo(&clock, 2).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"kept").await;
    work.commit("kept.bin", pointer(b"kept"));
    work.done(&["push", "-q", "origin", "main"]);
    // Repositories are searched in the order of their IDs, so this object goes after a search of the first one.
    let other = Lfs::new(&farrier, "other").await;
    let unused = other.upload(b"unused").await;
    // A ref that was lost on disk, and is still recorded.
    let bare = Client::at(farrier.data_dir().join("repositories/1.git"));
    let tip = work.done(&["rev-parse", "HEAD"]);
    bare.done(&["update-ref", "-d", "refs/heads/main"]);
    eventually("the object of the other repository is removed", async || {
        pass(&clock, 1).await;
        other.problem("download", &unused, 6).await == 404
    })
    .await;
    bare.done(&["update-ref", "refs/heads/main", &tip]);
    assert_eq!(lfs.download(&id, 4).await.text(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_removed_if_removal_is_off() {
    let (farrier, authorization, _) = demo(&Clock::manual(START_MS), 0).await;
    let lfs = routes(&farrier, &authorization);
    let id = lfs.upload(b"kept").await;
    pass(&farrier.clock.clone(), 8).await;
    assert_eq!(lfs.download(&id, 4).await.text(), "kept");
}
