use std::os::unix::fs::PermissionsExt;

use super::*;

/// Returns small limits, without stored answers and bundles.
pub(crate) fn git_config() -> config::GitConfig {
    config::GitConfig {
        max_processes: 4,
        max_archives: 2,
        timeout: Duration::from_secs(60),
        max_push_bytes: 1 << 20,
        prune_after_days: 0,
        inline_max_bytes: 0,
        cache_max_bytes: 0,
        cache_max_answer_bytes: 0,
        bundle_min_bytes: 0,
        bundle_max_bytes: 0,
        copies_max_bytes: None,
    }
}

/// Opens the repositories below `dir` with [`git_config`].
pub(crate) fn git(dir: &Path) -> Git {
    Git::open(dir, &git_config()).expect("directories")
}

/// Writes an object and returns its id.
pub(crate) async fn object(git: &Git, repository: u64, kind: &str, text: String) -> String {
    let id = git.run(repository, ["hash-object", "-w", "--stdin", "-t", kind], text).await.expect("an object");
    String::from_utf8_lossy(&id.stdout).trim().to_owned()
}

/// Prunes a repository and removes the packs that are replaced, and loose objects that are in packs.
pub(crate) async fn prune(git: &Git, repository: u64, times: (u64, u64), lock: &RepositoryLock) {
    let packs = upkeep::files(&git.directory(repository).join("objects/pack")).expect("a directory");
    let names = packs.iter().filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".pack")?.to_owned()));
    let names: Vec<String> = names.collect();
    git.prune(repository, times, &names, lock).await.expect("pruned");
    git.remove_packs(repository, names.into_iter().collect(), lock).await.expect("removed");
    git.run(repository, ["prune-packed"], "").await.expect("removed");
}

/// Writes two commits without parents, and a tag object of the first one. Returns their ids.
pub(crate) async fn commits_and_tag(git: &Git, repository: u64) -> ([String; 2], String) {
    let tree = object(git, repository, "tree", String::new()).await;
    let text = |name: &str| format!("tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n{name}\n");
    let one = object(git, repository, "commit", text("one")).await;
    let two = object(git, repository, "commit", text("two")).await;
    let tag = format!("object {one}\ntype commit\ntag v1\ntagger a <a@b> 1 +0000\n\nv1\n");
    let tag = object(git, repository, "tag", tag).await;
    ([one, two], tag)
}

#[tokio::test]
async fn a_repository_is_created_gets_a_new_head_and_is_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(7, "trunk", false).await.expect("created");
    let head = git.run(7, ["symbolic-ref", "HEAD"], "").await.expect("a head");
    assert_eq!(&head.stdout[..], b"refs/heads/trunk\n");
    git.set_head(7, "other").await.expect("set");
    let head = git.run(7, ["symbolic-ref", "HEAD"], "").await.expect("a head");
    assert_eq!(&head.stdout[..], b"refs/heads/other\n");
    assert!(git.init_bare(7, "main", false).await.is_err(), "the number is in use");
    assert!(!git.directory(7).join("hooks").exists(), "no template is copied");

    git.remove(7).await.expect("removed");
    git.remove(7).await.expect("removed already");
    assert_eq!(std::fs::read_dir(dir.path().join("repositories")).expect("a directory").count(), 0);
}

#[tokio::test]
async fn a_damaged_ref_fails_the_search_for_lfs_objects() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    assert!(git.ref_ids(1).await.expect("no refs").is_empty());
    let other = git.directory(1).join("refs/other");
    std::fs::create_dir_all(&other).expect("a directory");
    std::fs::write(other.join("damaged"), "").expect("a file");
    assert!(git.ref_ids(1).await.is_err(), "git leaves the ref out");
}

#[tokio::test]
async fn a_tag_without_its_target_does_not_hide_those_of_other_tags() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    let ([one, two], tag) = commits_and_tag(&git, 1).await;
    let missing = "a".repeat(40);
    let text = format!("object {missing}\ntype commit\ntag v2\ntagger a <a@b> 1 +0000\n\nv2\n");
    let lacking = object(&git, 1, "tag", text).await;
    let ids = [one.clone(), two, tag.clone(), lacking, missing];
    let found = git.peeled_tips(1, &ids).await.expect("readable");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(tag, one)]);
}

#[tokio::test]
async fn a_mirror_accepts_the_harmless_errors_of_old_commits_that_an_import_accepts() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    for (zone, date, accepted) in [("+051800", "1", true), ("+0000", "x", false)] {
        let workspace = Workspace::create(git.clone(), 1, None, None).await.expect("a workspace");
        let tree = workspace.run(["mktree"], "").await.expect("a tree");
        let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
        let text = format!("tree {tree}\nauthor a <a@b> 1 {zone}\ncommitter a <a@b> {date} +0000\n\nx\n");
        let written = workspace.run(["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], text).await;
        let commit = String::from_utf8_lossy(&written.expect("written").stdout).into_owned();
        let strict = workspace.pack_revisions(1, commit.clone(), "--strict").await;
        assert!(matches!(strict, Err(PublishError::Refused(_))), "{zone} {date}: {strict:?}");
        let tolerant = workspace.pack_revisions(1, commit, &source::tolerant_checks()).await;
        assert_eq!(tolerant.is_ok(), accepted, "{zone} {date}: {tolerant:?}");
        workspace.remove().await;
    }
}

#[tokio::test]
async fn a_process_that_left_its_process_group_is_gone_when_the_daemon_has_stopped() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    #[expect(clippy::disallowed_methods, reason = "a process that the daemon does not control")]
    let mut process = std::process::Command::new("sleep");
    let mut process = process.arg("1000").env("HOME", dir.path().join("git-home")).spawn().expect("a process");
    git.end_processes();
    let status = process.try_wait().expect("a process");
    assert!(status.is_some_and(|status| !status.success()), "{status:?}");
}

