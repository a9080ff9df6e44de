//! LFS objects of forks.

use http::Method;
use serde_json::json;

use super::{Lfs, oid, stored};
use crate::support::TestDaemon;

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_the_objects_of_its_source_and_they_are_stored_once() {
    let farrier = TestDaemon::with(|config| config.lfs.quota_bytes = 20).await;
    let source = Lfs::new(&farrier, "source").await;
    let id = source.upload(b"123456").await;
    let body = json!({ "name": "copy" });
    let forked = farrier.admin(Method::POST, "/api/v1/repos/admin/source/forks", body.clone()).await;
    assert_eq!(forked.status, 202, "{forked:?}");
    let authorization = source.authorization.clone();
    let fork = Lfs { farrier: &farrier, repository: "admin/copy".into(), authorization };
    assert_eq!(fork.download(&id, 6).await.text(), "123456");
    assert_eq!(stored(&farrier), 1);
    // What is uploaded later belongs to one of them.
    let later = source.upload(b"later").await;
    assert_eq!(fork.problem("download", &later, 5).await, 404);
    assert_eq!(source.problem("upload", &oid(b"1234"), 4).await, 507, "the objects of the fork count: 6 + 5 + 6");
    // The quota applies to forks as well.
    let body = json!({ "name": "third" });
    let refused = farrier.admin(Method::POST, "/api/v1/repos/admin/copy/forks", body).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let listed = farrier.admin(Method::GET, "/api/v1/repos/admin/copy/forks", serde_json::Value::Null).await;
    assert_eq!(listed.text(), "[]\n");
    // The objects stay while one of the repositories has them.
    assert_eq!(farrier.admin(Method::DELETE, "/api/v1/repos/admin/source", json!({})).await.status, 204);
    assert_eq!(fork.download(&id, 6).await.text(), "123456");
}
