//! The git protocol on the wire.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use http::Method;

use super::demo;
use crate::support::{Answer, TestDaemon, git::Client, send};

const LS_REFS: &[u8] = b"0014command=ls-refs\n0015agent=git/2.47.3\n00010009peel\n0000";

async fn post(farrier: &TestDaemon, service: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let content_type = format!("application/x-git-{service}-request");
    let mut all = vec![("git-protocol", "version=2")];
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        all.push(("content-type", content_type.as_str()));
    }
    all.extend_from_slice(headers);
    send(&farrier.tcp(), Method::POST, &format!("/admin/demo.git/git-{service}"), &all, body.to_vec()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_bodies_are_accepted_and_malformed_ones_are_refused() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    let tip = work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);

    let plain = post(&farrier, "upload-pack", &[], LS_REFS).await;
    assert_eq!((plain.status, plain.header("content-type")), (200, "application/x-git-upload-pack-result"));
    assert!(plain.text().contains(&format!("{tip} refs/heads/main")), "{plain:?}");
    assert_eq!(plain.header("expires"), "Fri, 01 Jan 1980 00:00:00 GMT");

    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(LS_REFS).expect("memory");
    let packed = encoder.finish().expect("memory");
    let gzip = [("content-encoding", "gzip")];
    assert_eq!(post(&farrier, "upload-pack", &gzip, &packed).await.body, plain.body);
    for broken in [LS_REFS, &packed[..packed.len() - 4], b""] {
        let answer = post(&farrier, "upload-pack", &gzip, broken).await;
        assert_eq!((answer.status, answer.header("content-type")), (400, "text/plain; charset=utf-8"), "{answer:?}");
    }
    for headers in [("content-type", "text/plain"), ("content-encoding", "br")] {
        assert_eq!(post(&farrier, "upload-pack", &[headers], LS_REFS).await.status, 415, "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_git_protocol_header_is_ignored() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let ask = async |protocol| {
        let path = "/admin/demo.git/info/refs?service=git-upload-pack";
        send(&farrier.tcp(), Method::GET, path, &[("git-protocol", protocol)], "").await
    };
    let second = ask("version=2").await;
    assert!(second.text().starts_with("001e# service=git-upload-pack\n0000000eversion 2\n"), "{second:?}");
    for ignored in ["version=2;rm", "version=2 ", "version=$(touch /tmp/x)"] {
        let answer = ask(ignored).await;
        let plain = ignored.trim() == "version=2";
        assert_eq!(answer.status, 200);
        assert_eq!(answer.text().contains("version 2"), plain, "{ignored}: {answer:?}");
    }
    assert!(ask("").await.text().contains("refs/heads/main"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_push_is_answered_and_malformed_ones_are_refused() {
    let (farrier, remote) = demo().await;
    let token = remote.split(['@', ':']).nth(2).expect("a token");
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str())];
    let probe = post(&farrier, "receive-pack", &headers, b"0000").await;
    assert_eq!(
        (probe.status, probe.header("content-type"), probe.body.len()),
        (200, "application/x-git-receive-pack-result", 0)
    );
    let zero = "0".repeat(40);
    let id = "a".repeat(40);
    let cut = format!("0067{zero} {id} refs/heads/x");
    for broken in ["", "PACK", "0009hello0000", cut.as_str()] {
        assert_eq!(post(&farrier, "receive-pack", &headers, broken.as_bytes()).await.status, 400, "{broken}");
    }
    // A push whose object is missing.
    let line = format!("{zero} {id} refs/heads/x\0report-status");
    let push = format!("{:04x}{line}0000", line.len() + 4);
    let answer = post(&farrier, "receive-pack", &headers, push.as_bytes()).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("unpack"), "{answer:?}");
    assert!(Client::at(farrier.scratch()).done(&["ls-remote", &remote]).is_empty());
}
