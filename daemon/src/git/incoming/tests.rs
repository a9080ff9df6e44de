use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::git::{
    TipKind,
    geometry::{Divided, divide},
    objects::{ObjectId, ObjectLimits},
    tests::{git, object, prune},
};

/// The repository in which the objects are made.
const SOURCE: u64 = 1;
/// The repository that receives packs.
const TARGET: u64 = 2;
const HOLDER: Holder = Holder::Account(1);

/// The ids of two commits with one file each, of a tag of the second one, and of a tag of that tag.
struct Made {
    blob: String,
    tree: String,
    commit: String,
    child: String,
    tag: String,
    outer: String,
}

impl Made {
    fn all(&self) -> [&str; 6] {
        [&self.blob, &self.tree, &self.commit, &self.child, &self.tag, &self.outer].map(String::as_str)
    }
}

/// Creates both repositories, and objects in the first.
async fn make(git: &Git, sha256: bool) -> Made {
    git.init_bare(SOURCE, "main", sha256).await.expect("created");
    git.init_bare(TARGET, "main", sha256).await.expect("created");
    let blob = object(git, SOURCE, "blob", "content".to_owned()).await;
    let tree = git.run(SOURCE, ["mktree"], format!("100644 blob {blob}\tf\n")).await.expect("a tree");
    let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    let people = "author a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n";
    let commit = object(git, SOURCE, "commit", format!("tree {tree}\n{people}")).await;
    let child = object(git, SOURCE, "commit", format!("tree {tree}\nparent {commit}\n{people}")).await;
    let tagger = "tagger a <a@b> 1 +0000\n\nx\n";
    let tag = object(git, SOURCE, "tag", format!("object {child}\ntype commit\ntag v1\n{tagger}")).await;
    let outer = object(git, SOURCE, "tag", format!("object {tag}\ntype tag\ntag v2\n{tagger}")).await;
    Made { blob, tree, commit, child, tag, outer }
}

async fn pack(git: &Git, ids: &[&str]) -> Vec<u8> {
    let ids: String = ids.iter().map(|id| (*id).to_owned() + "\n").collect();
    git.run(SOURCE, ["pack-objects", "-q", "--stdout"], ids).await.expect("a pack").stdout.to_vec()
}

async fn receive(git: &Git, pack: &[u8], max_bytes: u64) -> Receive {
    let mut receiving = git.receive(TARGET, max_bytes, HOLDER).await.expect("started");
    let mut stdin = receiving.stdin().expect("a pipe");
    // Fails if git has refused the pack already.
    let _ = stdin.write_all(pack).await;
    drop(stdin);
    receiving.end().await.expect("git has ended")
}

async fn received(git: &Git, pack: &[u8]) -> IncomingPack {
    match receive(git, pack, 1 << 20).await {
        Receive::Pack(pack) => pack,
        Receive::Refused(reason) => panic!("{reason}"),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn packs(git: &Git, repository: u64) -> PathBuf {
    git.directory(repository).join("objects").join("pack")
}

#[tokio::test]
async fn packs_that_are_not_complete_are_refused_and_leave_nothing_behind() {
    for sha256 in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        let made = make(&git, sha256).await;
        let whole = pack(&git, &made.all()).await;
        let (mut damaged, mut longer) = (whole.clone(), whole.clone());
        damaged[20] ^= 0xff;
        longer.extend_from_slice(b"garbage");
        let lacking = "did not receive expected object";
        let bad = [
            ("parent", pack(&git, &[&made.blob, &made.tree, &made.child]).await, lacking),
            ("blob", pack(&git, &[&made.tree, &made.commit]).await, lacking),
            ("tree", pack(&git, &[&made.blob, &made.commit]).await, lacking),
            ("target of a tag", pack(&git, &[&made.tag]).await, lacking),
            ("end", whole[..whole.len() - 5].to_vec(), "early EOF"),
            ("everything", Vec::new(), "early EOF"),
            ("valid bytes", damaged, "fatal: "),
            ("an end after the pack", longer, "more data after the pack"),
        ];
        for (lack, bytes, expected) in bad {
            match receive(&git, &bytes, 1 << 20).await {
                Receive::Refused(reason) => assert!(reason.contains(expected), "{lack}: {reason}"),
                Receive::Pack(_) => panic!("a pack that lacks {lack} was accepted"),
            }
        }
        match receive(&git, &whole, 50).await {
            Receive::Refused(reason) => assert!(reason.contains("maximum allowed size"), "{reason}"),
            Receive::Pack(_) => panic!("a pack above the limit was accepted"),
        }
        assert_eq!(names(&dir.path().join("incoming")), [""; 0], "no workspace is left");
        assert_eq!(names(&packs(&git, TARGET)), [""; 0], "nothing was stored");

        let incoming = received(&git, &whole).await;
        assert_eq!((incoming.objects, incoming.bytes), (6, whole.len() as u64));
        assert_eq!(incoming.install(TARGET).await.expect("installed"), whole.len() as u64);
        assert_eq!(names(&packs(&git, TARGET)).len(), 2);
        git.run(TARGET, ["fsck", "--full", "--strict"], "").await.expect("complete");
        assert_eq!(names(&dir.path().join("incoming")), [""; 0], "no workspace is left");
    }
}

#[tokio::test]
async fn a_pack_builds_on_what_the_repository_has_and_may_be_dropped_or_empty() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    let made = make(&git, false).await;
    let base = pack(&git, &[&made.blob, &made.tree, &made.commit]).await;
    let next = pack(&git, &[&made.child]).await;
    assert!(matches!(receive(&git, &next, 1 << 20).await, Receive::Refused(_)));
    received(&git, &base).await.install(TARGET).await.expect("installed");
    drop(received(&git, &next).await);
    assert_eq!(names(&packs(&git, TARGET)).len(), 2, "a dropped pack is not stored");
    received(&git, &next).await.install(TARGET).await.expect("installed");
    received(&git, &next).await.install(TARGET).await.expect("installed");
    assert_eq!(names(&packs(&git, TARGET)).len(), 6, "equal packs have different names");
    let empty = received(&git, &pack(&git, &[]).await).await;
    assert_eq!((empty.objects, empty.install(TARGET).await.expect("nothing to do")), (0, 0));
    assert_eq!(names(&packs(&git, TARGET)).len(), 6);
    // The reception ends when it is dropped.
    let receiving = git.receive(TARGET, 1 << 20, HOLDER).await.expect("started");
    drop(receiving);
    let gone = received(&git, &next).await;
    git.remove(TARGET).await.expect("removed");
    gone.install(TARGET).await.expect_err("the repository was deleted");
    assert!(!git.directory(TARGET).exists(), "no part of it is created again");
}

