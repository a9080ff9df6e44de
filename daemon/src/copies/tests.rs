//! Tests of copies, with git as the reader of the files.

mod unwritable;

use std::{fs, path::PathBuf};

use farrier_proto::store::{RefStep, RepositoryVersion};
use tempfile::TempDir;

use super::{follow::file, *};
use crate::{
    git::tests::{commits_and_tag, git},
    store::{Tx, engine::MemoryEngine, refs::Ref},
};

const REPOSITORY: u64 = 7;

struct World {
    dir: TempDir,
    store: Store,
    git: Git,
    copies: Copies,
    /// Two commits without the tag object.
    commits: [Ref; 2],
    /// A tag object that leads to the first commit.
    tag: Ref,
}

impl World {
    /// Creates a repository with the branch `main`.
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(REPOSITORY, "main", false).await.expect("created");
        let ([one, two], tag) = commits_and_tag(&git, REPOSITORY).await;
        let plain = |tip| Ref { tip, peeled: None };
        let tag = Ref { tip: tag, peeled: Some(one.clone()) };
        let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
        let main = [("refs/heads/main".to_owned(), plain(one.clone()))];
        let create = async |tx: Tx| {
            identity::begin(&tx, b"0123456789abcdef");
            refs::create(&tx, REPOSITORY, false, true, &main);
            Ok::<_, StoreError>(())
        };
        store.write(create).await.expect("rows");
        let copies = Copies::new(store.clone(), git.clone());
        Self { dir, store, git, copies, commits: [plain(one), plain(two)], tag }
    }

    /// Drops the state in memory, like a restart of the daemon.
    fn restart(&mut self) {
        self.git = git(self.dir.path());
        self.copies = Copies::new(self.store.clone(), self.git.clone());
    }

    /// Like a restart of the machine.
    fn reboot(&mut self) {
        self.restart();
        self.copies.boot = "another boot".to_owned();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.git.directory(REPOSITORY).join(name)
    }

    /// Moves refs in the rows only, in one transaction.
    async fn move_rows(&self, moves: &[(&str, Option<&Ref>)]) {
        let write = async |tx: Tx| {
            let before = refs::version(&tx, REPOSITORY).await?.expect("a version");
            for (name, value) in moves {
                refs::set(&tx, REPOSITORY, name, *value);
            }
            let step = |(name, _): &(&str, Option<&Ref>)| RefStep { name: (*name).to_owned(), ..RefStep::default() };
            refs::advance(&tx, REPOSITORY, &before, 1, moves.iter().map(step).collect()).await
        };
        self.store.write(write).await.expect("rows");
    }

    /// Replaces the row of the version.
    async fn change_version(&self, change: impl Fn(RepositoryVersion) -> RepositoryVersion + Send + Sync) {
        let write = async |tx: Tx| {
            let before = refs::version(&tx, REPOSITORY).await?.expect("a version");
            // `advance` adds one.
            let after = change(before);
            let before = RepositoryVersion { version: after.version - 1, ..after };
            refs::advance(&tx, REPOSITORY, &before, 1, Vec::new()).await
        };
        self.store.write(write).await.expect("a row");
    }

    async fn current(&self) -> u64 {
        self.copies.current(REPOSITORY).await.expect("current")
    }

    /// Asserts that git reads exactly the rows.
    async fn assert_follows(&self) {
        let (mut listed, mut shown) = (String::new(), String::new());
        let snapshot = self.store.read().await.expect("a snapshot");
        for (name, value) in refs::page(&snapshot, REPOSITORY, None, usize::MAX).await.expect("rows") {
            listed.extend([&*value.tip, " ", &name, "\n"]);
            shown.extend([&*value.tip, " ", &name, "\n"]);
            if let Some(peeled) = value.peeled {
                shown.extend([&*peeled, " ", &name, "^{}\n"]);
            }
        }
        let output = self.git.run(REPOSITORY, ["for-each-ref", "--format=%(objectname) %(refname)"], "").await;
        let output = output.expect("a list");
        assert_eq!(output.stderr, "", "git reads all refs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), listed);
        if !shown.is_empty() {
            let output = self.git.run(REPOSITORY, ["show-ref", "-d"], "").await.expect("a list");
            assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
        }
    }
}

