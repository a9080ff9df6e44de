//! A disk on which uploads need the space of cache entries.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{content, finalize, put_blob, reserved};
use crate::{
    artifacts::{bytes_on_disk, limits::SmallDisk},
    support::{Job, PartialRequest, TestDaemon, eventually, send},
};

const NOW: i64 = 1_767_323_045_000;
const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn a_full_disk_takes_the_least_recently_used_entries_of_all_repositories() {
    let mut disk = None;
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        disk = SmallDisk::mount(&config.data_dir.join("artifacts"));
        config.artifacts.reserve_bytes = 1 << 20;
    })
    .await;
    if disk.is_none() {
        println!("skipped: a small file system cannot be mounted here");
        return;
    }
    // The disk has 4 MiB, of which 1 MiB stays free: two entries of 1.2 MiB fit.
    let bytes = vec![b'x'; 1_200 << 10];
    let save = async |job: &Job, key: &str| {
        let address = reserved(&farrier, job, key).await;
        let put = put_blob(&farrier, &address, bytes.clone()).await;
        assert_eq!(put.status, 201, "{put:?}");
        assert_eq!(finalize(&farrier, job, key, bytes.len()).await.json()["ok"], true);
        farrier.clock.jump_ms(2 * MINUTE_MS);
    };
    farrier.repository("r").await;
    farrier.repository("other").await;
    let (job, other) = (farrier.begin_on("r", "main").await, farrier.begin_on("other", "main").await);
    save(&job, "a").await;
    save(&other, "b").await;
    assert!(content(&farrier, &job, "a").await.is_some());
    farrier.clock.jump_ms(2 * MINUTE_MS);
    save(&job, "c").await;
    assert_eq!(content(&farrier, &other, "b").await, None, "used less recently than a");
    assert!(content(&farrier, &job, "a").await.is_some() && content(&farrier, &job, "c").await.is_some());
    // Content that cannot fit is refused, and nothing is deleted for it.
    let address = reserved(&farrier, &job, "d").await;
    assert_eq!(put_blob(&farrier, &address, vec![b'x'; 4 << 20]).await.status, 507);
    assert!(content(&farrier, &job, "a").await.is_some() && content(&farrier, &job, "c").await.is_some());
    assert_eq!(send(&farrier.tcp(), Method::GET, "/api/healthz", &[], "").await.status, 200);
    drop(farrier);
}

/// A daemon with a disk of 4 MiB, of which 1 MiB stays free, and entries of `bytes` bytes with these keys. `None`: a
/// small file system cannot be mounted here.
async fn daemon_on_small_disk(keys: &[&str], bytes: usize) -> Option<(SmallDisk, TestDaemon, Job)> {
    let mut disk = None;
    let farrier = TestDaemon::with_clock(Clock::manual(NOW), |config| {
        disk = SmallDisk::mount(&config.data_dir.join("artifacts"));
        config.artifacts.reserve_bytes = 1 << 20;
    })
    .await;
    let Some(disk) = disk else {
        println!("skipped: a small file system cannot be mounted here");
        return None;
    };
    farrier.repository("r").await;
    let job = farrier.begin_on("r", "main").await;
    for key in keys {
        let address = reserved(&farrier, &job, key).await;
        let put = put_blob(&farrier, &address, vec![b'x'; bytes]).await;
        assert_eq!(put.status, 201, "{put:?}");
        assert_eq!(finalize(&farrier, &job, key, bytes).await.json()["ok"], true);
        farrier.clock.jump_ms(2 * MINUTE_MS);
    }
    Some((disk, farrier, job))
}

/// The number of entries of the repository `r`.
async fn entries(farrier: &TestDaemon) -> i64 {
    let list = farrier.admin(Method::GET, "/api/v1/repos/admin/r/actions/caches", Value::Null).await;
    list.json()["total_count"].as_i64().expect("a number")
}

