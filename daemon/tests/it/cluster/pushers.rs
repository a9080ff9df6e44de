//! Clients that push to shared refs through any daemon, and record what they sent and received.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::history::{Action, Operation, Outcome};
use crate::support::{
    Random, WAIT_LIMIT, eventually,
    git::{Client, Run},
};

/// Pause after a push without an acknowledgement.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of a file of a small and of a large commit. Large packs are sent in several parts.
const SIZES: [usize; 8] = [10, 10, 10, 10, 1_000, 1_000, 30_000, 400_000];

/// A ref of a repository: the path of the repository and the name of the ref.
pub(super) type RefId = (String, String);

/// The operations of all clients, and their counts.
#[derive(Default)]
pub(super) struct Pushes {
    pub(super) stop: AtomicBool,
    pub(super) acknowledged: AtomicU64,
    pub(super) refused: AtomicU64,
    /// The messages of pushes whose outcome is unknown.
    pub(super) unknown: Mutex<Vec<String>>,
    /// Reads that got no answer.
    pub(super) failed_reads: AtomicU64,
    pub(super) histories: Mutex<BTreeMap<RefId, Vec<Operation>>>,
    /// The times of acknowledgements of pushes to shared refs.
    pub(super) times: Mutex<Vec<Instant>>,
}

impl Pushes {
    fn record(&self, id: &RefId, began: Instant, action: Action) {
        let operation = Operation { began, ended: Instant::now(), action };
        self.histories.lock().expect("no panic").entry(id.clone()).or_default().push(operation);
    }

    /// Waits until `count` more pushes were acknowledged.
    pub(super) async fn advance(&self, count: u64) {
        let enough = self.acknowledged.load(Ordering::SeqCst) + count;
        eventually("pushes were acknowledged", async || self.acknowledged.load(Ordering::SeqCst) >= enough).await;
    }

    /// Waits for the first acknowledgement after `since`. Returns the time until then.
    pub(super) async fn next_after(&self, since: Instant) -> Duration {
        let next = || {
            let times = self.times.lock().expect("no panic");
            times.iter().find(|time| **time > since).map(|time| time.duration_since(since))
        };
        eventually("a push was acknowledged", async || next().is_some()).await;
        next().expect("an acknowledgement")
    }

    /// Returns the longest time between two acknowledgements.
    pub(super) fn longest_pause(&self) -> Duration {
        let times = self.times.lock().expect("no panic");
        times.windows(2).map(|pair| pair[1].duration_since(pair[0])).max().unwrap_or_default()
    }
}

/// A client with a repository of its own. It blocks its thread.
pub(super) struct Pusher<'a> {
    pushes: &'a Pushes,
    refs: &'a [RefId],
    /// The URL of each daemon, without the path of the repository.
    servers: &'a [String],
    work: Client,
    random: Random,
}

impl<'a> Pusher<'a> {
    pub(super) fn new(
        pushes: &'a Pushes,
        refs: &'a [RefId],
        servers: &'a [String],
        dir: PathBuf,
        random: Random,
    ) -> Self {
        let work = Client::init(dir);
        work.done(&["config", "gc.auto", "0"]);
        Self { pushes, refs, servers, work, random }
    }

    /// Pushes until the test ends.
    pub(super) fn run(&mut self) {
        for number in 0_usize.. {
            if self.pushes.stop.load(Ordering::SeqCst) {
                return;
            }
            let (id, server) = (&self.refs[self.random.below(self.refs.len())], self.server());
            let Some(tip) = self.read(server, id) else { continue };
            let reader = self.server();
            let has_tip = !tip.is_empty()
                && self.random.one_in(2)
                && self.work.run(&["fetch", "-q", &remote(reader, id), &id.1]).ok
                && self.work.run(&["cat-file", "-e", &tip]).ok;
            let parent = if has_tip { tip.clone() } else { String::new() };
            let size = self.random.of(&SIZES);
            let commit = self.commit(number, size, &parent);
            let server = self.random.below(self.servers.len());
            if self.push(&self.servers[server], id, &tip, &commit) == Outcome::Done {
                self.pushes.acknowledged.fetch_add(1, Ordering::SeqCst);
                self.pushes.times.lock().expect("no panic").push(Instant::now());
                // The history shows whether another daemon lists this commit or a later one.
                let other = (server + 1 + self.random.below(self.servers.len() - 1)) % self.servers.len();
                self.read(&self.servers[other], id);
            }
            if self.random.one_in(3) {
                for server in self.servers {
                    self.read(server, id);
                }
            }
        }
    }

