//! A day at work: the real daemon, its receiver and git, and a person who has nothing but the screen.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use super::{Session, Start, cursor_row, until};
use crate::session::{Daemon, FARRIER};

/// Takes what is delivered and says 200. Answers its address and what came.
#[expect(clippy::disallowed_methods, reason = "the receiver needs a thread beside the test")]
fn receiver() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/in", listener.local_addr().unwrap());
    let came = Arc::new(Mutex::new(Vec::new()));
    let bodies = Arc::clone(&came);
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
    (address, came)
}

/// Pushes a commit as a person with a token does.
#[expect(clippy::disallowed_methods, reason = "the test is a person with git")]
fn push(daemon: &Daemon, name: &str) {
    let status = daemon.farrier(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    let tcp = listeners.iter().find(|one| one["kind"] == "tcp").unwrap()["address"].as_str().unwrap().to_owned();
    let token = ["token", "create", "--user", "admin", "--name", name, "--scopes", "all"];
    let token = daemon.farrier(&token).ok().stdout;
    let url = format!("http://admin:{}@{tcp}/admin/demo.git", token.trim());
    let work = daemon.work(name);
    std::fs::create_dir_all(&work).unwrap();
    std::fs::write(work.join("file"), name).unwrap();
    let person = ["-c", "user.name=p", "-c", "user.email=p@example.org"];
    for words in
        [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", name], &["push", "-q", &url, "main"]]
    {
        let mut git = Command::new("git");
        git.args(person).args(words).current_dir(&work).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let ran = git.stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

/// Goes to the field with this label.
fn field(session: &mut Session, label: &str) {
    for _ in 0..30 {
        let focus = |screen: &vt100::Screen| {
            screen.rows(0, 80).find_map(|row| row.split_once("│ > ").map(|(_, rest)| rest.to_owned()))
        };
        let before = focus(session.shown.0.lock().unwrap().parser.screen());
        if before.as_ref().is_some_and(|field| field.starts_with(label)) {
            return;
        }
        session.type_("\t");
        session.wait("another field", |screen| focus(screen) != before);
    }
    panic!("no field {label}");
}

fn retype(session: &mut Session, label: &str, text: &str) {
    field(session, label);
    session.type_("\x15");
    // As a person does who has it in the clipboard.
    session.type_(format!("\x1b[200~{text}\x1b[201~"));
    session.wait_for(text);
}

/// Types an answer once the question takes one: what is typed ahead of it is thrown away.
fn answer(session: &mut Session, question: &str, keys: &str, shown: &str) {
    session.wait_for(question);
    let begun = std::time::Instant::now();
    until("the question's patience", || begun.elapsed().as_millis() > 300);
    session.type_(keys);
    session.wait("an answer", |screen| screen.contents().contains(shown));
}

#[test]
fn a_hook_fails_is_mended_and_delivers_and_the_daemon_comes_back() {
    let mut daemon = Daemon::reaching("loopback");
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let (address, came) = receiver();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = Start { socket, directory, words: &[], env: &[], size: (80, 24), script: None };
    let mut session = start.session();
    session.wait_at("admin/demo");

    // A hook whose receiver is not there.
    session.type_("3");
    session.wait_for("No hooks");
    session.type_("n");
    session.wait_for("New hook");
    retype(&mut session, "URL", "http://127.0.0.1:9/in");
    session.type_("\x13");
    session.wait_at("http://127.0.0.1:9/in");
    push(&daemon, "one");
    session.type_("4");
    session.wait("a failed delivery of a push", |screen| {
        cursor_row(screen).is_some_and(|row| row.contains("push") && row.contains("FAIL"))
    });

    // Mended, and sent again.
    session.type_("3");
    session.wait_at("127.0.0.1:9");
    session.type_("e");
    session.wait_for("Edit hook");
    retype(&mut session, "URL", &address);
    session.type_("\x13");
    session.wait_at(&address);
    session.type_("4");
    session.wait_at("FAIL");
    session.type_("R");
    answer(&mut session, "Deliver 1 again", "y", "[4 Deliv]");
    session.wait_at("200");
    until("the delivery", || !came.lock().unwrap().is_empty());
    assert!(came.lock().unwrap()[0].contains("refs/heads/main"));

    artifacts(&daemon, &mut session);
    comes_back(&mut daemon, &mut session);

    // A repository goes only by its name.
    session.type_("2");
    session.wait_at("admin/demo");
    session.type_("D");
    answer(&mut session, "admin/demo", "admin/demo\t\r", "No repositories");
    let listed = daemon.farrier(&["repo", "list", "--json"]).json();
    assert_eq!(listed["total_count"], 0, "{listed}");
    session.leave();
}

/// Downloads one, and deletes it.
fn artifacts(daemon: &Daemon, session: &mut Session) {
    std::fs::write(daemon.work("raw.txt"), "hello\n".repeat(100_000)).unwrap();
    let upload = ["ci", "exec", "--repo", "admin/demo", "--", FARRIER, "artifact", "upload", "raw.txt"];
    daemon.farrier(&upload).ok();
    std::fs::remove_file(daemon.work("raw.txt")).unwrap();
    session.type_("2");
    session.wait_at("admin/demo");
    session.type_("o");
    session.wait_for("raw.txt");
    session.type_("jjj");
    session.wait_at("raw.txt");
    session.type_("d");
    session.wait_for("saved");
    assert_eq!(std::fs::read(daemon.work("raw.txt")).unwrap().len(), 600_000);
    session.type_("D");
    answer(session, "raw.txt", "y", "[5 Artif]");
    // Only the list of downloads still has it.
    session.wait("it gone", |screen| screen.rows(0, 80).filter(|row| row.contains("raw.txt")).count() == 1);
    let listed = daemon.farrier(&["artifact", "list", "--repo", "admin/demo", "--json"]).json();
    assert_eq!(listed["total_count"], 0, "{listed}");
}

/// The daemon goes away under the screen and comes back.
fn comes_back(daemon: &mut Daemon, session: &mut Session) {
    session.type_("2");
    session.wait_at("admin/demo");
    daemon.stop();
    session.wait_for("No answer from");
    // What is there can still be looked at.
    session.wait_at("admin/demo");
    session.type_("?");
    session.wait_for("Help: Repositories");
    session.type_("\x1b");
    daemon.go_on();
    session.wait_for("answers again");
    session.wait("the link", |screen| !screen.contents().contains("No answer from"));
    session.type_("r");
    session.wait_at("admin/demo");
}
