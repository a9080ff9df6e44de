//! Artifacts of all repositories, with a real daemon: on the command line and on the screen.

use std::path::Path;

use serde_json::Value;

use crate::{
    screen::{SessionOptions, cursor_row},
    session::{Daemon, FARRIER},
};

/// Creates a repository with a run that uploads these files as artifacts.
fn run(daemon: &Daemon, repo: &str, files: &[(&str, &str)]) {
    daemon.farrier(&["repo", "create", repo]).ok();
    for (name, content) in files {
        std::fs::write(daemon.work(name), content).unwrap();
    }
    let uploads: Vec<String> = files.iter().map(|(name, _)| format!("{FARRIER} artifact upload {name} -q")).collect();
    let script = uploads.join(" && ");
    daemon.farrier(&["ci", "exec", "--repo", repo, "--job", "build", "--", "sh", "-c", &script]).ok();
    for (name, _) in files {
        std::fs::remove_file(daemon.work(name)).unwrap();
    }
}

fn listed(daemon: &Daemon, words: &[&str]) -> Vec<Value> {
    let words = [&["artifact", "list", "--json"], words].concat();
    daemon.farrier(&words).json()["artifacts"].as_array().unwrap().clone()
}

fn id_of(daemon: &Daemon, name: &str) -> String {
    listed(daemon, &["--name", name])[0]["id"].to_string()
}

#[test]
fn artifacts_of_all_repositories_are_listed_set_to_expire_and_deleted() {
    let daemon = Daemon::start();
    run(&daemon, "admin/one", &[("a.txt", "hello"), ("b.txt", "there")]);
    run(&daemon, "admin/two", &[("c.txt", "you")]);
    let all = listed(&daemon, &[]);
    let rows: Vec<(&str, &str, &str)> = all
        .iter()
        .map(|one| {
            let text = |value: &'static str| one.pointer(value).unwrap().as_str().unwrap();
            (text("/repository"), text("/job/name"), text("/name"))
        })
        .collect();
    let expected = [("admin/two", "build", "c.txt"), ("admin/one", "build", "b.txt"), ("admin/one", "build", "a.txt")];
    assert_eq!(rows, expected);
    let run_of_two = all[0]["workflow_run"]["id"].to_string();
    assert_eq!(listed(&daemon, &["--run", &run_of_two]).len(), 1);
    let table = daemon.farrier(&["artifact", "list"]).ok().stdout;
    assert!(table.starts_with("ID ") && table.contains("admin/two   build  c.txt"), "{table}");
    assert_eq!(daemon.farrier(&["artifact", "list", "-q"]).ok().stdout.lines().count(), 3);

    let (a, b, c) = (id_of(&daemon, "a.txt"), id_of(&daemon, "b.txt"), id_of(&daemon, "c.txt"));
    let set = daemon.farrier(&["artifact", "expire", &a, &c, "--at", "2098-01-02"]);
    // The date is beyond the maximum retention: every artifact is refused, and nothing changes.
    assert_eq!(set.code, 9, "{set:?}");
    assert!(set.stderr.contains("must be at most 400 days from now"), "{set:?}");
    let set = daemon.farrier(&["artifact", "expire", &a, "999", &c, "--days", "3", "--json"]);
    assert_eq!(set.code, 7, "{set:?}");
    let results: Value = serde_json::from_str(&set.stdout).unwrap();
    let results = results["results"].as_array().unwrap().clone();
    let errors: Vec<bool> = results.iter().map(|one| one["error"].is_string()).collect();
    assert_eq!((errors, &results[1]["expires_at"]), (vec![false, true, false], &Value::Null));
    let a_again = &listed(&daemon, &["--name", "a.txt"])[0];
    assert_eq!(results[0]["expires_at"], a_again["expires_at"]);
    assert!(a_again["expires_at"].as_str() < all[1]["expires_at"].as_str(), "{a_again} {}", all[1]);
    let by_name = daemon.farrier(&["artifact", "expire", "b.txt", "--days", "9", "--repo", "admin/one", "-q"]);
    assert_eq!(by_name.ok().stdout.trim(), b);
    assert_eq!(daemon.farrier(&["artifact", "expire", "b.txt", "--days", "9"]).code, 2);
    assert_eq!(daemon.farrier(&["artifact", "expire", "999", "--days", "9"]).code, 3);
    assert_eq!(daemon.farrier(&["artifact", "expire", &a, "--at", "soon"]).code, 2);

    daemon.farrier(&["artifact", "download", &c, "-o", "got"]).ok();
    assert_eq!(std::fs::read(daemon.work("got")).unwrap(), b"you");
    daemon.farrier(&["artifact", "delete", "--oldest", "2", "--yes"]).ok();
    assert_eq!(listed(&daemon, &[])[0]["name"], "c.txt");
    assert_eq!(daemon.farrier(&["artifact", "delete", "--oldest", "2", &c, "--yes"]).code, 2);
    daemon.farrier(&["artifact", "delete", &c, "--yes"]).ok();
    assert_eq!(daemon.farrier(&["artifact", "delete", "--oldest", "1", "--yes"]).code, 3);
}

#[test]
fn the_screen_lists_artifacts_of_all_repositories_and_edits_marked_ones() {
    let daemon = Daemon::start();
    run(&daemon, "admin/one", &[("a.txt", "hello"), ("b.txt", "there")]);
    run(&daemon, "admin/two", &[("c.txt", "you")]);
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let start =
        SessionOptions { socket, directory, words: &["--screen", "artifacts"], env: &[], size: (80, 24), script: None };
    let mut session = start.session();
    session.wait("the newest run and its artifact", |screen| {
        let text = screen.contents();
        text.contains("admin/two") && text.contains("admin/one") && text.contains("c.txt") && text.contains("a.txt")
    });
    session.wait_for("2 runs, 3 artifacts");

    // Keep every artifact whose name ends in txt for a week.
    session.type_keys("/name:txt$\r");
    session.wait_for("1/3 of 7");
    session.type_keys("*e");
    session.wait_for("Set the expiry of 3 artifacts");
    session.type_keys("7");
    session.wait_for("3 artifacts set to expire");
    session.wait_for("6d 23h");
    let expiry = |name: &str| listed(&daemon, &["--name", name])[0]["expires_at"].as_str().unwrap().to_owned();
    let week = expiry("a.txt");
    session.type_keys("z");
    session.wait_for("89d 23h");
    assert!(expiry("a.txt") > week && expiry("c.txt") > week, "the change is undone");

    // The run shows its artifacts.
    session.type_keys("\x1b");
    let run = listed(&daemon, &["--name", "c.txt"])[0]["workflow_run"]["id"].to_string();
    session.type_keys(format!(":run {run}\r"));
    session.wait("the run under the cursor", |screen| cursor_row(screen).is_some_and(|row| row.contains("admin/two")));
    session.type_keys("jjd");
    session.wait_for("saved");
    assert_eq!(std::fs::read(Path::new(&daemon.work("c.txt"))).unwrap(), b"you");
    session.leave();
}
