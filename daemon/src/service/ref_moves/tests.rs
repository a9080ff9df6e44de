//! Tests of the transaction that moves refs, without the work after the commit.

use std::{sync::Arc, time::Duration};

use farrier_proto::store::{BranchRule, Mirror, Repository};
use tokio_util::sync::CancellationToken;

use super::{
    admit::{admit, apply},
    *,
};
use crate::{
    service::ref_rules,
    store::{
        Store, StoreError, Tx,
        engine::{Faults, LostCommit, MemoryEngine},
        ref_rules as rule_rows,
        refs::Ref,
        repositories,
    },
};

const ID: u64 = 7;
const CHANGE: u64 = 99;

fn id(letter: &str) -> String {
    if letter.is_empty() { "0".repeat(40) } else { letter.repeat(40) }
}

/// Updates, each as the name below `refs/heads/`, the expected and the new id. An empty id means no object.
fn updates(list: &[(&str, &str, &str)]) -> Vec<Update> {
    let update = |(name, old, new): &(&str, &str, &str)| Update {
        name: format!("refs/heads/{name}"),
        old: id(old),
        new: id(new),
    };
    list.iter().map(update).collect()
}

fn row() -> Repository {
    Repository { id: ID, owner_id: 1, name: "tool".into(), default_branch: "main".into(), ..Repository::default() }
}

/// A repository with `main` and these other branches, all at `a…`.
async fn store(row: &Repository, branches: &[&str]) -> (Store, Faults) {
    let engine = MemoryEngine::new();
    let faults = engine.faults();
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let tips = branches.iter().chain(&["main"]);
    let tips = &tips.map(|name| (format!("refs/heads/{name}"), Ref { tip: id("a"), peeled: None })).collect::<Vec<_>>();
    let written = store.write(async |tx: Tx| {
        repositories::put(&tx, None, row);
        refs::create(&tx, ID, false, true, tips);
        Ok::<_, StoreError>(())
    });
    written.await.expect("written");
    (store, faults)
}

/// Everything that a call needs, with defaults.
struct Call {
    pusher: Pusher,
    updates: Vec<Update>,
    atomic: bool,
    allowed: Allow,
    epoch: u64,
    peeled: BTreeMap<String, String>,
}

impl Call {
    fn of(list: &[(&str, &str, &str)]) -> Self {
        let allowed = Allow::Rules { changer: RefChanger::Account(1), passed: Checked::default() };
        let (pusher, peeled) = (Pusher::default(), BTreeMap::new());
        Self { pusher, updates: updates(list), atomic: false, allowed, epoch: 0, peeled }
    }

    fn atomic(list: &[(&str, &str, &str)]) -> Self {
        Self { atomic: true, ..Self::of(list) }
    }

