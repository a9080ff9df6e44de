//! Tests of the rows of the audit log.

use std::sync::Arc;

use farrier_proto::store::{AuditActor, AuditObject, AuditResult};

use super::*;
use crate::store::{Store, engine::MemoryEngine};

/// Returns an entry. Its time can be earlier than those of entries with smaller IDs.
fn row(id: u64) -> AuditEntry {
    let time = |number: u64| i64::try_from(number).expect("small") * 10_000;
    let user_id = 1 + id % 3;
    AuditEntry {
        id,
        at_ms: time(id / 4) - time(id % 3 * 2),
        action: if id.is_multiple_of(7) { "token.create" } else { "repository.delete" }.into(),
        result: AuditResult::Done.into(),
        actor: Some(AuditActor { user_id, name: format!("User{user_id}"), ..AuditActor::default() }),
        object: Some(AuditObject { kind: "repository".into(), id, name: format!("R{id}"), owner: "Octo".into() }),
        repository_id: id,
        ..AuditEntry::default()
    }
}

/// Creates the entries 1 to 90, except for every fifth ID.
async fn store() -> (Store, Vec<AuditEntry>) {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store").with_bucket_entries(8);
    let rows: Vec<_> = (1..=90).filter(|id| id % 5 != 0).map(row).collect();
    let all = &rows;
    store
        .write(async |tx: Tx| {
            for row in all {
                insert(&tx, row);
            }
            Ok::<_, StoreError>(())
        })
        .await
        .expect("rows");
    (store, rows)
}

#[tokio::test]
async fn pages_of_every_filter_match_filtering_all_rows() {
    let (store, rows) = store().await;
    let read = store.read().await.expect("a snapshot");
    let filters = [
        AuditFilter::default(),
        AuditFilter { action: "token".into(), ..AuditFilter::default() },
        AuditFilter { actor: "user2".into(), ..AuditFilter::default() },
        AuditFilter { repository_path: "octo/r33".into(), ..AuditFilter::default() },
        AuditFilter { object_kind: "repository".into(), object_id: Some(81), ..AuditFilter::default() },
        AuditFilter { action: "toke".into(), ..AuditFilter::default() },
    ];
    let mut queries = Vec::new();
    for times in [
        (None, None),
        (Some(50_000), None),
        (None, Some(120_000)),
        (Some(45_000), Some(171_000)),
        (Some(9_999_000), None),
    ] {
        for after in [None, Some(0), Some(33), Some(90)] {
            queries.extend(filters.iter().map(|filter| (None, filter.clone(), times, after)));
            queries.push((Some(3), AuditFilter::default(), times, after));
        }
    }
    for (user, filter, (since_ms, until_ms), after) in queries {
        let mut expected: Vec<u64> = rows
            .iter()
            .filter(|row| user.is_none_or(|user| row.actor.as_ref().is_some_and(|actor| actor.user_id == user)))
            .filter(|row| filter.passes(row))
            .filter(|row| since_ms.is_none_or(|since| row.at_ms >= since))
            .filter(|row| until_ms.is_none_or(|until| row.at_ms < until))
            .filter(|row| after.is_none_or(|after| row.id > after))
            .map(|row| row.id)
            .collect();
        expected.reverse();
        let (mut ids, mut before) = (Vec::new(), 0);
        loop {
            let query = AuditQuery { user, filter: filter.clone(), since_ms, until_ms, after, before, limit: 7 };
            let page = page(&read, &query).await.expect("a page");
            assert!(page.next == 0 || page.entries.len() == 7);
            ids.extend(page.entries.iter().map(|row| row.id));
            before = page.next;
            if before == 0 {
                break;
            }
        }
        assert_eq!(ids, expected, "{user:?} {filter:?} {since_ms:?} {until_ms:?} {after:?}");
    }
}

