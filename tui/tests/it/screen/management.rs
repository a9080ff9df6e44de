//! Collaborators, rules, deploy keys, releases and mirrors of a repository, and keys of users, with a real daemon.

use super::{Session, SessionOptions, wait_until};
use crate::{repos::demo, session::Daemon};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB ann@laptop";

fn session(daemon: &Daemon) -> Session {
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (80, 24), script: None };
    let session = start.session();
    session.wait_for("[2 Repos]");
    session
}

/// Runs a line of the command line.
fn run(session: &mut Session, line: &str) {
    session.type_keys(format!(":{line}\r"));
}

/// Confirms the open question with `y`.
fn confirm(session: &mut Session, question: &str) {
    session.wait_for(question);
    let opened = std::time::Instant::now();
    wait_until("the question accepts keys", || opened.elapsed().as_millis() > 300);
    session.type_keys("y");
}

#[test]
fn a_collaborator_is_added_changed_and_removed() {
    let daemon = demo();
    daemon.farrier(&["user", "create", "ann", "--email", "ann@example.org"]).ok();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "collaborators admin/demo");
    session.wait_for("No collaborators.");
    session.type_keys("n");
    session.wait_for("Add a collaborator to admin/demo");
    session.type_keys("nobody\x13");
    session.wait_for("422");
    session.type_keys("\x1b");
    session.wait_for("discard");
    session.type_keys("y");
    session.type_keys("n");
    session.wait_for("Add a collaborator to admin/demo");
    session.type_keys("ann\x13");
    session.wait_for("ann has write access to admin/demo");
    session.wait_for_cursor_row("ann");
    session.type_keys("e");
    session.wait_for("Permission of ann in admin/demo");
    session.type_keys(" \x13");
    session.wait_for("ann has admin access to admin/demo");
    session.wait_for_cursor_row("admin");
    session.type_keys("D");
    confirm(&mut session, "Remove ann from admin/demo");
    session.wait_for("No collaborators.");
    session.leave();
}

#[test]
fn rules_for_branches_and_tags_are_shown_and_deleted() {
    let daemon = demo();
    let protect = |words: &[&str]| daemon.farrier(&[&["repo", "protect"][..], words].concat());
    protect(&["add", "admin/demo", "main", "--push", "nobody"]).ok();
    protect(&["add", "admin/demo", "v*", "--tags", "--users", "admin"]).ok();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "repo protect list admin/demo");
    session.wait_for("2 rules");
    session.wait_for("nobody");
    session.type_keys("\r");
    session.wait_for("Rule for the branch main");
    session.type_keys("\x1b");
    session.wait("the list", |screen| !screen.contents().contains("Rule for the branch"));
    session.type_keys("D");
    confirm(&mut session, "Delete the branch rule main of admin/demo");
    session.wait_for("1 rule");
    session.type_keys("D");
    confirm(&mut session, "Delete the tag rule v* of admin/demo");
    session.wait_for("No rules");
    assert_eq!(protect(&["list", "admin/demo", "-q"]).ok().stdout, "");
    assert_eq!(protect(&["list", "admin/demo", "--tags", "-q"]).ok().stdout, "");
    session.leave();
}

#[test]
fn a_deploy_key_is_pasted_and_deleted() {
    let daemon = demo();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "repo deploy-key list admin/demo");
    session.wait_for("No deploy keys.");
    session.type_keys("n");
    session.wait_for("New deploy key of admin/demo");
    session.type_keys(format!("ci\t\x1b[200~{KEY}\n\x1b[201~\x13"));
    session.wait_for("Deploy key ci added to admin/demo");
    session.wait("its row", |screen| screen.rows(0, 80).any(|row| row.contains("ci") && row.contains("read")));
    let listed = daemon.farrier(&["repo", "deploy-key", "list", "admin/demo", "--json"]).json();
    assert_eq!((&listed["keys"][0]["key"], &listed["keys"][0]["read_only"]), (&KEY.into(), &true.into()));
    session.type_keys("D");
    confirm(&mut session, "Delete deploy key ci of admin/demo");
    session.wait_for("No deploy keys.");
    session.leave();
}

#[test]
fn a_form_does_not_change_another_repository_that_got_the_name_meanwhile() {
    let daemon = demo();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "repo deploy-key list admin/demo");
    session.wait_for("No deploy keys.");
    session.type_keys("n");
    session.wait_for("New deploy key of admin/demo");
    daemon.farrier(&["repo", "delete", "admin/demo", "--yes"]).ok();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    session.type_keys(format!("ci\t\x1b[200~{KEY}\n\x1b[201~\x13"));
    session.wait_for("admin/demo is another repository now");
    assert_eq!(daemon.farrier(&["repo", "deploy-key", "list", "admin/demo", "-q"]).ok().stdout, "");
    session.leave();
}

#[test]
fn a_release_is_shown_with_its_files_and_deleted() {
    let daemon = demo();
    std::fs::write(daemon.work("app.bin"), "0123456789").unwrap();
    daemon.farrier(&["release", "create", "admin/demo", "v1", "--title", "First"]).ok();
    daemon.farrier(&["release", "upload", "admin/demo", "v1", "app.bin"]).ok();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "release list admin/demo");
    session.wait_for("1 release");
    session.type_keys("\r");
    session.wait_for("app.bin   10 B");
    session.type_keys("\x1b");
    session.wait("the list", |screen| !screen.contents().contains("app.bin"));
    session.type_keys("D");
    confirm(&mut session, "Delete release v1 of admin/demo");
    session.wait_for("No releases.");
    assert_eq!(daemon.farrier(&["release", "list", "admin/demo", "-q"]).ok().stdout, "");
    session.leave();
}

#[test]
fn push_mirrors_run_on_request_and_show_why_they_fail() {
    let daemon = demo();
    // Nothing listens there by the time of the request.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    daemon.farrier(&["mirror", "add", "admin/demo", &format!("http://{closed}/copy.git"), "--interval", "0s"]).ok();
    let mut session = session(&daemon);
    session.wait_for_cursor_row("admin/demo");
    run(&mut session, "mirror list admin/demo");
    session.wait_for("1 mirror");
    session.type_keys("R");
    session.wait_for("FAIL");
    session.type_keys("D");
    confirm(&mut session, "Delete push mirror");
    session.wait_for("No mirrors.");
    session.leave();
}

#[test]
fn an_ssh_key_of_another_user_is_added_and_deleted() {
    let daemon = Daemon::start();
    daemon.farrier(&["user", "create", "ann", "--email", "ann@example.org"]).ok();
    let mut session = session(&daemon);
    session.type_keys("7");
    session.wait_for("[7 Users]");
    session.wait_for_cursor_row("admin");
    run(&mut session, "user show ann");
    session.wait_for_cursor_row("ann");
    session.type_keys("\r]");
    session.wait_for("No SSH keys and no OpenPGP keys.");
    session.type_keys("n");
    session.wait_for("New SSH key of ann");
    session.type_keys(format!("laptop\t\x1b[200~{KEY}\x1b[201~\x13"));
    session.wait_for("SSH key laptop added to ann");
    session.wait("its row", |screen| screen.rows(0, 80).any(|row| row.contains("laptop") && row.contains("SSH")));
    assert_eq!(daemon.farrier(&["key", "list", "--user", "ann", "--json"]).json()["keys"][0]["title"], "laptop");
    session.type_keys("D");
    confirm(&mut session, "Delete SSH key laptop of ann");
    session.wait_for("No SSH keys and no OpenPGP keys.");
    session.leave();
}
