//! Random sequences of operations on a daemon, compared with a model of what it acknowledged.
//!
//! A sequence creates, pushes, uploads, renames, edits, deletes and restores. Between the requests, the daemon is
//! restarted or killed, its clock jumps, its store is replaced by an older copy, and directories disappear. After the
//! sequence, everything that was acknowledged and not deleted must be present or set aside, and `check-data` must find
//! no damage.
//!
//! By default, a few sequences run with a fixed seed beside the other tests, and CI runs 500 with a random seed
//! afterwards. `FARRIER_MODEL_SEQUENCES` sets the number of sequences. The seed is then random unless `FARRIER_SEED`
//! sets it:
//!
//! ```sh
//! FARRIER_MODEL_SEQUENCES=5000 cargo test -p farrierd --test it -- --nocapture model::
//! ```

mod acknowledged;
mod faults;
mod operations;
mod sequence;
mod verify;

use futures_util::{StreamExt as _, stream};

use self::sequence::{Commits, Counts, Sequence};
use crate::support::Random;

/// Number of concurrent sequences: each waits for git and the disk most of the time.
const CONCURRENT: usize = 4;
/// Number of sequences by default, and their seed.
const SEQUENCES: usize = 8;
const SEED: u64 = 12;
/// Maximum number of operations in a sequence.
const OPERATIONS_MAX: usize = 14;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_data_survives_random_operations_and_operator_mistakes() {
    let requested: Option<usize> =
        std::env::var("FARRIER_MODEL_SEQUENCES").ok().map(|text| text.parse().expect("a number"));
    let (sequences, seed) = match requested {
        Some(sequences) => (sequences, Random::seed("FARRIER_SEED")),
        None => (SEQUENCES, SEED),
    };
    println!("FARRIER_SEED={seed} FARRIER_MODEL_SEQUENCES={sequences}");
    let mut random = Random::new(seed);
    let commits = Commits::new();
    let seeds: Vec<u64> = (0..sequences).map(|_| random.next()).collect();
    let runs = stream::iter(seeds).map(|seed| run(seed, &commits)).buffer_unordered(CONCURRENT);
    let counts = runs.fold(Counts::default(), |sum, counts| async move { sum.plus(&counts) }).await;
    println!("{sequences} sequences, lost 0: {counts}");
}

/// Runs one sequence and verifies its outcome.
async fn run(seed: u64, commits: &Commits) -> Counts {
    let mut random = Random::new(seed);
    let length = 4 + random.below(OPERATIONS_MAX - 3);
    let mut sequence = Sequence::begin(random, commits).await;
    for _ in 0..length {
        sequence.step().await;
    }
    sequence.end().await
}
