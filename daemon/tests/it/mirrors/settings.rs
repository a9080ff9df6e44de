//! The settings of mirrors: intervals, conversion, rights.

use http::Method;
use serde_json::{Value, json};

use super::{COPY, daemon, filled, mirror, post};
use crate::support::{TestDaemon, send};

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_interval_is_refused_before_anything_is_created() {
    let (source, farrier) = (daemon().await, daemon().await);
    filled(&source, "origin").await;
    for interval in ["9m59s", "soon", "-8h", "8"] {
        let body = json!({
            "clone_addr": format!("{}/admin/origin", source.url), "repo_name": "copy", "mirror": true,
            "mirror_interval": interval,
        });
        let refused = post(&farrier, "/api/v1/repos/migrate", body).await;
        assert_eq!((refused.status, &refused.json()["field"]), (422, &json!("mirror_interval")), "{refused:?}");
        assert_eq!(farrier.show(COPY).await.status, 404);
    }
    assert!(farrier.directories().is_empty());
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({ "mirror_interval": "" })).await;
    assert_eq!(copy["mirror_interval"], "8h0m0s");
    for (interval, status) in [("9m", 422), ("x", 422), ("90m", 200), ("0", 200)] {
        let edited = farrier.admin(Method::PATCH, COPY, json!({ "mirror_interval": interval })).await;
        assert_eq!(edited.status, status, "{edited:?}");
    }
    assert_eq!(farrier.show(COPY).await.json()["mirror_interval"], "0s");
    // On a normal repository, the interval is ignored and reported.
    farrier.repository("plain").await;
    let edited = farrier.admin(Method::PATCH, "/api/v1/repos/admin/plain", json!({ "mirror_interval": "8h" })).await;
    assert_eq!((edited.status, edited.header("x-farrier-ignored-settings")), (200, "mirror_interval"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_converted_mirror_is_a_normal_repository() {
    let (source, mut farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let secret = json!({ "auth_token": source.token("admin", &["read:repository"]).await });
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), secret).await;
    let converted = post(&farrier, &format!("{COPY}/convert"), Value::Null).await;
    let json = converted.json();
    assert_eq!((converted.status, &json["mirror"], &json["mirror_interval"]), (200, &json!(false), &json!("")));
    assert!(json["farrier_mirror"].is_null() && json["original_url"] != "", "{json}");
    assert_eq!(post(&farrier, &format!("{COPY}/convert"), Value::Null).await.status, 422);
    assert_eq!(post(&farrier, &format!("{COPY}/mirror-sync"), Value::Null).await.status, 400);
    let token = farrier.token("admin", &["all"]).await;
    work.commit("b", "two");
    work.done(&["push", "-q", &farrier.remote("admin/copy", &token), "main"]);
    let audit = farrier.admin(Method::GET, "/api/farrier/v1/audit?limit=5", Value::Null).await.json().to_string();
    assert!(audit.contains("mirror.convert"), "{audit}");
    let id = copy["id"].as_u64().expect("a number");
    let remote = farrier
        .with_store(async |store| {
            farrierd::store::mirrors::remote(&store.read().await.expect("a snapshot"), id, "").await.expect("readable")
        })
        .await;
    assert!(remote.is_none(), "the credentials are deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn mirrors_can_be_switched_off() {
    let farrier = TestDaemon::with(|config| config.mirror.enabled = false).await;
    let body = json!({ "clone_addr": "http://203.0.113.9/a", "repo_name": "copy", "mirror": true });
    assert_eq!(post(&farrier, "/api/v1/repos/migrate", body).await.status, 403);
    let settings = farrier.admin(Method::GET, "/api/v1/settings/repository", Value::Null).await.json();
    assert_eq!(settings["mirrors_disabled"], true);
    farrier.repository("demo").await;
    let body = json!({ "remote_address": "http://203.0.113.9/a" });
    assert_eq!(post(&farrier, "/api/v1/repos/admin/demo/push_mirrors", body).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_needs_write_access_and_a_conversion_administration() {
    let (source, farrier) = (daemon().await, daemon().await);
    filled(&source, "origin").await;
    mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    for (user, permission, sync, convert) in
        [("reader", "read", 403, 403), ("writer", "write", 200, 403), ("eve", "", 403, 403)]
    {
        farrier.user(user).await;
        if !permission.is_empty() {
            let path = format!("{COPY}/collaborators/{user}");
            let added = farrier.admin(Method::PUT, &path, json!({ "permission": permission })).await;
            assert_eq!(added.status, 204, "{added:?}");
        }
        let token = format!("token {}", farrier.token(user, &["all"]).await);
        let call = async |rest: &str| {
            let headers = [("authorization", token.as_str())];
            send(&farrier.tcp(), Method::POST, &format!("{COPY}{rest}"), &headers, "").await.status
        };
        assert_eq!((call("/mirror-sync").await, call("/convert").await), (sync, convert), "{user}");
        assert_eq!(call("/push_mirrors-sync").await, 403, "{user}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn check_data_finds_nothing_wrong_with_mirrors_and_a_new_key_encrypts_them_again() {
    let (source, mut farrier) = (daemon().await, daemon().await);
    let work = filled(&source, "origin").await;
    let private = json!({ "private": true });
    assert_eq!(source.admin(Method::PATCH, "/api/v1/repos/admin/origin", private).await.status, 200);
    let token = source.token("admin", &["read:repository"]).await;
    let address = format!("{}/admin/origin", source.url);
    mirror(&farrier, &address, json!({ "auth_username": "u", "auth_password": token })).await;
    let body =
        json!({ "remote_address": "http://203.0.113.9/a", "remote_username": "u", "remote_password": "p4ssword" });
    farrier.repository("plain").await;
    assert_eq!(
        post(&farrier, "/api/v1/repos/admin/plain/push_mirrors", body).await.status,
        422,
        "refused by the policy"
    );
    let body = json!({ "remote_address": format!("{}/admin/none", source.url), "interval": "24h", "remote_password": "p4ssword" });
    assert_eq!(post(&farrier, "/api/v1/repos/admin/plain/push_mirrors", body).await.status, 200);
    farrier.stop().await;
    let checked = farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
    farrier.command(&["rotate-key"]).await;
    farrier.start_in_process(farrierd::clock::Clock::system()).await;
    let two = work.commit("b", "two");
    work.done(&["push", "-q", "origin", "main"]);
    assert_eq!(super::synced(&farrier).await["last_error"], "");
    let shown = farrier.show(&format!("{COPY}/branches/main")).await.json();
    assert_eq!(shown["commit"]["id"], json!(two));
}
