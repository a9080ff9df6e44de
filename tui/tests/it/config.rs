//! The configuration file of the user, and the read-only mode.

use crate::{program::program, session::Daemon};

#[test]
fn the_configuration_file_sets_the_daemon_and_is_checked() {
    let daemon = Daemon::start();
    let file = daemon.work(".config/farrier/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let run = |arguments: &[&str]| crate::program::finish(program(&daemon.work(".")).args(arguments), "");
    assert!(run(&["config", "path"]).ok().stdout.trim().ends_with("/.config/farrier/config.toml"));
    assert!(run(&["config", "check"]).ok().stdout.contains("no problems found"));
    assert_eq!(run(&["status"]).code, 6, "the daemon's address is not configured");

    let socket = daemon.socket().display().to_string();
    std::fs::write(&file, format!("[server]\nsocket = \"{socket}\"\n[ui]\ntheme = \"pink\"\nsize = 3\n")).unwrap();
    assert_eq!(run(&["status", "--json"]).json()["identity"], "admin");
    let checked = run(&["config", "check", "--json"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    let problems: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((&problems["problems"][1]["line"], &problems["problems"][1]["level"]), (&5.into(), &"warning".into()));
    let settings = run(&["config", "show"]).ok().stdout;
    assert!(settings.contains(&socket) && settings.contains("ui.clipboard          auto"), "{settings}");
}

#[test]
fn the_read_only_mode_refuses_changes() {
    let daemon = Daemon::start();
    let refused = daemon.farrier(&["--read-only", "repo", "create", "admin/demo"]);
    assert!(refused.code != 0 && refused.stderr.contains("the program is read-only"), "{refused:?}");
    assert_eq!(daemon.farrier(&["repo", "list", "--json", "--read-only"]).ok().code, 0);
    assert_eq!(daemon.farrier(&["repo", "show", "admin/demo"]).code, 3, "the repository was not created");
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
}
