//! Objects survive `SIGKILL` once they are acknowledged, and unfinished uploads leave nothing.

use http::Method;
use serde_json::json;

use super::{Lfs, oid, stored};
use crate::support::{RawConnection, TestDaemon, eventually, git::noise, send};

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_ends_early_leaves_nothing_even_after_a_kill() {
    let mut farrier = TestDaemon::program("").await;
    let bytes = noise(9_000_000);
    let (address, authorization) = {
        let lfs = Lfs::new(&farrier, "demo").await;
        (lfs.address("upload", &oid(&bytes), bytes.len()).await, lfs.authorization.clone())
    };
    let head = format!("PUT {address} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", bytes.len());
    for killed in [false, true] {
        let mut upload = RawConnection::sending(&farrier.tcp(), &head).await;
        upload.send(bytes[..3_000_000].to_vec()).await.expect("the daemon reads");
        eventually("bytes are stored", async || stored(&farrier) == 1).await;
        if killed {
            farrier.kill_and_start().await;
        }
        drop(upload);
        eventually("the bytes are removed", async || stored(&farrier) == 0).await;
        let lfs = Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization: authorization.clone() };
        assert_eq!(lfs.problem("download", &oid(&bytes), bytes.len()).await, 404, "{killed}");
    }
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_object_survives_a_kill() {
    let mut farrier = TestDaemon::program("").await;
    let (mut objects, mut authorization) = (Vec::new(), String::new());
    for number in 0..3 {
        let bytes = noise(50_000 + number);
        let lfs = if number == 0 {
            Lfs::new(&farrier, "demo").await
        } else {
            Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization: authorization.clone() }
        };
        authorization.clone_from(&lfs.authorization);
        let address = lfs.address("upload", &oid(&bytes), bytes.len()).await;
        let answer = send(&farrier.tcp(), Method::PUT, &address, &[], bytes.clone()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        farrier.kill_and_start().await;
        objects.push(bytes);
        let lfs = Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization: authorization.clone() };
        for bytes in &objects {
            assert_eq!(lfs.download(&oid(bytes), bytes.len()).await.body, *bytes);
        }
        assert_eq!(lfs.post("locks", json!({ "path": format!("f{number}") })).await.status, 201);
        farrier.kill_and_start().await;
        let lfs = Lfs { farrier: &farrier, repository: "admin/demo".into(), authorization: authorization.clone() };
        let locks = lfs.get("locks").await.json()["locks"].as_array().map(Vec::len);
        assert_eq!(locks, Some(number + 1));
    }
    farrier.stop().await;
    let checked = farrier.check_data(&["--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}
