//! `farrier audit`.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::{program::program, session::Daemon};

#[test]
fn the_audit_log_is_listed_filtered_and_shown() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo", "--private"]).ok();
    daemon.farrier(&["repo", "delete", "admin/demo", "--yes"]).ok();
    let listed = daemon.farrier(&["audit", "list", "--repo", "admin/demo", "--json"]).json();
    let actions: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(
        (actions.as_slice(), &listed["total_count"]),
        (&["repository.delete", "repository.create"][..], &2.into())
    );
    for (arguments, count) in [
        (&["--action", "repository.create"][..], 1),
        (&["--actor", "nobody"], 0),
        (&["--object", "repository:demo", "--since", "1h", "--limit", "1"], 1),
        (&["--until", "2001-01-01"], 0),
        (&["--own"], 2),
        (&["--own", "--text", "create"], 1),
        (&["--text", "DELETE admin/demo"], 1),
        (&["--user", "Admin", "--action", "repository"], 2),
        (&["--user", "nobody"], 0),
    ] {
        let listed = daemon.farrier(&[&["audit", "list", "--json"], arguments].concat()).json();
        assert_eq!(listed["total_count"], count, "{arguments:?}");
    }
    let table = daemon.farrier(&["audit", "list"]).ok().stdout;
    assert!(table.contains("repository admin/demo") && table.contains("repository.delete"), "{table}");
    let id = listed["entries"][1]["id"].to_string();
    let page = daemon.farrier(&["audit", "show", &id]).ok().stdout;
    assert!(page.contains("private: true") && page.contains("repository.create"), "{page}");
    assert_eq!(daemon.farrier(&["audit", "show", "999999"]).code, 3);
    assert_eq!(daemon.farrier(&["audit", "list", "--since", "soon"]).code, 2);
}

#[test]
fn the_audit_log_is_followed() {
    let daemon = Daemon::start();
    for name in ["one", "two", "three"] {
        daemon.farrier(&["repo", "create", &format!("admin/{name}")]).ok();
    }
    let mut command = program(&daemon.work("."));
    command.args(["audit", "list", "--follow", "--action", "repository", "--limit", "2"]);
    let mut following = command.env("FARRIER_SOCKET", daemon.socket()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    let first = [next(), next()];
    daemon.farrier(&["repo", "delete", "admin/two", "--yes"]).ok();
    let last = next();
    following.kill().unwrap();
    following.wait().unwrap();
    let [second, third] = first;
    for (line, expected) in [
        (second, "done  repository.create  admin  uid "),
        (third, "  repository admin/three"),
        (last, "done  repository.delete  admin  uid "),
    ] {
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(daemon.farrier(&["audit", "list", "--follow", "--until", "1h"]).code, 2);
}
