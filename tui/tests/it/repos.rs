//! Repositories from the shell, with the real daemon and git.

use std::process::{Command, Stdio};

use crate::session::Daemon;

/// Runs git in the working directory; answers what it printed.
#[expect(clippy::disallowed_methods, reason = "the test is a person with git")]
fn git(daemon: &Daemon, words: &[&str]) -> String {
    let person = ["-c", "user.name=p", "-c", "user.email=p@example.org"];
    let mut git = Command::new("git");
    git.args(person).args(words).current_dir(daemon.work(".")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let ran = git.stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// A daemon with `admin/demo`: two branches, a branch with a slash and two tags were pushed to it.
fn demo() -> Daemon {
    let daemon = Daemon::start();
    daemon.farrier(&["repo", "create", "admin/demo"]).ok();
    let status = daemon.farrier(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    let tcp = listeners.iter().find(|one| one["kind"] == "tcp").unwrap()["address"].as_str().unwrap().to_owned();
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
fn archives_and_copies_are_written_whole_or_not_at_all() {
    let daemon = demo();
    let saved = daemon.farrier(&["repo", "archive", "admin/demo", "--format", "bundle", "--json"]).json();
    assert_eq!((&saved["path"], &saved["format"]), (&"admin-demo.bundle".into(), &"bundle".into()));
    assert!(saved.get("ref").is_none(), "it holds all of them: {saved}");
    git(&daemon, &["clone", "-q", "--mirror", "admin-demo.bundle", "copy.git"]);
    let refs = |place: &str| git(&daemon, &["-C", place, "show-ref", "--heads", "--tags"]);
    assert_eq!(refs("copy.git"), refs("one"));
    assert_eq!(refs("copy.git").lines().count(), 4);

    let one = ["repo", "archive", "admin/demo", "--ref", "v1", "-o", "v1.bundle", "-q"];
    assert_eq!(daemon.farrier(&one).ok().stdout, "v1.bundle\n");
    git(&daemon, &["clone", "-q", "v1.bundle", "v1"]);
    assert_eq!(std::fs::read_to_string(daemon.work("v1/file")).unwrap(), "first\n");
    let again = daemon.farrier(&one);
    assert_eq!(again.code, 5, "what is there stays: {again:?}");
    daemon.farrier(&[&one[..], &["--force"]].concat()).ok();

    daemon.farrier(&["repo", "archive", "admin/demo", "--ref", "feature/x", "--format", "zip", "-o", "."]).ok();
    assert_eq!(std::fs::read(daemon.work("demo-feature-x.zip")).unwrap()[..2], *b"PK");
    let missing = daemon.farrier(&["repo", "archive", "admin/demo", "--ref", "nothing"]);
    assert_eq!(missing.code, 3, "{missing:?}");
    let left = std::fs::read_dir(daemon.work(".")).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.path().to_string_lossy().ends_with(".part")));
}

#[test]
fn an_archive_goes_to_whoever_reads() {
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
    let ran = program.stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    std::fs::write(daemon.work("piped.bundle"), ran.stdout).unwrap();
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
