//! Tests of written files of refs, with git as the reader.

use std::{os::unix::fs::symlink, path::PathBuf};

use tempfile::TempDir;

use super::*;
use crate::git::tests::{commits_and_tag, git};

const REPOSITORY: u64 = 1;

struct World {
    dir: TempDir,
    git: Git,
    /// Ids of two commits.
    commits: [String; 2],
    /// The id of a tag object, which leads to the first commit.
    tag: String,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        git.init_bare(REPOSITORY, "main", false).await.expect("created");
        let (commits, tag) = commits_and_tag(&git, REPOSITORY).await;
        Self { dir, git, commits, tag }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.git.directory(REPOSITORY).join(name)
    }

    /// Returns the ref with the commit of this number.
    fn set(&self, name: &str, commit: usize) -> RefFile {
        RefFile { name: name.to_owned(), value: Some((self.commits[commit].clone(), None)) }
    }

    fn set_tag(&self, name: &str) -> RefFile {
        RefFile { name: name.to_owned(), value: Some((self.tag.clone(), Some(self.commits[0].clone()))) }
    }

    async fn write(&self, refs: Vec<RefFile>) -> Result<(), GitError> {
        let guard = Arc::new(self.git.lock(REPOSITORY).await);
        self.git.write_refs(REPOSITORY, refs, guard).await
    }

    async fn rewrite(&self, refs: Vec<RefFile>) -> Result<(), GitError> {
        let guard = Arc::new(self.git.lock(REPOSITORY).await);
        let rewrite = self.git.begin_rewrite(REPOSITORY, guard).await?;
        rewrite.add(refs).await?.finish().await
    }

    /// Returns what git lists: names with the numbers of commits; `t` for the tag object.
    async fn listed(&self) -> Vec<String> {
        let output = self.git.run(REPOSITORY, ["for-each-ref", "--format=%(refname) %(objectname)"], "").await;
        let output = output.expect("a list");
        assert_eq!(output.stderr, "", "git reads all refs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let short = text.replace(&self.commits[0], "0").replace(&self.commits[1], "1").replace(&self.tag, "t");
        short.lines().map(str::to_owned).collect()
    }
}

fn removed(name: &str) -> RefFile {
    RefFile { name: name.to_owned(), value: None }
}

#[tokio::test]
async fn git_lists_the_refs_that_were_written_and_not_those_that_were_removed() {
    let world = World::new().await;
    let refs = vec![world.set("refs/heads/main", 0), world.set("refs/heads/a/b/c", 1), world.set_tag("refs/tags/v1")];
    world.write(refs).await.expect("written");
    let all = ["refs/heads/a/b/c 1", "refs/heads/main 0", "refs/tags/v1 t"];
    assert_eq!(world.listed().await, all);
    let text = fs::read_to_string(world.path("refs/heads/main")).expect("a file");
    assert_eq!(text, format!("{}\n", world.commits[0]), "the form of git");
    world.git.run(REPOSITORY, ["pack-refs", "--all"], "").await.expect("packed");
    assert_eq!(world.listed().await, all);

    world
        .write(vec![removed("refs/heads/a/b/c"), removed("refs/heads/none"), world.set("refs/heads/main", 1)])
        .await
        .expect("written");
    assert_eq!(world.listed().await, ["refs/heads/main 1", "refs/tags/v1 t"]);
    let list = fs::read_to_string(world.path("packed-refs")).expect("a list");
    assert!(list.contains(&format!("refs/tags/v1\n^{}\n", world.commits[0])), "{list}");
    fs::write(world.path("packed-refs.new"), "half of a list").expect("the file of a killed process");
    world.write(vec![removed("refs/tags/v1")]).await.expect("written");
    let list = fs::read_to_string(world.path("packed-refs")).expect("a list");
    assert!(!list.contains('^'), "{list}");
    assert!(!world.path("packed-refs.lock").exists() && !world.path("packed-refs.new").exists());
}

