//! Upload, download and deletion of artifacts.

use std::io::Read as _;

use crate::{
    fake::{RUNTIME_TOKEN, sha256, zip_of},
    program::Sandbox,
};

#[test]
fn a_single_file_is_uploaded_unzipped_in_a_new_job() {
    let sandbox = Sandbox::new();
    sandbox.write("raw.txt", "hello");
    let uploaded = sandbox.run("artifact upload --repo o/r raw.txt --json").json();
    assert_eq!(
        (&uploaded["id"], &uploaded["name"], &uploaded["size_in_bytes"]),
        (&1.into(), &"raw.txt".into(), &5.into())
    );
    assert_eq!(uploaded["digest"], sha256(b"hello"));
    let state = sandbox.fake.state();
    assert_eq!((state.artifacts[0].mime.as_str(), state.artifacts[0].bytes.as_slice()), ("text/plain", &b"hello"[..]));
    assert_eq!(state.ended, ["success"]);
}

#[test]
fn an_empty_file_is_uploaded() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.bin", "");
    assert_eq!(sandbox.run("artifact upload --repo o/r empty.bin --json").json()["size_in_bytes"], 0);
}

#[test]
fn a_directory_is_uploaded_as_a_zip_file_with_its_blocks_in_order() {
    let sandbox = Sandbox::new();
    // Incompressible, so that the archive needs three blocks.
    let mut state = 1u64;
    let noise: Vec<u8> = (0..20 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .collect();
    sandbox.write("dist/noise", &noise);
    sandbox.write("dist/sub/a.txt", "a");
    sandbox.fake.state().refused_requests = 2;
    let token = [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)];
    let uploaded = sandbox.run_with("artifact upload --name dist dist --concurrency 3 -q", token, "");
    assert_eq!(uploaded.ok().stdout, "1\n");
    let state = sandbox.fake.state();
    assert_eq!((state.started_jobs.len(), state.artifacts[0].mime.as_str()), (0, "application/zip"));
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(state.artifacts[0].bytes.clone())).unwrap();
    let mut unpacked = Vec::new();
    zip.by_name("noise").unwrap().read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == noise);
    assert!(zip.by_name("sub/a.txt").is_ok());
}

#[test]
fn an_invalid_upload_starts_no_job() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    assert_eq!(sandbox.run("artifact upload a").code, 2);
    assert_eq!(sandbox.run("artifact upload --repo o/r missing").code, 1);
    assert_eq!(sandbox.run("artifact upload --repo o/r --name x/y a").code, 2);
    let bad = sandbox.run_with("artifact upload a", [("ACTIONS_RUNTIME_TOKEN", "nonsense")], "");
    assert_eq!(bad.code, 2);
    assert!(!bad.stderr.contains("nonsense"));
    assert!(sandbox.fake.state().started_jobs.is_empty());
}

#[test]
fn a_read_only_program_changes_no_artifact_inside_of_a_job_and_still_lists() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    sandbox.fake.store("old", "text/plain", b"x");
    let token = [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)];
    for line in ["artifact upload a", "artifact delete old --yes"] {
        let refused = sandbox.run_with(&format!("--read-only {line}"), token, "");
        assert!(refused.code != 0 && refused.stderr.contains("the program is read-only"), "{refused:?}");
    }
    assert_eq!(sandbox.fake.state().artifacts.len(), 1);
    assert_eq!(sandbox.run_with("--read-only artifact list -q", token, "").ok().stdout.lines().count(), 1);
}

#[test]
fn lists_contain_all_pages_in_every_output_format() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("artifact list --repo o/r").ok().stdout, "");
    for n in 0..120 {
        sandbox.fake.store(&format!("a{n}"), "text/plain", b"x");
    }
    let listed = sandbox.run("artifact list --repo o/r --json").json();
    assert_eq!((&listed["schema"], listed["artifacts"].as_array().unwrap().len()), (&1.into(), 120));
    assert_eq!(sandbox.run("artifact list --repo o/r -q").ok().stdout.lines().count(), 120);
    let lines = sandbox.run("artifact list --repo o/r --jsonl --name a7").ok().stdout;
    let only: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(only["id"], 8);
    assert!(sandbox.run("artifact list --repo o/r").ok().stdout.starts_with("ID "));
    let own = sandbox.run_with("artifact list -q", [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)], "");
    assert_eq!(own.ok().stdout.lines().count(), 120);
}

#[test]
fn downloads_are_saved_under_their_name_without_replacing_files() {
    let sandbox = Sandbox::new();
    sandbox.fake.store("../raw.txt", "text/plain", b"hello");
    let saved = sandbox.run("artifact download 1 --repo o/r --json").json();
    assert_eq!((&saved["path"], &saved["digest"]), (&"raw.txt".into(), &sha256(b"hello").into()));
    assert_eq!(sandbox.read("raw.txt"), b"hello");
    sandbox.write("raw.txt", "mine");
    assert_eq!(sandbox.run("artifact download 1 --repo o/r").code, 5);
    assert_eq!(sandbox.read("raw.txt"), b"mine");
    sandbox.run("artifact download 1 --repo o/r --force").ok();
    assert_eq!(sandbox.read("raw.txt"), b"hello");
    sandbox.run("artifact download 1 --repo o/r -o deep/er/").ok();
    assert_eq!(sandbox.read("deep/er/raw.txt"), b"hello");
    sandbox.run("artifact download 1 --repo o/r -o other").ok();
    assert_eq!(sandbox.read("other"), b"hello");
    assert_eq!(sandbox.run("artifact download nothing --repo o/r").code, 3);
    assert!(
        std::fs::read_dir(sandbox.work("")).unwrap().all(|e| !e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains(".part"))
    );
}

