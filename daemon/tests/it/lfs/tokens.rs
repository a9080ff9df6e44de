//! The tokens of `git-lfs-authenticate`, signed here as the SSH service does.

use farrier_proto::store::SigningKey as KeyRow;
use farrierd::{
    model::{
        lfs_token::{LfsAccess, LfsClaims},
        secret::SigningKey,
    },
    store::{StoreError, Tx, identity},
};
use http::Method;
use serde_json::{Value, json};

use super::{Lfs, oid};
use crate::support::{TestDaemon, send};

/// The key of LFS tokens.
async fn key(farrier: &mut TestDaemon) -> SigningKey {
    let root = farrier
        .with_store(async |store| {
            let read = async |tx: Tx| Ok::<_, StoreError>(identity::signing_key(&tx, KeyRow::default()).await?.secret);
            store.write(read).await.expect("a key")
        })
        .await;
    SigningKey::derive(&root, "lfs-token")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_for_its_operation_in_its_repository_while_the_account_has_the_right() {
    let mut farrier = TestDaemon::start().await;
    let key = key(&mut farrier).await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let other = Lfs::new(&farrier, "other").await;
    let id = lfs.upload(b"content").await;
    for name in ["demo", "other"] {
        let path = format!("/api/v1/repos/admin/{name}");
        assert_eq!(farrier.admin(Method::PATCH, &path, json!({ "private": true })).await.status, 200);
    }
    farrier.user("wren").await;
    let collaborator = "/api/v1/repos/admin/demo/collaborators/wren";
    let permission = async |word: &str| farrier.admin(Method::PUT, collaborator, json!({ "permission": word })).await;
    assert_eq!(permission("write").await.status, 204);
    let number =
        async |path: &str| farrier.admin(Method::GET, path, Value::Null).await.json()["id"].as_u64().expect("an id");
    let (repository, account) = (number("/api/v1/repos/admin/demo").await, number("/api/v1/users/wren").await);
    let exp = farrier.clock.now_ms() / 1_000;
    let token =
        |operation, exp| format!("Bearer {}", LfsClaims { repository, account, key: 0, operation, exp }.sign(&key));
    let download = token(LfsAccess::Download, exp + 600);
    let upload = token(LfsAccess::Upload, exp + 600);
    let (reader, writer) = (lfs.with(&download), lfs.with(&upload));

    assert_eq!(reader.download(&id, 7).await.text(), "content");
    assert_eq!(reader.batch("upload", json!([])).await.status, 403);
    assert_eq!(reader.post("locks", json!({ "path": "a" })).await.status, 403);
    assert_eq!(reader.get("locks").await.status, 200, "git-lfs lists locks with this token");
    let new = writer.upload(b"new").await;
    assert_eq!(writer.download(&new, 3).await.text(), "new");
    let lock = writer.post("locks", json!({ "path": "a" })).await;
    assert_eq!((lock.status, &lock.json()["lock"]["owner"]["name"]), (201, &json!("wren")));

    // Another repository, the API and git.
    assert_eq!(other.with(&upload).batch("download", json!([])).await.status, 404);
    assert_eq!(permission("write").await.status, 204);
    for path in ["/api/v1/user", "/admin/demo.git/info/refs?service=git-upload-pack"] {
        let answer = send(&farrier.tcp(), Method::GET, path, &[("authorization", &upload)], "").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(lfs.with(&token(LfsAccess::Upload, exp - 1)).batch("download", json!([])).await.status, 401);

    // An address that the token received ends with the right, too.
    let address = writer.address("upload", &oid(b"late"), 4).await;
    assert_eq!(permission("read").await.status, 204);
    assert_eq!(writer.batch("upload", json!([])).await.status, 403);
    assert_eq!(lfs.put(&address, b"late").await.status, 403);
    assert_eq!(writer.batch("download", json!([])).await.status, 200);
    assert_eq!(farrier.admin(Method::DELETE, collaborator, Value::Null).await.status, 204);
    assert_eq!(reader.batch("download", json!([])).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_one_repository_is_refused_in_another_that_the_account_may_read() {
    let mut farrier = TestDaemon::start().await;
    let key = key(&mut farrier).await;
    let (lfs, other) = (Lfs::new(&farrier, "demo").await, Lfs::new(&farrier, "other").await);
    let repository = farrier.admin(Method::GET, "/api/v1/repos/admin/demo", Value::Null).await.json()["id"].as_u64();
    let claims = LfsClaims {
        repository: repository.expect("an id"),
        account: 1,
        key: 0,
        operation: LfsAccess::Upload,
        exp: i64::MAX / 2_000,
    };
    let bearer = format!("Bearer {}", claims.sign(&key));
    assert_eq!(lfs.with(&bearer).batch("upload", json!([])).await.status, 200);
    assert_eq!(other.with(&bearer).batch("download", json!([])).await.status, 403);
}
