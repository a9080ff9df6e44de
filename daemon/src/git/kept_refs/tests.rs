use std::{collections::BTreeMap, fs::File};

use super::*;
use crate::{
    git::{
        ref_list::{Head, Peeled, Tip},
        tests,
    },
    shares::{Holder, MemoryBudget, RequestMemory},
};

const REPOSITORY: u64 = 7;

struct World {
    git: Git,
    path: PathBuf,
    memory: Arc<RequestMemory>,
    _dir: tempfile::TempDir,
}

impl World {
    /// Creates a repository whose files seem to be old.
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let git = tests::git(dir.path());
        git.init_bare(REPOSITORY, "main", false).await.expect("created");
        let memory = Arc::new(MemoryBudget::new(16).request(Holder::Address(None)));
        let world = Self { path: git.directory(REPOSITORY), git, memory, _dir: dir };
        world.age();
        world
    }

    /// Makes all files and directories that are compared a minute older, so that nothing was changed just before.
    fn age(&self) {
        let mut paths = Vec::new();
        assert!(add_directories(self.path.join("refs"), &mut paths).expect("readable"));
        for path in FILES.iter().map(|file| self.path.join(file)).chain(paths.into_iter().map(|(path, _)| path)) {
            let Ok(file) = File::open(&path) else { continue };
            let modified = file.metadata().and_then(|found| found.modified()).expect("a time");
            file.set_modified(modified - Duration::from_secs(60)).expect("set");
        }
    }

    /// Writes a loose ref as git does.
    fn write(&self, name: &str, digit: char) {
        let (path, lock) = (self.path.join(name), self.path.join(format!("{name}.lock")));
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&lock, format!("{}\n", digit.to_string().repeat(40))).expect("a file");
        fs::rename(lock, path).expect("renamed");
    }

    /// Returns the names and the first digits of the refs that the next request gets.
    async fn list(&self) -> Vec<String> {
        let list = self.git.ref_list(REPOSITORY, &self.memory).await.expect("readable").expect("supported");
        list.tips.iter().map(|(name, tip)| format!("{name} {}", &tip.id[..1])).collect()
    }

    fn is_kept(&self) -> bool {
        self.git.kept_refs(REPOSITORY).is_some_and(|kept| kept.list().is_some())
    }
}

#[tokio::test]
async fn a_list_is_read_once_until_somebody_takes_the_lock() {
    let world = World::new().await;
    world.write("refs/heads/a", '1');
    world.age();
    assert!(!world.is_kept());
    assert_eq!(world.list().await, ["refs/heads/a 1"]);
    let first = world.git.kept_refs(REPOSITORY).expect("kept");
    assert_eq!(world.list().await, ["refs/heads/a 1"]);
    assert!(Arc::ptr_eq(&first, &world.git.kept_refs(REPOSITORY).expect("kept")), "it was not read again");
    let lock = world.git.lock(REPOSITORY).await;
    assert!(!world.is_kept());
    assert_eq!(world.list().await, ["refs/heads/a 1"]);
    assert!(!world.is_kept(), "the holder of the lock may be changing refs");
    drop(lock);
    world.list().await;
    assert!(world.is_kept());
}

#[tokio::test]
async fn each_change_in_the_directory_is_in_the_next_list() {
    let world = World::new().await;
    world.write("refs/heads/a", '1');
    for change in ["moved", "new", "in a new directory", "deleted", "packed", "default branch", "configuration", "pack"]
    {
        world.age();
        world.list().await;
        assert!(world.is_kept(), "before: {change}");
        match change {
            "moved" => world.write("refs/heads/a", '2'),
            "new" => world.write("refs/heads/b", '1'),
            "in a new directory" => world.write("refs/heads/c/d", '1'),
            "deleted" => fs::remove_file(world.path.join("refs/heads/b")).expect("removed"),
            "packed" => {
                let line = format!("{} refs/heads/p\n", "3".repeat(40));
                fs::write(world.path.join("packed-refs"), line).expect("a file");
            }
            "default branch" => world.git.set_head(REPOSITORY, "other").await.expect("set"),
            "configuration" => fs::write(world.path.join("config"), "[core]\n\tbare = true\n").expect("a file"),
            _ => fs::write(world.path.join("objects/pack/pack-1.keep"), "").expect("a file"),
        }
        assert!(!world.is_kept(), "after: {change}");
    }
    assert_eq!(world.list().await, ["refs/heads/a 2", "refs/heads/c/d 1", "refs/heads/p 3"]);
    fs::remove_dir_all(&world.path).expect("removed");
    assert!(!world.is_kept());
    assert!(world.git.ref_list(REPOSITORY, &world.memory).await.is_err(), "the repository was removed");
}

#[tokio::test]
async fn loose_tags_are_followed_without_a_process() {
    let world = World::new().await;
    let object = async |kind: &str, text: String| {
        let written = world.git.run(REPOSITORY, ["hash-object", "-t", kind, "-w", "--stdin"], text).await;
        String::from_utf8_lossy(&written.expect("written").stdout).trim().to_owned()
    };
    let tag = |id: &str, kind: &str| format!("object {id}\ntype {kind}\ntag v\ntagger a <a@b> 1 +0000\n\nx\n");
    let blob = object("blob", "content".to_owned()).await;
    let inner = object("tag", tag(&blob, "blob")).await;
    let outer = object("tag", tag(&inner, "tag")).await;
    fs::create_dir_all(world.path.join("refs/tags")).expect("a directory");
    for (name, id) in [("blob", &blob), ("inner", &inner), ("outer", &outer), ("missing", &"1".repeat(40))] {
        fs::write(world.path.join("refs/tags").join(name), format!("{id}\n")).expect("a file");
    }
    world.age();
    let (_, started) = world.git.processes();
    world.list().await;
    assert_eq!(world.git.processes().1, started);
    let kept = world.git.kept_refs(REPOSITORY).expect("kept");
    let tips = kept.list().expect("kept").tips.values().map(|tip| tip.peeled.clone());
    // In the order of the names: `blob`, `inner`, `missing`, `outer`.
    let target = Peeled::To(blob);
    assert_eq!(tips.collect::<Vec<_>>(), [Peeled::Same, target.clone(), Peeled::Unknown, target]);
}

