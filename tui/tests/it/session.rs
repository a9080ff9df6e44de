//! Complete sessions with a real daemon, as a new user and a CI agent have them.

use std::{path::PathBuf, sync::mpsc, thread::JoinHandle};

use farrierd::{
    clock::Clock,
    config::{Config, DefaultPaths},
    serve,
};
use tokio_util::sync::CancellationToken;

use crate::program::{CommandOutput, finish, program, shell};

/// A daemon on its own thread, on a Unix socket and a free port.
pub(crate) struct Daemon {
    dir: tempfile::TempDir,
    running: Option<(CancellationToken, JoinHandle<()>)>,
    /// Allowed hosts of hooks and migrations.
    hosts: &'static str,
    /// Free disk space below which the daemon is unhealthy.
    reserve_bytes: u64,
    /// Whether failed deliveries are tried again.
    retries: bool,
}

impl Daemon {
    /// Starts a daemon with the default address policy, so that hooks cannot reach this machine.
    pub(crate) fn start() -> Self {
        Self::with_allowed_hosts("external")
    }

    /// Starts a daemon whose hooks and migrations may reach these hosts.
    pub(crate) fn with_allowed_hosts(hosts: &'static str) -> Self {
        Self::with(hosts, 0)
    }

    /// Starts a daemon whose hooks may reach this machine. A delivery fails with its first failed attempt.
    pub(crate) fn without_retries() -> Self {
        let mut daemon = Self::with_allowed_hosts("loopback");
        daemon.stop();
        daemon.retries = false;
        daemon.start_again();
        daemon
    }

    fn with(hosts: &'static str, reserve_bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let mut daemon = Self { dir, running: None, hosts, reserve_bytes, retries: true };
        daemon.start_again();
        daemon
    }

    /// Starts the daemon again with its data.
    pub(crate) fn start_again(&mut self) {
        let paths = DefaultPaths::from_env(|_| Ok(std::env::temp_dir().display().to_string()));
        let mut config = Config::defaults(&paths.with_data_dir(self.dir.path().join("data")));
        config.socket.path = self.socket();
        config.artifacts.reserve_bytes = self.reserve_bytes;
        config.webhook.allowed_hosts = self.hosts.into();
        if !self.retries {
            config.webhook.retry_schedule_secs.clear();
        }
        config.migration.allowed_hosts = self.hosts.into();
        // The tests run at the same time and cannot all have the default port of SSH.
        config.ssh.listen = Vec::new();
        farrierd::telemetry::init_recording(&config.log);
        let stop = CancellationToken::new();
        let (ready, started) = mpsc::channel();
        let stopping = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "the daemon needs a thread beside the test")]
        let running = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tcp = serve::bind_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
                let unix = serve::bind_unix(&config.socket.path, None).unwrap();
                let listeners = vec![serve::Listener::tcp(tcp).unwrap(), unix];
                let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
                let daemon = farrierd::run(config, listeners, Clock::system(), stopping, started_sender);
                let (ended, ()) = tokio::join!(daemon, async {
                    let _ = started_receiver.await;
                    let _ = ready.send(());
                });
                ended.unwrap();
            });
        });
        started.recv().unwrap();
        self.running = Some((stop, running));
    }

    pub(crate) fn stop(&mut self) {
        if let Some((stop, running)) = self.running.take() {
            stop.cancel();
            let _ = running.join();
        }
    }

    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("farrier.sock")
    }

    pub(crate) fn farrier(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = program(&self.work("."));
        finish(command.args(arguments).env("FARRIER_SOCKET", self.socket()), "")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) const FARRIER: &str = env!("CARGO_BIN_EXE_farrier");

#[test]
fn the_status_of_an_unhealthy_daemon_names_the_problem_and_has_an_exit_code() {
    let healthy = Daemon::start().farrier(&["status"]).ok();
    assert!(healthy.stdout.contains("health        ok\n"), "{healthy:?}");
    let daemon = Daemon::with("external", u64::MAX);
    let output = daemon.farrier(&["status"]);
    let problem = "the disk is almost full: uploads are refused";
    assert!(output.stdout.contains("health        failing\n") && output.stdout.contains(problem), "{output:?}");
    assert_eq!((output.code, output.stderr), (8, format!("farrier: the daemon is unhealthy: {problem}\n")));
    let output = daemon.farrier(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.code, &status["status"], &status["problems"][0]), (8, &"fail".into(), &problem.into()));
}

