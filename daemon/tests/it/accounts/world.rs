//! A daemon with people in it.

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Over, TestDaemon, send};

/// Every account's password.
pub const PASSWORD: &str = "correct horse";

/// A running daemon, and requests on behalf of people.
pub struct World {
    pub farrier: TestDaemon,
}

/// The method of a lower-case word.
pub fn method(word: &str) -> Method {
    word.to_uppercase().parse().expect("a method")
}

impl World {
    pub async fn new() -> Self {
        Self { farrier: TestDaemon::start().await }
    }

    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self { farrier: TestDaemon::with(change).await }
    }

    pub async fn with_clock(clock: Clock) -> Self {
        Self { farrier: TestDaemon::with_clock(clock, |_| {}).await }
    }

    /// The same, with a group of CI agents.
    pub async fn with_agents(clock: Clock, group: &str) -> Self {
        let change = |config: &mut Config| config.socket.ci_group = Some(group.to_owned());
        Self { farrier: TestDaemon::with_clock(clock, change).await }
    }

    /// Makes an account that can sign in at once.
    pub async fn user(&self, name: &str) {
        self.user_with(name, json!({})).await;
    }

    /// The same with other fields.
    pub async fn user_with(&self, name: &str, fields: Value) {
        let mut body = json!({
            "username": name, "email": format!("{name}@example.org"), "password": PASSWORD,
            "must_change_password": false,
        });
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        self.admin("post", "/admin/users", body, 201).await;
    }

    /// Makes a token of `user` and gives its clear form.
    pub async fn token(&self, user: &str, scopes: &[&str]) -> String {
        self.token_with(user, json!({ "scopes": scopes })).await
    }

    /// The same with other fields.
    pub async fn token_with(&self, user: &str, fields: Value) -> String {
        let mut body = fields;
        body["name"] = format!("t{}", hex::encode(rand())).into();
        let made = self.admin("post", &format!("/users/{user}/tokens"), body, 201).await;
        made["sha1"].as_str().expect("text").to_owned()
    }

    /// A request as the operator on this machine.
    pub async fn admin(&self, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.farrier.admin(method(word), &format!("/api/v1{path}"), body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// A request over TCP with `authorization`; an empty one is left out.
    pub async fn ask(&self, authorization: &str, word: &str, path: &str, body: Value) -> Answer {
        self.ask_over(&self.farrier.tcp(), authorization, word, path, body).await
    }

    /// The same over a listener of choice.
    pub async fn ask_over(&self, over: &Over, authorization: &str, word: &str, path: &str, body: Value) -> Answer {
        let mut headers = vec![("content-type", "application/json")];
        if !authorization.is_empty() {
            headers.push(("authorization", authorization));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(over, method(word), &format!("/api/v1{path}"), &headers, body).await
    }

    /// A GET over TCP; its status and its body.
    pub async fn get(&self, authorization: &str, path: &str) -> (u16, Value) {
        let answer = self.ask(authorization, "get", path, Value::Null).await;
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }

    /// The status of a request over TCP.
    pub async fn status(&self, authorization: &str, word: &str, path: &str, body: Value) -> u16 {
        self.ask(authorization, word, path, body).await.status
    }
}

/// `Basic` credentials.
pub fn basic(name: &str, password: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}")))
}

/// The names in a list.
pub fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|item| item[key].as_str().expect("text").to_owned()).collect()
}

fn rand() -> [u8; 8] {
    farrierd::model::secret::random_bytes()
}
