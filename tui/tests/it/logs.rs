//! `farrier logs`, and the log on the full screen, with a real daemon.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::{program::program, screen::SessionOptions, session::Daemon};

/// Waits until the daemon has recorded a request with this text in its path. The access log line of a request is
/// written after its response.
fn wait_until_recorded(daemon: &Daemon, text: &str) {
    crate::screen::wait_until("the request is recorded", || {
        let listed = daemon.farrier(&["logs", "--grep", text, "-q"]).ok();
        !listed.stdout.is_empty()
    });
}

#[test]
fn log_records_are_listed_and_filtered() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/logs-listed"]).ok();
    daemon.farrier(&["repo", "show", "admin/logs-listed"]).ok();
    wait_until_recorded(&daemon, "/api/v1/repos/admin/logs-listed");
    let listed = daemon.farrier(&["logs", "--grep", "/api/v1/repos/admin/logs-listed", "--json"]).ok().stdout;
    let record: serde_json::Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!((&record["level"], &record["message"]), (&"info".into(), &"request".into()));
    assert!(record["request_id"].as_str().is_some_and(|id| id.len() == 16), "{record}");
    let line = daemon.farrier(&["logs", "--grep", "logs-listed", "--target", "farrierd::access"]).ok().stdout;
    assert!(line.contains("  INFO   farrierd::access  request "), "{line}");
    assert_eq!(daemon.farrier(&["logs", "--level", "error", "--grep", "logs-listed"]).ok().stdout, "");
    assert_eq!(daemon.farrier(&["logs", "--level", "loud"]).code, 2);
    assert_eq!(daemon.farrier(&["logs", "--limit", "0"]).code, 2);
}

#[test]
fn the_log_is_followed() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/logs-followed-one"]).ok();
    wait_until_recorded(&daemon, "logs-followed-one");
    let mut command = program(&daemon.work("."));
    command.args(["logs", "--follow", "--grep", "name=logs-followed", "--target", "farrierd::security"]);
    let mut following = command.env("FARRIER_SOCKET", daemon.socket()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    daemon.farrier(&["repo", "create", "admin/logs-followed-two"]).ok();
    let second = lines.next().unwrap().unwrap();
    following.kill().unwrap();
    following.wait().unwrap();
    assert!(first.contains("repository.create") && first.contains("name=logs-followed-one"), "{first}");
    assert!(second.contains("name=logs-followed-two"), "{second}");
}

#[test]
fn the_full_screen_shows_new_records_and_goes_to_their_repository() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/logs-shown"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start = SessionOptions { socket, directory, words: &[], env: &[], size: (120, 40), script: None };
    let mut session = start.session();
    session.wait_for_cursor_row("admin/logs-shown");
    session.type_keys("0");
    session.wait_for("[0 Logs]");
    session.type_keys("/logs-shown\r");
    daemon.farrier(&["repo", "edit", "admin/logs-shown", "--description", "x"]).ok();
    session.wait_for("repository admin/logs-shown");
    session.wait_for("repository.edit");
    session.type_keys("fr");
    session.wait_for("[2 Repos]");
    session.wait_for_cursor_row("admin/logs-shown");
    session.leave();
}
