//! Malformed and hostile uploads, and their exact errors.

use std::path::Path;

use http::Method;

use super::{assert_xml_error, block, commit, finalize, list, put, read};
use crate::support::{Job, PartialRequest, TestDaemon, send};

async fn daemon_with_upload() -> (TestDaemon, Job, String) {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let address = farrier.create(&job, "x").await;
    (farrier, job, address)
}

#[tokio::test]
async fn unsupported_requests_get_a_specific_error() {
    let (farrier, job, address) = daemon_with_upload().await;
    for (parameters, status, code) in [
        ("", 400, "InvalidHeaderValue"),
        ("&comp=block", 400, "MissingRequiredQueryParameter"),
        ("&comp=block&blockid=", 400, "MissingRequiredQueryParameter"),
        ("&comp=appendBlock", 400, "InvalidQueryParameterValue"),
        ("&comp=page", 400, "InvalidQueryParameterValue"),
        ("&comp=block&blockid=%00", 400, "InvalidBlobOrBlock"),
        ("&comp=block&blockid=a%0d%0ab", 400, "InvalidBlobOrBlock"),
        (&format!("&comp=block&blockid={}", "a".repeat(257)), 400, "InvalidBlobOrBlock"),
    ] {
        assert_xml_error(&put(&farrier, &address, parameters, "x").await, status, code);
    }
    for kind in ["PageBlob", "AppendBlob", ""] {
        let answer = send(&farrier.tcp(), Method::PUT, &address, &[("x-ms-blob-type", kind)], "x").await;
        assert_xml_error(&answer, 400, "InvalidHeaderValue");
    }
    for method in [Method::POST, Method::DELETE, Method::PATCH] {
        let answer = send(&farrier.tcp(), method.clone(), &address, &[], "x").await;
        assert_eq!((answer.status, answer.header("allow")), (405, "GET,HEAD,PUT"), "{method}");
    }
    assert_eq!(finalize(&farrier, &job, "x", 1).await.status, 412, "no refused request stored anything");
}

#[tokio::test]
async fn a_block_without_a_content_length_is_refused() {
    let (farrier, _, address) = daemon_with_upload().await;
    let head = format!(
        "PUT {address}&comp=block&blockid=a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let (status, text) =
        PartialRequest::begin(&farrier.tcp(), format!("{head}1\r\nx\r\n0\r\n\r\n")).await.answer().await;
    assert_eq!(status, 411, "{text}");
    assert!(text.contains("<Code>MissingContentLengthHeader</Code>"), "{text}");
}

#[tokio::test]
async fn a_truncated_block_is_discarded() {
    let (farrier, job, address) = daemon_with_upload().await;
    let broken = PartialRequest::put(&farrier.tcp(), &format!("{address}&comp=block&blockid=a"), 10, b"12345").await;
    drop(broken);
    assert_xml_error(&commit(&farrier, &address, &["a"]).await, 400, "InvalidBlockList");
    block(&farrier, &address, "a", "whole").await;
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 5).await.status, 200);
    assert_eq!(read(&farrier, &job, "x").await, "whole");
}

#[tokio::test]
async fn checksums_sent_by_clients_are_verified() {
    const MD5: &str = "b1kCrCNwJL3QwXbLkwY9xA==";
    const CRC64: &str = "H6LSgYQOeA8=";
    let (farrier, job, address) = daemon_with_upload().await;
    let path = format!("{address}&comp=block&blockid=a");
    for (header, value, code) in [
        ("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==", "Md5Mismatch"),
        ("x-ms-content-crc64", "AAAAAAAAAAA=", "Crc64Mismatch"),
        ("content-md5", "not base64", "InvalidMd5"),
        ("content-md5", CRC64, "InvalidMd5"),
        ("x-ms-content-crc64", MD5, "InvalidHeaderValue"),
    ] {
        let answer = send(&farrier.tcp(), Method::PUT, &path, &[(header, value)], "hello world\n").await;
        assert_xml_error(&answer, 400, code);
    }
    assert_xml_error(&commit(&farrier, &address, &["a"]).await, 400, "InvalidBlockList");
    let right = [("content-md5", MD5), ("x-ms-content-crc64", CRC64)];
    assert_eq!(send(&farrier.tcp(), Method::PUT, &path, &right, "hello world\n").await.status, 201);
    assert_eq!(commit(&farrier, &address, &["a"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 12).await.status, 200);
}

#[tokio::test]
async fn a_malformed_block_list_is_refused() {
    let (farrier, job, address) = daemon_with_upload().await;
    block(&farrier, &address, "a", "x").await;
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><BlockList><Latest>&a;</Latest></BlockList>";
    for body in ["", "{}", "<BlockList>", "<Other/>", "<BlockList><Latest>a</Latest>", bomb] {
        assert_xml_error(&put(&farrier, &address, "&comp=blocklist", body).await, 400, "InvalidXmlDocument");
    }
    let large = "x".repeat((8 << 20) + 1);
    assert_xml_error(&put(&farrier, &address, "&comp=blocklist", large).await, 413, "RequestBodyTooLarge");
    let many = vec!["a"; 50_001];
    assert_xml_error(&commit(&farrier, &address, &many).await, 400, "InvalidBlockList");
    assert_eq!(finalize(&farrier, &job, "x", 1).await.status, 412, "no refused request stored anything");
}

#[tokio::test]
async fn a_block_list_that_repeats_many_bytes_is_refused() {
    let (farrier, job, address) = daemon_with_upload().await;
    block(&farrier, &address, "a", "x".repeat(1 << 20)).await;
    for mentions in [66, 50_000] {
        let refused = commit(&farrier, &address, &vec!["a"; mentions]).await;
        assert!(refused.text().contains("repeats more than 67108864 bytes"), "{refused:?}");
        assert_xml_error(&refused, 400, "InvalidBlockList");
    }
    assert_eq!(finalize(&farrier, &job, "x", 66 << 20).await.status, 412, "no refused list was committed");
    assert_eq!(commit(&farrier, &address, &["a"; 2]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 2 << 20).await.status, 200);
}

#[tokio::test]
async fn hostile_names_and_block_ids_are_not_used_as_file_names() {
    let (farrier, job, address) = daemon_with_upload().await;
    for id in ["/../x", "..%2f..%2fx", "%2e%2e%2f%2e%2e%2fx", "C:%5cx", "~"] {
        block(&farrier, &address, id, "hostile").await;
    }
    assert_eq!(commit(&farrier, &address, &["/../x"]).await.status, 201);
    assert_eq!(finalize(&farrier, &job, "x", 7).await.status, 200);
    let name = "..%2f..%2fetc";
    farrier.upload(&job, name, b"content").await;
    assert_eq!(read(&farrier, &job, name).await, "content");
    assert_eq!(list(&farrier, &job).await.len(), 2);

    let data = farrier.data_dir();
    let home = data.parent().expect("a directory");
    let beside: Vec<String> = names(home).into_iter().filter(|name| name != "data").collect();
    assert!(beside.is_empty(), "{beside:?}");
    let mut entries = super::tree(&data.join("artifacts"));
    entries.retain(|(name, _)| name != farrierd::data_dir::FILE);
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_hexdigit() || b"/.-_".contains(&b));
    assert!(entries.iter().all(|(name, _)| plain(name) && !name.contains("..")), "{entries:?}");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect()
}