#[tokio::test]
async fn a_pack_is_checked_again_after_objects_were_removed() {
    for sha256 in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        let made = make(&git, sha256).await;
        let base = pack(&git, &[&made.blob, &made.tree, &made.commit]).await;
        received(&git, &base).await.install(TARGET).await.expect("installed");
        let next = received(&git, &pack(&git, &[&made.child]).await).await;
        assert_eq!(next.problem().await.expect("checked"), None);
        assert_eq!(next.problem().await.expect("checked"), None, "as often as necessary");
        for name in names(&packs(&git, TARGET)) {
            fs::remove_file(packs(&git, TARGET).join(name)).expect("removed");
        }
        let problem = next.problem().await.expect("checked");
        assert!(problem.as_ref().is_some_and(|text| text.contains("did not receive expected object")), "{problem:?}");
        received(&git, &base).await.install(TARGET).await.expect("installed");
        assert_eq!(next.problem().await.expect("checked"), None);
        next.install(TARGET).await.expect("installed");
        assert_eq!(names(&packs(&git, TARGET)).len(), 4);
    }
}

#[tokio::test]
async fn types_and_targets_of_tips_are_those_that_git_finds() {
    for sha256 in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let git = git(dir.path());
        let made = make(&git, sha256).await;
        let base = pack(&git, &[&made.blob, &made.tree, &made.commit, &made.child]).await;
        received(&git, &base).await.install(TARGET).await.expect("installed");
        let tags = received(&git, &pack(&git, &[&made.tag, &made.outer]).await).await;
        let mut ids = made.all().map(str::to_owned).to_vec();
        let other_length = if sha256 { made.blob[..40].to_owned() } else { "ab".repeat(32) };
        ids.extend(["0".repeat(made.blob.len()), "HEAD".to_owned(), String::new(), other_length]);
        let (other, commit, tag) = (Some(TipKind::Other), Some(TipKind::Commit), Some(TipKind::Tag));
        let with = [other, other, commit, commit, tag, tag, None, None, None, None];
        let without = [other, other, commit, commit, None, None, None, None, None, None];
        let parsed: Vec<_> = ids.iter().map(|id| ObjectId::parse(id)).collect();
        for (pack, expected) in [(Some(&tags), with), (None, without)] {
            assert_eq!(git.kinds(TARGET, pack, &ids).await.expect("read"), expected);
            assert_eq!(git.kinds_by_git(TARGET, pack, &parsed).await.expect("read"), expected);
        }
        let mut expected = BTreeMap::new();
        for id in made.all() {
            let peeled = git.run(SOURCE, ["rev-parse".to_owned(), format!("{id}^{{}}")], "").await.expect("an id");
            expected.insert(id.to_owned(), String::from_utf8_lossy(&peeled.stdout).trim().to_owned());
        }
        expected.retain(|id, peeled| id != peeled);
        assert_eq!(expected.len(), 2);
        assert_eq!(git.all_peeled(TARGET, Some(&tags), &ids).await.expect("read"), expected);
        let present: Vec<_> = made.all().iter().filter_map(|id| ObjectId::parse(id)).collect();
        assert_eq!(git.peeled_by_git(TARGET, Some(&tags), &present).await.expect("read"), expected);
        assert!(git.all_peeled(TARGET, None, &ids).await.expect("read").is_empty(), "they are not in the repository");
        for id in made.all() {
            let found = git.peeled(TARGET, Some(&tags), id).await.expect("read");
            assert_eq!(found.as_ref(), expected.get(id), "{id}");
        }
        git.peeled_by_git(TARGET, None, &present).await.expect_err("a tag is missing");
    }
}

