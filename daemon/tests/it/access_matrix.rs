//! Every route, asked by everybody: a route of the router that is missing here fails the test.
//!
//! A new route gets a line in `access_matrix.txt` and, if it needs another body or a thing to act
//! on, a case in [`scene`]. When statuses differ, the test prints the lines as they would have to be.

mod agent;

use std::{collections::BTreeMap, fmt::Write as _};

use farrierd::{clock::Clock, http::ROUTES};
use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::{World, method},
    support::{Job, send},
};

/// `METHOD PATH`, then a status for each of [`WHO`].
const TABLE: &str = include_str!("access_matrix.txt");

/// Who asks, in the order of the columns. `octo` owns the user's things, `boss` the organisation
/// `acme`, `eve` nothing, `chief` administers the site.
const WHO: [(&str, &str, &[&str]); 11] = [
    ("anonymous", "", &[]),
    ("expired", "octo", &["all"]),
    ("ci agent", "", &[]),
    ("wrong scope", "octo", &["read:misc"]),
    ("read", "octo", &["read:user", "read:organization", "read:repository", "read:admin"]),
    ("write", "octo", &["write:user", "write:organization", "write:repository"]),
    ("public only", "octo", &["all", "public-only"]),
    ("stranger", "eve", &["all"]),
    ("owner", "octo", &["all"]),
    ("org owner", "boss", &["all"]),
    ("admin", "chief", &["all"]),
];
const EXPIRED: usize = 1;
const AGENT: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_refuses_those_who_may_not() {
    let stage = Stage::new().await;
    let expected = table();
    let mut routes: Vec<_> = ROUTES.to_vec();
    // This one ends the tokens that the others need.
    routes.sort_by_key(|route| *route == ("delete", "/api/v1/token"));
    let mut wrong = String::new();
    for (word, path) in routes {
        let got = stage.row(word, path).await;
        let row = expected.get(&(word, path)).cloned().unwrap_or_default();
        let agrees = row.len() == got.len() && row.iter().zip(&got).all(|(want, got)| got == "-" || want == got);
        if !agrees {
            let _ = writeln!(wrong, "{:<75} {}", format!("{word} {path}"), got.join(" "));
        }
    }
    assert!(wrong.is_empty(), "lines of access_matrix.txt that are missing or different:\n{wrong}");
    let gone: Vec<_> = expected.keys().filter(|route| !ROUTES.contains(route)).collect();
    assert!(gone.is_empty(), "lines without a route: {gone:?}");
}

fn table() -> BTreeMap<(&'static str, &'static str), Vec<String>> {
    let lines = TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let rows = lines.map(|line| {
        let mut words = line.split_whitespace();
        let route = (words.next().expect("a method"), words.next().expect("a path"));
        (route, words.map(str::to_owned).collect())
    });
    rows.collect()
}

/// A daemon with people, things of theirs, and a credential for each column.
struct Stage {
    world: World,
    tokens: Vec<String>,
    team: String,
    job: Job,
    artifact: i64,
}

impl Stage {
    async fn new() -> Self {
        let clock = Clock::manual(1_767_323_045_000);
        let world = World::with_agents(clock.clone(), agent::GROUP).await;
        for name in ["octo", "boss", "eve", "helper"] {
            world.user(name).await;
        }
        world.user_with("chief", json!({ "admin": true })).await;
        world.admin("post", "/admin/users/boss/orgs", json!({ "username": "acme" }), 201).await;
        for (repo, private) in [("hidden", true), ("open", false)] {
            world.admin("post", "/admin/users/octo/repos", json!({ "name": repo, "private": private }), 201).await;
        }
        let team = world.admin("get", "/orgs/acme", Value::Null, 200).await["id"].to_string();
        let body = json!({ "repo": "octo/hidden" });
        let begun = world.farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await.json();
        let job = Job {
            run_id: begun["run_id"].as_i64().expect("a number"),
            job_id: begun["job_id"].as_i64().expect("a number"),
            token: begun["token"].as_str().expect("text").to_owned(),
            env: Vec::new(),
        };
        let artifact = world.farrier.upload(&job, "log", b"x").await;
        let mut tokens = Vec::new();
        for (n, (_, user, scopes)) in WHO.iter().enumerate() {
            let expires = if n == EXPIRED { json!("2026-01-02T03:05:05Z") } else { Value::Null };
            tokens.push(match *user {
                "" => String::new(),
                user => world.token_with(user, json!({ "scopes": scopes, "expires_at": expires })).await,
            });
        }
        clock.advance_ms(120_000);
        Self { world, tokens, team, job, artifact }
    }

    /// The status that each column gets. `-` where it cannot be tried.
    async fn row(&self, word: &str, path: &str) -> Vec<String> {
        let mut row = Vec::new();
        for n in 0..WHO.len() {
            let scene = scene(word, path, n);
            if let Some((word, path, body)) = scene.before {
                let made = self.world.farrier.admin(method(word), &self.fill(&path), body).await;
                assert!(made.status < 300, "{word} {path}: {made:?}");
            }
            let word = if word == "any" { "post" } else { word };
            let path = self.fill(&scene.path);
            let body = if scene.body.is_null() { String::new() } else { scene.body.to_string() };
            row.push(if n == AGENT {
                let socket = self.world.farrier.socket();
                agent::ask(socket, &word.to_uppercase(), &path, &body).unwrap_or_else(|| "-".into())
            } else {
                let token = format!("token {}", self.tokens[n]);
                let headers = [("authorization", token.as_str()), ("content-type", "application/json")];
                let headers = if self.tokens[n].is_empty() { &headers[1..] } else { &headers[..] };
                send(&self.world.farrier.tcp(), method(word), &path, headers, body).await.status.to_string()
            });
        }
        row
    }

