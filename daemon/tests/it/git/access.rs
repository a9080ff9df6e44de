//! Access control of git over HTTP.

use farrier_proto::store::{Reference, Token};
use farrierd::store::{StoreError, Tx, keys, repositories, tokens};
use http::Method;
use serde_json::{Value, json};

use super::demo;
use crate::support::{TestDaemon, git::Client, send};

async fn info_refs(farrier: &TestDaemon, path: &str, service: &str, authorization: &str) -> (u16, String) {
    let path = format!("{path}/info/refs?service=git-{service}");
    let headers = [("authorization", authorization)];
    let headers = if authorization.is_empty() { &[][..] } else { &headers };
    let answer = send(&farrier.tcp(), Method::GET, &path, headers, "").await;
    assert!(answer.header("cache-control").contains("no-cache"), "{answer:?}");
    (answer.status, answer.header("www-authenticate").to_owned())
}

const CHALLENGE: &str = "Basic realm=\"farrier\"";

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_private_repositories_are_indistinguishable() {
    let (farrier, _) = demo().await;
    let private = farrier.admin(Method::POST, "/api/v1/user/repos", json!({ "name": "hidden", "private": true })).await;
    assert_eq!(private.status, 201);
    let user = json!({ "username": "eve", "email": "e@example.com", "password": "long enough", "must_change_password": false });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/admin/users", user).await.status, 201);
    let eve = "Basic ZXZlOmxvbmcgZW5vdWdo";
    for path in ["/admin/hidden", "/admin/hidden.git", "/admin/missing.git", "/nobody/x.git", "/admin/-x%00.git"] {
        for service in ["upload-pack", "receive-pack"] {
            let anonymous = info_refs(&farrier, path, service, "").await;
            assert_eq!(anonymous, (401, CHALLENGE.into()), "{path} {service}");
            assert_eq!(info_refs(&farrier, path, service, eve).await, (404, String::new()), "{path} {service}");
        }
    }
    assert_eq!(info_refs(&farrier, "/admin/demo.git", "upload-pack", "").await.0, 200);
    assert_eq!(info_refs(&farrier, "/admin/demo.git", "receive-pack", "").await, (401, CHALLENGE.into()));
    assert_eq!(info_refs(&farrier, "/admin/demo.git", "receive-pack", eve).await.0, 403);
    for wrong in ["Basic ZXZlOndyb25n", "Bearer 0123456789012345678901234567890123456789", "Basic !"] {
        assert_eq!(info_refs(&farrier, "/admin/demo.git", "upload-pack", wrong).await, (401, CHALLENGE.into()));
    }
    let err = Client::at(farrier.scratch()).refused(&["ls-remote", &format!("{}/admin/hidden.git", farrier.url)]);
    assert!(err.contains("could not read Username"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_are_checked_for_every_form_of_a_token() {
    let (farrier, _) = demo().await;
    let read = farrier.token("admin", &["read:repository"]).await;
    let none = farrier.token("admin", &["write:user"]).await;
    let basic = |token: &str| format!("Basic {}", base64(&format!("{token}:x-oauth-basic")));
    for (token, fetch, push) in [(&read, 200, 403), (&none, 403, 403)] {
        for form in [format!("token {token}"), format!("Bearer {token}"), basic(token)] {
            assert_eq!(info_refs(&farrier, "/admin/demo", "upload-pack", &form).await.0, fetch, "{form}");
            assert_eq!(info_refs(&farrier, "/admin/demo", "receive-pack", &form).await.0, push, "{form}");
        }
    }
}

fn base64(text: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_an_archived_repository_is_refused() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    farrier
        .with_store(async |store| {
            let archive = async |tx: Tx| {
                let mut row = repositories::by_path(&tx, "admin", "demo").await?.expect("a row");
                row.archived = true;
                repositories::put(&tx, None, &row);
                Ok::<_, StoreError>(())
            };
            store.write(archive).await.expect("a write");
        })
        .await;
    work.commit("b", "b");
    let err = work.refused(&["push", "-q", &remote, "main"]);
    assert!(err.contains("403"), "{err}");
    work.done(&["fetch", "-q", &remote, "main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_name_redirects_to_the_new_one() {
    let (mut farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    farrier
        .with_store(async |store| {
            let redirect = async |tx: Tx| {
                let row = repositories::by_path(&tx, "admin", "demo").await?.expect("a row");
                tx.put(keys::repository_redirect(row.owner_id, "before"), &Reference { id: row.id });
                Ok::<_, StoreError>(())
            };
            store.write(redirect).await.expect("a write");
        })
        .await;
    let answer = send(&farrier.tcp(), Method::GET, "/admin/before/info/refs?service=git-upload-pack", &[], "").await;
    assert_eq!((answer.status, answer.header("location")), (307, "/admin/demo.git/info/refs?service=git-upload-pack"));
    work.done(&["clone", "-q", &format!("{}/admin/before.git", farrier.url), "copy"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_outside_of_the_repository_are_refused() {
    let (farrier, _) = demo().await;
    let secret = farrier.data_dir().join("repositories/x.git");
    std::fs::create_dir_all(&secret).expect("a directory");
    for path in [
        "/admin/demo.git/objects/../../x",
        "/admin/demo.git/objects/info/packs",
        "/admin/demo.git/HEAD",
        "/admin/..%2f..%2fx.git/info/refs?service=git-upload-pack",
        "/admin/%2e%2e/info/refs?service=git-upload-pack",
        "/%2e%2e/x.git/info/refs?service=git-upload-pack",
        "/admin/demo%00.git/info/refs?service=git-upload-pack",
        "/admin/demo%ff.git/info/refs?service=git-upload-pack",
        "/api/v1/info/refs?service=git-upload-pack",
        "/admin/demo.git/info/refs",
        "/admin/demo.git/info/refs?service=git-upload-archive",
        "/admin/demo.git/info/refs?service=../../bin/sh",
    ] {
        let answer = send(&farrier.tcp(), Method::GET, path, &[], "").await;
        assert!([400, 401, 403, 404].contains(&answer.status), "{path}: {answer:?}");
    }
    let api = send(&farrier.tcp(), Method::GET, "/api/v1/info/refs?service=git-upload-pack", &[], "").await;
    assert!(api.json()["message"] != Value::Null);
}

/// Tokens of older versions have 40 hexadecimal digits. Clients send either kind as user name or as password.
#[tokio::test(flavor = "multi_thread")]
async fn git_accepts_new_tokens_and_those_of_older_versions() {
    let (mut farrier, _) = demo().await;
    let new = farrier.token("admin", &["write:repository"]).await;
    let old = "0123456789abcdef0123456789abcdef01234567";
    let row = Token {
        id: 900,
        user_id: 1,
        name: "old".into(),
        scopes: vec!["write:repository".into()],
        last_eight: old[32..].into(),
        ..Token::default()
    };
    let inserted = farrier.with_store(async |store| {
        let hash = farrierd::model::secret::sha256(old.as_bytes());
        let write = store.write(async |tx: Tx| {
            tokens::insert(&tx, &hash, &row);
            Ok::<_, StoreError>(())
        });
        write.await
    });
    inserted.await.expect("written");
    let work = Client::init(farrier.scratch().join("both"));
    for (n, token) in [new.as_str(), old].into_iter().enumerate() {
        work.commit("file", format!("{n}"));
        for credentials in [format!("any:{token}"), format!("{token}:x-oauth-basic")] {
            let remote = farrier.url.replace("http://", &format!("http://{credentials}@")) + "/admin/demo.git";
            work.done(&["push", "-q", "--force", &remote, "main:both"]);
            work.done(&["fetch", "-q", &remote, "both"]);
        }
    }
    let damaged = format!("{}{}", &new[..39], if new.ends_with('0') { '1' } else { '0' });
    work.refused(&["push", "-q", &farrier.remote("admin/demo", &damaged), "main:both"]);
}
