//! Requests as the clients of the API family make them, recorded by their spelling:
//! addresses with a bare `?` or `%2F`, bodies with explicit nulls and numbers as text, credentials
//! in every form. And what their strict readers refuse in an answer.

mod requests;
mod strict;

use http::Method;
use serde_json::{Value, json};

use self::{
    requests::{As, Recorded, of_fj, of_go, of_others, of_py_gitea, of_renovate},
    strict::refused,
};
use crate::support::{Answer, TestDaemon, git::Client, send};

/// A daemon with the administrator `ops`, whose repository `demo` has two branches and a tag.
struct World {
    farrier: TestDaemon,
    token: String,
    id: String,
    first: String,
}

impl World {
    async fn new() -> Self {
        let farrier = TestDaemon::start().await;
        let admin = async |method, path: &str, body| {
            let done = farrier.admin(method, path, body).await;
            assert!(done.status < 300, "{path}: {done:?}");
            if done.body.is_empty() { Value::Null } else { done.json() }
        };
        let body = json!({ "username": "ops", "email": "ops@example.org", "password": "password", "admin": true,
            "must_change_password": false });
        let id = admin(Method::POST, "/api/v1/admin/users", body).await["id"].to_string();
        for name in ["demo", "void"] {
            admin(Method::POST, "/api/v1/admin/users/ops/repos", json!({ "name": name })).await;
        }
        admin(Method::POST, "/api/v1/admin/users/ops/orgs", json!({ "username": "acme" })).await;
        let token = farrier.token("ops", &["all"]).await;
        let work = Client::init(farrier.scratch().join("work"));
        std::fs::create_dir(work.dir().join("src")).expect("made");
        std::fs::write(work.dir().join("src/a b"), "x").expect("written");
        let first = work.commit("README.md", "# demo\n");
        work.commit("second", "x");
        work.done(&["tag", "v1"]);
        work.done(&["push", "-q", &farrier.remote("ops/demo", &token), "main", "main:feature/x", "v1"]);
        Self { farrier, token, id, first }
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("{token}", &self.token).replace("{id}", &self.id);
        text.replace("{first}", &self.first).replace("{root}", &self.farrier.url)
    }

    async fn ask(&self, (_, who, method, path, body, ..): &Recorded) -> Answer {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        let authorization = match who {
            As::Token => format!("token {}", self.token),
            As::Bearer => format!("Bearer {}", self.token),
            As::TokenAsName => basic(&format!("{}:", self.token)),
            As::Password => basic("ops:password"),
            As::Address => String::new(),
        };
        let mut headers = vec![("accept", "application/json"), ("content-type", "application/json")];
        if !authorization.is_empty() {
            headers.push(("authorization", authorization.as_str()));
        }
        if matches!(who, As::Password) {
            headers.extend([("x-forgejo-otp", "123456"), ("x-gitea-otp", "123456")]);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let method: Method = method.parse().expect("a method");
        send(&self.farrier.tcp(), method, &format!("/api/v1{}", self.fill(path)), &headers, body).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_real_clients_are_answered_as_they_expect() {
    let world = World::new().await;
    let all = of_fj().into_iter().chain(of_renovate()).chain(of_py_gitea()).chain(of_go()).chain(of_others());
    let mut wrong = Vec::new();
    for recorded in all {
        let answer = world.ask(&recorded).await;
        let (client, _, method, path, _, status, has) = recorded;
        let what = format!("{client}: {method} {path}");
        if answer.status != status {
            wrong.push(format!("{what}: {} in place of {status}: {}", answer.status, answer.text()));
            continue;
        }
        if !answer.header("content-type").starts_with("application/json") {
            continue;
        }
        let json = answer.json();
        wrong.extend(refused(&json, "").into_iter().map(|reason| format!("{what}: {reason}")));
        match has {
            Value::Object(places) => {
                for (place, expected) in places {
                    let expected = match expected {
                        Value::String(text) => Value::String(world.fill(&text)),
                        other => other,
                    };
                    if json.pointer(&place) != Some(&expected) {
                        wrong.push(format!("{what}: {place} is {:?}, not {expected}", json.pointer(&place)));
                    }
                }
            }
            list => {
                if json != list {
                    wrong.push(format!("{what}: {json}, not {list}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
