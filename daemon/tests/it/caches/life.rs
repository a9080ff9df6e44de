//! The life of an entry: reservations, limits, eviction and deletion.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{assert_error, call, content, finalize, put_blob, reserve, reserved, save};
use crate::{
    artifacts::bytes_on_disk,
    support::{PartialRequest, TestDaemon, eventually, send},
};

const NOW: i64 = 1_767_323_045_000;
const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn two_savers_get_one_reservation_until_the_first_one_ends_or_stalls() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let first = farrier.begin_on("r", "main").await;
    let second = farrier.begin_on("r", "main").await;
    let address = reserved(&farrier, &first, "k").await;
    assert_error(&reserve(&farrier, &second, "k").await, 409, "already_exists");
    farrier.clock.jump_ms(4 * MINUTE_MS);
    assert_eq!(put_blob(&farrier, &address, "first").await.status, 201);
    farrier.clock.jump_ms(4 * MINUTE_MS);
    assert_error(&reserve(&farrier, &second, "k").await, 409, "already_exists");
    // No progress for five minutes.
    farrier.clock.jump_ms(MINUTE_MS);
    let replacing = reserved(&farrier, &second, "k").await;
    assert_eq!(put_blob(&farrier, &address, "first").await.status, 404);
    assert_error(&finalize(&farrier, &first, "k", 5).await, 409, "already_exists");
    assert_eq!(put_blob(&farrier, &replacing, "second").await.status, 201);
    // The job of the second reservation has ended.
    farrier.end(&second).await;
    save(&farrier, &first, "k", "third").await;
    assert_eq!(content(&farrier, &first, "k").await.as_deref(), Some("third"));
}

#[tokio::test]
async fn a_job_that_asks_again_replaces_its_own_reservation() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let address = reserved(&farrier, &job, "k").await;
    let again = reserved(&farrier, &job, "k").await;
    assert_eq!(put_blob(&farrier, &address, "first").await.status, 404);
    assert_eq!(put_blob(&farrier, &again, "second").await.status, 201);
    assert_eq!(finalize(&farrier, &job, "k", 6).await.json()["ok"], true);
    assert_eq!(content(&farrier, &job, "k").await.as_deref(), Some("second"));
}

#[tokio::test]
async fn an_upload_of_an_ended_job_is_removed_by_the_sweep() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |_| {}).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let live = farrier.begin_on("r", "main").await;
    let address = reserved(&farrier, &job, "k").await;
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    let other = reserved(&farrier, &live, "other").await;
    assert_eq!(put_blob(&farrier, &other, "live").await.status, 201);
    farrier.end(&job).await;
    farrier.clock.jump_ms(6 * MINUTE_MS);
    eventually("the bytes of the ended job are removed", async || bytes_on_disk(&farrier) == "live".len()).await;
    assert_eq!(finalize(&farrier, &live, "other", 4).await.json()["ok"], true);
}

#[tokio::test]
async fn entries_that_no_job_used_for_seven_days_are_deleted() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.ci.job_timeout = std::time::Duration::from_secs(30 * 86_400);
    })
    .await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    for key in ["used", "missed", "unused"] {
        save(&farrier, &job, key, "content").await;
    }
    farrier.clock.jump_ms(4 * 86_400_000);
    assert_eq!(content(&farrier, &job, "used").await.as_deref(), Some("content"));
    let other_version = json!({ "key": "missed", "version": "other" });
    let miss = call(&farrier, &job, "GetCacheEntryDownloadURL", other_version).await;
    assert_eq!(miss.json(), json!({ "ok": false }));
    farrier.clock.jump_ms(4 * 86_400_000);
    eventually("unused entries are gone", async || bytes_on_disk(&farrier) == "content".len()).await;
    assert_eq!(content(&farrier, &job, "used").await.as_deref(), Some("content"));
    for key in ["missed", "unused"] {
        assert_eq!(content(&farrier, &job, key).await, None, "{key}");
    }
    save(&farrier, &job, "unused", "again").await;
}

