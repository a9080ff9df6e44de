//! The settings and the email addresses of the caller's own account.

use serde_json::{Value, json};

use super::world::World;

#[tokio::test]
async fn users_change_their_own_settings_and_learn_which_are_ignored() {
    let world = World::new().await;
    world.user("ann").await;
    let ann = &*format!("token {}", world.token("ann", &["all"]).await);
    let body = json!({ "full_name": "Ann", "website": "https://ann.example", "location": null, "theme": "dark", "hide_email": true });
    let answer = world.ask(ann, "patch", "/user/settings", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-farrier-ignored-settings"), "theme");
    let settings = world.get(ann, "/user/settings").await.1;
    assert_eq!(settings, answer.json());
    for (key, value) in [
        ("full_name", json!("Ann")),
        ("website", json!("https://ann.example")),
        ("location", json!("")),
        ("hide_email", json!(true)),
        ("theme", json!("gitea-auto")),
    ] {
        assert_eq!(settings[key], value, "{key}");
    }
    assert_eq!(world.get("", "/users/ann").await.1["full_name"], "Ann");
    world.user("bob").await;
    let bob = &*format!("token {}", world.token("bob", &["all"]).await);
    for (who, is_shown) in [(bob, false), (ann, true)] {
        let email = world.get(who, "/users/ann").await.1["email"].as_str().map(str::to_owned);
        assert_eq!(email.as_deref() == Some("ann@example.org"), is_shown, "{who}: {email:?}");
    }
    assert_eq!(world.get(bob, "/users/search?q=ann%40example").await.1["data"], json!([]));
    for (who, word, body, status) in [
        ("", "get", Value::Null, 401),
        ("", "patch", json!({}), 401),
        (ann, "patch", json!({ "website": "javascript:1" }), 422),
        (ann, "patch", json!({ "full_name": "x".repeat(300) }), 422),
    ] {
        assert_eq!(world.ask(who, word, "/user/settings", body.clone()).await.status, status, "{word} {body}");
    }
    assert_eq!(world.get(ann, "/user/settings").await.1, settings);
}

#[tokio::test]
async fn other_email_addresses_are_added_and_removed_but_identify_nobody() {
    let world = World::new().await;
    world.user("ann").await;
    world.user("bob").await;
    let ann = &*format!("token {}", world.token("ann", &["all"]).await);
    let ask = async |word: &str, emails: Value| world.ask(ann, word, "/user/emails", json!({ "emails": emails })).await;
    let added = ask("post", json!(["two@example.org", "three@example.org"])).await;
    assert_eq!((added.status, added.json().as_array().map(Vec::len)), (201, Some(3)), "{added:?}");
    for (word, emails, status) in [
        ("post", json!([]), 422),
        ("post", json!(["no address"]), 422),
        ("post", json!(["bob@example.org"]), 422),
        ("post", json!(["ANN@example.org"]), 422),
        ("post", json!(["Two@example.org"]), 422),
        ("delete", json!(["ann@example.org"]), 404),
        ("delete", json!(["THREE@example.org"]), 204),
        ("delete", json!(["three@example.org"]), 404),
    ] {
        assert_eq!(ask(word, emails.clone()).await.status, status, "{word} {emails}");
    }
    let list = world.get(ann, "/user/emails").await.1;
    let shown: Vec<_> =
        list.as_array().expect("a list").iter().map(|row| (row["email"].clone(), row["primary"].clone())).collect();
    assert_eq!(shown, [(json!("ann@example.org"), json!(true)), (json!("two@example.org"), json!(false))]);
    // An address that somebody only claims can still be given to another account.
    world.user_with("two", json!({ "email": "two@example.org" })).await;
}
