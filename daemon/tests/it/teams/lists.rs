//! Lists of repositories contain those of the caller's teams.

use serde_json::{Value, json};

use super::Acme;
use crate::accounts::world::names;

/// The names and the total in each list that `dev` may read.
async fn lists(acme: &Acme) -> [(String, String); 4] {
    let id = acme.world.get(&acme.dev, "/user").await.1["id"].to_string();
    let searched = format!("/repos/search?uid={id}");
    let mut found = Vec::new();
    for path in ["/user/repos", "/orgs/acme/repos", "/repos/search", &searched] {
        let answer = acme.world.ask(&acme.dev, "get", path, Value::Null).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let total = answer.header("x-total-count").to_owned();
        let body = answer.json();
        let mut names = names(body.get("data").unwrap_or(&body), "name");
        names.sort_unstable();
        found.push((names.join(" "), total));
    }
    found.try_into().expect("four lists")
}

fn all(names: &str) -> [(String, String); 4] {
    let total = names.split_whitespace().count().to_string();
    std::array::from_fn(|_| (names.to_owned(), total.clone()))
}

#[tokio::test]
async fn lists_and_totals_follow_the_teams_of_the_caller() {
    let acme = Acme::new().await;
    for name in ["lib", "secret"] {
        acme.as_boss("post", "/orgs/acme/repos", json!({ "name": name, "private": true }), 201).await;
    }
    assert_eq!(lists(&acme).await, all(""));
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    assert_eq!(lists(&acme).await, all("app"));
    acme.as_boss("put", "/repos/acme/lib/teams/devs", Value::Null, 204).await;
    acme.as_boss("put", "/repos/acme/app/collaborators/dev", json!({ "permission": "read" }), 204).await;
    assert_eq!(lists(&acme).await, all("app lib"), "listed once");
    acme.as_boss("patch", &team, json!({ "includes_all_repositories": true }), 200).await;
    assert_eq!(lists(&acme).await, all("app lib secret"));
    acme.as_boss("patch", &team, json!({ "units_map": { "repo.releases": "write" } }), 200).await;
    assert_eq!(lists(&acme).await, all("app"), "the team does not see code, dev is a collaborator");
    acme.as_boss("delete", &team, Value::Null, 204).await;
    assert_eq!(lists(&acme).await, all("app"));
}

#[tokio::test]
async fn assignees_may_write_and_reviewers_may_read() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"], "permission": "write" })).await;
    acme.world.user_with("shy", json!({ "visibility": "private" })).await;
    for (user, permission) in [("eve", "read"), ("dev", "read"), ("shy", "write")] {
        let path = format!("/repos/acme/app/collaborators/{user}");
        acme.world.admin("put", &path, json!({ "permission": permission }), 204).await;
    }
    let listed = async |who: &str, list: &str| {
        let answer = acme.world.ask(who, "get", &format!("/repos/acme/app/{list}"), Value::Null).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let names = names(&answer.json(), "login");
        assert_eq!(answer.header("x-total-count"), names.len().to_string(), "{list}");
        names
    };
    assert_eq!(listed(&acme.boss, "assignees").await, ["boss", "dev", "shy"]);
    assert_eq!(listed(&acme.boss, "reviewers").await, ["boss", "dev", "eve", "shy"]);
    assert_eq!(listed(&acme.dev, "reviewers").await, ["boss", "dev", "eve"], "shy is visible to administrators only");
    let eve = format!("token {}", acme.world.token("eve", &["all"]).await);
    assert_eq!(listed(&eve, "assignees").await, ["dev"], "dev is a collaborator, and boss is a concealed member");
    acme.as_boss("put", "/orgs/acme/public_members/boss", Value::Null, 204).await;
    assert_eq!(listed(&eve, "assignees").await, ["boss", "dev"]);
    acme.as_boss("patch", "/orgs/acme", json!({ "visibility": "private" }), 200).await;
    assert_eq!(listed(&eve, "assignees").await, ["dev"], "eve does not see the organization");
    acme.as_boss("delete", &team, Value::Null, 204).await;
    assert_eq!(listed(&acme.boss, "assignees").await, ["boss", "shy"], "dev may only read");

    acme.world.admin("post", "/admin/users/eve/repos", json!({ "name": "own" }), 201).await;
    for list in ["assignees", "reviewers"] {
        let own = acme.as_boss("get", &format!("/repos/eve/own/{list}"), Value::Null, 200).await;
        assert_eq!(names(&own, "login"), ["eve"], "{list}");
    }
}

