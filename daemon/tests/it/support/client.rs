//! The official artifact clients, unmodified, run with node.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::{process::Command, sync::OnceCell};

use super::{
    daemon::TestDaemon,
    jobs::Job,
    process::{INSTALL, command, output, output_within},
};

/// Set in continuous integration: a missing client then fails the test; otherwise the test is skipped.
pub(super) const REQUIRED: &str = "FARRIER_REQUIRE_CLIENTS";

/// A version of the official client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V6,
    V2_3,
    V2_1,
    /// Version 3 of the protocol.
    V1,
}

impl Version {
    fn package(self) -> &'static str {
        match self {
            Self::V6 => "artifact-6",
            Self::V2_3 => "artifact-2.3",
            Self::V2_1 => "artifact-2.1",
            Self::V1 => "artifact-1",
        }
    }
}

/// A client with the environment of one job.
pub struct Client {
    version: Version,
    env: Vec<(String, String)>,
}

/// The result of one run of a client.
pub struct ClientOutcome {
    /// One object per operation, with the key `ok` or `error`.
    pub results: Vec<Value>,
    /// What the client wrote to the job log.
    pub log: String,
}

impl ClientOutcome {
    /// The result of operation `index`, which must have succeeded.
    pub fn ok(&self, index: usize) -> &Value {
        self.results[index].get("ok").unwrap_or_else(|| panic!("{:?}\n{}", self.results, self.log))
    }

    /// The error message of operation `index`, which must have failed.
    pub fn error(&self, index: usize) -> &str {
        self.results[index]["error"]["message"].as_str().unwrap_or_else(|| panic!("{:?}", self.results))
    }
}

/// The newest client for `job`. Returns `None` and prints the reason if node or the packages are missing.
pub async fn client(job: &Job) -> Option<Client> {
    client_of(Version::V6, job).await
}

/// Like [`client`], in another version.
pub async fn client_of(version: Version, job: &Job) -> Option<Client> {
    installed().await.then(|| Client { version, env: job.env.clone() })
}

/// Whether the npm clients are installed. If not, prints the reason, or panics if [`REQUIRED`] is set.
pub async fn installed() -> bool {
    static INSTALLED: OnceCell<Result<(), String>> = OnceCell::const_new();
    match INSTALLED.get_or_init(install).await {
        Ok(()) => true,
        Err(reason) => {
            assert!(!required(reason), "{REQUIRED} is set and {reason}");
            false
        }
    }
}

/// Whether git-lfs is installed. If not, prints the reason, or panics if [`REQUIRED`] is set.
pub async fn has_git_lfs() -> bool {
    let mut git_lfs = command("git-lfs");
    git_lfs.arg("version");
    let found = output(git_lfs).await.is_some_and(|done| done.status.success());
    if !found {
        assert!(!required("there is no git-lfs"), "{REQUIRED} is set and there is no git-lfs");
    }
    found
}

/// Whether the clients are required ([`REQUIRED`]). If not, prints why the test is skipped.
pub fn required(reason: &str) -> bool {
    let required = std::env::var_os(REQUIRED).is_some();
    if !required {
        println!("skipped: {reason}");
    }
    required
}

/// Directory of the clients and of the scripts that drive them.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Installs the pinned npm packages, unless an earlier run did.
async fn install() -> Result<(), String> {
    let mut node = command("node");
    node.arg("--version");
    output(node).await.ok_or("there is no node")?;
    let stamp = home().join("node_modules/.package-lock.json");
    let age = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    if age(&stamp) >= age(&home().join("package-lock.json")) {
        return Ok(());
    }
    let mut npm = command("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(home());
    let done = output_within(INSTALL, npm).await.ok_or("there is no npm")?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("the clients cannot be installed: {}", String::from_utf8_lossy(&done.stderr)))
}

/// The `bin` directory of a Python environment with the pinned packages. Returns `None` and prints the
/// reason if it cannot be created.
pub async fn python() -> Option<PathBuf> {
    static MADE: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    match MADE.get_or_init(make_python).await {
        Ok(directory) => Some(directory.clone()),
        Err(reason) => {
            assert!(!required(reason), "{REQUIRED} is set and {reason}");
            None
        }
    }
}

/// Creates the environment, unless an earlier run did.
async fn make_python() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let stamp = directory.join("requirements.txt");
    let required = std::fs::read(home().join("requirements.txt")).expect("a file");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(directory.join("bin"));
    }
    let mut venv = command("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&directory);
    run_step(venv, "there is no python3 with venv").await?;
    let mut pip = command(directory.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]);
    pip.current_dir(home());
    run_step(pip, "the Python clients cannot be installed").await?;
    std::fs::write(&stamp, required).expect("a file");
    Ok(directory.join("bin"))
}

/// The program of the Go clients in `tests/clients/go`. Returns `None` and prints the reason if it cannot be built.
pub async fn go() -> Option<PathBuf> {
    static BUILT: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    match BUILT.get_or_init(build_go).await {
        Ok(program) => Some(program.clone()),
        Err(reason) => {
            assert!(!required(reason), "{REQUIRED} is set and {reason}");
            None
        }
    }
}

