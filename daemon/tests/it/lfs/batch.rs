//! The batch API: statuses, formats and access.

use http::Method;
use serde_json::{Value, json};

use super::{JSON, Lfs, oid, path_of};
use crate::support::{TestDaemon, send};

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_response_has_signed_addresses_and_no_credentials() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let bytes = b"content".as_slice();
    let id = oid(bytes);
    let answer = lfs.batch("upload", json!([{ "oid": id, "size": 7 }])).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, JSON), "{answer:?}");
    let body = answer.json();
    assert_eq!((&body["transfer"], &body["hash_algo"]), (&json!("basic"), &json!("sha256")));
    let object = &body["objects"][0];
    assert_eq!((&object["oid"], &object["size"], &object["authenticated"]), (&json!(id), &json!(7), &json!(true)));
    let start = format!("{}/admin/demo.git/info/lfs/", farrier.url);
    for (action, header) in [("upload", Value::Null), ("verify", json!({ "Accept": JSON }))] {
        let action = &object["actions"][action];
        assert!(action["href"].as_str().is_some_and(|href| href.starts_with(&start)), "{action}");
        assert_eq!((&action["header"], &action["expires_in"]), (&header, &json!(3_600)));
    }
    let secret = lfs.authorization.trim_start_matches("token ");
    assert!(!answer.text().contains(secret) && !answer.text().to_lowercase().contains("authorization"));

    lfs.upload(bytes).await;
    let present = lfs.object("upload", &id, 7).await;
    assert_eq!(present, json!({ "oid": id, "size": 7, "authenticated": true }));
    let download = lfs.object("download", &id, 7).await;
    let actions: Vec<&str> = download["actions"].as_object().expect("actions").keys().map(String::as_str).collect();
    assert_eq!(actions, ["download"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_and_objects_get_the_documented_statuses() {
    let farrier = TestDaemon::with(|config| config.lfs.max_object_bytes = 100).await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let known = lfs.upload(b"known").await;
    let id = oid(b"x");
    for (body, status) in [
        ("{".to_owned(), 422),
        ("[]".into(), 422),
        (String::new(), 422),
        (json!({ "operation": "delete", "objects": [] }).to_string(), 422),
        (json!({ "operation": 7 }).to_string(), 422),
        (json!({ "operation": "upload", "objects": 7 }).to_string(), 422),
        (json!({ "operation": "upload", "objects": [7] }).to_string(), 422),
        (json!({ "operation": "upload", "objects": [], "hash_algo": "sha512" }).to_string(), 409),
        (json!({ "operation": "upload", "objects": vec![json!({ "oid": id, "size": 1 }); 1_001] }).to_string(), 413),
        ("[".repeat(100_000), 422),
    ] {
        let answer = lfs.send(Method::POST, "objects/batch", body.clone()).await;
        let shown: String = body.chars().take(80).collect();
        assert_eq!((answer.status, answer.header("content-type")), (status, JSON), "{shown}: {answer:?}");
        let error = answer.json();
        assert!(error["message"].is_string(), "{error}");
        assert_eq!(error["request_id"], answer.header("x-request-id"), "{shown}");
    }
    for body in [json!({ "operation": "download" }), json!({ "operation": "download", "objects": [] })] {
        assert_eq!(lfs.post("objects/batch", body).await.json()["objects"], json!([]));
    }
    for (operation, id, size, code) in [
        ("upload", json!("ab"), json!(1), 422),
        ("upload", json!(id.to_uppercase()), json!(1), 422),
        ("upload", json!(format!("../../{}", &id[6..])), json!(1), 422),
        ("upload", json!(7), json!(1), 422),
        ("upload", json!(id), json!(-1), 422),
        ("upload", json!(id), json!(1.5), 422),
        ("upload", json!(id), Value::Null, 422),
        ("upload", json!(id), json!(101), 422),
        ("upload", json!(known), json!(4), 422),
        ("download", json!(known), json!(4), 422),
        ("download", json!(id), json!(1), 404),
    ] {
        let answer = lfs.batch(operation, json!([{ "oid": id, "size": size }, { "oid": known, "size": 5 }])).await;
        let objects = answer.json()["objects"].clone();
        assert_eq!(objects[0]["error"]["code"], code, "{operation} {id} {size}: {objects}");
        assert_eq!((&objects[0]["oid"], &objects[0]["actions"]), (&id, &Value::Null));
        assert!(objects[1]["error"].is_null(), "the others are not affected: {objects}");
    }
    for (accept, content_type) in [("text/html", JSON), ("application/json", "application/json"), ("", JSON)] {
        let path = "/admin/demo/info/lfs/objects/batch";
        let headers =
            [("accept", accept), ("content-type", content_type), ("authorization", lfs.authorization.as_str())];
        let body = json!({ "operation": "download", "objects": [] }).to_string();
        assert_eq!(send(&farrier.tcp(), Method::POST, path, &headers, body).await.status, 200, "{accept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn access_is_that_of_fetch_and_push() {
    let farrier = TestDaemon::start().await;
    let open = Lfs::new(&farrier, "open").await;
    let hidden = Lfs::new(&farrier, "hidden").await;
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/hidden", json!({ "private": true })).await;
    assert_eq!(private.status, 200);
    farrier.user("eve").await;
    let eve = format!("token {}", farrier.token("eve", &["all"]).await);
    let read = format!("Bearer {}", farrier.token("admin", &["read:repository"]).await);
    let other = format!("token {}", farrier.token("admin", &["write:user"]).await);
    let basic = |user: &str, password: &str| {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
    };
    let as_password = basic("any", open.authorization.trim_start_matches("token "));
    let missing = Lfs { repository: "admin/missing".into(), ..open.with("") };
    for (lfs, authorization, download, upload) in [
        (&open, "", 200, 401),
        (&open, "token 0123456789012345678901234567890123456789", 401, 401),
        (&open, "Bearer a.b.c", 401, 401),
        (&open, "Basic !", 401, 401),
        (&open, eve.as_str(), 200, 403),
        (&open, read.as_str(), 200, 403),
        (&open, other.as_str(), 403, 403),
        (&open, as_password.as_str(), 200, 200),
        (&open, open.authorization.as_str(), 200, 200),
        (&hidden, "", 401, 401),
        (&hidden, eve.as_str(), 404, 404),
        (&hidden, hidden.authorization.as_str(), 200, 200),
        (&missing, "", 401, 401),
        (&missing, eve.as_str(), 404, 404),
    ] {
        for (operation, status) in [("download", download), ("upload", upload)] {
            let answer = lfs.with(authorization).batch(operation, json!([])).await;
            assert_eq!(answer.status, status, "{} {authorization} {operation}: {answer:?}", lfs.repository);
            let challenge = if status == 401 { "Basic realm=\"farrier\"" } else { "" };
            for name in ["www-authenticate", "lfs-authenticate"] {
                assert_eq!(answer.header(name), challenge, "{name}");
            }
        }
    }
    let path = "/admin/hidden.git/info/lfs/objects/batch";
    let body = json!({ "operation": "upload", "objects": [{ "oid": oid(b"s"), "size": 1 }] }).to_string();
    let local = send(&farrier.unix(), Method::POST, path, &[("content-type", JSON)], body).await;
    let object = local.json()["objects"][0].clone();
    let put = open.put(&path_of(&object["actions"]["upload"]["href"]), b"s").await;
    assert_eq!(put.status, 200, "the address of a local caller works over TCP: {put:?}");

    let archived = farrier.admin(Method::PATCH, "/api/v1/repos/admin/open", json!({ "archived": true })).await;
    assert_eq!(archived.status, 200);
    assert_eq!(open.batch("download", json!([])).await.status, 200);
    assert_eq!(open.batch("upload", json!([])).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_lfs_is_not_found() {
    let farrier = TestDaemon::with(|config| config.lfs.enabled = false).await;
    let lfs = Lfs::new(&farrier, "demo").await;
    let object = format!("objects/{}", oid(b"x"));
    for (method, path) in [
        (Method::POST, "objects/batch"),
        (Method::GET, object.as_str()),
        (Method::PUT, object.as_str()),
        (Method::POST, "verify"),
        (Method::GET, "locks"),
        (Method::POST, "locks"),
        (Method::POST, "locks/verify"),
        (Method::POST, "locks/1/unlock"),
    ] {
        let answer = lfs.send(method, path, "{}".into()).await;
        assert_eq!((answer.status, answer.header("content-type")), (404, JSON), "{path}");
        assert!(answer.json()["message"].as_str().is_some_and(|text| text.contains("lfs.enabled")), "{answer:?}");
    }
    let settings = farrier.admin(Method::GET, "/api/v1/settings/repository", Value::Null).await.json();
    assert_eq!(settings["lfs_disabled"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_name_redirects_and_its_addresses_stay_valid() {
    let farrier = TestDaemon::start().await;
    let lfs = Lfs::new(&farrier, "before").await;
    let address = lfs.address("upload", &oid(b"content"), 7).await;
    let renamed = farrier.admin(Method::PATCH, "/api/v1/repos/admin/before", json!({ "name": "after" })).await;
    assert_eq!(renamed.status, 200, "{renamed:?}");
    let answer = lfs.batch("download", json!([])).await;
    let location = "/admin/after.git/info/lfs/objects/batch";
    assert_eq!((answer.status, answer.header("location")), (307, location), "{answer:?}");
    assert_eq!(lfs.put(&address, b"content").await.status, 200);
    let after = Lfs { repository: "admin/after".into(), ..lfs.with(&lfs.authorization) };
    assert_eq!(after.download(&oid(b"content"), 7).await.text(), "content");
}
