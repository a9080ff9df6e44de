mod first;

use std::time::Duration;

use super::{
    answer::{SMALL_MAX_BYTES, is_cached},
    state::FetchState,
    *,
};
use crate::{
    file_parts::{PART_MAX, SendsFiles, part_at},
    git::tests::git_config,
};

const STATE: FetchState = FetchState { objects: [1; 32], tags: [1; 32], refs: [1; 32] };
const SHAPE: Digest = [1; 32];

fn cache(dir: &Path, max_bytes: u64, max_answer_bytes: u64) -> Arc<FetchCache> {
    let config =
        config::GitConfig { cache_max_bytes: max_bytes, cache_max_answer_bytes: max_answer_bytes, ..git_config() };
    FetchCache::new(dir, &config)
}

fn request(number: u8) -> Digest {
    [number; 32]
}

/// The origin of an answer in the repository 1 that depends on all refs.
fn origin(number: u8) -> AnswerOrigin {
    AnswerOrigin { repository: 1, request: request(number), scope: StateScope::Refs, state: STATE }
}

async fn begin(cache: &Arc<FetchCache>, number: u8) -> (AnswerWriter, AnswerReader) {
    let Some(SharedFetch::Write(writer, reader)) = cache.share(origin(number), SHAPE) else {
        panic!("another request stores this answer")
    };
    writer.open().await.expect("a file");
    (writer, reader)
}

fn join(cache: &Arc<FetchCache>, number: u8) -> AnswerReader {
    match cache.share(origin(number), SHAPE) {
        Some(SharedFetch::Read(reader)) => reader,
        other => panic!("no answer: {other:?}"),
    }
}

/// Ends the answer as complete, in a repository that is still in the same state.
fn complete(writer: &AnswerWriter) {
    writer.answer.end(AnswerEnd::Complete);
}

async fn rest(mut reader: AnswerReader) -> (Vec<u8>, AnswerEnd) {
    let mut all = Vec::new();
    loop {
        match reader.next().await.expect("readable") {
            ReadStep::Bytes(bytes) => all.extend_from_slice(&bytes),
            ReadStep::End(end) => return (all, end),
        }
    }
}

fn bytes(length: usize) -> Bytes {
    (0..length).map(|number| number.to_le_bytes()[0] ^ number.to_le_bytes()[1]).collect()
}

#[tokio::test]
async fn requests_read_behind_the_writer_and_the_complete_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1 << 20, 1 << 20);
    let (writer, first) = begin(&cache, 1).await;
    writer.append(bytes(1_000), true).await.expect("stored");
    let mut joined = join(&cache, 1);
    assert_eq!(joined.complete_length(), None);
    assert!(matches!(joined.next().await, Ok(ReadStep::Bytes(read)) if read == bytes(1_000)));
    drop(first);
    let mut waiting = Box::pin(joined.next());
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err(), "nothing more is written");
    writer.append(bytes(2_000), true).await.expect("stored");
    assert!(matches!(waiting.await, Ok(ReadStep::Bytes(read)) if read == bytes(2_000)));
    complete(&writer);
    drop(writer);
    assert!(matches!(joined.next().await, Ok(ReadStep::End(AnswerEnd::Complete))));
    let hit = join(&cache, 1);
    assert_eq!(hit.complete_length(), Some(3_000));
    assert_eq!(rest(hit).await, ([bytes(1_000), bytes(2_000)].concat(), AnswerEnd::Complete));
    let CacheUsage { hits, joins, bytes, .. } = cache.usage();
    assert_eq!((hits, joins, bytes), (1, 1, 3_000));
    assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0, "the file has no name");
}

