//! Several `farrierd` processes that share a PostgreSQL server and a bucket, each with a data directory of its own.

use std::path::PathBuf;

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    ServerAddress,
    bucket::TestBucket,
    free_address,
    postgres::PostgresServer,
    process::{Program, command, config_file, log_file, output},
    send,
};

/// A store, a bucket, and the daemons that share them.
pub(super) struct Cluster {
    pub(super) server: PostgresServer,
    pub(super) bucket: TestBucket,
    pub(super) nodes: Vec<ClusterNode>,
    /// The token of the administrator, with all scopes.
    pub(super) token: String,
    dir: TempDir,
}

/// A daemon with its own directory, which always listens on the same address.
pub(super) struct ClusterNode {
    dir: PathBuf,
    address: String,
    program: Option<Program>,
}

impl Cluster {
    /// Starts `count` daemons. Returns `None` if PostgreSQL or the S3 server is not installed.
    pub(super) async fn start(count: usize) -> Option<Self> {
        let (server, bucket) = (PostgresServer::start()?, TestBucket::start().await?);
        let dir = tempfile::tempdir().expect("a directory");
        let database = server.socket_url(&server.database().await);
        let (password, key) = (server.password_file(), dir.path().join("secrets.key"));
        let mut nodes = Vec::new();
        for number in 0..count {
            let directory = dir.path().join(format!("node{number}"));
            std::fs::create_dir(&directory).expect("a directory");
            let config = format!(
                "[node]\nname = \"node{number}\"\n[artifacts]\nreserve_bytes = 0\n\
                 [webhook]\nallowed_hosts = \"loopback\"\n\
                 [store]\nengine = \"postgres\"\nurl = \"{database}\"\npassword_file = \"{}\"\nkey_file = \"{}\"\n{}",
                password.display(),
                key.display(),
                bucket.toml(),
            );
            std::fs::write(config_file(&directory), config).expect("a file");
            nodes.push(ClusterNode { dir: directory, address: free_address().to_string(), program: None });
        }
        let mut cluster = Self { server, bucket, nodes, token: String::new(), dir };
        for node in &mut cluster.nodes {
            node.start().await;
        }
        let token = cluster.nodes[0]
            .done(Method::POST, "/api/v1/users/admin/tokens", json!({ "name": "test", "scopes": ["all"] }))
            .await;
        token["sha1"].as_str().expect("a token").clone_into(&mut cluster.token);
        Some(cluster)
    }

    /// A directory for the clients.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

impl ClusterNode {
    /// Starts the daemon and waits until it is ready.
    pub(super) async fn start(&mut self) {
        assert!(self.program.is_none(), "one process at a time");
        self.program = Some(Program::start(&self.dir, &self.data_dir(), &self.socket(), &self.address).await);
    }

    /// Kills the daemon with SIGKILL.
    pub(super) async fn kill(&mut self) {
        self.program.take().expect("a process").kill().await;
    }

    /// Sends SIGTERM and waits until the daemon has ended.
    pub(super) async fn stop(&mut self) {
        self.program.take().expect("a process").stop().await;
    }

    /// Removes the data directory of the stopped daemon.
    pub(super) fn wipe(&self) {
        assert!(self.program.is_none(), "the daemon runs");
        std::fs::remove_dir_all(self.data_dir()).expect("removed");
    }

    /// Stops the process with SIGSTOP.
    pub(super) fn pause(&self) {
        self.program.as_ref().expect("a process").signal(Signal::STOP);
    }

    /// Lets a paused process run again.
    pub(super) fn resume(&self) {
        self.program.as_ref().expect("a process").signal(Signal::CONT);
    }

    /// Sends a request as the administrator, over the Unix socket. It must succeed.
    pub(super) async fn done(&self, method: Method, path: &str, body: Value) -> Value {
        let sent = send(&self.unix(), method, path, &[("content-type", "application/json")], body.to_string()).await;
        assert!((200..300).contains(&sent.status), "{path}: {sent:?}");
        if sent.body.is_empty() { Value::Null } else { sent.json() }
    }

    /// Runs a command of `farrierd` with the configuration of the stopped daemon.
    pub(super) async fn command(&self, args: &[&str]) -> std::process::Output {
        let mut command = command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(config_file(&self.dir)).arg("--data-dir").arg(self.data_dir()).args(args);
        output(command).await.expect("the program")
    }

    /// The address of the TCP listener.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn tcp(&self) -> ServerAddress {
        ServerAddress::Tcp(self.address.clone())
    }

    pub(super) fn unix(&self) -> ServerAddress {
        ServerAddress::Unix(self.socket())
    }

    /// The URL of the daemon with the credentials of the administrator, for git.
    pub(super) fn server(&self, token: &str) -> String {
        format!("http://admin:{token}@{}", self.address)
    }

    /// The URL of a repository for git.
    pub(super) fn remote(&self, path: &str, token: &str) -> String {
        format!("{}/{path}.git", self.server(token))
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("farrier.sock")
    }

    /// The log of all processes that were started in this directory.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(log_file(&self.dir)).unwrap_or_default()
    }
}
