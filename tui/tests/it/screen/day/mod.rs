//! A typical day with a real daemon, a receiver and git, operated only through the screen.
//!
//! One test uses an empty daemon in this process. The other is ignored by default and uses built programs, tmux, and
//! the number of rows that the daemon is designed for:
//!
//! ```sh
//! cargo build --release
//! FARRIER_PROGRAMS=$PWD/target/release cargo test -p farrier --test it -- --ignored --nocapture full_size
//! ```

mod load;
mod service;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Instant,
};

use self::service::{ProcessDaemon, Service};
use super::{Session, SessionOptions, cursor_row, wait_until};
use crate::session::Daemon;

/// Starts a receiver that answers 200. Returns its URL and the received bodies.
#[expect(clippy::disallowed_methods, reason = "the receiver needs a thread beside the test")]
fn receiver() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/in", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let bodies = Arc::clone(&received);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut reader = BufReader::new(connection.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while line != "\r\n" && reader.read_line(&mut line).unwrap() > 0 {
                let value = line.to_ascii_lowercase();
                if let Some(value) = value.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line != "\r\n" {
                    line.clear();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            bodies.lock().unwrap().push(String::from_utf8(body).unwrap());
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, received)
}

/// Pushes a commit with a token.
#[expect(clippy::disallowed_methods, reason = "the test uses git like a user")]
fn push(daemon: &dyn Service, name: &str) {
    let status = daemon.run(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    let tcp = listeners.iter().find(|one| one["kind"] == "tcp").unwrap()["address"].as_str().unwrap().to_owned();
    let token = ["token", "create", "--user", "admin", "--name", name, "--scopes", "all"];
    let token = daemon.run(&token).ok().stdout;
    let url = format!("http://admin:{}@{tcp}/admin/demo.git", token.trim());
    let work = daemon.work(name);
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("file"), name).unwrap();
    let identity = ["-c", "user.name=p", "-c", "user.email=p@example.org"];
    for words in
        [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", name], &["push", "-q", &url, "main"]]
    {
        let mut git = Command::new("git");
        git.args(identity).args(words).current_dir(&work).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Moves the focus to the field with this label.
fn focus_field(session: &mut Session, label: &str) {
    for _ in 0..30 {
        let focus = |screen: &vt100::Screen| {
            screen.rows(0, 80).find_map(|row| row.split_once("│ > ").map(|(_, rest)| rest.to_owned()))
        };
        let before = focus(session.output.0.lock().unwrap().parser.screen());
        if before.as_ref().is_some_and(|field| field.starts_with(label)) {
            return;
        }
        session.type_keys("\t");
        session.wait("another field", |screen| focus(screen) != before);
    }
    panic!("no field {label}");
}

fn retype(session: &mut Session, label: &str, text: &str) {
    focus_field(session, label);
    session.type_keys("\x15");
    // Paste the text, as a user does.
    session.type_keys(format!("\x1b[200~{text}\x1b[201~"));
    session.wait_for(text);
}

/// Answers a question once it accepts keys. It ignores keys that are typed too early.
fn answer(session: &mut Session, question: &str, keys: &str, expected: &str) {
    session.wait_for(question);
    let started = Instant::now();
    wait_until("the question accepts keys", || started.elapsed().as_millis() > 300);
    session.type_keys(keys);
    session.wait("the result of the answer", |screen| screen.contents().contains(expected));
}

/// The amount of data, and how to start the screen.
struct Scenario<'a> {
    script: Option<&'a str>,
    env: &'a [(&'a str, &'a str)],
    /// What the status line shows when all repositories are loaded.
    rows: &'a str,
    artifact: usize,
}

#[test]
fn a_failed_delivery_is_redelivered_and_a_restart_of_the_daemon_is_survived() {
    let scenario = Scenario { script: None, env: &[], rows: "1/1 ", artifact: 600_000 };
    scenario.run(&mut Daemon::with_allowed_hosts("loopback"));
}

#[test]
#[ignore = "takes minutes, tmux and built programs"]
fn a_day_at_full_size() {
    let programs = std::env::var_os("FARRIER_PROGRAMS").expect("FARRIER_PROGRAMS names a directory of built programs");
    let mut daemon = ProcessDaemon::new(programs.as_ref());
    load::load(&daemon.store(), 100_000, 100_000);
    daemon.start();
    let work = daemon.work("tmux.conf");
    std::fs::write(work, "set -g status off\n").unwrap();
    // Start the program in FARRIER_PROGRAMS, not the build for tests.
    let script = "exec tmux -f tmux.conf -L farrier new-session \"$FARRIER_PROGRAM\"";
    let (program, directory) = (daemon.farrier(), daemon.work("."));
    let env = [("FARRIER_PROGRAM", program.to_str().unwrap()), ("TMUX_TMPDIR", directory.to_str().unwrap())];
    let scenario = Scenario { script: Some(script), env: &env, rows: "1/100 000", artifact: 300 << 20 };
    scenario.run(&mut daemon);
}

impl Scenario<'_> {
    fn run(&self, daemon: &mut dyn Service) {
        daemon.run(&["repo", "create", "admin/demo"]).ok();
        let (address, received) = receiver();
        let (socket, directory) = (daemon.socket(), daemon.work("."));
        let start =
            SessionOptions { socket, directory, words: &[], env: self.env, size: (80, 24), script: self.script };
        let started = Instant::now();
        // Visible with `--nocapture`.
        let note = |what: &str, session: &Session| {
            let contents = session.output.0.lock().unwrap().parser.screen().contents();
            println!("{:6.2} s  {what}\n{contents}\n", started.elapsed().as_secs_f64());
        };
        let mut session = start.session();
        session.wait_for_cursor_row("admin/demo");
        note("the first rows", &session);
        session.wait_for(self.rows);
        note("all rows", &session);
        hook_fails_and_is_repaired(daemon, &mut session, &address);
        note("a hook created, a push, a failure, the hook repaired, delivered again", &session);
        wait_until("the delivery", || !received.lock().unwrap().is_empty());
        assert!(received.lock().unwrap()[0].contains("refs/heads/main"));
        self.artifacts(daemon, &mut session);
        note("an artifact uploaded, downloaded and deleted", &session);
        daemon_restarts(daemon, &mut session);
        session.wait_for(self.rows);
        note("the daemon gone and back", &session);

        // Deleting a repository requires its name.
        session.type_keys("2");
        session.wait_for_cursor_row("admin/demo");
        session.type_keys("D");
        answer(&mut session, "admin/demo", "admin/demo\t\r", "[2 Repos]");
        session
            .wait("the row to disappear", |screen| !screen.rows(0, 80).take(22).any(|row| row.contains("admin/demo")));
        assert_eq!(daemon.run(&["repo", "show", "admin/demo"]).code, 3);
        note("the repository deleted", &session);
        session.leave();
    }

    /// Uploads an artifact, downloads and deletes it.
    fn artifacts(&self, daemon: &dyn Service, session: &mut Session) {
        std::fs::write(daemon.work("raw.txt"), "hello\n".repeat(self.artifact / 6)).unwrap();
        let farrier = daemon.farrier();
        let upload = ["ci", "exec", "--repo", "admin/demo", "--", farrier.to_str().unwrap(), "artifact", "upload"];
        daemon.run(&[&upload[..], &["raw.txt"]].concat()).ok();
        std::fs::remove_file(daemon.work("raw.txt")).unwrap();
        session.type_keys("2");
        session.wait_for_cursor_row("admin/demo");
        session.type_keys("o");
        session.wait_for("raw.txt");
        session.type_keys("jjj");
        session.wait_for_cursor_row("raw.txt");
        session.type_keys("d");
        if self.artifact > 100 << 20 {
            session.wait("the progress", |screen| screen.rows(0, 80).any(|row| row.contains(" %")));
        }
        session.wait_for("saved");
        assert_eq!(std::fs::metadata(daemon.work("raw.txt")).unwrap().len(), self.artifact as u64 / 6 * 6);
        session.type_keys("D");
        answer(session, "raw.txt", "y", "[5 Artif]");
        // Only the list of downloads still contains the name.
        session.wait("the row to disappear", |screen| {
            screen.rows(0, 80).filter(|row| row.contains("raw.txt")).count() == 1
        });
        let listed = daemon.run(&["artifact", "list", "--repo", "admin/demo", "--json"]).json();
        assert_eq!(listed["total_count"], 0, "{listed}");
    }
}

/// Creates a hook with an unreachable receiver, pushes, edits the hook, and redelivers.
fn hook_fails_and_is_repaired(daemon: &dyn Service, session: &mut Session, address: &str) {
    session.type_keys("3");
    session.wait("hooks, or none", |screen| {
        let text = screen.contents();
        text.contains("No hooks") || text.contains("receiver-0")
    });
    session.type_keys("n");
    session.wait_for("New hook");
    retype(session, "URL", "http://127.0.0.1:9/in");
    session.type_keys("\x13");
    session.wait_for("whsec_");
    session.type_keys("\x1b");
    session.wait_for_cursor_row("http://127.0.0.1:9/in");
    push(daemon, "one");
    session.type_keys("4");
    session.wait("a failed delivery of a push", |screen| {
        cursor_row(screen).is_some_and(|row| row.contains("push") && row.contains("FAIL"))
    });

    // Edit the hook and redeliver.
    session.type_keys("3");
    session.wait_for_cursor_row("127.0.0.1:9");
    session.type_keys("e");
    session.wait_for("Edit hook");
    retype(session, "URL", address);
    session.type_keys("\x13");
    session.wait_for_cursor_row(address);
    session.type_keys("4");
    session.wait_for_cursor_row("FAIL");
    session.type_keys("R");
    answer(session, "Redeliver 1 delivery", "y", "[4 Deliv]");
    session.wait_for_cursor_row("200");
}

/// Stops the daemon while the screen runs, and starts it again.
fn daemon_restarts(daemon: &mut dyn Service, session: &mut Session) {
    session.type_keys("2");
    session.wait_for_cursor_row("admin/demo");
    daemon.stop();
    session.wait_for("No connection to");
    // The loaded rows are still shown.
    session.wait_for_cursor_row("admin/demo");
    session.type_keys("?");
    session.wait_for("Help: Repositories");
    session.type_keys("\x1b");
    daemon.start();
    session.wait_for("Connected again");
    session.wait("the connection message to disappear", |screen| !screen.contents().contains("No connection to"));
    session.type_keys("r");
    session.wait_for_cursor_row("admin/demo");
}