#[tokio::test]
async fn a_failed_answer_reaches_all_its_readers_and_is_found_by_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1 << 20, 1 << 20);
    let (writer, first) = begin(&cache, 1).await;
    writer.append(bytes(10), true).await.expect("stored");
    let joined = join(&cache, 1);
    drop(writer);
    assert_eq!((rest(first).await.1, rest(joined).await.1), (AnswerEnd::Failed, AnswerEnd::Failed));
    let (writer, first) = begin(&cache, 1).await;
    let joined = join(&cache, 1);
    drop(writer);
    assert_eq!((rest(first).await.1, rest(joined).await.1), (AnswerEnd::NotStored, AnswerEnd::NotStored));
    let (writer, first) = begin(&cache, 1).await;
    writer.append(bytes(10), true).await.expect("stored");
    writer.refused(128);
    assert_eq!(rest(first).await, (bytes(10).to_vec(), AnswerEnd::Refused(128)));
    let (writer, first) = begin(&cache, 1).await;
    assert!(writer.append(bytes(10), false).await.is_err(), "nothing was stored and the disk is full");
    drop(writer);
    assert_eq!(rest(first).await.1, AnswerEnd::NotStored);
    assert_eq!(cache.usage().bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn a_writer_is_abandoned_some_time_after_all_readers_have_left() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1 << 20, 1 << 20);
    let (writer, first) = begin(&cache, 1).await;
    let joined = join(&cache, 1);
    drop(first);
    assert!(tokio::time::timeout(Duration::from_millis(20), writer.abandoned()).await.is_err());
    drop(joined);
    assert!(tokio::time::timeout(EXIT_GRACE / 2, writer.abandoned()).await.is_err(), "git may be about to exit");
    let late = join(&cache, 1);
    assert!(tokio::time::timeout(2 * EXIT_GRACE, writer.abandoned()).await.is_err(), "a reader came meanwhile");
    drop(late);
    writer.abandoned().await;
    assert!(matches!(cache.share(origin(1), SHAPE), Some(SharedFetch::Write(..))), "no request finds it");
}

#[tokio::test]
async fn an_answer_without_room_goes_through_a_ring_to_all_its_readers() {
    let dir = tempfile::tempdir().expect("a directory");
    for (max_bytes, has_disk_space) in [(1_000, true), (1 << 20, false)] {
        let cache = cache(dir.path(), max_bytes, max_bytes);
        let (writer, first) = begin(&cache, 1).await;
        let second = join(&cache, 1);
        let all = bytes(50_000);
        writer.append(all.slice(..700), true).await.expect("stored");
        let writing = async {
            for at in (700..50_000).step_by(493) {
                let part = all.slice(at..(at + 493).min(50_000));
                writer.append(part, has_disk_space).await.expect("written");
                assert!(cache.usage().bytes <= 1_000);
            }
            complete(&writer);
            drop(writer);
        };
        let slow = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            rest(second).await
        };
        let ((), first, second) = tokio::join!(writing, rest(first), slow);
        assert!(first.0 == all && second.0 == all);
        assert_eq!((first.1, second.1), (AnswerEnd::Complete, AnswerEnd::Complete));
        assert_eq!(cache.usage().bytes, 0, "it is not kept");
        assert!(!cache.lookup().recent.repeats(request(1), SHAPE, Instant::now()), "it is not stored again soon");
    }
}

#[tokio::test]
async fn the_least_recently_used_answers_make_room_unless_they_are_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1_000, 1_000);
    for number in 1..=3 {
        let (writer, _) = begin(&cache, number).await;
        writer.append(bytes(300), true).await.expect("stored");
        complete(&writer);
        drop(writer);
    }
    let reading = join(&cache, 1);
    drop(join(&cache, 2));
    let (writer, fourth) = begin(&cache, 4).await;
    writer.append(bytes(300), true).await.expect("stored");
    assert_eq!((cache.usage().evictions, cache.usage().bytes), (1, 900));
    assert_eq!(rest(join(&cache, 2)).await.0, bytes(300), "3 was removed");
    writer.append(bytes(300), true).await.expect("stored");
    assert_eq!((cache.usage().evictions, cache.usage().bytes), (2, 900), "2 was removed");
    complete(&writer);
    drop(writer);
    drop(fourth);
    let (writer, _fifth) = begin(&cache, 5).await;
    writer.append(bytes(700), true).await.expect("stored");
    assert_eq!((cache.usage().evictions, cache.usage().bytes), (3, 1_000), "the answer that is read stays");
    assert_eq!(rest(reading).await.0, bytes(300));
}

#[tokio::test]
async fn a_new_state_removes_the_answers_of_old_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1_000, 1_000);
    let (writer, _) = begin(&cache, 1).await;
    writer.append(bytes(300), true).await.expect("stored");
    complete(&writer);
    drop(writer);
    let state = FetchState { refs: [2; 32], ..STATE };
    let other = AnswerOrigin { repository: 2, state, ..origin(9) };
    let other = cache.share(other, SHAPE).expect("another repository");
    assert_eq!(cache.usage().bytes, 300);
    let newer = cache.share(AnswerOrigin { state, ..origin(1) }, SHAPE).expect("begun");
    assert!(matches!((&other, &newer), (SharedFetch::Write(..), SharedFetch::Write(..))));
    assert_eq!(cache.usage().bytes, 0);
}

