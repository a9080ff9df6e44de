//! Reloading the configuration while the daemon runs.

use http::Method;
use serde_json::json;

use crate::support::{Binary, eventually, process::output, send};

/// Exit code for a configuration that cannot be used.
const BAD_CONFIG: Option<i32> = Some(78);

async fn running(config: &str) -> Binary {
    let mut program = Binary::new(config);
    program.start().await;
    program
}

/// Runs `farrierd reload`. Returns its exit code and its output.
async fn reload(program: &Binary) -> (Option<i32>, String) {
    let output = output(program.reload_command()).await.expect("the program");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

/// The status of a request with a body of about 2,000 bytes.
async fn long_body(program: &Binary) -> u16 {
    let body = json!({ "name": "x".repeat(2_000) }).to_string();
    send(&program.unix(), Method::POST, "/api/v1/user/repos", &[], body).await.status
}

#[tokio::test]
async fn a_reload_applies_limits_allowed_hosts_and_the_log_filter() {
    let program = running("").await;
    assert_eq!(long_body(&program).await, 422, "the name is too long, but not the body");
    let migrate = async || {
        let body = json!({ "clone_addr": "http://127.0.0.1:1/a.git", "repo_name": "a" }).to_string();
        send(&program.unix(), Method::POST, "/api/v1/repos/migrate", &[], body).await.text()
    };
    let refused = migrate().await;
    program.configure(
        "[server]\nmax_body_bytes = 1024\n[migration]\nallowed_hosts = \"loopback\"\n\
         [log]\nfilter = \"info,farrierd::access=off\"\n[git]\nmax_processes = 3\n",
    );
    let (status, text) = reload(&program).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("configuration reloaded"), "{text}");
    assert!(text.contains("git.max_processes: the new value takes effect at the next start"), "{text}");
    assert_eq!(long_body(&program).await, 413);
    assert_ne!(migrate().await, refused, "the host is now allowed, so the reason differs");
    send(&program.unix(), Method::GET, "/api/v1/version?after", &[], "").await;
    assert!(!program.log().contains("/api/v1/version"), "requests are no longer logged");

    program.configure("[git]\nmax_processes = 3\n");
    assert_eq!(reload(&program).await.0, Some(0));
    assert_eq!(long_body(&program).await, 422, "the limit is back at its default");
}

#[tokio::test]
async fn an_invalid_file_changes_nothing_and_is_reported() {
    let program = running("[server]\nmax_body_bytes = 1024\n").await;
    program.configure("[server]\nmax_body_bytes = 1\ncolour = \"red\"\n");
    let (status, text) = reload(&program).await;
    assert_eq!(status, BAD_CONFIG, "{text}");
    assert!(text.contains("server.colour: unknown key") && text.contains("server.max_body_bytes"), "{text}");
    assert!(
        !program.log().contains("the old configuration stays in effect"),
        "farrierd reload refuses such a file before it signals the daemon"
    );

    program.hang_up();
    eventually("the daemon names the problem", async || program.log().contains("server.colour: unknown key")).await;
    assert!(program.log().contains("the old configuration stays in effect"));
    assert_eq!(long_body(&program).await, 413);
}

#[tokio::test]
async fn a_reload_does_not_need_access_to_the_daemons_credentials() {
    let mut program = Binary::new("");
    let credentials = program.scratch();
    std::fs::write(credentials.join("proxy"), "user:password").expect("a file");
    // systemd sets this variable only for the daemon, not for `farrierd reload`.
    program.env("CREDENTIALS_DIRECTORY", credentials.clone());
    let config = "[webhook]\nproxy_url = \"http://127.0.0.1:1\"\nproxy_auth_file = \"proxy\"\n";
    program.configure(config);
    program.start().await;
    program.configure(&format!("{config}max_commits = 7\n"));
    let (status, text) = reload(&program).await;
    assert_eq!((status, text.trim()), (Some(0), "configuration reloaded"));
    std::fs::write(credentials.join("proxy"), "user:other").expect("a file");
    let (status, text) = reload(&program).await;
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("webhook.proxy_url: the new value takes effect at the next start"), "{text}");
    std::fs::remove_file(credentials.join("proxy")).expect("a file");
    let (status, text) = reload(&program).await;
    assert_eq!(status, Some(78), "{text}");
    assert!(text.contains("webhook.proxy_auth_file"), "{text}");
}

#[tokio::test]
async fn connections_are_accepted_after_the_limit_is_raised() {
    let program = running("[socket]\nmax_connections = 1\n").await;
    let first = tokio::net::UnixStream::connect(program.socket()).await.expect("the daemon listens");
    let version = async || send(&program.unix(), Method::GET, "/api/v1/version", &[], "").await.status;
    assert_eq!(version().await, 503, "the only connection is in use");
    program.configure("[socket]\nmax_connections = 2\n");
    assert_eq!(reload(&program).await.0, Some(0));
    assert_eq!(version().await, 200);
    drop(first);
}

