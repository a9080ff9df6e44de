//! Fetches over SSH use the stored answers of the fetch cache, and each command needs the right to read.

use std::process::Stdio;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{SshClient, add_key, demo};
use crate::{
    git::fetch_cache::{Counts, clone_of, line},
    support::{
        TestDaemon,
        git::{Client, noise},
        in_time, process,
    },
};

/// Pushes some commits to `admin/demo`.
fn filled(farrier: &TestDaemon, client: &SshClient) -> Client {
    let work = client.work(farrier, "work", "admin");
    for round in 0..4 {
        work.commit("a", format!("round {round}"));
    }
    work.commit("large", noise(200_000));
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    work
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_over_ssh_is_answered_from_what_clones_over_http_have_stored() {
    let (farrier, client) = demo().await;
    let work = filled(&farrier, &client);
    let tip = work.done(&["rev-parse", "HEAD"]);
    let clones = Client::at(farrier.scratch().join("clones"));
    let (setting, over_ssh) = (client.setting("admin"), client.url("admin/demo"));
    let over_http = format!("{}/admin/demo", farrier.url);
    for name in ["http-1", "http-2"] {
        clones.done(&["clone", "-q", &over_http, name]);
    }
    let stored = Counts::of(&farrier).await;
    for (number, progress) in ["-q", "--progress", "-q"].iter().enumerate() {
        let name = format!("ssh-{number}");
        clones.done(&["-c", &setting, "clone", progress, &over_ssh, &name]);
        clones.below(&name).done(&["fsck"]);
        assert_eq!(clones.below(&name).done(&["rev-parse", "HEAD"]), tip);
    }
    let after = Counts::of(&farrier).await;
    assert_eq!((after.hits - stored.hits, after.processes - stored.processes), (3, 0), "{stored:?} {after:?}");

    // And the other way around, with negotiation.
    let next = work.commit("a", "next");
    work.done(&["push", "-q", &over_ssh, "main"]);
    let before = Counts::of(&farrier).await;
    for (number, name) in ["ssh-0", "ssh-1", "http-1", "ssh-2"].iter().enumerate() {
        let copy = clones.below(name);
        copy.done(&["-c", &setting, "fetch", "-q"]);
        assert_eq!(copy.done(&["rev-parse", "origin/main"]), next, "{number}");
        copy.done(&["fsck"]);
    }
    assert!(Counts::of(&farrier).await.hits > before.hits, "{before:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_negotiation_and_many_refs_work() {
    let (farrier, client) = demo().await;
    let work = filled(&farrier, &client);
    let tip = work.done(&["rev-parse", "HEAD"]);
    let names: Vec<String> = (0..1_500).map(|number| format!("{tip}:refs/tags/t{number}")).collect();
    let url = client.url("admin/demo");
    for some in names.chunks(500) {
        let refs: Vec<&str> = some.iter().map(String::as_str).collect();
        work.done(&[&["push", "-q", &url][..], &refs].concat());
    }
    let clones = Client::at(farrier.scratch().join("clones"));
    let setting = client.setting("admin");
    clones.done(&["-c", &setting, "clone", "-q", &url, "copy"]);
    let copy = clones.below("copy");
    assert_eq!(copy.done(&["tag"]).lines().count(), 1_500);
    // Commits that the daemon does not have, on many branches: several rounds of haves.
    for number in 0..300 {
        copy.commit("mine", number.to_string());
        copy.done(&["branch", &format!("b{number}")]);
    }
    let next = work.commit("a", "next");
    work.done(&["push", "-q", &url, "main"]);
    copy.done(&["-c", &setting, "fetch", "-q", "origin"]);
    assert_eq!(copy.done(&["rev-parse", "origin/main"]), next);
    copy.done(&["-c", &setting, "fetch", "-q", "origin"]);
}

/// Makes `admin/demo` private and adds the reader wren with a key.
async fn private_with_reader(farrier: &TestDaemon, client: &SshClient) {
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{private:?}");
    farrier.user("wren").await;
    let key = client.key("wren", &["-t", "ed25519"]).await;
    add_key(farrier, "wren", &key).await;
    let added = farrier.admin(Method::PUT, READER, json!({ "permission": "read" })).await;
    assert_eq!(added.status, 204, "{added:?}");
}

const READER: &str = "/api/v1/repos/admin/demo/collaborators/wren";

#[tokio::test(flavor = "multi_thread")]
async fn access_that_was_withdrawn_between_two_fetches_of_one_connection_is_refused() {
    let (farrier, client) = demo().await;
    let work = filled(&farrier, &client);
    private_with_reader(&farrier, &client).await;
    let control = client.home.join("control");
    let path = format!("ControlPath={}", control.display());
    let shared = client.setting_with("wren", &["-o", "ControlMaster=auto", "-o", &path, "-o", "ControlPersist=10"]);
    let clones = Client::at(farrier.scratch().join("clones"));
    for name in ["one", "two", "three"] {
        clones.done(&["-c", &shared, "clone", "-q", &client.url("admin/demo"), name]);
    }
    assert!(Counts::of(&farrier).await.hits > 0, "the answer is stored");
    assert_eq!(farrier.admin(Method::DELETE, READER, Value::Null).await.status, 204);
    let err = clones.refused(&["-c", &shared, "clone", "-q", &client.url("admin/demo"), "four"]);
    assert!(err.contains("does not exist, or you have no access to it"), "{err}");
    let setting = client.setting("admin");
    clones.done(&["-c", &setting, "clone", "-q", &client.url("admin/demo"), "owner"]);
    assert_eq!(clones.below("owner").done(&["rev-parse", "HEAD"]), work.done(&["rev-parse", "HEAD"]));
}

/// A conversation in protocol version 2, byte by byte.
struct Conversation {
    /// Ends when it is dropped.
    child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::process::ChildStdout,
    errors: tokio::process::ChildStderr,
}

impl Conversation {
    fn start(client: &SshClient, key: &str) -> Self {
        let mut command = process::command("ssh");
        command.args(client.arguments(key)).args(["-p", &client.port.to_string()]);
        command.args(["-o", "SetEnv=GIT_PROTOCOL=version=2", "git@127.0.0.1", "git-upload-pack '/admin/demo.git'"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("ssh is installed");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let errors = child.stderr.take().expect("a pipe");
        Self { child, input, output, errors }
    }

    async fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).await.expect("ssh reads");
    }

    /// Reads up to and including the next flush packet.
    async fn section(&mut self) -> Vec<u8> {
        let reading = async {
            let mut read = Vec::new();
            loop {
                let mut head = [0; 4];
                self.output.read_exact(&mut head).await.expect("an answer");
                let length = std::str::from_utf8(&head).expect("digits");
                let length = usize::from_str_radix(length, 16).expect("a number");
                read.extend_from_slice(&head);
                if length == 0 {
                    return read;
                }
                let mut rest = vec![0; length.saturating_sub(4)];
                self.output.read_exact(&mut rest).await.expect("an answer");
                read.extend_from_slice(&rest);
            }
        };
        in_time("the daemon answers", reading).await
    }

    /// Reads standard error to its end.
    async fn errors(&mut self) -> String {
        let mut text = String::new();
        in_time("ssh ends", self.errors.read_to_string(&mut text)).await.expect("text");
        text
    }

    /// Reads standard output to its end. Returns it with the exit status.
    async fn ended(mut self) -> (String, Option<i32>) {
        let mut text = String::new();
        in_time("the answer ends", self.output.read_to_string(&mut text)).await.expect("text");
        let status = in_time("ssh ends", self.child.wait()).await.expect("a status");
        (text, status.code())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_ends_with_the_status_of_git_also_if_equal_fetches_share_it() {
    let (farrier, client) = demo().await;
    filled(&farrier, &client);
    let missing = clone_of(&"a".repeat(40));
    let before = Counts::of(&farrier).await;
    // The first goes to git, the others are answered from a file to which git writes.
    for round in 0..4 {
        let mut fetch = Conversation::start(&client, "admin");
        fetch.section().await;
        fetch.send(&missing).await;
        let (answer, status) = fetch.ended().await;
        assert!(answer.contains("not our ref"), "{round}: {answer}");
        assert_eq!(status, Some(128), "{round}");
    }
    let after = Counts::of(&farrier).await;
    assert_eq!((after.misses - before.misses, after.hits - before.hits), (4, 0), "a refusal is not kept");
    let copy = client.work(&farrier, "copy", "admin");
    for _ in 0..3 {
        let err = copy.refused(&["fetch", "-q", &client.url("admin/demo"), &"a".repeat(40)]);
        assert!(err.contains("not our ref") && !err.contains("farrier: "), "git tells the reason: {err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn access_that_is_withdrawn_between_two_commands_ends_the_conversation() {
    let (farrier, client) = demo().await;
    let tip = filled(&farrier, &client).done(&["rev-parse", "HEAD"]);
    private_with_reader(&farrier, &client).await;
    let mut reader = Conversation::start(&client, "wren");
    assert!(String::from_utf8_lossy(&reader.section().await).contains("version 2"));
    reader.send(&format!("{}0000", line("command=ls-refs"))).await;
    assert!(String::from_utf8_lossy(&reader.section().await).contains(&tip));
    reader.send(&clone_of(&tip)).await;
    assert!(reader.section().await.windows(4).any(|window| window == b"PACK"), "several commands in one conversation");
    assert_eq!(farrier.admin(Method::DELETE, READER, Value::Null).await.status, 204);
    // The daemon may have closed the channel already.
    let _ = reader.input.write_all(clone_of(&tip).as_bytes()).await;
    assert!(reader.errors().await.contains("farrier: your access was revoked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_unknown_commands_end_the_conversation_only() {
    let (farrier, client) = demo().await;
    let tip = filled(&farrier, &client).done(&["rev-parse", "HEAD"]);
    let endless = "fff0".to_owned() + &"x".repeat(0xfff0 - 4);
    for bad in ["zzzz", "PACK", &format!("{}0000", line("command=nothing")), &format!("{}0002", line("command=fetch"))]
    {
        let mut sender = Conversation::start(&client, "admin");
        sender.section().await;
        sender.send(bad).await;
        let errors = sender.errors().await;
        assert!(errors.contains("farrier: "), "{bad}: {errors}");
    }
    let mut sender = Conversation::start(&client, "admin");
    sender.section().await;
    sender.send(&endless.repeat(3)).await;
    drop(sender);
    let mut last = Conversation::start(&client, "admin");
    last.section().await;
    last.send(&clone_of(&tip)).await;
    assert!(last.section().await.windows(4).any(|window| window == b"PACK"));
    last.send("0000").await;
    assert_eq!(last.errors().await, "");
}