#[tokio::test]
async fn over_the_limit_of_the_repository_the_least_recently_used_entries_go() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.caches.quota_bytes = 25).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    for key in ["a", "b"] {
        save(&farrier, &job, key, "0123456789").await;
        farrier.clock.jump_ms(2 * MINUTE_MS);
    }
    assert!(content(&farrier, &job, "a").await.is_some());
    farrier.clock.jump_ms(2 * MINUTE_MS);
    save(&farrier, &job, "c", "0123456789").await;
    assert_eq!(content(&farrier, &job, "b").await, None, "used less recently than a");
    assert!(content(&farrier, &job, "a").await.is_some() && content(&farrier, &job, "c").await.is_some());
    eventually("the bytes are freed", async || bytes_on_disk(&farrier) == 20).await;
    // An entry that can never fit is refused, and nothing is evicted for it.
    let address = reserved(&farrier, &job, "d").await;
    let refused = put_blob(&farrier, &address, "x".repeat(26)).await;
    assert_eq!(refused.status, 413, "{refused:?}");
    assert!(content(&farrier, &job, "a").await.is_some() && content(&farrier, &job, "c").await.is_some());
    farrier.repository("other").await;
    let other = farrier.begin_on("other", "main").await;
    save(&farrier, &other, "a", "0123456789").await;
    assert!(content(&farrier, &job, "a").await.is_some(), "another repository has its own limit");
}

#[tokio::test]
async fn over_the_limit_of_all_entries_the_least_recently_used_of_all_repositories_go() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.caches.total_bytes = 25).await;
    farrier.repository("r").await;
    farrier.repository("other").await;
    let (job, other) = (farrier.begin_on("r", "main").await, farrier.begin_on("other", "main").await);
    for (job, key) in [(&job, "a"), (&other, "b")] {
        save(&farrier, job, key, "0123456789").await;
        farrier.clock.jump_ms(2 * MINUTE_MS);
    }
    save(&farrier, &other, "c", "0123456789").await;
    assert_eq!(content(&farrier, &job, "a").await, None, "used least recently");
    assert!(content(&farrier, &other, "b").await.is_some() && content(&farrier, &other, "c").await.is_some());
    eventually("the bytes are freed", async || bytes_on_disk(&farrier) == 20).await;
}

#[tokio::test]
async fn an_entry_that_was_found_a_moment_ago_is_not_the_one_that_goes() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.caches.quota_bytes = 25).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    for key in ["a", "b"] {
        save(&farrier, &job, key, "0123456789").await;
        farrier.clock.jump_ms(1_000);
    }
    // Less than a minute after the entry was saved, so the use is not written yet.
    assert!(content(&farrier, &job, "a").await.is_some());
    save(&farrier, &job, "c", "0123456789").await;
    assert!(content(&farrier, &job, "a").await.is_some() && content(&farrier, &job, "c").await.is_some());
    assert_eq!(content(&farrier, &job, "b").await, None);
}

#[tokio::test]
async fn uploads_that_are_not_finalized_count_and_stalled_ones_go_first() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| config.caches.quota_bytes = 25).await;
    farrier.repository("r").await;
    farrier.repository("other").await;
    let job = farrier.begin_on("r", "main").await;
    save(&farrier, &job, "saved", "0123456789").await;
    let (first, second) = (reserved(&farrier, &job, "a").await, reserved(&farrier, &job, "b").await);
    for address in [&first, &second] {
        assert_eq!(put_blob(&farrier, address, "0123456789").await.status, 201);
    }
    let third = reserved(&farrier, &job, "c").await;
    let refused = put_blob(&farrier, &third, "0123456789").await;
    assert!(refused.status == 403 && refused.text().contains("not finalized"), "{refused:?}");
    assert_eq!(finalize(&farrier, &job, "a", 10).await.json()["ok"], true);
    assert_eq!(put_blob(&farrier, &third, "0123456789").await.status, 201, "a finalized entry does not count");
    let of_other = farrier.begin_on("other", "main").await;
    save(&farrier, &of_other, "a", "0123456789").await;
    // No progress for five minutes.
    farrier.clock.jump_ms(5 * MINUTE_MS);
    let fourth = reserved(&farrier, &job, "d").await;
    assert_eq!(put_blob(&farrier, &fourth, "0123456789").await.status, 201);
    for address in [&second, &third] {
        assert_eq!(put_blob(&farrier, address, "0123456789").await.status, 404);
    }
    assert!(content(&farrier, &job, "saved").await.is_some() && content(&farrier, &job, "a").await.is_some());
}