#[tokio::test]
async fn files_follow_rows_by_steps_and_all_at_once() {
    let mut world = World::new().await;
    assert_eq!(world.current().await, 1);
    world.assert_follows().await;
    let [one, two] = world.commits.clone();
    let tag = world.tag.clone();
    world
        .move_rows(&[("refs/heads/main", Some(&two)), ("refs/tags/v1", Some(&tag)), ("refs/notes/x", Some(&one))])
        .await;
    world.move_rows(&[("refs/heads/a/b", Some(&one))]).await;
    assert_eq!(world.current().await, 3);
    world.assert_follows().await;
    let list = world.path("packed-refs");
    let before = fs::read(&list).expect("a list");
    world.move_rows(&[("refs/heads/a/b", None), ("refs/heads/a", Some(&two))]).await;
    let lock = world.git.lock(REPOSITORY).await;
    world.copies.note_moved(REPOSITORY, 4, &lock).await;
    drop(lock);
    world.assert_follows().await;
    assert_eq!(fs::read(&list).expect("a list"), before, "only the names of the change were written");
    world.restart();
    assert_eq!(world.current().await, 4, "from the file of the copy");
    world.assert_follows().await;

    // More changes than the store keeps.
    for number in 0..300 {
        let value = if number % 2 == 0 { &one } else { &two };
        world.move_rows(&[("refs/heads/main", Some(value)), ("refs/heads/a", None)]).await;
    }
    assert_eq!(world.current().await, 304);
    world.assert_follows().await;
    world.move_rows(&[("refs/heads/main", None), ("refs/tags/v1", None), ("refs/notes/x", None)]).await;
    world.current().await;
    world.assert_follows().await;
}

#[tokio::test]
async fn a_copy_that_is_current_is_not_written_and_needs_no_lock() {
    let mut world = World::new().await;
    world.current().await;
    let _lock = world.git.lock(REPOSITORY).await;
    fs::write(world.path("refs/heads/foreign"), format!("{}\n", world.commits[0].tip)).expect("a file");
    assert_eq!(world.current().await, 1);
    world.copies = Copies::new(world.store.clone(), world.git.clone());
    assert_eq!(world.current().await, 1, "by the file of the copy");
    assert!(world.path("refs/heads/foreign").exists());
    assert_eq!(world.copies.current(EMPTY_REPOSITORY).await.expect("nothing to do"), 0);
    assert_eq!(world.copies.current(REPOSITORY + 1).await.expect("no version"), 0);
}

#[tokio::test]
async fn torn_files_are_written_again_after_the_machine_was_restarted() {
    let mut world = World::new().await;
    let [one, two] = world.commits.clone();
    let tag = world.tag.clone();
    world.move_rows(&[("refs/heads/a", Some(&one)), ("refs/heads/b", Some(&one)), ("refs/tags/v1", Some(&tag))]).await;
    world.current().await;
    world.move_rows(&[("refs/heads/a", Some(&two)), ("refs/heads/b", Some(&two))]).await;
    world.current().await;
    fs::write(world.path("refs/heads/a"), "").expect("a file");
    fs::write(world.path("refs/heads/b"), [0; 41]).expect("a file");
    fs::write(world.path("packed-refs"), "# pack-refs with: peeled fully-peeled sorted \n12").expect("a file");
    world.reboot();
    assert_eq!(world.current().await, 3);
    world.assert_follows().await;
    // An incomplete `farrier-copy`.
    fs::write(world.path("refs/heads/main"), "").expect("a file");
    fs::write(world.path("farrier-copy"), "farrier-copy 1\nstore 30").expect("a file");
    world.restart();
    assert_eq!(world.current().await, 3);
    world.assert_follows().await;
}

