//! Many equal clones at the same time, slow readers, and clients that leave.

use farrierd::tasks;
use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use super::{Counts, clone_of, fetch, filled, objects, pack, post, raw_request, scratch};
use crate::support::{ServerAddress, TestDaemon, eventually, git::Client, in_time};

/// More than the kernel and the daemon buffer for one connection.
const LARGE_BYTES: usize = 24 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_clones_start_at_most_two_git_processes() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 400_000).await;
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    // Git runs once for its capabilities.
    clones.done(&["ls-remote", "-q", &url]);
    let before = Counts::of(&farrier).await;
    let clone_some = |client: usize, count: usize| {
        let (url, clones) = (url.clone(), Client::at(clones.dir()));
        tasks::blocking(move || {
            for number in 0..count {
                clones.done(&["clone", "-q", &url, &format!("{client}-{number}")]);
            }
        })
    };
    clone_some(9, 1).await;
    join_all((0..4).map(|client| clone_some(client, 25))).await;
    let after = Counts::of(&farrier).await;
    assert!(after.processes - before.processes <= 2, "{before:?} {after:?}");
    assert_eq!(after.hits + after.joins + after.misses - before.misses, 101, "{after:?}");
    let tree = work.done(&["rev-parse", "HEAD^{tree}"]);
    for client in 0..4 {
        for number in 0..25 {
            let copy = clones.below(&format!("{client}-{number}"));
            assert_eq!(copy.done(&["rev-parse", "HEAD^{tree}"]), tree);
            assert_eq!(copy.done(&["rev-parse", "refs/tags/v1"]), work.done(&["rev-parse", "v1"]));
        }
        clones.below(&format!("{client}-24")).done(&["fsck"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_of_a_new_commit_by_many_clients_at_once_are_answered_by_one_git_process() {
    const CLIENTS: usize = 16;
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 10_000).await;
    let url = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    for number in 0..CLIENTS {
        clones.done(&["clone", "-q", &url, &number.to_string()]);
    }
    for round in 0..3 {
        let tip = work.commit("new", format!("{round}"));
        work.done(&["push", "-q", "origin", "main"]);
        let before = Counts::of(&farrier).await;
        let fetching = (0..CLIENTS).map(|number| {
            let (clone, tip) = (clones.below(&number.to_string()), tip.clone());
            tasks::blocking(move || {
                clone.done(&["fetch", "-q"]);
                assert_eq!(clone.done(&["rev-parse", "origin/main"]), tip);
                clone.done(&["fsck"]);
            })
        });
        join_all(fetching).await;
        let after = Counts::of(&farrier).await;
        // Git may also run once to tidy the repository after the push.
        assert!(after.processes - before.processes <= 2, "{round}: {before:?} {after:?}");
        assert_eq!(after.misses - before.misses, 1, "{round}: {after:?}");
        assert_eq!(after.hits + after.joins - before.hits - before.joins, CLIENTS as u64 - 1, "{after:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_of_clients_with_commits_start_one_git_process_also_if_the_answer_is_large() {
    const REQUESTS: usize = 12;
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, 2 << 20).await;
    let tip = work.done(&["rev-parse", "HEAD"]);
    let have = format!("have {}", work.done(&["rev-parse", "HEAD~1"]));
    let body = fetch(&["ofs-delta", &format!("want {tip}"), &have, "done"]);
    // Git runs once for its capabilities.
    work.done(&["ls-remote", "-q", "origin"]);
    let before = Counts::of(&farrier).await;
    let answers = join_all((0..REQUESTS).map(|_| post(&farrier, &[], body.clone()))).await;
    let after = Counts::of(&farrier).await;
    // A request that comes when the answer to the first one has just become too large to be kept starts git again.
    assert!(after.processes - before.processes <= 2, "{before:?} {after:?}");
    let scratch = scratch(&farrier);
    let expected = objects(&scratch, &pack(&answers[0].body));
    assert!(expected.contains(&tip));
    for answer in &answers {
        assert_eq!((answer.status, objects(&scratch, &pack(&answer.body))), (200, expected.clone()));
    }
    // A large answer that one client has read is not kept.
    let other = fetch(&["thin-pack", &format!("want {tip}"), &have, "done"]);
    let before = Counts::of(&farrier).await;
    assert_eq!(post(&farrier, &[], other.clone()).await.status, 200);
    eventually("the answer is removed", async || Counts::of(&farrier).await.bytes == before.bytes).await;
    assert_eq!(post(&farrier, &[], other).await.status, 200);
    assert_eq!(Counts::of(&farrier).await.misses - before.misses, 2);
}

/// Connects from another address with a small receive buffer, and sends the request.
async fn slow_client(farrier: &TestDaemon, number: u8, request: &str) -> TcpStream {
    let ServerAddress::Tcp(address) = farrier.tcp() else { panic!("a TCP address") };
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(64 << 10).expect("a size");
    socket.bind((std::net::Ipv4Addr::new(127, 0, 1, number), 0).into()).expect("a loopback address");
    let mut stream = socket.connect(address.parse().expect("an address")).await.expect("the daemon listens");
    stream.write_all(request.as_bytes()).await.expect("the daemon reads");
    stream
}

/// Returns the body of a response, also if it is in chunks.
fn body(response: &[u8]) -> Vec<u8> {
    let head = response.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let text = String::from_utf8_lossy(&response[..head]).to_ascii_lowercase();
    assert!(text.starts_with("http/1.1 200"), "{text}");
    let (mut rest, mut body) = (&response[head..], Vec::new());
    if text.contains("content-length") {
        return rest.to_vec();
    }
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").expect("a chunk size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).expect("text"), 16).expect("a number");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_one_answer_go_at_their_own_speed_and_survive_the_client_that_began_it() {
    let farrier = TestDaemon::with(|config| config.git.max_processes = 4).await;
    let work = filled(&farrier, LARGE_BYTES).await;
    let request = clone_of(&work.done(&["rev-parse", "HEAD"]));
    assert_eq!(post(&farrier, &[], request.clone()).await.status, 200);
    let before = Counts::of(&farrier).await;

    let mut first = slow_client(&farrier, 1, &raw_request(&request)).await;
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.expect("an answer");
    assert_eq!(&begin, b"HTTP/1.1 200");
    // More than there are git processes and shares: slow readers keep neither.
    let mut slow = Vec::new();
    for number in 2..10 {
        slow.push(slow_client(&farrier, number, &raw_request(&request)).await);
    }
    let fast = post(&farrier, &[], request.clone()).await;
    drop(first);
    let mut trickle = [0; 1024];
    for _ in 0..20 {
        slow[0].read_exact(&mut trickle).await.expect("more bytes");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let again = post(&farrier, &[], request.clone()).await;
    assert_eq!(again.body, fast.body);
    let scratch = scratch(&farrier);
    let expected = objects(&scratch, &pack(&fast.body));
    slow.remove(0);
    for mut client in slow {
        let mut bytes = Vec::new();
        in_time("the response ends", client.read_to_end(&mut bytes)).await.expect("a response");
        assert!(body(&bytes) == fast.body.to_vec(), "all get the stored bytes");
    }
    assert!(!expected.is_empty());
    let after = Counts::of(&farrier).await;
    assert_eq!(after.processes - before.processes, 1, "{before:?} {after:?}");
    assert_eq!(after.hits + after.joins, 10, "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_stop_in_the_middle_of_a_stored_answer_change_no_other_answer() {
    let farrier = TestDaemon::start().await;
    let work = filled(&farrier, LARGE_BYTES).await;
    let want = format!("want {}", work.done(&["rev-parse", "HEAD"]));
    let requests = [fetch(&["ofs-delta", &want, "done"]), fetch(&["ofs-delta", &want, "deepen 1", "done"])];
    let mut expected = Vec::new();
    for request in &requests {
        assert_eq!(post(&farrier, &[], request.clone()).await.status, 200);
        expected.push(post(&farrier, &[], request.clone()).await.body);
    }
    assert!(expected[0] != expected[1]);
    let before = Counts::of(&farrier).await;
    for round in 0..4 {
        // Three of the connections are closed in the middle of the response.
        let mut stopped = Vec::new();
        for number in 1..5 {
            let mut client = slow_client(&farrier, number, &raw_request(&requests[round % 2])).await;
            in_time("bytes arrive", client.read_exact(&mut vec![0; 1 << 20])).await.expect("an answer");
            stopped.push(client);
        }
        stopped.truncate(1);
        for (request, expected) in requests.iter().zip(&expected) {
            assert!(post(&farrier, &[], request.clone()).await.body == expected, "{round}");
        }
        let mut rest = Vec::new();
        in_time("the response ends", stopped[0].read_to_end(&mut rest)).await.expect("the rest");
        assert!(expected[round % 2].ends_with(&rest) && rest.len() > LARGE_BYTES / 2, "{round}");
    }
    let after = Counts::of(&farrier).await;
    assert_eq!((after.processes - before.processes, after.hits - before.hits), (0, 4 * 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn git_ends_when_all_readers_have_left() {
    let farrier = TestDaemon::with(|config| {
        // The answer does not fit, so git waits for its readers.
        config.git.cache_max_answer_bytes = 1 << 20;
    })
    .await;
    let work = filled(&farrier, LARGE_BYTES).await;
    let request = clone_of(&work.done(&["rev-parse", "HEAD"]));
    assert_eq!(post(&farrier, &[], request.clone()).await.status, 200);
    let mut first = slow_client(&farrier, 1, &raw_request(&request)).await;
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.expect("an answer");
    assert!(Counts::of(&farrier).await.bytes > 0, "the answer is being stored");
    drop(first);
    eventually("nothing is stored", async || Counts::of(&farrier).await.bytes == 0).await;
    assert_eq!(post(&farrier, &[], request).await.status, 200);
}
