//! Hooks and events on the command line, with a real daemon.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::{
    program::{finish, program},
    session::Daemon,
};

const TARGET: &str = "https://203.0.113.9/hook";

#[test]
fn an_operator_creates_edits_and_deletes_hooks() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/old"]).ok();
    let created = daemon.farrier(&[
        "hook",
        "create",
        TARGET,
        "--default",
        "--events",
        "push,create",
        "--generate-secret",
        "--json",
    ]);
    let (id, secret) = (created.json()["id"].to_string(), created.json()["secret"].as_str().unwrap().to_owned());
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    assert_eq!((&created.json()["scope"], &created.json()["active"]), (&"default".into(), &true.into()));
    let system = daemon.farrier(&["hook", "create", TARGET, "--branch-filter", "main", "--json"]).json();
    assert_eq!((&system["scope"], &system["type"]), (&"system".into(), &"farrier".into()), "the defaults");
    assert_eq!(daemon.farrier(&["hook", "list", "--json"]).json()["total_count"], 2);
    assert_eq!(daemon.farrier(&["hook", "list", "--default", "-q"]).ok().stdout, format!("{id}\n"));

    let page = daemon.farrier(&["hook", "show", &id]).ok().stdout;
    assert!(page.contains(TARGET) && !page.contains(&secret), "{page}");
    let edited = daemon.farrier(&["hook", "edit", &id, "--name", "mirror", "--events", "issues_only", "--json"]).json();
    assert_eq!((&edited["name"], &edited["has_secret"]), (&"mirror".into(), &true.into()));
    let cleared = daemon.farrier(&["hook", "edit", &id, "--clear", "secret", "--json"]).json();
    assert_eq!(
        (&cleared["events_exact"], &cleared["has_secret"]),
        (&serde_json::json!(["issues_only"]), &false.into())
    );
    assert_eq!(daemon.farrier(&["hook", "off", &id, "--json"]).json()["active"], false);
    assert_eq!(daemon.farrier(&["hook", "on", &id, "--json"]).json()["active"], true);
    assert_eq!(daemon.farrier(&["hook", "apply", &id, "--json"]).json()["copied"], 1);
    assert_eq!(daemon.farrier(&["hook", "list", "--repo", "admin/old", "--json"]).json()["hooks"][0]["name"], "mirror");

    assert_eq!(daemon.farrier(&["hook", "delete", &id]).code, 2, "the deletion needs a confirmation");
    daemon.farrier(&["hook", "delete", &id, "--yes"]).ok();
    assert_eq!(daemon.farrier(&["hook", "show", &id]).code, 3);
    let refused = daemon.farrier(&["hook", "create", TARGET, "--type", "dingtalk"]);
    assert!(refused.code == 9 && refused.stderr.contains("Invalid hook type: dingtalk"), "{refused:?}");
    let warned = daemon.farrier(&["hook", "create", "http://10.0.0.1/", "--mine"]).ok();
    assert!(warned.stderr.contains("webhook.allowed_hosts"), "{warned:?}");
}

#[test]
fn a_hook_is_found_by_its_id_for_any_owner() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let created = daemon.farrier(&["hook", "create", TARGET, "--repo", "admin/demo", "--json"]).json();
    let id = created["id"].to_string();
    let page = daemon.farrier(&["hook", "show", &id]).ok().stdout;
    assert!(page.contains("admin/demo") && page.contains(TARGET), "{page}");
    assert_eq!(daemon.farrier(&["hook", "off", &id, "--json"]).json()["state"], "off");
    assert_eq!(daemon.farrier(&["hook", "on", &id, "--json"]).json()["state"], "unused");
    assert_eq!(daemon.farrier(&["hook", "edit", &id, "--name", "mirror", "--json"]).json()["name"], "mirror");
    daemon.farrier(&["hook", "create", TARGET, "--mine"]).ok();
    let all = daemon.farrier(&["hook", "list", "--all"]).ok().stdout;
    assert!(all.contains("OWNER") && all.contains("admin/demo") && all.lines().count() == 3, "{all}");
    assert_eq!(daemon.farrier(&["hook", "show", &id, "--mine"]).code, 3, "only hooks of the given owner are searched");
    daemon.farrier(&["hook", "delete", &id, "--yes"]).ok();
    assert_eq!(daemon.farrier(&["hook", "list", "--all", "--json"]).json()["total_count"], 1);
}

#[test]
fn an_edit_without_a_change_is_refused_and_hook_edit_explains_the_option_url() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let created = daemon.farrier(&["hook", "create", TARGET, "--system", "--json"]).json();
    let id = created["id"].to_string();
    for edit in [&["hook", "edit", &id][..], &["repo", "edit", "admin/demo"], &["user", "edit", "admin"]] {
        let refused = daemon.farrier(edit);
        assert!(refused.code == 2 && refused.stderr.contains("nothing to change"), "{edit:?}: {refused:?}");
    }
    let refused = daemon.farrier(&["--url", "https://new.example/hook", "hook", "edit", &id]);
    assert!(refused.stderr.contains("--url is the address of the daemon"), "{refused:?}");
}

#[test]
fn secrets_are_read_from_standard_input_and_not_exported() {
    let daemon = Daemon::start();
    for name in ["admin/one", "admin/two"] {
        daemon.farrier(&["repo", "create", name]).ok();
    }
    let socket = daemon.socket();
    let with = |arguments: &[&str], input: &str| {
        finish(program(&daemon.work(".")).args(arguments).env("FARRIER_SOCKET", &socket), input)
    };
    let one = ["--repo", "admin/one"];
    let created = with(&[&["hook", "create", TARGET, "--secret-stdin", "--json"], &one[..]].concat(), "hush\n");
    assert_eq!(created.json()["has_secret"], true);
    with(&[&["hook", "create", TARGET, "--events", "create"], &one[..]].concat(), "").ok();
    let exported = with(&[&["hook", "export"], &one[..]].concat(), "").ok().stdout;
    assert!(!exported.contains("hush"), "{exported}");

    let imported = with(&["hook", "import", "-", "--repo", "admin/two"], &exported).ok().stdout;
    assert!(imported.contains("inactive, because its secret is not part of the export"), "{imported}");
    let two = with(&["hook", "list", "--repo", "admin/two", "--json"], "").json();
    let active: Vec<_> = two["hooks"].as_array().unwrap().iter().map(|hook| hook["active"].clone()).collect();
    assert_eq!(active, [false, true]);
    assert_eq!(with(&["hook", "import", "-", "--repo", "admin/two"], "nonsense").code, 2);
}

#[test]
fn events_are_listed_and_followed() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/one"]).ok();
    let refused = daemon.farrier(&["events", "--kind", "psuh"]);
    assert!(refused.code != 0 && refused.stderr.contains("is not one of create, delete"), "{refused:?}");
    let listed = daemon.farrier(&["events", "--jsonl"]).ok().stdout;
    let event: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&event["kind"], &event["repository"]), (&"repository".into(), &"admin/one".into()));

    let after = event["id"].to_string();
    let mut command = program(&daemon.work("."));
    command.args(["events", "--follow", "--after", &after, "--json"]).env("FARRIER_SOCKET", daemon.socket());
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    daemon.farrier(&["repo", "create", "admin/two"]).ok();
    let mut line = String::new();
    BufReader::new(following.stdout.take().unwrap()).read_line(&mut line).unwrap();
    following.kill().unwrap();
    following.wait().unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["action"], &event["repository"]), (&"created".into(), &"admin/two".into()));
}
