//! Repositories, organisations and tokens under kills: what was answered is there afterwards, what
//! was not is there as a whole or not at all, and asking again leads to the same end.
//!
//! `FARRIER_KILLS` says how often (6), `FARRIER_SEED` repeats the choices of a run.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};

use super::quiet_log;
use crate::support::{Binary, Over, Random, Source, eventually, git::Client, send, try_send};

/// Answers between two kills, at most.
const ACKS_MAX: usize = 12;
/// Longest pause before a kill, beside which requests run.
const JITTER_MAX_MICROS: usize = 40_000;

/// What clients may believe of one thing, by its path in the API.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// The daemon said that it is there.
    There,
    /// The daemon said that it is gone.
    Gone,
    /// A request that makes it was not answered.
    Making(Request),
    /// A request that removes it was not answered.
    Removing,
    /// A migration of it was accepted, from a source that never answers.
    Begun,
}

/// A request to be made again: path and body.
type Request = (&'static str, Value);

/// What clients know, over all lives of the daemon.
#[derive(Default)]
struct Ledger {
    things: Mutex<BTreeMap<String, Known>>,
    /// Clear forms of tokens that were handed out.
    tokens: Mutex<Vec<String>>,
    acked: AtomicU64,
    names: AtomicU64,
}

impl Ledger {
    fn set(&self, path: &str, known: Known) {
        if matches!(known, Known::There | Known::Gone | Known::Begun) {
            self.acked.fetch_add(1, Ordering::SeqCst);
        }
        self.things.lock().expect("no panic").insert(path.to_owned(), known);
    }

    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}", self.names.fetch_add(1, Ordering::SeqCst))
    }
}

