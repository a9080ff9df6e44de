//! The history of places and the return to the last one, with a real daemon.

use super::{SessionOptions, wait_until};
use crate::repos::demo;

#[test]
fn an_opened_file_is_shown_again_by_the_history_and_by_the_next_session() {
    let daemon = demo();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("admin/demo");
    session.wait_for("default   main   branches 2   tags 2");
    session.type_keys("\r]");
    session.wait("the files", |screen| screen.contents().contains("KIND") && screen.contents().contains("6 B"));
    session.type_keys("\r");
    session.wait_for("1 line, 6 B");
    session.type_keys("3");
    session.wait_for("[3 Hooks]");
    session.type_keys("-");
    session.wait_for("1 line, 6 B");
    session.type_keys("_");
    session.wait_for("[3 Hooks]");
    session.type_keys("-");
    session.wait_for("1 line, 6 B");
    session.leave();

    let mut again = start.session();
    again.wait_for("1 line, 6 B");
    again.type_keys("h");
    again.wait("the files", |screen| screen.contents().contains("KIND") && !screen.contents().contains("1 line, 6 B"));
    again.leave();

    daemon.farrier(&["repo", "delete", "admin/demo", "--yes"]).ok();
    let after = start.session();
    after.wait_for("admin/demo is no longer listed");
    after.leave();
}

#[test]
fn the_overview_of_an_empty_repository_causes_no_refused_request() {
    let daemon = crate::session::Daemon::start();
    daemon.farrier(&["repo", "create", "admin/empty"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("admin/empty");
    let logged = |path: &str| daemon.farrier(&["logs", "--grep", path, "-q"]).ok().stdout;
    wait_until("the counts are recorded", || !logged("/repos/admin/empty/branches").is_empty());
    for tab in ["No files", "No commits", "No branches", "No tags."] {
        session.type_keys(if tab == "No files" { "\r]" } else { "]" });
        session.wait_for(tab);
    }
    session.leave();
    assert_eq!(logged("/repos/admin/empty/commits"), "");
    assert_eq!(daemon.farrier(&["logs", "--level", "warn", "--grep", "admin/empty", "-q"]).ok().stdout, "");
}
