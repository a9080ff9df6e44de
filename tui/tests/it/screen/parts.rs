//! The parts of a repository, and its end, with the real daemon and git.

use super::{Start, until};
use crate::repos::{demo, git};

#[test]
fn a_repository_is_looked_at_from_all_sides_and_goes_only_after_its_copy() {
    let daemon = demo();
    daemon.farrier(&["hook", "create", "http://127.0.0.1:9/in", "--repo", "admin/demo"]).ok();
    std::fs::write(daemon.work("report.txt"), "all is well\n").unwrap();
    let farrier = crate::session::FARRIER;
    let upload = ["ci", "exec", "--repo", "admin/demo", "--", farrier, "artifact", "upload", "report.txt"];
    daemon.farrier(&upload).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = Start { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_at("admin/demo");
    session.wait_for("default   main   branches 2   tags 2");
    session.wait_for("1 own + 0 system");
    session.type_("\r]");
    session.wait_for("feature/x");
    session.type_("]");
    session.wait_for("http://127.0.0.1:9/in");
    session.type_("]");
    session.wait_for("report.txt");
    session.type_("\r");
    session.wait("the artifact on its own screen", |screen| {
        let shown = screen.contents();
        shown.contains("[5 Artif]") && screen.rows(0, 120).any(|row| row.starts_with('>') && row.contains("report.txt"))
    });

    session.type_("2");
    session.wait_for("[2 Repos]");
    session.type_("\x1bD");
    session.wait_for("2 branches, 2 tags, 1 hook, 1 artifact");
    let begun = std::time::Instant::now();
    until("the question's patience", || begun.elapsed().as_millis() > 300);
    session.type_("\x1b[B ");
    session.wait_for("[x] Save admin-demo.bundle first");
    session.type_("\x1b[Aadmin/demo\t\r");
    session.wait_for("No repositories");
    git(&daemon, &["clone", "-q", "--mirror", "admin-demo.bundle", "copy.git"]);
    let refs = |place: &str| git(&daemon, &["-C", place, "show-ref", "--heads", "--tags"]);
    assert_eq!(refs("copy.git"), refs("one"), "all of it was kept");
    session.leave();
}

#[test]
fn a_watched_status_stays_in_its_place() {
    let daemon = crate::session::Daemon::start();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let words = &["status", "--watch"];
    let mut session = Start { socket, directory, words, env: &[], size: (80, 24), script: None }.session();
    session.wait_for("you are ");
    let page = session.count();
    until("the page a few times more", || session.count() > 4 * page);
    let screen = session.shown.0.lock().unwrap().parser.screen().contents();
    assert!(screen.starts_with("health "), "{screen}");
    assert_eq!(screen.matches("version ").count(), 1, "each time where it was: {screen}");
    session.signal(rustix::process::Signal::INT);
    let ended = std::os::unix::process::ExitStatusExt::signal(&session.ended());
    assert_eq!(ended, Some(2), "it ends as every program does");
}

#[test]
fn a_migration_is_seen_and_cancelled() {
    let daemon = crate::session::Daemon::reaching("loopback");
    // Connections are taken by the kernel, and nobody ever answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/x.git", silent.local_addr().unwrap());
    daemon.farrier(&["repo", "migrate", &source, "admin/copy"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = Start { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_at("migrating");
    session.wait_for("> connecting");
    session.type_("1");
    session.wait_for("Tasks (1 running)");
    session.wait("its bar", |screen| screen.rows(0, 60).any(|row| row.starts_with(" migrate   admin/copy")));
    session.type_("2X");
    session.wait_for("Cancel the import of admin/copy");
    let begun = std::time::Instant::now();
    until("the question's patience", || begun.elapsed().as_millis() > 300);
    session.type_("y");
    session.wait_for("No repositories");
    let listed = daemon.farrier(&["task", "list", "--json"]).json();
    assert_eq!(listed["tasks"][0]["state"], "cancelled");
    session.leave();
}
