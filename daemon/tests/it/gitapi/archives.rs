//! Archives and bundles.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::demo;
use crate::support::{GitDir, Import, TestDaemon, eventually, run, send};

#[tokio::test]
async fn archives_of_missing_refs_and_formats_are_refused() {
    let farrier = TestDaemon::start().await;
    let empty = farrier.git_repository("empty").await;
    assert_eq!(farrier.status(&empty.at("/archive/main.zip")).await, 404);
    let demo = demo(&farrier).await;
    let blob = demo.git(&["rev-parse", "main:binary"]);
    for (name, status) in [
        (format!("{}.zip", "c".repeat(40)), 404),
        (format!("{blob}.zip"), 404),
        ("nothing.tar.gz".into(), 404),
        ("main.rar".into(), 400),
        ("main".into(), 400),
        ("--output=x.zip".into(), 404),
        ("..%2Fmain.zip".into(), 404),
    ] {
        assert_eq!(farrier.status(&demo.at(&format!("/archive/{name}"))).await, status, "{name}");
    }
}

#[tokio::test]
async fn an_archive_has_the_same_bytes_after_gc() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    for name in ["main.zip", "main.tar.gz"] {
        let path = demo.at(&format!("/archive/{name}"));
        let first = farrier.get(&path).await;
        assert_eq!(first.status, 200);
        demo.git(&["gc", "--quiet"]);
        let second = farrier.get(&path).await;
        assert_eq!((&first.body, first.header("etag")), (&second.body, second.header("etag")), "{name}");
        let commit = demo.git(&["rev-parse", "main"]);
        let ending = name.trim_start_matches("main.");
        assert_eq!(first.header("etag"), format!("\"{commit}.{ending}.2\""));
        assert_eq!(first.header("last-modified"), "Fri, 02 Jan 2026 07:04:05 GMT");
        let known = [("if-none-match", first.header("etag"))];
        let unchanged = send(&farrier.tcp(), Method::GET, &path, &known, "").await;
        assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{name}");
    }
}

#[tokio::test]
async fn archives_have_a_file_name_and_an_immutable_link() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let commit = demo.git(&["rev-parse", "feature/x"]);
    for (path, kind, ending) in [
        ("/archive/feature/x.zip", "application/zip", "zip"),
        ("/archive/feature%2Fx.zip", "application/zip", "zip"),
        ("/zipball/feature/x", "application/zip", "zip"),
        ("/archive/feature%2Fx.tar.gz", "application/gzip", "tar.gz"),
        ("/tarball/feature%2Fx", "application/gzip", "tar.gz"),
        ("/archive/feature/x.bundle", "application/x-git-bundle", "bundle"),
        ("/bundle/feature/x", "application/x-git-bundle", "bundle"),
    ] {
        let archive = farrier.get(&demo.at(path)).await;
        assert_eq!((archive.status, archive.header("content-type")), (200, kind), "{path}");
        let name = format!("attachment; filename=\"demo-feature-x.{ending}\"");
        assert!(archive.header("content-disposition").starts_with(&name), "{path}");
        let immutable = format!("{}{}/archive/{commit}.{ending}?rev={commit}", farrier.url, demo.api);
        assert_eq!(archive.header("link"), format!("<{immutable}>; rel=\"immutable\""), "{path}");
        assert_eq!(farrier.get(&farrier.path_of(&immutable)).await.body, archive.body, "{path}");
    }
    assert_eq!(farrier.get(&demo.at("/archive/feature/x.zip")).await.body[..2], *b"PK");
}

#[tokio::test]
async fn archives_of_tags_are_at_the_address_of_the_repository() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let tag = farrier.json(&demo.at("/tags/v1.0")).await;
    for (field, ending) in [("zipball_url", "zip"), ("tarball_url", "tar.gz")] {
        let address = tag[field].as_str().expect("text");
        assert_eq!(address, format!("{}/admin/demo/archive/v1.0.{ending}", farrier.url));
        let archive = farrier.get(&farrier.path_of(address)).await;
        let below_api = farrier.get(&demo.at(&format!("/archive/v1.0.{ending}"))).await;
        assert_eq!((archive.status, &archive.body), (200, &below_api.body), "{field}");
        assert_eq!(archive.header("etag"), below_api.header("etag"), "{field}");
    }
    for (name, status) in [("nothing.zip", 404), ("v1.0.rar", 400), ("--output=x.zip", 404), ("..%2Fv1.0.zip", 404)] {
        assert_eq!(farrier.status(&format!("/admin/demo/archive/{name}")).await, status, "{name}");
    }

    let archive = json!({ "name": "archive", "auto_init": true, "default_branch": "main" });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", archive).await.status, 201);
    assert_eq!(farrier.status("/admin/archive/archive/main.zip").await, 200, "a repository with the name of the route");
    assert_eq!(farrier.status("/admin/archive/info/refs?service=git-upload-pack").await, 200);
    let private = json!({ "private": true });
    assert_eq!(farrier.admin(Method::PATCH, "/api/v1/repos/admin/archive", private).await.status, 200);
    assert_eq!(farrier.status("/admin/archive/archive/main.zip").await, 404);
}

#[tokio::test]
async fn tar_files_unpack_into_a_directory_and_bundles_can_be_cloned() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let scratch = farrier.scratch();
    let archive = farrier.get(&demo.at("/archive/main.tar.gz")).await;
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&archive.body[..]), &mut tar).expect("gzip");
    let plain = run(&demo.path, &["archive", "--format=tar", "--prefix=demo/", "main"], &[]);
    assert!(tar == plain, "the archive is the one of git, compressed");

    let bundle = farrier.get(&demo.at("/archive/main.bundle")).await;
    std::fs::write(scratch.join("demo.bundle"), &bundle.body).expect("a file");
    run(&scratch, &["clone", "--quiet", "demo.bundle", "clone"], &[]);
    let clone = GitDir { path: scratch.join("clone"), api: String::new() };
    assert_eq!(clone.git(&["rev-parse", "HEAD"]), demo.git(&["rev-parse", "main"]));
}

