//! A store whose file is damaged: a clean refusal, never a panic.

use std::os::unix::{fs::FileExt as _, process::ExitStatusExt as _};

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::*;
use crate::support::{Binary, PATIENCE, Random};

/// The signal that asks a process to end.
const SIGTERM: i32 = 15;
/// Flips of one bit each; the daemon is started with every fourth of them.
const FLIPS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_cut_off_or_none_at_all_is_refused_and_left_alone() {
    let mut world = World::stopped().await;
    let whole = std::fs::read(world.store_file()).expect("the store");
    for content in [&b""[..], b"notes", &whole[..100], &whole[..4096], &whole[..whole.len() / 2], &vec![0; 1 << 16]] {
        std::fs::write(world.store_file(), content).expect("written");
        let said = world.refused(BAD_DATA).await;
        assert!(said.contains("is damaged; nothing was changed"), "{} bytes: {said}", content.len());
        assert_eq!(std::fs::read(world.store_file()).expect("the store"), content, "{} bytes", content.len());
    }
    std::fs::write(world.store_file(), whole).expect("written");
    world.serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_not_closed_is_checked_and_left_as_it_is() {
    let mut farrier = Binary::new("");
    farrier.start().await;
    farrier.kill().await;
    let file = farrier.data_dir().join("farrier.redb");
    let before = std::fs::read(&file).expect("the store");
    let checked = farrier.check_data(&[]).await;
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    assert!(std::fs::read(&file).expect("the store") == before);
    farrier.start().await;
}

/// A flipped bit may be met at once, later or never. Whatever the program does then, it does not panic,
/// and check-data loses no file.
#[tokio::test(flavor = "multi_thread")]
async fn no_flipped_bit_makes_the_program_panic() {
    let world = World::stopped().await;
    let whole = std::fs::read(world.store_file()).expect("the store");
    let mut used: Vec<usize> = (0..whole.len()).step_by(64).collect();
    used.retain(|at| whole[*at..][..64].iter().any(|byte| *byte != 0));
    let mut random = Random::new(31);
    let before = contents(&world.data());
    for flip in 0..FLIPS {
        let at = used[random.below(used.len())] + random.below(64);
        std::fs::write(world.store_file(), &whole).expect("written");
        let file = std::fs::OpenOptions::new().write(true).open(world.store_file()).expect("the store");
        file.write_all_at(&[whole[at] ^ (1 << random.below(8))], at as u64).expect("written");
        drop(file);
        let ran = world.run(&["check-data"]).await;
        assert!(matches!(ran.code, Some(0 | 3 | 4)), "byte {at}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "byte {at}: {ran:?}");
        if flip % 4 == 0 {
            starts_or_refuses(&world.data(), at).await;
        }
    }
    let after = contents(&world.data());
    assert!(before == after, "{:?} became {:?}", before.keys(), after.keys());
}

/// Starts the program on a copy of `data`, and ends it once it is ready.
async fn starts_or_refuses(data: &Path, at: usize) {
    let mut farrier = Binary::new("");
    copy(data, &farrier.data_dir());
    let mut lines = BufReader::new(farrier.spawn()).lines();
    let started = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            if line.starts_with("data lies in ") {
                farrier.terminate();
            }
        }
    };
    if tokio::time::timeout(PATIENCE, started).await.is_err() {
        // A damaged pointer between pages can keep the engine busy. Such a daemon never becomes ready, which the
        // service manager notices.
        farrier.kill().await;
        return;
    }
    let ended = farrier.ended().await;
    let log = farrier.log();
    // It may be told to end before it listens for signals.
    let in_order = matches!(ended.code(), Some(0 | 1 | 4)) || ended.signal() == Some(SIGTERM);
    assert!(in_order && !log.contains("panicked"), "byte {at}: {ended:?}: {log}");
}