#[tokio::test]
async fn files_of_killed_packing_processes_are_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    let objects = git.directory(1).join("objects");
    let leftovers = ["pack/.tmp-7-pack-0.pack", "pack/tmp_idx_0", "bitmap-ref-tips_0"];
    let kept = ["pack/pack-0.keep", "info/bitmap-ref-tips_0"];
    for name in leftovers.iter().chain(&kept) {
        std::fs::create_dir_all(objects.join(name).parent().expect("a directory")).expect("a directory");
        std::fs::write(objects.join(name), "").expect("a file");
    }
    upkeep::remove_unfinished(&objects).expect("removed");
    assert!(leftovers.iter().all(|name| !objects.join(name).exists()));
    assert!(kept.iter().all(|name| objects.join(name).exists()));
}

#[tokio::test]
async fn sha256_repositories_have_long_ids() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", true).await.expect("created");
    let id = git.run(1, ["hash-object", "-w", "--stdin"], "x").await.expect("an id");
    assert_eq!(id.stdout.len(), 65);
}

#[tokio::test]
async fn errors_have_distinct_kinds_and_one_line_messages() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    let missing = git.call(1, ["rev-parse", "--verify"]).operands(["nothing\u{1b}[31m"]).run().await;
    let Err(GitError::Failed { status: Some(128), stderr, .. }) = missing else { panic!("{missing:?}") };
    assert!(!stderr.contains(['\n', '\u{1b}']), "{stderr:?}");

    let wrong = git.call(1, ["rev-parse"]).operands(["a\nb"]).run().await;
    assert!(matches!(wrong, Err(GitError::Argument { .. })), "{wrong:?}");

    let blob = git.run(1, ["hash-object", "-w", "--stdin"], vec![b'x'; 100_000]).await.expect("an id");
    let id = String::from_utf8(blob.stdout.to_vec()).expect("text");
    let much = git.call(1, ["cat-file", "blob"]).operands([id.trim()]).output_max_bytes(99_999).run().await;
    assert!(matches!(much, Err(GitError::TooMuch { limit: 99_999, .. })), "{much:?}");
    let all = git.call(1, ["cat-file", "blob"]).operands([id.trim()]).output_max_bytes(100_000).run().await;
    assert_eq!(all.expect("all").stdout.len(), 100_000);
}

#[tokio::test]
async fn a_timeout_kills_the_whole_process_group() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    // A shell alias starts a child process of git. Both must be killed.
    let pid_file = dir.path().join("pid");
    let alias = format!("!echo $$ > {}; sleep 60", pid_file.display());
    let slow = git.call(1, ["nap"]).config("alias.nap", alias).timeout(Duration::from_millis(500)).run().await;
    assert!(matches!(slow, Err(GitError::Timeout { .. })), "{slow:?}");
    let pid = std::fs::read_to_string(&pid_file).expect("it ran");
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    for _ in 0..500 {
        // A dead process may stay a zombie until its new parent waits for it.
        match std::fs::read_to_string(&stat) {
            Ok(text) if !text.contains(" Z ") => tokio::time::sleep(Duration::from_millis(10)).await,
            _ => return,
        }
    }
    panic!("the process {} still runs", pid.trim());
}

#[tokio::test]
async fn hooks_in_the_repository_and_the_daemons_environment_are_ignored() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(1, "main", false).await.expect("created");
    let hooks = git.directory(1).join("hooks");
    std::fs::create_dir_all(&hooks).expect("a directory");
    let hook = hooks.join("reference-transaction");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", dir.path().join("ran").display())).expect("a file");
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("executable");
    let tree = git.run(1, ["mktree"], "").await.expect("a tree");
    let tree = String::from_utf8(tree.stdout.to_vec()).expect("text");
    git.run(1, ["update-ref", "refs/farrier/x", tree.trim()], "").await.expect("a ref");
    assert!(!dir.path().join("ran").exists());

    let output = git.call(1, ["env"]).config("alias.env", "!env").run().await.expect("an environment");
    let output = String::from_utf8(output.stdout.to_vec()).expect("text");
    assert!(!output.contains("CARGO"), "{output}");
}

#[test]
fn streaming_processes_leave_slots_for_short_commands() {
    assert_eq!([1, 2, 4, 32].map(streams_of), [1, 2, 3, 24]);
}

#[tokio::test]
async fn unfinished_directories_are_removed_at_the_next_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = git(dir.path());
    first.init_bare(3, "main", false).await.expect("created");
    for left in ["new-4-aa", "trash-5-bb"] {
        std::fs::create_dir_all(dir.path().join("repositories").join(left).join("objects")).expect("a directory");
    }
    let second = git(dir.path());
    assert_eq!(second.repositories_at_start(), [3]);
    assert_eq!(std::fs::read_dir(dir.path().join("repositories")).expect("a directory").count(), 1);
}
