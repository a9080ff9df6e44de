//! Creating, renaming and deleting branches and tags.

use farrierd::store::{events, refs};
use http::Method;
use serde_json::{Value, json};

use super::{demo, pushed};
use crate::support::{Import, TestDaemon, send};

#[tokio::test(flavor = "multi_thread")]
async fn branches_are_created_renamed_and_deleted() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let create = async |body: Value| farrier.admin(Method::POST, &demo.at("/branches"), body).await;
    let created =
        create(json!({ "new_branch_name": "topic/one", "old_ref_name": "v1.0", "old_branch_name": null })).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.json()["commit"]["id"], demo.git(&["rev-parse", "v1.0^{commit}"]));
    assert_eq!(created.json(), farrier.admin(Method::GET, &demo.at("/branches/topic/one"), json!(null)).await.json());
    let old_spelling = create(json!({ "new_branch_name": "two", "old_branch_name": "feature/x" })).await;
    assert_eq!(old_spelling.json()["commit"]["message"], "on the side");
    assert_eq!(create(json!({ "new_branch_name": "three" })).await.json()["commit"]["message"], "merge");
    for (body, status) in [
        (json!({ "new_branch_name": "three" }), 409),
        (json!({ "new_branch_name": "light" }), 409),
        (json!({ "new_branch_name": "topic" }), 409),
        (json!({ "new_branch_name": "three/more" }), 409),
        (json!({ "new_branch_name": "x", "old_ref_name": "nothing" }), 404),
        (json!({}), 422),
        (json!({ "new_branch_name": "-x" }), 422),
        (json!({ "new_branch_name": "a..b" }), 422),
        (json!({ "new_branch_name": "a".repeat(40) }), 422),
        (json!({ "new_branch_name": "b".repeat(101) }), 422),
    ] {
        assert_eq!(create(body.clone()).await.status, status, "{body}");
    }

    let rename = async |from: &str, to: &str| {
        let path = demo.at(&format!("/branches/{from}"));
        farrier.admin(Method::PATCH, &path, json!({ "name": to })).await.status
    };
    assert_eq!(rename("topic%2Fone", "topic/renamed").await, 204);
    assert_eq!(farrier.status(&demo.at("/branches/topic/one")).await, 404);
    for (from, to, status) in [("nothing", "x", 404), ("two", "three", 422), ("two", "", 422), ("two", "a b", 422)] {
        assert_eq!(rename(from, to).await, status, "{from} {to}");
    }
    assert_eq!(rename("main", "trunk").await, 204);
    assert_eq!(farrier.json(&demo.api).await["default_branch"], "trunk");
    assert_eq!(demo.git(&["symbolic-ref", "HEAD"]), "refs/heads/trunk");

    let remove = async |name: &str| {
        farrier.admin(Method::DELETE, &demo.at(&format!("/branches/{name}")), json!({})).await.status
    };
    assert_eq!([remove("trunk").await, remove("two").await, remove("two").await], [403, 204, 404]);
    assert_eq!(remove("topic/renamed").await, 204);
    let left = demo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(left.lines().collect::<Vec<_>>(), ["feature/x", "three", "trunk"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_created_and_deleted() {
    let farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let create = async |body: Value| farrier.admin(Method::POST, &demo.at("/tags"), body).await;
    let light = create(json!({ "tag_name": "new", "message": "", "target": "feature/x" })).await;
    assert_eq!((light.status, &light.json()["id"]), (201, &json!(demo.git(&["rev-parse", "feature/x"]))));
    let heavy = create(json!({ "tag_name": "rel/3", "message": "third\n\nwith a body" })).await;
    assert_eq!((heavy.status, &heavy.json()["message"]), (201, &json!("third\n\nwith a body")));
    assert_eq!(demo.git(&["cat-file", "-t", "refs/tags/rel/3"]), "tag");
    assert_eq!(heavy.json()["commit"]["sha"], demo.git(&["rev-parse", "main"]));
    for (body, status) in [
        (json!({ "tag_name": "new" }), 409),
        (json!({ "tag_name": "rel" }), 409),
        (json!({ "tag_name": "x", "target": "nothing" }), 404),
        (json!({ "tag_name": "" }), 422),
        (json!({ "tag_name": "a:b" }), 422),
    ] {
        assert_eq!(create(body.clone()).await.status, status, "{body}");
    }
    let remove =
        async |name: &str| farrier.admin(Method::DELETE, &demo.at(&format!("/tags/{name}")), json!(null)).await.status;
    assert_eq!([remove("rel%2F3").await, remove("rel/3").await, remove("new").await], [204, 404, 204]);
}

#[tokio::test]
async fn writing_requires_write_access() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let empty = farrier.git_repository("empty").await;
    let anonymous = async |method: Method, path: &str, body: &str| {
        send(&farrier.tcp(), method, &demo.at(path), &[("content-type", "application/json")], body.to_owned())
            .await
            .status
    };
    assert_eq!(anonymous(Method::POST, "/branches", r#"{"new_branch_name":"x"}"#).await, 401);
    assert_eq!(anonymous(Method::PATCH, "/branches/main", r#"{"name":"x"}"#).await, 401);
    assert_eq!(anonymous(Method::DELETE, "/branches/feature/x", "").await, 401);
    assert_eq!(anonymous(Method::POST, "/tags", r#"{"tag_name":"x"}"#).await, 401);
    assert_eq!(anonymous(Method::DELETE, "/tags/v1.0", "").await, 401);
    let body = json!({ "new_branch_name": "x" });
    assert_eq!(farrier.admin(Method::POST, &empty.at("/branches"), body).await.status, 404);
    empty.import(&Import::default().commit("main", 1, &[], "one").file("100644", "a", b"a"));
    assert_eq!(
        farrier.status(&empty.at("/branches/main")).await,
        200,
        "the branch is found although it was not pushed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_recorded_like_pushes_and_refused_in_archived_repositories() {
    let mut farrier = TestDaemon::start().await;
    let demo = pushed(&farrier).await;
    let recorded_events = async |store: &farrierd::store::Store| {
        let snapshot = store.read().await.expect("a snapshot");
        assert!(refs::marks(&snapshot).await.expect("rows").is_empty(), "every change is recorded");
        let all = events::after(&snapshot, 0, 100).await.expect("rows");
        let line = |event: &farrier_proto::store::Event| {
            format!("{} {}", event.kind, event.ref_change.clone().unwrap_or_default().r#ref)
        };
        all.iter().map(line).collect::<Vec<_>>()
    };
    let before = farrier.with_store(recorded_events).await;
    for (method, path, body, status) in [
        (Method::POST, "/branches", json!({ "new_branch_name": "one" }), 201),
        (Method::PATCH, "/branches/one", json!({ "name": "two" }), 204),
        (Method::DELETE, "/branches/two", json!(null), 204),
        (Method::POST, "/tags", json!({ "tag_name": "t", "message": "m" }), 201),
        (Method::DELETE, "/tags/t", json!(null), 204),
        (Method::DELETE, "/branches/main", json!(null), 403),
    ] {
        assert_eq!(farrier.admin(method.clone(), &demo.at(path), body).await.status, status, "{method} {path}");
    }
    let after = farrier.with_store(recorded_events).await;
    let (one, two, tag) = ("refs/heads/one", "refs/heads/two", "refs/tags/t");
    let mut new = after[before.len()..].to_vec();
    // A rename changes two refs in one transaction; the order of its events does not matter.
    new[2..5].sort();
    let renamed = [format!("create {two}"), format!("delete {one}"), format!("push {two}")];
    assert_eq!(new[..2], [format!("create {one}"), format!("push {one}")]);
    assert_eq!(new[2..5], renamed);
    let rest = ["delete", "push", "create", "push", "delete"].into_iter().zip([two, tag, tag, tag, tag]);
    assert_eq!(new[5..], rest.map(|(kind, name)| format!("{kind} {name}")).collect::<Vec<_>>());

    let archived = farrier.admin(Method::PATCH, &demo.api, json!({ "archived": true })).await;
    assert_eq!((archived.status, &archived.json()["archived"]), (200, &json!(true)));
    for (method, path, body) in [
        (Method::POST, "/branches", json!({ "new_branch_name": "one" })),
        (Method::DELETE, "/branches/feature/x", json!(null)),
        (Method::POST, "/tags", json!({ "tag_name": "t" })),
        (Method::DELETE, "/tags/v1.0", json!(null)),
    ] {
        assert_eq!(farrier.admin(method.clone(), &demo.at(path), body).await.status, 423, "{method} {path}");
    }
}
