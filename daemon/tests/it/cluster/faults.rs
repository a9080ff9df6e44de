//! The faults that the test causes, and the time after each of them until pushes succeed again.

use std::time::{Duration, Instant};

use super::{
    nodes::Cluster,
    pushers::{Pusher, Pushes},
    report::{Recoveries, Recovery},
};
use crate::support::{LinkState, Random, bucket::BucketFault};

/// Time that is longer than that for which a daemon keeps its leases without a renewal.
const PAST_LEASES: Duration = Duration::from_secs(17);
/// Time for which daemons do not reach the database. Longer than the time limits of reads and leases.
const CUT_OFF: Duration = Duration::from_secs(20);
/// Time for which nobody reaches the bucket.
const BUCKET_AWAY: Duration = Duration::from_secs(60);
/// From this number of faults on, the bucket is away for [`BUCKET_AWAY`].
const LONG_RUN: usize = 14;
/// Bytes of a file whose pack is a row, and of one whose pack is stored in the bucket.
const SMALL: usize = 10;
const LARGE: usize = 100_000;

/// A fault that the test causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// SIGKILL of a daemon.
    Kill,
    /// The same, and the removal of its data directory.
    KillAndWipe,
    /// SIGTERM of a daemon.
    Stop,
    /// A daemon is stopped with SIGSTOP until other daemons have taken its leases.
    Pause,
    /// The database server is restarted.
    RestartServer,
    /// All processes of the database server are killed.
    KillServer,
    /// The same, its data is lost, and its standby becomes the primary.
    Failover,
    /// A daemon gets no answer from the database.
    StoreSilent,
    /// The connections of a daemon to the database are closed, and new ones refused.
    StoreRefused,
    /// No daemon gets an answer from the database.
    StoreSilentForAll,
    /// The bucket answers with errors.
    BucketErrors,
    /// The bucket closes connections.
    BucketCut,
    /// A daemon gets no answer from the bucket.
    BucketSilent,
    /// No daemon gets an answer from the bucket, for a minute.
    BucketAway,
}

/// The faults of every run come in this order, from a random one on.
const FAULTS: [Fault; 12] = [
    Fault::KillAndWipe,
    Fault::RestartServer,
    Fault::StoreSilent,
    Fault::Kill,
    Fault::BucketErrors,
    Fault::Pause,
    Fault::StoreRefused,
    Fault::KillServer,
    Fault::Stop,
    Fault::StoreSilentForAll,
    Fault::BucketCut,
    Fault::BucketSilent,
];

/// Returns the faults of a run: a failover, then the others in turn, and random ones when each was caused once. Only
/// long runs have the fault that takes a minute.
pub(super) fn plan(rounds: usize, random: &mut Random) -> Vec<Fault> {
    let first = random.below(FAULTS.len());
    let others = FAULTS.iter().cycle().skip(first).take(FAULTS.len()).copied();
    let mut all = vec![Fault::Failover];
    all.extend((rounds >= LONG_RUN).then_some(Fault::BucketAway));
    all.extend(others);
    let once = all.clone();
    all.resize_with(rounds.max(once.len()), || random.of(&once));
    all.truncate(rounds);
    all
}

