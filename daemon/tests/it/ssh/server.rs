//! Host keys and the listener.

use std::{fs, os::unix::fs::PermissionsExt as _};

use http::Method;
use serde_json::Value;

use super::{SshClient, demo, on, with_demo};
use crate::support::TestDaemon;

async fn service(farrier: &TestDaemon) -> Value {
    farrier.admin(Method::GET, "/api/farrier/v1/ssh", Value::Null).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn host_keys_are_created_once_and_kept() {
    let (mut farrier, mut client) = demo().await;
    let before = service(&farrier).await;
    for name in ["host_ed25519", "host_ecdsa"] {
        let file = fs::metadata(farrier.data_dir().join("ssh").join(name)).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
    }
    farrier.restart().await;
    assert_eq!(service(&farrier).await["host_keys"], before["host_keys"]);
    client.connect_to(&farrier).await;
    for algorithm in ["ssh-ed25519", "ecdsa-sha2-nistp256"] {
        let ended = client.run("admin", &["-T", "-o", &format!("HostKeyAlgorithms={algorithm}")], &[]).await;
        assert_eq!(ended.status, 0, "{algorithm}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_damaged_host_key_ssh_is_off_and_the_api_works() {
    let (mut farrier, _client) = demo().await;
    farrier.stop().await;
    let file = farrier.data_dir().join("ssh/host_ed25519");
    fs::write(&file, "damaged").expect("written");
    farrier.restart().await;
    assert_eq!(service(&farrier).await["enabled"], false);
    let health = farrier.admin(Method::GET, "/api/healthz", Value::Null).await;
    assert_eq!(health.status, 200);
    let health = health.json();
    assert_eq!((&health["status"], &health["checks"]["ssh"][0]["status"]), (&"warn".into(), &"warn".into()));
    assert_eq!(fs::read(&file).expect("kept"), b"damaged");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_shows_its_fingerprints_and_waits_for_nobody() {
    let mut farrier = TestDaemon::program(super::ON).await;
    let client = with_demo(&farrier).await;
    let shown = service(&farrier).await;
    for key in shown["host_keys"].as_array().expect("a list") {
        assert!(farrier.log().contains(key["fingerprint"].as_str().expect("text")), "{}", farrier.log());
    }
    client.key("unknown", &["-t", "ed25519"]).await;
    client.run("unknown", &["-T"], &[]).await;
    let unknown = fs::read_to_string(client.home.join("unknown.pub")).expect("a file");
    let blob = unknown.split(' ').nth(1).expect("a key");
    assert!(farrier.log().contains("an SSH key was refused") && !farrier.log().contains(blob), "{}", farrier.log());
    farrier.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_port_that_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let mut farrier = TestDaemon::with(on).await;
    farrier.stop().await;
    let output = farrier.refused_start(&format!("[ssh]\nlisten = [\"{address}\"]\n")).await;
    assert!(!output.status.success(), "{output:?}");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains(&format!("listening on {address} for SSH failed")), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_fetch_ends_before_the_daemon_does() {
    let (mut farrier, client) = demo().await;
    let other = SshClient { home: client.home.clone(), port: client.port };
    let work = client.work(&farrier, "work", "admin");
    work.commit("large", crate::support::git::noise(8 << 20));
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    let (at, url, setting) = (farrier.scratch(), client.url("admin/demo"), client.setting("admin"));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    let cloning = tokio::task::spawn_blocking(move || {
        crate::support::git::Client::at(at).run(&["-c", &setting, "clone", "-q", &url, "copy"])
    });
    crate::support::eventually("git runs", async || {
        farrier.scratch().join("copy/.git").exists() || cloning.is_finished()
    })
    .await;
    farrier.stop().await;
    // The clone had its connection, or it came too late: it is never cut in the middle.
    let cloned = cloning.await.expect("no panic");
    assert!(cloned.ok || !cloned.err.contains("early EOF"), "{cloned:?}");
    assert_ne!(other.run("admin", &["-T"], &[]).await.status, 0, "nobody listens");
}
