use std::{fs, path::PathBuf, sync::Arc};

use super::*;
use crate::shares::{Holder, MemoryBudget};

/// A repository with one pack.
async fn packed(dir: &Path) -> Git {
    let git = git_in(dir);
    git.init_bare(ID, "main", false).await.expect("created");
    run(&git, &["fast-import", "--quiet"], history(23, 20)).await;
    run(&git, &["repack", "-adfq", "--depth=50", "--window=50"], "").await;
    run(&git, &["prune-packed"], "").await;
    git
}

/// The file of the only pack that ends with `end`.
fn file(git: &Git, end: &str) -> PathBuf {
    let packs = fs::read_dir(git.directory(ID).join("objects/pack")).expect("a directory");
    let mut files = packs.flatten().map(|entry| entry.path());
    files.find(|path| path.to_string_lossy().ends_with(end)).expect("a pack")
}

/// Replaces a read-only file.
fn replace(path: &Path, content: &[u8]) {
    fs::remove_file(path).expect("removed");
    fs::write(path, content).expect("a file");
}

#[tokio::test]
async fn reads_of_damaged_packs_and_indexes_end_and_give_complete_objects() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = packed(dir.path()).await;
    let all = run(&git, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], "").await;
    let ids: Vec<String> = all.lines().map(str::to_owned).collect();
    let expected = fresh(&git).objects_directly(&ids, 64 << 20).await.expect("read").expect("supported");
    let mut random = Random(99);
    for end in [".pack", ".idx"] {
        let path = file(&git, end);
        let good = fs::read(&path).expect("a file");
        for _ in 0..60 {
            let mut bad = good.clone();
            let at = usize::try_from(random.below(good.len() as u64)).expect("small");
            match random.below(3) {
                0 => bad.truncate(at),
                1 => bad[at] ^= 1 << random.below(8),
                _ => bad[at..].iter_mut().take(16).for_each(|byte| *byte = 0xff),
            }
            replace(&path, &bad);
            git.close_packs(ID);
            for id in &ids {
                // A damaged index may hide objects or name others, and a damaged header in a pack may name another type
                // or base. Nobody compares ids with contents, as in `git cat-file`; `git fsck` finds such damage.
                // What is returned has the declared size.
                let read = fresh(&git).objects_directly(std::slice::from_ref(id), 64 << 20).await;
                if let Ok(Some(found)) = read
                    && let Some(found) = &found[0]
                {
                    assert_eq!(found.info.size, found.content.len() as u64);
                }
            }
            let tree = git.reader(ID).tree_directly(&ids[0], true).await;
            assert!(matches!(tree, Ok(_) | Err(GitError::TooMuch { .. } | GitError::Timeout { .. })), "{tree:?}");
        }
        replace(&path, &good);
    }
    git.close_packs(ID);
    assert_eq!(fresh(&git).objects_directly(&ids, 64 << 20).await.expect("read"), Some(expected));
}

#[tokio::test]
async fn a_pack_that_becomes_shorter_while_it_is_open_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = packed(dir.path()).await;
    let all = run(&git, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], "").await;
    let ids: Vec<String> = all.lines().map(str::to_owned).collect();
    assert!(fresh(&git).objects_directly(&ids, 64 << 20).await.expect("read").is_some());
    for end in [".pack", ".idx"] {
        let path = file(&git, end);
        let (good, mode) = (fs::read(&path).expect("a file"), fs::metadata(&path).expect("a file").permissions());
        let mut writable = mode.clone();
        std::os::unix::fs::PermissionsExt::set_mode(&mut writable, 0o600);
        fs::set_permissions(&path, writable).expect("set");
        fs::OpenOptions::new().write(true).open(&path).expect("a file").set_len(1_100).expect("shorter");
        assert_eq!(fresh(&git).objects_directly(&ids, 64 << 20).await.expect("an answer"), None, "left to git");
        replace(&path, &good);
        git.close_packs(ID);
    }
    assert!(fresh(&git).objects_directly(&ids, 64 << 20).await.expect("read").is_some());
}

#[tokio::test]
async fn damaged_loose_objects_and_unusual_files_are_left_to_git() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git_in(dir.path());
    git.init_bare(ID, "main", false).await.expect("created");
    let id = run(&git, &["hash-object", "-w", "--stdin"], "some content").await;
    let path = git.directory(ID).join("objects").join(&id[..2]).join(&id[2..]);
    let good = fs::read(&path).expect("a file");
    let compress = |text: &[u8]| {
        use std::io::Write as _;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    for bad in [
        Vec::new(),
        good[..good.len() - 1].to_vec(),
        b"not compressed".to_vec(),
        compress(b"blob 5\x00123456"),
        compress(b"blob 7\x00123456"),
        compress(b"blob 99999999999\x00123456"),
        compress(b"blob 18446744073709551616\0x"),
        compress(b"blob +6\x00123456"),
        compress(b"what 6\x00123456"),
        compress(&[b'x'; 100]),
    ] {
        replace(&path, &bad);
        let read = fresh(&git).objects_directly(std::slice::from_ref(&id), 1 << 20).await;
        assert_eq!(read.expect("an answer"), None, "{bad:?}");
    }
    fs::remove_file(&path).expect("removed");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("a pipe");
    let read = fresh(&git).objects_directly(std::slice::from_ref(&id), 1 << 20).await;
    assert_eq!(read.expect("an answer"), None, "a pipe");
    replace(&path, &good);
    let read = fresh(&git).objects_directly(&[id], 1 << 20).await.expect("read").expect("supported");
    assert_eq!(read[0].as_ref().map(|object| &object.content[..]), Some(&b"some content"[..]));
}

