//! Kills `farrierd` while clients change repositories, organizations and tokens. Acknowledged changes must survive,
//! other changes must be complete or absent, and repeating the request must lead to the same result.
//!
//! `FARRIER_KILLS` sets the number of kills (default 6). `FARRIER_SEED` repeats the random choices of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use super::assert_no_errors;
use crate::support::{Binary, Random, ServerAddress, Source, eventually, git::Client, send, try_send};

/// Maximum number of responses between two kills.
const ACKS_MAX: usize = 12;
/// Maximum delay before a kill, during which requests are sent.
const JITTER_MAX_MICROS: usize = 40_000;

/// The acknowledged state of one object.
#[derive(Clone, Debug, PartialEq)]
enum ObjectState {
    /// The daemon acknowledged its creation.
    Exists,
    /// The daemon acknowledged its deletion.
    Deleted,
    /// The request that creates it got no response.
    Creating(Request),
    /// The request that deletes it got no response.
    Deleting,
    /// The daemon accepted its migration, from a source that never answers.
    MigrationStarted,
}

/// A request that can be repeated: path and body.
type Request = (&'static str, Value);

/// The acknowledged state of all objects, across all restarts of the daemon.
#[derive(Default)]
struct RecordedObjects {
    objects: Mutex<BTreeMap<String, ObjectState>>,
    /// Tokens that the daemon returned.
    tokens: Mutex<Vec<String>>,
    acked: AtomicU64,
    names: AtomicU64,
}

impl RecordedObjects {
    fn set(&self, path: &str, known: ObjectState) {
        if matches!(known, ObjectState::Exists | ObjectState::Deleted | ObjectState::MigrationStarted) {
            self.acked.fetch_add(1, Ordering::SeqCst);
        }
        self.objects.lock().expect("no panic").insert(path.to_owned(), known);
    }

    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}", self.names.fetch_add(1, Ordering::SeqCst))
    }
}

/// Sources of migrations.
struct Sources {
    fast: String,
    stuck: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_survive_kills_and_none_is_half_done() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(6, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new("[migration]\nallowed_hosts = \"loopback\"\nmax_running = 64\n");
    farrier.start().await;
    let original = original(&farrier).await;
    let (fast, stuck) = (Source::of(original.clone(), false).await, Source::of(original, true).await);
    let sources = Sources { fast: fast.url(""), stuck: stuck.url("") };
    let recorded = RecordedObjects::default();
    let pusher = Pusher::new(&farrier).await;

    for _ in 0..kills {
        let server = farrier.unix();
        let remote = pusher.remote(&farrier.tcp());
        let choices = [random.fork(), random.fork(), random.fork()];
        let clients = async {
            let [creates, organizes, migrates] = choices;
            tokio::join!(
                creator(&recorded, &server, creates),
                organizer(&recorded, &server, organizes),
                minter(&recorded, &server),
                migrator(&recorded, &server, &sources, migrates),
                pusher.push(&recorded, remote),
            )
        };
        let enough = recorded.acked.load(Ordering::SeqCst) + 1 + random.below(ACKS_MAX) as u64;
        let jitter = Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64);
        let kill = async {
            eventually("clients made progress", || async { recorded.acked.load(Ordering::SeqCst) >= enough }).await;
            tokio::time::sleep(jitter).await;
            farrier.kill().await;
        };
        tokio::join!(clients, kill);
        assert_no_damage(&farrier).await;
        farrier.start().await;
        assert_changes_match_audit_entries(&farrier).await;
        check_and_repeat(&recorded, &farrier, &sources).await;
        pusher.check_and_repeat(&farrier).await;
    }

    farrier.terminate();
    assert!(farrier.ended().await.success());
    let checked = farrier.check_data(&["--git", "--json"]).await;
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!((checked.status.code(), &report["findings"]), (Some(0), &json!([])), "{checked:?}");
    assert_no_errors(&farrier.log());
    println!("kills {kills}, answered {}, lost 0", recorded.acked.load(Ordering::SeqCst));
}