#[tokio::test]
async fn an_upload_that_is_receiving_a_block_is_not_abandoned() {
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        config.artifacts.abandoned = std::time::Duration::from_secs(600);
        config.ci.job_timeout = std::time::Duration::from_secs(30 * 86_400);
    })
    .await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let content = vec![b'x'; 3 << 20];
    let stalled = reserved(&farrier, &job, "stalled").await;
    assert_eq!(put_blob(&farrier, &stalled, content.clone()).await.status, 201);
    let address = reserved(&farrier, &job, "k").await;
    let path = format!("{address}&comp=block&blockid=a");
    let mut slow = PartialRequest::put(&farrier.tcp(), &path, content.len(), &content[..2 << 20]).await;
    eventually("the block is being received", async || bytes_on_disk(&farrier) > 4 << 20).await;
    farrier.clock.jump_ms(11 * MINUTE_MS);
    eventually("the stalled upload is removed", async || bytes_on_disk(&farrier) < 3 << 20).await;
    slow.write(&content[2 << 20..]).await;
    let (status, text) = slow.answer().await;
    assert_eq!(status, 201, "{text}");
}

#[tokio::test]
async fn an_upload_over_the_share_of_its_client_gets_503_and_not_429() {
    // The share of one client is a half.
    let farrier = TestDaemon::with(|config| config.artifacts.max_uploads = 2).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    let slow = reserved(&farrier, &job, "slow").await;
    let slow = PartialRequest::put(&farrier.tcp(), &format!("{slow}&comp=block&blockid=a"), 4, b"sl").await;
    let artifact = farrier.create(&job, "x").await;
    let put_artifact =
        async || send(&farrier.tcp(), Method::PUT, &format!("{artifact}&comp=block&blockid=a"), &[], "x").await;
    eventually("the slow upload uses the share", async || put_artifact().await.status == 429).await;
    let address = reserved(&farrier, &job, "k").await;
    let refused = put_blob(&farrier, &address, "content").await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(!refused.header("retry-after").is_empty() && refused.text().contains("<Code>ServerBusy</Code>"));
    drop(slow);
    eventually("the share is free", async || put_blob(&farrier, &address, "content").await.status == 201).await;
}

#[tokio::test]
async fn of_two_simultaneous_savers_one_gets_the_key() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let (first, second) = (farrier.begin_on("r", "main").await, farrier.begin_on("r", "main").await);
    for round in 0..10 {
        let key = format!("k{round}");
        let both = tokio::join!(reserve(&farrier, &first, &key), reserve(&farrier, &second, &key));
        let mut statuses = [both.0.status, both.1.status];
        let winner = if statuses[0] == 200 { (&first, &both.0) } else { (&second, &both.1) };
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        let address = farrier.path_of(winner.1.json()["signed_upload_url"].as_str().expect("an address"));
        assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
        assert_eq!(finalize(&farrier, winner.0, &key, 7).await.json()["ok"], true);
        assert_eq!(content(&farrier, &second, &key).await.as_deref(), Some("content"));
    }
}

#[tokio::test]
async fn a_finalized_entry_survives_a_kill_and_an_unfinished_one_is_removed() {
    let mut farrier =
        TestDaemon::program("[artifacts]\nreserve_bytes = 0\nabandoned_secs = 3\n[caches]\nretention_days = 1\n").await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    save(&farrier, &job, "finalized", "content").await;
    let address = reserved(&farrier, &job, "unfinished").await;
    assert_eq!(put_blob(&farrier, &address, "lost").await.status, 201);
    farrier.kill_and_start().await;
    assert_eq!(content(&farrier, &job, "unfinished").await, None);
    assert_eq!(content(&farrier, &job, "finalized").await.as_deref(), Some("content"));
    eventually("the bytes of the unfinished entry are removed", async || bytes_on_disk(&farrier) == 7).await;
    assert_eq!(put_blob(&farrier, &address, "late").await.status, 404);
    farrier.kill_and_start().await;
    assert_eq!(content(&farrier, &job, "finalized").await.as_deref(), Some("content"));
    save(&farrier, &job, "unfinished", "again").await;
    farrier.stop().await;
    let checked = farrier.check_data(&["--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test]
async fn the_entries_of_a_removed_repository_are_removed() {
    let farrier = TestDaemon::with(|config| config.storage.set_aside_days = 0).await;
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    save(&farrier, &job, "k", "content").await;
    let address = reserved(&farrier, &job, "reserved").await;
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 201);
    let deleted = farrier.admin(Method::DELETE, "/api/v1/repos/admin/r", Value::Null).await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    eventually("the bytes are freed", async || bytes_on_disk(&farrier) == 0).await;
    assert_eq!(put_blob(&farrier, &address, "content").await.status, 404);
}
