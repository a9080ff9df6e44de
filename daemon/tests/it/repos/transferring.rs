//! Transfers of repositories to other owners.

use farrierd::clock::Clock;
use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::{World, names},
    support::git::Client,
};

const START_MS: i64 = 1_767_323_045_000;
const DAY_MS: i64 = 86_400_000;

/// A daemon with the accounts `ann`, `bob` and `eve`, and the organization `acme` of `ann`.
async fn world() -> World {
    world_with_clock(Clock::manual(START_MS)).await
}

async fn world_with_clock(clock: Clock) -> World {
    let world = World::with_clock(clock).await;
    for name in ["ann", "bob", "eve"] {
        world.user(name).await;
    }
    world.admin("post", "/admin/users/ann/orgs", json!({ "username": "acme" }), 201).await;
    world
}

async fn header(world: &World, name: &str) -> String {
    format!("token {}", world.token(name, &["all"]).await)
}

/// Creates `ann/NAME` with a commit.
async fn repository(world: &World, name: &str, private: bool) {
    let body = json!({ "name": name, "private": private, "auto_init": true });
    world.admin("post", "/admin/users/ann/repos", body, 201).await;
}

/// Events and actions of the deliveries of a hook.
async fn events(world: &World, hook: &str) -> Vec<String> {
    let list = world.admin("get", &format!("{hook}/deliveries"), Value::Null, 200).await;
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let all = list.as_array().expect("a list").iter();
    all.map(|item| format!("{} {}", text(item, "event"), text(item, "action"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_moves_at_once_to_an_organization_of_the_caller_with_everything_it_has() {
    let world = world().await;
    repository(&world, "tool", true).await;
    let ann = header(&world, "ann").await;
    let bob = header(&world, "bob").await;
    world.admin("put", "/repos/ann/tool/collaborators/bob", json!({ "permission": "write" }), 204).await;
    assert_eq!(world.status(&bob, "put", "/user/starred/ann/tool", Value::Null).await, 204);
    let release = json!({ "tag_name": "v1", "name": "One" });
    world.admin("post", "/repos/ann/tool/releases", release, 201).await;
    let config = json!({ "url": "http://203.0.113.9/", "content_type": "json" });
    let hook = json!({ "type": "gitea", "active": true, "config": config, "events": ["repository"] });
    let of_repository = world.admin("post", "/repos/ann/tool/hooks", hook.clone(), 201).await["id"].clone();
    let of_org = world.admin("post", "/orgs/acme/hooks", hook.clone(), 201).await["id"].clone();
    let of_ann = world.ask(&ann, "post", "/user/hooks", hook).await.json()["id"].clone();
    let id = world.get(&ann, "/repos/ann/tool").await.1["id"].clone();

    let moved = world.ask(&ann, "post", "/repos/ann/tool/transfer", json!({ "new_owner": "ACME" })).await;
    assert_eq!(moved.status, 202, "{moved:?}");
    let moved = moved.json();
    assert_eq!((&moved["full_name"], &moved["id"]), (&json!("acme/tool"), &id));
    assert_eq!((&moved["stars_count"], &moved["release_counter"]), (&json!(1), &json!(1)));
    assert!(moved.get("repo_transfer").is_none(), "{moved}");
    assert_eq!(names(&world.get(&ann, "/users/ann/repos").await.1, "name"), [""; 0]);
    assert_eq!(names(&world.get(&ann, "/orgs/acme/repos").await.1, "name"), ["tool"]);
    assert_eq!(names(&world.get(&bob, "/user/starred").await.1, "full_name"), ["acme/tool"]);
    assert_eq!(names(&world.get(&ann, "/repos/acme/tool/collaborators").await.1, "login"), ["bob"]);
    assert_eq!(names(&world.get(&bob, "/repos/acme/tool/releases").await.1, "name"), ["One"]);

    let old = world.ask(&bob, "get", "/repos/ann/tool/releases?page=1", Value::Null).await;
    let location = old.header("location").trim_start_matches(&world.farrier.url);
    assert_eq!((old.status, location), (307, "/api/v1/repos/acme/tool/releases?page=1"));
    let eve = header(&world, "eve").await;
    assert_eq!(world.status(&eve, "get", "/repos/ann/tool", Value::Null).await, 404);
    let token = world.token("bob", &["all"]).await;
    let work = Client::at(world.farrier.scratch().join("clones"));
    for path in ["ann/tool", "acme/tool"] {
        let directory = path.replace('/', "-");
        work.done(&["clone", "-q", &world.farrier.remote(path, &token), &directory]);
    }

    let expected = ["repository transferred"];
    assert_eq!(events(&world, &format!("/repos/acme/tool/hooks/{of_repository}")).await, expected);
    assert_eq!(events(&world, &format!("/orgs/acme/hooks/{of_org}")).await, expected);
    let own = world.get(&ann, &format!("/user/hooks/{of_ann}/deliveries")).await.1;
    assert_eq!(own[0]["action"], "transferred", "{own}");
    let detail = world.get(&ann, &format!("/user/hooks/{of_ann}/deliveries/{}", own[0]["id"])).await.1;
    let payload: Value = match &detail["request"]["payload"] {
        Value::String(text) => serde_json::from_str(text).expect("JSON"),
        other => other.clone(),
    };
    assert_eq!(payload["changes"]["owner"]["from"], "ann", "{detail}");
    let audit = world.farrier.admin(Method::GET, "/api/farrier/v1/audit?action=repository.transfer", Value::Null).await;
    assert_eq!(audit.json()[0]["after"]["owner"], "acme", "{}", audit.text());

    repository(&world, "tool", false).await;
    let taken = world.get(&ann, "/repos/ann/tool").await;
    assert_eq!((taken.0, &taken.1["full_name"]), (200, &json!("ann/tool")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offered_repository_moves_when_the_new_owner_accepts() {
    let world = world().await;
    repository(&world, "tool", true).await;
    let (ann, bob, eve) = (header(&world, "ann").await, header(&world, "bob").await, header(&world, "eve").await);
    world.admin("put", "/repos/ann/tool/collaborators/eve", json!({ "permission": "admin" }), 204).await;
    let to_bob = json!({ "new_owner": "bob" });
    assert_eq!(world.status(&eve, "post", "/repos/ann/tool/transfer", to_bob.clone()).await, 403);
    let offered = world.ask(&ann, "post", "/repos/ann/tool/transfer", to_bob.clone()).await;
    assert_eq!(offered.status, 201, "{offered:?}");
    let offer = offered.json()["repo_transfer"].clone();
    assert_eq!((&offer["doer"]["login"], &offer["recipient"]["login"]), (&json!("ann"), &json!("bob")));
    assert_eq!(offer["teams"], json!([]));
    assert_eq!(world.status(&ann, "post", "/repos/ann/tool/transfer", to_bob).await, 409);
    let to_acme = json!({ "new_owner": "acme" });
    assert_eq!(world.status(&ann, "post", "/repos/ann/tool/transfer", to_acme).await, 409);
    assert!(world.get(&ann, "/repos/ann/tool").await.1.get("repo_transfer").is_some());
    assert!(world.get(&eve, "/repos/ann/tool").await.1.get("repo_transfer").is_none());
    assert_eq!(world.get(&bob, "/repos/ann/tool").await.0, 404, "an offer gives no access");

    assert_eq!(world.status("", "post", "/repos/ann/tool/transfer/accept", Value::Null).await, 404);
    assert_eq!(world.status(&eve, "post", "/repos/ann/tool/transfer/accept", Value::Null).await, 403);
    assert_eq!(world.status(&ann, "post", "/repos/ann/tool/transfer/accept", Value::Null).await, 403);
    world.admin("put", "/repos/ann/tool/collaborators/bob", json!({ "permission": "read" }), 204).await;
    let moved = world.ask(&bob, "post", "/repos/ann/tool/transfer/accept", Value::Null).await;
    assert_eq!((moved.status, &moved.json()["full_name"]), (202, &json!("bob/tool")), "{moved:?}");
    let collaborators = world.get(&bob, "/repos/bob/tool/collaborators").await.1;
    assert_eq!(names(&collaborators, "login"), ["eve"], "an owner is no collaborator");
    assert_eq!(world.status(&bob, "post", "/repos/bob/tool/transfer/accept", Value::Null).await, 404);
    assert_eq!(world.get(&ann, "/repos/ann/tool").await.0, 404, "the previous owner has no access to it");
    assert_eq!(world.get(&eve, "/repos/bob/tool").await.0, 200, "collaborators stay");
    world.admin("put", "/repos/bob/tool/collaborators/ann", json!({ "permission": "read" }), 204).await;
    assert_eq!(world.get(&ann, "/repos/ann/tool").await.0, 307);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_ends_when_it_is_rejected_withdrawn_or_old_or_when_an_account_is_deleted() {
    let clock = Clock::manual(START_MS);
    let world = world_with_clock(clock.clone()).await;
    repository(&world, "tool", false).await;
    let ann = header(&world, "ann").await;
    let offer = async |to: &str| {
        let answer = world.ask(&ann, "post", "/repos/ann/tool/transfer", json!({ "new_owner": to })).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    };
    let pending = async || world.get(&ann, "/repos/ann/tool").await.1.get("repo_transfer").is_some();
    let (bob, eve) = (header(&world, "bob").await, header(&world, "eve").await);
    for (caller, status) in [(&eve, 403), (&bob, 200), (&bob, 404)] {
        if status == 200 {
            assert!(pending().await);
        } else if status == 403 {
            offer("bob").await;
        }
        assert_eq!(world.status(caller, "post", "/repos/ann/tool/transfer/reject", Value::Null).await, status);
    }
    assert!(!pending().await);
    offer("bob").await;
    assert_eq!(world.status(&ann, "post", "/repos/ann/tool/transfer/reject", Value::Null).await, 200);
    offer("bob").await;
    clock.advance_ms(30 * DAY_MS - 1);
    assert!(pending().await);
    clock.advance_ms(1);
    assert!(!pending().await);
    let bob = header(&world, "bob").await;
    assert_eq!(world.status(&bob, "post", "/repos/ann/tool/transfer/accept", Value::Null).await, 404);
    offer("eve").await;
    world.admin("delete", "/admin/users/eve", Value::Null, 204).await;
    assert!(!pending().await);
    offer("bob").await;
    world.admin("delete", "/repos/ann/tool", Value::Null, 204).await;
    assert_eq!(world.status(&bob, "post", "/repos/ann/tool/transfer/accept", Value::Null).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_transfers_change_nothing() {
    let world = world().await;
    repository(&world, "tool", false).await;
    let ann = header(&world, "ann").await;
    world.admin("post", "/admin/users/bob/repos", json!({ "name": "Tool" }), 201).await;
    world.admin("patch", "/admin/users/eve", json!({ "max_repo_creation": 0 }), 200).await;
    for (body, status) in [
        (json!({}), 404),
        (json!({ "new_owner": null }), 404),
        (json!({ "new_owner": "nobody" }), 404),
        (json!({ "new_owner": "Ann" }), 422),
        (json!({ "new_owner": "bob" }), 422),
        (json!({ "new_owner": "eve", "team_ids": [1] }), 422),
        (json!({ "new_owner": "acme", "team_ids": [-1] }), 422),
        (json!({ "new_owner": "acme", "team_ids": [9_999] }), 422),
        (json!({ "new_owner": 7 }), 422),
    ] {
        let answer = world.ask(&ann, "post", "/repos/ann/tool/transfer", body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    let limited = world.token_with("ann", json!({ "scopes": ["all", "public-only"] })).await;
    let to_acme = json!({ "new_owner": "acme" });
    let refused = world.status(&format!("token {limited}"), "post", "/repos/ann/tool/transfer", to_acme).await;
    assert_eq!(refused, 403);
    let offer = json!({ "new_owner": "eve", "team_ids": null });
    assert_eq!(world.status(&ann, "post", "/repos/ann/tool/transfer", offer).await, 201);
    let eve = header(&world, "eve").await;
    let full = world.status(&eve, "post", "/repos/ann/tool/transfer/accept", Value::Null).await;
    assert_eq!(full, 403, "the new owner may have no repositories");
    assert_eq!(world.get(&ann, "/repos/ann/tool").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_data_of_moved_and_offered_repositories_is_consistent_after_a_restart() {
    let mut world = world().await;
    for name in ["moved", "offered"] {
        repository(&world, name, true).await;
    }
    let ann = header(&world, "ann").await;
    let to = async |name: &str, owner: &str| {
        world.status(&ann, "post", &format!("/repos/ann/{name}/transfer"), json!({ "new_owner": owner })).await
    };
    assert_eq!([to("moved", "acme").await, to("offered", "bob").await], [202, 201]);
    world.farrier.stop().await;
    let checked = world.farrier.check_data(&[]).await;
    assert!(checked.status.success(), "{checked:?}");
    world.farrier.restart().await;
    let bob = header(&world, "bob").await;
    assert_eq!(world.status(&bob, "post", "/repos/ann/offered/transfer/accept", Value::Null).await, 202);
    assert_eq!(world.get(&bob, "/repos/bob/offered").await.0, 200);
}
