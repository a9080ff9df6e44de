//! A daemon with accounts.

use farrierd::{clock::Clock, config::Config};
use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, ServerAddress, TestDaemon, send};

/// The password of every account.
pub const PASSWORD: &str = "correct horse";

/// A running daemon with helpers that send requests as a user.
pub struct World {
    pub farrier: TestDaemon,
}

/// The HTTP method for a lower-case word.
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

    /// Like [`World::with_clock`], with a group for CI agents.
    pub async fn with_agents(clock: Clock, group: &str) -> Self {
        let change = |config: &mut Config| config.socket.ci_group = Some(group.to_owned());
        Self { farrier: TestDaemon::with_clock(clock, change).await }
    }

    /// Creates an account that can sign in at once.
    pub async fn user(&self, name: &str) {
        self.user_with(name, json!({})).await;
    }

    /// Like [`World::user`], with further fields.
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

    /// Creates a token of `user` and returns it.
    pub async fn token(&self, user: &str, scopes: &[&str]) -> String {
        self.token_with(user, json!({ "scopes": scopes })).await
    }

    /// Like [`World::token`], with the given fields.
    pub async fn token_with(&self, user: &str, fields: Value) -> String {
        let mut body = fields;
        body["name"] = format!("t{}", hex::encode(rand())).into();
        let created = self.admin("post", &format!("/users/{user}/tokens"), body, 201).await;
        created["sha1"].as_str().expect("text").to_owned()
    }

    /// Sends a request over the Unix socket, as the operator, and checks its status. Returns the body.
    pub async fn admin(&self, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.farrier.admin(method(word), &format!("/api/v1{path}"), body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// Sends a request over TCP with this Authorization header, or without the header if it is empty.
    pub async fn ask(&self, authorization: &str, word: &str, path: &str, body: Value) -> Answer {
        self.ask_at(&self.farrier.tcp(), authorization, word, path, body).await
    }

    /// Like [`World::ask`], over the given listener.
    pub async fn ask_at(
        &self,
        server: &ServerAddress,
        authorization: &str,
        word: &str,
        path: &str,
        body: Value,
    ) -> Answer {
        let mut headers = vec![("content-type", "application/json")];
        if !authorization.is_empty() {
            headers.push(("authorization", authorization));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(server, method(word), &format!("/api/v1{path}"), &headers, body).await
    }

    /// Sends a GET over TCP. Returns the status and the body.
    pub async fn get(&self, authorization: &str, path: &str) -> (u16, Value) {
        let answer = self.ask(authorization, "get", path, Value::Null).await;
        (answer.status, if answer.body.is_empty() { Value::Null } else { answer.json() })
    }

    /// Sends a request over TCP and returns its status.
    pub async fn status(&self, authorization: &str, word: &str, path: &str, body: Value) -> u16 {
        self.ask(authorization, word, path, body).await.status
    }
}

/// The value of an Authorization header with `Basic` credentials.
pub fn basic(name: &str, password: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}")))
}

/// The values of `key` in a list of objects.
pub fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|item| item[key].as_str().expect("text").to_owned()).collect()
}

fn rand() -> [u8; 8] {
    farrierd::model::secret::random_bytes()
}
