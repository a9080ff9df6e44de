//! Kills `farrierd` at random moments. Acknowledged data must survive, other data must not become visible, and no file
//! may be left behind.
//!
//! `FARRIER_KILLS` sets the number of kills (default 15). `FARRIER_SEED` repeats the random choices of a run.

mod client;
mod files;
mod forks;
mod jobs;
mod orphans;
mod pushes;
mod repositories;
mod world;

use std::{
    collections::BTreeMap,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use http::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use self::world::{Content, Counts, Entry, Name, World, begin, block_list, call, path_of};
use crate::support::{Binary, Job, Random, RawConnection, ServerAddress, WAIT_LIMIT, eventually, send, stored};

const WORKERS: usize = 6;
/// Maximum number of acknowledgements between two kills.
const ACKS_MAX: usize = 120;
/// Maximum delay before a kill, during which requests are sent.
const JITTER_MAX_MICROS: usize = 6_000;
/// Number of artifacts that are downloaded after a kill, in addition to the new ones.
const SAMPLE: usize = 5;

/// Deleted artifacts are removed at once, so that the files on disk are exactly those of visible artifacts.
const CONFIG: &str =
    "[storage]\nset_aside_days = 0\n[artifacts]\non_duplicate = \"replace\"\nreserve_bytes = 0\nabandoned_secs = ";

#[tokio::test]
async fn acknowledged_artifacts_survive_repeated_kills() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(15, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new(&format!("{CONFIG}3600\n"));
    farrier.start().await;
    let (jobs, ended) = prepare(&farrier.unix()).await;
    let world = World::new(jobs);
    let workers = join_all((0..WORKERS).map(|worker| client::work(&world, worker, random.fork())));
    let mut checker = Checker::new(&world, ended, random.fork());

    let kill_loop = async {
        for _ in 0..kills {
            world.open(if random.one_in(2) { farrier.tcp() } else { farrier.unix() });
            let enough = world.counts.acked() + random.below(ACKS_MAX) as u64;
            eventually("clients made progress", || async { world.counts.acked() >= enough }).await;
            tokio::time::sleep(Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64)).await;
            world.close();
            farrier.kill().await;
            let quiet = world.wait_until_idle().await;
            if random.one_in(4) {
                // Kill it during its start as well.
                let _output = farrier.spawn();
                tokio::time::sleep(Duration::from_micros(random.below(20 * JITTER_MAX_MICROS) as u64)).await;
                farrier.kill().await;
            }
            farrier.start().await;
            checker.check(&farrier.tcp(), false).await;
            drop(quiet);
        }
        world.stop.store(true, Ordering::SeqCst);
        world.open(farrier.tcp());
    };
    tokio::join!(workers, kill_loop);

    farrier.kill().await;
    farrier.configure(&format!("{CONFIG}1\n"));
    farrier.start().await;
    checker.check(&farrier.tcp(), true).await;
    let expected = checker.files();
    let root = farrier.data_dir().join("artifacts");
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let mut found = stored(&root);
        // For an artifact without blocks, the directory is optional.
        for (id, _) in expected.iter().filter(|(_, sizes)| sizes.is_empty()) {
            found.entry(*id).or_default();
        }
        if found == expected {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "the stored files differ from those of visible artifacts:\n{}",
            difference(&found, &expected)
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    checker.check(&farrier.tcp(), true).await;
    let memory_mib = farrier.rss_bytes() >> 20;
    farrier.terminate();
    assert_eq!(farrier.ended().await.code(), Some(0));
    assert_no_errors(&farrier.log());
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::SeqCst);
    let Counts { creates, blocks, commits, finalizes, deletes, cut } = &world.counts;
    println!(
        "kills {kills}, acknowledged: creates {}, blocks {}, commits {}, finalizes {}, deletes {}; \
         answers cut {}; visible at the end {}, lost 0, left behind 0; memory {memory_mib} MiB",
        count(creates),
        count(blocks),
        count(commits),
        count(finalizes),
        count(deletes),
        count(cut),
        expected.len(),
    );
}

