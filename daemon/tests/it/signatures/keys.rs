//! OpenPGP keys over REST.

use serde_json::{Value, json};

use super::{ANN, Gpg, RSA, Scene, new_key};

#[tokio::test]
async fn a_key_is_added_listed_shown_and_deleted_with_audit_entries() {
    let scene = Scene::new().await;
    let key = scene.expect(&scene.ann, "post", "/user/gpg_keys", new_key(ANN), 201).await;
    assert_eq!((&key["key_id"], &key["primary_key_id"]), (&json!("B48FCAC6F1EAB04F"), &json!("")));
    assert_eq!((&key["can_sign"], &key["can_certify"], &key["verified"]), (&true.into(), &true.into(), &false.into()));
    assert_eq!(
        (&key["created_at"], &key["expires_at"]),
        (&json!("2026-01-01T00:00:00Z"), &json!("0001-01-01T00:00:00Z"))
    );
    let emails = key["emails"].as_array().expect("a list");
    assert!(emails.contains(&json!({ "email": "ann@example.org", "verified": true })), "{emails:?}");
    assert!(emails.contains(&json!({ "email": "ann@work.example", "verified": false })), "{emails:?}");
    let subkeys = key["subkeys"].as_array().expect("a list");
    assert_eq!(subkeys.len(), 2);
    assert_eq!((&subkeys[0]["key_id"], &subkeys[0]["primary_key_id"]), (&json!("2C4890269A9677C4"), &key["key_id"]));
    assert_eq!((&subkeys[0]["can_sign"], &subkeys[0]["expires_at"]), (&true.into(), &json!("2027-01-01T12:00:00Z")));
    assert_eq!((&subkeys[1]["can_sign"], &subkeys[1]["can_encrypt_comms"]), (&false.into(), &true.into()));

    let own = format!("/user/gpg_keys/{}", key["id"]);
    assert_eq!(scene.expect(&scene.ann, "get", &own, Value::Null, 200).await, key);
    for (token, path, keys) in [
        (&scene.ann, "/user/gpg_keys", json!([key])),
        (&scene.bob, "/users/ann/gpg_keys", json!([key])),
        (&scene.bob, "/user/gpg_keys", json!([])),
        (&scene.ann, "/user/gpg_keys?page=2&limit=1", json!([])),
    ] {
        assert_eq!(scene.expect(token, "get", path, Value::Null, 200).await, keys, "{path}");
    }
    for word in ["get", "delete"] {
        scene.expect(&scene.bob, word, &own, Value::Null, 404).await;
    }
    scene.expect(&scene.ann, "delete", &own, Value::Null, 204).await;
    scene.expect(&scene.ann, "delete", &own, Value::Null, 404).await;
    scene.expect(&scene.ann, "get", &own, Value::Null, 404).await;
    let path = "/api/farrier/v1/audit?limit=30";
    let log = scene.world.farrier.admin(http::Method::GET, path, Value::Null).await.text();
    for expected in ["gpg_key.create", "gpg_key.delete", "B48FCAC6F1EAB04F", "BCEC8AA5EE982E94"] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    // Nothing of the deleted key is left.
    scene.expect(&scene.ann, "post", "/user/gpg_keys", new_key(ANN), 201).await;
}

