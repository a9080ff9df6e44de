//! Hostile repositories: their content starts no programs and keeps no request busy.

use std::time::Duration;

use http::Method;

use super::{assert_healthy, traced::TracedDaemon};
use crate::support::{GitDir, Import, TestDaemon, process, run, send};

/// Attributes that name programs, directly and through a macro.
const ATTRIBUTES: &[u8] = b"[attr]evil export-subst diff=evil filter=evil merge=evil\n* evil export-subst\n";
/// Placeholders for which `git archive` verifies the signature of the commit.
const PLACEHOLDERS: &[u8] = b"$Format:%H %G? %GG %GS %GK %GF %GP %GT$\n";
/// The first lines of signatures of each kind. git starts another program for each.
const SIGNATURES: [(&str, &str); 3] =
    [("openpgp", "PGP SIGNATURE"), ("x509", "SIGNED MESSAGE"), ("ssh", "SSH SIGNATURE")];

#[tokio::test(flavor = "multi_thread")]
async fn reading_a_hostile_repository_starts_no_program_but_git_and_connects_to_nothing() {
    let mut farrier = TestDaemon::start().await;
    let hostile = farrier.git_repository("hostile").await;
    hostile.import(
        &Import::default()
            .commit("main", 1, &[], "placeholders")
            .file("100644", ".gitattributes", ATTRIBUTES)
            .file("100644", "placeholders.txt", PLACEHOLDERS)
            .file("100644", ".lfsconfig", b"[lfs]\n\turl = http://127.0.0.1:9/\n")
            .tag("v1", 1, "a tag"),
    );
    let branches = SIGNATURES.map(|(name, kind)| signed_branch(&hostile, name, kind));
    let requests: Vec<String> = branches.iter().flat_map(|branch| read_routes(&hostile, branch)).collect();
    farrier.stop().await;

    let Some(traced) = TracedDaemon::start(&farrier, &[]).await else { return };
    for path in &requests {
        let answer = send(&farrier.unix(), Method::GET, path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    traced.end().await.assert_only_git();
}

/// Creates a branch whose commit claims to have a signature of `kind`.
fn signed_branch(repository: &GitDir, name: &str, kind: &str) -> String {
    let (tree, parent) = (repository.git(&["rev-parse", "main^{tree}"]), repository.git(&["rev-parse", "main"]));
    let person = "A <a@x.example> 1767323045 +0000";
    let commit = format!(
        "tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\
         gpgsig -----BEGIN {kind}-----\n \n MIAGCSqGSIb3DQEHAqCAMIACAQExDTALBglghkgBZQMEAgEwgAYJ\n -----END {kind}-----\n\nsigned\n"
    );
    let id = run(&repository.path, &["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes());
    let id = String::from_utf8(id).expect("text").trim().to_owned();
    repository.git(&["update-ref", &format!("refs/heads/{name}"), &id]);
    name.to_owned()
}

/// The routes that run git on a branch.
fn read_routes(repository: &GitDir, branch: &str) -> Vec<String> {
    let id = repository.git(&["rev-parse", branch]);
    let paths = [
        format!("/archive/{branch}.zip"),
        format!("/archive/{branch}.tar.gz"),
        format!("/archive/{branch}.bundle"),
        format!("/zipball/{branch}"),
        format!("/tarball/{branch}"),
        format!("/bundle/{branch}"),
        format!("/branches/{branch}"),
        format!("/commits?sha={branch}&stat=true&files=true&verification=true"),
        format!("/compare/main...{branch}"),
        format!("/contents?ref={branch}"),
        format!("/contents/placeholders.txt?ref={branch}"),
        format!("/raw/placeholders.txt?ref={branch}"),
        format!("/media/placeholders.txt?ref={branch}"),
        format!("/git/commits/{id}"),
        format!("/git/commits/{id}.diff"),
        format!("/git/commits/{id}.patch"),
        format!("/git/trees/{branch}?recursive=true"),
        "/branches".into(),
        "/tags".into(),
        "/git/refs".into(),
    ];
    paths.iter().map(|path| repository.at(path)).collect()
}

#[tokio::test]
async fn archives_contain_placeholders_as_they_are() {
    let farrier = TestDaemon::start().await;
    let repository = farrier.git_repository("demo").await;
    repository.import(
        &Import::default()
            .commit("main", 1, &[], "placeholders")
            .file("100644", ".gitattributes", b"* export-subst\n")
            .file("100644", "version.txt", b"$Format:%H$\n"),
    );
    let archive = farrier.get(&repository.at("/archive/main.tar.gz")).await;
    let file = farrier.scratch().join("main.tar.gz");
    std::fs::write(&file, &archive.body).expect("a file");
    let mut tar = process::command("tar");
    tar.args(["-xzOf"]).arg(&file).arg("demo/version.txt");
    let output = process::output(tar).await.expect("tar");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "$Format:%H$\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_git_too_long_is_refused() {
    let mut farrier = TestDaemon::start().await;
    let bomb = farrier.git_repository("bomb").await;
    // 10 levels of 10 directories: ten thousand million files in a dozen objects.
    let blob = run(&bomb.path, &["hash-object", "-w", "--stdin"], b"boom\n");
    let mut line = format!("100644 blob {}", String::from_utf8(blob).expect("text").trim());
    for _ in 0..10 {
        let entries: Vec<String> = (0..10).map(|n| format!("{line}\t{n}\n")).collect();
        let id = run(&bomb.path, &["mktree"], entries.concat().as_bytes());
        line = format!("040000 tree {}", String::from_utf8(id).expect("text").trim());
    }
    let tree = line.rsplit(' ').next().expect("an id").to_owned();
    let commit = bomb.git(&["commit-tree", "-m", "boom", &tree]);
    bomb.git(&["update-ref", "refs/heads/main", &commit]);
    farrier.configure(|config| config.git.timeout = Duration::from_secs(1));
    farrier.restart().await;
    let answer = farrier.get(&bomb.at("/commits?limit=1")).await;
    assert_eq!((answer.status, answer.json()["code"].as_str()), (503, Some("timeout")), "{answer:?}");
    assert_healthy(&farrier).await;
}