#[tokio::test]
async fn a_name_replaces_its_directory_and_a_directory_replaces_a_name() {
    let world = World::new().await;
    world.write(vec![world.set("refs/heads/a/b/c", 0), world.set("refs/heads/a/b/d", 0)]).await.expect("written");
    // In any order: removed refs come first.
    let refs = vec![world.set("refs/heads/a", 1), removed("refs/heads/a/b/c"), removed("refs/heads/a/b/d")];
    world.write(refs).await.expect("written");
    assert_eq!(world.listed().await, ["refs/heads/a 1"]);
    world.write(vec![removed("refs/heads/a"), world.set("refs/heads/a/b", 0)]).await.expect("written");
    assert_eq!(world.listed().await, ["refs/heads/a/b 0"]);
    world.write(vec![removed("refs/heads/a/b")]).await.expect("written");
    assert!(!world.path("refs/heads/a").exists() && world.path("refs/heads").exists(), "empty directories");

    fs::create_dir_all(world.path("refs/heads/a/empty")).expect("a directory");
    fs::write(world.path("refs/heads/x"), format!("{}\n", world.commits[0])).expect("a ref without a row");
    world.write(vec![world.set("refs/heads/a", 0), world.set("refs/heads/x/y", 0)]).await.expect("written");
    assert_eq!(world.listed().await, ["refs/heads/a 0", "refs/heads/x/y 0"]);
}

#[tokio::test]
async fn a_lock_file_of_git_stays_and_prevents_the_write() {
    let world = World::new().await;
    world.write(vec![world.set("refs/heads/main", 0), world.set("refs/heads/side", 0)]).await.expect("written");
    world.git.run(REPOSITORY, ["pack-refs", "--all"], "").await.expect("packed");
    world.write(vec![world.set("refs/heads/main", 0)]).await.expect("written");
    for lock in ["packed-refs.lock", "refs/heads/main.lock"] {
        fs::write(world.path(lock), "").expect("a lock");
        let refs = vec![removed("refs/heads/side"), world.set("refs/heads/main", 1)];
        assert!(world.write(refs).await.is_err(), "{lock}");
        assert!(world.rewrite(vec![world.set("refs/heads/main", 1)]).await.is_err(), "{lock}");
        assert!(world.path(lock).exists(), "{lock}");
        fs::remove_file(world.path(lock)).expect("a lock");
        assert!(!world.listed().await.contains(&"refs/heads/main 1".to_owned()), "{lock}");
    }
    world.write(vec![removed("refs/heads/side"), world.set("refs/heads/main", 1)]).await.expect("repeated");
    assert_eq!(world.listed().await, ["refs/heads/main 1"]);
}

#[tokio::test]
async fn git_cannot_pack_a_ref_while_it_is_being_removed() {
    let world = World::new().await;
    world.write(vec![world.set("refs/heads/a", 0), world.set("refs/heads/b", 0)]).await.expect("written");
    let directory = world.path("");
    // The steps of `write`, with git between them.
    let lock = ListLock::take(&directory).expect("locked");
    let name = "refs/heads/a";
    packed::remove(&lock, &HashSet::from([name.as_bytes()])).expect("no list");
    assert!(world.git.run(REPOSITORY, ["pack-refs", "--all"], "").await.is_err(), "the list is locked");
    remove_loose(&directory, name).expect("removed");
    drop(lock);
    world.git.run(REPOSITORY, ["pack-refs", "--all"], "").await.expect("packed");
    assert_eq!(world.listed().await, ["refs/heads/b 0"]);
}

