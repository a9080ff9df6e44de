//! A daemon to test: in process, or the real program as a child.

use std::{path::PathBuf, sync::Arc, time::Duration};

use farrierd::{
    RunError, Started,
    clock::Clock,
    config::{Config, DefaultPaths},
    serve::{self, Listener},
    store::{
        Store,
        engine::{MemoryEngine, RedbEngine, RedbOptions},
    },
};
use futures_util::FutureExt as _;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    PATIENCE,
    http::{Answer, Over, send},
    process::{self, Program},
};

/// A running daemon with a directory of its own, on a free TCP port and a Unix socket.
pub struct TestDaemon {
    /// Address of the API on TCP, such as `http://127.0.0.1:4711`.
    pub url: String,
    /// Where it gives figures to anybody; empty unless `metrics.listen` is set.
    pub metrics: String,
    /// Time of the daemon; a manual one when asked for.
    pub clock: Clock,
    config: Config,
    /// In place of the store in the directory.
    store: Option<Store>,
    stop: CancellationToken,
    running: Running,
    dir: TempDir,
}

enum Running {
    Not,
    Here(JoinHandle<Result<(), RunError>>),
    /// The program and its configuration.
    Child(Box<Program>, String),
}

/// A job that an agent has begun.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the words of the API")]
pub struct Job {
    pub run_id: i64,
    pub job_id: i64,
    pub token: String,
    pub env: Vec<(String, String)>,
}

