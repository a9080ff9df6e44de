use std::cell::Cell;

use super::*;
use crate::git::tests::prune;

async fn repository(dir: &Path) -> Git {
    let git = git_in(dir);
    git.init_bare(ID, "main", false).await.expect("created");
    git
}

/// Writes an object as a loose file.
async fn blob(git: &Git, content: &str) -> String {
    run(git, &["hash-object", "-w", "--stdin"], content.to_owned()).await
}

async fn content(git: &Git, id: &str) -> Option<Bytes> {
    let found = git.reader(ID).objects_directly(&[id.to_owned()], 1 << 20).await.expect("read").expect("supported");
    found.into_iter().next().flatten().map(|object| object.content)
}

#[tokio::test]
async fn objects_are_found_as_soon_as_they_are_stored_and_when_they_are_packed() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    for round in 0..20 {
        let text = format!("content {round}");
        let id = run(&git, &["hash-object", "--stdin"], text.clone()).await;
        assert_eq!(content(&git, &id).await, None, "not stored yet");
        blob(&git, &text).await;
        assert_eq!(content(&git, &id).await.as_deref(), Some(text.as_bytes()));
        git.0.read_cache.clear();
        // A new pack with this object only. The old file is removed.
        let packs = git.directory(ID).join("objects/pack");
        let made = git.call(ID, ["pack-objects", "-q"]).args([packs.join("pack")]).stdin(format!("{id}\n"));
        made.run().await.expect("packed");
        run(&git, &["prune-packed"], "").await;
        assert_eq!(content(&git, &id).await.as_deref(), Some(text.as_bytes()), "round {round}");
    }
    git.0.read_cache.clear();
    run(&git, &["multi-pack-index", "write"], "").await;
    let all = run(&git, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], "").await;
    run(&git, &["multi-pack-index", "repack"], "").await;
    run(&git, &["multi-pack-index", "expire"], "").await;
    for id in all.lines() {
        assert!(content(&git, id).await.is_some(), "in a pack that replaced others");
    }
}

#[tokio::test]
async fn objects_that_are_packed_are_found_while_other_reads_list_the_packs() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    let (missing, done) = ("0123456789".repeat(4), Cell::new(false));
    let list = async || {
        while !done.get() {
            assert_eq!(content(&git, &missing).await, None);
        }
    };
    let store = async {
        for round in 0..20 {
            let text = format!("content {round}");
            let id = blob(&git, &text).await;
            let packs = git.directory(ID).join("objects/pack");
            let made = git.call(ID, ["pack-objects", "-q"]).args([packs.join("pack")]).stdin(format!("{id}\n"));
            made.run().await.expect("packed");
            run(&git, &["prune-packed"], "").await;
            assert_eq!(content(&git, &id).await.as_deref(), Some(text.as_bytes()), "round {round}");
        }
        done.set(true);
    };
    tokio::join!(list(), list(), list(), store);
}

#[tokio::test]
async fn few_refs_and_kept_results_are_read_without_a_share() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(17, 20)).await;
    let holder = Holder::Account(1);
    let reader = git.reader(ID).for_holder(holder);
    let read = async || {
        let refs = reader.refs("refs/heads/").await.expect("refs");
        let tips: Vec<String> = refs.iter().map(|found| found.id.clone()).collect();
        let commits = reader.commits(&tips).await.expect("commits").len();
        let tip = reader.resolve("main").await.expect("read");
        (refs, commits, tip, reader.is_empty().await.expect("read"))
    };
    let before = read().await;
    let mut shares = Vec::new();
    while let Ok(share) = git.0.reads.take(holder) {
        shares.push(share);
    }
    assert!(!shares.is_empty());
    let again = tokio::time::timeout(Duration::from_secs(20), read()).await.expect("nothing waits");
    assert_eq!(again, before);
}

#[tokio::test]
async fn many_refs_are_read_with_a_share() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(17, 20)).await;
    let tip = run(&git, &["rev-list", "--all", "-1"], "").await;
    let lines: Vec<String> = (0..3_000).map(|n| format!("{tip} refs/tags/{}{n}\n", "x".repeat(100))).collect();
    let packed = lines.concat();
    std::fs::write(git.directory(ID).join("packed-refs"), packed).expect("a file");
    let holder = Holder::Account(1);
    let reader = git.reader(ID).for_holder(holder);
    let refs = reader.refs_directly("refs/tags/").await.expect("read").expect("supported");
    assert!(refs.len() >= 3_000, "{}", refs.len());
    let mut shares = Vec::new();
    while let Ok(share) = git.0.reads.take(holder) {
        shares.push(share);
    }
    assert!(!shares.is_empty());
    let waiting = tokio::time::timeout(Duration::from_millis(300), reader.refs_directly("refs/tags/")).await;
    assert!(waiting.is_err(), "waits for its share");
}

#[tokio::test]
async fn removed_objects_are_not_found_after_maintenance() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(5, 10)).await;
    let lost = blob(&git, "lost").await;
    assert!(content(&git, &lost).await.is_some());
    let lock = git.lock(ID).await;
    prune(&git, ID, (1_900_000_000, 1_800_000_000), &lock).await;
    assert!(content(&git, &lost).await.is_some(), "in a cruft pack");
    prune(&git, ID, (1_900_000_100, 1_900_000_100), &lock).await;
    drop(lock);
    assert_eq!(content(&git, &lost).await, None);
    assert_eq!(git.reader(ID).resolve(&lost).await.expect("read"), None);
    let tip = run(&git, &["rev-list", "--all", "-1"], "").await;
    assert!(content(&git, &tip).await.is_some());
}