#[tokio::test]
async fn the_file_of_a_complete_answer_is_sent_and_counts_until_its_parts_are_dropped() {
    let dir = tempfile::tempdir().expect("a directory");
    let probe = dir.path().join("probe");
    std::fs::write(&probe, "bytes").expect("a file");
    if !is_cached(&std::fs::File::open(&probe).expect("a file"), 5, 0) {
        return; // this file system does not tell which bytes are cached
    }
    let cache = cache(dir.path(), 4 << 20, 4 << 20);
    let (writer, first) = begin(&cache, 1).await;
    let mut first = first.sending_files(Some(SendsFiles));
    let all = bytes(PART_MAX + 1_000);
    writer.append(all.clone(), true).await.expect("stored");
    let ReadStep::Bytes(read) = first.next().await.expect("readable") else { panic!("no bytes") };
    assert!(part_at(&read).is_none() && all.starts_with(&read), "the file may still become a ring");
    complete(&writer);
    drop((writer, first));
    assert_eq!(rest(join(&cache, 1)).await.0, all, "this connection sends no files");
    let mut reader = join(&cache, 1).sending_files(Some(SendsFiles));
    let mut parts = Vec::new();
    while let ReadStep::Bytes(part) = reader.next().await.expect("readable") {
        parts.push(part);
    }
    drop(reader);
    let places: Vec<_> = parts.iter().map(|part| (part_at(part).map(|part| part.offset), part.len())).collect();
    assert_eq!(places, [(Some(0), PART_MAX), (Some(PART_MAX as u64), 1_000)]);
    // No request finds the answer in this state.
    drop(cache.share(AnswerOrigin { state: FetchState { refs: [2; 32], ..STATE }, ..origin(2) }, SHAPE));
    assert_eq!(cache.usage().bytes, all.len() as u64);
    drop(parts);
    assert_eq!(cache.usage().bytes, 0);
}

#[tokio::test]
async fn a_small_answer_is_read_at_once_when_it_is_complete() {
    let dir = tempfile::tempdir().expect("a directory");
    let probe = dir.path().join("probe");
    std::fs::write(&probe, "bytes").expect("a file");
    if !is_cached(&std::fs::File::open(&probe).expect("a file"), 5, 0) {
        return; // this file system does not tell which bytes are cached
    }
    let cache = cache(dir.path(), 1 << 20, 1 << 20);
    for (number, length, is_small) in [(1, SMALL_MAX_BYTES, true), (2, SMALL_MAX_BYTES + 1, false), (3, 0, true)] {
        let all = bytes(usize::try_from(length).expect("small"));
        let (writer, mut first) = begin(&cache, number).await;
        writer.append(all.clone(), true).await.expect("stored");
        assert_eq!(first.read_small(), None, "more may follow");
        complete(&writer);
        drop(writer);
        let mut reader = join(&cache, number);
        assert_eq!(reader.read_small(), is_small.then(|| all.clone()), "{length}");
        let rest_of_it = if is_small { Bytes::new() } else { all };
        assert_eq!(rest(reader).await, (rest_of_it.to_vec(), AnswerEnd::Complete));
    }
}

#[tokio::test]
async fn no_request_joins_an_answer_with_tags_after_a_ref_has_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1_000, 1_000);
    for (scope, joins) in [(StateScope::Objects, true), (StateScope::Tags, false)] {
        let state = FetchState { refs: [2; 32], ..STATE };
        let (before, after) = (AnswerOrigin { scope, ..origin(1) }, AnswerOrigin { scope, state, ..origin(1) });
        let Some(SharedFetch::Write(writer, _reader)) = cache.share(before, SHAPE) else { panic!("begun") };
        assert!(matches!(cache.share(before, SHAPE), Some(SharedFetch::Read(_))));
        let later = cache.share(after, SHAPE);
        assert_eq!(matches!(later, Some(SharedFetch::Read(_))), joins, "{scope:?}");
        drop(writer);
        let found = matches!(cache.share(after, SHAPE), Some(SharedFetch::Read(_)));
        assert_eq!(found, !joins, "the first answer has failed, the second one is written");
        drop(later);
    }
}

