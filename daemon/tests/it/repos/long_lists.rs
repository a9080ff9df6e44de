//! Long lists: how many rows a page reads depends neither on its position nor on the length of the list.

use std::sync::Arc;

use farrier_proto::store::{CommitStatus, Release, Repository, Run, User, Visibility};
use farrierd::store::{
    Store, StoreError, Tx,
    engine::Key,
    ids::IdKind,
    interests::{self, InterestKind},
    keys, owners, releases, repositories, runs,
};
use http::Method;
use serde_json::{Value, json};

use crate::support::{TestDaemon, counting_engine::CountingEngine, eventually};

/// Entries of each list.
const ENTRIES: usize = 2_000;
/// Entries of a page.
const PAGE: usize = 50;
/// Accounts that one transaction adds.
const AT_ONCE: usize = 200;
/// The most entries of a list that one page reads: those of a few counted parts of the list.
const READS_MAX: usize = 600;
/// The most reads of the row of the source for a page of its forks.
const SOURCE_READS_MAX: usize = 8;

/// Returns `ENTRIES` new ids.
async fn new_ids(store: &Store, kind: IdKind) -> Vec<u64> {
    let mut ids = Vec::new();
    for _ in 0..ENTRIES {
        ids.push(store.next_id(kind).await.expect("an id"));
    }
    ids
}

/// Adds an account with a star and a fork of the repository `source`.
async fn add_account(tx: &Tx, source: u64, id: u64, fork: u64) -> Result<(), StoreError> {
    let user = User { id, name: format!("user-{id}"), ..User::default() };
    assert!(owners::insert_user(tx, &user).await?.is_none());
    let row = repositories::get(tx, source).await?.expect("the source");
    assert!(interests::add(tx, &user, InterestKind::Star, &row, 5).await?);
    let fork = Repository {
        id: fork,
        owner_id: id,
        name: "fork".into(),
        parent: source,
        // Its directory, which does not exist, is not searched for unreachable commits.
        prune_due_ms: i64::MAX,
        ..Repository::default()
    };
    assert!(repositories::insert(tx, &fork).await?);
    repositories::forks::added(tx, &fork).await
}

/// Gives the repository `source` a star and a fork of each of many accounts, many runs and releases, and many statuses
/// of `commit`.
async fn fill(store: &Store, source: u64, commit: &str) {
    let accounts = new_ids(store, IdKind::Owner).await;
    let forks = new_ids(store, IdKind::Repository).await;
    for (accounts, forks) in accounts.chunks(AT_ONCE).zip(forks.chunks(AT_ONCE)) {
        let write = async |tx: Tx| {
            for (account, fork) in accounts.iter().zip(forks) {
                add_account(&tx, source, *account, *fork).await?;
            }
            Ok::<_, StoreError>(())
        };
        store.write(write).await.expect("accounts, stars and forks");
    }
    let (releases, statuses) = (new_ids(store, IdKind::Release).await, new_ids(store, IdKind::Status).await);
    let runs = new_ids(store, IdKind::Run).await;
    let write = async |tx: Tx| {
        for run in &runs {
            runs::insert_run(&tx, &Run { id: *run, repository_id: source, ..Run::default() });
        }
        for (release, status) in releases.iter().zip(&statuses) {
            let row = Release { id: *release, repository_id: source, tag: format!("v{release}"), ..Release::default() };
            releases::put(&tx, None, &row);
            let row = CommitStatus { id: *status, context: "ci".into(), ..CommitStatus::default() };
            tx.put(keys::status(source, commit, *status), &row);
        }
        Ok::<_, StoreError>(())
    };
    store.write(write).await.expect("runs, releases and statuses");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_page_of_releases_statuses_stargazers_forks_and_runs_reads_few_entries() {
    let engine = CountingEngine::new();
    let control = engine.control();
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let farrier = TestDaemon::over_store(store.clone()).await;
    let created = farrier.create_repository(json!({ "name": "source", "auto_init": true })).await;
    let source = created["id"].as_u64().expect("a number");
    let branch = farrier.show("/api/v1/repos/admin/source/branches/main").await.json();
    let commit = branch["commit"]["id"].as_str().expect("a commit");
    fill(&store, source, commit).await;
    let lists: [(String, Key); 5] = [
        ("releases".into(), keys::release_entries(source)),
        (format!("statuses/{commit}"), keys::statuses(source, commit)),
        ("stargazers".into(), keys::all_interested(source)),
        ("forks".into(), keys::forks(source, Visibility::Public)),
        ("actions/runs".into(), keys::repository_runs(source)),
    ];
    for (list, prefix) in lists {
        let page = async |number: usize, counted: &Key| {
            control.count_reads(counted.clone());
            let target = format!("/api/v1/repos/admin/source/{list}?limit={PAGE}&page={number}");
            let answer = farrier.admin(Method::GET, &target, Value::Null).await;
            assert_eq!((answer.status, answer.header("x-total-count")), (200, "2000"), "{list}: {answer:?}");
            let body = answer.json();
            let entries = body.as_array().or(body["workflow_runs"].as_array());
            assert_eq!(entries.map(Vec::len), Some(PAGE), "{list} {number}");
            control.reads()
        };
        // The first request counts the list.
        assert!(page(1, &prefix).await >= ENTRIES, "{list}");
        // Counts are not kept while another commit is in progress.
        eventually("the counts are kept", async || page(1, &prefix).await <= READS_MAX).await;
        for number in [1, 2, ENTRIES / PAGE / 2, ENTRIES / PAGE] {
            let reads = page(number, &prefix).await;
            assert!((1..=READS_MAX).contains(&reads), "page {number} of {list} read {reads} entries");
        }
        if list == "forks" {
            let reads = page(1, &keys::repository(source)).await;
            assert!(reads <= SOURCE_READS_MAX, "the source of {PAGE} forks was read {reads} times");
        }
    }
}
