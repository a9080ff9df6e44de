//! Reading tags and tag objects.

use super::demo;
use crate::support::TestDaemon;

#[tokio::test]
async fn lightweight_and_annotated_tags_are_served() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let list = farrier.get(&demo.at("/tags")).await;
    assert_eq!(list.header("x-total-count"), "3");
    let list = list.json();
    let names: Vec<_> =
        list.as_array().expect("a list").iter().map(|tag| tag["name"].as_str().expect("text")).collect();
    assert_eq!(names, ["light", "release/2", "v1.0"]);

    let v1 = farrier.json(&demo.at("/tags/v1.0")).await;
    assert_eq!(v1, list[2]);
    assert_eq!(v1["message"], "version one");
    assert_eq!(v1["id"], demo.git(&["rev-parse", "v1.0"]));
    assert_eq!(v1["commit"]["sha"], demo.git(&["rev-parse", "v1.0^{commit}"]));
    assert_eq!(v1["commit"]["created"], "2026-01-02T06:04:05Z");
    let light = farrier.json(&demo.at("/tags/light")).await;
    assert_eq!(light["id"], light["commit"]["sha"]);
    assert_eq!(farrier.json(&demo.at("/tags/release%2F2")).await, farrier.json(&demo.at("/tags/release/2")).await);
    assert_eq!(farrier.status(&demo.at("/tags/release")).await, 404);

    let object = farrier.json(&demo.at(&format!("/git/tags/{}", v1["id"].as_str().expect("text")))).await;
    assert_eq!((object["tag"].as_str(), object["message"].as_str()), (Some("v1.0"), Some("version one\n")));
    assert_eq!((&object["object"]["type"], &object["object"]["sha"]), (&"commit".into(), &v1["commit"]["sha"]));
    assert_eq!(object["tagger"]["date"], "2026-01-03T00:26:40Z");
    let commit = v1["commit"]["sha"].as_str().expect("text");
    assert_eq!(farrier.status(&demo.at(&format!("/git/tags/{commit}"))).await, 404);
    assert_eq!(farrier.status(&demo.at("/git/tags/v1.0")).await, 400);
}