#[test]
fn zip_files_are_saved_or_extracted() {
    let sandbox = Sandbox::new();
    let zip = zip_of(&[("a.txt", "a"), ("sub/b.txt", "b")]);
    sandbox.fake.store("dist", "application/zip", &zip);
    assert_eq!(sandbox.run("artifact download dist --repo o/r -q").ok().stdout, "dist.zip\n");
    assert_eq!(sandbox.read("dist.zip"), zip);
    sandbox.run("artifact download dist --repo o/r --extract").ok();
    assert_eq!(sandbox.read("dist/sub/b.txt"), b"b");
    assert_eq!(sandbox.run("artifact download dist --repo o/r --extract -o dist").code, 5);
    let token = [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)];
    sandbox.run_with("artifact download dist -o new/ --extract", token, "").ok();
    assert_eq!(sandbox.read("new/a.txt"), b"a");
    sandbox.fake.store("raw", "text/plain", b"x");
    assert_eq!(sandbox.run("artifact download raw --repo o/r --extract").code, 2);
}

#[test]
fn an_interrupted_download_is_continued() {
    let sandbox = Sandbox::new();
    let bytes = vec![7u8; 3 << 20];
    sandbox.fake.store("big.bin", "application/octet-stream", &bytes);
    let part = format!("big.bin.1-{}.part", &sha256(&bytes)[7..19]);
    sandbox.write(&part, &bytes[..1 << 20]);
    sandbox.fake.state().refused_requests = 1;
    sandbox.run("artifact download big.bin --repo o/r").ok();
    assert!(sandbox.read("big.bin") == bytes);
    assert!(!sandbox.work(&part).exists());
}

#[test]
fn a_download_survives_a_broken_connection_and_an_expired_url() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (0..3u32 << 20).map(|n| n.to_be_bytes()[2]).collect();
    sandbox.fake.store("big.bin", "application/octet-stream", &bytes);
    sandbox.fake.state().cut_download = Some(1 << 20);
    sandbox.run("artifact download big.bin --repo o/r").ok();
    assert!(sandbox.read("big.bin") == bytes);
    let requests = sandbox.fake.state().requests.clone();
    assert_eq!(requests.iter().filter(|request| request.contains("/zip")).count(), 2, "{requests:?}");
}

#[test]
fn a_range_that_was_not_requested_is_ignored() {
    let sandbox = Sandbox::new();
    let bytes = [5; 1000];
    sandbox.fake.store("a.bin", "application/octet-stream", &bytes);
    let part = format!("a.bin.1-{}.part", &sha256(&bytes)[7..19]);
    sandbox.write(&part, &bytes[..400]);
    sandbox.fake.state().misaligned_range = true;
    sandbox.run("artifact download a.bin --repo o/r").ok();
    assert_eq!(sandbox.read("a.bin"), bytes);
    // The content of a part file is verified as well.
    sandbox.write(&part, [9; 1000]);
    assert_eq!(sandbox.run("artifact download a.bin --repo o/r --force").code, 1);
    assert_eq!(sandbox.read("a.bin"), bytes);
}

#[test]
fn downloads_with_a_wrong_size_or_digest_are_discarded() {
    let sandbox = Sandbox::new();
    sandbox.fake.store("a.bin", "application/octet-stream", &[1; 1000]);
    sandbox.fake.state().short_download = Some(400);
    let short = sandbox.run("artifact download a.bin --repo o/r");
    assert_eq!(short.code, 1, "{}", short.stderr);
    sandbox.fake.state().artifacts[0].digest = sha256(b"other");
    let output = sandbox.run("artifact download a.bin --repo o/r");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("not the artifact"), "{}", output.stderr);
    assert_eq!(std::fs::read_dir(sandbox.work("")).unwrap().count(), 0, "no file is left");
}

#[test]
fn a_deletion_without_a_terminal_requires_yes() {
    let sandbox = Sandbox::new();
    sandbox.fake.store("a", "text/plain", b"a");
    sandbox.fake.store("b", "text/plain", b"b");
    sandbox.fake.store("b", "text/plain", b"b");
    assert_eq!(sandbox.run("artifact delete a --repo o/r").code, 2);
    assert!(sandbox.run("artifact delete b --repo o/r --yes").stderr.contains("use one of the IDs 3, 2"));
    let partly = sandbox.run("artifact delete a none --repo o/r --yes --json");
    assert_eq!(partly.code, 7);
    let document: serde_json::Value = serde_json::from_str(&partly.stdout).unwrap();
    assert_eq!((&document["results"][0]["deleted"], &document["results"][1]["deleted"]), (&true.into(), &false.into()));
    assert_eq!(sandbox.run("artifact delete a --repo o/r --yes").code, 3);
    assert_eq!(
        sandbox.run("artifact delete 2 3 --repo o/r --yes").ok().stdout,
        "Artifact 2 (2) deleted\nArtifact 3 (3) deleted\n"
    );
}

#[test]
fn an_interrupted_upload_ends_its_job() {
    let sandbox = Sandbox::new();
    sandbox.write("raw.txt", "hello");
    // The daemon refuses uploads for longer than the test takes.
    sandbox.fake.state().refused_requests = usize::MAX;
    let mut command = sandbox.command();
    command.args(["artifact", "upload", "--repo", "o/r", "raw.txt"]).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let bound = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !sandbox.fake.state().requests.iter().any(|request| request.starts_with("PUT")) {
        assert!(std::time::Instant::now() < bound);
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "farrier: interrupted\n");
    assert_eq!(sandbox.fake.state().ended, ["cancelled"]);
}