/// Builds the program, unless an earlier run did.
async fn build_go() -> Result<PathBuf, String> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-clients");
    let mut go = command("go");
    go.args(["build", "-o"]).arg(&program).arg(".").current_dir(home().join("go"));
    run_step(go, "the Go clients cannot be built").await?;
    Ok(program)
}

/// The class path of `JGit`. Returns `None` and prints the reason if it cannot be installed. Nothing requires it,
/// because Java and Maven are large, and other clients send the same requests.
pub async fn jgit() -> Option<String> {
    static INSTALLED: OnceCell<Result<String, String>> = OnceCell::const_new();
    match INSTALLED.get_or_init(install_jgit).await {
        Ok(class_path) => Some(class_path.clone()),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

/// Copies `JGit` and what it needs, unless an earlier run did.
async fn install_jgit() -> Result<String, String> {
    let mut java = command("java");
    java.arg("-version");
    output(java).await.ok_or("there is no java")?;
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jgit");
    let stamp = directory.join("pom.xml");
    let required = std::fs::read(home().join("jgit/pom.xml")).expect("a file");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(format!("{}/*", directory.display()));
    }
    let mut maven = command("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies"]).current_dir(home().join("jgit"));
    maven.arg(format!("-DoutputDirectory={}", directory.display()));
    run_step(maven, "JGit cannot be installed").await?;
    std::fs::write(&stamp, required).expect("a file");
    Ok(format!("{}/*", directory.display()))
}

/// Runs a command that installs or builds a client.
pub(super) async fn run_step(command: Command, failed: &str) -> Result<(), String> {
    match output_within(INSTALL, command).await {
        Some(done) if done.status.success() => Ok(()),
        Some(done) => Err(format!("{failed}: {}", String::from_utf8_lossy(&done.stderr))),
        None => Err(failed.to_owned()),
    }
}

impl Client {
    /// Adds a variable to the client's environment.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Sends all requests to `url` instead of the daemon.
    pub fn through(self, url: &str) -> Self {
        self.env("ACTIONS_RESULTS_URL", url)
    }

    /// Runs `operations` one after the other.
    pub async fn run(&self, operations: &[Value]) -> ClientOutcome {
        run_script("client.mjs", self.version.package(), &self.env, operations).await
    }
}

/// The operation that uploads `files` from the directory `root`.
pub fn upload(name: &str, root: &Path, files: &[&str], options: Value) -> Value {
    let files: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
    let mut operation = json!({ "call": "uploadArtifact", "name": name, "root": root, "files": files });
    operation["options"] = options;
    operation
}

/// The operation that downloads an artifact to `to`. `id` is an id, or `{"of": index}` for the artifact of an
/// earlier operation.
pub fn download(id: impl Into<Value>, to: &Path, options: Value) -> Value {
    let mut options = if options.is_null() { json!({}) } else { options };
    options["path"] = json!(to);
    json!({ "call": "downloadArtifact", "id": id.into(), "options": options })
}

/// An unmodified cache client with the environment of one job.
pub struct CacheClient {
    package: &'static str,
    env: Vec<(String, String)>,
}

/// The cache client `package` for `job`, which works in the directory `workspace`. Uses version 2 of the protocol.
/// Returns `None` and prints the reason if node or the packages are missing.
pub async fn cache_client(package: &'static str, job: &Job, workspace: &Path) -> Option<CacheClient> {
    let mut env = job.env.clone();
    for name in ["GITHUB_WORKSPACE", "RUNNER_TEMP"] {
        env.push((name.into(), workspace.display().to_string()));
    }
    env.push(("PATH".into(), std::env::var("PATH").unwrap_or_default()));
    installed().await.then_some(CacheClient { package, env })
}

impl CacheClient {
    /// Adds a variable to the client's environment.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Runs `operations` one after the other.
    pub async fn run(&self, operations: &[Value]) -> ClientOutcome {
        run_script("cache.mjs", self.package, &self.env, operations).await
    }
}

async fn run_script(script: &str, package: &str, env: &[(String, String)], operations: &[Value]) -> ClientOutcome {
    let input = json!({ "package": package, "operations": operations });
    let mut node = command("node");
    node.arg(script).arg(input.to_string()).current_dir(home()).env("RUNNER_DEBUG", "1");
    node.envs(env.iter().map(|(name, value)| (name, value)));
    let done = output(node).await.expect("node is installed");
    let log = String::from_utf8_lossy(&done.stdout).into_owned();
    let Some((log, result)) = log.rsplit_once("RESULT ") else {
        panic!("the client broke: {log}\n{}", String::from_utf8_lossy(&done.stderr))
    };
    let results = serde_json::from_str(result).expect("JSON");
    ClientOutcome { results, log: log.to_owned() }
}

impl TestDaemon {
    /// Creates a directory for a test's files.
    pub fn files(&self, name: &str) -> PathBuf {
        let path = self.scratch().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }
}
