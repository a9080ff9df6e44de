//! Requests as real clients of Gitea and Forgejo send them: URLs with a bare `?` or `%2F`, bodies with explicit nulls
//! and numbers as text, credentials in every form. Responses must be readable by the strict parsers of these clients.

mod requests;
mod strict;

use http::Method;
use serde_json::{Value, json};

use self::{
    requests::{Auth, Recorded, fj_requests, go_requests, other_requests, py_gitea_requests, renovate_requests},
    strict::parse_errors,
};
use crate::support::{Answer, TestDaemon, git::Client, send};

/// A daemon with the administrator `ops`, who owns the repository `demo` with two branches and a tag.
struct World {
    farrier: TestDaemon,
    token: String,
    id: String,
    first: String,
}

impl World {
    async fn new() -> Self {
        // giteapy sends the token in the query.
        let farrier = TestDaemon::with(|config| config.auth.query_tokens = true).await;
        let admin = async |method, path: &str, body| {
            let answer = farrier.admin(method, path, body).await;
            assert!(answer.status < 300, "{path}: {answer:?}");
            if answer.body.is_empty() { Value::Null } else { answer.json() }
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
        std::fs::create_dir(work.dir().join("src")).expect("a directory");
        std::fs::write(work.dir().join("src/a b"), "x").expect("a write");
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
            Auth::Token => format!("token {}", self.token),
            Auth::Bearer => format!("Bearer {}", self.token),
            Auth::TokenAsName => basic(&format!("{}:", self.token)),
            Auth::Password => basic("ops:password"),
            Auth::Address => String::new(),
        };
        let mut headers = vec![("accept", "application/json"), ("content-type", "application/json")];
        if !authorization.is_empty() {
            headers.push(("authorization", authorization.as_str()));
        }
        if matches!(who, Auth::Password) {
            headers.extend([("x-forgejo-otp", "123456"), ("x-gitea-otp", "123456")]);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let method: Method = method.parse().expect("a method");
        send(&self.farrier.tcp(), method, &format!("/api/v1{}", self.fill(path)), &headers, body).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_recorded_from_real_clients_get_the_expected_responses() {
    let world = World::new().await;
    let all = fj_requests()
        .into_iter()
        .chain(renovate_requests())
        .chain(py_gitea_requests())
        .chain(go_requests())
        .chain(other_requests());
    let mut wrong = Vec::new();
    for recorded in all {
        let answer = world.ask(&recorded).await;
        let (client, _, method, path, _, status, has) = recorded;
        let what = format!("{client}: {method} {path}");
        if answer.status != status {
            wrong.push(format!("{what}: {} instead of {status}: {}", answer.status, answer.text()));
            continue;
        }
        if !answer.header("content-type").starts_with("application/json") {
            continue;
        }
        let json = answer.json();
        wrong.extend(parse_errors(&json, "").into_iter().map(|reason| format!("{what}: {reason}")));
        match has {
            Value::Object(fields) => {
                for (pointer, expected) in fields {
                    let expected = match expected {
                        Value::String(text) => Value::String(world.fill(&text)),
                        other => other,
                    };
                    if json.pointer(&pointer) != Some(&expected) {
                        wrong.push(format!("{what}: {pointer} is {:?}, not {expected}", json.pointer(&pointer)));
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
