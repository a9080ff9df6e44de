//! Several `farrierd` processes that share a PostgreSQL server and a bucket, each with a data directory of its own.

use std::path::PathBuf;

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::servers::Servers;
use crate::support::{
    Link, LinkState, ServerAddress,
    bucket::TestBucket,
    free_address,
    postgres::PASSWORD,
    process::{Program, command, config_file, log_file, output},
    send,
};

/// A store, a bucket, and the daemons that share them.
pub(super) struct Cluster {
    pub(super) servers: Servers,
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
    /// The links to the hosts of the store.
    store: [Link; 2],
    bucket: Link,
}

impl Cluster {
    /// Starts `count` daemons. Returns `None` if PostgreSQL or the S3 server is not installed.
    pub(super) async fn start(count: usize) -> Option<Self> {
        Self::start_on(Servers::start()?, count).await
    }

    /// Like [`Cluster::start`], with a synchronous standby.
    pub(super) async fn start_with_standby(count: usize) -> Option<Self> {
        let mut servers = Servers::start()?;
        servers.add_standby().await;
        Self::start_on(servers, count).await
    }

    async fn start_on(servers: Servers, count: usize) -> Option<Self> {
        let (bucket, dir) = (TestBucket::start().await?, tempfile::tempdir().expect("a directory"));
        let database = servers.primary().database().await;
        let (password, key) = (dir.path().join("password"), dir.path().join("secrets.key"));
        // That of a server is lost with it.
        std::fs::write(&password, PASSWORD).expect("a file");
        let (hosts, endpoint) = (servers.addresses(), bucket.address());
        let mut nodes = Vec::new();
        for number in 0..count {
            let directory = dir.path().join(format!("node{number}"));
            std::fs::create_dir(&directory).expect("a directory");
            let store = [Link::start(hosts[0]).await, Link::start(hosts[1]).await];
            let to_bucket = Link::start(endpoint).await;
            let config = format!(
                "[node]\nname = \"node{number}\"\n[artifacts]\nreserve_bytes = 0\n\
                 [webhook]\nallowed_hosts = \"loopback\"\n\
                 [store]\nengine = \"postgres\"\nurl = \"postgresql://farrier@{},{}/{database}\"\n\
                 password_file = \"{}\"\nkey_file = \"{}\"\n{}",
                store[0].address,
                store[1].address,
                password.display(),
                key.display(),
                bucket.toml().replace(&endpoint.to_string(), &to_bucket.address.to_string()),
            );
            std::fs::write(config_file(&directory), config).expect("a file");
            let address = free_address().to_string();
            nodes.push(ClusterNode { dir: directory, address, program: None, store, bucket: to_bucket });
        }
        let mut cluster = Self { servers, bucket, nodes, token: String::new(), dir };
        for node in &mut cluster.nodes {
            node.start().await;
        }
        let token = cluster.nodes[0]
            .done(Method::POST, "/api/v1/users/admin/tokens", json!({ "name": "test", "scopes": ["all"] }))
            .await;
        token["sha1"].as_str().expect("a token").clone_into(&mut cluster.token);
        Some(cluster)
    }

    /// Starts a standby in place of a primary that was killed.
    pub(super) async fn add_standby(&mut self) {
        self.servers.add_standby().await;
        let hosts = self.servers.addresses();
        for node in &self.nodes {
            for (link, host) in node.store.iter().zip(hosts) {
                link.lead_to(host);
            }
        }
    }

    /// A directory for the clients.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

impl ClusterNode {
    /// Sets the links to the database servers.
    pub(super) fn set_store(&self, state: LinkState) {
        for link in &self.store {
            link.set(state);
        }
    }

    /// Sets the link to the bucket.
    pub(super) fn set_bucket(&self, state: LinkState) {
        self.bucket.set(state);
    }

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
