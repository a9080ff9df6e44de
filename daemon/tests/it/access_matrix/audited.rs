//! Every route that changes something leaves an audit entry.
//!
//! A new route that is not `get` needs a request here that changes something, or a line in [`WITHOUT_ENTRY`].

use farrierd::http::ROUTES;
use http::Method;
use serde_json::{Value, json};

use super::{Stage, exempt::WITHOUT_ENTRY, scenes::scene};
use crate::{
    accounts::world::{PASSWORD, method},
    caches,
    support::{Answer, send, ssh_key},
};

/// The column of the owner of the repositories.
const OWNER: usize = 8;
/// The column of the site administrator.
const ADMIN: usize = super::WHO.len() - 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_that_changes_something_leaves_one_audit_entry() {
    let mut stage = Stage::new().await;
    let own = stage.own_hook().await;
    stage.hooks.iter_mut().filter(|(route, _)| *route == "/user/hooks/").for_each(|hook| hook.1.clone_from(&own));
    let mut routes: Vec<_> = ROUTES.iter().filter(|(word, _)| *word != "get").copied().collect();
    routes.sort_by_key(|route| *route == ("delete", "/api/v1/token"));
    let mut wrong = Vec::new();
    for (number, (word, route)) in routes.into_iter().enumerate() {
        if WITHOUT_ENTRY.iter().any(|(exempt_word, exempt, _)| (*exempt_word, *exempt) == (word, route)) {
            continue;
        }
        let (path, body) = stage.request(word, route, number).await;
        let answer = stage.as_chief(method(word), &path, &body).await;
        let entries = stage.entries(answer.header("x-request-id")).await;
        let actions: Vec<&str> = entries.iter().map(|entry| entry["action"].as_str().expect("text")).collect();
        // This route deletes two repositories.
        let expected = if (word, route) == ("delete", "/api/v1/orgs/{name}/repos") { 2 } else { 1 };
        let is_complete = entries.iter().all(|entry| {
            entry["actor"]["name"] == "chief"
                && entry["actor"]["token_id"].is_i64()
                && entry["actor"]["address"].is_string()
                && entry["result"] == "done"
                && entry["object"]["kind"] != ""
        });
        if answer.status >= 300 || actions.len() != expected || !is_complete {
            wrong.push(format!("{word} {route}: {} {actions:?} {entries:?} {}", answer.status, answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (word, route, _) in WITHOUT_ENTRY {
        assert!(ROUTES.contains(&(word, route)), "{word} {route} is not a route");
    }
}

impl Stage {
    async fn as_chief(&self, method: Method, path: &str, body: &Value) -> Answer {
        let token = format!("token {}", self.tokens[ADMIN]);
        let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.world.farrier.tcp(), method, path, &headers, body).await
    }

    /// The entries of a request, except for the sign-in.
    async fn entries(&self, request_id: &str) -> Vec<Value> {
        let path = format!("/api/farrier/v1/audit?request_id={request_id}");
        let listed = self.world.farrier.admin(Method::GET, &path, Value::Null).await.json();
        let all = listed.as_array().unwrap_or_else(|| panic!("a list: {listed}")).clone();
        all.into_iter().filter(|entry| entry["action"] != "sign_in.accept").collect()
    }

    async fn created(&self, path: &str, body: Value) -> Value {
        let answer = self.as_chief(Method::POST, path, &body).await;
        assert!(answer.status < 300, "{path}: {answer:?}");
        answer.json()
    }

    /// Creates a hook of the administrator and returns its ID.
    async fn own_hook(&self) -> String {
        self.created("/api/v1/user/hooks", hook()).await["id"].to_string()
    }

    /// Creates an organization with the repository `app` and the team `devs`. Returns its name and the ID of the team.
    async fn team(&self, name: &str) -> (String, String) {
        let org = format!("org-{name}");
        self.created("/api/v1/orgs", json!({ "username": org })).await;
        self.created(&format!("/api/v1/orgs/{org}/repos"), json!({ "name": "app" })).await;
        let body = json!({ "name": "devs", "units": ["repo.code"] });
        let team = self.created(&format!("/api/v1/orgs/{org}/teams"), body).await["id"].to_string();
        (org, team)
    }

    /// Adds what a request removes.
    async fn prepared(&self, word: &str, path: &str) {
        if word == "delete" {
            assert_eq!(self.as_chief(Method::PUT, path, &Value::Null).await.status, 204, "{path}");
        }
    }

    async fn artifact(&self, name: &str) -> i64 {
        self.world.farrier.upload(&self.job, name, b"x").await
    }

    /// The path and the body of a request to `route` that changes something.
    async fn request(&self, word: &str, route: &str, number: usize) -> (String, Value) {
        if let Some(request) = self.own_request(word, route, number).await {
            return request;
        }
        let scene = scene(word, route, ADMIN);
        if let Some((word, path, body)) = scene.before {
            let answer = self.world.farrier.admin(method(word), &self.fill(&path), body).await;
            assert!(answer.status < 300, "{word} {path}: {answer:?}");
        }
        (self.fill(&scene.path), scene.body)
    }

    /// The request, if that of the access matrix changes nothing.
    async fn own_request(&self, word: &str, route: &str, number: usize) -> Option<(String, Value)> {
        let name = format!("audited{number}");
        let filled = self.fill(route);
        let request = match (word, route) {
            ("patch", "/api/v1/admin/users/{name}" | "/api/v1/orgs/{org}" | "/api/v1/user/settings") => {
                (filled, json!({ "full_name": name }))
            }
            (_, route) if route.contains("/teams/") => return self.team_request(word, route, &name).await,
            (_, "/api/v1/orgs/{org}/public_members/{user}") => {
                let own = filled.replace("/boss", "/chief");
                let member = self.fill("/api/v1/teams/{team}/members/chief");
                self.as_chief(Method::PUT, &member, &Value::Null).await;
                let opposite = if word == "put" { Method::DELETE } else { Method::PUT };
                self.as_chief(opposite, &own, &Value::Null).await;
                (own, Value::Null)
            }
            ("delete", "/api/v1/orgs/{name}/repos") => ("/api/v1/orgs/acme/repos".into(), Value::Null),
            ("patch", "/api/v1/repos/{owner}/{repo}") => (filled, json!({ "description": name })),
            ("delete", "/api/v1/user/emails") => {
                let body = json!({ "emails": [format!("{name}@example.org")] });
                self.created("/api/v1/user/emails", body.clone()).await;
                (filled, body)
            }
            ("delete", "/api/v1/user/keys/{id}" | "/api/v1/repos/{owner}/{repo}/keys/{id}") => {
                let list = filled.rsplit_once('/').map(|(list, _)| list.to_owned()).expect("a list");
                let key = self.created(&list, json!({ "title": name, "key": ssh_key(&name) })).await;
                (format!("{list}/{}", key["id"]), Value::Null)
            }
            ("delete", "/api/v1/admin/users/{name}/keys/{id}") => {
                let list = "/api/v1/admin/users/octo/keys";
                let key = self.created(list, json!({ "title": name, "key": ssh_key(&name) })).await;
                (format!("{list}/{}", key["id"]), Value::Null)
            }
            ("delete", "/api/v1/repos/{owner}/{repo}/push_mirrors/{mirror}") => {
                let list = filled.rsplit_once('/').map(|(list, _)| list.to_owned()).expect("a list");
                let body = json!({ "remote_address": "http://8.8.8.8/a", "interval": "0" });
                let mirror = self.created(&list, body).await;
                (format!("{list}/{}", mirror["remote_name"].as_str().expect("a name")), Value::Null)
            }
            ("put", "/api/farrier/v1/user/password") => {
                (filled, json!({ "old_password": PASSWORD, "new_password": "another password" }))
            }
            ("patch", "/api/farrier/v1/log") => (filled, json!({ "filter": "warn" })),
            ("post", "/api/farrier/v1/runs/{run}/cancel") => {
                let begun = self.created("/api/farrier/v1/jobs", json!({ "repo": "octo/hidden" })).await;
                (route.replace("{run}", &begun["run_id"].to_string()), Value::Null)
            }
            ("delete", "/api/v1/repos/{owner}/{repo}/actions/caches") => {
                caches::save(&self.world.farrier, &self.job, &name, "x").await;
                (format!("{filled}?key={name}"), Value::Null)
            }
            ("delete", "/api/v1/repos/{owner}/{repo}/actions/caches/{id}") => {
                let id = caches::save(&self.world.farrier, &self.job, &name, "x").await;
                (self.fill(&route.replace("{id}", &id.to_string())), Value::Null)
            }
            (_, route) if route.contains("artifacts/") => return self.artifact_request(word, route, &name).await,
            (_, route) if route.contains("/deleted/repositories/") => {
                let id = self.created("/api/v1/admin/users/octo/repos", json!({ "name": name })).await["id"].clone();
                self.as_chief(Method::DELETE, &format!("/api/v1/repos/octo/{name}"), &Value::Null).await;
                (route.replace("{id}", &id.to_string()), Value::Null)
            }
            ("post", "/api/v1/orgs/{org}/hooks/{id}/tests" | "/api/v1/user/hooks/{id}/tests") => {
                // A test event needs a commit in a repository of the owner.
                let owner = if route.contains("{org}") { "/api/v1/orgs/acme/repos" } else { "/api/v1/user/repos" };
                self.created(owner, json!({ "name": name, "auto_init": true })).await;
                (filled, Value::Null)
            }
            (_, route) if route.contains("/hooks/{id}") || route.contains("/deliveries/") => {
                return self.hook_request(word, route, &name).await;
            }
            _ => return self.content_request(word, route, &name).await,
        };
        Some(request)
    }

    /// The request for a route of teams.
    async fn team_request(&self, word: &str, route: &str, name: &str) -> Option<(String, Value)> {
        let filled = self.fill(route);
        let request = match (word, route) {
            ("patch" | "delete", "/api/v1/teams/{team}") => {
                let (_, team) = self.team(name).await;
                (format!("/api/v1/teams/{team}"), json!({ "description": name }))
            }
            ("put" | "delete", "/api/v1/teams/{team}/repos/{owner}/{repo}") => {
                let (org, team) = self.team(name).await;
                let path = format!("/api/v1/teams/{team}/repos/{org}/app");
                self.prepared(word, &path).await;
                (path, Value::Null)
            }
            ("put" | "delete", "/api/v1/repos/{owner}/{repo}/teams/{team_name}") => {
                let (org, _) = self.team(name).await;
                let path = format!("/api/v1/repos/{org}/app/teams/devs");
                self.prepared(word, &path).await;
                (path, Value::Null)
            }
            ("put", "/api/v1/teams/{team}/members/{user}") => (filled.replace("/boss", "/eve"), Value::Null),
            _ => return self.content_request(word, route, name).await,
        };
        Some(request)
    }

    async fn content_request(&self, word: &str, route: &str, name: &str) -> Option<(String, Value)> {
        let request = match (word, route) {
            (
                "post",
                "/api/v1/repos/{owner}/{repo}/transfer/accept" | "/api/v1/repos/{owner}/{repo}/transfer/reject",
            ) => {
                self.created("/api/v1/admin/users/octo/repos", json!({ "name": name })).await;
                let octo = format!("token {}", self.tokens[OWNER]);
                let offer = format!("/repos/octo/{name}/transfer");
                let offered = self.world.ask(&octo, "post", &offer, json!({ "new_owner": "eve" })).await;
                assert_eq!(offered.status, 201, "{offered:?}");
                (self.fill(route).replace("/hidden/", &format!("/{name}/")), Value::Null)
            }
            ("delete" | "patch", "/api/v1/repos/{owner}/{repo}/branches/{*branch}") => {
                self.created("/api/v1/repos/octo/open/branches", json!({ "new_branch_name": name })).await;
                let renamed = json!({ "name": format!("{name}-renamed") });
                (
                    format!("/api/v1/repos/octo/open/branches/{name}"),
                    if word == "patch" { renamed } else { Value::Null },
                )
            }
            ("delete" | "patch", "/api/v1/repos/{owner}/{repo}/branch_protections/{*rule}") => {
                let list = "/api/v1/repos/octo/open/branch_protections";
                self.created(list, json!({ "rule_name": format!("rule-{name}") })).await;
                (format!("{list}/rule-{name}"), json!({ "enable_push": true }))
            }
            ("delete" | "patch", "/api/v1/repos/{owner}/{repo}/tag_protections/{id}") => {
                let list = "/api/v1/repos/octo/open/tag_protections";
                let body = json!({ "name_pattern": format!("rule-{name}"), "whitelist_usernames": ["octo"] });
                let rule = self.created(list, body).await;
                (format!("{list}/{}", rule["id"]), json!({ "whitelist_usernames": [] }))
            }
            ("put", "/api/v1/repos/{owner}/{repo}/branches/{*branch}") => {
                self.created("/api/v1/repos/octo/open/branches", json!({ "new_branch_name": name })).await;
                let file = format!("/api/v1/repos/octo/open/contents/{name}");
                let committed = self.created(&file, json!({ "new_branch": format!("{name}-other") })).await;
                let body = json!({ "new_commit_id": committed["commit"]["sha"] });
                (format!("/api/v1/repos/octo/open/branches/{name}"), body)
            }
            (_, route) if route.starts_with("/api/v1/repos/{owner}/{repo}/releases/") => {
                let release = self.created("/api/v1/repos/octo/open/releases", json!({ "tag_name": name })).await;
                let mut path = route.replace("{owner}/{repo}", "octo/open").replace("{id}", &release["id"].to_string());
                if path.ends_with("/assets") {
                    path.push_str("?name=new");
                } else if let Some((files, _)) = path.clone().split_once("/{asset}") {
                    let file = self.created(&format!("{files}?name=old"), Value::Null).await;
                    path = path.replace("{asset}", &file["id"].to_string());
                }
                (path.replace("{*tag}", name), if word == "patch" { json!({ "name": "Other" }) } else { Value::Null })
            }
            ("delete", "/api/v1/repos/{owner}/{repo}/contents/{*path}") => {
                let file = format!("/api/v1/repos/octo/open/contents/{name}");
                let sha = self.created(&file, json!({})).await["content"]["sha"].clone();
                (file, json!({ "sha": sha }))
            }
            ("post", "/api/v1/repos/{owner}/{repo}/diffpatch") => {
                (self.fill(route), json!({ "content": new_file(name) }))
            }
            ("delete", "/api/v1/repos/{owner}/{repo}/tags/{*tag}") => {
                self.created("/api/v1/repos/octo/open/tags", json!({ "tag_name": name })).await;
                (format!("/api/v1/repos/octo/open/tags/{name}"), Value::Null)
            }
            _ => return None,
        };
        Some(request)
    }

    async fn artifact_request(&self, word: &str, route: &str, name: &str) -> Option<(String, Value)> {
        let id = self.artifact(name).await;
        let path = self.fill(&route.replace("{id}", &id.to_string()));
        let body = match (word, route) {
            ("post", "/api/farrier/v1/artifacts/deletions") => json!({ "ids": [id] }),
            ("patch", _) => json!({ "days": 5 }),
            (_, route) if route.contains("/deleted/") => {
                let deleted = format!("/api/v1/repos/octo/hidden/actions/artifacts/{id}");
                self.as_chief(Method::DELETE, &deleted, &Value::Null).await;
                Value::Null
            }
            _ => Value::Null,
        };
        Some((path, body))
    }

    async fn hook_request(&self, word: &str, route: &str, name: &str) -> Option<(String, Value)> {
        let filled = self.fill(route);
        Some(match (word, route) {
            ("patch", _) => (filled, json!({ "branch_filter": name })),
            ("delete", "/api/farrier/v1/hooks/{id}") => {
                let id = self.created("/api/v1/admin/hooks", hook()).await["id"].to_string();
                (route.replace("{id}", &id), Value::Null)
            }
            ("delete", _) => {
                let list = self.fill(route.trim_end_matches("/{id}"));
                let id = self.created(&list, hook()).await["id"].to_string();
                (format!("{list}/{id}"), Value::Null)
            }
            (_, route) if route.ends_with("/apply") => {
                let mut default = hook();
                default["config"]["is_system_webhook"] = "false".into();
                let id = self.created("/api/v1/admin/hooks", default).await["id"].to_string();
                (route.replace("{id}", &id), json!({}))
            }
            (_, route) if route.contains("{delivery}") => {
                let hook = filled.split("/deliveries/").next()?.to_owned();
                // Without a hook in the route: that of the repository.
                let hook = if hook.contains("/hooks/") { hook } else { self.fill("/api/farrier/v1/hooks/{id}") };
                let sent = self.as_chief(Method::POST, &format!("{hook}/pings"), &Value::Null).await;
                let path = filled.replace("{delivery}", sent.header("x-farrier-delivery"));
                (path, json!({ "url": "http://203.0.113.9/" })) // for replays; attempts ignore it
            }
            _ => return None,
        })
    }
}

fn hook() -> Value {
    json!({ "type": "gitea", "active": true, "config": { "url": "http://203.0.113.9/", "content_type": "json" } })
}

fn new_file(name: &str) -> String {
    format!("diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n")
}
