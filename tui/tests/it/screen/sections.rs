//! The sections of a repository, and its deletion, with a real daemon and git.

use super::{SessionOptions, wait_until};
use crate::repos::{demo, git};

#[test]
fn all_sections_of_a_repository_are_shown_and_it_is_deleted_after_saving_a_copy() {
    let daemon = demo();
    daemon.farrier(&["hook", "create", "http://127.0.0.1:9/in", "--repo", "admin/demo"]).ok();
    std::fs::write(daemon.work("report.txt"), "all is well\n").unwrap();
    let farrier = crate::session::FARRIER;
    let upload = ["ci", "exec", "--repo", "admin/demo", "--", farrier, "artifact", "upload", "report.txt"];
    daemon.farrier(&upload).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("admin/demo");
    session.wait_for("default   main   branches 2   tags 2");
    session.wait_for("1 own + 0 system");
    session.type_keys("\r]");
    session.wait("the files", |screen| screen.contents().contains("KIND") && screen.contents().contains("6 B"));
    session.type_keys("\r");
    session.wait_for("1  first");
    session.wait_for("1 line, 6 B");
    session.type_keys("h]");
    session.wait("the commits", |screen| screen.contents().contains("TITLE") && screen.contents().contains("first"));
    session.type_keys("\r");
    session.wait_for("+first");
    session.type_keys("h]");
    session.wait_for("feature/x");
    session.type_keys("]");
    session.wait_for("v2");
    for empty in ["No releases.", "No rules", "No collaborators.", "No deploy keys.", "No mirrors."] {
        session.type_keys("]");
        session.wait_for(empty);
    }
    session.type_keys("]");
    session.wait_for("http://127.0.0.1:9/");
    session.type_keys("]");
    session.wait_for("report.txt");
    session.type_keys("\r");
    session.wait("the artifact on its own screen", |screen| {
        let text = screen.contents();
        text.contains("[5 Artif]") && screen.rows(0, 120).any(|row| row.starts_with('>') && row.contains("report.txt"))
    });

    session.type_keys("2");
    session.wait_for("[2 Repos]");
    session.type_keys("\x1bD");
    session.wait_for("2 branches, 2 tags, 1 hook, 1 artifact");
    let opened = std::time::Instant::now();
    wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
    session.type_keys("\x1b[B ");
    session.wait_for("[x] Save admin-demo.bundle first");
    session.type_keys("\x1b[Aadmin/demo\t\r");
    session.wait_for("No repositories");
    git(&daemon, &["clone", "-q", "--mirror", "admin-demo.bundle", "copy.git"]);
    let refs = |directory: &str| git(&daemon, &["-C", directory, "show-ref", "--heads", "--tags"]);
    assert_eq!(refs("copy.git"), refs("one"), "the copy is complete");
    session.leave();
}

#[test]
fn a_watched_status_is_redrawn_in_place() {
    let daemon = crate::session::Daemon::start();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let words = &["status", "--watch"];
    let mut session = SessionOptions { socket, directory, words, env: &[], size: (80, 24), script: None }.session();
    session.wait_for("you are ");
    let page = session.count();
    wait_until("the page is printed again", || session.count() > 4 * page);
    session.wait("the page at the same position", |screen| {
        let text = screen.contents();
        text.starts_with("health ") && text.matches("version ").count() == 1
    });
    session.signal(rustix::process::Signal::INT);
    let ended = std::os::unix::process::ExitStatusExt::signal(&session.wait_for_exit());
    assert_eq!(ended, Some(2), "SIGINT ends the program");
}

#[test]
fn a_migration_is_shown_and_can_be_cancelled() {
    let daemon = crate::session::Daemon::with_allowed_hosts("loopback");
    // The kernel accepts connections, but nothing answers them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/x.git", silent.local_addr().unwrap());
    daemon.farrier(&["repo", "migrate", &source, "admin/copy"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("importing");
    session.wait_for("> connecting");
    session.type_keys("1");
    session.wait_for("Tasks (1 running)");
    session.wait("its bar", |screen| screen.rows(0, 60).any(|row| row.starts_with(" import    admin/copy")));
    session.type_keys("9");
    session.wait_for("[9 Tasks]");
    session.wait_for_cursor_row("connecting");
    session.type_keys("2X");
    session.wait_for("Cancel the import of admin/copy");
    let opened = std::time::Instant::now();
    wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
    session.type_keys("y");
    session.wait_for("No repositories");
    let listed = daemon.farrier(&["task", "list", "--json"]).json();
    assert_eq!(listed["tasks"][0]["state"], "cancelled");
    session.leave();
}

#[test]
fn a_run_in_progress_is_shown_with_its_job_and_cancelled() {
    let daemon = crate::session::Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    daemon.farrier(&["ci", "begin", "--repo", "admin/demo", "--job", "build-linux"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("admin/demo");
    session.type_keys("8]");
    session.wait_for("[running]");
    session.wait_for_cursor_row("admin/demo");
    session.wait_for("job build-linux");
    session.type_keys("X");
    session.wait_for("Cancel run ");
    let opened = std::time::Instant::now();
    wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
    session.type_keys("y");
    session.wait_for("No run is in progress.");
    let listed = |conclusion: &str| daemon.farrier(&["run", "list", "--conclusion", conclusion, "--json"]).json();
    let cancelled = listed("cancelled");
    assert_eq!((&cancelled["total_count"], &cancelled["runs"][0]["status"]), (&1.into(), &"completed".into()));
    assert_eq!(listed("failure")["total_count"], 0);
    assert_eq!(daemon.farrier(&["run", "list", "--conclusion", "odd"]).code, 2);
    session.leave();
}