#[tokio::test]
async fn what_was_changed_just_before_is_not_kept() {
    let world = World::new().await;
    let read = |now| RefStamp::read(&world.path, (0, 0), now).expect("readable");
    world.write("refs/heads/a", '1');
    let written = fs::metadata(world.path.join("refs/heads")).and_then(|found| found.modified()).expect("a time");
    assert!(read(written).is_none() && read(written + SETTLED_AFTER - Duration::from_nanos(1)).is_none());
    assert!(read(written - Duration::from_secs(1)).is_none(), "the clock was set back");
    let stamp = read(written + SETTLED_AFTER).expect("nothing changed just before");
    assert!(stamp.matches_files());
    let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert!(!is_settled(whole, whole + Duration::from_millis(1_999)), "the file system may store whole seconds only");
    assert!(is_settled(whole, whole + SECONDS_SETTLED_AFTER));
}

#[tokio::test]
async fn a_change_while_refs_are_read_is_not_lost() {
    let world = World::new().await;
    let empty = Arc::new(RefList { head: Head::Ref("refs/heads/main".into()), tips: BTreeMap::new() });
    for with_lock in [true, false] {
        world.age();
        let stamp = world.git.begin_keeping(REPOSITORY);
        assert!(stamp.is_some());
        // The list was read before this change.
        if with_lock {
            drop(world.git.lock(REPOSITORY).await);
        } else {
            world.write("refs/heads/a", '1');
        }
        world.git.keep_refs(REPOSITORY, stamp, |kept| kept.set_list(&empty));
        assert!(!world.is_kept(), "{with_lock}");
    }
    let _lock = world.git.lock(REPOSITORY).await;
    world.age();
    assert!(world.git.begin_keeping(REPOSITORY).is_none(), "somebody holds the lock");
}

#[tokio::test]
async fn what_belongs_to_one_stamp_is_kept_together() {
    let world = World::new().await;
    world.list().await;
    let state = world.git.fetch_state(REPOSITORY).await.expect("readable").expect("supported");
    for request in 0..=REQUESTS_MAX {
        let stamp = world.git.begin_keeping(REPOSITORY);
        world.git.keep_refs(REPOSITORY, stamp, |kept| {
            kept.set_state(state);
            kept.add_found([u8::try_from(request).expect("small"); 32]);
        });
    }
    let kept = world.git.kept_refs(REPOSITORY).expect("kept");
    assert!(kept.list().is_some() && kept.state() == Some(state));
    let found = |request: usize| kept.has_objects_of(&[u8::try_from(request).expect("small"); 32]);
    assert!(found(REQUESTS_MAX) && !found(0), "the number of requests is limited");
    let mut kept = Kept::clone(&kept);
    (0..REQUESTS_MAX).for_each(|_| kept.add_found([255; 32]));
    assert!(kept.has_objects_of(&[u8::try_from(REQUESTS_MAX).expect("small"); 32]), "equal requests count once");
}

#[tokio::test]
async fn the_memory_of_what_is_kept_is_limited() {
    let world = World::new().await;
    let list = |refs: usize| {
        let tip = |_| Tip { id: "1".repeat(40), peeled: Peeled::Same };
        let tips = (0..refs).map(|number| (format!("refs/heads/{number}"), tip(number))).collect();
        Arc::new(RefList { head: Head::Ref("refs/heads/main".into()), tips })
    };
    let stamp = || RefStamp { generations: (0, 0), paths: Vec::new() };
    let (kept, largest) = (KeptRefs::default(), list(2_500));
    kept.add(0, stamp(), |kept| kept.set_list(&list(5_000)));
    assert!(kept.get(0).is_some_and(|kept| kept.list().is_none()), "a long list is not kept");
    for repository in 1..40 {
        kept.add(repository, stamp(), |kept| kept.set_list(&largest));
        kept.add(repository, stamp(), |kept| kept.set_list(&largest));
        let table = kept.table();
        let sum: usize = table.repositories.values().map(|kept| kept.bytes()).sum();
        assert!(table.bytes == sum && sum <= KEPT_MAX_BYTES, "{repository}");
    }
    for repository in 0..40 {
        if let Some(found) = kept.get(repository) {
            kept.remove(repository, &found);
        }
    }
    assert_eq!(kept.table().bytes, 0);
    for number in 0..=PATHS_MAX {
        fs::create_dir_all(world.path.join(format!("refs/heads/{number}"))).expect("a directory");
    }
    let created = fs::metadata(world.path.join("refs/heads")).and_then(|found| found.modified()).expect("a time");
    let later = created + Duration::from_secs(60);
    assert!(RefStamp::read(&world.path, (0, 0), later).expect("readable").is_none(), "too many directories to compare");
}
