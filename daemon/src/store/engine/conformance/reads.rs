//! Reads: which entries are returned, in which order, and of which state.

use super::*;

pub(super) async fn values_are_found_until_they_are_deleted(engine: TestEngine) {
    engine
        .commit(&[("a", Some("1")), ("b", Some("2")), ("", Some("empty key")), ("c", Some(""))])
        .await
        .expect("first");
    engine.commit(&[("a", Some("3")), ("b", None), ("never", None)]).await.expect("second");
    let view = engine.view().await;
    for (key, expected) in [("a", Some("3")), ("b", None), ("", Some("empty key")), ("c", Some("")), ("never", None)] {
        assert_eq!(view.get(key.as_bytes()).await.expect("a read"), expected.map(bytes), "{key:?}");
    }
}

pub(super) async fn several_values_are_returned_in_the_requested_order(engine: TestEngine) {
    engine.put(&["a", "b", "c"]).await;
    let requested = [key("c"), key("x"), key("a"), key("c")];
    let found = engine.view().await.get_many(&requested).await.expect("a read");
    assert_eq!(found, [Some(bytes("c")), None, Some(bytes("a")), Some(bytes("c"))]);
}

pub(super) async fn scans_work_in_both_directions_with_skip_and_limit(engine: TestEngine) {
    engine.put(&["a", "b", "c", "d", "e"]).await;
    let view = engine.view().await;
    for (low, high, reverse, skip, limit, expected) in [
        ("", "", false, 0, 9, "abcde"),
        ("", "", true, 0, 9, "edcba"),
        ("b", "d", false, 0, 9, "bc"),
        ("b", "d", true, 0, 9, "cb"),
        ("a\0", "", false, 0, 2, "bc"),
        ("", "", false, 1, 2, "bc"),
        ("", "", true, 1, 2, "dc"),
        ("", "", false, 4, 9, "e"),
        ("", "", false, 5, 9, ""),
        ("", "", false, u64::MAX, usize::MAX, ""),
        ("", "", false, 0, 0, ""),
    ] {
        let scan = Scan { range: range(low, high), reverse, skip, limit };
        assert_eq!(keys_of(view.as_ref(), &scan).await.concat(), expected, "{scan:?}");
    }
}

pub(super) async fn empty_and_reversed_ranges_have_no_keys(engine: TestEngine) {
    engine.put(&["a", "b", "c"]).await;
    let view = engine.view().await;
    for (low, high) in [("b", "b"), ("c", "a"), ("b\0", "c"), ("d", "")] {
        for reverse in [false, true] {
            let scan = Scan { reverse, ..Scan::of(range(low, high), 9) };
            assert_eq!(keys_of(view.as_ref(), &scan).await.len(), 0, "{scan:?}");
        }
        assert_eq!(view.count(&range(low, high), 9).await.expect("a count"), 0);
    }
}

pub(super) async fn a_prefix_of_highest_bytes_reaches_to_the_end(engine: TestEngine) {
    let keys = [&b"\xfe"[..], b"\xfe\xff", b"\xfe\xff\x01", b"\xff", b"\xff\xff", b"\xff\xff\xff"];
    let writes = keys.iter().map(|key| (key.to_vec(), Some(Bytes::new()))).collect();
    engine.engine.begin().await.expect("begun").commit(writes).await.expect("no conflict");
    let view = engine.view().await;
    for (prefix, expected) in
        [(&b"\xff"[..], 3), (b"\xff\xff", 2), (b"\xff\xff\xff\xff", 0), (b"\xfe\xff", 2), (b"\xfe", 3), (b"", 6)]
    {
        assert_eq!(view.count(&Range::prefix(prefix), 99).await.expect("a count"), expected, "{prefix:?}");
    }
}

pub(super) async fn counts_stop_at_their_cap(engine: TestEngine) {
    engine.put(&["a", "b", "c"]).await;
    let view = engine.view().await;
    for (cap, expected) in [(0, 0), (2, 2), (3, 3), (4, 3), (u64::MAX, 3)] {
        assert_eq!(view.count(&range("", ""), cap).await.expect("a count"), expected, "cap {cap}");
    }
}

/// Uses scans that are too long for an engine to run on an async worker.
pub(super) async fn long_scans_find_all_keys(engine: TestEngine) {
    let names: Vec<String> = (0..3_000).map(|n| format!("k{n:05}")).collect();
    engine.put(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let view = engine.view().await;
    assert_eq!(keys_of(view.as_ref(), &Scan::of(Range::prefix("k"), usize::MAX)).await, names);
    let scan = Scan { reverse: true, skip: 1_500, ..Scan::of(Range::prefix("k"), 2) };
    assert_eq!(keys_of(view.as_ref(), &scan).await, ["k01499", "k01498"]);
    assert_eq!(view.count(&Range::prefix("k"), 2_500).await.expect("a count"), 2_500);
    assert_eq!(view.count(&Range::prefix("k"), u64::MAX).await.expect("a count"), 3_000);
}

pub(super) async fn a_view_does_not_change(engine: TestEngine) {
    engine.put(&["a", "b"]).await;
    let (old, transaction) = (engine.view().await, engine.engine.begin().await.expect("begun"));
    old.fix().await.expect("a read");
    transaction.fix().await.expect("a read");
    engine.commit(&[("a", None), ("c", Some("c"))]).await.expect("no conflict");
    let all = Scan::of(range("", ""), 9);
    assert_eq!(keys_of(old.as_ref(), &all).await, ["a", "b"]);
    assert_eq!(keys_of(transaction.as_ref(), &all).await, ["a", "b"]);
    assert_eq!(old.get(b"a").await.expect("a read"), Some(bytes("a")));
    assert_eq!(keys_of(engine.view().await.as_ref(), &all).await, ["b", "c"]);
}
