//! Settings and templates of the server.

use super::world::World;

#[tokio::test]
async fn settings_and_templates_are_public() {
    let world = World::new().await;
    let (_, api) = world.get("", "/settings/api").await;
    assert_eq!((&api["max_response_items"], &api["default_paging_num"]), (&50.into(), &30.into()));
    for kind in ["repository", "ui", "attachment"] {
        assert_eq!(world.get("", &format!("/settings/{kind}")).await.0, 200);
    }
    let (_, ignores) = world.get("", "/gitignore/templates").await;
    assert!(ignores.as_array().expect("a list").contains(&"Rust".into()));
    let (_, rust) = world.get("", "/gitignore/templates/rust").await;
    assert_eq!(rust["name"], "Rust");
    assert!(rust["source"].as_str().expect("text").contains("target/"));
    let (_, licenses) = world.get("", "/licenses").await;
    let url = licenses[4]["url"].as_str().expect("text").to_owned();
    assert_eq!(url, format!("{}/api/v1/licenses/MIT", world.farrier.url));
    assert!(world.get("", "/licenses/mit").await.1["body"].as_str().expect("text").starts_with("MIT"));
    assert_eq!(world.get("", "/label/templates").await.1[0], "Default");
    assert_eq!(world.get("", "/label/templates/Default").await.1[0]["name"], "bug");
    for missing in ["/gitignore/templates/x", "/licenses/x", "/label/templates/x", "/signing-key.gpg"] {
        let (status, body) = world.get("", missing).await;
        assert_eq!((status, body["message"].is_string()), (404, true), "{missing}");
    }
}
