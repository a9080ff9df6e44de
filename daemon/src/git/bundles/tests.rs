use std::time::Duration;

use super::*;
use crate::shares::{Holder, MemoryBudget};

fn config(max_bytes: u64) -> config::GitConfig {
    config::GitConfig {
        max_processes: 4,
        timeout: Duration::from_secs(60),
        bundle_min_bytes: 10,
        bundle_max_bytes: max_bytes,
        ..config::GitConfig::default()
    }
}

fn facts(repository: u64) -> RepositoryFacts {
    RepositoryFacts { repository, owner: (1, 1), name: "demo".into(), private: false }
}

fn bundle(bundles: &Bundles, name: &str, size: u64) -> Arc<Bundle> {
    let path = bundles.directory.join(name);
    Arc::new(Bundle { token: name.into(), size, creation_token: 1, tips: Vec::new(), path })
}

/// Writes and publishes a base of `size` bytes.
fn publish(bundles: &Bundles, repository: u64, size: u64, now: Millis) {
    bundles.begin(repository, true);
    bundles.grow(size).expect("room");
    let set = BundleSet::new(facts(repository), vec![bundle(bundles, "base", size)], 0);
    bundles.publish(Arc::new(set), now).expect("unchanged");
}

fn ids(bundles: &Bundles) -> Vec<u64> {
    bundles.kept().into_iter().map(|(repository, _)| repository).collect()
}

#[test]
fn only_repositories_between_the_smallest_and_the_largest_size_have_bundles() {
    let of = |min, max| {
        let config = config::GitConfig { bundle_min_bytes: min, ..config(max) };
        Bundles::new(Path::new("/nonexistent"), &config)
    };
    let bundles = of(10, 100);
    assert!(bundles.are_on() && bundles.accepts(10) && bundles.accepts(100));
    assert!(!bundles.accepts(9) && !bundles.accepts(101));
    assert!(!of(0, 100).are_on() && !of(0, 100).accepts(50), "0 turns bundles off");
    assert!(!of(10, 0).are_on());
}

#[test]
fn the_least_used_bundles_of_other_repositories_make_room() {
    let bundles = Bundles::new(Path::new("/nonexistent"), &config(100));
    publish(&bundles, 1, 40, 10);
    publish(&bundles, 2, 40, 20);
    bundles.note_use(1, 30);
    bundles.begin(3, true);
    assert_eq!(bundles.grow(20).expect("room").len(), 0);
    assert_eq!(bundles.usage().bytes, 100);
    assert_eq!(bundles.grow(1).expect("room").len(), 1);
    assert_eq!(ids(&bundles), [1], "repository 2 was used before repository 1");
    bundles.end();
    assert_eq!(bundles.usage(), BundleUsage { repositories: 1, bytes: 40, max_bytes: 100, served_bytes: 0 });
    // An increment needs the bundles before it. A base replaces them.
    bundles.begin(1, false);
    assert_eq!(bundles.grow(61).expect_err("too large"), BundleRefused::TooLarge { limit: 100 });
    bundles.begin(1, true);
    assert_eq!(bundles.grow(100).expect("room").len(), 1);
    assert_eq!(bundles.grow(1).expect_err("too large"), BundleRefused::TooLarge { limit: 100 });
}

#[test]
fn the_names_of_branches_have_limited_memory() {
    let bundles = Bundles::new(Path::new("/nonexistent"), &config(100));
    let tips = vec![("x".repeat(create::TIPS_MAX_BYTES), String::new())];
    for repository in 1..=9 {
        bundles.begin(repository, true);
        let of_tips =
            Bundle { token: "0a".into(), size: 1, creation_token: 1, tips: tips.clone(), path: PathBuf::new() };
        let set = BundleSet::new(facts(repository), vec![Arc::new(of_tips)], 0);
        bundles.publish(Arc::new(set), 10).expect("unchanged");
        assert_eq!(bundles.limit_tips(repository).len(), usize::from(repository == 9));
        bundles.note_use(1, 20);
    }
    assert_eq!(ids(&bundles), [1, 3, 4, 5, 6, 7, 8, 9], "repository 1 was used after the others");
}

#[test]
fn a_bundle_of_a_repository_that_was_changed_meanwhile_is_not_published() {
    let bundles = Bundles::new(Path::new("/nonexistent"), &config(100));
    publish(&bundles, 1, 40, 0);
    for (changed, published) in [(1, false), (2, true)] {
        bundles.begin(1, true);
        bundles.forget(changed);
        let set = Arc::new(BundleSet::new(facts(1), vec![bundle(&bundles, "new", 10)], 0));
        assert_eq!(bundles.grow(10).is_ok(), published);
        assert_eq!(bundles.publish(set, 0).is_ok(), published);
        assert_eq!(bundles.set(1).is_some(), published);
    }
}

#[test]
fn an_outdated_set_is_dropped_once_and_newer_bundles_and_clones_stay() {
    let bundles = Bundles::new(Path::new("/nonexistent"), &config(100));
    publish(&bundles, 1, 40, 0);
    let outdated = bundles.set(1).expect("bundles");
    assert!(bundles.forget_set(&outdated) && bundles.set(1).is_none());
    bundles.note_request(1, 0);
    bundles.count_clone(1, 0);
    assert!(!bundles.forget_set(&outdated));
    bundles.count_clone(1, 0);
    assert_eq!(bundles.wanted(0), [1], "both clones were counted");
    publish(&bundles, 1, 40, 0);
    assert!(!bundles.forget_set(&outdated) && bundles.set(1).is_some());
}

