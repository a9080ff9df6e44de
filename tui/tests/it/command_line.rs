//! Features of all commands: help, completion, limits, quiet output, colors, the configuration file, `--read-only`.

use crate::{
    program::{finish, program, shell},
    screen::SessionOptions,
    session::Daemon,
};

#[test]
fn help_explains_commands_and_the_environment() {
    let daemon = Daemon::start();
    let help = daemon.farrier(&["help"]).ok().stdout;
    for variable in ["FARRIER_URL", "FARRIER_SOCKET", "FARRIER_TOKEN", "FARRIER_CA", "FARRIER_RUN_ID", "NO_COLOR"] {
        assert!(help.contains(variable), "{variable}: {help}");
    }
    let create = daemon.farrier(&["help", "repo", "create"]).ok().stdout;
    assert!(create.contains("Create a repository") && create.contains("--private"), "{create}");
    let exec = daemon.farrier(&["ci", "exec", "--help"]).ok().stdout;
    assert!(exec.contains("`FARRIER_TOKEN`") && exec.contains("inherited"), "{exec}");
}

#[test]
fn a_shortened_list_says_that_there_is_more() {
    let daemon = Daemon::start();
    for name in ["a", "b", "c"] {
        let path = format!("admin/{name}");
        daemon.farrier(&["repo", "create", &path]).ok();
        std::fs::write(daemon.work(name), name).unwrap();
        daemon.farrier(&["artifact", "upload", name, "--repo", &path]).ok();
    }
    let lists: [&[&str]; 4] = [
        &["repo", "list", "--limit", "2"],
        &["artifact", "list", "--limit", "2"],
        &["artifact", "list", "--repo", "admin/a", "--limit", "1"],
        &["run", "list", "--limit", "2"],
    ];
    for list in lists {
        let output = daemon.farrier(list).ok();
        let limit: usize = list.last().unwrap().parse().unwrap();
        assert_eq!(output.stdout.lines().count(), 1 + limit, "{list:?}: {output:?}");
        let is_cut = limit == 2;
        assert_eq!(output.stderr.contains("use --limit to show more"), is_cut, "{list:?}: {output:?}");
        let quiet = daemon.farrier(&[list, &["-q"]].concat()).ok();
        assert_eq!((quiet.stdout.lines().count(), quiet.stderr.as_str()), (limit, ""), "{list:?}");
    }
    assert!(daemon.farrier(&["repo", "list", "--limit", "2"]).ok().stderr.contains("Showing 2 of 3"));
    assert_eq!(daemon.farrier(&["repo", "list", "--limit", "3"]).ok().stderr, "");
}

#[test]
fn quiet_output_is_accepted_by_other_commands() {
    let daemon = Daemon::start();
    assert_eq!(daemon.farrier(&["repo", "create", "admin/demo", "--init", "-q"]).ok().stdout, "admin/demo\n");
    daemon.farrier(&["org", "create", "acme"]).ok();
    daemon.farrier(&["user", "create", "octo", "--email", "o@x.y"]).ok();
    daemon.farrier(&["hook", "create", "http://127.0.0.1:9/", "--system"]).ok();
    daemon.farrier(&["hook", "test", "1"]).ok();
    std::fs::write(daemon.work("f"), "f").unwrap();
    daemon.farrier(&["artifact", "upload", "f", "--repo", "admin/demo"]).ok();
    for (list, show) in [
        (&["repo", "list"][..], "repo"),
        (&["org", "list"], "org"),
        (&["user", "list", "octo"], "user"),
        (&["hook", "list"], "hook"),
        (&["delivery", "list"], "delivery"),
        (&["run", "list"], "run"),
    ] {
        let ids = daemon.farrier(&[list, &["-q"]].concat()).ok().stdout;
        assert_eq!(ids.lines().count(), 1, "{list:?}: {ids}");
        daemon.farrier(&[show, "show", ids.trim()]).ok();
    }
    let table = daemon.farrier(&["delivery", "list"]).ok().stdout;
    assert!(table.contains(daemon.farrier(&["delivery", "list", "-q"]).ok().stdout.trim()), "{table}");
}

