//! A store whose file is damaged: a clean refusal, never a panic.

use std::os::unix::fs::FileExt as _;

use super::*;
use crate::support::Random;

/// Flips of one bit each.
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

/// A flipped bit may be met at once, later or never. Whatever the program does then, it does not panic
/// and loses no file.
#[tokio::test(flavor = "multi_thread")]
async fn no_flipped_bit_makes_the_program_panic() {
    let world = World::stopped().await;
    let whole = std::fs::read(world.store_file()).expect("the store");
    let used: Vec<usize> =
        (0..whole.len()).step_by(64).filter(|at| whole[*at..][..64].iter().any(|b| *b != 0)).collect();
    let mut random = Random::new(31);
    let before = contents(&world.data());
    for _ in 0..FLIPS {
        let at = used[random.below(used.len())] + random.below(64);
        std::fs::write(world.store_file(), &whole).expect("written");
        let file = std::fs::OpenOptions::new().write(true).open(world.store_file()).expect("the store");
        file.write_all_at(&[whole[at] ^ (1 << random.below(8))], at as u64).expect("written");
        drop(file);
        let ran = world.run(&["check-data"]).await;
        assert!(matches!(ran.code, Some(0 | 1 | 3 | 4)), "byte {at}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "byte {at}: {ran:?}");
    }
    let after = contents(&world.data());
    assert!(before == after, "{:?} became {:?}", before.keys(), after.keys());
}
