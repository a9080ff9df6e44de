//! Rules that protect branches and tags: their administration, and how they decide about changes of refs.

mod administration;
mod api;
mod clients;
mod hostile;
mod lifetime;
mod meanwhile;
mod push;

use serde_json::{Value, json};

use crate::{accounts::world::World, support::git::Client};

/// `ann` owns `ann/demo`, `bob` may write to it, `eve` may read it, `boss` is a site administrator.
struct Scene {
    world: World,
    ann: String,
    bob: String,
    eve: String,
    boss: String,
}

impl Scene {
    /// A scene whose repository has one commit on `main`.
    async fn new() -> Self {
        let world = World::new().await;
        for name in ["ann", "bob", "eve"] {
            world.user(name).await;
        }
        world.user_with("boss", json!({ "admin": true })).await;
        let mut tokens = Vec::new();
        for name in ["ann", "bob", "eve", "boss"] {
            tokens.push(world.token(name, &["all"]).await);
        }
        let [ann, bob, eve, boss] = tokens.try_into().expect("four tokens");
        let scene = Self { world, ann, bob, eve, boss };
        scene.ann("post", "/user/repos", json!({ "name": "demo", "auto_init": true }), 201).await;
        for (user, permission) in [("bob", "write"), ("eve", "read")] {
            let path = format!("/repos/ann/demo/collaborators/{user}");
            scene.ann("put", &path, json!({ "permission": permission }), 204).await;
        }
        scene
    }

    /// Sends a request of `token` and checks its status. Returns the body.
    async fn expect(&self, token: &str, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.world.ask(&format!("token {token}"), word, path, body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    async fn ann(&self, word: &str, path: &str, body: Value, status: u16) -> Value {
        self.expect(&self.ann, word, path, body, status).await
    }

    /// Adds a branch rule with pushes allowed, unless `fields` say otherwise.
    async fn branch_rule(&self, name: &str, fields: Value) -> Value {
        let mut body = json!({ "rule_name": name, "enable_push": true });
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        self.ann("post", BRANCHES, body, 201).await
    }

    async fn tag_rule(&self, pattern: &str, users: Value) -> Value {
        self.ann("post", TAGS, json!({ "name_pattern": pattern, "whitelist_usernames": users }), 201).await
    }

    /// A clone of the repository of this user, as the working copy `name`.
    fn clone(&self, token: &str, name: &str) -> Client {
        let scratch = Client::at(self.world.farrier.scratch());
        scratch.done(&["clone", "-q", &self.world.farrier.remote("ann/demo", token), name]);
        scratch.below(name)
    }

    /// The tips of the repository, as `git ls-remote` prints them.
    fn refs(&self) -> String {
        Client::at(self.world.farrier.scratch()).done(&["ls-remote", &self.world.farrier.remote("ann/demo", &self.ann)])
    }
}

const BRANCHES: &str = "/repos/ann/demo/branch_protections";
const TAGS: &str = "/repos/ann/demo/tag_protections";
