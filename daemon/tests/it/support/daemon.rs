//! The daemon under test: in the test process, or the `farrierd` program as a child process.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use farrierd::{
    RunError, Started,
    clock::Clock,
    config::{Config, DefaultPaths},
    serve::{self, Listener},
    store::{
        Store,
        engine::{MemoryEngine, RedbEngine, RedbOptions},
        keyring::{Keyring, StoreKey},
    },
};
use futures_util::FutureExt as _;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    http::{Answer, ServerAddress, send},
    loopback::own_ip,
    process::{self, Program},
    waiting::in_time,
};

/// A running daemon with its own directory, on a free TCP port and a Unix socket.
pub struct TestDaemon {
    /// Address of the API on TCP, such as `http://127.3.0.1:4711`.
    pub url: String,
    /// Address of the metrics listener; empty unless `metrics.listen` is set.
    pub metrics: String,
    /// The daemon's clock: the system's, or a manual one if the test passed one.
    pub clock: Clock,
    config: Config,
    /// If set, the daemon uses this store instead of the one in its directory.
    store: Option<Store>,
    stop: CancellationToken,
    running: Running,
    dir: TempDir,
}

enum Running {
    Not,
    Here(JoinHandle<Result<(), RunError>>),
    /// The `farrierd` process and its configuration file.
    Child(Box<Program>, String),
}