    /// Puts real things into the place of captures.
    fn fill(&self, path: &str) -> String {
        let (run, job, artifact) =
            (self.job.run_id.to_string(), self.job.job_id.to_string(), self.artifact.to_string());
        [
            ("{name}", "octo"),
            ("{org}", "acme"),
            ("{user}", "boss"),
            ("{team}", &self.team),
            ("{owner}", "octo"),
            ("{repo}", "hidden"),
            ("{run}", &run),
            ("{job}", &job),
            ("{attempt}", "1"),
            ("{id}", &artifact),
            ("{key}", "MIT"),
            ("{artifact}/{generation}/{file}", "1/1/archive"),
            ("{*service_and_method}", "github.actions.results.api.v1.ArtifactService/ListArtifacts"),
        ]
        .into_iter()
        .fold(path.to_owned(), |path, (capture, thing)| path.replace(capture, thing))
    }
}

/// How a route is asked.
struct Scene {
    path: String,
    body: Value,
    /// What the operator does before.
    before: Option<(&'static str, String, Value)>,
}

/// How the route is asked by column `n`: what must be new for each is numbered.
fn scene(word: &'_ str, path: &str, n: usize) -> Scene {
    let mut scene = Scene { path: path.to_owned(), body: Value::Null, before: None };
    let fresh = format!("fresh{n}");
    let route = path.strip_prefix("/api/v1").unwrap_or(path);
    match (word, route) {
        ("post", "/users/{name}/tokens" | "/admin/users/{name}/tokens") => {
            let name = format!("{fresh}-{}", route.len());
            scene.body = json!({ "name": name, "scopes": ["public-only", "read:user"] });
        }
        ("delete", "/users/{name}/tokens/{token}" | "/admin/users/{name}/tokens/{token}") => {
            let name = format!("gone{n}-{}", route.len());
            scene.path = path.replace("{token}", &name);
            let body = json!({ "name": name, "scopes": ["read:user"] });
            scene.before = Some(("post", "/api/v1/users/octo/tokens".into(), body));
        }
        ("post", "/admin/users") => {
            let email = format!("{fresh}@example.org");
            scene.body = json!({ "username": fresh, "email": email, "password": "long enough" });
        }
        ("delete", "/orgs/{name}/repos") => {
            let org = format!("gone-repos{n}");
            scene.path = path.replace("{name}", &org);
            scene.before = Some(("post", "/api/v1/admin/users/boss/orgs".into(), json!({ "username": org })));
        }
        (_, "/orgs/{name}/repos" | "/org/{name}/repos") => {
            scene.path = path.replace("{name}", "acme");
            scene.body = json!({ "name": format!("{fresh}-{}", route.len()) });
        }
        ("post", "/repos/migrate") => {
            scene.body = json!({ "clone_addr": "ext::sh", "repo_name": fresh });
        }
        ("get", "/repositories/{id}") => scene.path = path.replace("{id}", "1"),
        ("delete", "/repos/{owner}/{repo}") => {
            let name = format!("gone{n}");
            scene.path = path.replace("{repo}", &name);
            let body = json!({ "name": name, "private": true });
            scene.before = Some(("post", "/api/v1/admin/users/octo/repos".into(), body));
        }
        ("put", "/repos/{owner}/{repo}/collaborators/{user}") => {
            scene.path = path.replace("{user}", "helper");
            scene.body = json!({ "permission": "read" });
        }
        ("delete", "/repos/{owner}/{repo}/collaborators/{user}") => scene.path = path.replace("{user}", "helper"),
        ("get", "/repos/{owner}/{repo}/collaborators/{user}/permission") => {
            scene.path = path.replace("{user}", "octo");
        }
        ("patch", _) => scene.body = json!({}),
        ("delete", "/admin/users/{name}") => {
            let name = format!("gone{n}");
            scene.path = path.replace("{name}", &name);
            let body = json!({ "username": name, "email": format!("{name}@example.org") });
            scene.before = Some(("post", "/api/v1/admin/users".into(), body));
        }
        ("post", "/admin/users/{name}/rename") => scene.body = json!({ "new_username": "Octo" }),
        ("post", "/orgs/{org}/rename") => scene.body = json!({ "new_name": "Acme" }),
        ("post", "/orgs" | "/admin/users/{name}/orgs") => {
            scene.body = json!({ "username": format!("{fresh}-{}", route.len()) });
        }
        ("delete", "/orgs/{org}") => {
            let name = format!("gone-org{n}");
            scene.path = path.replace("{org}", &name);
            scene.before = Some(("post", "/api/v1/admin/users/boss/orgs".into(), json!({ "username": name })));
        }
        ("put" | "delete", "/orgs/{org}/members/{user}" | "/teams/{team}/members/{user}") => {
            scene.path = path.replace("{user}", "helper");
            scene.before = Some(("put", "/api/v1/teams/{team}/members/helper".into(), Value::Null));
        }
        ("get", "/gitignore/templates/{template}") => scene.path = path.replace("{template}", "Rust"),
        ("get", "/label/templates/{template}") => scene.path = path.replace("{template}", "Default"),
        ("post", "/user/repos" | "/admin/users/{name}/repos") => {
            scene.body = json!({ "name": format!("{fresh}-{}", route.len()) });
        }
        // Nothing to delete there, but who may would hear that.
        ("delete", "/repos/{owner}/{repo}/actions/artifacts/{id}") => {
            scene.path = "/api/v1/repos/octo/open/actions/artifacts/999".into();
        }
        ("post", "/api/farrier/v1/jobs") => scene.body = json!({ "repo": "octo/hidden" }),
        ("post", "/api/farrier/v1/jobs/{job}/end") => scene.body = json!({ "conclusion": "success" }),
        _ => {}
    }
    scene
}
