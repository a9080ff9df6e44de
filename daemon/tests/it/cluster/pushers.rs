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
    Random, eventually,
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
    pub(super) reads: AtomicU64,
    pub(super) histories: Mutex<BTreeMap<RefId, Vec<Operation>>>,
    /// The time of the last acknowledgement, and the longest time without one.
    pub(super) pause: Mutex<(Option<Instant>, Duration)>,
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

    fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
        let (last, longest) = &mut *self.pause.lock().expect("no panic");
        let now = Instant::now();
        if let Some(last) = last.replace(now) {
            *longest = now.duration_since(last).max(*longest);
        }
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
            let Some(tip) = self.read(&server, id) else { continue };
            let reader = self.server();
            let has_tip = !tip.is_empty()
                && self.random.one_in(2)
                && self.work.run(&["fetch", "-q", &remote(&reader, id), &id.1]).ok
                && self.work.run(&["cat-file", "-e", &tip]).ok;
            let parent = if has_tip { tip.clone() } else { String::new() };
            let commit = self.commit(number, &parent);
            let server = self.server();
            self.push(&server, id, &tip, &commit);
            if self.random.one_in(3) {
                for server in self.servers {
                    self.read(server, id);
                }
            }
        }
    }

    fn server(&mut self) -> String {
        self.servers[self.random.below(self.servers.len())].clone()
    }

    /// Reads a ref. Returns `None` if the daemon did not answer.
    fn read(&self, server: &str, id: &RefId) -> Option<String> {
        let began = Instant::now();
        let listed = self.work.run(&["ls-remote", &remote(server, id), &id.1]);
        if !listed.ok {
            std::thread::sleep(PAUSE);
            return None;
        }
        let value = listed.out.split_once('\t').map(|(value, _)| value.to_owned()).unwrap_or_default();
        self.pushes.reads.fetch_add(1, Ordering::SeqCst);
        self.pushes.record(id, began, Action::Read { value: value.clone() });
        Some(value)
    }

    /// Creates a commit that no other client creates.
    fn commit(&mut self, number: usize, parent: &str) -> String {
        let size = self.random.of(&SIZES);
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

    fn push(&self, server: &str, id: &RefId, from: &str, to: &str) {
        let lease = format!("--force-with-lease={}:{from}", id.1);
        let spec = format!("{to}:{}", id.1);
        let began = Instant::now();
        let push = self.work.run(&["push", "-q", &lease, &remote(server, id), &spec]);
        let outcome = outcome(&push);
        match outcome {
            Outcome::Done => self.pushes.acknowledge(),
            Outcome::Refused => _ = self.pushes.refused.fetch_add(1, Ordering::SeqCst),
            Outcome::Unknown => {
                self.pushes.unknown.lock().expect("no panic").push(push.err);
                std::thread::sleep(PAUSE);
            }
        }
        let (from, to) = (from.to_owned(), to.to_owned());
        self.pushes.record(id, began, Action::Push { from, to, outcome });
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
