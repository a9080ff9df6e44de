//! A damaged store file: the start is refused cleanly, without a panic.

use std::os::unix::{fs::FileExt as _, process::ExitStatusExt as _};

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::*;
use crate::support::{Binary, Random, WAIT_LIMIT};

/// Signal number of SIGTERM.
const SIGTERM: i32 = 15;
/// Number of runs, each with one flipped bit. Every fourth run also starts the daemon.
const FLIPS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_or_invalid_store_is_refused_and_unchanged() {
    let mut world = World::stopped().await;
    let intact = std::fs::read(world.store_file()).expect("the store");
    for content in [&b""[..], b"notes", &intact[..100], &intact[..4096], &intact[..intact.len() / 2], &vec![0; 1 << 16]]
    {
        std::fs::write(world.store_file(), content).expect("a write");
        let error = world.refused(BAD_DATA).await;
        assert!(error.contains("is damaged; nothing was changed"), "{} bytes: {error}", content.len());
        assert_eq!(std::fs::read(world.store_file()).expect("the store"), content, "{} bytes", content.len());
    }
    std::fs::write(world.store_file(), intact).expect("a write");
    world.assert_starts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checking_a_store_after_a_kill_does_not_change_it() {
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

/// The program may read a flipped bit at once, later or never. It must not panic, and check-data must not lose a
/// file.
#[tokio::test(flavor = "multi_thread")]
async fn flipped_bits_in_the_store_do_not_cause_a_panic() {
    let world = World::stopped().await;
    let intact = std::fs::read(world.store_file()).expect("the store");
    let mut used: Vec<usize> = (0..intact.len()).step_by(64).collect();
    used.retain(|at| intact[*at..][..64].iter().any(|byte| *byte != 0));
    let mut random = Random::new(31);
    let before = contents(&world.data());
    for flip in 0..FLIPS {
        let at = used[random.below(used.len())] + random.below(64);
        std::fs::write(world.store_file(), &intact).expect("a write");
        let file = std::fs::OpenOptions::new().write(true).open(world.store_file()).expect("the store");
        file.write_all_at(&[intact[at] ^ (1 << random.below(8))], at as u64).expect("a write");
        drop(file);
        let outcome = world.run(&["check-data"]).await;
        assert!(matches!(outcome.code, Some(0 | 3 | 4)), "byte {at}: {outcome:?}");
        assert!(!outcome.err.contains("panicked"), "byte {at}: {outcome:?}");
        if flip % 4 == 0 {
            let code = assert_no_panic_on_start(&world.data(), at).await;
            // A small store is verified at the start.
            assert!(outcome.code == Some(0) || code == Some(BAD_DATA), "byte {at}: {outcome:?}, the start: {code:?}");
        }
    }
    let after = contents(&world.data());
    assert!(before == after, "{:?} became {:?}", before.keys(), after.keys());
}

/// Starts the program on a copy of `data` and stops it once it is ready. Returns its exit code.
async fn assert_no_panic_on_start(data: &Path, at: usize) -> Option<i32> {
    let mut farrier = Binary::new("");
    copy(data, &farrier.data_dir());
    let mut lines = BufReader::new(farrier.spawn()).lines();
    let started = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            if line.starts_with("data directory: ") {
                farrier.terminate();
            }
        }
    };
    if tokio::time::timeout(WAIT_LIMIT, started).await.is_err() {
        // A damaged pointer between pages can keep the engine busy. Such a daemon never becomes ready, which the
        // service manager notices.
        farrier.kill().await;
        return None;
    }
    let ended = farrier.ended().await;
    let log = farrier.log();
    // SIGTERM may arrive before the program handles signals.
    let clean_exit = matches!(ended.code(), Some(0 | 1 | 4)) || ended.signal() == Some(SIGTERM);
    assert!(clean_exit && !log.contains("panicked"), "byte {at}: {ended:?}: {log}");
    ended.code()
}
