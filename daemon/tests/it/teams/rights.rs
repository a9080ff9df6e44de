//! What members of a team may do, for each unit and level.

use http::Method;
use serde_json::{Value, json};

use super::Acme;
use crate::support::{git::Client, send};

/// What `dev` may do with `acme/app`: `r` see it, `f` fetch, `p` push, `c` change a file through the API, `l` list
/// releases, `e` create one, `a` list runs, `j` begin a job, `s` change the settings.
async fn rights(acme: &Acme, work: &Client, remote: &str, n: usize) -> String {
    let file = json!({ "content": "eA==", "branch": "main" });
    let release = json!({ "tag_name": format!("v{n}"), "draft": true });
    let mut found = String::new();
    let mut note = |letter, permitted: bool| {
        if permitted {
            found.push(letter);
        }
    };
    note('r', acme.dev("get", "/repos/acme/app", Value::Null).await == 200);
    note('f', work.run(&["ls-remote", remote]).ok);
    note('p', work.run(&["push", "-q", remote, &format!("HEAD:refs/heads/b{n}")]).ok);
    note('c', acme.dev("post", &format!("/repos/acme/app/contents/f{n}"), file).await == 201);
    note('l', acme.dev("get", "/repos/acme/app/releases", Value::Null).await == 200);
    note('e', acme.dev("post", "/repos/acme/app/releases", release).await == 201);
    note('a', acme.dev("get", "/repos/acme/app/actions/runs", Value::Null).await == 200);
    let headers = [("authorization", acme.dev.as_str()), ("content-type", "application/json")];
    let job = json!({ "repo": "acme/app" }).to_string();
    let begun = send(&acme.world.farrier.tcp(), Method::POST, "/api/farrier/v1/jobs", &headers, job).await;
    note('j', begun.status < 300);
    note('s', acme.dev("patch", "/repos/acme/app", json!({ "description": format!("{n}") })).await == 200);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn each_unit_and_level_of_a_team_permits_its_actions_at_once() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "units": ["repo.code"], "permission": "read" })).await;
    let token = acme.dev.trim_start_matches("token ").to_owned();
    let remote = acme.world.farrier.remote("acme/app", &token);
    let work = Client::init(acme.world.farrier.scratch().join("work"));
    work.commit("a", "a");
    let map = |units: &[(&str, &str)]| {
        let units: serde_json::Map<_, _> =
            units.iter().map(|(unit, right)| (format!("repo.{unit}"), json!(right))).collect();
        json!({ "permission": "none", "units_map": units })
    };
    for (n, (edit, expected)) in [
        (map(&[("code", "read")]), "rf"),
        (map(&[("code", "write")]), "rfpc"),
        (map(&[("code", "read"), ("releases", "read")]), "rfl"),
        (map(&[("code", "read"), ("releases", "write")]), "rfle"),
        (map(&[("code", "read"), ("actions", "read")]), "rfa"),
        (map(&[("code", "read"), ("actions", "write")]), "rfaj"),
        (map(&[("code", "read"), ("issues", "admin"), ("wiki", "write")]), "rf"),
        (map(&[("code", "admin")]), "rfpc"),
        (map(&[("releases", "write"), ("actions", "write")]), ""),
        (json!({ "permission": "write", "units": ["repo.code", "repo.releases", "repo.actions"] }), "rfpcleaj"),
        (json!({ "permission": "read" }), "rfla"),
        (json!({ "permission": "admin" }), "rfpcleajs"),
        (map(&[("code", "read")]), "rf"),
    ]
    .into_iter()
    .enumerate()
    {
        acme.as_boss("patch", &team, edit.clone(), 200).await;
        assert_eq!(rights(&acme, &work, &remote, n).await, expected, "{edit}");
    }
    acme.as_boss("delete", &format!("{team}/repos/acme/app"), Value::Null, 204).await;
    assert_eq!(rights(&acme, &work, &remote, 90).await, "", "the team does not have the repository any more");
    acme.as_boss("patch", &team, json!({ "includes_all_repositories": true }), 200).await;
    assert_eq!(rights(&acme, &work, &remote, 91).await, "rf", "the team has all repositories");
    acme.as_boss("delete", &format!("{team}/members/dev"), Value::Null, 204).await;
    assert_eq!(rights(&acme, &work, &remote, 92).await, "", "dev is not in the team any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_the_highest_of_teams_and_collaboration_in_each_unit() {
    let acme = Acme::new().await;
    let code = json!({ "units_map": { "repo.code": "write" } });
    let (first, second) = (acme.devs(code).await, acme.team("releasers", json!({ "units": ["repo.releases"] })).await);
    let may = async |path: &str| acme.dev("get", &format!("/repos/acme/app{path}"), Value::Null).await;
    assert_eq!((may("").await, may("/releases").await, may("/actions/runs").await), (200, 403, 403));
    acme.as_boss("put", &format!("{second}/members/dev"), Value::Null, 204).await;
    assert_eq!(may("/releases").await, 403, "the team does not have the repository");
    acme.as_boss("put", "/repos/acme/app/teams/releasers", Value::Null, 204).await;
    assert_eq!((may("").await, may("/releases").await, may("/actions/runs").await), (200, 200, 403));
    acme.as_boss("put", "/repos/acme/app/collaborators/dev", json!({ "permission": "read" }), 204).await;
    assert_eq!((may("").await, may("/releases").await, may("/actions/runs").await), (200, 200, 200));
    let (_, shown) = acme.world.get(&acme.dev, "/repos/acme/app").await;
    assert_eq!(shown["permissions"], json!({ "admin": false, "push": true, "pull": true }));
    acme.as_boss("delete", &first, Value::Null, 204).await;
    let (_, shown) = acme.world.get(&acme.dev, "/repos/acme/app").await;
    assert_eq!(shown["permissions"], json!({ "admin": false, "push": false, "pull": true }));
    let path = "/repos/acme/app/collaborators/dev/permission";
    assert_eq!(acme.as_boss("get", path, Value::Null, 200).await["permission"], "read");
}

