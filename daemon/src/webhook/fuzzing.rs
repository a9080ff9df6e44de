//! Checks that must hold for every response of a receiver. See [`crate::fuzzing`].

use std::{net::Ipv4Addr, time::Duration};

use farrier_proto::store::RequestBody;
use http::Method;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{Client, Limits, WebhookRequest, tls::Trust};
use crate::{
    config::{Config, DefaultPaths},
    model::delivery_failure::FailureClass,
};

/// How much of a response body is kept.
const KEPT_BYTES: usize = 64;
/// Time limit of the request. Reached only if the client waits for bytes that do not come.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Checks the response of a receiver: the client returns a status and a bounded body, or an error. It never waits after
/// the end of the response.
pub fn receiver_response(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(exchange(input));
}

async fn exchange(response: &[u8]) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let mut config = Config::defaults(&DefaultPaths::from_env(|_| Ok("/h".into())));
    config.webhook.allowed_hosts = "loopback".into();
    let client = Client::new(&config.webhook);
    let request = WebhookRequest {
        method: Method::POST,
        url: url.parse().expect("an address"),
        headers: Vec::new(),
        body: bytes::Bytes::from_static(b"{}"),
        kind: RequestBody::default(),
    };
    let limits = Limits { timeout: TIMEOUT, response_bytes: KEPT_BYTES, follow_redirects: false };
    let receive = async {
        let Ok((mut stream, _)) = listener.accept().await else { return };
        let mut head = [0; 1_024];
        let _ = stream.read(&mut head).await;
        let _ = stream.write_all(response).await;
        let _ = stream.shutdown().await;
        // Dropping the stream with unread bytes would reset the connection and discard the response.
        while stream.read(&mut head).await.is_ok_and(|count| count > 0) {}
    };
    let send = async {
        let mut link = None;
        let trust = Trust { ca_pem: String::new(), fingerprint: String::new() };
        let result = client.send(&mut link, &request, &trust, limits).await;
        drop(link);
        result
    };
    match tokio::join!(send, receive).0 {
        Ok(answer) => {
            assert!((100..1_000).contains(&answer.status), "{}", response.escape_ascii());
            assert!(answer.body.len() <= KEPT_BYTES, "{}", response.escape_ascii());
        }
        Err(failure) => {
            assert!(!failure.reason.is_empty(), "{}", response.escape_ascii());
            assert_ne!(failure.class, FailureClass::Timeout, "{}", response.escape_ascii());
        }
    }
}
