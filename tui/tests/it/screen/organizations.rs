//! Organizations and teams with a real daemon.

use super::{Session, SessionOptions, wait_until};
use crate::{repos::demo, session::Daemon};

/// Waits until the open question accepts keys.
fn wait_for_question(session: &Session, question: &str) {
    session.wait_for(question);
    let opened = std::time::Instant::now();
    wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
}

/// Opens the screen of organizations of a daemon that has the organization `acme`.
fn organizations(daemon: &Daemon) -> Session {
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (80, 24), script: None };
    let mut session = start.session();
    session.wait_for("[2 Repos]");
    session.type_keys("7");
    session.wait_for("[7 Users]");
    session.type_keys("u");
    session.wait_for("VISIBILITY");
    session.wait_for_cursor_row("acme");
    session
}

/// Deletes the organization, and creates another one with its name.
fn replace_acme(daemon: &Daemon) {
    daemon.farrier(&["org", "delete", "acme", "--yes"]).ok();
    daemon.farrier(&["org", "create", "acme", "--description", "new"]).ok();
}

/// Waits until the change of an organization that was replaced is refused: by the check before the change, because the
/// list was refreshed before, or because the form loaded the other organization. That one must be unchanged.
#[track_caller]
fn assert_refused(session: &Session, daemon: &Daemon) {
    session.wait("the refusal", |screen| {
        let text = screen.contents();
        ["Nothing was changed", "was removed meanwhile", "is not loaded yet"].iter().any(|part| text.contains(part))
    });
    assert_eq!(daemon.farrier(&["org", "show", "acme", "--json"]).json()["description"], "new");
}

#[test]
fn an_organization_that_has_the_name_of_the_edited_one_is_not_changed() {
    let daemon = Daemon::start();
    daemon.farrier(&["org", "create", "acme", "--description", "old"]).ok();
    let mut session = organizations(&daemon);
    session.type_keys("e");
    session.wait_for("Edit acme");
    session.type_keys("\t!");
    session.wait_for("old!");
    replace_acme(&daemon);
    session.type_keys("\x13");
    assert_refused(&session, &daemon);
    session.leave();
}

#[test]
fn an_organization_that_has_the_name_of_the_one_to_delete_is_not_deleted() {
    let daemon = Daemon::start();
    daemon.farrier(&["org", "create", "acme", "--description", "old"]).ok();
    let mut session = organizations(&daemon);
    // Otherwise the list may be refreshed first, which closes the question.
    session.type_keys("p");
    session.wait_for("paused");
    session.type_keys("D");
    wait_for_question(&session, "Type acme to confirm");
    replace_acme(&daemon);
    session.type_keys("acme\t\r");
    assert_refused(&session, &daemon);
    session.leave();
}

#[test]
fn a_team_is_created_gets_members_and_repositories_and_is_deleted() {
    let daemon = demo();
    daemon.farrier(&["user", "create", "ann", "--email", "ann@example.org"]).ok();
    daemon.farrier(&["org", "create", "acme"]).ok();
    daemon.farrier(&["repo", "create", "acme/app", "--private"]).ok();
    let team = |words: &[&str]| daemon.farrier(&[&["team"], words].concat());
    let mut session = organizations(&daemon);
    session.type_keys("\r");
    session.wait_for_cursor_row("Owners");

    session.type_keys("n");
    session.wait_for("New team of acme");
    session.type_keys("devs\x13");
    session.wait_for_cursor_row("devs");
    session.type_keys("\r");
    session.wait_for("by unit");
    session.type_keys("]");
    session.wait_for("No members.");
    session.type_keys("n");
    session.wait_for("Add a member to team acme/devs");
    session.type_keys("ann\x13");
    session.wait_for_cursor_row("ann");
    assert_eq!(team(&["members", "acme", "devs", "-q"]).ok().stdout, "ann\n");
    session.type_keys("]");
    session.wait_for("No repositories");
    session.type_keys("n");
    session.wait_for("Add a repository to team acme/devs");
    session.type_keys("app\x13");
    session.wait_for_cursor_row("acme/app");
    assert_eq!(team(&["repos", "acme", "devs", "-q"]).ok().stdout, "acme/app\n");

    session.type_keys("D");
    wait_for_question(&session, "Remove 1 repository");
    session.type_keys("y");
    session.wait_for("No repositories");
    session.type_keys("[");
    session.wait_for_cursor_row("ann");
    session.type_keys("D");
    wait_for_question(&session, "Remove 1 member");
    session.type_keys("y");
    session.wait_for("No members.");
    session.type_keys("h");
    session.wait_for_cursor_row("devs");
    session.type_keys("D");
    wait_for_question(&session, "Type devs to confirm");
    session.type_keys("devs\t\r");
    session.wait_for("Team acme/devs deleted");
    assert_eq!(team(&["list", "acme", "-q"]).ok().stdout, "Owners\n");
    session.leave();
}