#[tokio::test]
async fn paths_in_an_archive_begin_with_the_name_in_lower_case() {
    let farrier = TestDaemon::start().await;
    let demo = farrier.git_repository("My.Tool").await;
    demo.import(&Import::default().commit("main", 1, &[], "one").file("100644", "a", b"a"));
    let archive = farrier.get(&demo.at("/archive/main.tar.gz")).await;
    assert!(archive.header("content-disposition").contains("\"My.Tool-main.tar.gz\""));
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&archive.body[..]), &mut tar).expect("gzip");
    assert!(tar == run(&demo.path, &["archive", "--format=tar", "--prefix=my.tool/", "main"], &[]));
}

#[tokio::test]
async fn the_bundle_of_a_repository_contains_all_refs() {
    let farrier = TestDaemon::start().await;
    let demo = demo(&farrier).await;
    let at = |name: &str| format!("/api/farrier/v1/repos/{name}/bundle");
    let path = at(demo.api.trim_start_matches("/api/v1/repos/"));
    let head = send(&farrier.tcp(), Method::HEAD, &path, &[], "").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    let bundle = farrier.get(&path).await;
    assert_eq!((bundle.status, bundle.header("content-type")), (200, "application/x-git-bundle"));
    assert_eq!(bundle.header("content-disposition"), head.header("content-disposition"));
    assert!(bundle.header("content-disposition").contains("\"demo.bundle\""), "{bundle:?}");

    let scratch = farrier.scratch();
    std::fs::write(scratch.join("demo.bundle"), &bundle.body).expect("a file");
    run(&scratch, &["clone", "--quiet", "--mirror", "demo.bundle", "copy.git"], &[]);
    let copy = GitDir { path: scratch.join("copy.git"), api: String::new() };
    let (original, copied) = (demo.git(&["show-ref"]), copy.git(&["show-ref"]));
    assert_eq!(copied, original);
    assert!(original.matches("refs/heads/").count() > 1 && original.matches("refs/tags/").count() > 1, "{original}");
    assert_eq!(copy.git(&["symbolic-ref", "HEAD"]), demo.git(&["symbolic-ref", "HEAD"]));
    copy.git(&["fsck", "--full", "--strict"]);

    let empty = farrier.git_repository("empty").await;
    assert_eq!(farrier.get(&at(empty.api.trim_start_matches("/api/v1/repos/"))).await.status, 404);
}

/// Creates a repository of 24 MiB of incompressible data, whose archives take a while.
async fn large_repository(farrier: &TestDaemon) -> GitDir {
    let large_repository = farrier.git_repository("heavy").await;
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_le_bytes()
    };
    let content: Vec<u8> = std::iter::repeat_with(&mut noise).take(1 << 20).flatten().collect();
    let mut import = Import::default().commit("main", 1, &[], "heavy");
    for number in 0..3 {
        let mut content = content.clone();
        content[0] = number;
        import = import.file("100644", &format!("{number}"), &content);
    }
    large_repository.import(&import);
    large_repository
}

/// Number of git processes that run in `repository`.
fn processes_in(repository: &GitDir) -> usize {
    let needle = format!("GIT_DIR={}", repository.path.display());
    let processes = std::fs::read_dir("/proc").expect("a process table").flatten();
    let environments = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    environments.filter(|variables| variables.split(|byte| *byte == 0).any(|one| one == needle.as_bytes())).count()
}

#[tokio::test]
async fn a_disconnect_ends_the_archive_process() {
    let farrier = TestDaemon::start().await;
    let large_repository = large_repository(&farrier).await;
    let address = farrier.url.trim_start_matches("http://").to_owned();
    let mut client = tokio::net::TcpStream::connect(&address).await.expect("a connection");
    let request = format!("GET {} HTTP/1.1\r\nhost: x\r\n\r\n", large_repository.at("/archive/main.zip"));
    client.write_all(request.as_bytes()).await.expect("the daemon reads");
    let mut start = [0; 4096];
    client.read_exact(&mut start).await.expect("the beginning of an archive");
    assert_eq!(processes_in(&large_repository), 1);
    drop(client);
    let left = async || processes_in(&large_repository) == 0;
    // Without the disconnect, it would wait for its reader for `git.timeout`, which is much longer.
    eventually("the git process has ended", left).await;
}

#[tokio::test]
async fn archive_processes_are_limited_and_all_clients_are_served() {
    let farrier = TestDaemon::with(|config| config.git.max_archives = 2).await;
    let large_repository = large_repository(&farrier).await;
    let (server, path) = (farrier.tcp(), large_repository.at("/archive/main.zip"));
    let requests = futures_util::future::join_all((0..4).map(|_| send(&server, Method::GET, &path, &[], "")));
    let mut peak = 0;
    let mut requests = std::pin::pin!(requests);
    let answers = loop {
        tokio::select! {
            answers = &mut requests => break answers,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        let archives = std::fs::read_dir("/proc").expect("a process table").flatten().filter(|process| {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let needle = large_repository.path.display().to_string();
            command.windows(12).any(|part| part == b"archive\0--fo")
                && environment.windows(needle.len()).any(|part| part == needle.as_bytes())
        });
        peak = peak.max(archives.count());
    };
    assert!((1..=2).contains(&peak), "{peak} at once");
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
}
