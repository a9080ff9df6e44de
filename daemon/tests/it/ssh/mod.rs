//! Git over SSH, tested with the real `ssh`, `ssh-keygen` and `git`.

mod commands;
mod deploy_keys;
mod forwarding;
mod kill;
mod lfs;
mod limits;
mod rules;
mod security_keys;
mod server;
mod shared_fetch;
mod sign_in;
mod teams;
mod transfers;

use std::{fmt::Write as _, path::PathBuf};

use farrierd::config::Config;
use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, git::Client, process};

/// Turns SSH on, on a free port.
fn on(config: &mut Config) {
    config.ssh.listen = vec!["127.0.0.1:0".parse().expect("an address")];
}

/// The configuration of a daemon that runs as a program, with SSH on a free port.
const ON: &str = "[ssh]\nlisten = [\"127.0.0.1:0\"]\n";

/// A daemon that serves SSH, with the repository `admin/demo` and a client with a key of the administrator.
async fn demo() -> (TestDaemon, SshClient) {
    demo_with(|_| {}).await
}

async fn demo_with(change: impl FnOnce(&mut Config)) -> (TestDaemon, SshClient) {
    let farrier = TestDaemon::with(|config| {
        on(config);
        change(config);
    })
    .await;
    let client = with_demo(&farrier).await;
    (farrier, client)
}

async fn with_demo(farrier: &TestDaemon) -> SshClient {
    farrier.repository("demo").await;
    let client = SshClient::new(farrier).await;
    let key = client.key("admin", &["-t", "ed25519"]).await;
    add_key(farrier, "admin", &key).await;
    client
}

/// Adds a public key to an account. Returns the ID of the key.
async fn add_key(farrier: &TestDaemon, user: &str, key: &str) -> i64 {
    let body = json!({ "title": format!("key {}", key.len()), "key": key });
    let body = json!({ "title": format!("{} {}", body["title"], &key[key.len().saturating_sub(60)..]), "key": key });
    let path = format!("/api/v1/admin/users/{user}/keys");
    let added = farrier.admin(Method::POST, &path, body).await;
    assert_eq!(added.status, 201, "{}", added.text());
    added.json()["id"].as_i64().expect("an ID")
}

/// Adds a deploy key to `admin/{repository}`.
async fn add_deploy_key(farrier: &TestDaemon, repository: &str, key: &str, read_only: bool) -> i64 {
    let body = json!({ "title": format!("deploy {repository}"), "key": key, "read_only": read_only });
    let added = farrier.admin(Method::POST, &format!("/api/v1/repos/admin/{repository}/keys"), body).await;
    assert_eq!(added.status, 201, "{}", added.text());
    added.json()["id"].as_i64().expect("an ID")
}

/// The real `ssh`, with a directory for its keys and its configuration.
struct SshClient {
    home: PathBuf,
    port: i64,
}

/// The result of a program.
#[derive(Debug)]
struct Ended {
    status: i32,
    out: String,
    err: String,
}

impl SshClient {
    /// Creates a client that knows the host keys of the daemon.
    async fn new(farrier: &TestDaemon) -> Self {
        let home = farrier.scratch().join("ssh-client");
        std::fs::create_dir_all(&home).expect("a directory");
        let mut client = Self { home, port: 0 };
        client.connect_to(farrier).await;
        client
    }

    /// Uses the address and the host keys that the daemon shows now.
    async fn connect_to(&mut self, farrier: &TestDaemon) {
        let service = farrier.admin(Method::GET, "/api/farrier/v1/ssh", Value::Null).await.json();
        assert_eq!(service["enabled"], true, "{service}");
        self.port = service["port"].as_i64().expect("a port");
        let mut known = String::new();
        for key in service["host_keys"].as_array().expect("a list") {
            let public = key["public"].as_str().expect("a key");
            writeln!(known, "[127.0.0.1]:{} {public}", self.port).expect("memory");
        }
        std::fs::write(self.home.join("known_hosts"), known).expect("a file");
        let settings = format!(
            "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {0}/known_hosts\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 30\n",
            self.home.display()
        );
        std::fs::write(self.home.join("config"), settings).expect("a file");
    }

    /// Creates a key pair in the file `name`. Returns the public key.
    async fn key(&self, name: &str, kind: &[&str]) -> String {
        let mut command = process::command("ssh-keygen");
        command.args(["-q", "-N", "", "-C", name, "-f"]).arg(self.home.join(name)).args(kind);
        let output = process::output(command).await.expect("ssh-keygen is installed");
        assert!(output.status.success(), "{output:?}");
        std::fs::read_to_string(self.home.join(format!("{name}.pub"))).expect("a file").trim().to_owned()
    }

    /// Returns the first arguments of `ssh` for the key `name`.
    fn arguments(&self, name: &str) -> Vec<String> {
        let path = |name: &str| self.home.join(name).display().to_string();
        ["-F", &path("config"), "-i", &path(name)].map(str::to_owned).to_vec()
    }

    /// Runs `ssh` with the key `name`, with `options`, and with `words` after the address.
    async fn run(&self, name: &str, options: &[&str], words: &[&str]) -> Ended {
        self.run_as("git", name, options, words).await
    }

    async fn run_as(&self, user: &str, name: &str, options: &[&str], words: &[&str]) -> Ended {
        let mut command = process::command("ssh");
        command.args(self.arguments(name)).args(["-p", &self.port.to_string()]).args(options);
        let output = command.arg(format!("{user}@127.0.0.1")).args(words);
        let output = process::output(std::mem::replace(output, process::command("true"))).await;
        let output = output.expect("ssh is installed");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { status: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// Returns the address of a repository.
    fn url(&self, path: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{path}.git", self.port)
    }

    /// Returns a setting with which git uses this client and the key `name`.
    fn setting(&self, name: &str) -> String {
        self.setting_with(name, &[])
    }

    fn setting_with(&self, name: &str, options: &[&str]) -> String {
        let arguments = [self.arguments(name), options.iter().map(|&option| option.to_owned()).collect()].concat();
        format!("core.sshCommand=ssh {}", arguments.join(" "))
    }

    /// Creates a working copy in which git uses the key `name`.
    fn work(&self, farrier: &TestDaemon, directory: &str, name: &str) -> Client {
        let work = Client::init(farrier.scratch().join(directory));
        let setting = self.setting(name);
        let (key, value) = setting.split_once('=').expect("a setting");
        work.done(&["config", key, value]);
        work
    }
}
