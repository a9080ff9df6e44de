//! Push events as receivers get them.

use super::*;
use crate::support::{ReceivedRequest, Receiver, Reply, git::Client, send};

/// A daemon with the repository `admin/demo`, a hook for events of refs, its receiver, and a working copy.
async fn scene(kind: &str) -> (TestDaemon, Receiver, Client, String) {
    let farrier = farrier().await;
    let receiver = Receiver::start().await;
    farrier.repository("demo").await;
    hook_of(&farrier, kind, &receiver.url, &["push", "create", "delete"], json!({})).await;
    let token = farrier.token("admin", &["all"]).await;
    let remote = farrier.remote("admin/demo", &token);
    let work = Client::init(farrier.scratch().join("work"));
    (farrier, receiver, work, remote)
}

/// `EVENT REF BEFORE AFTER`, with abbreviated ids.
fn summary(received: &ReceivedRequest) -> String {
    let json = received.json();
    let text = |key: &str| json[key].as_str().unwrap_or("-").to_owned();
    let short = |key: &str| text(key).chars().take(7).collect::<String>();
    format!("{} {} {} {}", received.header("x-gitea-event"), text("ref"), short("before"), short("after"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_ref_of_a_push_is_delivered_in_order() {
    let (_farrier, receiver, work, remote) = scene("gitea").await;
    let one = work.commit("a", "a")[..7].to_owned();
    work.done(&["tag", "-a", "-m", "first", "v1"]);
    let tag = work.done(&["rev-parse", "v1"]);
    work.done(&["push", "-q", &remote, "main", "main:side", "v1"]);
    let received = receiver.wait(6).await;
    let lines: Vec<String> = received.iter().map(summary).collect();
    let tag7 = &tag[..7];
    let mut expected = vec![
        "create main - -".to_owned(),
        format!("push refs/heads/main 0000000 {one}"),
        "create side - -".to_owned(),
        format!("push refs/heads/side 0000000 {one}"),
        format!("push refs/tags/v1 0000000 {tag7}"),
        "create v1 - -".to_owned(),
    ];
    assert_eq!(lines, expected);
    assert_eq!(received[5].json()["sha"], json!(tag));
    let pushed = received[4].json();
    assert_eq!((&pushed["commits"], &pushed["total_commits"]), (&json!([]), &json!(0)));
    assert!(pushed["head_commit"]["id"].as_str().expect("text").starts_with(&one));

    let two = work.commit("b", "b")[..7].to_owned();
    work.done(&["push", "-q", &remote, "main", ":side", ":v1"]);
    let received = receiver.wait(10).await;
    expected.extend([
        format!("push refs/heads/main {one} {two}"),
        "delete side - -".to_owned(),
        format!("push refs/tags/v1 {tag7} 0000000"),
        "delete v1 - -".to_owned(),
    ]);
    assert_eq!(received.iter().map(summary).collect::<Vec<_>>(), expected);
    let pushed = received[6].json();
    assert_eq!(pushed["commits"][0]["added"], json!(["b"]));
    assert_eq!((&pushed["commits"][0]["id"], &pushed["total_commits"]), (&pushed["head_commit"]["id"], &json!(1)));
    let deletion = received[8].json();
    assert_eq!((&deletion["commits"], &deletion["head_commit"]), (&json!([]), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_push_lists_the_newest_commits_and_counts_all() {
    let (_farrier, receiver, work, remote) = scene("forgejo").await;
    work.commit("a", "0");
    work.done(&["push", "-q", &remote, "main"]);
    let first = work.done(&["rev-parse", "HEAD"]);
    for n in 0..60 {
        work.done(&["commit", "-q", "--allow-empty", "-m", &format!("commit {n}")]);
    }
    let last = work.done(&["rev-parse", "HEAD"]);
    work.done(&["push", "-q", &remote, "main"]);
    let received = receiver.wait(3).await;
    assert_eq!(received[0].json()["ref"], "refs/heads/main", "this type gets the full ref name");
    let push = received[2].json();
    assert_eq!((&push["before"], &push["after"]), (&json!(first), &json!(last)));
    assert_eq!((&push["total_commits"], push["commits"].as_array().expect("a list").len()), (&json!(60), 50));
    assert_eq!((&push["commits"][0]["message"], &push["head_commit"]["id"]), (&json!("commit 59\n"), &json!(last)));
    assert!(push["compare_url"].as_str().expect("text").ends_with(&format!("/admin/demo/compare/{first}...{last}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_in_quick_succession_arrive_in_order() {
    let (_farrier, receiver, work, remote) = scene("gitea").await;
    let mut tips = Vec::new();
    for n in 0..10 {
        tips.push(work.commit("a", n.to_string()));
        work.done(&["push", "-q", &remote, "main"]);
    }
    let received = receiver.wait(11).await;
    let observed: Vec<Value> = received[1..].iter().map(|received| received.json()["after"].clone()).collect();
    assert_eq!(observed, tips.into_iter().map(Value::from).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_hook_gets_only_pushes_with_commits() {
    let (farrier, receiver, work, remote) = scene("gitea").await;
    let chat = Receiver::start().await;
    let id = hook_of(&farrier, "slack", &chat.url, &["push"], json!({ "channel": "#dev" })).await;
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    work.done(&["tag", "v1"]);
    work.done(&["push", "-q", &remote, "v1"]);
    receiver.wait(4).await;
    let tag = newest(&farrier, id, |row| row["state"] != "pending").await;
    assert_eq!(
        (&tag["state"], &tag["status"]),
        (&json!("cancelled"), &json!("the hook type has no message for this event")),
        "{tag}"
    );
    let received = chat.wait(1).await;
    assert_eq!((received.len(), &received[0].json()["channel"]), (1, &json!("#dev")));
    assert!(received[0].json()["text"].as_str().expect("text").contains("[admin/demo:main] 1 new commit by admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_push_of_a_new_branch_lists_the_commits_that_no_other_branch_had() {
    let (farrier, receiver, work, remote) = scene("gitea").await;
    let mut tips = std::collections::BTreeMap::new();
    let mut commit = |name: &str| {
        tips.insert(work.commit(name, name), name.to_owned());
        work.done(&["tag", name]);
    };
    let push = |refs: &[&str]| work.done(&[&["push", "-q", &remote], refs].concat());
    // Two new branches share a new commit.
    commit("a");
    commit("b");
    push(&["a^0:refs/heads/main", "b^0:refs/heads/side"]);
    // One branch moves, and a new branch starts from it in the same push.
    commit("c");
    commit("d");
    push(&["c^0:refs/heads/main", "d^0:refs/heads/next"]);
    // A new branch without new commits.
    push(&["d^0:refs/heads/same"]);
    // The branch is merged before the payload of its first push is built.
    receiver.wait(9).await;
    receiver.reply_with([Reply::Never]);
    let short = json!({ "config": { "timeout_secs": "1" } });
    assert_eq!(at_hook(&farrier, Method::PATCH, 1, "", short).await.status, 200);
    commit("e");
    push(&["e^0:refs/heads/topic"]);
    push(&["e^0:refs/heads/main"]);
    let received = receiver.wait(12).await;
    let pushes = received.iter().filter(|received| received.event().starts_with("push")).map(|received| {
        let json = received.json();
        let commits = json["commits"].as_array().expect("a list").iter();
        let names: Vec<&str> = commits.map(|commit| tips[commit["id"].as_str().expect("text")].as_str()).collect();
        let text = |key: &str| json[key].to_string();
        format!("{} {} {}", text("ref").replace("refs/heads/", ""), names.join(","), text("total_commits"))
    });
    let expected = [
        "\"main\" a 1",
        "\"side\" b,a 2",
        "\"main\" c,b 2",
        "\"next\" d,c 2",
        "\"same\"  0",
        "\"topic\" e 1",
        "\"main\" e,d 2",
    ];
    assert_eq!(pushes.collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payload_of_a_very_large_push_is_truncated_and_delivered() {
    let farrier = farrier_with(|config| config.webhook.max_payload_bytes = 8 << 10).await;
    let receiver = Receiver::start().await;
    farrier.repository("demo").await;
    hook(&farrier, &receiver.url, &["push"], json!({})).await;
    let token = farrier.token("admin", &["all"]).await;
    let work = Client::init(farrier.scratch().join("work"));
    for n in 0..20 {
        work.done(&["commit", "-q", "--allow-empty", "-m", &format!("{n} {}", "long ".repeat(200))]);
    }
    work.done(&["push", "-q", &farrier.remote("admin/demo", &token), "main"]);
    let push = &receiver.wait(1).await[0];
    let json = push.json();
    assert!(push.body.len() <= 8 << 10, "{} bytes", push.body.len());
    assert_eq!(
        (&json["truncated"], &json["total_commits"], &json["ref"]),
        (&json!(true), &json!(20), &json!("refs/heads/main"))
    );
    assert!(json["commits"].as_array().expect("a list").len() < 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commits_of_a_push_are_read_once_for_all_hooks() {
    const MORE: usize = 20;
    let (farrier, receiver, work, remote) = scene("gitea").await;
    let started = async || {
        let text = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
        let value = text.lines().find_map(|line| line.strip_prefix("farrier_git_processes_started_total "));
        value.expect("the metric").parse::<usize>().expect("a number")
    };
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    receiver.wait(2).await;
    let before = started().await;
    work.commit("b", "b");
    work.done(&["push", "-q", &remote, "main"]);
    receiver.wait(3).await;
    let for_one = started().await - before;
    for _ in 0..MORE {
        hook(&farrier, &receiver.url, &["push"], json!({})).await;
    }
    let before = started().await;
    work.commit("c", "c");
    work.done(&["push", "-q", &remote, "main"]);
    let received = receiver.wait(3 + 1 + MORE).await;
    let for_all = started().await - before;
    // Other work starts a few processes as well, but not one for each hook.
    assert!(for_all < for_one + MORE, "{for_all} processes for {} hooks, {for_one} for one", MORE + 1);
    assert!(received[3..].iter().all(|request| request.json()["commits"].as_array().is_some_and(|all| all.len() == 1)));
}