#[tokio::test]
async fn a_team_without_the_unit_code_adds_rights_to_a_public_repository() {
    let acme = Acme::new().await;
    acme.as_boss("post", "/orgs/acme/repos", json!({ "name": "open", "auto_init": true }), 201).await;
    let team = acme.team("releasers", json!({ "units": ["repo.releases"], "permission": "write" })).await;
    acme.as_boss("put", &format!("{team}/members/dev"), Value::Null, 204).await;
    acme.as_boss("put", &format!("{team}/repos/acme/open"), Value::Null, 204).await;
    let release = json!({ "tag_name": "v1" });
    assert_eq!(acme.dev("post", "/repos/acme/open/releases", release).await, 201);
    assert_eq!(acme.dev("post", "/repos/acme/open/contents/f", json!({ "content": "eA==" })).await, 403);
}

#[tokio::test]
async fn a_token_limits_the_rights_of_a_team() {
    let acme = Acme::new().await;
    acme.devs(json!({ "permission": "admin" })).await;
    let status = async |token: String| acme.world.get(&format!("token {token}"), "/repos/acme/app").await.0;
    assert_eq!(status(acme.world.token("dev", &["read:repository"]).await).await, 200);
    assert_eq!(status(acme.world.token("dev", &["read:user"]).await).await, 403);
    assert_eq!(status(acme.world.token("dev", &["all", "public-only"]).await).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_has_only_repositories_of_its_organization() {
    let acme = Acme::new().await;
    let team = acme.devs(json!({ "permission": "admin" })).await;
    acme.world.admin("post", "/admin/users/eve/orgs", json!({ "username": "other" }), 201).await;
    acme.world.admin("post", "/orgs/other/repos", json!({ "name": "app", "private": true }), 201).await;
    acme.as_boss("put", &format!("{team}/repos/other/app"), Value::Null, 404).await;
    assert_eq!(acme.dev("get", "/repos/other/app", Value::Null).await, 404);
    acme.world.admin("put", &format!("{team}/repos/other/app"), Value::Null, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_gives_the_repository_to_the_teams_that_it_names() {
    let acme = Acme::new().await;
    let team = acme.team("devs", json!({ "units": ["repo.code"], "permission": "read" })).await;
    acme.as_boss("put", &format!("{team}/members/dev"), Value::Null, 204).await;
    let id = acme.as_boss("get", &team, Value::Null, 200).await["id"].clone();
    for (name, teams, expected) in [("lib", json!([id]), 200), ("secret", json!([]), 404)] {
        acme.as_boss("post", "/user/repos", json!({ "name": name, "private": true }), 201).await;
        let body = json!({ "new_owner": "acme", "team_ids": teams });
        acme.as_boss("post", &format!("/repos/boss/{name}/transfer"), body, 202).await;
        assert_eq!(acme.dev("get", &format!("/repos/acme/{name}"), Value::Null).await, expected, "{name}");
    }
    acme.world.admin("post", "/admin/users/eve/repos", json!({ "name": "tool", "private": true }), 201).await;
    let eve = format!("token {}", acme.world.token("eve", &["all"]).await);
    let body = json!({ "new_owner": "acme", "team_ids": [id] });
    assert_eq!(acme.world.status(&eve, "post", "/repos/eve/tool/transfer", body).await, 201);
    acme.as_boss("post", "/repos/eve/tool/transfer/accept", Value::Null, 202).await;
    assert_eq!(acme.dev("get", "/repos/acme/tool", Value::Null).await, 200, "the offer named the team");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_is_not_accepted_after_its_maker_left_the_owners() {
    let acme = Acme::new().await;
    let member = format!("{}/members/eve", acme.owners().await);
    acme.as_boss("put", &member, Value::Null, 204).await;
    let eve = format!("token {}", acme.world.token("eve", &["all"]).await);
    let offered = acme.world.status(&eve, "post", "/repos/acme/app/transfer", json!({ "new_owner": "dev" })).await;
    assert_eq!(offered, 201);
    acme.as_boss("delete", &member, Value::Null, 204).await;
    assert_eq!(acme.dev("post", "/repos/acme/app/transfer/accept", Value::Null).await, 404);
    assert_eq!(acme.dev("get", "/repos/dev/app", Value::Null).await, 404);
    acme.as_boss("post", "/repos/acme/app/transfer/reject", Value::Null, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_forks_into_the_organization_administers_the_fork() {
    let acme = Acme::new().await;
    acme.as_boss("post", "/user/repos", json!({ "name": "lib", "auto_init": true, "private": false }), 201).await;
    let fields = json!({ "units": ["repo.code"], "permission": "read", "can_create_org_repo": true });
    acme.devs(fields).await;
    assert_eq!(acme.dev("post", "/repos/boss/lib/forks", json!({ "organization": "acme" })).await, 202);
    assert_eq!(acme.dev("patch", "/repos/acme/lib", json!({ "description": "mine" })).await, 200);
}
