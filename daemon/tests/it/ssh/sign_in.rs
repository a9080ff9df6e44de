//! Who may sign in, with which keys and algorithms.

use std::{sync::Arc, time::Duration};

use farrierd::store::Store;
use http::Method;
use serde_json::json;

use super::{add_deploy_key, add_key, demo, on, with_demo};
use crate::support::{TestDaemon, counting_engine::CountingEngine, eventually, process, send};

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_key_signs_in_clones_and_pushes() {
    let (farrier, client) = demo().await;
    let first = client.work(&farrier, "first", "admin");
    first.commit("a", "a");
    first.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    for (name, kind) in [
        ("ed25519", &["-t", "ed25519"][..]),
        ("ecdsa256", &["-t", "ecdsa", "-b", "256"]),
        ("ecdsa384", &["-t", "ecdsa", "-b", "384"]),
        ("ecdsa521", &["-t", "ecdsa", "-b", "521"]),
        ("rsa", &["-t", "rsa", "-b", "3072"]),
    ] {
        let key = client.key(name, kind).await;
        add_key(&farrier, "admin", &key).await;
        let greeted = client.run(name, &["-T"], &[]).await;
        assert_eq!(greeted.status, 0, "{name}: {greeted:?}");
        assert!(greeted.err.contains("signed in as admin"), "{name}: {greeted:?}");
        let work = client.work(&farrier, name, name);
        work.done(&["pull", "-q", &client.url("admin/demo"), "main"]);
        work.commit(name, name);
        work.done(&["tag", name]);
        work.done(&["push", "-q", &client.url("admin/demo"), "main", name]);
        work.done(&["push", "-q", &client.url("admin/demo"), &format!(":{name}")]);
        work.done(&["fetch", "-q", &client.url("admin/demo"), "main"]);
    }
    first.done(&["pull", "-q", &client.url("admin/demo"), "main"]);
    assert!(first.dir().join("rsa").exists());
    assert_eq!(first.done(&["ls-remote", "--tags", &client.url("admin/demo")]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn weak_algorithms_are_refused() {
    let (farrier, client) = demo().await;
    let key = client.key("rsa", &["-t", "rsa", "-b", "2048"]).await;
    add_key(&farrier, "admin", &key).await;
    for option in ["PubkeyAcceptedAlgorithms=rsa-sha2-256", "PubkeyAcceptedAlgorithms=rsa-sha2-512"] {
        let ended = client.run("rsa", &["-T", "-o", option], &[]).await;
        assert_eq!(ended.status, 0, "{option}: {ended:?}");
    }
    let sha1 = client.run("rsa", &["-T", "-o", "PubkeyAcceptedAlgorithms=ssh-rsa"], &[]).await;
    assert_eq!(sha1.status, 255, "{sha1:?}");
    for option in [
        "KexAlgorithms=diffie-hellman-group14-sha1",
        "KexAlgorithms=diffie-hellman-group14-sha256",
        "Ciphers=aes128-cbc",
        "MACs=hmac-sha1",
        "HostKeyAlgorithms=ssh-rsa",
        "HostKeyAlgorithms=rsa-sha2-512",
    ] {
        // Without a cipher that authenticates itself, so that the MAC matters.
        let options = ["-T", "-o", option, "-o", "Ciphers=aes128-ctr"];
        let options = if option.starts_with("Ciphers") { &options[..3] } else { &options };
        let ended = client.run("admin", options, &[]).await;
        assert!(ended.status == 255 && ended.err.contains("no matching"), "{option}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_keys_removed_keys_closed_accounts_and_other_names_are_refused_alike() {
    let (farrier, client) = demo().await;
    let refused = async |user: &str, key: &str| {
        let ended = client.run_as(user, key, &["-T"], &[]).await;
        assert_eq!(ended.status, 255, "{user} {key}: {ended:?}");
        assert!(ended.err.contains("Permission denied (publickey)"), "{user} {key}: {ended:?}");
    };
    client.key("unknown", &["-t", "ed25519"]).await;
    refused("git", "unknown").await;
    refused("root", "admin").await;
    refused("admin", "admin").await;
    farrier.user("alice").await;
    let key = client.key("alice", &["-t", "ed25519"]).await;
    let id = add_key(&farrier, "alice", &key).await;
    assert_eq!(client.run("alice", &["-T"], &[]).await.status, 0);
    let close = async |closed: bool| {
        let body = json!({ "login_name": "alice", "source_id": 0, "prohibit_login": closed });
        let edited = farrier.admin(Method::PATCH, "/api/v1/admin/users/alice", body).await;
        assert_eq!(edited.status, 200, "{}", edited.text());
    };
    close(true).await;
    refused("git", "alice").await;
    close(false).await;
    assert_eq!(client.run("alice", &["-T"], &[]).await.status, 0);
    let path = format!("/api/v1/admin/users/alice/keys/{id}");
    assert_eq!(farrier.admin(Method::DELETE, &path, serde_json::Value::Null).await.status, 204);
    refused("git", "alice").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_the_signature_counts_and_not_an_offered_one() {
    let (farrier, client) = demo().await;
    for name in ["alice", "bob"] {
        farrier.user(name).await;
        let key = client.key(name, &["-t", "ed25519"]).await;
        add_key(&farrier, name, &key).await;
    }
    std::fs::remove_file(client.home.join("alice")).expect("removed");
    // Without its private half, `ssh` offers the key and cannot sign with it.
    let both = client.home.join("alice.pub").display().to_string();
    let ended = client.run("bob", &["-T", "-v", "-i", &both], &[]).await;
    assert!(ended.err.contains("signed in as bob"), "{ended:?}");
    let reverse = client.arguments("alice.pub");
    assert!(reverse.iter().any(|argument| argument.ends_with("alice.pub")));
    let bob = client.home.join("bob").display().to_string();
    let ended = client.run("alice.pub", &["-T", "-v", "-i", &bob], &[]).await;
    assert!(ended.err.contains("signed in as bob") && ended.err.contains("Offering public key"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_reads_or_writes_its_repositories_and_no_other() {
    let (farrier, client) = demo().await;
    farrier.repository("other").await;
    farrier.repository("third").await;
    let seed = client.work(&farrier, "seed", "admin");
    seed.commit("a", "a");
    for name in ["demo", "other", "third"] {
        seed.done(&["push", "-q", &client.url(&format!("admin/{name}")), "main"]);
    }
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, true).await;
    add_deploy_key(&farrier, "other", &key, false).await;
    let work = client.work(&farrier, "work", "deploy");
    work.done(&["pull", "-q", &client.url("admin/demo"), "main"]);
    work.commit("b", "b");
    let err = work.refused(&["push", &client.url("admin/demo"), "main"]);
    assert!(err.contains("farrier: this deploy key may only read"), "{err}");
    work.done(&["push", "-q", &client.url("admin/other"), "main"]);
    for name in ["third", "missing"] {
        let err = work.refused(&["ls-remote", &client.url(&format!("admin/{name}"))]);
        assert!(err.contains(&format!("admin/{name}.git does not exist")), "a public repository, too: {err}");
    }
    let greeted = client.run("deploy", &["-T"], &[]).await;
    assert!(greeted.status == 0 && greeted.err.contains("deploy key"), "{greeted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_of_a_key_is_shown() {
    let (farrier, client) = demo().await;
    farrier.user("alice").await;
    let key = client.key("alice", &["-t", "ed25519"]).await;
    let id = add_key(&farrier, "alice", &key).await;
    let token = farrier.token("alice", &["all"]).await;
    let show = async || {
        let path = format!("/api/v1/user/keys/{id}");
        let authorization = format!("token {token}");
        send(&farrier.tcp(), Method::GET, &path, &[("authorization", &authorization)], "").await.json()
    };
    let before = show().await;
    assert_eq!(before["last_used_at"], before["created_at"]);
    // The times have whole seconds, and a use is recorded once a minute.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(client.run("alice", &["-T"], &[]).await.status, 0);
    eventually("the use is recorded", async || {
        let after = show().await;
        after["last_used_at"] != after["created_at"]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_while_the_last_use_of_their_key_cannot_be_recorded() {
    let engine = CountingEngine::new();
    let control = engine.control();
    let store = Store::open(Arc::new(engine)).await.expect("a store");
    let farrier = TestDaemon::over_store_with(store, on).await;
    let client = with_demo(&farrier).await;
    control.hold(Some(b"k\0"));
    assert_eq!(client.run("admin", &["-T"], &[]).await.status, 0);
    control.hold(None);
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_refused_also_if_the_key_of_an_account_signed_them() {
    let (_farrier, client) = demo().await;
    client.key("other", &["-t", "ed25519"]).await;
    let mut sign = process::command("ssh-keygen");
    sign.args(["-q", "-s"]).arg(client.home.join("admin")).args(["-I", "admin", "-n", "git,admin"]);
    sign.arg(client.home.join("other.pub"));
    assert!(process::output(sign).await.expect("ssh-keygen is installed").status.success());
    assert!(client.home.join("other-cert.pub").is_file());
    let ended = client.run("other", &["-T", "-v"], &[]).await;
    assert_eq!(ended.status, 255, "{ended:?}");
    assert!(ended.err.contains("ED25519-CERT") && ended.err.contains("Permission denied (publickey)"), "{ended:?}");
}