#[test]
fn a_job_uploads_a_file_and_a_directory_and_an_operator_downloads_them() {
    let daemon = Daemon::start();
    assert_eq!(daemon.farrier(&["status", "--json"]).json()["identity"], "admin");
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    std::fs::write(daemon.work("raw.txt"), "hello\n").unwrap();
    std::fs::create_dir_all(daemon.work("tree/sub")).unwrap();
    std::fs::write(daemon.work("tree/sub/b"), vec![7_u8; 100_000]).unwrap();

    let script =
        format!("{FARRIER} artifact upload raw.txt && {FARRIER} artifact upload tree && {FARRIER} artifact list -q");
    let output = daemon.farrier(&["ci", "exec", "--repo", "admin/demo", "--", "sh", "-c", &script]).ok();
    assert!(output.stdout.contains("raw.txt") && output.stdout.contains("tree"), "{output:?}");

    let listed = daemon.farrier(&["artifact", "list", "--repo", "admin/demo", "--json"]).json();
    assert_eq!(listed["total_count"], 2);
    daemon.farrier(&["artifact", "download", "raw.txt", "--repo", "admin/demo", "-o", "got.txt"]).ok();
    assert_eq!(std::fs::read(daemon.work("got.txt")).unwrap(), b"hello\n");
    daemon.farrier(&["artifact", "download", "tree", "--repo", "admin/demo", "--extract", "-o", "out/"]).ok();
    assert_eq!(std::fs::read(daemon.work("out/sub/b")).unwrap(), vec![7_u8; 100_000]);

    daemon.farrier(&["artifact", "delete", "tree", "--repo", "admin/demo", "--yes"]).ok();
    let missing = daemon.farrier(&["artifact", "download", "tree", "--repo", "admin/demo"]);
    assert_eq!(missing.code, 3, "{missing:?}");
}

/// Directory of the official clients, if they are installed. Panics if they are required and missing.
fn clients() -> Option<PathBuf> {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/tests/clients"));
    let node = finish(shell(&directory).args(["-c", "node --version"]), "").code == 0;
    if node && directory.join("node_modules/.package-lock.json").is_file() {
        return Some(directory.canonicalize().unwrap());
    }
    assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "the clients of npm are not installed");
    println!("skipped: the clients of npm are not installed");
    None
}

#[test]
fn the_runner_script_of_the_manual_runs_the_official_client() {
    let Some(clients) = clients() else { return };
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let manual = include_str!("../../../docs/operations.md");
    let script = manual.split("```sh\n").find(|block| block.contains("# run-job ")).unwrap();
    // The block writes the script with a here-document.
    let script = script.split_once("<<'EOF'\n").unwrap().1.split_once("\nEOF\n").unwrap().0;
    std::fs::write(daemon.work("run-job"), script).unwrap();
    std::fs::create_dir_all(daemon.work("up")).unwrap();
    std::fs::write(daemon.work("up/report"), vec![b'r'; 200_000]).unwrap();

    let root = daemon.work("up").canonicalize().unwrap();
    let operations = serde_json::json!({ "package": "artifact-6", "operations": [
        { "call": "uploadArtifact", "name": "report", "root": root, "files": [root.join("report")], "options": {} },
        { "call": "listArtifacts", "options": {} },
    ] });
    let job = |words: &[&str]| {
        let mut runner = shell(&daemon.work("."));
        runner.arg("run-job").args(["admin/demo", "0123456789abcdef0123456789abcdef01234567"]).args(words);
        finish(runner.env("FARRIER_SOCKET", daemon.socket()), "")
    };
    let client = clients.join("client.mjs");
    let output = job(&["node", client.to_str().unwrap(), &operations.to_string()]).ok();
    let results: serde_json::Value = serde_json::from_str(output.stdout.rsplit("RESULT ").next().unwrap()).unwrap();
    assert_eq!(results[1]["ok"]["artifacts"][0]["name"], "report", "{output:?}");
    assert_eq!(job(&["sh", "-c", "exit 9"]).code, 9);

    daemon.farrier(&["artifact", "download", "report", "--repo", "admin/demo", "--extract", "-o", "out/"]).ok();
    assert_eq!(std::fs::read(daemon.work("out/report")).unwrap(), vec![b'r'; 200_000]);
}

#[test]
fn a_job_ends_once_with_its_conclusion() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let failed = daemon.farrier(&["ci", "exec", "--repo", "admin/demo", "--", "sh", "-c", "exit 7"]);
    assert_eq!(failed.code, 7, "{failed:?}");

    let started = daemon.farrier(&["ci", "begin", "--repo", "admin/demo", "--json"]).json();
    let job = started["job_id"].to_string();
    for name in ["ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN", "GITHUB_API_URL", "GITHUB_RUN_ID", "GITHUB_REPOSITORY"]
    {
        assert!(started["env"][name].is_string(), "{name}");
    }
    assert!(started["env"].get("GITHUB_SERVER_URL").is_none());
    daemon.farrier(&["ci", "end", &job, "--conclusion", "success"]).ok();
    daemon.farrier(&["ci", "end", &job, "--conclusion", "success"]).ok();
    assert_eq!(daemon.farrier(&["ci", "end", &job, "--conclusion", "failure"]).code, 5);
}

