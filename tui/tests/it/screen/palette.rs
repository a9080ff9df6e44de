//! The command line of the full screen with a real daemon: lookups, commands of the shell, and the history.

use super::{Session, SessionOptions};
use crate::{repos::demo, session::Daemon};

/// Starts the program. Its saved state is below the directory of the daemon.
fn session(daemon: &Daemon) -> Session {
    let state = daemon.work("state").display().to_string();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let env = [("XDG_STATE_HOME", state.as_str())];
    let start = SessionOptions { socket, directory, words: &[], env: &env, size: (100, 30), script: None };
    let session = start.session();
    session.wait_for("[2 Repos]");
    session.wait_for_cursor_row("admin/demo");
    session
}

#[test]
fn the_command_line_finds_objects_of_the_daemon_by_their_names() {
    let daemon = demo();
    daemon.farrier(&["user", "create", "ann", "--email", "ann@example.org"]).ok();
    daemon.farrier(&["org", "create", "annex"]).ok();
    let mut session = session(&daemon);
    session.type_keys(":ann");
    session.wait_for("organization annex");
    session.wait_for("user ann");
    session.type_keys("\r");
    session.wait_for("[7 Users]");
    session.wait_for_cursor_row("ann");
    session.type_keys(":collaborators admin/demo\r");
    session.wait_for("No collaborators.");
    session.type_keys(":feature/x\r");
    session.wait_for_cursor_row("file");
    session.type_keys(":nowhere\r");
    session.wait_for("is neither a command nor the name");
    session.leave();
}

#[test]
fn the_command_line_runs_commands_of_the_shell_and_keeps_its_history() {
    let daemon = demo();
    let mut first = session(&daemon);
    first.type_keys(":user create zed --email zed@example.org\r");
    first.wait_for("User zed created");
    assert_eq!(daemon.farrier(&["user", "show", "zed", "--json"]).json()["login"], "zed");
    first.type_keys(":user create zed --email zed@example.org\r");
    first.wait_for("creating zed");
    first.type_keys(":log show\r");
    first.wait_for("farrier log show");
    first.leave();
    let mut second = session(&daemon);
    second.type_keys(":\x1b[A");
    second.wait_for(": log show");
    second.leave();
}

#[test]
fn the_command_line_completes_hosts_of_the_daemon_and_shows_the_chosen_theme() {
    let daemon = demo();
    daemon.farrier(&["hook", "create", "--system", "--events", "push", "http://ci.example.net:8080/hook"]).ok();
    let mut session = session(&daemon);
    session.type_keys(":delivery list --host ");
    session.wait_for("ci.example.net:8080");
    session.type_keys("ci\t");
    session.wait_for(": delivery list --host ci.example.net:8080");
    session.type_keys("\r");
    session.wait_for("[4 Deliv]");
    session.wait_for("host: ci.example.net:8080");
    session.type_keys(":delivery list --event pus");
    session.type_keys("\t");
    session.wait_for(": delivery list --event push ");
    session.type_keys("\x1b:theme gruv\t");
    session.wait_for(": theme gruvbox");
    session.type_keys("\r");
    session.wait("the list", |screen| !screen.contents().contains(": theme"));
    session.leave();
}
