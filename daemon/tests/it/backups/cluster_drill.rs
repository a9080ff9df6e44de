//! Backs up two daemons on PostgreSQL and a bucket under load, removes everything, and restores the backup to one
//! daemon with files, and from there to PostgreSQL and a bucket again.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use super::*;
use crate::support::{Job, Receiver, bucket::TestBucket, cluster::shared_config, git::noise, postgres::PostgresServer};

/// Clients that push.
const PUSHERS: usize = 3;
/// Pushes before the backup begins, and while it runs.
const PUSHES: usize = 12;
/// Every third push is larger than what becomes a row.
const LARGE: usize = 200_000;
/// The configuration of a daemon with files only.
const LOCAL: &str = "[artifacts]\nreserve_bytes = 0\n[webhook]\nallowed_hosts = \"loopback\"\n";

/// What was acknowledged: branches of `admin/demo` with their tips, and names of artifacts.
#[derive(Default)]
struct Acknowledged {
    branches: Mutex<BTreeSet<(String, String)>>,
    artifacts: Mutex<BTreeSet<String>>,
    stop: AtomicBool,
}

impl Acknowledged {
    fn branches(&self) -> BTreeSet<(String, String)> {
        self.branches.lock().expect("no panic").clone()
    }

    fn artifacts(&self) -> BTreeSet<String> {
        self.artifacts.lock().expect("no panic").clone()
    }

    /// Pushes to a new branch after the other, through each remote in turn, until the test ends.
    fn push(&self, number: usize, work: &Client, remotes: &[String]) {
        for count in 0_usize.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let bytes = if count % 3 == 0 { LARGE } else { 100 };
            // Git stores similar contents as small differences.
            let add = u8::try_from((16 * number + count) % 256).expect("a byte");
            let content: Vec<u8> = noise(bytes).into_iter().map(|byte| byte.wrapping_add(add)).collect();
            let tip = work.commit(&format!("file{number}"), [content, count.to_string().into_bytes()].concat());
            let branch = format!("refs/heads/b{number}-{count}");
            work.done(&["push", "-q", &remotes[count % remotes.len()], &format!("HEAD:{branch}")]);
            self.branches.lock().expect("no panic").insert((branch, tip));
        }
    }

    async fn upload(&self, nodes: &[TestDaemon; 2], job: &Job) {
        for count in 0_usize.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let name = format!("artifact-{count}");
            nodes[count % 2].upload(job, &name, &noise(1_000 + count)).await;
            self.artifacts.lock().expect("no panic").insert(name);
        }
    }

    /// Waits until clients have pushed `more` times.
    async fn advance(&self, more: usize) {
        let before = self.branches().len();
        eventually("clients push", async || self.branches().len() >= before + more).await;
    }
}

/// Ends the clients, also if an assertion fails.
struct EndClients<'a>(&'a Acknowledged);

impl Drop for EndClients<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }
}