/// Where migrations come from.
struct Sources {
    fast: String,
    stuck: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_and_nothing_is_half_made() {
    let kills: u64 = std::env::var("FARRIER_KILLS").map_or(6, |text| text.parse().expect("a number"));
    let seed = Random::seed("FARRIER_SEED");
    println!("FARRIER_SEED={seed} FARRIER_KILLS={kills}");
    let mut random = Random::new(seed);
    let mut farrier = Binary::new("[migration]\nallowed_hosts = \"loopback\"\nmax_running = 64\n");
    farrier.start().await;
    let original = original(&farrier).await;
    let (fast, stuck) = (Source::of(original.clone(), false).await, Source::of(original, true).await);
    let sources = Sources { fast: fast.url(""), stuck: stuck.url("") };
    let ledger = Ledger::default();
    let pusher = Pusher::new(&farrier).await;

    for _ in 0..kills {
        let over = farrier.unix();
        let remote = pusher.remote(&farrier.tcp());
        let choices = [random.fork(), random.fork(), random.fork()];
        let clients = async {
            let [creates, organises, migrates] = choices;
            tokio::join!(
                creator(&ledger, &over, creates),
                organiser(&ledger, &over, organises),
                minter(&ledger, &over),
                migrator(&ledger, &over, &sources, migrates),
                pusher.push(&ledger, remote),
            )
        };
        let enough = ledger.acked.load(Ordering::SeqCst) + 1 + random.below(ACKS_MAX) as u64;
        let jitter = Duration::from_micros(random.below(JITTER_MAX_MICROS) as u64);
        let killing = async {
            eventually("clients got on", || async { ledger.acked.load(Ordering::SeqCst) >= enough }).await;
            tokio::time::sleep(jitter).await;
            farrier.kill().await;
        };
        tokio::join!(clients, killing);
        undamaged(&farrier).await;
        farrier.start().await;
        settle(&ledger, &farrier, &sources).await;
        pusher.settle(&farrier).await;
    }

    farrier.terminate();
    assert!(farrier.ended().await.success());
    let checked = farrier.check_data(&["--git", "--json"]).await;
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!((checked.status.code(), &report["findings"]), (Some(0), &json!([])), "{checked:?}");
    quiet_log(&farrier.log());
    println!("kills {kills}, answered {}, lost 0", ledger.acked.load(Ordering::SeqCst));
}

/// What a killed daemon leaves is unfinished or waste, and never damage.
async fn undamaged(farrier: &Binary) {
    let checked = farrier.check_data(&[]).await;
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

/// A repository with a commit, ready for plain file servers.
async fn original(farrier: &Binary) -> std::path::PathBuf {
    let body = json!({ "name": "original", "auto_init": true }).to_string();
    let made = send(&farrier.unix(), Method::POST, "/api/v1/user/repos", &[], body).await;
    let directory = farrier.data_dir().join(format!("repositories/{}.git", made.json()["id"]));
    Client::at(&directory).done(&["update-server-info"]);
    directory
}

/// Asks for something to be made; `None`: the daemon is gone, and nobody knows.
async fn make(ledger: &Ledger, over: &Over, thing: &str, (path, body): Request) -> Option<Value> {
    ledger.set(thing, Known::Making((path, body.clone())));
    let answer = try_send(over, Method::POST, path, &[], body.to_string()).await.ok()?;
    assert_eq!(answer.status, 201, "{thing}: {answer:?}");
    ledger.set(thing, Known::There);
    Some(answer.json())
}

async fn remove(ledger: &Ledger, over: &Over, thing: &str) -> Option<()> {
    ledger.set(thing, Known::Removing);
    let answer = try_send(over, Method::DELETE, thing, &[], "").await.ok()?;
    assert_eq!(answer.status, 204, "{thing}: {answer:?}");
    ledger.set(thing, Known::Gone);
    Some(())
}

/// Makes repositories with a first commit, and deletes some of them.
async fn creator(ledger: &Ledger, over: &Over, mut random: Random) -> Option<()> {
    loop {
        let name = ledger.name("repo");
        let thing = format!("/api/v1/repos/admin/{name}");
        make(ledger, over, &thing, ("/api/v1/user/repos", json!({ "name": name, "auto_init": true }))).await?;
        if random.one_in(2) {
            remove(ledger, over, &thing).await?;
        }
    }
}

/// Makes organisations, and deletes some of them.
async fn organiser(ledger: &Ledger, over: &Over, mut random: Random) -> Option<()> {
    loop {
        let name = ledger.name("org");
        let thing = format!("/api/v1/orgs/{name}");
        make(ledger, over, &thing, ("/api/v1/orgs", json!({ "username": name }))).await?;
        if random.one_in(3) {
            remove(ledger, over, &thing).await?;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Makes tokens.
async fn minter(ledger: &Ledger, over: &Over) -> Option<()> {
    loop {
        let name = ledger.name("token");
        let body = json!({ "name": name, "scopes": ["read:user"] });
        let made = try_send(over, Method::POST, "/api/v1/users/admin/tokens", &[], body.to_string()).await.ok()?;
        assert_eq!(made.status, 201, "{made:?}");
        ledger.tokens.lock().expect("no panic").push(made.json()["sha1"].as_str().expect("text").to_owned());
        ledger.acked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Fetches repositories, some of them from a source that never answers.
async fn migrator(ledger: &Ledger, over: &Over, sources: &Sources, mut random: Random) -> Option<()> {
    const PATH: &str = "/api/v1/repos/migrate";
    loop {
        let name = ledger.name("copy");
        let thing = format!("/api/v1/repos/admin/{name}");
        if random.one_in(2) {
            make(ledger, over, &thing, (PATH, json!({ "repo_name": name, "clone_addr": sources.fast }))).await?;
            continue;
        }
        let again = json!({ "repo_name": name, "clone_addr": sources.fast });
        ledger.set(&thing, Known::Making((PATH, again)));
        let body = json!({ "repo_name": name, "clone_addr": sources.stuck }).to_string();
        let begun = try_send(over, Method::POST, PATH, &[("prefer", "respond-async")], body).await.ok()?;
        assert_eq!(begun.status, 202, "{begun:?}");
        ledger.set(&thing, Known::Begun);
        if random.one_in(3) {
            remove(ledger, over, &thing).await?;
        }
    }
}

/// Compares a daemon that just started with what clients know, and asks again for what was cut off.
async fn settle(ledger: &Ledger, farrier: &Binary, sources: &Sources) {
    let over = farrier.unix();
    let known = ledger.things.lock().expect("no panic").clone();
    for (thing, known) in known {
        let shown = send(&over, Method::GET, &thing, &[], "").await;
        match known {
            Known::There => assert_eq!(shown.status, 200, "{thing} was answered: {shown:?}"),
            Known::Gone => assert_eq!(shown.status, 404, "{thing} was removed: {shown:?}"),
            Known::Making((path, body)) => {
                let failed = shown.status == 200 && shown.json()["farrier_migration"]["state"] == "failed";
                let again = send(&over, Method::POST, path, &[], body.to_string()).await;
                let expected: &[u16] = match shown.status {
                    404 => &[201],
                    200 if failed => &[201],
                    // A name that an organisation has is input that cannot be used.
                    200 => &[409, 422],
                    _ => &[],
                };
                assert!(expected.contains(&again.status), "{thing}: {shown:?}, then {again:?}");
                ledger.set(&thing, Known::There);
            }
            Known::Removing => {
                let again = send(&over, Method::DELETE, &thing, &[], "").await;
                let expected = if shown.status == 200 { 204 } else { 404 };
                assert_eq!(again.status, expected, "{thing}: {shown:?}, then {again:?}");
                ledger.set(&thing, Known::Gone);
            }
            Known::Begun => {
                let state = shown.json()["farrier_migration"]["state"].clone();
                assert_eq!((shown.status, &state), (200, &json!("failed")), "{thing}: {shown:?}");
                let name = thing.rsplit('/').next().expect("a name");
                let body = json!({ "repo_name": name, "clone_addr": sources.fast }).to_string();
                let again = send(&over, Method::POST, "/api/v1/repos/migrate", &[], body).await;
                assert_eq!(again.status, 201, "{thing}: {again:?}");
                ledger.set(&thing, Known::There);
            }
        }
        if thing.starts_with("/api/v1/repos/") && ledger.things.lock().expect("no panic")[&thing] == Known::There {
            let whole = send(&over, Method::GET, &format!("{thing}/contents/README.md"), &[], "").await;
            assert_eq!(whole.status, 200, "{thing} is whole: {whole:?}");
        }
    }
    let tokens = std::mem::take(&mut *ledger.tokens.lock().expect("no panic"));
    for token in tokens {
        let authorization = format!("token {token}");
        let user = send(&farrier.tcp(), Method::GET, "/api/v1/user", &[("authorization", &authorization)], "").await;
        assert_eq!(user.status, 200, "a token was handed out: {user:?}");
    }
}

/// A git that pushes one commit after the other.
struct Pusher {
    token: String,
    work: Client,
    /// The tip that a push said is there, and those that it may have become since.
    tips: Mutex<Vec<String>>,
}

impl Pusher {
    async fn new(farrier: &Binary) -> Self {
        let over = farrier.unix();
        for (path, body) in [
            ("/api/v1/user/repos", json!({ "name": "pushed" })),
            ("/api/v1/users/admin/tokens", json!({ "name": "push", "scopes": ["all"] })),
        ] {
            let made = send(&over, Method::POST, path, &[], body.to_string()).await;
            assert_eq!(made.status, 201, "{made:?}");
            if let Some(token) = made.json()["sha1"].as_str() {
                let work = Client::init(farrier.scratch().join("work"));
                return Self { token: token.to_owned(), work, tips: Mutex::new(vec![String::new()]) };
            }
        }
        unreachable!("a token has a clear form")
    }

    fn remote(&self, over: &Over) -> String {
        let Over::Tcp(address) = over else { panic!("over TCP only") };
        format!("http://any:{}@{address}/admin/pushed.git", self.token)
    }

    /// Pushes until a push fails.
    async fn push(&self, ledger: &Ledger, remote: String) -> Option<()> {
        loop {
            let tip = self.work.commit("file", ledger.name("content"));
            self.tips.lock().expect("no panic").push(tip.clone());
            let (directory, remote) = (self.work.dir().to_owned(), remote.clone());
            #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
            let pushed =
                tokio::task::spawn_blocking(move || Client::at(directory).run(&["push", "-q", &remote, "main"]));
            if !pushed.await.expect("no panic").ok {
                return None;
            }
            *self.tips.lock().expect("no panic") = vec![tip];
            ledger.acked.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The branch is where a push said, or where one that was cut off would have moved it; the next
    /// push goes through.
    async fn settle(&self, farrier: &Binary) {
        let remote = self.remote(&farrier.tcp());
        let listed = self.work.done(&["ls-remote", &remote, "refs/heads/main"]);
        let tip = listed.split_whitespace().next().unwrap_or_default().to_owned();
        assert!(self.tips.lock().expect("no panic").contains(&tip), "{tip} was never pushed");
        // A git that outlived its daemon may still hold a lock for a moment.
        eventually("a push succeeds", async || self.work.run(&["push", "-q", &remote, "main"]).ok).await;
        let tip = self.work.done(&["rev-parse", "main"]);
        *self.tips.lock().expect("no panic") = vec![tip];
    }
}