#[tokio::test]
async fn two_simultaneous_uploads_to_a_full_disk_delete_entries_for_their_own_bytes_only() {
    let Some((disk, farrier, job)) = daemon_on_small_disk(&["a", "b", "c"], 800 << 10).await else { return };
    // About 670 KiB are free: each upload fits, and both together need the space of one entry. It also suffices if
    // the bytes of one upload count twice because they are being written.
    let addresses = [reserved(&farrier, &job, "x").await, reserved(&farrier, &job, "y").await];
    let content = vec![b'x'; 480 << 10];
    let both = tokio::join!(
        put_blob(&farrier, &addresses[0], content.clone()),
        put_blob(&farrier, &addresses[1], content.clone())
    );
    assert_eq!((both.0.status, both.1.status), (201, 201), "{both:?}");
    assert_eq!(entries(&farrier).await, 2);
    drop((farrier, disk));
}

#[tokio::test]
async fn bytes_that_arrived_and_are_not_on_the_disk_yet_count_as_used() {
    let Some((disk, farrier, job)) = daemon_on_small_disk(&["a", "b", "c"], 800 << 10).await else { return };
    let addresses = [reserved(&farrier, &job, "x").await, reserved(&farrier, &job, "y").await];
    let content = vec![b'x'; 480 << 10];
    // The daemon holds so few bytes in memory until the body ends. A second upload of this size needs the space of one
    // entry, although the bytes of the first one are not on the disk.
    let (sent, last) = content.split_at(content.len() - 1);
    let head = format!(
        "PUT {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-ms-blob-type: BlockBlob\r\n\
         Content-Length: {}\r\n\r\n",
        addresses[0],
        content.len()
    );
    let mut first = PartialRequest::begin(&farrier.tcp(), [head.as_bytes(), sent].concat()).await;
    let second = put_blob(&farrier, &addresses[1], content.clone()).await;
    assert_eq!((second.status, entries(&farrier).await), (201, 2), "{second:?}");
    first.write(last).await;
    let (status, text) = first.answer().await;
    assert_eq!((status, entries(&farrier).await), (201, 2), "{text}");
    drop((farrier, disk));
}

#[tokio::test]
async fn an_upload_that_announces_bytes_and_sends_none_deletes_no_entry() {
    let Some((disk, farrier, job)) = daemon_on_small_disk(&["a", "b"], 1_200 << 10).await else { return };
    let authorization = format!("Bearer {}", job.token);
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let body = json!({ "key": "v1", "version": "v" }).to_string();
    let caches = "/_apis/artifactcache/caches";
    let id = send(&farrier.tcp(), Method::POST, caches, &headers, body).await.json()["cacheId"].clone();
    let headers = [("authorization", authorization.as_str()), ("content-range", "bytes 0-2097151/*")];
    let refused = send(&farrier.tcp(), Method::PATCH, &format!("{caches}/{id}"), &headers, "").await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(entries(&farrier).await, 2);
    drop((farrier, disk));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_releases_take_the_space_of_entries_and_leave_the_reserve_free() {
    let Some((disk, farrier, job)) = daemon_on_small_disk(&["a", "b"], 1_200 << 10).await else { return };
    let created = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "demo", "auto_init": true })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let releases = "/api/v1/repos/admin/demo/releases";
    let created = farrier.admin(Method::POST, releases, json!({ "tag_name": "v1" })).await;
    assert_eq!(created.status, 201, "{created:?}");
    let files = format!("{releases}/{}/assets", created.json()["id"]);
    let upload = async |name: &str, bytes: usize| {
        let headers = [("content-type", "application/octet-stream")];
        send(&farrier.unix(), Method::POST, &format!("{files}?name={name}"), &headers, vec![b'x'; bytes]).await
    };
    // About 670 KiB are free: a small file needs no space of an entry.
    assert_eq!(upload("small", 10).await.status, 201);
    assert_eq!(entries(&farrier).await, 2);
    // The file needs the space of both entries.
    let put = upload("large", 2_000 << 10).await;
    assert_eq!(put.status, 201, "{put:?}");
    assert_eq!(entries(&farrier).await, 0);
    let put = upload("too_large", 1_800 << 10).await;
    assert_eq!(put.status, 507, "{put:?}");
    eventually("the bytes of the refused file are removed", async || {
        bytes_on_disk(&farrier) == (2_000 << 10) + 10 && content(&farrier, &job, "a").await.is_none()
    })
    .await;
    drop((farrier, disk));
}
