//! Transactions through the store: own writes, rejected writes, retries.

use std::sync::atomic::{AtomicU32, Ordering};

use farrier_proto::store::Sequence;

use super::{
    super::{EngineError, KEY_MAX_BYTES, VALUE_MAX_BYTES},
    *,
};
use crate::store::Read as _;

fn row(next: u64) -> Sequence {
    Sequence { next }
}

pub(super) async fn every_read_includes_the_transactions_own_writes(engine: TestEngine) {
    let store = engine.store().await;
    let put = |names: &'static str| {
        move |tx: Tx| async move {
            names.chars().for_each(|name| tx.put(format!("k{name}").into_bytes(), &row(1)));
            Ok::<_, StoreError>(())
        }
    };
    store.write(put("aceg")).await.expect("rows");
    store
        .write(async |tx: Tx| {
            tx.put(key("kb"), &row(2));
            tx.put(key("ke"), &row(2));
            tx.delete(key("ka"));
            tx.delete(key("kg"));
            tx.delete(key("kx"));
            assert_eq!(tx.get(b"kb").await?, Some(row(2)));
            assert_eq!(tx.get::<Sequence>(b"ka").await?, None);
            let several = tx.get_many(&[key("ka"), key("kb"), key("kc"), key("ke")]).await?;
            assert_eq!(several, [None, Some(row(2)), Some(row(1)), Some(row(2))]);
            for (reverse, skip, limit, expected) in [
                (false, 0, 9, "kb kc ke"),
                (true, 0, 9, "ke kc kb"),
                (false, 0, 1, "kb"),
                (true, 0, 1, "ke"),
                (false, 1, 1, "kc"),
                (true, 2, 5, "kb"),
                (false, 3, 5, ""),
            ] {
                let scan = Scan { range: Range::prefix("k"), reverse, skip, limit };
                let found = tx.scan::<Sequence>(&scan).await?;
                let names: Vec<_> = found.iter().map(|(key, _)| String::from_utf8_lossy(key)).collect();
                assert_eq!(names.join(" "), expected, "{scan:?}");
            }
            assert_eq!(tx.count(&Range::prefix("k"), 99).await?, 3);
            assert_eq!(tx.count(&Range::prefix("k"), 2).await?, 2);
            Ok::<_, StoreError>(())
        })
        .await
        .expect("a transaction");
    let found = keys_of(engine.view().await.as_ref(), &Scan::of(Range::prefix("k"), 9)).await;
    assert_eq!(found, ["kb", "kc", "ke"]);
}

pub(super) async fn an_error_writes_nothing(engine: TestEngine) {
    let store = engine.store().await;
    let result: Result<(), StoreError> = store
        .write(async |tx: Tx| {
            tx.put(key("k"), &row(1));
            Err(StoreError::Contended { tries: 0 })
        })
        .await;
    assert!(matches!(result, Err(StoreError::Contended { tries: 0 })));
    assert_eq!(store.read().await.expect("a view").get::<Sequence>(b"k").await.expect("a read"), None);
}

pub(super) async fn oversized_keys_and_values_are_rejected(engine: TestEngine) {
    let large = [(vec![b'k'; KEY_MAX_BYTES + 1], Bytes::new()), (key("k"), vec![0; VALUE_MAX_BYTES + 1].into())];
    for (long, value) in large {
        let writes = WriteSet::from([(key("beside"), Some(bytes("1"))), (long, Some(value))]);
        let error = engine.engine.begin().await.expect("begun").commit(writes).await.expect_err("too large");
        assert!(matches!(error, CommitError::Engine(EngineError::TooLarge { .. })), "{error:?}");
    }
    assert_eq!(engine.view().await.count(&range("", ""), 9).await.expect("a count"), 0);
}

pub(super) async fn the_largest_key_and_value_fit(engine: TestEngine) {
    let (long, value) = (vec![0xff; KEY_MAX_BYTES], Bytes::from(vec![7; VALUE_MAX_BYTES]));
    let writes = WriteSet::from([(long.clone(), Some(value.clone()))]);
    engine.engine.begin().await.expect("begun").commit(writes).await.expect("fits");
    assert_eq!(engine.view().await.get(&long).await.expect("a read"), Some(value));
}

/// Writes `k` in another transaction.
async fn write_concurrently(store: &Store) -> Result<(), StoreError> {
    store
        .write(async |tx: Tx| {
            tx.put(key("k"), &row(10));
            Ok(())
        })
        .await
}

/// Another write of `k` happens during the first run of the closure.
pub(super) async fn a_conflicting_transaction_is_retried(engine: TestEngine) {
    let store = engine.store().await;
    let runs = AtomicU32::new(0);
    let last = store
        .write(async |tx: Tx| {
            let next = tx.get::<Sequence>(b"k").await?.map_or(1, |row| row.next + 1);
            if runs.fetch_add(1, Ordering::SeqCst) == 0 {
                write_concurrently(&store).await?;
            }
            tx.put(key("k"), &row(next));
            Ok::<_, StoreError>(next)
        })
        .await;
    assert_eq!((last.expect("retried"), runs.into_inner()), (11, 2));
}

pub(super) async fn retries_of_a_transaction_are_bounded(engine: TestEngine) {
    let store = engine.store().await;
    let runs = AtomicU32::new(0);
    let result = store
        .write(async |tx: Tx| {
            tx.get::<Sequence>(b"k").await?;
            write_concurrently(&store).await?;
            tx.put(key("k"), &row(1));
            tx.put(key("mine"), &row(1));
            runs.fetch_add(1, Ordering::SeqCst);
            Ok::<_, StoreError>(())
        })
        .await;
    let Err(StoreError::Contended { tries: tries @ 2.. }) = result else { panic!("{result:?}") };
    assert_eq!(runs.into_inner(), tries);
    assert_eq!(engine.view().await.get(b"mine").await.expect("a read"), None);
}

pub(super) async fn transactions_that_only_read_succeed(engine: TestEngine) {
    engine.put(&["a"]).await;
    let reader = engine.engine.begin().await.expect("begun");
    assert_eq!(reader.get(b"a").await.expect("a read"), Some(bytes("a")));
    engine.commit(&[("a", None)]).await.expect("no conflict");
    reader.commit(WriteSet::new()).await.expect("its state was a state of the store");
}