#[tokio::test]
async fn only_the_running_daemon_of_the_data_directory_is_signalled() {
    let mut program = running("").await;
    let bystander = crate::support::process::command("sleep").arg("600").spawn().expect("a process");
    let pid = bystander.id().expect("it runs");
    let done = output(program.program(&["reload", &pid.to_string()])).await.expect("the program");
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{text}");
    assert!(text.contains(&format!("process {pid} is not the farrierd of the data directory")), "{text}");
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "SIGHUP would have ended it");
    let own = program.id().to_string();
    assert!(output(program.program(&["reload", &own])).await.expect("the program").status.success());

    program.kill().await;
    let (status, text) = reload(&program).await;
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("no farrierd runs with the data directory"), "{text}");
    program.start().await;
    let (status, text) = reload(&program).await;
    assert_eq!(status, Some(0), "the pid file of the killed daemon does not matter: {text}");
}

#[tokio::test]
async fn check_config_warns_about_a_public_listener_without_host_names() {
    let program = Binary::new("");
    let check = async |more: &str| {
        program.configure(&format!("data_dir = \"{}\"\n[server]\n{more}\n", program.scratch().display()));
        let mut command = crate::support::process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(program.config_file()).arg("check-config");
        let done = output(command).await.expect("the program");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (status, text) = check("listen = [\"127.0.0.1:0\", \"0.0.0.0:0\"]").await;
    assert!(text.starts_with("warning: line 3: server.listen") && text.contains("server.root_url"), "{text}");
    assert_eq!(status, Some(0));
    for fine in ["listen = [\"127.0.0.1:0\"]", "listen = [\"0.0.0.0:0\"]\nroot_url = \"http://forge.example\""] {
        assert_eq!(check(fine).await, (Some(0), String::new()), "{fine}");
    }
}

#[tokio::test]
async fn check_config_reports_problems_with_this_machine() {
    let program = Binary::new("");
    let scratch = program.scratch();
    let file = scratch.join("a file");
    std::fs::write(&file, "").expect("a file");
    let socket = scratch.join("x".repeat(100));
    program.configure(&format!(
        "data_dir = \"{data}/data\"\n[server]\nlisten = [\"127.0.0.1:3000\", \"0.0.0.0:3000\"]\nmax_connections = 0\n\
         [socket]\npath = \"{socket}\"\ngroup = \"no-such-group-here\"\n\
         [metrics]\nlisten = \"127.0.0.1:3000\"\n[webhook]\nallowed_hosts = \"external, lopback\"\n\
         [log]\ndirectory = \"{data}/log\"\n",
        data = file.display(),
        socket = socket.display(),
    ));
    let check = async |args: &[&str]| {
        let mut command = crate::support::process::command(env!("CARGO_BIN_EXE_farrierd"));
        command.arg("--config").arg(program.config_file()).arg("check-config").args(args);
        let done = output(command).await.expect("the program");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (status, text) = check(&[]).await;
    assert_eq!(status, BAD_CONFIG, "{text}");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let expected = [
        ("line 1: data_dir = ", "is not a directory"),
        ("line 3: server.listen = ", "0.0.0.0:3000 and 127.0.0.1:3000 cannot both be listened on"),
        ("line 4: server.max_connections = 0: ", "must be at least 1"),
        ("line 6: socket.path = ", "the path of a socket may have at most 99"),
        ("line 7: socket.group = \"no-such-group-here\": ", "no such group"),
        ("line 9: metrics.listen = \"127.0.0.1:3000\": ", "server.listen uses the port already"),
        ("line 11: webhook.allowed_hosts = \"external, lopback\": ", "did you mean loopback?"),
        ("line 13: log.directory = ", "is not a directory"),
    ];
    assert_eq!(lines.len(), expected.len() + 1, "{text}");
    for ((start, reason), line) in expected.iter().zip(&lines[1..]) {
        assert!(line.starts_with(start) && line.contains(reason), "{start}… {reason}: {text}");
    }
    let (status, text) = check(&["--file-only"]).await;
    assert_eq!((status, text.lines().count()), (BAD_CONFIG, 2), "{text}");
}

#[tokio::test]
async fn a_missing_log_directory_is_created() {
    let mut program = Binary::new("");
    let directory = program.scratch().join("a/log");
    program.configure(&format!("[log]\ndirectory = \"{}\"\n", directory.display()));
    program.start().await;
    assert_eq!(std::fs::read_dir(&directory).expect("a directory").count(), 1, "the file of today");
    assert!(!program.log().contains("Error"), "{}", program.log());
}