#[tokio::test]
async fn after_sigterm_the_daemon_completes_running_requests() {
    let mut farrier = Binary::new(&format!("{CONFIG}3600\n"));
    farrier.start().await;
    let (jobs, ended) = prepare(&farrier.unix()).await;
    let world = World::new(jobs);
    let mut random = Random::new(1);
    let mut checker = Checker::new(&world, ended, random.fork());
    let workers = join_all((0..WORKERS).map(|worker| client::work(&world, worker, random.fork())));
    let ending = async {
        world.open(farrier.tcp());
        eventually("clients made progress", || async { world.counts.acked() >= 40 }).await;

        // An upload whose body has arrived by half when SIGTERM is sent.
        let created = call(&farrier.tcp(), &world.jobs[0], "CreateArtifact", json!({ "name": "half" })).await;
        let address = path_of(created.json()["signed_upload_url"].as_str().expect("an address"));
        let ServerAddress::Tcp(tcp) = farrier.tcp() else { unreachable!("the listener is TCP") };
        let mut half = TcpStream::connect(&tcp).await.expect("the daemon listens");
        let head = format!("PUT {address}&comp=block&blockid=YQ HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n");
        half.write_all(format!("{head}expect: 100-continue\r\n\r\n").as_bytes()).await.expect("the daemon reads");
        let mut go_on = [0; 25];
        half.read_exact(&mut go_on).await.expect("the daemon reads the body");
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        half.write_all(b"01234").await.expect("the daemon reads");

        world.close();
        farrier.terminate();
        eventually("the listener is closed", || async { TcpStream::connect(&tcp).await.is_err() }).await;
        half.write_all(b"56789").await.expect("the daemon reads");
        let mut answer = String::new();
        half.read_to_string(&mut answer).await.expect("an answer and an end");
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        assert_eq!(farrier.ended().await.code(), Some(0), "{}", farrier.log());

        let quiet = world.wait_until_idle().await;
        farrier.start().await;
        let list =
            send(&farrier.tcp(), Method::PUT, &format!("{address}&comp=blocklist"), &[], block_list(&["YQ".into()]))
                .await;
        assert_eq!(list.status, 201, "{list:?}");
        checker.check(&farrier.tcp(), true).await;
        drop(quiet);
        world.stop.store(true, Ordering::SeqCst);
        world.open(farrier.tcp());
    };
    tokio::join!(workers, ending);
    assert_no_errors(&farrier.log());
}

#[tokio::test]
async fn a_late_block_is_removed_also_after_a_kill() {
    for replaced in [false, true] {
        let mut farrier = Binary::new(&format!("{CONFIG}3600\n"));
        farrier.start().await;
        let (jobs, _) = prepare(&farrier.unix()).await;
        let (tcp, job, root) = (farrier.tcp(), &jobs[0], farrier.data_dir().join("artifacts"));
        let create = async || {
            let created = call(&tcp, job, "CreateArtifact", json!({ "name": "x" })).await;
            path_of(created.json()["signed_upload_url"].as_str().expect("an address"))
        };
        let address = create().await;
        let put = async |what: &str, body: &'static str| {
            let put = send(&tcp, Method::PUT, &format!("{address}&{what}"), &[], body).await;
            assert_eq!(put.status, 201, "{put:?}");
        };
        let head = format!("PUT {address}&comp=block&blockid=bGF0ZQ HTTP/1.1\r\nhost: localhost\r\n");
        let head = format!("{head}content-length: 2000000\r\nexpect: 100-continue\r\n\r\n");
        let mut late = RawConnection::sending(&tcp, head).await;
        assert_eq!(late.answer().await.expect("the daemon reads").0, 100);

        // The upload is finished or replaced. Then the sweep removes the block that is in no list.
        put("comp=block&blockid=YQ", "named").await;
        put("comp=block&blockid=Yg", "of no use").await;
        let kept = if replaced {
            create().await;
            Vec::new()
        } else {
            put("comp=blocklist", "<BlockList><Latest>YQ</Latest></BlockList>").await;
            let done = call(&tcp, job, "FinalizeArtifact", json!({ "name": "x", "size": "5" })).await;
            assert_eq!(done.status, 200, "{done:?}");
            vec![5]
        };
        let sizes = || stored(&root).into_values().flatten().collect::<Vec<u64>>();
        eventually("the sweep has run", || async { sizes() == kept }).await;
        late.send(vec![b'x'; 1_500_000]).await.expect("the daemon reads");
        eventually("the late block has a file", || async { sizes() != kept }).await;
        farrier.kill().await;
        farrier.start().await;
        eventually("the late block is removed", || async { sizes() == kept }).await;
        assert_no_errors(&farrier.log());
    }
}

/// Creates two jobs in each of three runs, and one job that has ended.
async fn prepare(server: &ServerAddress) -> (Vec<Job>, Job) {
    let created = send(server, Method::POST, "/api/v1/user/repos", &[], json!({ "name": "tool" }).to_string()).await;
    assert_eq!(created.status, 201, "{created:?}");
    let mut jobs = Vec::new();
    for _ in 0..3 {
        let first = begin(server, None).await;
        jobs.push(begin(server, Some(first.run_id)).await);
        jobs.push(first);
    }
    let ended = begin(server, None).await;
    let path = format!("/api/farrier/v1/jobs/{}/end", ended.job_id);
    let end = send(server, Method::POST, &path, &[], json!({ "conclusion": "success" }).to_string()).await;
    assert_eq!(end.status, 200, "{end:?}");
    (jobs, ended)
}

/// Checks that no error and no panic was logged.
fn assert_no_errors(log: &str) {
    let bad: Vec<&str> = log.lines().filter(|line| line.contains("ERROR") || line.contains("panicked")).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

fn difference(found: &BTreeMap<u64, Vec<u64>>, expected: &BTreeMap<u64, Vec<u64>>) -> String {
    let ids = found.keys().chain(expected.keys()).collect::<std::collections::BTreeSet<_>>();
    let differ = ids.into_iter().filter(|id| found.get(id) != expected.get(id));
    let lines = differ.map(|id| format!("{id}: found {:?}, expected {:?}\n", found.get(id), expected.get(id)));
    lines.collect::<Vec<_>>().concat()
}

/// Compares a daemon after its start with the acknowledged state.
struct Checker<'a> {
    world: &'a World,
    /// A job that has ended: its token must be refused.
    ended: Job,
    random: Random,
    /// Content that was already downloaded once.
    checked: BTreeMap<Name, Content>,
    /// Ids of the visible artifacts.
    ids: BTreeMap<Name, u64>,
}