#[tokio::test]
async fn refs_that_were_changed_by_hand_are_restored_by_a_rewrite() {
    let world = World::new().await;
    let [one, two] = world.commits.clone();
    let tag = world.tag.clone();
    world.move_rows(&[("refs/heads/a/b", Some(&one)), ("refs/tags/v1", Some(&tag))]).await;
    world.current().await;
    for edit in ["foreign ref", "missing list", "garbage", "garbage in the list", "name in the way", "directory"] {
        match edit {
            "foreign ref" => {
                fs::create_dir_all(world.path("refs/x/y")).expect("a directory");
                fs::write(world.path("refs/x/y/z"), format!("{}\n", two.tip)).expect("a file");
            }
            "missing list" => fs::remove_file(world.path("packed-refs")).expect("a list"),
            "garbage" => fs::write(world.path("refs/heads/main"), "garbage\n").expect("a file"),
            "garbage in the list" => fs::write(world.path("packed-refs"), "garbage\n").expect("a file"),
            "name in the way" => fs::write(world.path("refs/heads/a"), format!("{}\n", two.tip)).expect("a file"),
            _ => fs::create_dir_all(world.path("refs/heads/main/below")).expect("a directory"),
        }
        let lock = world.git.lock(REPOSITORY).await;
        world.copies.rewrite_locked(REPOSITORY, &lock).await.expect("written");
        drop(lock);
        world.assert_follows().await;
    }
}

#[tokio::test]
async fn steps_that_fail_because_of_a_hand_edit_end_with_a_rewrite() {
    let world = World::new().await;
    world.move_rows(&[("refs/heads/a", Some(&world.commits[0])), ("refs/heads/b", Some(&world.commits[0]))]).await;
    world.current().await;
    fs::write(world.path("packed-refs"), "garbage\n").expect("a file");
    world.move_rows(&[("refs/heads/a", None)]).await;
    assert_eq!(world.current().await, 3);
    world.assert_follows().await;
}

#[tokio::test]
async fn a_copy_ahead_of_a_restored_store_or_of_another_store_is_written_again() {
    let mut world = World::new().await;
    let [one, two] = world.commits.clone();
    for value in [&two, &one, &two] {
        world.move_rows(&[("refs/heads/main", Some(value)), ("refs/heads/new", Some(value))]).await;
    }
    assert_eq!(world.current().await, 4);
    // The rows of an older backup.
    let restore = async |tx: Tx| {
        refs::forget_some(&tx, REPOSITORY, 1_000).await?;
        refs::create(&tx, REPOSITORY, false, true, &[("refs/heads/main".to_owned(), one.clone())]);
        Ok::<_, StoreError>(())
    };
    world.store.write(restore).await.expect("rows");
    world.restart();
    assert_eq!(world.current().await, 1);
    world.assert_follows().await;
    let other = async |tx: Tx| {
        identity::begin(&tx, b"fedcba9876543210");
        refs::set(&tx, REPOSITORY, "refs/heads/other", Some(&two));
        Ok::<_, StoreError>(())
    };
    world.store.write(other).await.expect("rows");
    world.restart();
    assert_eq!(world.current().await, 1);
    world.assert_follows().await;
}

#[tokio::test]
async fn an_update_of_a_copy_that_was_interrupted_at_any_step_is_repeated() {
    let mut world = World::new().await;
    let [one, two] = world.commits.clone();
    world.move_rows(&[("refs/heads/a", Some(&one)), ("refs/heads/d/e", Some(&one))]).await;
    let set = |name: &str, value: &Ref| file((name.to_owned(), Some(value.clone())));
    let gone = |name: &str| file((name.to_owned(), None));
    for step in 0..6 {
        let (from, to) = if step % 2 == 0 { (&one, &two) } else { (&two, &one) };
        world.move_rows(&[("refs/heads/a", Some(from)), ("refs/heads/d", None), ("refs/heads/d/e", Some(from))]).await;
        world.current().await;
        world.assert_follows().await;
        world.move_rows(&[("refs/heads/a", Some(to)), ("refs/heads/d/e", None), ("refs/heads/d", Some(to))]).await;
        let guard = Arc::new(world.git.lock(REPOSITORY).await);
        let written = match step {
            0 => Vec::new(),
            1 => vec![gone("refs/heads/d/e")],
            2 => vec![gone("refs/heads/d/e"), set("refs/heads/a", to)],
            // All files of refs were written, but not `farrier-copy`.
            _ => vec![gone("refs/heads/d/e"), set("refs/heads/a", to), set("refs/heads/d", to)],
        };
        world.git.write_refs(REPOSITORY, written, guard.clone()).await.expect("written");
        if step > 3 {
            let rewrite = world.git.begin_rewrite(REPOSITORY, guard.clone()).await.expect("begun");
            let rewrite = rewrite.add(vec![set("refs/heads/a", to)]).await.expect("added");
            // The list was replaced, and the rest is missing; or the list was not replaced.
            if step == 4 { rewrite.finish().await.expect("replaced") } else { drop(rewrite) }
        }
        drop(guard);
        world.restart();
        world.current().await;
        world.assert_follows().await;
    }
}