fn listed(client: &Client, remote: &str) -> BTreeSet<(String, String)> {
    let lines = client.done(&["ls-remote", remote, "refs/heads/*"]);
    let pair = |line: &str| line.split_once('\t').map(|(tip, name)| (name.to_owned(), tip.to_owned()));
    lines.lines().filter_map(pair).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_of_a_cluster_has_everything_that_was_acknowledged_before_the_backup_began() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let key = keys.path().join("secrets.key");
    let config = shared_config(&server, &server.database().await, &bucket, &key);
    let config = format!("[webhook]\nallowed_hosts = \"loopback\"\n{config}");
    let mut nodes = [TestDaemon::program(&config).await, TestDaemon::program(&config).await];
    let token = nodes[0].token("admin", &["all"]).await;
    let (work, _) = pushed(&nodes[0], "demo", &token).await;
    let receiver = Receiver::start().await;
    let hook = json!({ "type": "gitea", "active": true, "events": ["push"],
        "config": { "url": receiver.url, "content_type": "json", "secret": "s" } });
    let hook = nodes[1].admin(Method::POST, "/api/v1/repos/admin/demo/hooks", hook).await;
    assert_eq!(hook.status, 201, "{hook:?}");
    let job = nodes[0].begin("demo", None).await;
    let remotes = [&nodes[0], &nodes[1]].map(|node| node.remote("admin/demo", &token));
    let clients: Vec<_> = (0..PUSHERS).map(|number| Client::init(keys.path().join(format!("work{number}")))).collect();
    let destination = keys.path().join("backups");

    let (done, before, backup) = (Acknowledged::default(), Mutex::default(), Mutex::default());
    std::thread::scope(|scope| {
        let _ends = EndClients(&done);
        for (number, client) in clients.iter().enumerate() {
            let (done, remotes) = (&done, &remotes);
            scope.spawn(move || done.push(number, client, remotes));
        }
        let backups = async {
            done.advance(PUSHES).await;
            *before.lock().expect("no panic") = (done.branches(), done.artifacts());
            start(&nodes[0], &destination).await;
            *backup.lock().expect("no panic") = ended(&nodes[0]).await;
            done.advance(PUSHERS).await;
            drop(EndClients(&done));
        };
        let all = async { tokio::join!(backups, done.upload(&nodes, &job)) };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(all));
    });
    let (before, backup): ((BTreeSet<_>, BTreeSet<_>), Value) =
        (before.into_inner().expect("no panic"), backup.into_inner().expect("no panic"));
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    assert!(!before.1.is_empty(), "artifacts were uploaded");

    // Both machines, the database and the bucket are gone.
    for node in &mut nodes {
        node.stop().await;
        std::fs::remove_dir_all(node.data_dir()).expect("the directory is lost");
    }
    drop((server, bucket));
    let [mut farrier, _other] = nodes;
    succeeds(&farrier.data_dir(), &["backup", text(&destination), "--verify"]).await;
    succeeds(&farrier.data_dir(), &["restore", text(&destination)]).await;
    let checked = farrier.check_data(&["--git", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
    farrier.start_as_program(LOCAL).await;
    let refs = verify(&farrier, &work, (&token, &job), &before).await;

    back_to_a_cluster(&mut farrier, keys.path(), &work, (&token, &refs)).await;
}

/// Verifies what was acknowledged before the backup. Returns all refs.
async fn verify(
    farrier: &TestDaemon,
    work: &Client,
    (token, job): (&str, &Job),
    (branches, artifacts): &(BTreeSet<(String, String)>, BTreeSet<String>),
) -> BTreeSet<(String, String)> {
    let remote = farrier.remote("admin/demo", token);
    let refs = listed(work, &remote);
    let lost: Vec<_> = branches.difference(&refs).collect();
    assert!(lost.is_empty(), "{lost:?}");
    let clone = Client::at(farrier.scratch().join("clone"));
    clone.done(&["clone", "-q", "--mirror", &remote, "."]);
    clone.done(&["fsck", "--full", "--strict"]);
    let listed = farrier.call(job, "ListArtifacts", json!({})).await.json();
    let names: BTreeSet<String> = listed["artifacts"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|artifact| artifact["name"].as_str().map(str::to_owned))
        .collect();
    assert!(artifacts.is_subset(&names), "{artifacts:?} {names:?}");
    let hooks = farrier.admin(Method::GET, "/api/v1/repos/admin/demo/hooks", Value::Null).await.json();
    assert_eq!(hooks.as_array().map(Vec::len), Some(1), "{hooks}");
    refs
}

/// Moves the restored data to PostgreSQL and a bucket, as the documents describe.
async fn back_to_a_cluster(
    farrier: &mut TestDaemon,
    keys: &Path,
    work: &Client,
    (token, refs): (&str, &BTreeSet<(String, String)>),
) {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    farrier.stop().await;
    let key = keys.join("restored.key");
    std::fs::copy(farrier.data_dir().join("secrets.key"), &key).expect("a file");
    let config = shared_config(&server, &server.database().await, &bucket, &key);
    for args in [["blobs", "copy", "--to", "bucket"], ["store", "copy", "--to", "postgres"]] {
        let copied = farrier.command_with(&config, &args).await;
        assert!(copied.status.success(), "{args:?}: {copied:?}");
    }
    farrier.start_as_program(&config).await;
    eventually("the bucket has all packs", async || {
        farrier.log().contains("the packs of all repositories are in the bucket")
    })
    .await;
    farrier.stop().await;
    for directory in ["repositories", "artifacts"] {
        std::fs::remove_dir_all(farrier.data_dir().join(directory)).expect("removed");
    }
    farrier.start_as_program(&config).await;
    let remote = farrier.remote("admin/demo", token);
    assert_eq!(&listed(work, &remote), refs);
    let clone = Client::at(farrier.scratch().join("from-the-bucket"));
    clone.done(&["clone", "-q", "--mirror", &remote, "."]);
    clone.done(&["fsck", "--full", "--strict"]);
    farrier.stop().await;
    let checked = farrier.command_with(&config, &["check-data", "--content"]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backup_of_a_killed_daemon_is_repeated_at_once() {
    let (Some(server), Some(bucket)) = (PostgresServer::start(), TestBucket::start().await) else { return };
    let keys = tempfile::tempdir().expect("a directory");
    let config = shared_config(&server, &server.database().await, &bucket, &keys.path().join("secrets.key"));
    let mut one = TestDaemon::program(&format!("[node]\nname = \"one\"\n{config}")).await;
    let other = TestDaemon::program(&config).await;
    let token = one.token("admin", &["all"]).await;
    pushed(&one, "demo", &token).await;
    // The program has read its configuration file. The backup reads it again.
    let file = process::config_file(one.scratch().parent().expect("a directory"));
    std::fs::remove_file(&file).expect("a file");
    pipe(&file);
    let destination = keys.path().join("backups");
    start(&one, &destination).await;
    let reading = held(&file).await;
    let refused = other.admin(Method::POST, BACKUP, json!({ "destination": keys.path().join("other") })).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text().contains("on the node one"), "{refused:?}");
    one.kill().await;
    drop(reading);
    std::fs::remove_file(&file).expect("a pipe");
    one.start_as_program(&config).await;
    start(&one, &destination).await;
    let backup = ended(&one).await;
    assert_eq!((&backup["state"], &backup["warnings"]), (&json!("done"), &json!([])), "{backup}");
    let names: Vec<_> = std::fs::read_dir(destination.join("backups")).expect("a directory").collect();
    assert_eq!(names.len(), 1, "what the killed backup left is removed: {names:?}");
    one.stop().await;
    // Without a daemon, nothing shows whether others use the database.
    let refused = one.command_with(&config, &["backup", text(&destination)]).await;
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && error.contains("only a running daemon backs up"), "{error}");
    let restored = keys.path().join("restored");
    let out = succeeds(&restored, &["restore", text(&destination)]).await;
    assert!(out.contains("was restored to"), "{out}");
    succeeds(&restored, &["check-data", "--git", "--content"]).await;
}
