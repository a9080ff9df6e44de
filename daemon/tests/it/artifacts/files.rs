//! Version 3 of the artifact protocol, with its official client: an artifact is a list of files.

use std::io::{Cursor, Read as _};

use http::Method;
use serde_json::{Value, json};

use super::{noise, tree, write};
use crate::support::{
    TestDaemon,
    client::{Version, client, client_of, upload},
    send,
};

fn upload_files(name: &str, root: &std::path::Path, files: &[&str]) -> Value {
    let mut operation = upload(name, root, files, json!({}));
    operation["call"] = "uploadFiles".into();
    operation
}

/// The files of the zip archive of the only artifact of the repository `r`.
async fn zip_of(farrier: &TestDaemon) -> Vec<(String, Vec<u8>)> {
    let list = farrier.admin(Method::GET, "/api/v1/repos/admin/r/actions/artifacts", Value::Null).await.json();
    assert_eq!(list["total_count"], 1, "{list}");
    let artifact = &list["artifacts"][0];
    let path = format!("/api/v1/repos/admin/r/actions/artifacts/{}/zip", artifact["id"]);
    let found = farrier.admin(Method::GET, &path, Value::Null).await;
    // The host of the address is that of the request.
    let address: http::Uri = found.header("location").parse().expect("an address");
    let target = address.path_and_query().expect("a path").as_str();
    let bytes = send(&farrier.tcp(), Method::GET, target, &[], "").await.body;
    assert_eq!(artifact["size_in_bytes"], bytes.len(), "{artifact}");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut files: Vec<(String, Vec<u8>)> = (0..archive.len())
        .map(|index| {
            let mut file = archive.by_index(index).expect("a file");
            let mut content = Vec::new();
            // This also compares the checksum.
            file.read_to_end(&mut content).expect("content");
            (file.name().expect("UTF-8").into_owned(), content)
        })
        .collect();
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_version_3_uploads_files_and_downloads_them_unchanged() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(old) = client_of(Version::V1, &job).await else { return };
    let root = farrier.files("work");
    write(&root, "a.txt", "one line\n");
    write(&root, "empty", "");
    write(&root, "logs/compresses.txt", "the same line\n".repeat(20_000));
    write(&root, "logs/日本 語+%.log", "unicode\n".repeat(200));
    write(&root, "large.bin", noise(20_000_000, 3));
    let names = ["a.txt", "empty", "logs/compresses.txt", "logs/日本 語+%.log", "large.bin"];
    let many: Vec<String> = (0..40).map(|number| format!("many/{}/{number}.txt", number % 7)).collect();
    for name in &many {
        write(&root, name, name.repeat(number_of(name)));
    }
    let files: Vec<&str> = names.into_iter().chain(many.iter().map(String::as_str)).collect();
    let before = tree(&root);

    let (one, all) = (farrier.files("one"), farrier.files("all"));
    let outcome = old
        .run(&[
            upload_files("old", &root, &files),
            json!({ "call": "downloadFiles", "name": "old", "path": one }),
            json!({ "call": "downloadAllFiles", "path": all }),
            json!({ "call": "downloadFiles", "name": "nothing", "path": one }),
        ])
        .await;
    let uploaded = outcome.ok(0);
    assert_eq!(uploaded["failedItems"], json!([]), "{}", outcome.log);
    assert!(tree(&one) == before, "{}", outcome.log);
    outcome.ok(2);
    assert!(tree(&all.join("old")) == before, "{}", outcome.log);
    assert!(outcome.error(3).contains("Unable to find"), "{}", outcome.error(3));

    let zipped = zip_of(&farrier).await;
    let expected: Vec<(String, Vec<u8>)> =
        before.into_iter().filter_map(|(name, content)| Some((name, content?))).collect();
    assert!(zipped == expected, "{:?}", zipped.iter().map(|(name, _)| name).collect::<Vec<_>>());
}

/// A length that depends on the name, so that some files compress and others do not.
fn number_of(name: &str) -> usize {
    name.bytes().map(usize::from).sum::<usize>() % 900
}

#[tokio::test]
async fn clients_of_version_3_and_of_later_ones_do_not_see_each_others_artifacts() {
    let farrier = TestDaemon::start().await;
    farrier.repository("r").await;
    let job = farrier.begin("r", None).await;
    let Some(old) = client_of(Version::V1, &job).await else { return };
    let Some(new) = client(&job).await else { return };
    let root = farrier.files("work");
    write(&root, "a.txt", "a");
    let outcome = old.run(&[upload_files("old", &root, &["a.txt"])]).await;
    outcome.ok(0);
    farrier.upload(&job, "new", b"x").await;
    let outcome = new.run(&[json!({ "call": "listArtifacts" }), json!({ "call": "getArtifact", "name": "old" })]).await;
    let names: Vec<&Value> =
        outcome.ok(0)["artifacts"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["new"]);
    assert!(outcome.error(1).contains("not found"), "{}", outcome.error(1));
    let to = farrier.files("to");
    let outcome = old
        .run(&[
            json!({ "call": "downloadFiles", "name": "new", "path": to }),
            json!({ "call": "downloadFiles", "name": "old", "path": to }),
        ])
        .await;
    assert!(outcome.error(0).contains("Unable to find"), "{}", outcome.error(0));
    assert_eq!(tree(&to), [("a.txt".to_owned(), Some(b"a".to_vec()))]);
}
