//! Hostile patterns and sizes.

use serde_json::{Value, json};

use super::{BRANCHES, Scene, TAGS};

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_has_at_most_256_rules_of_each_kind_and_pushes_still_work() {
    let scene = Scene::new().await;
    for number in 0..256 {
        scene.branch_rule(&format!("*[{number}-]{{a,b}}**"), json!({})).await;
        scene.tag_rule(&format!("/^(x+)+{number}$/"), json!(["ann"])).await;
    }
    let refused = scene.ann("post", BRANCHES, json!({ "rule_name": "more" }), 422).await;
    assert!(refused["message"].as_str().expect("text").contains("256"), "{refused}");
    scene.ann("post", TAGS, json!({ "name_pattern": "more", "whitelist_usernames": ["ann"] }), 422).await;
    assert_eq!(scene.ann("get", BRANCHES, Value::Null, 200).await.as_array().expect("a list").len(), 256);
    let bob = scene.clone(&scene.bob, "bob");
    let long = "x".repeat(180);
    bob.done(&["push", "-q", "origin", &format!("main:refs/tags/{long}y"), &format!("main:refs/heads/{long}")]);
}

#[tokio::test]
async fn patterns_and_lists_that_would_need_much_memory_or_time_are_refused() {
    let scene = Scene::new().await;
    for bomb in ["/((((a{99}){99}){99}){99})/", r"/(\w{999}){9}/", &format!("/{}/", "(".repeat(120))] {
        let body = json!({ "name_pattern": bomb, "whitelist_usernames": ["ann"] });
        let refused = scene.ann("post", TAGS, body, 422).await;
        assert_eq!(refused["field"], "name_pattern", "{refused}");
    }
    for bomb in ["{".repeat(255), "a\u{1b}[0m".to_owned(), "[".to_owned()] {
        scene.ann("post", BRANCHES, json!({ "rule_name": bomb }), 422).await;
    }
    let many: Vec<String> = (0..600).map(|_| "ann".to_owned()).collect();
    scene.ann("post", BRANCHES, json!({ "rule_name": "a", "push_whitelist_usernames": many }), 422).await;
    let rule = scene.branch_rule("main", json!({})).await;
    let order = json!({ "ids": vec![rule["id"].clone(); 257] });
    let refused = scene.ann("post", &format!("{BRANCHES}/priority"), order, 422).await;
    assert_eq!(refused["field"], "ids", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_of_very_many_protected_branches_is_refused() {
    let scene = Scene::new().await;
    scene.branch_rule("many/*", json!({ "protected_file_patterns": "x" })).await;
    let bob = scene.clone(&scene.bob, "bob");
    let names: Vec<String> = (0..101).map(|number| format!("main:refs/heads/many/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let refused = bob.refused(&[&["push", "origin"][..], &names].concat());
    assert!(refused.contains("push at most 100 such branches at once"), "{refused}");
    bob.done(&[&["push", "-q", "origin"][..], &names[..100]].concat());
}
