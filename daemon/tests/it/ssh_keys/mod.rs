//! SSH keys of accounts and deploy keys of repositories, over REST.

mod accounts;
mod deploy;
mod real;

use serde_json::{Value, json};

use crate::{accounts::world::World, support::ssh_key};

/// Accounts and the values of their Authorization headers.
struct Scene {
    world: World,
    ann: String,
    bob: String,
    /// A site administrator.
    boss: String,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        for name in ["ann", "bob"] {
            world.user(name).await;
        }
        world.user_with("boss", json!({ "admin": true })).await;
        let mut tokens = Vec::new();
        for name in ["ann", "bob", "boss"] {
            tokens.push(format!("token {}", world.token(name, &["all"]).await));
        }
        let [ann, bob, boss] = tokens.try_into().expect("three tokens");
        Self { world, ann, bob, boss }
    }

    /// Sends a request and checks its status. Returns the body.
    async fn expect(&self, who: &str, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.world.ask(who, word, path, body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// Creates a repository of `ann`.
    async fn repository(&self, name: &str) {
        self.expect(&self.ann, "post", "/user/repos", json!({ "name": name, "private": true }), 201).await;
    }

    /// Asserts that a request for a new key is refused with 422 and this message.
    async fn refused(&self, who: &str, path: &str, body: Value, message: &str) {
        let refused = self.expect(who, "post", path, body.clone(), 422).await;
        let text = refused["message"].as_str().expect("a message");
        assert!(text.contains(message), "{body}: {text}");
    }
}

/// A request for the key with this seed.
fn new_key(title: &str, seed: &str) -> Value {
    json!({ "title": title, "key": ssh_key(seed) })
}