impl<'a> Checker<'a> {
    fn new(world: &'a World, ended: Job, random: Random) -> Self {
        Self { world, ended, random, checked: BTreeMap::new(), ids: BTreeMap::new() }
    }

    /// Runs all checks. No request may be in flight. If `all`, downloads every artifact.
    async fn check(&mut self, server: &ServerAddress, all: bool) {
        let refused = call(server, &self.ended, "ListArtifacts", json!({})).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        let listed = self.list_artifacts(server).await;
        self.check_states(&listed);
        self.ids = listed.iter().map(|(name, (id, _, _))| (name.clone(), *id)).collect();
        let entries = self.world.entries().clone();
        for (name, entry) in &entries {
            let [Some(content)] = entry.possible_states.as_slice() else { continue };
            if all || self.checked.get(name) != Some(content) || self.random.one_in(entries.len().div_ceil(SAMPLE)) {
                self.download(server, name, content).await;
                self.checked.insert(name.clone(), content.clone());
            }
        }
        if !all {
            for (name, entry) in entries {
                self.resume(server, &name, &entry).await;
            }
        }
    }

    /// Id, size and digest of each listed artifact.
    async fn list_artifacts(&self, server: &ServerAddress) -> BTreeMap<Name, (u64, u64, String)> {
        let mut listed = BTreeMap::new();
        for job in self.world.jobs.iter().step_by(2) {
            let list = call(server, job, "ListArtifacts", json!({})).await;
            assert_eq!(list.status, 200, "{list:?}");
            for artifact in list.json()["artifacts"].as_array().expect("a list") {
                let text = |field: &str| artifact[field].as_str().unwrap_or("0").to_owned();
                let number = |field: &str| text(field).parse::<u64>().expect("a number");
                let owner = text("workflow_job_run_backend_id");
                let owner = self.world.jobs.iter().position(|job| job.job_id.to_string() == owner).expect("a job");
                let before =
                    listed.insert((owner, text("name")), (number("database_id"), number("size"), text("digest")));
                assert!(before.is_none(), "two artifacts have one name: {artifact}");
            }
        }
        listed
    }

    /// Checks that each artifact is in the acknowledged state or in a state that an unanswered request may have caused.
    fn check_states(&self, listed: &BTreeMap<Name, (u64, u64, String)>) {
        let mut entries = self.world.entries();
        for name in listed.keys() {
            assert!(entries.contains_key(name), "no client created {name:?}");
        }
        for (name, Entry { possible_states: possible, .. }) in entries.iter_mut() {
            let actual = listed.get(name);
            let matching = possible.iter().find(|content| match (content, actual) {
                (None, None) => true,
                (Some(content), Some((_, size, digest))) => {
                    content.size() as u64 == *size && content.digest() == *digest
                }
                _ => false,
            });
            let matching = matching.unwrap_or_else(|| {
                panic!("{name:?} is {actual:?}, which is none of {} possible states", possible.len())
            });
            *possible = vec![matching.clone()];
        }
    }

    async fn download(&self, server: &ServerAddress, (job, name): &Name, content: &Content) {
        let job = &self.world.jobs[*job];
        let signed = call(server, job, "GetSignedArtifactURL", json!({ "name": name })).await;
        assert_eq!(signed.status, 200, "{name}: {signed:?}");
        let path = path_of(signed.json()["signed_url"].as_str().expect("an address"));
        let answer = send(server, Method::GET, &path, &[], "").await;
        assert!(answer.status == 200 && answer.body == content.bytes(), "{name} has other bytes");
    }

    /// Checks that acknowledged blocks can be committed, and that an acknowledged list can be repeated.
    async fn resume(&mut self, server: &ServerAddress, name: &Name, entry: &Entry) {
        let Some(upload) = &entry.upload else { return };
        let ids = match &upload.committed {
            Some(ids) => ids,
            None if upload.acked.is_empty() || self.random.one_in(2) => return,
            None => &upload.acked,
        };
        let path = format!("{}&comp=blocklist", upload.address);
        let answer = send(server, Method::PUT, &path, &[], block_list(ids)).await;
        assert_eq!(answer.status, 201, "{name:?} {ids:?}: {answer:?}");
    }

    /// Sizes of the files that the visible artifacts should have.
    fn files(&self) -> BTreeMap<u64, Vec<u64>> {
        let entries = self.world.entries();
        let sizes = |name: &Name| {
            let content = entries[name].possible_states[0].as_ref().expect("visible");
            let mut sizes: Vec<u64> = content.0.iter().map(|block| block.len() as u64).collect();
            sizes.sort_unstable();
            sizes
        };
        self.ids.iter().map(|(name, id)| (*id, sizes(name))).collect()
    }
}