impl TestDaemon {
    /// A daemon with the defaults and the system's clock.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A daemon with the defaults but for what `change` does to them.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_clock(Clock::system(), change).await
    }

    /// The same with a clock.
    pub async fn with_clock(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let mut daemon = Self::prepare(clock, None, change);
        daemon.launch().await;
        daemon
    }

    /// A daemon with the defaults that keeps its rows in `engine`.
    pub async fn over(engine: MemoryEngine) -> Self {
        Self::over_store(Store::open(Arc::new(engine)).await.expect("a store")).await
    }

    /// A daemon with the defaults over `store`, into which the test may look meanwhile.
    pub async fn over_store(store: Store) -> Self {
        let mut daemon = Self::prepare(Clock::system(), Some(store), |_| {});
        daemon.launch().await;
        daemon
    }

    /// The same with the defaults but for what `change` does to them.
    pub async fn over_store_with(store: Store, change: impl FnOnce(&mut Config)) -> Self {
        let mut daemon = Self::prepare(Clock::system(), Some(store), change);
        daemon.launch().await;
        daemon
    }

    /// The real program as a child, with a configuration file.
    pub async fn program(toml: &str) -> Self {
        let mut daemon = Self::prepare(Clock::system(), None, |_| {});
        daemon.launch_program(toml.to_owned()).await;
        daemon
    }

    fn prepare(clock: Clock, store: Option<Store>, change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().display().to_string();
        let places =
            DefaultPaths::from_env(
                |name| if name == "HOME" { Ok(home.clone()) } else { Err(std::env::VarError::NotPresent) },
            );
        let places = places.with_data_dir(dir.path().join("data"));
        let mut config = Config::defaults(&places);
        config.server.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        config.artifacts.reserve_bytes = 0;
        change(&mut config);
        let (url, metrics) = (String::new(), String::new());
        Self { url, metrics, clock, config, store, stop: CancellationToken::new(), running: Running::Not, dir }
    }

    async fn launch(&mut self) {
        let mut listeners: Vec<Listener> = self
            .config
            .server
            .listen
            .iter()
            .map(|address| Listener::tcp(serve::bind_tcp(*address).expect("a free port")).expect("an address"))
            .collect();
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
        let address = |wanted| started.listeners.iter().find(|(kind, _)| *kind == wanted).map(|(_, at)| at.clone());
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

    /// The next start listens where this one did: clients keep their addresses.
    fn listens_on(&mut self, address: &str) {
        self.config.server.listen = vec![address.parse().expect("an address")];
        self.url = format!("http://{address}");
    }

    /// Ends the daemon in order.
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

    /// Ends the daemon in order and starts it again on the same data and addresses.
    pub async fn restart(&mut self) {
        let toml = if let Running::Child(_, toml) = &self.running { Some(toml.clone()) } else { None };
        self.stop().await;
        match toml {
            Some(toml) => self.launch_program(toml).await,
            None => self.launch().await,
        }
    }

    /// Starts the stopped daemon as the program with the configuration file `toml`, on a free port.
    pub async fn start_as_program(&mut self, toml: &str) {
        self.config.server.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        self.clock = Clock::system();
        self.launch_program(toml.to_owned()).await;
    }

    /// Starts the stopped daemon in process with `clock`, on a free port.
    pub async fn start_in_process(&mut self, clock: Clock) {
        self.config.server.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        self.clock = clock;
        self.launch().await;
    }

    /// Kills the program with SIGKILL.
    pub async fn kill(&mut self) {
        let Running::Child(program, _) = std::mem::replace(&mut self.running, Running::Not) else {
            panic!("only a program can be killed")
        };
        program.kill().await;
    }

    /// Starts the program on the data of the stopped daemon and waits until it ends: for a start that is refused.
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

    /// Runs a command of `farrierd` on the data of the stopped daemon; it must succeed.
    pub async fn command(&self, args: &[&str]) {
        let mut command = process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--data-dir").arg(self.data_dir()).args(args);
        let output = process::output(command).await.expect("the program");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// Kills the program without a warning and starts it again on the same data and addresses.
    pub async fn kill_and_start(&mut self) {
        let Running::Child(program, toml) = std::mem::replace(&mut self.running, Running::Not) else {
            panic!("only a program can be killed")
        };
        program.kill().await;
        self.launch_program(toml).await;
    }

    /// The child, for a look at its memory and files.
    pub fn child(&self) -> &Program {
        let Running::Child(program, _) = &self.running else { panic!("the daemon is in process") };
        program
    }

    /// What the program has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(process::log_file(self.dir.path())).expect("a log")
    }

    /// Stops the daemon, gives its store to `work`, and starts it again.
    pub async fn with_store<T>(&mut self, work: impl AsyncFnOnce(&Store) -> T) -> T {
        self.stop().await;
        let options = RedbOptions { cache_bytes: 1 << 20, quick_repair: false };
        let engine = RedbEngine::open(&self.config.data_dir.join("farrier.redb"), options).expect("the store");
        let store = Store::open(Arc::new(engine)).await.expect("the store");
        let done = work(&store).await;
        drop(store);
        self.launch().await;
        done
    }

    /// Stops the daemon, gives its configuration to `work`, and starts it again.
    pub async fn halted<T>(&mut self, work: impl AsyncFnOnce(&Config) -> T) -> T {
        self.stop().await;
        let done = work(&self.config.clone()).await;
        self.launch().await;
        done
    }

    /// Address of the repository `path` for a git that shows `token`.
    pub fn remote(&self, path: &str, token: &str) -> String {
        format!("http://any:{token}@{}/{path}.git", self.url.trim_start_matches("http://"))
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.config.socket.path.clone()
    }

    /// Where all data lies.
    pub fn data_dir(&self) -> PathBuf {
        self.config.data_dir.clone()
    }

    /// A directory beside the data, for the test itself.
    pub fn scratch(&self) -> PathBuf {
        let path = self.dir.path().join("scratch");
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// The daemon over TCP.
    pub fn tcp(&self) -> Over {
        Over::Tcp(self.url.trim_start_matches("http://").to_owned())
    }

    /// The daemon over its Unix socket: there the tests are the administrator.
    pub fn unix(&self) -> Over {
        Over::Unix(self.socket())
    }

    /// A request as the administrator, with a JSON body.
    pub async fn admin(&self, method: Method, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.unix(), method, path, &[("content-type", "application/json")], body).await
    }

    /// Makes the repository `admin/NAME`.
    pub async fn repository(&self, name: &str) {
        let made = self.admin(Method::POST, "/api/v1/user/repos", json!({ "name": name })).await;
        assert_eq!(made.status, 201, "{made:?}");
    }

    /// Makes an account without a password.
    pub async fn user(&self, name: &str) {
        let email = format!("{name}@example.org");
        let body = json!({ "username": name, "email": email, "must_change_password": false });
        let made = self.admin(Method::POST, "/api/v1/admin/users", body).await;
        assert_eq!(made.status, 201, "{made:?}");
    }

    /// Makes an access token of `user`.
    pub async fn token(&self, user: &str, scopes: &[&str]) -> String {
        let body = json!({ "name": format!("token-{}", scopes.join(",")), "scopes": scopes });
        let made = self.admin(Method::POST, &format!("/api/v1/users/{user}/tokens"), body).await;
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["sha1"].as_str().expect("text").to_owned()
    }

    /// Begins a job in a new run of `admin/REPO`, or in the live run `run`.
    pub async fn begin(&self, repo: &str, run: Option<i64>) -> Job {
        let body = json!({ "repo": format!("admin/{repo}"), "run_id": run });
        let begun = self.admin(Method::POST, "/api/farrier/v1/jobs", body).await;
        assert_eq!(begun.status, 201, "{begun:?}");
        let json = begun.json();
        let env = json["env"].as_object().expect("an environment");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        Job {
            run_id: json["run_id"].as_i64().expect("an integer"),
            job_id: json["job_id"].as_i64().expect("an integer"),
            token: text(&json["token"]),
            env: env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    }

    /// Ends a job.
    pub async fn end(&self, job: &Job) {
        let path = format!("/api/farrier/v1/jobs/{}/end", job.job_id);
        let ended = self.admin(Method::POST, &path, json!({ "conclusion": "success" })).await;
        assert_eq!(ended.status, 200, "{ended:?}");
    }

    /// A Twirp call of `job`, with its ids put into the message.
    pub async fn call(&self, job: &Job, method: &str, message: Value) -> Answer {
        let mut message = message;
        message["workflow_run_backend_id"] = job.run_id.to_string().into();
        message["workflow_job_run_backend_id"] = job.job_id.to_string().into();
        self.call_raw(&job.token, method, &message.to_string()).await
    }

    /// A Twirp call with a body as it is.
    pub async fn call_raw(&self, token: &str, method: &str, body: &str) -> Answer {
        let path = format!("/twirp/github.actions.results.api.v1.ArtifactService/{method}");
        let authorization = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
        send(&self.tcp(), Method::POST, &path, &headers, body.to_owned()).await
    }

    /// Creates an artifact and gives the path and query to upload to.
    pub async fn create(&self, job: &Job, name: &str) -> String {
        let created = self.call(job, "CreateArtifact", json!({ "name": name, "version": 4 })).await;
        assert_eq!(created.status, 200, "{created:?}");
        self.path_of(created.json()["signed_upload_url"].as_str().expect("an address"))
    }

    /// Path and query of an absolute address.
    pub fn path_of(&self, url: &str) -> String {
        let rest = url.strip_prefix(&self.url).unwrap_or_else(|| panic!("{url} begins with {}", self.url));
        rest.to_owned()
    }

    /// Uploads `content` in one block, commits and finalizes it; gives the artifact's number.
    pub async fn upload(&self, job: &Job, name: &str, content: &[u8]) -> i64 {
        let address = self.create(job, name).await;
        let put = |suffix: &str, body: Vec<u8>| {
            let (over, path) = (self.tcp(), format!("{address}&{suffix}"));
            async move { send(&over, Method::PUT, &path, &[], body).await.status }
        };
        assert_eq!(put("comp=block&blockid=YQ==", content.to_vec()).await, 201);
        let list = b"<BlockList><Latest>YQ==</Latest></BlockList>".to_vec();
        assert_eq!(put("comp=blocklist", list).await, 201);
        let finalized =
            self.call(job, "FinalizeArtifact", json!({ "name": name, "size": content.len().to_string() })).await;
        assert_eq!(finalized.status, 200, "{finalized:?}");
        finalized.json()["artifact_id"].as_str().expect("text").parse().expect("a number")
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits for `work`, not for ever.
pub async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

/// Waits until `ready` holds, looking again and again; fails with `what` when it never does.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut ready: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !ready().await {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
