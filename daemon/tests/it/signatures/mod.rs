//! OpenPGP keys of accounts, and the verification of commits and tags.

mod commits;
mod keys;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    accounts::world::World,
    support::process::{command, output},
};

/// A key of `ann@example.org` whose private part is not in this repository.
const ANN: &str = include_str!("../../data/gpg/ann.asc");
const RSA: &str = include_str!("../../data/gpg/rsa.asc");

/// Accounts and their tokens.
struct Scene {
    world: World,
    ann: String,
    bob: String,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let mut tokens = Vec::new();
        for name in ["ann", "bob"] {
            world.user(name).await;
            tokens.push(world.token(name, &["all"]).await);
        }
        let [ann, bob] = tokens.try_into().expect("two tokens");
        Self { world, ann, bob }
    }

    /// Sends a request of `token` and checks its status. Returns the body.
    async fn expect(&self, token: &str, word: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.world.ask(&format!("token {token}"), word, path, body).await;
        assert_eq!(answer.status, status, "{word} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }

    /// The token that `token` signs with a key.
    async fn key_token(&self, token: &str) -> String {
        let answer = self.world.ask(&format!("token {token}"), "get", "/user/gpg_key_token", Value::Null).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"));
        answer.text()
    }
}

fn new_key(text: &str) -> Value {
    json!({ "armored_public_key": text })
}

/// The keys of `gpg` in a directory of their own.
struct Gpg {
    home: PathBuf,
}

impl Gpg {
    /// Makes a key with this user ID. `None` if gpg is not installed.
    async fn new(home: PathBuf, user_id: &str) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(home.join(".gnupg")).expect("a directory");
        std::fs::set_permissions(home.join(".gnupg"), std::fs::Permissions::from_mode(0o700)).expect("permissions");
        let gpg = Self { home };
        gpg.run("gpg", &["--quick-gen-key", user_id, "ed25519", "cert,sign", "never"]).await?;
        Some(gpg)
    }

    async fn run(&self, program: &str, args: &[&str]) -> Option<String> {
        let mut command = command(program);
        command.env("HOME", &self.home);
        if program == "gpg" {
            command.args(["--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"]);
        }
        command.args(args);
        let done = output(command).await?;
        assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        Some(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    async fn public_key(&self) -> String {
        self.run("gpg", &["--armor", "--export"]).await.expect("gpg")
    }

    /// A detached signature of `text`.
    async fn sign(&self, text: &str) -> String {
        let file = self.home.join("text");
        std::fs::write(&file, text).expect("a file");
        self.run("gpg", &["--armor", "--output", "-", "--detach-sign", path(&file)]).await.expect("gpg")
    }

    /// Ends the agent that gpg has started.
    async fn end(self) {
        self.run("gpgconf", &["--kill", "gpg-agent"]).await;
    }
}

fn path(file: &Path) -> &str {
    file.to_str().expect("a path")
}
