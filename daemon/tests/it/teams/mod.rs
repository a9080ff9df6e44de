//! Teams of organizations.

mod api;
mod lists;
mod membership;
mod rights;
mod rules;

use serde_json::{Value, json};

use crate::accounts::world::World;

/// An organization `acme` of `boss`, with the private repository `app`, and other accounts.
struct Acme {
    world: World,
    boss: String,
    dev: String,
}

impl Acme {
    async fn new() -> Self {
        let world = World::new().await;
        for name in ["boss", "dev", "eve"] {
            world.user(name).await;
        }
        world.admin("post", "/admin/users/boss/orgs", json!({ "username": "acme" }), 201).await;
        let boss = format!("token {}", world.token("boss", &["all"]).await);
        let dev = format!("token {}", world.token("dev", &["all"]).await);
        let acme = Self { world, boss, dev };
        acme.as_boss("post", "/orgs/acme/repos", json!({ "name": "app", "private": true, "auto_init": true }), 201)
            .await;
        acme
    }

    /// Sends a request as the owner and checks its status.
    async fn as_boss(&self, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.world.ask(&self.boss, word, path, body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// Creates a team and returns its path.
    async fn team(&self, name: &str, fields: Value) -> String {
        let mut body = fields;
        body["name"] = name.into();
        let created = self.as_boss("post", "/orgs/acme/teams", body, 201).await;
        format!("/teams/{}", created["id"])
    }

    /// Creates the team `devs` with the member `dev` and the repository `app`. Returns its path.
    async fn devs(&self, fields: Value) -> String {
        let team = self.team("devs", fields).await;
        self.as_boss("put", &format!("{team}/members/dev"), Value::Null, 204).await;
        self.as_boss("put", &format!("{team}/repos/acme/app"), Value::Null, 204).await;
        team
    }

    /// Returns the status that `dev` gets.
    async fn dev(&self, word: &str, path: &str, body: Value) -> u16 {
        self.world.status(&self.dev, word, path, body).await
    }

    /// Returns the path of the team of owners.
    async fn owners(&self) -> String {
        format!("/teams/{}", self.as_boss("get", "/orgs/acme/teams", Value::Null, 200).await[0]["id"])
    }
}