#[tokio::test]
async fn the_files_of_an_earlier_release_are_not_touched_before_they_were_compared() {
    let world = World::new().await;
    fs::write(world.path("refs/heads/found"), format!("{}\n", world.commits[1].tip)).expect("a file");
    world.change_version(|row| RepositoryVersion { version: 5, from_disk: true, ..row }).await;
    assert_eq!(world.current().await, 5);
    let lock = world.git.lock(REPOSITORY).await;
    assert_eq!(world.copies.current_locked(REPOSITORY, &lock).await.expect("nothing to do"), 5);
    assert_eq!(world.copies.rewrite_locked(REPOSITORY, &lock).await.expect("nothing to do"), 5);
    drop(lock);
    assert!(world.path("refs/heads/found").exists() && !world.path("farrier-copy").exists());
    world.change_version(|row| RepositoryVersion { version: 6, from_disk: false, ..row }).await;
    assert_eq!(world.current().await, 6);
    world.assert_follows().await;
}

#[tokio::test]
async fn an_error_leaves_the_copy_behind_until_the_next_use() {
    let world = World::new().await;
    world.current().await;
    world.move_rows(&[("refs/heads/main", Some(&world.commits[1]))]).await;
    let locks = ["refs/heads/main.lock", "packed-refs.lock"].map(|name| world.path(name));
    for lock in &locks {
        fs::write(lock, "").expect("a lock of git");
    }
    let lock = world.git.lock(REPOSITORY).await;
    world.copies.note_moved(REPOSITORY, 2, &lock).await;
    drop(lock);
    let error = world.copies.current(REPOSITORY).await;
    assert!(matches!(error, Err(CopyError::Git(_))), "{error:?}");
    for lock in &locks {
        fs::remove_file(lock).expect("it was kept");
    }
    assert_eq!(world.current().await, 2);
    world.assert_follows().await;
}

#[tokio::test]
async fn a_caller_waits_only_for_a_limited_time_for_the_lock() {
    let world = World::new().await;
    let _lock = world.git.lock(REPOSITORY).await;
    // Not before: the time would pass while git runs.
    tokio::time::pause();
    let late = world.copies.current(REPOSITORY).await;
    assert!(matches!(late, Err(CopyError::Late)), "{late:?}");
}

#[tokio::test]
async fn copies_of_a_store_that_is_not_shared_are_never_removed() {
    let world = World::new().await;
    world.current().await;
    world.copies.reduce(1).await.expect("nothing is done");
    assert_eq!(world.copies.usage(), CopiesUsage::default());
    world.assert_follows().await;
}

#[tokio::test]
async fn ten_thousand_refs_follow_their_rows() {
    let world = World::new().await;
    let names: Vec<String> = (0..10_000).map(|number| format!("refs/heads/{:02}/{number}", number % 100)).collect();
    let [one, two] = &world.commits;
    for names in names.chunks(1_000) {
        world.move_rows(&names.iter().map(|name| (name.as_str(), Some(one))).collect::<Vec<_>>()).await;
    }
    world.current().await;
    world.assert_follows().await;
    let moves: Vec<_> = names.iter().step_by(20).map(|name| (name.as_str(), None)).collect();
    world.move_rows(&moves).await;
    let moves: Vec<_> = names.iter().skip(1).step_by(20).map(|name| (name.as_str(), Some(two))).collect();
    world.move_rows(&moves).await;
    world.current().await;
    world.assert_follows().await;
}
