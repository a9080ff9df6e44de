//! Connections that are silent, broken or too many.

use std::{process::Stdio, sync::Arc, time::Duration};

use http::Method;
use russh::{
    client::Handle,
    keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{SshClient, add_deploy_key, add_key, demo, demo_with};
use crate::support::{TestDaemon, eventually, git::Client, in_time, process, send};

async fn connect(port: i64) -> TcpStream {
    let port = u16::try_from(port).expect("a port");
    TcpStream::connect(("127.0.0.1", port)).await.expect("a connection")
}

/// Reads until the daemon closes the connection.
async fn closed(mut stream: TcpStream) {
    let mut bytes = [0; 4_096];
    in_time("the daemon closes the connection", async {
        while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    let (_farrier, client) = demo_with(|config| config.ssh.max_unauthenticated = 16).await;
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(connect(client.port).await);
    }
    let ended = client.run("admin", &["-T"], &[]).await;
    assert_eq!(ended.status, 0, "{ended:?}");
    closed(silent.swap_remove(0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_sign_in_is_disconnected() {
    let (_farrier, client) = demo_with(|config| config.ssh.login_timeout = Duration::from_secs(1)).await;
    closed(connect(client.port).await).await;
    let mut stream = connect(client.port).await;
    stream.write_all(b"SSH-2.0-x\r\n").await.expect("open");
    closed(stream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_is_disconnected_and_the_daemon_lives() {
    let (_farrier, client) = demo().await;
    let banner = b"SSH-2.0-x\r\n".to_vec();
    for junk in [
        b"GET / HTTP/1.1\r\n\r\n\r\n".repeat(600),
        vec![b'a'; 64 << 10],
        vec![0xff; 64 << 10],
        [banner.clone(), vec![0xff; 64 << 10]].concat(),
        [banner.clone(), vec![0; 64 << 10]].concat(),
        [banner, vec![0, 0, 0, 12, 255, 20, 1, 2, 3]].concat(),
    ] {
        let mut stream = connect(client.port).await;
        // The daemon may close the connection before it has everything.
        let _ = stream.write_all(&junk).await;
        let _ = stream.shutdown().await;
        closed(stream).await;
    }
    assert_eq!(client.run("admin", &["-T"], &[]).await.status, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let (_farrier, client) = demo_with(|config| {
        config.ssh.idle_timeout = Duration::from_secs(1);
        config.ssh.login_timeout = Duration::from_secs(5);
    })
    .await;
    let ended = client.run("admin", &["-N"], &[]).await;
    assert_eq!(ended.status, 255, "{ended:?}");
}

/// The number of `field` of the SSH connections that have signed in.
async fn signed_in(farrier: &TestDaemon, field: &str) -> u64 {
    let status = farrier.admin(Method::GET, "/api/farrier/v1/status", Value::Null).await.json();
    let limits = status["limits"].as_array().expect("a list").clone();
    let limit = limits.iter().find(|limit| limit["kind"] == "ssh_connection").expect("a limit");
    limit[field].as_u64().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_account_gets_its_share_of_connections_and_others_are_served() {
    // Room for eight: two for each account or address.
    let (farrier, client) = demo_with(|config| config.ssh.max_connections = 8).await;
    for user in ["wren", "other"] {
        farrier.user(user).await;
        let key = client.key(user, &["-t", "ed25519"]).await;
        add_key(&farrier, user, &key).await;
    }
    let key = client.key("deploy", &["-t", "ed25519"]).await;
    add_deploy_key(&farrier, "demo", &key, true).await;
    let clones = Client::at(farrier.scratch().join("clones"));
    for (name, refused) in [("wren", 2), ("deploy", 4)] {
        let mut open = Vec::new();
        for count in 1..=2 {
            let mut command = process::command("ssh");
            command.args(client.arguments(name)).args(["-N", "-p", &client.port.to_string(), "git@127.0.0.1"]);
            open.push(command.stderr(Stdio::null()).spawn().expect("ssh is installed"));
            eventually("the client has signed in", async || signed_in(&farrier, "running").await == count).await;
        }
        let ended = client.run(name, &["-T"], &[]).await;
        let text = "this account or address has too many SSH connections at the same time, try again in 5 seconds";
        assert!(ended.status == 255 && ended.err.contains(text), "{ended:?}");
        let err = clones.refused(&["-c", &client.setting(name), "ls-remote", &client.url("admin/demo")]);
        assert!(err.contains(text), "{err}");
        assert_eq!(signed_in(&farrier, "refused").await, refused);
        for other in ["other", "admin"] {
            let ended = client.run(other, &["-T"], &[]).await;
            assert_eq!(ended.status, 0, "{other}: {ended:?}");
        }
        drop(open);
        eventually("the connections are closed", async || signed_in(&farrier, "running").await == 0).await;
        assert_eq!(client.run(name, &["-T"], &[]).await.status, 0);
        eventually("the connection is closed", async || signed_in(&farrier, "running").await == 0).await;
    }
    let metrics = send(&farrier.unix(), Method::GET, "/metrics", &[], "").await.text();
    let counted = "farrier_work_refused_total{kind=\"ssh_connection\",reason=\"own_share\"} 4";
    assert!(metrics.contains(counted), "{metrics}");
}

/// A client that accepts every host key.
struct TrustingClient;

impl russh::client::Handler for TrustingClient {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

/// Connects and signs in with the key of the administrator.
async fn administrator(client: &SshClient) -> Handle<TrustingClient> {
    let port = u16::try_from(client.port).expect("a port");
    let key = Arc::new(load_secret_key(client.home.join("admin"), None).expect("a key"));
    let mut session =
        russh::client::connect(Arc::default(), ("127.0.0.1", port), TrustingClient).await.expect("a connection");
    let signed_in = session.authenticate_publickey("git", PrivateKeyWithHashAlg::new(key, None)).await;
    assert!(signed_in.expect("an answer").success());
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_at_most_ten_open_channels() {
    let (_farrier, client) = demo().await;
    let session = administrator(&client).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(session.channel_open_session().await.expect("a channel"));
    }
    session.channel_open_session().await.expect_err("one too many");
    open.pop().expect("a channel").close().await.expect("open");
    eventually("there is room for another channel", async || session.channel_open_session().await.is_ok()).await;
    assert!(!session.is_closed(), "a refused channel does not end the connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_a_full_channel_without_a_command_is_closed() {
    let (_farrier, client) = demo_with(|config| {
        config.ssh.max_connections = 1;
        config.ssh.idle_timeout = Duration::from_secs(1);
        // The idle time is checked from then on, so the client has this time for everything that it sends.
        config.ssh.login_timeout = Duration::from_secs(15);
    })
    .await;
    let session = administrator(&client).await;
    let channel = session.channel_open_session().await.expect("a channel");
    // More than the daemon keeps of a channel that nobody reads.
    for _ in 0..200 {
        channel.set_env(false, "LANG", "C").await.expect("open");
    }
    eventually("the connection is closed", async || session.is_closed()).await;
    let another = async || client.run("admin", &["-T"], &[]).await.status == 0;
    eventually("there is room for another connection", another).await;
}
