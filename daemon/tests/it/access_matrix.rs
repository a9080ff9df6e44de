//! Sends every route of the API with every kind of credential and compares the status codes with
//! `access_matrix.txt`. A route that is missing in the table fails the test.
//!
//! A new route needs a line in `access_matrix.txt` and, if it needs a request body or an existing object,
//! a case in `scenes.rs`. On a difference, the test prints the lines that the table should hold.

mod agent;
mod audited;
mod exempt;
mod scenes;
mod spellings;

use std::{collections::BTreeMap, fmt::Write as _};

use farrierd::{clock::Clock, http::ROUTES};
use http::Method;
use serde_json::{Value, json};

use self::scenes::scene;
use crate::{
    accounts::world::{World, method},
    support::{Job, send},
};

/// Each line: `METHOD PATH`, then one status per element of [`WHO`].
const TABLE: &str = include_str!("access_matrix.txt");

/// The callers, in the order of the columns: column name, account, token scopes. `octo` owns the user's
/// repositories, `boss` the organization `acme`, `eve` owns nothing, `chief` is an administrator.
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
async fn every_route_answers_each_credential_with_the_status_in_the_table() {
    let stage = Stage::new().await;
    let expected = table();
    let mut routes: Vec<_> = ROUTES.to_vec();
    // Deleting the current token would break the requests that follow: it goes last.
    routes.sort_by_key(|route| *route == ("delete", "/api/v1/token"));
    let mut wrong = String::new();
    for (word, path) in routes {
        let actual = stage.row(word, path).await;
        let row = expected.get(&(word, path)).cloned().unwrap_or_default();
        let agrees =
            row.len() == actual.len() && row.iter().zip(&actual).all(|(want, actual)| actual == "-" || want == actual);
        if !agrees {
            let _ = writeln!(wrong, "{:<75} {}", format!("{word} {path}"), actual.join(" "));
        }
    }
    assert!(wrong.is_empty(), "lines of access_matrix.txt that are missing or different:\n{wrong}");
    let obsolete: Vec<_> = expected.keys().filter(|route| !ROUTES.contains(route)).collect();
    assert!(obsolete.is_empty(), "lines without a route: {obsolete:?}");
}

pub(crate) fn table() -> BTreeMap<(&'static str, &'static str), Vec<String>> {
    let lines = TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let rows = lines.map(|line| {
        let mut words = line.split_whitespace();
        let route = (words.next().expect("a method"), words.next().expect("a path"));
        (route, words.map(str::to_owned).collect())
    });
    rows.collect()
}