impl TestDaemon {
    /// Starts a daemon with the default configuration and the system's clock.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts a daemon with the default configuration after `change` has edited it.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_clock(Clock::system(), change).await
    }

    /// Like [`TestDaemon::with`], with the given clock.
    pub async fn with_clock(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        Self::start_with(clock, None, change).await
    }

    /// Starts a daemon with the default configuration that stores its rows in `engine`.
    pub async fn with_engine(engine: MemoryEngine) -> Self {
        Self::over_store(Store::open(Arc::new(engine)).await.expect("a store")).await
    }

    /// Starts a daemon with the default configuration on `store`, which the test can read meanwhile.
    pub async fn over_store(store: Store) -> Self {
        Self::over_store_with(store, |_| {}).await
    }

    /// Like [`TestDaemon::over_store`], with the configuration edited by `change`.
    pub async fn over_store_with(store: Store, change: impl FnOnce(&mut Config)) -> Self {
        Self::start_with(Clock::system(), Some(store), change).await
    }

    /// Starts a daemon with a clock, and on `store` if there is one.
    pub async fn start_with(clock: Clock, store: Option<Store>, change: impl FnOnce(&mut Config)) -> Self {
        let mut daemon = Self::prepare(clock, store, change);
        daemon.launch().await;
        daemon
    }

    /// Starts the `farrierd` program as a child process with the configuration file `toml`.
    pub async fn program(toml: &str) -> Self {
        let mut daemon = Self::prepare(Clock::system(), None, |_| {});
        daemon.launch_program(toml.to_owned()).await;
        daemon
    }

    fn prepare(clock: Clock, store: Option<Store>, change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().display().to_string();
        let locations =
            DefaultPaths::from_env(
                |name| if name == "HOME" { Ok(home.clone()) } else { Err(std::env::VarError::NotPresent) },
            );
        let locations = locations.with_data_dir(dir.path().join("data"));
        let mut config = Config::defaults(&locations);
        config.server.listen = vec![SocketAddr::new(own_ip(), 0)];
        // The host of requests that tests write byte by byte.
        config.server.hosts = vec!["x".into()];
        config.artifacts.reserve_bytes = 0;
        // The tests of SSH turn it on.
        config.ssh.listen = Vec::new();
        change(&mut config);
        let (url, metrics) = (String::new(), String::new());
        Self { url, metrics, clock, config, store, stop: CancellationToken::new(), running: Running::Not, dir }
    }

    async fn launch(&mut self) {
        let mut listeners = Vec::new();
        for address in &self.config.server.listen {
            listeners.push(listen(*address).await);
        }
        listeners.push(serve::bind_unix(&self.config.socket.path, None).expect("a socket"));
        self.stop = CancellationToken::new();
        let (started, answering) = oneshot::channel::<Started>();
        let (config, clock, stop) = (self.config.clone(), self.clock.clone(), self.stop.clone());
        let run = match self.store.clone() {
            None => farrierd::run(config, listeners, clock, stop, started).boxed(),
            Some(store) => farrierd::run_with_store(store, config, listeners, clock, stop, started).boxed(),
        };
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        let running = tokio::spawn(run);
        let Ok(started) = in_time("the daemon answers", answering).await else {
            panic!("the daemon did not start: {:?}", running.await)
        };
        self.running = Running::Here(running);
        let address = |kind: &str| started.listeners.iter().find(|(name, _)| *name == kind).map(|(_, at)| at.clone());
        if let Some(address) = address("tcp") {
            self.listens_on(&address);
        }
        self.metrics = address("metrics").unwrap_or_default();
    }

    async fn launch_program(&mut self, toml: String) {
        let (data, socket) = (self.data_dir(), self.socket());
        let listen = self.config.server.listen[0].to_string();
        std::fs::write(process::config_file(self.dir.path()), &toml).expect("a file");
        let program = Program::start(self.dir.path(), &data, &socket, &listen).await;
        self.listens_on(&program.address);
        self.running = Running::Child(Box::new(program), toml);
    }

    /// Makes the next start use the same address, so that clients can reconnect.
    fn listens_on(&mut self, address: &str) {
        self.config.server.listen = vec![address.parse().expect("an address")];
        self.url = format!("http://{address}");
    }

    /// Stops the daemon gracefully.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        match std::mem::replace(&mut self.running, Running::Not) {
            Running::Not => {}
            Running::Here(running) => {
                let ended = in_time("the daemon ends", running).await;
                ended.expect("no panic").expect("an orderly end");
            }
            Running::Child(program, _) => program.stop().await,
        }
    }

    /// Stops the daemon gracefully and starts it again with the same data and addresses.
    pub async fn restart(&mut self) {
        let toml = if let Running::Child(_, toml) = &self.running { Some(toml.clone()) } else { None };
        self.stop().await;
        match toml {
            Some(toml) => self.launch_program(toml).await,
            None => self.launch().await,
        }
    }

    /// Edits the configuration for the next start in the test process.
    pub fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
    }

    /// Starts the stopped daemon as a child process with the configuration file `toml`, on a free port.
    pub async fn start_as_program(&mut self, toml: &str) {
        self.config.server.listen = vec![SocketAddr::new(own_ip(), 0)];
        self.clock = Clock::system();
        self.launch_program(toml.to_owned()).await;
    }

    /// Starts the stopped daemon in the test process with `clock`, on a free port.
    pub async fn start_in_process(&mut self, clock: Clock) {
        self.config.server.listen = vec![SocketAddr::new(own_ip(), 0)];
        self.clock = clock;
        self.launch().await;
    }

    /// Kills the child process with SIGKILL.
    pub async fn kill(&mut self) {
        let Running::Child(program, _) = std::mem::replace(&mut self.running, Running::Not) else {
            panic!("only a program can be killed")
        };
        program.kill().await;
    }

    /// Starts the program on the data of the stopped daemon and waits until it exits. For starts that must fail.
    pub async fn refused_start(&self, toml: &str) -> std::process::Output {
        std::fs::write(process::config_file(self.dir.path()), toml).expect("a file");
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(process::config_file(self.dir.path())).arg("--data-dir").arg(self.data_dir());
        command.arg("--socket").arg(self.socket()).args(["--listen", "127.0.0.1:0"]);
        process::output(command).await.expect("the program")
    }

    /// Runs `farrierd check-data` on the data of the stopped daemon.
    pub async fn check_data(&self, args: &[&str]) -> std::process::Output {
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--data-dir").arg(self.data_dir()).arg("check-data").args(args);
        process::output(command).await.expect("the program")
    }

    /// Runs a `farrierd` command on the data of the stopped daemon. It must succeed.
    pub async fn command(&self, args: &[&str]) {
        let output = self.command_output(args).await;
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// Runs a `farrierd` command on the data of the stopped daemon and returns its result.
    pub async fn command_output(&self, args: &[&str]) -> std::process::Output {
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--data-dir").arg(self.data_dir()).args(args);
        process::output(command).await.expect("the program")
    }

    /// Runs a `farrierd` command with the configuration file `toml`, also while the daemon runs.
    pub async fn command_with(&self, toml: &str, args: &[&str]) -> std::process::Output {
        let file = self.scratch().join("command.toml");
        std::fs::write(&file, toml).expect("a file");
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(file).arg("--data-dir").arg(self.data_dir()).args(args);
        process::output(command).await.expect("the program")
    }

    /// Kills the child process with SIGKILL and starts it again with the same data and addresses.
    pub async fn kill_and_start(&mut self) {
        let Running::Child(program, toml) = std::mem::replace(&mut self.running, Running::Not) else {
            panic!("only a program can be killed")
        };
        program.kill().await;
        self.launch_program(toml).await;
    }

    /// Replaces the configuration file of the child process and runs `farrierd reload`.
    pub async fn reload(&self, toml: &str) {
        std::fs::write(process::config_file(self.dir.path()), toml).expect("a file");
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(process::config_file(self.dir.path())).arg("--data-dir").arg(self.data_dir());
        let output = process::output({
            command.arg("reload");
            command
        })
        .await
        .expect("the program");
        assert!(output.status.success(), "{output:?}");
    }

    /// The child process, for checks of its memory and open files.
    pub fn child(&self) -> &Program {
        let Running::Child(program, _) = &self.running else { panic!("the daemon is in process") };
        program
    }

    /// The log that the program has written so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(process::log_file(self.dir.path())).expect("a log")
    }

    /// Stops the daemon, runs `work` on its store, and starts it again.
    pub async fn with_store<T>(&mut self, work: impl AsyncFnOnce(&Store) -> T) -> T {
        self.stop().await;
        let options = RedbOptions { cache_bytes: 1 << 20, quick_repair: false };
        let engine = RedbEngine::open(&self.config.data_dir.join("farrier.redb"), options).expect("the store");
        let store = Store::open(Arc::new(engine)).await.expect("the store");
        let keys = store_keys(&self.config.data_dir);
        store.set_keyring(Keyring::new(&keys[0], &keys[1..]));
        let result = work(&store).await;
        drop(store);
        self.launch().await;
        result
    }

    /// Stops the daemon, runs `work` with its configuration, and starts it again.
    pub async fn halted<T>(&mut self, work: impl AsyncFnOnce(&Config) -> T) -> T {
        self.stop().await;
        let result = work(&self.config.clone()).await;
        self.launch().await;
        result
    }

    /// URL of the repository `path` for git, with `token` as the password.
    pub fn remote(&self, path: &str, token: &str) -> String {
        format!("http://any:{token}@{}/{path}.git", self.url.trim_start_matches("http://"))
    }

    /// Path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.config.socket.path.clone()
    }

    /// The data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.config.data_dir.clone()
    }

    /// A scratch directory for the test, outside the data directory.
    pub fn scratch(&self) -> PathBuf {
        let path = self.dir.path().join("scratch");
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// Reaches the daemon over TCP.
    pub fn tcp(&self) -> ServerAddress {
        ServerAddress::Tcp(self.url.trim_start_matches("http://").to_owned())
    }

    /// Reaches the daemon over its Unix socket, where every request acts as the administrator.
    pub fn unix(&self) -> ServerAddress {
        ServerAddress::Unix(self.socket())
    }

    /// Sends a request as the administrator, with a JSON body.
    pub async fn admin(&self, method: Method, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.unix(), method, path, &[("content-type", "application/json")], body).await
    }

    /// Creates the repository `admin/NAME`.
    pub async fn repository(&self, name: &str) {
        let created = self.admin(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
        assert_eq!(created.status, 201, "{created:?}");
    }

    /// Creates an account without a password.
    pub async fn user(&self, name: &str) {
        let email = format!("{name}@example.org");
        let body = json!({ "username": name, "email": email, "must_change_password": false });
        let created = self.admin(Method::POST, "/api/v1/admin/users", body).await;
        assert_eq!(created.status, 201, "{created:?}");
    }

    /// Creates the branch `name` of `owner/repository` at its default branch.
    pub async fn branch(&self, repository: &str, name: &str) {
        let path = format!("/api/v1/repos/{repository}/branches");
        let created = self.admin(Method::POST, &path, json!({ "new_branch_name": name })).await;
        assert_eq!(created.status, 201, "{created:?}");
    }

    /// Creates an access token of `user`.
    pub async fn token(&self, user: &str, scopes: &[&str]) -> String {
        let body = json!({ "name": format!("token-{}", scopes.join(",")), "scopes": scopes });
        let created = self.admin(Method::POST, &format!("/api/v1/users/{user}/tokens"), body).await;
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["sha1"].as_str().expect("text").to_owned()
    }
}

/// The keys in the key file of a data directory. The first one is the current key.
pub fn store_keys(data: &Path) -> Vec<StoreKey> {
    let text = std::fs::read_to_string(data.join("secrets.key")).expect("a key file");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| StoreKey::parse(line).expect("a key")).collect()
}

/// Listens on `address`. At a restart, a child process that another test has just forked may still hold the old
/// listener: it is closed only when the child executes its program.
async fn listen(address: SocketAddr) -> Listener {
    let bind = async {
        loop {
            if let Ok(bound) = serve::bind_tcp(address) {
                break bound;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    Listener::tcp(in_time("the port is free", bind).await).expect("an address")
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