#[test]
fn states_have_colors_on_a_terminal_only() {
    let daemon = Daemon::start();
    daemon.farrier(&["hook", "create", "http://127.0.0.1:9/", "--system"]).ok();
    assert!(!daemon.farrier(&["hook", "list"]).ok().stdout.contains('\u{1b}'));
    let forced = daemon.farrier(&["hook", "list", "--color", "always"]).ok().stdout;
    assert!(forced.contains("\u{1b}[32mon\u{1b}[0m"), "{forced:?}");
    let colored = |words: &[&str], env: &[(&str, &str)]| {
        let script = Some("\"$0\" \"$@\"; read -r end");
        let start = SessionOptions {
            socket: daemon.socket(),
            directory: daemon.work("."),
            words,
            env,
            size: (100, 10),
            script,
        };
        let session = start.session();
        session.wait_for("127.0.0.1");
        session.written().contains("\u{1b}[32mon\u{1b}[0m")
    };
    assert!(colored(&["hook", "list"], &[]));
    assert!(!colored(&["hook", "list"], &[("NO_COLOR", "1")]));
    assert!(!colored(&["hook", "list", "--color", "never"], &[]));
}

/// The completions that bash offers for the last of `words`, which is incomplete. The words are split as in bash.
fn completions(daemon: &Daemon, words: &[&str]) -> Vec<String> {
    let (last, before) = words.split_last().unwrap();
    let current = if matches!(*last, "=" | ":") { "" } else { last };
    let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let script = format!(
        "source <(farrier completion bash)\nCOMP_WORDS=({quoted})\nCOMP_CWORD={}\n_farrier_values farrier '{current}' '{}' 2>/dev/null\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.len() - 1,
        before.last().unwrap()
    );
    let output = finish(shell(&daemon.work(".")).args(["-c", "exec bash -c \"$1\"", "sh", &script]), "").ok();
    output.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let daemon = Daemon::start();
    let assert_completes =
        |words: &[&str], expected: &[&str]| assert_eq!(completions(&daemon, words), expected, "{words:?}");
    assert_completes(&["farrier", "art"], &["artifact"]);
    assert_completes(&["farrier", "repo", "cr"], &["create"]);
    assert_completes(&["farrier", "repo", "create", "--priv"], &["--private"]);
    assert_completes(&["farrier", "ci", "end", "7", "--conclusion", "su"], &["success"]);
    assert_completes(&["farrier", "ci", "end", "7", "--conclusion", "=", "su"], &["success"]);
    assert_completes(&["farrier", "repo", "list", "--color", "al"], &["always"]);
    assert_completes(&["farrier", "--screen", "d"], &["dashboard", "deliveries"]);
    assert_completes(&["farrier", "user", "edit", "a", "--admin", ""], &["true", "false"]);
    assert_completes(
        &["farrier", "hook", "create", "--events", "push,wo"],
        &["push,workflow_job", "push,workflow_run"],
    );
    // Bash inserts only what follows the last colon.
    assert_completes(&["farrier", "token", "create", "--scopes", "write", ":", "re"], &["repository"]);
    assert_completes(&["farrier", "token", "create", "--scopes", "read", ":", "user,write", ":", "pa"], &["package"]);
    assert_completes(&["farrier", "completion", "ba"], &["bash"]);
    assert!(
        completions(&daemon, &["farrier", "token", "create", "--scopes", "write", ":"]).contains(&"user".to_owned())
    );
    for shell in ["zsh", "fish"] {
        let script = daemon.farrier(&["completion", shell]).ok().stdout;
        assert!(script.contains("public-only") && script.contains("workflow_run"), "{shell}");
    }
}