#[test]
fn new_users_and_tokens_are_usable_at_once() {
    let daemon = Daemon::start();
    daemon.farrier(&["user", "create", "bob", "--email", "bob@example.org"]).ok();
    let token = daemon.farrier(&["token", "create", "--user", "bob", "--name", "ci", "--scopes", "all"]).ok().stdout;
    let token = token.strip_suffix('\n').unwrap();
    assert!(token.starts_with("frr_") && token.len() == 40, "{token}");
    std::fs::write(daemon.work("token"), token).unwrap();
    let status = daemon.farrier(&["--token-file", "token", "status", "--json"]).json();
    assert_eq!(status["identity"], "bob");
    let again = daemon.farrier(&["user", "create", "bob", "--email", "other@example.org"]);
    assert_ne!(again.code, 0);
    assert!(again.stderr.contains("already exists"), "{again:?}");
}

#[test]
fn a_password_is_changed_from_standard_input() {
    let daemon = Daemon::start();
    let run = |arguments: &[&str], input: &str| {
        let mut command = program(&daemon.work("."));
        finish(command.args(arguments).env("FARRIER_SOCKET", daemon.socket()), input)
    };
    let create = ["user", "create", "bob", "--email", "bob@example.org", "--password-stdin"];
    run(&create, "the first password\n").ok();
    for name in ["kept", "other"] {
        let token = daemon.farrier(&["token", "create", "--user", "bob", "--name", name, "--scopes", "all"]).ok();
        std::fs::write(daemon.work(name), token.stdout.trim()).unwrap();
    }
    let passwd = |input: &str| run(&["--token-file", "kept", "passwd", "--revoke-tokens"], input);
    for (input, code) in [("", 2), ("the first password\n", 2), ("wrong\nthe second password\n", 9)] {
        assert_eq!(passwd(input).code, code, "{input}");
    }
    assert_eq!(run(&["--token-file", "other", "status", "--json"], "").json()["identity"], "bob");
    let changed = passwd("the first password\nthe second password\n").ok();
    assert_eq!(changed.stdout, "Password changed, tokens revoked\n");
    assert_eq!(run(&["--token-file", "kept", "status", "--json"], "").json()["identity"], "bob");
    assert_eq!(run(&["--token-file", "other", "status"], "").code, 4);
    let tokens = daemon.farrier(&["token", "list", "--user", "bob"]).ok().stdout;
    assert!(tokens.contains("FROM") && tokens.contains("uid ") && !tokens.contains("other"), "{tokens}");
    // On the socket, the operator needs no old password.
    assert_eq!(run(&["passwd"], "a password of the operator\n").ok().stdout, "Password changed\n");
}

#[test]
fn users_organizations_and_tokens_are_managed_on_the_command_line() {
    let daemon = Daemon::start();
    daemon.farrier(&["user", "create", "bob", "--email", "bob@example.org"]).ok();
    let edited = daemon.farrier(&["user", "edit", "bob", "--full-name", "Bob B", "--visibility", "limited", "--json"]);
    assert_eq!((&edited.json()["full_name"], &edited.json()["visibility"]), (&"Bob B".into(), &"limited".into()));
    daemon.farrier(&["user", "edit", "bob", "--rename", "rob"]).ok();
    assert_eq!(daemon.farrier(&["user", "list", "rob", "--json"]).json()["total_count"], 1);
    assert!(daemon.farrier(&["user", "show", "rob"]).ok().stdout.contains("bob@example.org"));

    daemon.farrier(&["org", "create", "acme", "--owner", "rob", "--description", "makes all"]).ok();
    assert!(daemon.farrier(&["org", "list"]).ok().stdout.contains("makes all"));
    assert_eq!(daemon.farrier(&["org", "show", "acme", "--json"]).json()["name"], "acme");
    assert_eq!(daemon.farrier(&["org", "create", "rob"]).code, 5);

    daemon.farrier(&["token", "create", "--user", "rob", "--name", "ci", "--scopes", "all", "--expires", "30d"]).ok();
    let tokens = daemon.farrier(&["token", "list", "--user", "rob", "--json"]).json();
    assert_eq!((&tokens["tokens"][0]["name"], &tokens["tokens"][0]["sha1"]), (&"ci".into(), &"".into()));
    assert!(tokens["tokens"][0]["expires_at"].is_string() && tokens["tokens"][0]["expired"] == false, "{tokens}");
    assert_eq!(daemon.farrier(&["token", "revoke", "--user", "rob", "ci"]).ok().stdout, "Token ci revoked\n");
    assert_eq!(daemon.farrier(&["token", "revoke", "--user", "rob", "ci"]).code, 3);
    assert_eq!(daemon.farrier(&["token", "list", "--user", "rob", "-q"]).ok().stdout, "");

    assert!(daemon.farrier(&["user", "off", "rob"]).ok().stdout.contains("User rob turned off"));
    assert!(daemon.farrier(&["user", "list"]).ok().stdout.contains("inactive"));
    assert_eq!(daemon.farrier(&["user", "delete", "rob"]).code, 2, "without --yes");
    assert_eq!(daemon.farrier(&["user", "delete", "rob", "--yes"]).code, 9, "belongs to acme");
    daemon.farrier(&["org", "delete", "acme", "--yes"]).ok();
    daemon.farrier(&["user", "delete", "rob", "--yes"]).ok();
    assert_eq!(daemon.farrier(&["user", "show", "rob"]).code, 3);
}