#[tokio::test]
async fn links_are_not_followed() {
    let world = World::new().await;
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("kept"), "kept").expect("a file");
    fs::write(outside.join("kept.lock"), "kept").expect("a file");
    symlink(&outside, world.path("refs/heads/link")).expect("a link");
    assert!(world.write(vec![world.set("refs/heads/link/x", 0)]).await.is_err());
    assert!(world.write(vec![removed("refs/heads/link/kept")]).await.is_err());
    symlink(outside.join("kept"), world.path("refs/heads/file")).expect("a link");
    world.write(vec![world.set("refs/heads/file", 0)]).await.expect("the link is replaced");
    symlink(outside.join("kept"), world.path("packed-refs")).expect("a link");
    assert!(world.write(vec![removed("refs/heads/file")]).await.is_err(), "git would read the list");
    world.rewrite(vec![world.set("refs/heads/link/x", 0)]).await.expect("all links are replaced");
    assert_eq!(world.listed().await, ["refs/heads/link/x 0"]);
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 2);
    assert_eq!(fs::read_to_string(outside.join("kept")).expect("a file"), "kept");
    for name in
        ["refs/../x", "refs/heads/../../x", "refs//x", "HEAD", "refs/heads/x.lock", "refs/heads/a\nb", "refs/pull/1"]
    {
        assert!(world.write(vec![world.set(name, 0)]).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_rewrite_keeps_only_its_refs_and_those_of_the_daemon() {
    let world = World::new().await;
    let (one, two) = (world.commits[0].as_str(), world.commits[1].as_str());
    for (name, id) in
        [("refs/pull/1/head", one), ("refs/farrier/x", one), ("refs/heads/foreign/a", one), ("refs/x/y", two)]
    {
        world.git.run(REPOSITORY, ["update-ref", name, id], "").await.expect("a ref");
    }
    world.git.run(REPOSITORY, ["pack-refs", "--all"], "").await.expect("packed");
    world.git.run(REPOSITORY, ["update-ref", "refs/farrier/x", two], "").await.expect("a newer value");
    world.git.run(REPOSITORY, ["update-ref", "refs/heads/main", two], "").await.expect("a loose ref");
    fs::write(world.path("refs/heads/garbage"), "garbage\n").expect("a file");
    let refs = vec![world.set("refs/heads/main", 0), world.set_tag("refs/tags/v1"), world.set_tag("refs/tags/v2")];
    world.rewrite(refs).await.expect("written");
    let expected = ["refs/farrier/x 1", "refs/heads/main 0", "refs/pull/1/head 0", "refs/tags/v1 t", "refs/tags/v2 t"];
    assert_eq!(world.listed().await, expected);
    let shown = world.git.run(REPOSITORY, ["show-ref", "-d", "--tags"], "").await.expect("a list");
    let peeled = format!("{one} refs/tags/v1^{{}}\n");
    assert!(String::from_utf8_lossy(&shown.stdout).contains(&peeled), "{shown:?}");
    world.rewrite(Vec::new()).await.expect("written");
    assert_eq!(world.listed().await, ["refs/farrier/x 1", "refs/pull/1/head 0"]);
    assert!(!world.path("packed-refs").exists() && world.path("refs/heads").exists());
}

#[tokio::test]
async fn a_rewrite_that_is_given_up_or_fails_changes_no_ref() {
    let world = World::new().await;
    world.write(vec![world.set("refs/heads/main", 0)]).await.expect("written");
    let wrong = [
        vec![removed("refs/heads/a")],
        vec![world.set("refs/heads/b", 0), world.set("refs/heads/a", 0)],
        vec![world.set("refs/heads/a", 0), world.set("refs/heads/a", 0)],
        vec![world.set("refs/farrier/a", 0)],
    ];
    for refs in wrong {
        assert!(world.rewrite(refs.clone()).await.is_err(), "{refs:?}");
        assert!(!world.path("packed-refs.lock").exists());
        assert_eq!(world.listed().await, ["refs/heads/main 0"]);
    }
    let guard = Arc::new(world.git.lock(REPOSITORY).await);
    let rewrite = world.git.begin_rewrite(REPOSITORY, guard).await.expect("begun");
    assert!(world.path("packed-refs.lock").exists());
    drop(rewrite.add(vec![world.set("refs/heads/a", 0)]).await.expect("added"));
    assert!(!world.path("packed-refs.lock").exists());
    assert_eq!(world.listed().await, ["refs/heads/main 0"]);
    assert!(world.git.begin_rewrite(99, Arc::new(world.git.lock(99).await)).await.is_err(), "no repository");
    assert!(!world.git.directory(99).exists());
}

#[tokio::test]
async fn ten_thousand_refs_are_read_by_git_as_they_were_written() {
    let world = World::new().await;
    let names: Vec<String> = (0..10_000).map(|number| format!("refs/heads/{:02}/{number:05}", number % 100)).collect();
    let mut refs: Vec<RefFile> = names.iter().map(|name| world.set(name, 0)).collect();
    refs.push(world.set_tag("refs/tags/v1"));
    refs.sort_by(|a, b| a.name.cmp(&b.name));
    let mut expected: Vec<String> = names.iter().map(|name| format!("{name} 0")).collect();
    expected.push("refs/tags/v1 t".to_owned());
    expected.sort();
    world.rewrite(refs).await.expect("written");
    assert_eq!(world.listed().await, expected);
    let gone: Vec<RefFile> = names.iter().step_by(2).map(|name| removed(name)).collect();
    world.write(gone).await.expect("written");
    let gone: HashSet<String> = names.iter().step_by(2).map(|name| format!("{name} 0")).collect();
    expected.retain(|line| !gone.contains(line));
    assert_eq!(world.listed().await, expected);
}