#[tokio::test]
async fn deleted_entries_leave_no_index_entries() {
    let (store, rows) = store().await;
    let oldest = after(&store.read().await.expect("a snapshot"), 0, 1).await.expect("rows");
    assert_eq!(oldest, &rows[..1]);
    let all = &rows;
    store
        .write(async |tx: Tx| {
            delete(&tx, all);
            Ok::<_, StoreError>(())
        })
        .await
        .expect("deleted");
    let read = store.read().await.expect("a snapshot");
    for tag in ["al", "au"] {
        assert_eq!(read.count(&Range::prefix(keys::tag(tag)), 9).await.expect("a count"), 0, "{tag}");
    }
}

/// Reads all pages. Returns the IDs, the number of examined entries and the number of pages.
async fn read_all(read: &Snapshot, query: &AuditQuery) -> (Vec<u64>, usize, usize) {
    let (mut ids, mut examined, mut pages, mut before) = (Vec::new(), 0, 0, query.before);
    loop {
        let page = page(read, &AuditQuery { before, ..query.clone() }).await.expect("a page");
        assert!(page.entries.len() <= query.limit && page.examined.is_some_and(|count| count <= EXAMINED_MAX));
        ids.extend(page.entries.iter().map(|row| row.id));
        (examined, pages) = (examined + page.examined.unwrap_or_default(), pages + 1);
        before = page.next;
        if before == 0 {
            return (ids, examined, pages);
        }
    }
}

#[tokio::test]
async fn pages_with_words_match_filtering_all_rows() {
    let (store, rows) = store().await;
    let read = store.read().await.expect("a snapshot");
    for (user, words, action) in [
        (None, vec!["token"], ""),
        (None, vec!["octo/r33"], ""),
        (None, vec!["user2", "r8"], "repository"),
        (None, vec!["nothing"], ""),
        (Some(3), vec!["r"], ""),
        (Some(3), vec!["r4"], ""),
    ] {
        let words = words.into_iter().map(str::to_owned).collect();
        let filter = AuditFilter { words, action: action.into(), ..AuditFilter::default() };
        let of_user =
            |row: &&AuditEntry| user.is_none_or(|user| row.actor.as_ref().is_some_and(|actor| actor.user_id == user));
        let expected: Vec<u64> =
            rows.iter().rev().filter(of_user).filter(|row| filter.passes(row)).map(|row| row.id).collect();
        let query = AuditQuery { user, filter, limit: 3, ..AuditQuery::default() };
        let (ids, examined, _) = read_all(&read, &query).await;
        assert_eq!(ids, expected, "{query:?}");
        assert_eq!(examined, rows.iter().filter(of_user).count(), "{query:?}");
    }
    let filter = AuditFilter { words: vec!["r".into()], ..AuditFilter::default() };
    let query =
        AuditQuery { filter, since_ms: Some(50_000), until_ms: Some(120_000), limit: 50, ..AuditQuery::default() };
    let (ids, ..) = read_all(&read, &query).await;
    let in_time = rows.iter().rev().filter(|row| (50_000..120_000).contains(&row.at_ms));
    assert_eq!(ids, in_time.map(|row| row.id).collect::<Vec<_>>());
    let past_the_end = AuditQuery { before: u64::MAX, ..query.clone() };
    assert_eq!(read_all(&read, &past_the_end).await.0, ids);
    assert!(read_all(&read, &AuditQuery { before: 1, ..query }).await.0.is_empty());
}

#[tokio::test]
async fn a_page_without_a_match_ends_after_a_bounded_number_of_entries() {
    let store = Store::open(Arc::new(MemoryEngine::new())).await.expect("a store");
    let rows: Vec<_> = (1..=EXAMINED_MAX as u64 + 10).map(row).collect();
    let all = &rows;
    store
        .write(async |tx: Tx| {
            for row in all {
                insert(&tx, row);
            }
            Ok::<_, StoreError>(())
        })
        .await
        .expect("rows");
    let read = store.read().await.expect("a snapshot");
    let filter = AuditFilter { words: vec!["nothing".into()], ..AuditFilter::default() };
    let query = AuditQuery { filter, limit: 5, ..AuditQuery::default() };
    let first = page(&read, &query).await.expect("a page");
    assert_eq!((first.entries.len(), first.examined, first.next), (0, Some(EXAMINED_MAX), 11));
    assert_eq!(read_all(&read, &query).await, (Vec::new(), rows.len(), 2));
}
