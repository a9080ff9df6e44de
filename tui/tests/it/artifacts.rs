//! Upload, download and deletion of artifacts.

use std::io::Read as _;

use crate::{
    fake::{RUNTIME_TOKEN, sha256, zip_of},
    program::World,
};

#[test]
fn a_single_file_is_uploaded_unzipped_in_a_new_job() {
    let world = World::new();
    world.write("raw.txt", "hello");
    let made = world.run("artifact upload --repo o/r raw.txt --json").json();
    assert_eq!((&made["id"], &made["name"], &made["size_in_bytes"]), (&1.into(), &"raw.txt".into(), &5.into()));
    assert_eq!(made["digest"], sha256(b"hello"));
    let state = world.fake.state();
    assert_eq!((state.artifacts[0].mime.as_str(), state.artifacts[0].bytes.as_slice()), ("text/plain", &b"hello"[..]));
    assert_eq!(state.ended, ["success"]);
}

#[test]
fn an_empty_file_is_uploaded() {
    let world = World::new();
    world.write("empty.bin", "");
    assert_eq!(world.run("artifact upload --repo o/r empty.bin --json").json()["size_in_bytes"], 0);
}

#[test]
fn a_directory_is_uploaded_as_a_zip_file_with_its_blocks_in_order() {
    let world = World::new();
    // Incompressible, so that the archive needs three blocks.
    let mut state = 1u64;
    let noise: Vec<u8> = (0..20 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .collect();
    world.write("dist/noise", &noise);
    world.write("dist/sub/a.txt", "a");
    world.fake.state().refuse = 2;
    let token = [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)];
    let made = world.run_with("artifact upload --name dist dist --concurrency 3 -q", token, "");
    assert_eq!(made.ok().stdout, "1\n");
    let state = world.fake.state();
    assert_eq!((state.begun.len(), state.artifacts[0].mime.as_str()), (0, "application/zip"));
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(state.artifacts[0].bytes.clone())).unwrap();
    let mut unpacked = Vec::new();
    zip.by_name("noise").unwrap().read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == noise);
    assert!(zip.by_name("sub/a.txt").is_ok());
}

#[test]
fn an_invalid_upload_starts_no_job() {
    let world = World::new();
    world.write("a", "a");
    assert_eq!(world.run("artifact upload a").code, 2);
    assert_eq!(world.run("artifact upload --repo o/r missing").code, 1);
    assert_eq!(world.run("artifact upload --repo o/r --name x/y a").code, 2);
    let bad = world.run_with("artifact upload a", [("ACTIONS_RUNTIME_TOKEN", "nonsense")], "");
    assert_eq!(bad.code, 2);
    assert!(!bad.stderr.contains("nonsense"));
    assert!(world.fake.state().begun.is_empty());
}

#[test]
fn lists_contain_all_pages_in_every_output_format() {
    let world = World::new();
    assert_eq!(world.run("artifact list --repo o/r").ok().stdout, "");
    for n in 0..120 {
        world.fake.store(&format!("a{n}"), "text/plain", b"x");
    }
    let listed = world.run("artifact list --repo o/r --json").json();
    assert_eq!((&listed["schema"], listed["artifacts"].as_array().unwrap().len()), (&1.into(), 120));
    assert_eq!(world.run("artifact list --repo o/r -q").ok().stdout.lines().count(), 120);
    let lines = world.run("artifact list --repo o/r --jsonl --name a7").ok().stdout;
    let only: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(only["id"], 8);
    assert!(world.run("artifact list --repo o/r").ok().stdout.starts_with("ID "));
    let own = world.run_with("artifact list -q", [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)], "");
    assert_eq!(own.ok().stdout.lines().count(), 120);
}

#[test]
fn downloads_are_saved_under_their_name_without_replacing_files() {
    let world = World::new();
    world.fake.store("../raw.txt", "text/plain", b"hello");
    let saved = world.run("artifact download 1 --repo o/r --json").json();
    assert_eq!((&saved["path"], &saved["digest"]), (&"raw.txt".into(), &sha256(b"hello").into()));
    assert_eq!(world.read("raw.txt"), b"hello");
    world.write("raw.txt", "mine");
    assert_eq!(world.run("artifact download 1 --repo o/r").code, 5);
    assert_eq!(world.read("raw.txt"), b"mine");
    world.run("artifact download 1 --repo o/r --force").ok();
    assert_eq!(world.read("raw.txt"), b"hello");
    world.run("artifact download 1 --repo o/r -o deep/er/").ok();
    assert_eq!(world.read("deep/er/raw.txt"), b"hello");
    world.run("artifact download 1 --repo o/r -o other").ok();
    assert_eq!(world.read("other"), b"hello");
    assert_eq!(world.run("artifact download nothing --repo o/r").code, 3);
    assert!(
        std::fs::read_dir(world.work("")).unwrap().all(|e| !e.unwrap().file_name().to_string_lossy().contains(".part"))
    );
}

