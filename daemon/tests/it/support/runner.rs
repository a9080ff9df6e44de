//! Unmodified runners: that of Gitea, to which the forge in `tests/clients/runner` gives a job, and act.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{
    client::{REQUIRED, home, installed, required, run_step},
    daemon::TestDaemon,
    jobs::Job,
    process::{LONG, command, output_within},
};

/// A runner with its own directory.
pub struct Runner {
    /// Directory of the programs of the runner and of the forge.
    programs: PathBuf,
    directory: PathBuf,
    cache: Value,
}

/// The program `act` with its own directory.
pub struct Act {
    program: PathBuf,
    directory: PathBuf,
}

/// What a runner reported about a job.
#[derive(Deserialize)]
pub struct Report {
    /// `success` or `failure`.
    pub result: String,
    /// The rows of the log.
    pub log: Vec<String>,
}

impl Report {
    /// The results of the operations that step `index` of the steps with clients printed.
    pub fn results(&self, index: usize) -> Vec<Value> {
        let results = self.log.iter().filter_map(|row| row.strip_prefix("RESULT ")).nth(index);
        serde_json::from_str(results.unwrap_or_else(|| panic!("{:?}", self.log))).expect("JSON")
    }

    /// The output of `sha256sum` for the file `name`.
    pub fn digest_of(&self, name: &str) -> &str {
        // Rows with commands contain the name after a single space.
        let suffix = format!("  {name}");
        self.log.iter().find_map(|row| row.strip_suffix(suffix.as_str())).unwrap_or_else(|| panic!("{:?}", self.log))
    }
}

/// A runner with the section `cache` in its configuration. Returns `None` and prints the reason if the runner cannot be
/// built, or if node or the packages of the clients are missing.
pub async fn runner(farrier: &TestDaemon, name: &str, cache: Value) -> Option<Runner> {
    static BUILT: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    if !installed().await {
        return None;
    }
    match BUILT.get_or_init(|| build("runner", &[".", "gitea.com/gitea/runner"])).await {
        Ok(programs) => Some(Runner { programs: programs.clone(), directory: farrier.files(name), cache }),
        Err(reason) => {
            assert!(!required(reason), "{REQUIRED} is set and {reason}");
            None
        }
    }
}

/// `act` with its own directory. Returns `None` and prints the reason if it cannot be built, or if node or the packages
/// of the clients are missing.
pub async fn act(farrier: &TestDaemon, name: &str) -> Option<Act> {
    static BUILT: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    if !installed().await {
        return None;
    }
    match BUILT.get_or_init(|| build("act", &["github.com/nektos/act"])).await {
        Ok(programs) => Some(Act { program: programs.join("act"), directory: farrier.files(name) }),
        Err(reason) => {
            assert!(!required(reason), "{REQUIRED} is set and {reason}");
            None
        }
    }
}

/// Builds packages with the module in `tests/clients/MODULE`, unless an earlier run did. Returns the directory of the
/// programs.
async fn build(module: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(module);
    std::fs::create_dir_all(&programs).expect("a directory");
    let mut go = command("go");
    go.args(["build", "-o"]).arg(&programs).args(packages).current_dir(home().join(module));
    run_step(go, &format!("the programs of clients/{module} cannot be built")).await?;
    Ok(programs)
}

/// A workflow with one job.
fn workflow(steps: &[Value]) -> Value {
    let build = json!({ "runs-on": "ubuntu-latest", "steps": steps });
    json!({ "name": "test", "on": "push", "jobs": { "build": build } })
}

/// Begins the command of a step. A runner that is killed does not kill the processes of its steps, and a runner waits
/// for a process that a cancelled step left. So each command has a time limit, which is shorter than that of the job.
pub const LIMITED: &str = "timeout 100";

/// A step that runs operations of the client `package` with `script`.
pub fn client_step(script: &str, package: &str, operations: &Value) -> Value {
    let input = json!({ "package": package, "operations": operations }).to_string();
    let command = format!("{LIMITED} node '{}' \"$INPUT\"", home().join(script).display());
    json!({ "run": command, "env": { "INPUT": input } })
}

impl Runner {
    /// Runs `job`, which belongs to `admin/r`, with these steps.
    pub async fn run(&self, farrier: &TestDaemon, job: &Job, steps: &[Value]) -> Report {
        let context = json!({
            "repository": "admin/r",
            "repository_owner": "admin",
            "event_name": "push",
            "event": {},
            "ref": "refs/heads/main",
            "ref_name": "main",
            "run_id": job.run_id.to_string(),
            "job": "build",
            "gitea_runtime_token": job.token,
        });
        let input = json!({
            "runner": self.programs.join("runner"),
            "directory": self.directory,
            "cache": self.cache,
            "root": farrier.url,
            "context": context,
            "workflow": workflow(steps),
        });
        let mut forge = command(self.programs.join("farrier-test-forge"));
        forge.arg(input.to_string());
        let done = output_within(LONG, forge).await.expect("the forge is built");
        let log = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{log}");
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {log}"))
    }
}

impl Act {
    /// Runs `job` with these steps, and with the environment that `farrier ci exec` sets.
    pub async fn run(&self, job: &Job, steps: &[Value]) -> Report {
        let workflows = self.directory.join(".github/workflows");
        std::fs::create_dir_all(&workflows).expect("a directory");
        // JSON is YAML, too.
        std::fs::write(workflows.join("test.yml"), workflow(steps).to_string()).expect("a file");
        let mut act = command(&self.program);
        act.args(["push", "--no-cache-server", "-P", "ubuntu-latest=-self-hosted"]);
        act.arg("--env").arg(format!("GITHUB_RUN_ID={}", job.run_id));
        act.current_dir(&self.directory).env("HOME", &self.directory);
        act.envs(job.env.iter().map(|(name, value)| (name, value)));
        let done = output_within(LONG, act).await.expect("act is built");
        let stdout = String::from_utf8_lossy(&done.stdout);
        let log = stdout.lines().filter_map(|line| Some(line.split_once("]   | ")?.1.to_owned())).collect();
        assert!(done.status.success(), "{stdout}{}", String::from_utf8_lossy(&done.stderr));
        Report { result: "success".to_owned(), log }
    }
}