#[tokio::test]
async fn restricted_accounts_and_narrow_tokens_list_what_they_may_read() {
    let acme = Acme::new().await;
    acme.as_boss("post", "/orgs/acme/repos", json!({ "name": "open" }), 201).await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    let id = acme.as_boss("get", "/repos/acme/app", Value::Null, 200).await["id"].clone();
    let narrow = acme
        .world
        .token_with("dev", json!({ "scopes": ["all"], "repositories": [{ "owner": "acme", "name": "app" }] }))
        .await;
    let public = acme.world.token("dev", &["all", "public-only"]).await;
    for (token, expected) in [(&narrow, vec!["app", "open"]), (&public, vec!["open"])] {
        let (_, listed) = acme.world.get(&format!("token {token}"), "/orgs/acme/repos").await;
        assert_eq!(names(&listed, "name"), expected, "{id}");
    }
    acme.world.admin("patch", "/admin/users/dev", json!({ "restricted": true }), 200).await;
    assert_eq!(lists(&acme).await, all("app"));
    acme.as_boss("patch", &team, json!({ "includes_all_repositories": true }), 200).await;
    assert_eq!(lists(&acme).await, all("app open"));
}

#[tokio::test]
async fn a_search_can_be_limited_to_a_team() {
    let acme = Acme::new().await;
    acme.as_boss("post", "/orgs/acme/repos", json!({ "name": "open" }), 201).await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    let path = format!("/repos/search?team_id={}", team.rsplit_once('/').expect("an id").1);
    let searched = async |who: &str, path: &str| names(&acme.world.get(who, path).await.1["data"], "name");
    assert_eq!(searched(&acme.dev, &path).await, ["app"]);
    assert_eq!(searched(&acme.boss, &path).await, ["app"]);
    assert_eq!(searched("", &path).await, [""; 0]);
    acme.as_boss("patch", &team, json!({ "includes_all_repositories": true }), 200).await;
    assert_eq!(searched(&acme.dev, &path).await, ["app", "open"]);
    assert_eq!(searched(&acme.dev, &format!("{path}&q=op")).await, ["open"]);
    assert_eq!(searched(&acme.dev, "/repos/search?team_id=999999").await, [""; 0]);
    let repositories = acme.as_boss("get", &format!("{team}/repos?limit=1"), Value::Null, 200).await;
    assert_eq!(names(&repositories, "name"), ["app"]);
}

#[tokio::test]
async fn hooks_of_repositories_that_a_team_administers_are_manageable() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"] })).await;
    let hook = json!({ "type": "gitea", "config": { "url": "http://203.0.113.9/", "content_type": "json" } });
    acme.as_boss("post", "/repos/acme/app/hooks", hook, 201).await;
    let listed = async || {
        let headers = [("authorization", acme.dev.as_str())];
        let path = "/api/farrier/v1/hooks";
        let answer = crate::support::send(&acme.world.farrier.tcp(), http::Method::GET, path, &headers, "").await;
        answer.json().as_array().map(Vec::len)
    };
    assert_eq!(listed().await, Some(0));
    acme.as_boss("patch", &team, json!({ "permission": "admin" }), 200).await;
    assert_eq!(listed().await, Some(1));
    acme.as_boss("patch", &team, json!({ "includes_all_repositories": true }), 200).await;
    assert_eq!(listed().await, Some(1));
    acme.as_boss("delete", &format!("{team}/members/dev"), Value::Null, 204).await;
    assert_eq!(listed().await, Some(0));
}