#[test]
fn bundles_of_an_earlier_daemon_are_removed_at_the_start() {
    let dir = tempfile::tempdir().expect("a directory");
    let create = |names: &[&str]| -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = names.iter().map(|name| dir.path().join(name)).collect();
        for path in &paths {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "x").expect("a file");
        }
        paths
    };
    let open = || {
        Git::open(dir.path(), &config::GitConfig { bundle_min_bytes: 0, ..config(0) }).expect("directories");
    };
    let old = ["bundles/7/base-0a.bundle", "bundles/7/daily-0b.bundle", "bundles/8/new-1", "bundles/9/base-0c.bundle"];
    create(&old);
    open();
    assert!(!dir.path().join("bundles").exists(), "nothing else was there");
    // Files of the administrator, in a directory with an obvious name.
    let others = create(&["bundles/base-0a.bundle", "bundles/x/base-0a.bundle", "bundles/9/mine.bundle", "other"]);
    std::os::unix::fs::symlink(dir.path().join("bundles/x"), dir.path().join("bundles/10")).expect("a link");
    let old = create(&old);
    open();
    assert!(old.iter().all(|path| !path.exists()) && others.iter().all(|path| path.exists()));
}

/// Creates a commit with `parent` on the branch `name`. Returns its id.
async fn commit(git: &Git, name: &str, parent: Option<&str>) -> String {
    let tree = git.run(7, ["mktree"], "").await.expect("a tree").stdout;
    let tree = String::from_utf8_lossy(&tree).trim().to_owned();
    let mut call = git.call(7, ["commit-tree", "-m", name]);
    for (key, value) in [("NAME", "A"), ("EMAIL", "a@example.com")] {
        call = call.env(&format!("GIT_AUTHOR_{key}"), value).env(&format!("GIT_COMMITTER_{key}"), value);
    }
    let parents = parent.map(|parent| ["-p", parent]);
    let written = call.args(parents.into_iter().flatten()).args([tree]).run().await.expect("a commit").stdout;
    let id = String::from_utf8_lossy(&written).trim().to_owned();
    git.run(7, ["update-ref", &format!("refs/heads/{name}"), &id], "").await.expect("a branch");
    id
}

#[tokio::test]
async fn bundles_are_current_until_a_commit_in_them_is_unreachable() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = Git::open(dir.path(), &config(100)).expect("directories");
    git.init_bare(7, "main", false).await.expect("created");
    let first = commit(&git, "main", None).await;
    let side = commit(&git, "side", Some(&first)).await;
    git.run(7, ["update-ref", "refs/tags/v1", &first], "").await.expect("a tag");
    let tips = [("refs/heads/main", &first), ("refs/heads/side", &side), ("refs/tags/v1", &first)];
    let tips = tips.map(|(name, id)| (name.to_owned(), id.clone())).to_vec();
    let bundle = Bundle { token: "0a".into(), size: 1, creation_token: 1, tips, path: PathBuf::new() };
    let set = Arc::new(BundleSet::new(facts(7), vec![Arc::new(bundle)], 0));
    let memory = |mib| Arc::new(MemoryBudget::new(mib).request(Holder::Address(None)));
    let compared = async |mib| git.bundles_are_current(&set, &memory(mib)).await.expect("readable");
    let is_current = async || compared(1_024).await.expect("comparable");
    let has_news = async || git.has_news(7, &set.ids(), &memory(1_024)).await.expect("readable");
    let (_, started) = git.processes();
    assert!(is_current().await);
    assert_eq!(git.processes().1, started, "equal refs need no process");
    assert_eq!(has_news().await, Some(false));

    let second = commit(&git, "main", Some(&first)).await;
    assert_eq!(has_news().await, Some(true));
    let (_, started) = git.processes();
    assert!(is_current().await && is_current().await);
    assert_eq!(git.processes().1, started + 1, "the result is remembered");
    commit(&git, "new", Some(&second)).await;
    assert!(is_current().await, "another branch");

    git.run(7, ["update-ref", "refs/tags/v1", &second], "").await.expect("moved");
    assert!(!is_current().await, "a moved tag");
    git.run(7, ["update-ref", "refs/tags/v1", &first], "").await.expect("moved");
    assert!(is_current().await);
    git.run(7, ["update-ref", "refs/heads/side", &second], "").await.expect("moved");
    assert!(!is_current().await, "a branch that lost a commit");
    git.run(7, ["update-ref", "refs/heads/kept", &side], "").await.expect("a branch");
    assert!(is_current().await, "another branch has the commit");
    git.run(7, ["update-ref", "-d", "refs/heads/side"], "").await.expect("deleted");
    assert!(!is_current().await, "a deleted branch");
    let packed = format!("{first} refs/heads/{}\n", "x".repeat(200)).repeat(2_000);
    fs::write(git.directory(7).join("packed-refs"), packed).expect("a file");
    assert_eq!(compared(1).await, None, "the list does not fit into the memory of requests");
}