#[tokio::test]
async fn large_objects_are_left_to_git_and_large_results_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git_in(dir.path());
    git.init_bare(ID, "main", false).await.expect("created");
    // Compresses to few bytes.
    let bomb = run(&git, &["hash-object", "-w", "--stdin"], vec![0; 40 << 20]).await;
    let half = run(&git, &["hash-object", "-w", "--stdin"], vec![0; 1 << 20]).await;
    for packed in [false, true] {
        if packed {
            let packs = git.directory(ID).join("objects/pack/pack");
            let made = git.call(ID, ["pack-objects", "-q"]).args([packs]).stdin(format!("{bomb}\n{half}\n"));
            made.run().await.expect("packed");
            run(&git, &["prune-packed"], "").await;
        }
        let read = fresh(&git).objects_directly(std::slice::from_ref(&bomb), usize::MAX).await;
        assert_eq!(read.expect("an answer"), None);
        let info = fresh(&git).first_directly(std::slice::from_ref(&bomb)).await.expect("read").expect("supported");
        assert_eq!(info.map(|info| info.size), Some(40 << 20));
        let refused = fresh(&git).objects_directly(std::slice::from_ref(&half), 1 << 10).await;
        assert!(matches!(refused, Err(GitError::TooMuch { .. })), "{refused:?}");
        let memory = MemoryBudget::new(1).request(Holder::Address(None));
        let reader = fresh(&git).with_memory(Some(Arc::new(memory)));
        let refused = reader.objects_directly(std::slice::from_ref(&half), 2 << 20).await;
        assert!(matches!(refused, Err(GitError::Refused(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn trees_without_end_are_refused_in_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git_in(dir.path());
    git.init_bare(ID, "main", false).await.expect("created");
    let blob = run(&git, &["hash-object", "-w", "--stdin"], "x").await;
    let mut line = format!("100644 blob {blob}");
    for _ in 0..10 {
        let entries: Vec<String> = (0..10).map(|n| format!("{line}\t{n}\n")).collect();
        let entries = entries.concat();
        line = format!("040000 tree {}", run(&git, &["mktree"], entries).await);
    }
    let tree = line.rsplit(' ').next().expect("an id");
    let reader = git.reader(ID).with_timeout(Duration::from_millis(300));
    let read = reader.tree_directly(tree, true).await;
    assert!(matches!(read, Err(GitError::Timeout { .. } | GitError::TooMuch { .. })), "{:?}", read.map(drop));
    let memory = MemoryBudget::new(1).request(Holder::Address(None));
    let read = git.reader(ID).with_memory(Some(Arc::new(memory))).tree_directly(tree, true).await;
    assert!(matches!(read, Err(GitError::Refused(_))), "{:?}", read.map(drop));
    assert_eq!(git.reader(ID).tree_directly(tree, false).await.expect("read").map(|entries| entries.len()), Some(10));
}

#[tokio::test]
async fn deltas_without_a_base_or_an_end_are_left_to_git() {
    let dir = tempfile::tempdir().expect("a directory");
    let git = git_in(dir.path());
    git.init_bare(ID, "main", false).await.expect("created");
    let id = [0x11; 20];
    // One entry: a delta whose base is itself, by id; or an earlier entry that does not exist.
    let entries: [Vec<u8>; 4] = [
        [&[0x70 | 6][..], &id].concat(),
        [&[0x70 | 6][..], &[0x22; 20]].concat(),
        vec![0x60 | 6, 0x7f],
        vec![0x60 | 6, 0],
    ];
    for entry in entries {
        let mut pack = [&b"PACK"[..], &2_u32.to_be_bytes(), &1_u32.to_be_bytes()].concat();
        pack.extend_from_slice(&entry);
        pack.extend_from_slice(&[0; 60]);
        let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
        for first in 0..=255_u32 {
            index.extend_from_slice(&u32::from(first >= 0x11).to_be_bytes());
        }
        index.extend_from_slice(&id);
        index.extend_from_slice(&[0; 4]);
        index.extend_from_slice(&12_u32.to_be_bytes());
        index.extend_from_slice(&[0; 40]);
        let packs = git.directory(ID).join("objects/pack");
        fs::create_dir_all(&packs).expect("a directory");
        fs::write(packs.join("pack-0.pack"), &pack).expect("a file");
        fs::write(packs.join("pack-0.idx"), &index).expect("a file");
        git.close_packs(ID);
        let read = fresh(&git).objects_directly(&[hex::encode(id)], 1 << 20).await;
        assert_eq!(read.expect("an answer"), None, "{entry:?}");
        let read = fresh(&git).first_directly(&[hex::encode(id)]).await;
        assert_eq!(read.expect("an answer"), None, "{entry:?}");
    }
}