/// A daemon with accounts, their repositories and hooks, and one token per column.
struct Stage {
    world: World,
    tokens: Vec<String>,
    team: String,
    job: Job,
    artifact: i64,
    /// An entry of the audit log.
    entry: String,
    /// One hook per kind of owner, keyed by the start of its route.
    hooks: Vec<(&'static str, String)>,
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
            let body = json!({ "name": repo, "private": private, "auto_init": true });
            world.admin("post", "/admin/users/octo/repos", body, 201).await;
        }
        let pattern = json!({ "name": "pattern", "private": true, "template": true, "auto_init": true });
        world.admin("post", "/admin/users/octo/repos", pattern, 201).await;
        let team = world.admin("get", "/orgs/acme", Value::Null, 200).await["id"].to_string();
        let body = json!({ "repo": "octo/hidden" });
        let started = world.farrier.admin(Method::POST, "/api/farrier/v1/jobs", body).await.json();
        let job = Job::of(&started);
        let artifact = world.farrier.upload(&job, "log", b"x").await;
        let mut hooks = Vec::new();
        let octo = format!("token {}", world.token("octo", &["all"]).await);
        for (route, caller) in [
            ("/admin/hooks/", ""),
            ("/repos/{owner}/{repo}/hooks/", ""),
            ("/orgs/{org}/hooks/", ""),
            ("/user/hooks/", &octo),
        ] {
            // Active: a hook that is switched off refuses redeliveries.
            let config = json!({ "url": "http://203.0.113.9/", "content_type": "json" });
            let body = json!({ "type": "gitea", "active": true, "config": config });
            let path = route.replace("{owner}/{repo}", "octo/hidden").replace("{org}", "acme");
            let created = if caller.is_empty() {
                world.admin("post", &path, body, 201).await
            } else {
                world.ask(caller, "post", &path, body).await.json()
            };
            hooks.push((route, created["id"].to_string()));
        }
        // This route finds a hook of any owner by its id. The test uses the repository's hook.
        hooks.push(("/farrier/v1/hooks/", hooks[1].1.clone()));
        let mut tokens = Vec::new();
        for (n, (_, user, scopes)) in WHO.iter().enumerate() {
            let expires = if n == EXPIRED { json!("2026-01-02T03:05:05Z") } else { Value::Null };
            tokens.push(match *user {
                "" => String::new(),
                user => world.token_with(user, json!({ "scopes": scopes, "expires_at": expires })).await,
            });
        }
        clock.advance_ms(120_000);
        let entries = world.farrier.admin(Method::GET, "/api/farrier/v1/audit?limit=1", Value::Null).await.json();
        let entry = entries[0]["id"].to_string();
        Self { world, tokens, team, job, artifact, entry, hooks }
    }

    /// The status that each column gets; `-` if it cannot be tried on this machine.
    async fn row(&self, word: &str, path: &str) -> Vec<String> {
        let mut row = Vec::new();
        for n in 0..WHO.len() {
            let scene = scene(word, path, n);
            if let Some((word, path, body)) = scene.before {
                let created = self.world.farrier.admin(method(word), &self.fill(&path), body).await;
                assert!(created.status < 300, "{word} {path}: {created:?}");
            }
            let word = if word == "any" { "post" } else { word };
            let path = self.fill(&scene.path);
            let body = if scene.body.is_null() { String::new() } else { scene.body.to_string() };
            row.push(if n == AGENT {
                let socket = self.world.farrier.socket();
                agent::ask(socket, &word.to_uppercase(), &path, &body).unwrap_or_else(|| "-".into())
            } else {
                let token = format!("token {}", self.tokens[n]);
                let json = "application/json";
                // Without this header, the event route would start a stream that does not end.
                let headers = [("authorization", token.as_str()), ("content-type", json), ("accept", json)];
                let headers = if self.tokens[n].is_empty() { &headers[1..] } else { &headers[..] };
                send(&self.world.farrier.tcp(), method(word), &path, headers, body).await.status.to_string()
            });
        }
        row
    }

    /// Replaces the captures of a route with ids and names of existing objects.
    fn fill(&self, path: &str) -> String {
        let hook = self.hooks.iter().find(|(route, _)| path.contains(&format!("{route}{{id}}")));
        let path = &hook.map_or_else(|| path.to_owned(), |(_, id)| path.replace("{id}", id));
        let (run, job, artifact) =
            (self.job.run_id.to_string(), self.job.job_id.to_string(), self.artifact.to_string());
        [
            ("{name}", "octo"),
            ("{org}", "acme"),
            ("{user}", "boss"),
            ("{team}", &self.team),
            ("{team_name}", "Owners"),
            ("{owner}", "octo"),
            ("{repo}", "hidden"),
            ("{run}", &run),
            ("{job}", &job),
            ("{attempt}", "1"),
            ("{id}", &artifact),
            ("{asset}", "1"),
            ("{oid}", &"0".repeat(64)),
            ("{uuid}", "1"),
            ("{*file}", "v1/a"),
            ("{entry}", &self.entry),
            ("{key}", "MIT"),
            ("{topic}", "ci"),
            ("{ref}", "main"),
            ("{*branch}", "main"),
            ("{*ref}", "main"),
            ("{*sha}", "main"),
            ("{*both}", "main...main"),
            ("{*prefix}", "heads"),
            ("{*path}", "README.md"),
            ("{*name}", "main.zip"),
            ("{artifact}/{generation}/{file}", "1/1/archive"),
            ("{file}", "0a.bundle"),
            ("{*service_and_method}", "github.actions.results.api.v1.ArtifactService/ListArtifacts"),
        ]
        .into_iter()
        .fold(path.to_owned(), |path, (capture, value)| path.replace(capture, value))
    }
}
