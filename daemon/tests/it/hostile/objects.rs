//! Damaged packs and unusual object directories: reads get an error or git's answer, and the daemon keeps running.

use std::{fs, path::Path};

use super::assert_healthy;
use crate::support::{GitDir, Import, TestDaemon, run};

/// The routes that read objects.
const ROUTES: [&str; 9] = [
    "/branches",
    "/tags",
    "/commits?limit=10",
    "/contents",
    "/contents/src/a",
    "/raw/src/a",
    "/git/trees/main?recursive=true",
    "/git/refs",
    "/git/commits/main",
];

async fn repository(farrier: &TestDaemon, name: &str) -> GitDir {
    let repository = farrier.git_repository(name).await;
    let mut import = Import::default();
    for mark in 1..=20 {
        let parents: &[usize] = if mark == 1 { &[] } else { &[mark - 1] };
        let content = format!("{}\n{mark}\n", "the same text in each commit ".repeat(50));
        import = import.commit("main", mark, parents, "change").file("100644", "src/a", content.as_bytes());
    }
    repository.import(&import.tag("v1", 20, "a tag"));
    repository.git(&["repack", "-adfq"]);
    repository.git(&["prune-packed"]);
    repository
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_packs_do_not_affect_other_repositories() {
    let farrier = TestDaemon::start().await;
    let good = repository(&farrier, "good").await;
    for (number, end) in [".pack", ".idx"].into_iter().enumerate() {
        for (kind, damage) in [
            ("short", (|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2)) as fn(&mut Vec<u8>)),
            ("empty", Vec::clear),
            ("ones", |bytes| bytes.iter_mut().skip(1_100).for_each(|byte| *byte = 0xff)),
        ] {
            let bad = repository(&farrier, &format!("bad-{number}-{kind}")).await;
            assert_eq!(farrier.status(&bad.at("/contents")).await, 200, "open before it is damaged");
            for file in fs::read_dir(bad.path.join("objects/pack")).expect("a directory").flatten() {
                if file.path().to_string_lossy().ends_with(end) {
                    let mut bytes = fs::read(file.path()).expect("a file");
                    damage(&mut bytes);
                    fs::remove_file(file.path()).expect("removed");
                    fs::write(file.path(), bytes).expect("a file");
                }
            }
            for route in ROUTES {
                let answer = farrier.get(&bad.at(route)).await;
                assert!([200, 404, 409, 500].contains(&answer.status), "{kind} {end} {route}: {answer:?}");
                let object = bad.path.to_string_lossy().into_owned();
                assert!(!answer.text().contains(&object), "{answer:?}");
            }
        }
    }
    for route in ROUTES {
        assert_eq!(farrier.status(&good.at(route)).await, 200, "{route}");
    }
    assert_healthy(&farrier).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_alternates_and_unfinished_pushes_are_not_read_by_the_daemon() {
    let farrier = TestDaemon::start().await;
    let (other, open) = (repository(&farrier, "private").await, repository(&farrier, "open").await);
    let id = run(&other.path, &["hash-object", "-w", "--stdin"], b"a secret of another repository\n");
    let id = String::from_utf8(id).expect("text").trim().to_owned();
    let blob = |repository: &GitDir| repository.at(&format!("/git/blobs/{id}"));
    assert_eq!(farrier.status(&blob(&other)).await, 200);

    let theirs = other.path.join("objects");
    let own = open.path.join("objects");
    fs::create_dir_all(own.join("info")).expect("a directory");
    fs::write(own.join("info/alternates"), format!("{}\n", theirs.display())).expect("a file");
    let quarantine = own.join("tmp_objdir-incoming-x");
    copy_object(&theirs, &quarantine, &id);
    assert_eq!(farrier.status(&blob(&open)).await, 404);
    assert_eq!(farrier.status(&open.at("/contents")).await, 200);
    fs::remove_file(own.join("info/alternates")).expect("removed");
    copy_object(&theirs, &own, &id);
    assert_eq!(farrier.status(&blob(&open)).await, 200, "an object of its own");
}

fn copy_object(from: &Path, to: &Path, id: &str) {
    let name = Path::new(&id[..2]).join(&id[2..]);
    fs::create_dir_all(to.join(&id[..2])).expect("a directory");
    fs::copy(from.join(&name), to.join(&name)).expect("a copy");
}
