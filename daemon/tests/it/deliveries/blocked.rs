//! Blocked targets, untrusted certificates, and proxies.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{TlsAcceptor, rustls};

use super::*;
use crate::support::Receiver;

#[tokio::test(flavor = "multi_thread")]
async fn refused_targets_are_never_connected_to() {
    let farrier = TestDaemon::start().await;
    let receiver = Receiver::start().await;
    let named = receiver.url.replace("127.0.0.1", "localhost");
    let mapped = receiver.url.replace("127.0.0.1", "[::ffff:127.0.0.1]");
    for url in [receiver.url.as_str(), &named, &mapped, "http://169.254.169.254/latest", "http://100.64.0.1/"] {
        let id = hook(&farrier, url, &["repository"], json!({})).await;
        let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
        assert_eq!((&tested["status"], &tested["state"]), (&json!("blocked"), &json!("failed")), "{url} {tested}");
        let error = tested["history"][0]["error"].as_str().expect("text");
        assert!(error.contains("webhook.allowed_hosts") && error.contains("deny '"), "{error}");
    }
    assert_eq!((receiver.requests().len(), receiver.connections()), (0, 0));
}

/// Starts a TLS receiver with a self-signed certificate for `localhost` and `ci.example.org`.
async fn tls_receiver() -> (String, rcgen::Certificate) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".into(), "ci.example.org".into()])
        .expect("a name")
        .self_signed(&key)
        .expect("a certificate");
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .expect("a certificate");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://localhost:{}/", listener.local_addr().expect("an address").port());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 16_384]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    (url, certificate)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_receiver_needs_a_certificate_in_the_hook() {
    let farrier = farrier().await;
    let (url, certificate) = tls_receiver().await;
    let digest: [u8; 32] =
        sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), certificate.der()))
            .into();
    for (config, state, status) in [
        (json!({}), "failed", "tls"),
        (json!({ "ca_pem": certificate.pem() }), "success", "OK"),
        (json!({ "certificate_sha256": hex::encode(digest) }), "success", "OK"),
        (json!({ "certificate_sha256": "ab".repeat(32) }), "failed", "tls"),
    ] {
        let id = hook(&farrier, &url, &["repository"], config.clone()).await;
        let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
        assert_eq!((&tested["state"], &tested["status"]), (&json!(state), &json!(status)), "{config} {tested}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_is_sent_through_the_proxy() {
    let proxy = Receiver::start().await;
    let address = proxy.url.trim_end_matches("/hook").replace("http://", "http://me:pw@");
    let farrier = farrier_with(|config| {
        config.webhook.proxy_url = Some(address.parse().expect("an address"));
        config.webhook.proxy_hosts = "*.example.org".into();
    })
    .await;
    let id = hook(&farrier, "http://ci.example.org/x?y=z", &["repository"], json!({})).await;
    let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
    assert_eq!(tested["state"], "success", "{tested}");
    let received = &proxy.requests()[0];
    assert_eq!(
        (received.uri.to_string().as_str(), received.header("host")),
        ("http://ci.example.org/x?y=z", "ci.example.org")
    );
    assert_eq!(received.header("proxy-authorization"), "Basic bWU6cHc=");
}

/// Starts a proxy that connects every tunnel to `target`, or answers `refusal`. Returns its port and the heads of
/// the requests that it receives.
async fn tunnel_proxy(target: String, refusal: Option<&'static str>) -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let requests: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let recorded = Arc::clone(&requests);
    #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.expect("a head"));
            }
            recorded.lock().expect("a lock").push(String::from_utf8(head).expect("text"));
            if let Some(refusal) = refusal {
                client.write_all(refusal.as_bytes()).await.expect("a write");
                continue;
            }
            let mut server = tokio::net::TcpStream::connect(&target).await.expect("the receiver");
            client.write_all(b"HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n").await.expect("a write");
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
    });
    (port, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn https_is_sent_through_a_tunnel_of_the_proxy() {
    let (url, certificate) = tls_receiver().await;
    let at = url.trim_start_matches("https://localhost:").trim_end_matches('/');
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    for (refusal, status) in [(None, "OK"), (Some(refusal), "connect")] {
        let (port, requests) = tunnel_proxy(format!("127.0.0.1:{at}"), refusal).await;
        let farrier = farrier_with(|config| {
            config.webhook.allowed_hosts = "external".into();
            config.webhook.proxy_url = Some(format!("http://me:pw@127.0.0.1:{port}").parse().expect("an address"));
            config.webhook.proxy_hosts = "*.example.org, localhost".into();
        })
        .await;
        let trust = json!({ "ca_pem": certificate.pem() });
        let id = hook(&farrier, "https://ci.example.org:4443/x", &["repository"], trust.clone()).await;
        let tested = at_hook(&farrier, Method::POST, id, "/pings?wait=1", Value::Null).await.json();
        assert_eq!(tested["status"], status, "{tested}");
        let head = requests.lock().expect("a lock").remove(0);
        assert!(head.starts_with("CONNECT ci.example.org:4443 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nProxy-Authorization: Basic bWU6cHc=\r\n"), "{head}");
        if refusal.is_some() {
            let error = tested["history"][0]["error"].as_str().expect("text");
            assert!(error.contains("the proxy did not open a tunnel") && error.contains("407"), "{error}");
        }
        // A proxy does not bypass the address policy.
        let own = hook(&farrier, &url, &["repository"], trust).await;
        let tested = at_hook(&farrier, Method::POST, own, "/pings?wait=1", Value::Null).await.json();
        assert_eq!((&tested["status"], requests.lock().expect("a lock").len()), (&json!("blocked"), 0), "{tested}");
    }
}