/// Causes a fault and ends it.
pub(super) async fn cause(cluster: &mut Cluster, fault: Fault, random: &mut Random, probes: &mut Probes<'_>) {
    let node = random.below(cluster.nodes.len());
    let short = Duration::from_millis(200 + random.below(1_500) as u64);
    match fault {
        Fault::Kill | Fault::KillAndWipe => {
            cluster.nodes[node].kill().await;
            if fault == Fault::KillAndWipe {
                cluster.nodes[node].wipe();
            }
            tokio::time::sleep(short).await;
            cluster.nodes[node].start().await;
        }
        Fault::Stop => {
            cluster.nodes[node].stop().await;
            tokio::time::sleep(short).await;
            cluster.nodes[node].start().await;
        }
        Fault::Pause => {
            cluster.nodes[node].pause();
            tokio::time::sleep(PAST_LEASES).await;
            cluster.nodes[node].resume();
        }
        Fault::RestartServer => tokio::task::block_in_place(|| cluster.servers.primary().command("restart")),
        Fault::KillServer => {
            tokio::task::block_in_place(|| cluster.servers.primary().command("kill"));
            tokio::time::sleep(short).await;
            tokio::task::block_in_place(|| cluster.servers.primary().command("start"));
        }
        Fault::Failover => tokio::task::block_in_place(|| cluster.servers.fail_over()),
        Fault::StoreSilent => store(cluster, &[node], LinkState::Silent, CUT_OFF).await,
        Fault::StoreRefused => store(cluster, &[node], LinkState::Refusing, short).await,
        Fault::StoreSilentForAll => {
            let all: Vec<usize> = (0..cluster.nodes.len()).collect();
            store(cluster, &all, LinkState::Silent, CUT_OFF).await;
        }
        Fault::BucketErrors => bucket(cluster, BucketFault::Error, short).await,
        Fault::BucketCut => bucket(cluster, BucketFault::Cut, short).await,
        Fault::BucketSilent => {
            cluster.nodes[node].set_bucket(LinkState::Silent);
            tokio::time::sleep(CUT_OFF).await;
            cluster.nodes[node].set_bucket(LinkState::Open);
        }
        Fault::BucketAway => {
            let over = Instant::now() + BUCKET_AWAY;
            cluster.bucket.set(random.of(&[BucketFault::Hang, BucketFault::Cut, BucketFault::Error]));
            // Their packs are rows, and the copies of the repository are warm.
            let took = probes.push(SMALL);
            println!("pushes through each daemon while the bucket is away: {took:?}");
            tokio::time::sleep_until(over.into()).await;
            cluster.bucket.set(BucketFault::None);
        }
    }
}

async fn store(cluster: &Cluster, nodes: &[usize], state: LinkState, time: Duration) {
    let set = |state| nodes.iter().for_each(|node| cluster.nodes[*node].set_store(state));
    set(state);
    tokio::time::sleep(time).await;
    set(LinkState::Open);
}

async fn bucket(cluster: &Cluster, fault: BucketFault, time: Duration) {
    cluster.bucket.set(fault);
    tokio::time::sleep(time).await;
    cluster.bucket.set(BucketFault::None);
}

impl Fault {
    fn is_of_bucket(self) -> bool {
        matches!(self, Self::BucketErrors | Self::BucketCut | Self::BucketSilent | Self::BucketAway)
    }
}

/// Clients that push to refs of their own, one through each daemon.
pub(super) struct Probes<'a> {
    /// Pushes of small packs, to a repository that has no others.
    pub(super) small: Vec<Pusher<'a>>,
    /// Pushes of packs that are stored in the bucket.
    pub(super) large: Vec<Pusher<'a>>,
}

impl Probes<'_> {
    /// Pushes through each daemon at the same time, until each has acknowledged a push. Returns the times until then.
    fn push(&mut self, size: usize) -> Vec<Duration> {
        let probes = if size == SMALL { &mut self.small } else { &mut self.large };
        tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                let pushing = probes.iter_mut().map(|probe| scope.spawn(move || probe.until_acknowledged(size)));
                let pushing: Vec<_> = pushing.collect();
                pushing.into_iter().map(|thread| thread.join().expect("an acknowledged push")).collect()
            })
        })
    }
}

/// Causes the faults, one after the other, while clients push.
pub(super) async fn cause_all(
    cluster: &mut Cluster,
    faults: &[Fault],
    (random, pushes): (&mut Random, &Pushes),
    mut probes: Probes<'_>,
) -> Recoveries {
    // The first pushes also create the copies of the repository.
    probes.push(SMALL);
    let mut recoveries = Recoveries::new(probes.push(SMALL).into_iter().max().unwrap_or_default());
    for (round, fault) in faults.iter().enumerate() {
        pushes.advance(4 + random.below(12) as u64).await;
        println!("round {round}: {fault:?}");
        cause(cluster, *fault, random, &mut probes).await;
        let ended = Instant::now();
        let daemons = probes.push(if fault.is_of_bucket() { LARGE } else { SMALL });
        let slowest = daemons.into_iter().max().unwrap_or_default();
        recoveries.add(*fault, Recovery { next: pushes.next_after(ended).await, slowest });
        if *fault == Fault::Failover {
            cluster.add_standby().await;
        }
    }
    pushes.advance(10).await;
    recoveries
}