#[tokio::test]
async fn an_installation_that_was_killed_prevents_neither_a_later_one_nor_pruning() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    let made = make(&git, false).await;
    // The state if the daemon is killed between the two renames.
    let half = received(&git, &pack(&git, &made.all()).await).await;
    fs::copy(&half.files.index, packs(&git, TARGET).join("pack-1.idx")).expect("a file");
    assert_eq!(git.kinds(TARGET, None, std::slice::from_ref(&made.child)).await.expect("read"), [None]);
    half.install(TARGET).await.expect("installed");
    assert_eq!(
        git.kinds(TARGET, None, std::slice::from_ref(&made.child)).await.expect("read"),
        [Some(TipKind::Commit)]
    );
    let lock = git.lock(TARGET).await;
    prune(&git, TARGET, (1_000_000_000, 1), &lock).await;
    git.run(TARGET, ["cat-file", "-e", &made.child], "").await.expect("it is kept until it has expired");
}

#[tokio::test]
async fn objects_are_connected_only_if_none_that_they_reach_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    let made = make(&git, false).await;
    // A repository that lacks objects which its own objects name.
    let hole = pack(&git, &[&made.tree, &made.commit]).await;
    git.run(TARGET, ["unpack-objects", "-q"], hole).await.expect("stored");
    let next = received(&git, &pack(&git, &[&made.child]).await).await;
    let tips = [made.child.clone()];
    assert!(!git.is_connected(TARGET, Some(&next), &tips, Some(HOLDER)).await.expect("read"));
    assert!(!git.is_connected(TARGET, None, &tips, Some(HOLDER)).await.expect("read"), "it is only in the pack");
    received(&git, &pack(&git, &[&made.blob]).await).await.install(TARGET).await.expect("installed");
    assert!(git.is_connected(TARGET, Some(&next), &tips, Some(HOLDER)).await.expect("read"));
    next.install(TARGET).await.expect("installed");
    assert!(git.is_connected(TARGET, None, &tips, Some(HOLDER)).await.expect("read"));
    let mut shares = Vec::new();
    while let Ok(share) = git.reads().take(HOLDER) {
        shares.push(share);
    }
    // Not before: the time would pass while git runs.
    tokio::time::pause();
    let refused = git.is_connected(TARGET, None, &tips, Some(HOLDER)).await;
    assert!(matches!(refused, Err(GitError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn a_reader_that_listed_the_packs_before_finds_an_installed_pack() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    let made = make(&git, false).await;
    let id = ObjectId::parse(&made.commit).expect("an id");
    let limits = || ObjectLimits::new(Instant::now() + git.timeout(), Arc::default(), None);
    let mut reader = git.object_reader(TARGET, limits()).expect("a reader");
    assert!(reader.info(&id).expect("read").is_none());
    let generation = git.0.generations.get(TARGET);
    received(&git, &pack(&git, &made.all()).await).await.install(TARGET).await.expect("installed");
    assert_ne!(git.0.generations.get(TARGET), generation, "stored answers are not used any more");
    assert!(reader.info(&id).expect("read").is_some());
    assert!(git.object_reader(TARGET, limits()).expect("a reader").info(&id).expect("read").is_some());
}

#[test]
fn copies_from_another_file_system_become_packs_or_are_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let (from, packs) = (dir.path().join("from"), dir.path().join("pack"));
    for directory in [&from, &packs] {
        fs::create_dir(directory).expect("a directory");
    }
    let files = PackFiles::new(&from);
    fs::write(&files.pack, "pack").expect("a file");
    fs::write(&files.index, "index").expect("a file");
    let (pack, index) = (packs.join("pack-1.pack"), packs.join("pack-1.idx"));
    files.install_copies(&packs, "now", (&pack, &index)).expect("copied");
    let content = |path: &Path| fs::read_to_string(path).expect("a file");
    assert_eq!((content(&pack), content(&index), names(&packs).len()), ("pack".to_owned(), "index".to_owned(), 2));

    let blocked = packs.join("blocked");
    fs::create_dir(&blocked).expect("a directory");
    files.install_copies(&packs, "now", (&blocked, &index)).expect_err("a directory is in the way");
    assert_eq!(names(&packs).len(), 3, "no copy is left");

    for left in ["incoming-earlier-1.pack", "incoming-now-1.pack"] {
        fs::write(packs.join(left), "").expect("a file");
    }
    remove_copies(&packs, "now").expect("removed");
    let mut left = names(&packs);
    left.sort_unstable();
    assert_eq!(left, ["blocked", "incoming-now-1.pack", "pack-1.idx", "pack-1.pack"]);
}

#[tokio::test]
async fn many_packs_become_few_while_an_earlier_fetch_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git(dir.path());
    git.init_bare(SOURCE, "main", false).await.expect("created");
    git.init_bare(TARGET, "main", false).await.expect("created");
    git.init_bare(3, "main", false).await.expect("created");
    // Does not fit into a pipe, so the fetch waits for its reader.
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let large: Vec<u8> = (0..4_000_000).map(|_| random()).collect();
    let blob = git.run(SOURCE, ["hash-object", "-w", "--stdin"], large).await.expect("an object");
    let large = String::from_utf8_lossy(&blob.stdout).trim().to_owned();
    let blobs = (0..200).map(|n| format!("blob\ndata 4\n{n:04}\n")).collect::<Vec<_>>();
    git.run(SOURCE, ["fast-import", "--quiet"], blobs.concat()).await.expect("imported");
    let list = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    let listed = git.run(SOURCE, list, "").await.expect("a list");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let small = listed.lines().filter(|id| *id != large);
    let ids: Vec<_> = std::iter::once(large.as_str()).chain(small).collect();
    assert_eq!(ids.len(), 201);
    let (early, late) = ids.split_at(16);
    for id in early {
        store(&git, id).await;
    }
    assert!(!tidy(&git).await, "nothing to do");

    let mut fetch = git.call(TARGET, ["pack-objects", "-q", "--stdout"]).stream(HOLDER).await.expect("started");
    let mut stdin = fetch.stdin().expect("a pipe");
    stdin.write_all((early.join("\n") + "\n").as_bytes()).await.expect("written");
    drop(stdin);
    let mut fetched = vec![fetch.read_u8().await.expect("the beginning of the pack")];
    let mut tidied = 0;
    for id in late {
        store(&git, id).await;
        tidied += usize::from(tidy(&git).await);
        let count = names(&packs(&git, TARGET)).iter().filter(|name| name.ends_with(".idx")).count();
        assert!(count <= 20, "{count} packs");
    }
    assert!((5..100).contains(&tidied), "tidied {tidied} times");
    let left = names(&packs(&git, TARGET));
    assert!(!left.iter().any(|name| name.starts_with("multi-pack-index")), "a small repository gets no bitmap");
    git.run(TARGET, ["fsck", "--full", "--strict"], "").await.expect("complete");
    let here = git.run(TARGET, list, "").await.expect("a list");
    assert_eq!(String::from_utf8_lossy(&here.stdout), listed);

    fetch.read_to_end(&mut fetched).await.expect("the pack");
    assert_eq!(fetch.wait().await.expect("ended").status, Some(0));
    git.run(3, ["index-pack", "--stdin", "--strict"], fetched).await.expect("complete");
    let here = git.run(3, list, "").await.expect("a list");
    assert_eq!(String::from_utf8_lossy(&here.stdout).lines().count(), early.len());
}

/// Stores an object in the second repository like a push.
async fn store(git: &Git, id: &str) {
    match receive(git, &pack(git, &[id]).await, 8 << 20).await {
        Receive::Pack(pack) => assert!(pack.install(TARGET).await.expect("installed") > 0),
        Receive::Refused(reason) => panic!("{reason}"),
    }
}

/// Combines packs of the target if that is worthwhile. Returns whether it was.
async fn tidy(git: &Git) -> bool {
    if git.untidiness(TARGET).await.expect("listed").is_none() {
        return false;
    }
    let found = git.pack_changes(TARGET, false, (BTreeSet::new(), BTreeSet::new())).await.expect("listed").added;
    let Divided { combined, others } = divide(found.into_iter().map(|(name, facts)| (name, facts.objects)).collect());
    if let Some(pack) = git.combine_packs(TARGET, &combined, &others).await.expect("combined") {
        pack.install(TARGET).await.expect("installed");
    }
    let lock = git.lock(TARGET).await;
    git.hide_packs(TARGET, combined.into_iter().collect(), &lock).await.expect("hidden");
    true
}