/// Checks that a killed daemon leaves no damage. Unfinished work and waste are fine.
async fn assert_no_damage(farrier: &Binary) {
    let checked = farrier.check_data(&[]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

/// Checks that an organization exists exactly if the audit log has its creation and not its deletion.
async fn assert_changes_match_audit_entries(farrier: &Binary) {
    let names = async |path: &str, key: &str| {
        let (mut names, mut page) = (BTreeSet::new(), Some(path.to_owned()));
        while let Some(path) = page {
            let answer = send(&farrier.unix(), Method::GET, &path, &[], "").await;
            for item in answer.json().as_array().expect("a list") {
                let name = if key == "object" { &item["object"]["name"] } else { &item[key] };
                assert!(names.insert(name.to_string()), "{name} is listed twice: {path}");
            }
            let links = answer.header("link").split(',').find(|link| link.contains("rel=\"next\""));
            let next = links.and_then(|link| link.split_once("/api/")?.1.split_once('>'));
            page = next.map(|(rest, _)| format!("/api/{rest}"));
        }
        names
    };
    let created = names("/api/farrier/v1/audit?action=organization.create&limit=50", "object").await;
    let deleted = names("/api/farrier/v1/audit?action=organization.delete&limit=50", "object").await;
    let existing = names("/api/v1/admin/orgs?limit=50", "username").await;
    assert!(deleted.is_subset(&created), "{deleted:?} {created:?}");
    assert_eq!(created.difference(&deleted).cloned().collect::<BTreeSet<_>>(), existing);
}

/// Creates a repository with a commit that a static file server can serve.
async fn original(farrier: &Binary) -> std::path::PathBuf {
    let body = json!({ "name": "original", "auto_init": true }).to_string();
    let created = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    let directory = farrier.data_dir().join(format!("repositories/{}.git", created.json()["id"]));
    Client::at(&directory).done(&["update-server-info"]);
    directory
}

/// Creates an object. Returns `None` if the daemon is gone and the outcome is unknown.
async fn make(
    recorded: &RecordedObjects,
    server: &ServerAddress,
    object: &str,
    (path, body): Request,
) -> Option<Value> {
    recorded.set(object, ObjectState::Creating((path, body.clone())));
    let answer = try_send(server, Method::POST, path, &[], body.to_string()).await.ok()?;
    assert_eq!(answer.status, 201, "{object}: {answer:?}");
    recorded.set(object, ObjectState::Exists);
    Some(answer.json())
}

async fn remove(recorded: &RecordedObjects, server: &ServerAddress, object: &str) -> Option<()> {
    recorded.set(object, ObjectState::Deleting);
    let answer = try_send(server, Method::DELETE, object, &[], "").await.ok()?;
    assert_eq!(answer.status, 204, "{object}: {answer:?}");
    recorded.set(object, ObjectState::Deleted);
    Some(())
}

/// Creates repositories with an initial commit, and deletes some of them.
async fn creator(recorded: &RecordedObjects, server: &ServerAddress, mut random: Random) -> Option<()> {
    loop {
        let name = recorded.name("repo");
        let object = format!("/api/v1/repos/admin/{name}");
        make(recorded, server, &object, ("/api/v1/user/repos", json!({ "name": name, "auto_init": true }))).await?;
        if random.one_in(2) {
            remove(recorded, server, &object).await?;
        }
    }
}

/// Creates organizations, and deletes some of them.
async fn organizer(recorded: &RecordedObjects, server: &ServerAddress, mut random: Random) -> Option<()> {
    loop {
        let name = recorded.name("org");
        let object = format!("/api/v1/orgs/{name}");
        make(recorded, server, &object, ("/api/v1/orgs", json!({ "username": name }))).await?;
        if random.one_in(3) {
            remove(recorded, server, &object).await?;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Creates tokens.
async fn minter(recorded: &RecordedObjects, server: &ServerAddress) -> Option<()> {
    loop {
        let name = recorded.name("token");
        let body = json!({ "name": name, "scopes": ["read:user"] });
        let created = try_send(server, Method::POST, "/api/v1/users/admin/tokens", &[], body.to_string()).await.ok()?;
        assert_eq!(created.status, 201, "{created:?}");
        recorded.tokens.lock().expect("no panic").push(created.json()["sha1"].as_str().expect("text").to_owned());
        recorded.acked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Migrates repositories, some of them from a source that never answers.
async fn migrator(
    recorded: &RecordedObjects,
    server: &ServerAddress,
    sources: &Sources,
    mut random: Random,
) -> Option<()> {
    const PATH: &str = "/api/v1/repos/migrate";
    loop {
        let name = recorded.name("copy");
        let object = format!("/api/v1/repos/admin/{name}");
        if random.one_in(2) {
            make(recorded, server, &object, (PATH, json!({ "repo_name": name, "clone_addr": sources.fast }))).await?;
            continue;
        }
        let again = json!({ "repo_name": name, "clone_addr": sources.fast });
        recorded.set(&object, ObjectState::Creating((PATH, again)));
        let body = json!({ "repo_name": name, "clone_addr": sources.stuck }).to_string();
        let started = try_send(server, Method::POST, PATH, &[("prefer", "respond-async")], body).await.ok()?;
        assert_eq!(started.status, 202, "{started:?}");
        recorded.set(&object, ObjectState::MigrationStarted);
        if random.one_in(3) {
            remove(recorded, server, &object).await?;
        }
    }
}

/// Compares a daemon after its start with the acknowledged state, and repeats the unanswered requests.
async fn check_and_repeat(recorded: &RecordedObjects, farrier: &Binary, sources: &Sources) {
    let server = farrier.unix();
    let known = recorded.objects.lock().expect("no panic").clone();
    for (object, known) in known {
        let response = send(&server, Method::GET, &object, &[], "").await;
        match known {
            ObjectState::Exists => assert_eq!(response.status, 200, "{object} was answered: {response:?}"),
            ObjectState::Deleted => assert_eq!(response.status, 404, "{object} was removed: {response:?}"),
            ObjectState::Creating((path, body)) => {
                let failed = response.status == 200 && response.json()["farrier_migration"]["state"] == "failed";
                let again = send(&server, Method::POST, path, &[], body.to_string()).await;
                let expected: &[u16] = match response.status {
                    404 => &[201],
                    200 if failed => &[201],
                    // The name of an existing organization is reported as invalid input.
                    200 => &[409, 422],
                    _ => &[],
                };
                assert!(expected.contains(&again.status), "{object}: {response:?}, then {again:?}");
                recorded.set(&object, ObjectState::Exists);
            }
            ObjectState::Deleting => {
                let again = send(&server, Method::DELETE, &object, &[], "").await;
                let expected = if response.status == 200 { 204 } else { 404 };
                assert_eq!(again.status, expected, "{object}: {response:?}, then {again:?}");
                recorded.set(&object, ObjectState::Deleted);
            }
            ObjectState::MigrationStarted => {
                let state = response.json()["farrier_migration"]["state"].clone();
                assert_eq!((response.status, &state), (200, &json!("failed")), "{object}: {response:?}");
                let name = object.rsplit('/').next().expect("a name");
                let body = json!({ "repo_name": name, "clone_addr": sources.fast }).to_string();
                let again = send(&server, Method::POST, "/api/v1/repos/migrate", &[], body).await;
                assert_eq!(again.status, 201, "{object}: {again:?}");
                recorded.set(&object, ObjectState::Exists);
            }
        }
        if object.starts_with("/api/v1/repos/")
            && recorded.objects.lock().expect("no panic")[&object] == ObjectState::Exists
        {
            let readme = send(&server, Method::GET, &format!("{object}/contents/README.md"), &[], "").await;
            assert_eq!(readme.status, 200, "{object} is incomplete: {readme:?}");
        }
    }
    let tokens = std::mem::take(&mut *recorded.tokens.lock().expect("no panic"));
    for token in tokens {
        let authorization = format!("token {token}");
        let user = send(&farrier.tcp(), Method::GET, "/api/v1/user", &[("authorization", &authorization)], "").await;
        assert_eq!(user.status, 200, "a returned token must work: {user:?}");
    }
}

/// Pushes one commit after the other with git.
struct Pusher {
    token: String,
    work: Client,
    /// The last acknowledged tip, and the tips that unanswered pushes may have set since.
    tips: Mutex<Vec<String>>,
}

impl Pusher {
    async fn new(farrier: &Binary) -> Self {
        let server = farrier.unix();
        for (path, body) in [
            ("/api/v1/user/repos", json!({ "name": "pushed" })),
            ("/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })),
        ] {
            let created = send(&server, Method::POST, path, &[], body.to_string()).await;
            assert_eq!(created.status, 201, "{created:?}");
            if let Some(token) = created.json()["sha1"].as_str() {
                let work = Client::init(farrier.scratch().join("work"));
                return Self { token: token.to_owned(), work, tips: Mutex::new(vec![String::new()]) };
            }
        }
        unreachable!("the response contains the token")
    }

    fn remote(&self, server: &ServerAddress) -> String {
        let ServerAddress::Tcp(address) = server else { panic!("over TCP only") };
        format!("http://any:{}@{address}/admin/pushed.git", self.token)
    }

    /// Pushes until a push fails.
    async fn push(&self, recorded: &RecordedObjects, remote: String) -> Option<()> {
        loop {
            let tip = self.work.commit("file", recorded.name("content"));
            self.tips.lock().expect("no panic").push(tip.clone());
            let (directory, remote) = (self.work.dir().to_owned(), remote.clone());
            #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
            let pushed =
                tokio::task::spawn_blocking(move || Client::at(directory).run(&["push", "-q", &remote, "main"]));
            if !pushed.await.expect("no panic").ok {
                return None;
            }
            *self.tips.lock().expect("no panic") = vec![tip];
            recorded.acked.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Checks that the branch is at the last acknowledged tip or at that of an unanswered push, and that the next push
    /// succeeds.
    async fn check_and_repeat(&self, farrier: &Binary) {
        let remote = self.remote(&farrier.tcp());
        let listed = self.work.done(&["ls-remote", &remote, "refs/heads/main"]);
        let tip = listed.split_whitespace().next().unwrap_or_default().to_owned();
        assert!(self.tips.lock().expect("no panic").contains(&tip), "{tip} was never pushed");
        // A git process that outlived its daemon may still hold a lock for a moment.
        eventually("a push succeeds", async || self.work.run(&["push", "-q", &remote, "main"]).ok).await;
        let tip = self.work.done(&["rev-parse", "main"]);
        *self.tips.lock().expect("no panic") = vec![tip];
    }
}
