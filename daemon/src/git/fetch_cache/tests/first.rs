//! Answers to requests that came once.

use super::*;

/// Begins the answer to a request that came for the first time.
async fn begin_first(cache: &Arc<FetchCache>, number: u8) -> (AnswerWriter, AnswerReader) {
    let (mut writer, reader) = begin(cache, number).await;
    writer.is_first = true;
    (writer, reader)
}

fn is_found(cache: &Arc<FetchCache>, number: u8) -> bool {
    cache.lookup().index.has_request(request(number))
}

#[tokio::test]
async fn a_small_answer_to_a_first_request_is_kept_and_a_large_one_only_if_others_read_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 4 << 20, 4 << 20);
    let limit = usize::try_from(FIRST_MAX_BYTES).expect("small");
    for (number, length, is_joined, is_kept) in
        [(1, limit, false, true), (2, limit + 1, false, false), (3, limit + 1, true, true)]
    {
        let all = bytes(length);
        let (writer, first) = begin_first(&cache, number).await;
        writer.append(all.slice(..1_000), true).await.expect("stored");
        let joined = is_joined.then(|| join(&cache, number));
        writer.append(all.slice(1_000..), true).await.expect("stored");
        complete(&writer);
        drop(writer);
        assert_eq!(is_found(&cache, number), is_kept, "{number}");
        for reader in [Some(first), joined].into_iter().flatten() {
            assert!(rest(reader).await == (all.to_vec(), AnswerEnd::Complete), "{number}: the client gets all of it");
        }
        assert!(!cache.lookup().recent.is_excluded(request(number)), "a second request is stored");
    }
    assert_eq!(cache.usage().bytes, 2 * FIRST_MAX_BYTES + 1, "the other one is removed");
}

#[tokio::test]
async fn answers_that_no_other_request_has_found_make_room_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path(), 1_000, 1_000);
    for number in 1..=3 {
        let (writer, reader) = begin_first(&cache, number).await;
        writer.append(bytes(300), true).await.expect("stored");
        complete(&writer);
        drop((writer, reader));
        if number == 1 {
            drop(join(&cache, number));
        }
    }
    let (writer, _reader) = begin_first(&cache, 4).await;
    writer.append(bytes(600), true).await.expect("stored");
    assert_eq!([1, 2, 3].map(|number| is_found(&cache, number)), [true, false, false]);
    assert_eq!((cache.usage().evictions, cache.usage().bytes), (2, 900));
}

#[tokio::test]
async fn a_large_answer_that_is_not_kept_removes_no_other_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let step = usize::try_from(FIRST_MAX_BYTES).expect("small");
    let cache = cache(dir.path(), 3 * FIRST_MAX_BYTES, 3 * FIRST_MAX_BYTES);
    let (writer, reader) = begin_first(&cache, 1).await;
    writer.append(bytes(step), true).await.expect("stored");
    complete(&writer);
    drop((writer, reader));
    let (writer, reader) = begin_first(&cache, 2).await;
    let all = bytes(4 * step);
    let writing = async {
        for chunk in 0..4 {
            writer.append(all.slice(chunk * step..(chunk + 1) * step), true).await.expect("stored or sent on");
        }
        complete(&writer);
    };
    let (read, ()) = tokio::join!(rest(reader), writing);
    assert!(read == (all.to_vec(), AnswerEnd::Complete), "the client gets all of it");
    assert!(!cache.lookup().recent.is_excluded(request(2)), "a second request is stored");
    drop(writer);
    assert_eq!([1, 2].map(|number| is_found(&cache, number)), [true, false]);
    assert_eq!((cache.usage().evictions, cache.usage().bytes), (0, FIRST_MAX_BYTES));
}

#[tokio::test]
async fn only_first_requests_with_haves_are_stored() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = config::GitConfig { cache_max_bytes: 1 << 20, cache_max_answer_bytes: 1 << 20, ..git_config() };
    let git = Git::open(dir.path(), &config).expect("directories");
    git.init_bare(7, "main", false).await.expect("created");
    let parse = |more: &str, want: char| {
        let id = want.to_string().repeat(40);
        let line = |text: &str| format!("{:04x}{text}\n", text.len() + 5);
        let body = format!("{}0001{}{more}{}0000", line("command=fetch"), line(&format!("want {id}")), line("done"));
        FetchRequest::parse("version=2", body.as_bytes(), false).expect("canonical")
    };
    let have = format!("0032have {}\n", "c".repeat(40));
    let share = async |request: &FetchRequest| {
        let shared = git.shared_fetch(7, request, Holder::Address(None)).await.expect("readable");
        shared.map(|(shared, _share)| shared)
    };
    assert!(share(&parse("", 'a')).await.is_none(), "the first request of a clone");
    let fetch = parse(&have, 'a');
    let Some(SharedFetch::Write(writer, _reader)) = share(&fetch).await else { panic!("not stored") };
    assert!(writer.is_first);
    assert!(matches!(share(&fetch).await, Some(SharedFetch::Read(_))), "an equal one waits for the answer");
    let excluded = parse(&have, 'b');
    git.fetch_cache().lookup().recent.exclude(excluded.digest(7), SHAPE, Instant::now());
    assert!(share(&excluded).await.is_none());
    drop(writer);
    let Some(SharedFetch::Write(writer, _reader)) = share(&fetch).await else { panic!("not stored") };
    assert!(!writer.is_first, "the request repeats");
    let usage = git.fetch_cache().usage();
    assert_eq!((usage.joins, usage.misses), (1, 4));
}
