//! The program with a daemon behind a TLS proxy.

use std::{path::PathBuf, sync::Arc};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;

use crate::{
    program::CommandOutput,
    screen::SessionOptions,
    session::{Daemon, FARRIER},
};

/// A TLS proxy in front of the socket of a daemon, with a self-signed certificate for `localhost`.
struct TlsProxy {
    port: u16,
    /// Path of the certificate in PEM format.
    ca: PathBuf,
    _runtime: tokio::runtime::Runtime,
}

impl TlsProxy {
    fn start(daemon: &Daemon) -> Self {
        Self::with(daemon, |_| {})
    }

    fn with(daemon: &Daemon, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        change(&mut params);
        let certificate = params.self_signed(&key).unwrap();
        let ca = daemon.work("ca.pem");
        std::fs::write(&ca, certificate.pem()).unwrap();
        let builder = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let config = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = config.with_single_cert(vec![certificate.der().clone()], key.into()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = daemon.socket();
        runtime.handle().spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, socket) = (acceptor.clone(), socket.clone());
                connections.spawn(async move {
                    // A client that does not trust the certificate closes the connection.
                    let Ok(mut client) = acceptor.accept(stream).await else { return };
                    let mut daemon = UnixStream::connect(socket).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut daemon).await;
                });
            }
        });
        Self { port, ca, _runtime: runtime }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    fn farrier(&self, daemon: &Daemon, arguments: &[&str]) -> CommandOutput {
        let url = self.url();
        let first = ["--url", url.as_str(), "--ca", self.ca.to_str().unwrap()];
        daemon.farrier(&first.into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>())
    }
}

#[test]
fn commands_jobs_and_artifacts_work_over_https() {
    let daemon = Daemon::start();
    let proxy = TlsProxy::start(&daemon);
    assert_eq!(proxy.farrier(&daemon, &["status", "--json"]).json()["identity"], "admin");
    proxy.farrier(&daemon, &["repo", "create", "admin/demo"]).ok();
    let content = vec![7_u8; 3 << 20];
    std::fs::write(daemon.work("raw.bin"), &content).unwrap();
    // The command finds the daemon and the certificate in its environment.
    let script = format!("test -z \"$FARRIER_SOCKET\" && {FARRIER} artifact upload raw.bin -q && {FARRIER} status -q");
    proxy.farrier(&daemon, &["ci", "exec", "--repo", "admin/demo", "--", "sh", "-c", &script]).ok();
    proxy.farrier(&daemon, &["artifact", "download", "raw.bin", "--repo", "admin/demo", "-o", "got.bin"]).ok();
    assert!(std::fs::read(daemon.work("got.bin")).unwrap() == content);
    let runs = proxy.farrier(&daemon, &["run", "list", "--json"]).json();
    assert_eq!((&runs["runs"][0]["conclusion"], &runs["total_count"]), (&"success".into(), &1.into()));
}

#[test]
fn the_full_screen_works_over_https() {
    let daemon = Daemon::start();
    let proxy = TlsProxy::start(&daemon);
    proxy.farrier(&daemon, &["repo", "create", "admin/demo"]).ok();
    let (url, ca) = (proxy.url(), proxy.ca.display().to_string());
    let words = ["--url", &url, "--ca", &ca, "--screen", "repositories"];
    let socket = "/nonexistent".into();
    let mut session =
        SessionOptions { socket, directory: daemon.work("."), words: &words, env: &[], size: (80, 24), script: None }
            .session();
    session.wait_for_cursor_row("admin/demo");
    session.type_keys("\x03");
    assert_eq!(session.wait_for_exit().code(), Some(0));
}

#[test]
fn an_invalid_certificate_is_refused_with_the_reason() {
    let daemon = Daemon::start();
    let proxy = TlsProxy::start(&daemon);
    let url = proxy.url();
    let unknown = daemon.farrier(&["--url", &url, "status"]);
    assert_eq!(unknown.code, 6, "{unknown:?}");
    assert!(unknown.stderr.contains("authority that is not trusted"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("--ca FILE"), "{}", unknown.stderr);

    let other = format!("https://127.0.0.1:{}", proxy.port);
    let wrong = daemon.farrier(&["--url", &other, "--ca", proxy.ca.to_str().unwrap(), "status"]);
    assert_eq!(wrong.code, 6, "{wrong:?}");
    assert!(wrong.stderr.contains("not valid for this host name"), "{}", wrong.stderr);

    let expired = TlsProxy::with(&daemon, |params| params.not_after = date_time_ymd(2001, 2, 3));
    let expired = expired.farrier(&daemon, &["status"]);
    assert_eq!(expired.code, 6, "{expired:?}");
    assert!(expired.stderr.contains("has expired"), "{}", expired.stderr);

    std::fs::write(daemon.work("empty.pem"), "").unwrap();
    let empty = daemon.farrier(&["--url", &url, "--ca", "empty.pem", "status"]);
    assert_eq!(empty.code, 2, "{empty:?}");
    assert!(empty.stderr.contains("contains no certificate"), "{}", empty.stderr);
}

#[test]
fn a_server_without_tls_is_reported() {
    let daemon = Daemon::start();
    let status = daemon.farrier(&["status", "--json"]).json();
    let listeners = status["listeners"].as_array().unwrap();
    let tcp = listeners.iter().find_map(|one| one["address"].as_str()?.strip_prefix("127.0.0.1:")).unwrap();
    let plain = daemon.farrier(&["--url", &format!("https://127.0.0.1:{tcp}"), "status"]);
    assert_eq!(plain.code, 6, "{plain:?}");
    assert!(plain.stderr.contains("does not use TLS") && plain.stderr.contains("http://"), "{}", plain.stderr);
}
