//! The list of the mirrors of all repositories.

use http::Method;
use serde_json::{Value, json};

use super::{daemon, filled, mirror, synced};
use crate::support::send;

const MIRRORS: &str = "/api/farrier/v1/mirrors";

#[tokio::test(flavor = "multi_thread")]
async fn mirrors_of_all_repositories_are_listed_by_state_page_by_page() {
    let (source, farrier) = (daemon().await, daemon().await);
    filled(&source, "origin").await;
    filled(&farrier, "demo").await;
    let copy = mirror(&farrier, &format!("{}/admin/origin", source.url), json!({})).await;
    let push = json!({ "remote_address": format!("{}/admin/gone", source.url), "interval": "0" });
    for _ in 0..2 {
        let added = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/push_mirrors", push.clone()).await;
        assert_eq!(added.status, 200, "{added:?}");
    }
    let listed = async |query: &str| {
        let answer = farrier.show(&format!("{MIRRORS}{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        answer.json().as_array().cloned().expect("a list")
    };
    let all = listed("").await;
    let kinds: Vec<_> =
        all.iter().map(|one| format!("{} {} {}", one["repository"], one["kind"], one["state"])).collect();
    let [demo, pull] = [r#""admin/demo" "push" "unused""#, r#""admin/copy" "pull" "ok""#];
    assert_eq!(kinds, [demo, demo, pull]);
    assert!(listed("?state=failing").await.is_empty());

    // The push mirrors fail at once, and the pull mirror after its source is gone.
    let sync = farrier.admin(Method::POST, "/api/v1/repos/admin/demo/push_mirrors-sync", Value::Null).await;
    assert_eq!(sync.status, 422, "{sync:?}");
    assert_eq!(source.admin(Method::DELETE, "/api/v1/repos/admin/origin", Value::Null).await.status, 204);
    synced(&farrier).await;
    let failing = listed("?state=failing").await;
    assert_eq!(failing.len(), 3, "{failing:?}");
    let last = &failing[2];
    assert_eq!((&last["repository_id"], &last["failures"], &last["name"]), (&copy["id"], &json!(1), &json!("")));
    assert!(last["error"] != "" && last["address"] == format!("{}/admin/origin", source.url), "{last}");
    assert_eq!(last["failing_since"], last["updated_at"], "it failed once");
    let since = last["failing_since"].clone();
    synced(&farrier).await;
    let again = listed("?state=failing").await;
    assert_eq!((&again[2]["failures"], &again[2]["failing_since"]), (&json!(2), &since));

    let mut paged = Vec::new();
    let mut path = format!("{MIRRORS}?state=failing&limit=1");
    for _ in 0..4 {
        let page = farrier.show(&path).await;
        paged.extend(page.json().as_array().cloned().expect("a list"));
        let Some(next) = page.header("link").split(['<', '>']).nth(1) else { break };
        path = next[next.find("/api/").expect("a path")..].to_owned();
    }
    assert_eq!(paged, again);
    for bad in ["?state=odd", "?cursor=x", "?cursor=1"] {
        assert_eq!(farrier.show(&format!("{MIRRORS}{bad}")).await.status, 422, "{bad}");
    }
    let anonymous = send(&farrier.tcp(), Method::GET, MIRRORS, &[], "").await;
    assert_eq!(anonymous.status, 401, "{anonymous:?}");
}
