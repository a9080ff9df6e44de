//! A remote to import repositories from: a static file server that can be made to hang.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A static file server, as git's dumb HTTP protocol needs it.
pub struct Source {
    /// `ADDRESS:PORT`
    pub address: String,
    /// Number of connections accepted.
    pub requests: Arc<AtomicUsize>,
}

impl Source {
    /// Serves the files of `directory`. If `slow`, requests for objects never get a response.
    pub async fn of(directory: PathBuf, slow: bool) -> Self {
        Self::answering(move |path| {
            if slow && path.contains("/objects/") {
                return None;
            }
            Some(match std::fs::read(directory.join(path.trim_start_matches('/'))) {
                Ok(body) => [
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())
                        .into_bytes(),
                    body,
                ]
                .concat(),
                Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
            })
        })
        .await
    }

    /// Replies to each request path with the bytes that `answer` returns, or never if it returns `None`.
    pub async fn answering(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let requests = Arc::new(AtomicUsize::new(0));
        let (count, answer) = (requests.clone(), Arc::new(answer));
        #[expect(clippy::disallowed_methods, reason = "tests own their tasks")]
        tokio::spawn(async move {
            while let Ok((mut io, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") && io.read_buf(&mut head).await.is_ok_and(|read| read > 0) {}
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let target = head.split(' ').nth(1).unwrap_or_default();
                    match answer(target.split('?').next().unwrap_or_default()) {
                        Some(bytes) => drop(io.write_all(&bytes).await),
                        None => std::future::pending().await,
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}