#[tokio::test]
async fn packs_that_are_removed_are_closed() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(11, 10)).await;
    run(&git, &["repack", "-adq"], "").await;
    let tip = run(&git, &["rev-list", "--all", "-1"], "").await;
    assert!(content(&git, &tip).await.is_some());
    let removed = || {
        let files = std::fs::read_dir("/proc/self/fd").expect("files").flatten();
        let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        let root = dir.path().to_string_lossy().into_owned();
        targets
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| path.starts_with(&root) && path.contains("objects/pack") && path.ends_with("(deleted)"))
            .count()
    };
    blob(&git, "unreachable").await;
    let lock = git.lock(ID).await;
    prune(&git, ID, (1_900_000_000, 1_900_000_000), &lock).await;
    drop(lock);
    assert_eq!(removed(), 0, "after maintenance");
    assert!(content(&git, &tip).await.is_some());
    run(&git, &["repack", "-adfq", "--depth=3"], "").await;
    git.0.read_cache.clear();
    assert!(content(&git, &tip).await.is_some());
    assert_eq!(removed(), 0, "after somebody used git in the directory");
    git.remove(ID).await.expect("removed");
    assert_eq!(removed(), 0, "after the removal of the repository");
}

#[tokio::test]
async fn moved_refs_are_seen_at_once_and_known_types_are_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(13, 20)).await;
    let commits = run(&git, &["rev-list", "--all"], "").await;
    let reader = git.reader(ID);
    for commit in commits.lines().take(10) {
        run(&git, &["update-ref", "refs/heads/main", commit], "").await;
        assert_eq!(reader.resolve("main").await.expect("read").as_deref(), Some(commit));
        let refs = reader.refs("refs/heads/").await.expect("refs");
        let main = refs.iter().find(|found| found.name == "refs/heads/main").expect("main");
        assert_eq!((main.id.as_str(), main.kind.as_str()), (commit, "commit"));
        run(&git, &["pack-refs", "--all"], "").await;
        assert_eq!(reader.resolve("main").await.expect("read").as_deref(), Some(commit));
    }
    run(&git, &["update-ref", "-d", "refs/heads/main"], "").await;
    assert_eq!(reader.resolve("main").await.expect("read"), None);
    assert!(reader.refs("refs/heads/").await.expect("refs").iter().all(|found| found.name != "refs/heads/main"));
}

#[tokio::test]
async fn warm_reads_start_no_process() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    run(&git, &["fast-import", "--quiet"], history(17, 20)).await;
    let reader = git.reader(ID);
    let read = async || {
        let tip = reader.resolve("main").await.expect("read").expect("a commit");
        reader.tree(&tip, false).await.expect("a tree");
        reader.last_changes(&tip, "", 100).await.expect("commits");
        let query = HistoryQuery { from: tip.clone(), limit: 10, changes: true, ..HistoryQuery::default() };
        assert_eq!(reader.history(&query).await.expect("commits"), reader.read_history(&query).await.expect("commits"));
        let count = reader.count(&query).await.expect("a number");
        assert_eq!(count.to_string(), run(&git, &["rev-list", "--count", &tip], "").await);
        reader.commits(&[tip]).await.expect("commits").len()
    };
    assert_eq!(read().await, 1);
    let before = git.processes().1;
    assert_eq!(read().await, 1);
    assert_eq!(git.processes().1 - before, 2, "only those of the comparison");
}

#[tokio::test]
async fn objects_of_quarantines_and_alternates_and_replacements_are_not_visible() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = repository(dir.path()).await;
    git.init_bare(2, "main", false).await.expect("created");
    let hidden = git.run(2, ["hash-object", "-w", "--stdin"], "hidden").await.expect("an id");
    let hidden = String::from_utf8(hidden.stdout.to_vec()).expect("text").trim().to_owned();
    let objects = git.directory(ID).join("objects");
    std::fs::create_dir_all(objects.join("info")).expect("a directory");
    let theirs = git.directory(2).join("objects");
    std::fs::write(objects.join("info/alternates"), format!("{}\n", theirs.display())).expect("a file");
    assert_eq!(run(&git, &["cat-file", "-t", &hidden], "").await, "blob", "git uses the alternate");
    assert_eq!(content(&git, &hidden).await, None);

    let quarantine = objects.join("tmp_objdir-incoming-x").join(&hidden[..2]);
    std::fs::create_dir_all(&quarantine).expect("a directory");
    std::fs::copy(theirs.join(&hidden[..2]).join(&hidden[2..]), quarantine.join(&hidden[2..])).expect("a copy");
    assert_eq!(content(&git, &hidden).await, None);

    let (one, two) = (blob(&git, "one").await, blob(&git, "two").await);
    run(&git, &["update-ref", &format!("refs/replace/{one}"), &two], "").await;
    assert_eq!(content(&git, &one).await.as_deref(), Some(&b"one"[..]));
}