#[tokio::test]
async fn a_key_that_is_no_usable_key_of_the_account_is_refused() {
    let scene = Scene::new().await;
    scene.expect(&scene.ann, "post", "/user/gpg_keys", new_key(ANN), 201).await;
    let long = "x".repeat(300_000);
    let signature = json!({ "armored_public_key": RSA, "armored_signature": include_str!("../../data/gpg/rsa.sig") });
    for (token, body, message) in [
        (&scene.ann, json!({}), "Required"),
        (&scene.ann, new_key("no key"), "is not an armored public key"),
        (&scene.ann, new_key(&long), "is longer than"),
        (&scene.ann, new_key("-----BEGIN PGP PRIVATE KEY BLOCK-----\n"), "must stay secret"),
        (&scene.ann, new_key(include_str!("../../data/gpg/short.asc")), "with 1024 bits"),
        (&scene.ann, new_key(include_str!("../../data/gpg/revoked.asc")), "was revoked"),
        (&scene.ann, new_key(&format!("{ANN}{RSA}")), "has several keys"),
        (&scene.ann, new_key(ANN), "is a key of this account already"),
        (&scene.ann, new_key(RSA), "has no user ID with the address of the account"),
        (&scene.bob, new_key(ANN), "has no user ID with the address of the account"),
        (&scene.ann, signature, "is not a signature of the current token"),
    ] {
        let refused = scene.expect(token, "post", "/user/gpg_keys", body, 422).await;
        assert!(refused["message"].as_str().expect("text").contains(message), "{message}: {refused}");
    }
    for (body, status) in [
        (json!({}), 422),
        (json!({ "key_id": "no number", "armored_signature": "x" }), 404),
        (json!({ "key_id": "D39D153096FC44AF", "armored_signature": "x" }), 404),
        (json!({ "key_id": "B48FCAC6F1EAB04F", "armored_signature": "x" }), 422),
    ] {
        scene.expect(&scene.ann, "post", "/user/gpg_key_verify", body, status).await;
    }
    assert_eq!(scene.expect(&scene.ann, "get", "/user/gpg_keys", Value::Null, 200).await[0]["verified"], false);
}

#[tokio::test]
async fn the_token_to_sign_belongs_to_one_account() {
    let scene = Scene::new().await;
    let (ann, bob) = (scene.key_token(&scene.ann).await, scene.key_token(&scene.bob).await);
    assert_ne!(ann, bob);
    assert!(ann.len() == 64 && ann.bytes().all(|byte| byte.is_ascii_hexdigit()), "{ann}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_token_proves_the_possession_of_a_key() {
    let scene = Scene::new().await;
    let home = scene.world.farrier.scratch().join("g");
    let Some(gpg) = Gpg::new(home, "Somebody <other@example.org>").await else { return };
    let (text, bobs) = (gpg.public_key().await, scene.key_token(&scene.bob).await);
    let with = |signature: String| json!({ "armored_public_key": text, "armored_signature": signature });
    scene.expect(&scene.ann, "post", "/user/gpg_keys", with(gpg.sign(&bobs).await), 422).await;
    for end in ["", "\n"] {
        let signature = gpg.sign(&format!("{}{end}", scene.key_token(&scene.ann).await)).await;
        let key = scene.expect(&scene.ann, "post", "/user/gpg_keys", with(signature.clone()), 201).await;
        assert_eq!((&key["verified"], &key["emails"][0]["verified"]), (&true.into(), &false.into()));
        let proof = json!({ "key_id": key["key_id"], "armored_signature": signature });
        let shown = scene.expect(&scene.ann, "post", "/user/gpg_key_verify", proof.clone(), 200).await;
        assert_eq!(shown, key);
        scene.expect(&scene.bob, "post", "/user/gpg_key_verify", proof, 404).await;
        scene.expect(&scene.ann, "delete", &format!("/user/gpg_keys/{}", key["id"]), Value::Null, 204).await;
    }
    gpg.end().await;
}

#[tokio::test]
async fn the_keys_of_a_deleted_account_are_deleted_with_it() {
    let scene = Scene::new().await;
    scene.expect(&scene.ann, "post", "/user/gpg_keys", new_key(ANN), 201).await;
    scene.world.admin("delete", "/admin/users/ann", Value::Null, 204).await;
    scene.world.user("ann").await;
    let ann = scene.world.token("ann", &["all"]).await;
    assert_eq!(scene.expect(&ann, "get", "/user/gpg_keys", Value::Null, 200).await, json!([]));
    scene.expect(&ann, "post", "/user/gpg_keys", new_key(ANN), 201).await;
}