#[test]
fn the_daemon_accepts_every_completed_value() {
    let daemon = Daemon::start();
    let values = |words: &[&str]| {
        let values = completions(&daemon, &[words, &[""]].concat());
        assert!(values.len() > 4, "{words:?}: {values:?}");
        values
    };
    let kinds = values(&["farrier", "events", "--kind"]).join(",");
    daemon.farrier(&["events", "--kind", &kinds]).ok();
    let events = values(&["farrier", "hook", "create", "--events"]).join(",");
    let created = daemon.farrier(&["hook", "create", "https://example.org/", "--events", &events, "--json"]);
    assert_eq!(
        (created.json()["events"].as_array().unwrap().len(), created.stderr.as_str()),
        (events.split(',').count(), "")
    );
    for scope in values(&["farrier", "token", "create", "--scopes"]).iter().filter(|scope| *scope != "public-only") {
        daemon.farrier(&["token", "create", "--user", "admin", "--name", scope, "--scopes", scope]).ok();
    }
    for kind in values(&["farrier", "hook", "create", "--type"]) {
        let refused = daemon.farrier(&["hook", "create", "https://example.org/", "--type", &kind]).stderr;
        assert!(!refused.contains("type"), "{kind}: {refused}");
    }
}

#[test]
fn a_scope_that_does_not_exist_is_refused_with_the_list() {
    let daemon = Daemon::start();
    let refused =
        daemon.farrier(&["token", "create", "--user", "admin", "--name", "ci", "--scopes", "write:repositry"]);
    assert_ne!(refused.code, 0);
    for text in ["write:repositry", "is not a scope", "public-only", "repository", "package"] {
        assert!(refused.stderr.contains(text), "{text}: {refused:?}");
    }
}

#[test]
fn a_token_that_is_limited_to_repositories_is_listed_with_them() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let create =
        ["token", "create", "--user", "admin", "--name", "ci", "--scopes", "read:repository", "--repo", "admin/demo"];
    daemon.farrier(&create).ok();
    let list = daemon.farrier(&["token", "list", "--user", "admin"]).ok().stdout;
    assert!(list.contains("REPOSITORIES") && list.contains("admin/demo"), "{list}");
}

#[test]
fn a_deletion_asks_on_a_terminal_and_shows_how_to_restore() {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    std::fs::write(daemon.work("f"), "f").unwrap();
    daemon.farrier(&["artifact", "upload", "f", "--repo", "admin/demo"]).ok();
    let delete_and_answer = |words: &[&str], question: &str, restore: &str, answer: &str, done: &str| {
        let script = Some("\"$0\" \"$@\"; read -r end");
        let (socket, directory) = (daemon.socket(), daemon.work("."));
        let mut session = SessionOptions { socket, directory, words, env: &[], size: (160, 20), script }.session();
        session.wait_for(question);
        session.wait_for(restore);
        session.type_keys(format!("{answer}\r"));
        session.wait_for(done);
    };
    let restore = "farrier artifact restore 1";
    delete_and_answer(&["artifact", "delete", "1"], "Continue? [y/N]", restore, "n", "nothing was changed");
    delete_and_answer(&["artifact", "delete", "1"], "Continue? [y/N]", restore, "y", "Artifact 1 (1) deleted");
    let (question, restore) = ("Type admin/demo to confirm:", "farrier repo restore admin/demo");
    delete_and_answer(&["repo", "delete", "admin/demo"], question, restore, "demo", "nothing was deleted");
    delete_and_answer(
        &["repo", "delete", "admin/demo"],
        question,
        restore,
        "admin/demo",
        "Repository admin/demo deleted",
    );
    daemon.farrier(&["org", "create", "acme"]).ok();
    delete_and_answer(
        &["org", "delete", "acme"],
        "deleted permanently",
        "Type acme",
        "acme",
        "Organization acme deleted",
    );
    for delete in [
        &["repo", "delete", "admin/x"][..],
        &["org", "delete", "x"],
        &["user", "delete", "x"],
        &["hook", "delete", "1"],
    ] {
        let refused = daemon.farrier(delete);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("--yes"), "{refused:?}");
    }
}

#[test]
fn the_configuration_file_sets_the_daemon_and_is_checked() {
    let daemon = Daemon::start();
    let file = daemon.work(".config/farrier/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let run = |arguments: &[&str]| finish(program(&daemon.work(".")).args(arguments), "");
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
