//! Objects that a caller may not see get the same response as objects that do not exist.

use farrierd::http::ROUTES;
use http::Method;
use serde_json::{Value, json};

use crate::{
    accounts::world::{World, method},
    support::{Answer, Job, send},
};

/// A daemon where `octo` owns the private repository `hidden`, with a run, an artifact and a hook. `eve` owns nothing.
struct Stage {
    world: World,
    job: Job,
    artifact: i64,
    hook: String,
    callers: [(&'static str, String); 2],
}

impl Stage {
    async fn new() -> Self {
        let world = World::new().await;
        for name in ["octo", "eve"] {
            world.user(name).await;
        }
        let body = json!({ "name": "hidden", "private": true, "auto_init": true });
        world.admin("post", "/admin/users/octo/repos", body, 201).await;
        let started =
            world.farrier.admin(Method::POST, "/api/farrier/v1/jobs", json!({ "repo": "octo/hidden" })).await.json();
        let job = Job::of(&started);
        let artifact = world.farrier.upload(&job, "log", b"x").await;
        let config = json!({ "url": "http://203.0.113.9/", "content_type": "json" });
        let hook = json!({ "type": "gitea", "active": true, "config": config });
        let hook = world.admin("post", "/repos/octo/hidden/hooks", hook, 201).await["id"].to_string();
        let token = format!("token {}", world.token("eve", &["all"]).await);
        Self { world, job, artifact, hook, callers: [("anonymous", String::new()), ("eve", token)] }
    }

    /// Sends the same request as a caller. Without the header `Accept`, the event route would start a stream.
    async fn ask(&self, authorization: &str, word: &str, path: &str) -> Answer {
        let headers =
            [("content-type", "application/json"), ("accept", "application/json"), ("authorization", authorization)];
        let headers = if authorization.is_empty() { &headers[..2] } else { &headers[..] };
        let word = if word == "any" { "post" } else { word };
        let body = if matches!(word, "get" | "delete") { "" } else { "{}" };
        send(&self.world.farrier.tcp(), method(word), path, headers, body).await
    }
}

/// Returns status, headers and body without what differs in every response. `name`, if it is long enough to be unique,
/// is replaced.
fn comparable(answer: &Answer, name: &str) -> (u16, Vec<(String, String)>, String) {
    let without = |text: &str| if name.len() > 3 { text.replace(name, "NAME") } else { text.to_owned() };
    let per_request = ["date", "x-request-id", "content-length"];
    let headers = answer.headers.iter().filter(|(name, _)| !per_request.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), without(value.to_str().expect("text")))).collect();
    let mut text = answer.text();
    if let Ok(Value::Object(mut body)) = serde_json::from_str(&text) {
        body.remove("request_id");
        text = Value::Object(body).to_string();
    }
    (answer.status, headers, without(&text))
}

#[tokio::test(flavor = "multi_thread")]
async fn private_and_missing_repositories_are_indistinguishable_on_every_route() {
    let stage = Stage::new().await;
    let captures = [
        ("{id}", stage.hook.as_str()),
        ("{run}", "1"),
        ("{job}", "1"),
        ("{attempt}", "1"),
        ("{user}", "eve"),
        ("{topic}", "ci"),
        ("{asset}", "1"),
        ("{uuid}", "1"),
        ("{*file}", "v1/a"),
        ("{ref}", "main"),
        ("{*branch}", "main"),
        ("{*tag}", "main"),
        ("{*ref}", "main"),
        ("{*sha}", "main"),
        ("{sha}", "main"),
        ("{*both}", "main...main"),
        ("{*prefix}", "heads"),
        ("{*path}", "README.md"),
        ("{*name}", "main.zip"),
        ("{file}", "0a.bundle"),
        ("{delivery}", "7"),
    ];
    let mut requests = 0;
    for (word, route) in ROUTES.iter().filter(|(_, route)| route.contains("{owner}/{repo}")) {
        let rest = captures.into_iter().fold((*route).to_owned(), |path, (name, value)| path.replace(name, value));
        let query = if route.ends_with("/info/refs") { "?service=git-upload-pack" } else { "" };
        for (caller, authorization) in &stage.callers {
            let at = async |repo: &str| {
                let path = rest.replace("{owner}", "octo").replace("{repo}", repo);
                comparable(&stage.ask(authorization, word, &format!("{path}{query}")).await, repo)
            };
            let (hidden, missing) = (at("hidden").await, at("absent").await);
            assert_eq!(hidden, missing, "{caller} {word} {route}");
            assert!((400..500).contains(&hidden.0), "{caller} {word} {route}: {hidden:?}");
            requests += 2;
        }
    }
    println!("{requests} requests to a private and a missing repository");
    assert!(requests > 250, "{requests}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_hidden_objects_are_answered_like_unused_ids() {
    let stage = Stage::new().await;
    let (run, job) = (stage.job.run_id.to_string(), stage.job.job_id.to_string());
    let artifact = stage.artifact.to_string();
    let id_of = |route: &str| match route {
        _ if route.contains("{run}") => Some(("{run}", run.clone())),
        _ if route.contains("{job}") => Some(("{job}", job.clone())),
        _ if route.contains("/hooks/{id}") => Some(("{id}", stage.hook.clone())),
        _ if route.contains("/artifacts/{id}") => Some(("{id}", artifact.clone())),
        _ if route.contains("/repositories/{id}") => Some(("{id}", "1".to_owned())),
        _ => None,
    };
    let mut requests = 0;
    for (word, route) in ROUTES {
        let Some((capture, id)) = id_of(route).filter(|_| !route.contains("{owner}")) else { continue };
        let rest = [("{attempt}", "1"), ("{delivery}", "7"), ("{org}", "acme")];
        let route = rest.into_iter().fold((*route).to_owned(), |path, (name, value)| path.replace(name, value));
        for (caller, authorization) in &stage.callers {
            let at = async |id: &str| {
                let path = route.replace(capture, id);
                comparable(&stage.ask(authorization, word, &path).await, id)
            };
            let (hidden, unused) = (at(&id).await, at("987654321").await);
            assert_eq!(hidden, unused, "{caller} {word} {route}");
            requests += 2;
        }
    }
    println!("{requests} requests with ids of hidden objects and unused ids");
    assert!(requests > 80, "{requests}");
    let (_, own) = stage.world.get(&stage.callers[1].1, "/user/repos").await;
    assert_eq!(own, Value::Array(Vec::new()), "nothing was created");
}
