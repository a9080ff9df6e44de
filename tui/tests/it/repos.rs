//! Repositories on the command line, with a real daemon and git.

use std::process::{Command, Stdio};

use crate::session::Daemon;

/// Runs git in the working directory and returns its output.
#[expect(clippy::disallowed_methods, reason = "the test uses git like a user")]
pub(crate) fn git(daemon: &Daemon, words: &[&str]) -> String {
    let identity = ["-c", "user.name=p", "-c", "user.email=p@example.org"];
    let mut git = Command::new("git");
    git.args(identity).args(words).current_dir(daemon.work(".")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The daemon's TCP address.
fn tcp(daemon: &Daemon) -> String {
    let status = daemon.farrier(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    listeners.iter().find(|one| one["kind"] == "tcp").unwrap()["address"].as_str().unwrap().to_owned()
}

/// A daemon with the repository `admin/demo`, which has two branches, one with a slash in its name, and two tags.
pub(crate) fn demo() -> Daemon {
    let daemon = Daemon::with_allowed_hosts("loopback");
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let tcp = tcp(&daemon);
    let token = ["token", "create", "--user", "admin", "--name", "git", "--scopes", "all"];
    let token = daemon.farrier(&token).ok().stdout;
    git(&daemon, &["init", "-q", "-b", "main", "one"]);
    std::fs::write(daemon.work("one/file"), "first\n").unwrap();
    for words in [
        &["add", "."][..],
        &["commit", "-qm", "first"],
        &["tag", "v1"],
        &["tag", "-am", "second", "v2"],
        &["checkout", "-qb", "feature/x"],
        &["commit", "-q", "--allow-empty", "-m", "more"],
        &["push", "-q", &format!("http://admin:{}@{tcp}/admin/demo.git", token.trim()), "--all"],
        &["push", "-q", &format!("http://admin:{}@{tcp}/admin/demo.git", token.trim()), "--tags"],
    ] {
        git(&daemon, &[&["-C", "one"][..], words].concat());
    }
    daemon
}

#[test]
fn archives_and_bundles_are_saved_completely_or_not_at_all() {
    let daemon = demo();
    let saved = daemon.farrier(&["repo", "archive", "admin/demo", "--format", "bundle", "--json"]).json();
    assert_eq!((&saved["path"], &saved["format"]), (&"admin-demo.bundle".into(), &"bundle".into()));
    assert!(saved.get("ref").is_none(), "a bundle contains all refs: {saved}");
    git(&daemon, &["clone", "-q", "--mirror", "admin-demo.bundle", "copy.git"]);
    let refs = |directory: &str| git(&daemon, &["-C", directory, "show-ref", "--heads", "--tags"]);
    assert_eq!(refs("copy.git"), refs("one"));
    assert_eq!(refs("copy.git").lines().count(), 4);

    let one = ["repo", "archive", "admin/demo", "--ref", "v1", "-o", "v1.bundle", "-q"];
    assert_eq!(daemon.farrier(&one).ok().stdout, "v1.bundle\n");
    git(&daemon, &["clone", "-q", "v1.bundle", "v1"]);
    assert_eq!(std::fs::read_to_string(daemon.work("v1/file")).unwrap(), "first\n");
    let again = daemon.farrier(&one);
    assert_eq!(again.code, 5, "an existing file is not replaced: {again:?}");
    daemon.farrier(&[&one[..], &["--force"]].concat()).ok();

    daemon.farrier(&["repo", "archive", "admin/demo", "--ref", "feature/x", "--format", "zip", "-o", "."]).ok();
    assert_eq!(std::fs::read(daemon.work("demo-feature-x.zip")).unwrap()[..2], *b"PK");
    let missing = daemon.farrier(&["repo", "archive", "admin/demo", "--ref", "nothing"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    let left = std::fs::read_dir(daemon.work(".")).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.path().to_string_lossy().ends_with(".part")));
}

#[test]
fn an_archive_can_be_written_to_standard_output() {
    let daemon = demo();
    let mut program = crate::program::program(&daemon.work("."));
    program.env("FARRIER_SOCKET", daemon.socket()).args([
        "repo",
        "archive",
        "admin/demo",
        "--format",
        "bundle",
        "-o",
        "-",
    ]);
    let output = program.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    std::fs::write(daemon.work("piped.bundle"), output.stdout).unwrap();
    assert!(git(&daemon, &["ls-remote", "piped.bundle"]).contains("refs/heads/feature/x"));
}

#[test]
fn branches_are_listed_and_the_default_one_is_marked() {
    let daemon = demo();
    assert_eq!(daemon.farrier(&["repo", "branches", "admin/demo", "-q"]).ok().stdout, "feature/x\nmain\n");
    let listed = daemon.farrier(&["repo", "branches", "admin/demo", "--json"]).json();
    assert_eq!((&listed["total_count"], &listed["branches"][1]["name"]), (&2.into(), &"main".into()));
    let table = daemon.farrier(&["repo", "branches", "admin/demo"]).ok().stdout;
    let marked: Vec<&str> = table.lines().filter(|line| line.starts_with('*')).collect();
    assert!(marked.len() == 1 && marked[0].ends_with("  main"), "{table}");
    assert_eq!(daemon.farrier(&["repo", "branches", "admin/none"]).code, 3);
}

#[test]
fn a_migration_can_be_waited_for() {
    let daemon = demo();
    let source = format!("http://{}/admin/demo.git", tcp(&daemon));
    let migrated = daemon.farrier(&["repo", "migrate", &source, "admin/copy", "--wait", "--json"]).json();
    assert_eq!((&migrated["farrier_migration"]["state"], &migrated["empty"]), (&"done".into(), &false.into()));
    let task = daemon.farrier(&["task", "show", &migrated["id"].to_string()]).ok().stdout;
    assert!(task.contains("state       done\n") && task.contains("phase       connecting, "), "{task}");
    daemon.farrier(&["task", "wait", &migrated["id"].to_string()]).ok();

    let missing = source.replace("demo", "none");
    let failed = daemon.farrier(&["repo", "migrate", &missing, "admin/other", "--wait"]);
    assert!(failed.code == 1 && failed.stderr.starts_with("farrier: importing admin/other: "), "{failed:?}");
    let listed = daemon.farrier(&["task", "list"]).ok().stdout;
    let states: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(states, ["failed", "done"], "{listed}");
}

#[test]
fn a_scheduled_task_is_run_and_the_search_for_lfs_objects_shows_its_figures() {
    let daemon = demo();
    assert_eq!(daemon.farrier(&["task", "run", "sweep"]).ok().stdout, "Started sweep\n");
    let started = daemon.farrier(&["task", "run", "collect_lfs_objects", "--dry-run", "--json"]).json();
    let id = started["task_id"].to_string();
    assert_eq!((&started["name"], &started["dry_run"]), (&"collect_lfs_objects".into(), &true.into()));
    let waited = daemon.farrier(&["task", "wait", &id]).ok().stdout;
    let amount = "0 objects, 0 B";
    assert!(waited.contains(&format!(" {amount}\n")) && waited.contains(&format!("{amount} (dry run: ")), "{waited}");
    let listed = daemon.farrier(&["task", "list"]).ok().stdout;
    assert!(listed.contains("lfs_collection"), "{listed}");
    assert_eq!(daemon.farrier(&["task", "run", "sweep", "--dry-run"]).code, 9, "it has no dry run");
    assert_eq!(daemon.farrier(&["task", "run", "nothing"]).code, 3);
}

#[test]
fn a_migration_can_copy_lfs_objects() {
    let daemon = demo();
    let source = format!("http://{}/admin/demo.git", tcp(&daemon));
    let migrate = |name: &str, words: &[&str]| {
        daemon.farrier(&[&["repo", "migrate", &source, name, "--wait", "--json"][..], words].concat())
    };
    assert_eq!(migrate("admin/copy", &["--lfs"]).json()["farrier_migration"]["state"], "done");
    let refused = migrate("admin/other", &["--lfs", "--lfs-endpoint", "ftp://h/lfs"]);
    assert!(refused.code != 0 && refused.stderr.contains("importing admin/other"), "the endpoint is sent: {refused:?}");
}

#[test]
fn a_task_is_shown_waited_for_and_cancelled() {
    let daemon = Daemon::with_allowed_hosts("loopback");
    // The kernel accepts connections, but nothing answers them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("http://{}/x.git", silent.local_addr().unwrap());
    let started = daemon.farrier(&["repo", "migrate", &source, "admin/copy", "--json"]).json();
    let id = started["id"].to_string();
    assert_eq!(daemon.farrier(&["task", "list", "-q"]).ok().stdout, format!("{id}\n"));
    let task = daemon.farrier(&["task", "show", &id, "--json"]).json();
    assert_eq!((&task["state"], &task["repository"]), (&"running".into(), &"admin/copy".into()));
    assert_eq!(daemon.farrier(&["task", "cancel", &id]).ok().stdout, format!("Cancelling task {id} (admin/copy)\n"));
    let waited = daemon.farrier(&["task", "wait", &id]);
    assert_eq!((waited.code, waited.stderr.as_str()), (1, "farrier: importing admin/copy: cancelled\n"));
    assert_eq!(daemon.farrier(&["task", "cancel", &id]).code, 5, "the task has ended");
    assert_eq!(daemon.farrier(&["repo", "show", "admin/copy"]).code, 3);
    assert_eq!(daemon.farrier(&["task", "show", "999"]).code, 3);
}

#[test]
fn a_watched_status_prints_json_lines_and_ends_with_its_reader() {
    let daemon = Daemon::start();
    let mut program = crate::program::program(&daemon.work("."));
    program.env("FARRIER_SOCKET", daemon.socket()).args(["status", "--watch", "--jsonl"]);
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..2 {
        let status: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!((&status["schema"], &status["identity"]), (&1.into(), &"admin".into()));
    }
    drop(lines);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn deleted_repositories_and_artifacts_are_listed_restored_and_purged() {
    let daemon = demo();
    let deleted = daemon.farrier(&["repo", "delete", "admin/demo", "--yes"]).ok();
    assert_eq!(deleted.stdout, "Repository admin/demo deleted\n");
    let hint = "with `farrier repo restore admin/demo`.";
    assert!(deleted.stderr.starts_with("An administrator can restore it until 20"), "{deleted:?}");
    assert!(deleted.stderr.trim_end().ends_with(hint), "{deleted:?}");
    assert_eq!(daemon.farrier(&["repo", "show", "admin/demo"]).code, 3);
    let listed = daemon.farrier(&["repo", "list", "--deleted", "--json"]).json();
    assert_eq!(listed["repositories"][0]["repository"], "admin/demo", "{listed}");
    assert!(daemon.farrier(&["repo", "list", "--deleted"]).ok().stdout.contains("RESTORABLE UNTIL"));
    assert_eq!(daemon.farrier(&["repo", "list", "other", "--deleted", "-q"]).ok().stdout, "");

    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let conflict = daemon.farrier(&["repo", "restore", "admin/demo"]);
    assert_eq!((conflict.code, conflict.stderr.contains("--as OWNER/NAME")), (5, true), "{conflict:?}");
    let restored = daemon.farrier(&["repo", "restore", "admin/demo", "--as", "admin/second"]).ok();
    assert_eq!(restored.stdout, "Repository admin/second restored\n");
    assert!(daemon.farrier(&["repo", "branches", "admin/second"]).ok().stdout.contains("feature/x"));
    assert_eq!(daemon.farrier(&["repo", "restore", "admin/demo"]).code, 3);

    for name in ["admin/demo", "admin/second"] {
        daemon.farrier(&["repo", "delete", name, "--yes"]).ok();
    }
    assert_eq!(daemon.farrier(&["repo", "purge", "admin/demo"]).code, 2, "a confirmation needs a terminal");
    let purged = daemon.farrier(&["repo", "purge", "admin/demo", "--yes"]).ok();
    assert_eq!(purged.stdout, "Repository admin/demo (ID 2) deleted permanently\n");
    let listed = daemon.farrier(&["repo", "list", "--deleted", "-q"]).ok().stdout;
    assert_eq!(listed, "1\n");
    assert_eq!(daemon.farrier(&["repo", "restore", "1"]).ok().stdout, "Repository admin/second restored\n");

    std::fs::write(daemon.work("raw.txt"), "hello\n").unwrap();
    daemon.farrier(&["artifact", "upload", "raw.txt", "--repo", "admin/second"]).ok();
    let deleted = daemon.farrier(&["artifact", "delete", "1", "--yes"]).ok();
    assert!(deleted.stderr.contains("`farrier artifact restore 1`"), "{deleted:?}");
    assert_eq!(daemon.farrier(&["artifact", "list", "--deleted", "-q"]).ok().stdout, "1\n");
    let restored = daemon.farrier(&["artifact", "restore", "1"]).ok();
    assert_eq!(restored.stdout, "Artifact raw.txt (1) restored\n");
    daemon.farrier(&["artifact", "delete", "1", "--yes"]).ok();
    let purged = daemon.farrier(&["artifact", "purge", "1", "--yes"]).ok();
    assert_eq!(purged.stdout, "Artifact raw.txt (1) deleted permanently\n");
    assert_eq!(daemon.farrier(&["artifact", "restore", "1"]).code, 3);
}