#[tokio::test]
async fn an_answer_stays_while_its_part_of_the_state_is_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1_000, 1_000);
    for (number, scope) in [(1, StateScope::Objects), (2, StateScope::Tags), (3, StateScope::Refs)] {
        let Some(SharedFetch::Write(writer, _)) = cache.share(AnswerOrigin { scope, ..origin(number) }, SHAPE) else {
            panic!("stored")
        };
        writer.open().await.expect("a file");
        writer.append(bytes(100), true).await.expect("stored");
        complete(&writer);
    }
    // A request in a newer state removes the answers that depend on what changed.
    let looked_up = |state: FetchState| {
        drop(cache.share(AnswerOrigin { state, ..origin(9) }, SHAPE));
        cache.usage().bytes
    };
    assert_eq!(looked_up(STATE), 300);
    assert_eq!(looked_up(FetchState { refs: [2; 32], ..STATE }), 200);
    assert_eq!(looked_up(FetchState { refs: [3; 32], tags: [2; 32], ..STATE }), 100);
    let newest = FetchState { refs: [3; 32], tags: [3; 32], ..STATE };
    let same = AnswerOrigin { scope: StateScope::Objects, state: newest, ..origin(1) };
    assert!(matches!(cache.share(same, SHAPE), Some(SharedFetch::Read(_))));
    assert!(cache.lookup().index.has_request(request(1)) && !cache.lookup().index.has_request(request(3)));
    assert_eq!(looked_up(FetchState { objects: [2; 32], ..newest }), 0);
}

#[tokio::test]
async fn an_answer_is_kept_only_if_the_repository_did_not_change_and_each_change_gives_another_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = config::GitConfig { cache_max_bytes: 1 << 20, cache_max_answer_bytes: 1 << 20, ..git_config() };
    let git = Git::open(dir.path(), &config).expect("directories");
    git.init_bare(7, "main", false).await.expect("created");
    let state = async || git.fetch_state(7).await.expect("readable").expect("supported");
    for (scope, changes, is_kept) in [
        (StateScope::Refs, false, true),
        (StateScope::Refs, true, false),
        (StateScope::Tags, true, false),
        (StateScope::Objects, true, true),
    ] {
        let before = state().await;
        assert_eq!(state().await, before, "nothing changed");
        let cache = git.fetch_cache().clone();
        let origin = AnswerOrigin { repository: 7, scope, state: before, ..origin(1) };
        let Some(SharedFetch::Write(writer, _reader)) = cache.share(origin, SHAPE) else { panic!("stored") };
        writer.open().await.expect("a file");
        writer.append(bytes(10), true).await.expect("stored");
        if changes {
            drop(git.lock(7).await);
        }
        writer.complete(&git).await;
        let found = matches!(cache.share(origin, SHAPE), Some(SharedFetch::Read(_)));
        assert_eq!(found, is_kept, "{scope:?} {changes}");
        drop(git.lock(7).await);
    }
    let before = state().await;
    let lock = git.lock(7).await;
    let locked = state().await;
    assert_ne!(locked.refs, before.refs);
    assert_eq!((locked.tags, locked.objects), (before.tags, before.objects));
    // Without a commit git cannot write a graph; the objects may have changed nevertheless.
    let _ = git.prune(7, (1_000_000_000, 0), &[], &lock).await;
    let pruned = state().await;
    let scopes = [StateScope::Objects, StateScope::Tags, StateScope::Refs];
    assert!(scopes.iter().all(|scope| pruned.of(*scope) != locked.of(*scope)), "before the lock is released");
}

#[tokio::test]
async fn a_part_of_a_file_is_read_like_a_complete_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("file");
    std::fs::write(&path, "0123456789").expect("a file");
    let of = |range| AnswerReader::of_file(std::fs::File::open(&path).expect("a file"), range);
    let mut reader = of(3..7);
    let ReadStep::Bytes(bytes) = reader.next().await.expect("readable") else { panic!("no bytes") };
    assert_eq!(&bytes[..], b"3456");
    assert!(matches!(reader.next().await.expect("readable"), ReadStep::End(AnswerEnd::Complete)));
    assert!(of(3..11).next().await.is_err(), "a file that was cut is no complete answer");
}