#[test]
fn zip_files_are_saved_or_extracted() {
    let world = World::new();
    let zip = zip_of(&[("a.txt", "a"), ("sub/b.txt", "b")]);
    world.fake.store("dist", "application/zip", &zip);
    assert_eq!(world.run("artifact download dist --repo o/r -q").ok().stdout, "dist.zip\n");
    assert_eq!(world.read("dist.zip"), zip);
    world.run("artifact download dist --repo o/r --extract").ok();
    assert_eq!(world.read("dist/sub/b.txt"), b"b");
    assert_eq!(world.run("artifact download dist --repo o/r --extract -o dist").code, 5);
    let token = [("ACTIONS_RUNTIME_TOKEN", RUNTIME_TOKEN)];
    world.run_with("artifact download dist -o new/ --extract", token, "").ok();
    assert_eq!(world.read("new/a.txt"), b"a");
    world.fake.store("raw", "text/plain", b"x");
    assert_eq!(world.run("artifact download raw --repo o/r --extract").code, 2);
}

#[test]
fn an_interrupted_download_is_continued() {
    let world = World::new();
    let bytes = vec![7u8; 3 << 20];
    world.fake.store("big.bin", "application/octet-stream", &bytes);
    let part = format!("big.bin.1-{}.part", &sha256(&bytes)[7..19]);
    world.write(&part, &bytes[..1 << 20]);
    world.fake.state().refuse = 1;
    world.run("artifact download big.bin --repo o/r").ok();
    assert!(world.read("big.bin") == bytes);
    assert!(!world.work(&part).exists());
}

#[test]
fn a_download_survives_a_broken_connection_and_an_expired_url() {
    let world = World::new();
    let bytes: Vec<u8> = (0..3u32 << 20).map(|n| n.to_be_bytes()[2]).collect();
    world.fake.store("big.bin", "application/octet-stream", &bytes);
    world.fake.state().cut_download = Some(1 << 20);
    world.run("artifact download big.bin --repo o/r").ok();
    assert!(world.read("big.bin") == bytes);
    let seen = world.fake.state().seen.clone();
    assert_eq!(seen.iter().filter(|request| request.contains("/zip")).count(), 2, "{seen:?}");
}

#[test]
fn a_range_that_was_not_requested_is_ignored() {
    let world = World::new();
    let bytes = [5; 1000];
    world.fake.store("a.bin", "application/octet-stream", &bytes);
    let part = format!("a.bin.1-{}.part", &sha256(&bytes)[7..19]);
    world.write(&part, &bytes[..400]);
    world.fake.state().odd_range = true;
    world.run("artifact download a.bin --repo o/r").ok();
    assert_eq!(world.read("a.bin"), bytes);
    // The content of a part file is verified as well.
    world.write(&part, [9; 1000]);
    assert_eq!(world.run("artifact download a.bin --repo o/r --force").code, 1);
    assert_eq!(world.read("a.bin"), bytes);
}

#[test]
fn downloads_with_a_wrong_size_or_digest_are_discarded() {
    let world = World::new();
    world.fake.store("a.bin", "application/octet-stream", &[1; 1000]);
    world.fake.state().short_download = Some(400);
    let short = world.run("artifact download a.bin --repo o/r");
    assert_eq!(short.code, 1, "{}", short.stderr);
    world.fake.state().artifacts[0].digest = sha256(b"other");
    let ran = world.run("artifact download a.bin --repo o/r");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("not the artifact"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(world.work("")).unwrap().count(), 0, "no file is left");
}

#[test]
fn a_deletion_without_a_terminal_requires_yes() {
    let world = World::new();
    world.fake.store("a", "text/plain", b"a");
    world.fake.store("b", "text/plain", b"b");
    world.fake.store("b", "text/plain", b"b");
    assert_eq!(world.run("artifact delete a --repo o/r").code, 2);
    assert!(world.run("artifact delete b --repo o/r --yes").stderr.contains("use one of the IDs 3, 2"));
    let partly = world.run("artifact delete a none --repo o/r --yes --json");
    assert_eq!(partly.code, 7);
    let document: serde_json::Value = serde_json::from_str(&partly.stdout).unwrap();
    assert_eq!((&document["results"][0]["deleted"], &document["results"][1]["deleted"]), (&true.into(), &false.into()));
    assert_eq!(world.run("artifact delete a --repo o/r --yes").code, 3);
    assert_eq!(world.run("artifact delete 2 3 --repo o/r --yes").ok().stdout, "Deleted 2 (2)\nDeleted 3 (3)\n");
}

#[test]
fn an_interrupted_upload_ends_its_job() {
    let world = World::new();
    world.write("raw.txt", "hello");
    // The daemon refuses uploads for longer than the test takes.
    world.fake.state().refuse = usize::MAX;
    let mut command = world.command();
    command.args(["artifact", "upload", "--repo", "o/r", "raw.txt"]).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let bound = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !world.fake.state().seen.iter().any(|request| request.starts_with("PUT")) {
        assert!(std::time::Instant::now() < bound);
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "farrier: interrupted\n");
    assert_eq!(world.fake.state().ended, ["cancelled"]);
}
