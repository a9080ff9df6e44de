//! Pushes for which the store cannot say whether their transaction was committed.

use std::sync::Arc;

use farrierd::store::{
    Store, StoreError,
    engine::{LostCommit, MemoryEngine},
    events, refs,
};

use super::demo_of;
use crate::support::{TestDaemon, git::Client};

/// Number of pushes per kind of fault. Some of the faults affect a transaction of a background task.
const ATTEMPTS: usize = 10;

/// The value of a ref, and the number of its events.
async fn recorded(store: &Store, name: &str) -> Result<(Option<String>, usize), StoreError> {
    let read = store.read().await?;
    let tip = refs::tips(&read, 1, &[name.to_owned()]).await?.remove(0);
    let events = events::after(&read, 0, 1_000).await?;
    let of_ref = events.iter().filter(|event| event.ref_change.as_ref().is_some_and(|change| change.r#ref == name));
    Ok((tip, of_ref.count()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_commit_has_an_unknown_outcome_is_recorded_once_or_fails() {
    for lost in [LostCommit::Applied, LostCommit::Dropped] {
        let engine = MemoryEngine::new();
        let faults = engine.faults();
        let store = Store::open(Arc::new(engine)).await.expect("a store");
        let farrier = TestDaemon::over_store(store.clone()).await;
        let remote = demo_of(&farrier).await;
        let work = Client::init(farrier.scratch().join("work"));
        let tip = work.commit("a", "a");
        work.done(&["push", "-q", &remote, "main"]);
        let mut refused = 0;
        for attempt in 0..ATTEMPTS {
            let name = format!("refs/tags/t{attempt}");
            faults.lose_answers(lost, 1);
            let pushed = work.run(&["push", "-q", &remote, &format!("main:{name}")]);
            faults.lose_answers(lost, 0);
            let expected = if pushed.ok { (Some(tip.clone()), 2) } else { (None, 0) };
            assert_eq!(recorded(&store, &name).await.expect("readable"), expected, "{lost:?} {pushed:?}");
            let seen = work.done(&["ls-remote", &remote, &name]);
            assert_eq!(!seen.is_empty(), pushed.ok, "{lost:?} {seen}");
            refused += usize::from(!pushed.ok);
        }
        match lost {
            LostCommit::Applied => assert!(refused < ATTEMPTS, "none of the pushes was found"),
            LostCommit::Dropped => assert!(refused > 0, "the fault hit no push"),
        }
        // A push that failed does not prevent later pushes.
        work.done(&["push", "-q", &remote, "main:refs/heads/last"]);
    }
}
