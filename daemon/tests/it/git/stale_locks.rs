//! Lock files of git processes that were killed do not block a repository for ever.

use http::Method;
use serde_json::json;

use crate::support::{TestDaemon, git::Client};

#[tokio::test(flavor = "multi_thread")]
async fn lock_files_of_an_earlier_daemon_are_removed_and_newer_ones_stay() {
    let mut farrier = TestDaemon::start().await;
    farrier.repository("demo").await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = farrier.remote("admin/demo", &token);
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main", "main:other"]);
    let repository = farrier.data_dir().join("repositories/1.git");
    work.done(&["--git-dir", repository.to_str().expect("text"), "pack-refs", "--all"]);
    farrier.stop().await;
    let locks = ["HEAD.lock", "packed-refs.lock", "refs/heads/other.lock"].map(|name| repository.join(name));
    for lock in &locks {
        std::fs::write(lock, "").expect("a file");
    }
    farrier.restart().await;
    // Deleting a packed ref needs `packed-refs.lock`, and the default branch `HEAD.lock`.
    work.done(&["push", "-q", &remote, "main:third", ":other"]);
    assert!(locks.iter().all(|lock| !lock.exists()), "{locks:?}");
    let edited = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "default_branch": "third" })).await;
    assert_eq!(edited.status, 200, "{edited:?}");
    assert_eq!(std::fs::read_to_string(repository.join("HEAD")).expect("HEAD"), "ref: refs/heads/third\n");

    // An operator runs git in the repository.
    std::fs::write(&locks[2], "").expect("a file");
    let refused = work.run(&["push", "-q", &remote, "main:other"]);
    assert!(!refused.ok && locks[2].exists(), "{}", refused.err);
}
