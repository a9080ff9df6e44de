//! Everything of SSH that is not git is refused.

use std::net::TcpListener;

use super::demo;

#[tokio::test(flavor = "multi_thread")]
async fn subsystems_and_forwarding_are_refused() {
    let (farrier, client) = demo().await;
    let ended = client.run("admin", &["-T", "-s"], &["sftp"]).await;
    assert!(ended.status != 0 && ended.err.contains("subsystem request failed"), "{ended:?}");
    let target = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = target.local_addr().expect("an address").to_string();
    let ended = client.run("admin", &["-W", &address], &[]).await;
    assert!(ended.status != 0 && ended.err.contains("administratively prohibited"), "{ended:?}");
    let forward = format!("0:{address}");
    let ended = client.run("admin", &["-N", "-o", "ExitOnForwardFailure=yes", "-R", &forward], &[]).await;
    assert!(ended.status != 0 && ended.err.contains("forwarding failed"), "{ended:?}");
    target.set_nonblocking(true).expect("a socket");
    target.accept().expect_err("nobody connected");
    let socket = farrier.scratch().join("forwarded").display().to_string();
    let forward = format!("{socket}:{address}");
    let ended = client.run("admin", &["-N", "-o", "ExitOnForwardFailure=yes", "-R", &forward], &[]).await;
    assert!(ended.status != 0 && !std::path::Path::new(&socket).exists(), "{ended:?}");
    let ended = client.run("admin", &["-T", "-A", "-X"], &[]).await;
    assert_eq!(ended.status, 0, "the greeting works without them: {ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_public_keys_are_a_method() {
    let (_farrier, client) = demo().await;
    let options = ["-T", "-v", "-o", "PreferredAuthentications=none,password,keyboard-interactive"];
    let ended = client.run("admin", &options, &[]).await;
    assert_eq!(ended.status, 255);
    assert!(
        ended.err.contains("Authentications that can continue: publickey\n") || ended.err.contains("publickey\r"),
        "{ended:?}"
    );
}