    fn moves(&self) -> Moves<'_> {
        Moves {
            repository: ID,
            pusher: &self.pusher,
            updates: &self.updates,
            atomic: self.atomic,
            allowed: &self.allowed,
            epoch: self.epoch,
            peeled: &self.peeled,
            grew_by: 0,
            entry: None,
            mirror_depth: 0,
        }
    }

    /// Runs the transaction.
    async fn run(&self, store: &Store) -> Result<Vec<RefOutcome>, Stop> {
        let moves = &self.moves();
        let written = store.write(async |tx: Tx| {
            let (before, version) = admit(&tx, moves, moves.updates).await?;
            let decided = apply(&tx, moves, &before, moves.updates).await?;
            if !decided.changes.is_empty() {
                let steps = decided.changes.iter().map(Change::step).collect();
                refs::advance(&tx, ID, &version, CHANGE, steps).await?;
            }
            Ok::<_, Stop>(decided.outcomes)
        });
        written.await
    }

    /// Runs the transaction and returns why it wrote nothing.
    async fn stopped(&self, store: &Store) -> MoveError {
        match self.run(store).await {
            Err(Stop::Failed(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

/// The version, and the names of the branches with the first letter of their ids.
async fn state(store: &Store) -> (u64, String) {
    let read = store.read().await.expect("a snapshot");
    let version = refs::version(&read, ID).await.expect("readable").expect("a version").version;
    let all = refs::all(&read, ID).await.expect("readable");
    let text = all.iter().map(|(name, tip)| format!("{}={}", name.trim_start_matches("refs/heads/"), &tip[..1]));
    (version, text.collect::<Vec<_>>().join(" "))
}

async fn change_row(store: &Store, row: &Repository) {
    let write = store.write(async |tx: Tx| {
        let before = repositories::get(&tx, ID).await?;
        repositories::put(&tx, before.as_ref(), row);
        Ok::<_, StoreError>(())
    });
    write.await.expect("written");
}

#[tokio::test]
async fn each_update_of_a_push_is_applied_if_its_ref_has_the_expected_value() {
    let (store, _) = store(&row(), &["x"]).await;
    let call = Call::of(&[("x", "a", "b"), ("new", "", "b"), ("main", "b", "c"), ("gone", "", ""), ("main2", "a", "")]);
    let failed = RefOutcome::Refused(FAILED);
    let expected = [RefOutcome::Moved, RefOutcome::Moved, failed, RefOutcome::Absent, failed];
    assert_eq!(call.run(&store).await.expect("applied"), expected);
    assert_eq!(state(&store).await, (2, "main=a new=b x=b".to_owned()));
    let again = call.run(&store).await.expect("nothing to do");
    assert!(!again.contains(&RefOutcome::Moved), "{again:?}");
    assert_eq!(state(&store).await.0, 2, "a push that changes nothing makes no version");
}

#[tokio::test]
async fn new_refs_with_a_name_in_the_way_are_refused() {
    let create = |name| (name, "", "b");
    let delete = |name| (name, "a", "");
    let (moved, failed) = (RefOutcome::Moved, RefOutcome::Refused(FAILED));
    for (existing, list, expected, refs) in [
        (
            &["a/b"][..],
            &[create("a"), create("a/b/c"), create("a/c"), create("aa")][..],
            &[failed, failed, moved, moved][..],
            "a/b=a a/c=b aa=b main=a",
        ),
        // Both orders within one push.
        (&[], &[create("a"), create("a/b")], &[moved, failed], "a=b main=a"),
        (&[], &[create("a/b"), create("a")], &[moved, failed], "a/b=b main=a"),
        // What the push has deleted is not in the way.
        (&["a"], &[delete("a"), create("a/b")], &[moved, moved], "a/b=b main=a"),
        (&["a/b", "a/c"], &[delete("a/b"), delete("a/c"), create("a")], &[moved, moved, moved], "a=b main=a"),
        (&["a/b", "a/c"], &[delete("a/b"), create("a")], &[moved, failed], "a/c=a main=a"),
    ] {
        let (store, _) = store(&row(), existing).await;
        let outcomes = Call::of(list).run(&store).await.expect("applied");
        assert_eq!(outcomes, expected, "{existing:?} {list:?}");
        assert_eq!(state(&store).await, (2, refs.to_owned()), "{existing:?} {list:?}");
    }
}

#[tokio::test]
async fn an_atomic_push_is_applied_as_a_whole_or_not_at_all() {
    let (store, _) = store(&row(), &["x"]).await;
    for refused in [("x", "b", "c"), ("main/y", "", "b"), ("main", "a", "")] {
        let call = Call::atomic(&[("new", "", "b"), refused, ("gone", "", "")]);
        match call.run(&store).await {
            Err(Stop::Refused(outcomes)) => {
                let others = RefOutcome::Refused(ATOMIC_FAILED);
                assert_eq!((outcomes[0], outcomes[2]), (others, others), "{refused:?}");
                assert!(outcomes[1] != others, "{refused:?}");
            }
            other => panic!("{refused:?} {other:?}"),
        }
        assert_eq!(state(&store).await, (1, "main=a x=a".to_owned()), "{refused:?}");
    }
    let call = Call::atomic(&[("new", "", "b"), ("x", "a", ""), ("main", "a", "a")]);
    assert_eq!(call.run(&store).await.expect("applied"), [RefOutcome::Moved; 3]);
    assert_eq!(state(&store).await, (2, "main=a new=b".to_owned()));
}

#[tokio::test]
async fn only_the_source_of_a_mirror_deletes_its_default_branch() {
    let (store, _) = store(&row(), &[]).await;
    let delete = Call::of(&[("main", "a", "")]);
    let refused = [RefOutcome::Refused(OF_DEFAULT)];
    assert_eq!(delete.run(&store).await.expect("decided"), refused);
    let mirror = Some(Mirror { pull: true, ..Mirror::default() });
    change_row(&store, &Repository { mirror, ..row() }).await;
    let followed = Call { allowed: Allow::FollowedMirror, ..delete };
    assert_eq!(followed.run(&store).await.expect("applied"), [RefOutcome::Moved]);
}

#[tokio::test]
async fn a_repository_that_was_deleted_archived_or_made_a_mirror_meanwhile_is_not_changed() {
    let (store, _) = store(&row(), &[]).await;
    let call = Call::of(&[("new", "", "b")]);
    let follows = Call { allowed: Allow::FollowedMirror, ..Call::of(&[("new", "", "b")]) };
    assert!(matches!(follows.stopped(&store).await, MoveError::Gone), "it is not a mirror");
    change_row(&store, &Repository { archived: true, ..row() }).await;
    assert!(matches!(call.stopped(&store).await, MoveError::Service(Error::Archived)));
    let mirror = Some(Mirror { pull: true, ..Mirror::default() });
    change_row(&store, &Repository { mirror, ..row() }).await;
    assert!(matches!(call.stopped(&store).await, MoveError::Service(Error::Mirror)));
    change_row(&store, &Repository { deleted: true, deleted_ms: 1, ..row() }).await;
    assert!(matches!(call.stopped(&store).await, MoveError::Gone));
    assert!(matches!(follows.stopped(&store).await, MoveError::Gone));
    assert_eq!(state(&store).await, (1, "main=a".to_owned()));
}

#[tokio::test]
async fn new_tips_are_looked_up_again_after_objects_were_removed() {
    let (store, _) = store(&row(), &["x"]).await;
    let raise = store.write(async |tx: Tx| refs::end_hiding(&tx, ID).await);
    raise.await.expect("written");
    let create = Call::of(&[("new", "", "b")]);
    assert!(matches!(create.stopped(&store).await, MoveError::Pruned));
    // A delete needs no objects.
    assert_eq!(Call::of(&[("x", "a", "")]).run(&store).await.expect("applied"), [RefOutcome::Moved]);
    let again = Call { epoch: 1, ..create };
    assert_eq!(again.run(&store).await.expect("applied"), [RefOutcome::Moved]);
    assert_eq!(state(&store).await, (3, "main=a new=b".to_owned()));
}

#[tokio::test]
async fn a_rule_that_was_added_meanwhile_applies() {
    let (store, _) = store(&row(), &[]).await;
    let rule = &BranchRule { id: 1, repository_id: ID, pattern: "new".into(), ..BranchRule::default() };
    let put = async |rule: &BranchRule| {
        let written = store.write(async |tx: Tx| {
            rule_rows::put_branch_rule(&tx, rule);
            Ok::<_, StoreError>(())
        });
        written.await.expect("written");
    };
    put(rule).await;
    let call = Call::of(&[("new", "", "b"), ("other", "", "b")]);
    assert!(matches!(call.stopped(&store).await, MoveError::Protected));
    // A rule that needs the objects, which the push has not checked.
    put(&BranchRule { push: true, require_signed_commits: true, ..rule.clone() }).await;
    assert!(matches!(call.stopped(&store).await, MoveError::Protected));
    let read = store.read().await.expect("a snapshot");
    let changer = RefChanger::Account(1);
    let passed = ref_rules::check_in(&read, ID, changer, &call.updates).await.expect("readable");
    assert!(passed.needs_objects());
    let checked = Call { allowed: Allow::Rules { changer, passed }, ..call };
    assert_eq!(checked.run(&store).await.expect("applied"), [RefOutcome::Moved; 2]);
}

#[tokio::test]
async fn a_preview_finds_what_the_transaction_would_refuse_and_changes_nothing() {
    let (store, _) = store(&row(), &["x"]).await;
    let outcomes = async |call: Call| preview(&store.read().await.expect("a snapshot"), &call.moves()).await;
    let (moved, failed) = (RefOutcome::Moved, RefOutcome::Refused(FAILED));
    let mixed = Call::of(&[("x", "b", "c"), ("new", "", "b"), ("y", "b", "")]);
    assert_eq!(outcomes(mixed).await.expect("decided"), [failed, moved, failed]);
    assert_eq!(outcomes(Call::of(&[("x/y", "", "b")])).await.expect("decided"), [failed]);
    let of_default = Call::atomic(&[("new", "", "b"), ("main", "a", "")]);
    let refused = [ATOMIC_FAILED, OF_DEFAULT].map(RefOutcome::Refused);
    assert_eq!(outcomes(of_default).await.expect("decided"), refused);
    let create = || Call::of(&[("new", "", "b")]);
    let pruned = outcomes(Call { epoch: 1, ..create() }).await;
    assert!(matches!(pruned, Err(MoveError::Pruned)), "{pruned:?}");
    let rule = &BranchRule { id: 1, repository_id: ID, pattern: "new".into(), ..BranchRule::default() };
    let written = store.write(async |tx: Tx| {
        rule_rows::put_branch_rule(&tx, rule);
        Ok::<_, StoreError>(())
    });
    written.await.expect("written");
    let protected = outcomes(create()).await;
    assert!(matches!(protected, Err(MoveError::Protected)), "{protected:?}");
    change_row(&store, &Repository { archived: true, ..row() }).await;
    let archived = outcomes(create()).await;
    assert!(matches!(archived, Err(MoveError::Service(Error::Archived))), "{archived:?}");
    assert_eq!(state(&store).await, (1, "main=a x=a".to_owned()));
}

#[tokio::test]
async fn a_commit_with_an_unknown_outcome_is_found_by_its_change_number() {
    for (lost, expected) in [(LostCommit::Applied, Some(2)), (LostCommit::Dropped, None)] {
        let (store, faults) = store(&row(), &[]).await;
        faults.lose_answers(lost, 1);
        match Call::of(&[("new", "", "b")]).stopped(&store).await {
            MoveError::Service(error) => assert!(outcome::is_unknown(&error), "{error:?}"),
            other => panic!("{other:?}"),
        }
        let stop = CancellationToken::new();
        assert_eq!(outcome::find(&store, &stop, ID, CHANGE, 1).await, expected, "{lost:?}");
        assert_eq!(outcome::find(&store, &stop, ID, CHANGE + 1, 1).await, None, "another change");
        assert_eq!(state(&store).await.0, expected.unwrap_or(1), "{lost:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_is_looked_up_until_the_store_answers() {
    let (store, faults) = store(&row(), &[]).await;
    Call::of(&[("new", "", "b")]).run(&store).await.expect("applied");
    let stop = CancellationToken::new();
    faults.unavailable(true);
    let later = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        faults.unavailable(false);
    };
    let (found, ()) = tokio::join!(outcome::find(&store, &stop, ID, CHANGE, 1), later);
    assert_eq!(found, Some(2));
    faults.unavailable(true);
    assert_eq!(outcome::find(&store, &stop, ID, CHANGE, 1).await, None, "it does not wait forever");
    let later = async {
        tokio::time::sleep(Duration::from_secs(200)).await;
        faults.unavailable(false);
    };
    let (found, ()) = tokio::join!(outcome::find_later(&store, &stop, ID, CHANGE, 1), later);
    assert_eq!(found, Some(2), "work without the lock waits longer");
    faults.unavailable(true);
    stop.cancel();
    assert_eq!(outcome::find(&store, &stop, ID, CHANGE, 1).await, None, "nor when the daemon stops");
}