    /// Pushes a commit with a file of `size` bytes to the only ref, again and again until that is acknowledged. Returns
    /// the time until then.
    pub(super) fn until_acknowledged(&mut self, size: usize) -> Duration {
        let begun = Instant::now();
        loop {
            let (id, server) = (&self.refs[0], &self.servers[0]);
            if let Some(tip) = self.read(server, id) {
                let commit = self.commit(0, size, "");
                if self.push(server, id, &tip, &commit) == Outcome::Done {
                    return begun.elapsed();
                }
            }
            let problem = self.pushes.unknown.lock().expect("no panic").last().cloned();
            assert!(begun.elapsed() < WAIT_LIMIT, "timed out waiting until {server} acknowledges a push: {problem:?}");
        }
    }

    fn server(&mut self) -> &'a str {
        let servers = self.servers;
        &servers[self.random.below(servers.len())]
    }

    /// Reads a ref. Returns `None` if the daemon did not answer.
    fn read(&self, server: &str, id: &RefId) -> Option<String> {
        let began = Instant::now();
        let listed = self.work.run(&["ls-remote", &remote(server, id), &id.1]);
        if !listed.ok {
            self.pushes.failed_reads.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(PAUSE);
            return None;
        }
        let value = listed.out.split_once('\t').map(|(value, _)| value.to_owned()).unwrap_or_default();
        self.pushes.record(id, began, Action::Read { value: value.clone() });
        Some(value)
    }

    /// Creates a commit that no other client creates.
    fn commit(&mut self, number: usize, size: usize, parent: &str) -> String {
        let content = self.random.bytes(size);
        std::fs::write(self.work.dir().join("content"), content).expect("a file");
        let blob = self.work.done(&["hash-object", "-w", "content"]);
        // Trees of a commit with a parent keep the files of the parent.
        if parent.is_empty() {
            self.work.done(&["read-tree", "--empty"]);
        } else {
            self.work.done(&["read-tree", parent]);
        }
        let name = format!("file{}", number % 7);
        self.work.done(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name}")]);
        let tree = self.work.done(&["write-tree"]);
        let message = format!("{:x} {number}", self.random.next());
        let mut args = vec!["commit-tree", &tree, "-m", &message];
        if !parent.is_empty() {
            args.extend(["-p", parent]);
        }
        self.work.done(&args)
    }

    fn push(&self, server: &str, id: &RefId, from: &str, to: &str) -> Outcome {
        let lease = format!("--force-with-lease={}:{from}", id.1);
        let spec = format!("{to}:{}", id.1);
        let began = Instant::now();
        let push = self.work.run(&["push", "-q", &lease, &remote(server, id), &spec]);
        let outcome = outcome(&push);
        let (from, to) = (from.to_owned(), to.to_owned());
        self.pushes.record(id, began, Action::Push { from, to, outcome });
        match outcome {
            Outcome::Done => {}
            Outcome::Refused => _ = self.pushes.refused.fetch_add(1, Ordering::SeqCst),
            Outcome::Unknown => {
                self.pushes.unknown.lock().expect("no panic").push(push.err);
                std::thread::sleep(PAUSE);
            }
        }
        outcome
    }
}

/// Reads the outcome from the messages of git. The client itself refuses a push whose expected value is outdated, and
/// the daemon refuses it if the value changes afterwards.
fn outcome(push: &Run) -> Outcome {
    if push.ok {
        Outcome::Done
    } else if push.err.contains("(stale info)") || push.err.contains("(failed to update ref)") {
        Outcome::Refused
    } else {
        Outcome::Unknown
    }
}

fn remote(server: &str, (repository, _): &RefId) -> String {
    format!("{server}/{repository}.git")
}
