//! The daemon lists refs exactly as git does.

use http::Method;

use crate::support::{
    TestDaemon,
    gitdir::{GitDir, Import, run, run_with_protocol},
    send,
};

/// A pkt-line.
fn pkt_line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

/// Request bodies of ls-refs, as clients send them.
fn requests(format: &str) -> Vec<String> {
    let head =
        pkt_line("command=ls-refs\n") + &pkt_line("agent=git/2.39.5") + &pkt_line(&format!("object-format={format}"));
    let with = |arguments: &[&str]| {
        let arguments: String = arguments.iter().map(|argument| pkt_line(argument)).collect();
        format!("{head}0001{arguments}0000")
    };
    let clone = ["peel\n", "symrefs\n", "unborn\n"];
    vec![
        format!("{head}0000"),
        with(&[]),
        with(&["peel\n"]),
        with(&["symrefs\n"]),
        with(&["unborn\n"]),
        with(&[&clone[..], &["ref-prefix HEAD\n", "ref-prefix refs/heads/\n", "ref-prefix refs/tags/\n"]].concat()),
        with(&[&clone[..], &["ref-prefix refs/heads/main", "ref-prefix refs/notes/"]].concat()),
        with(&["ref-prefix nothing\n"]),
    ]
}

/// Compares all ref lists of a repository with those of git.
async fn compare(farrier: &TestDaemon, token: &str, name: &str, bare: &GitDir, format: &str, state: &str) {
    let hidden = ["-c", "transfer.hideRefs=refs/farrier", "-c", "receive.advertisePushOptions=true"];
    for body in requests(format) {
        let headers = [("git-protocol", "version=2"), ("content-type", "application/x-git-upload-pack-request")];
        let path = format!("/admin/{name}.git/git-upload-pack");
        let ours = send(&farrier.tcp(), Method::POST, &path, &headers, body.clone()).await;
        let args = [&hidden[..], &["upload-pack", "--stateless-rpc", "."]].concat();
        let theirs = run_with_protocol(&bare.path, "version=2", &args, body.as_bytes());
        assert_eq!(ours.text(), String::from_utf8_lossy(&theirs), "{state}: {body}");
    }
    let path = format!("/admin/{name}.git/info/refs?service=git-receive-pack");
    let authorization = format!("token {token}");
    let ours = send(&farrier.tcp(), Method::GET, &path, &[("authorization", &authorization)], "").await;
    let args = [&hidden[..], &["receive-pack", "--stateless-rpc", "--advertise-refs", "."]].concat();
    let theirs = run_with_protocol(&bare.path, "", &args, b"");
    let theirs = format!("{}0000{}", pkt_line("# service=git-receive-pack\n"), String::from_utf8_lossy(&theirs));
    assert_eq!(ours.text(), theirs, "{state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ref_lists_equal_those_of_git() {
    let farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    let bare = farrier.git_repository("demo").await;
    let compare = async |state| compare(&farrier, &token, "demo", &bare, "sha1", state).await;
    compare("empty").await;
    bare.import(&Import::default().commit("side", 1, &[], "one").file("100644", "a", b"a"));
    compare("a branch, and none by the name of the default branch").await;
    bare.import(
        &Import::default()
            .commit("main", 2, &[], "two")
            .file("100644", "b", b"b")
            .reference("refs/tags/light", 2)
            .reference("refs/heads/feature/deep/er", 2)
            .reference("refs/heads/Ünï", 2)
            .reference("refs/farrier/secret", 2)
            .reference("refs/pull/1/head", 2)
            .reference("refs/notes/commits", 2),
    );
    compare("loose refs of all kinds").await;
    run(&bare.path, &["tag", "-a", "-m", "v1", "v1", "main"], b"");
    run(&bare.path, &["tag", "-a", "-m", "of a tag", "v2", "v1"], b"");
    compare("loose tags").await;
    run(&bare.path, &["pack-refs", "--all"], b"");
    compare("packed").await;
    run(&bare.path, &["update-ref", "refs/heads/side", "main"], b"");
    run(&bare.path, &["update-ref", "-d", "refs/tags/light"], b"");
    run(&bare.path, &["branch", "new"], b"");
    compare("loose ones over packed ones").await;
    run(&bare.path, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"], b"");
    compare("a symbolic branch").await;
    run(&bare.path, &["symbolic-ref", "-d", "refs/heads/alias"], b"");
    run(&bare.path, &["update-ref", "--no-deref", "HEAD", "side"], b"");
    compare("a HEAD that names a commit").await;
    let many: Vec<_> = (0..2_500).map(|number| format!("create refs/heads/many/{number} main\n")).collect();
    run(&bare.path, &["update-ref", "--stdin"], many.concat().as_bytes());
    run(&bare.path, &["pack-refs", "--all"], b"");
    compare("a list that is written on another thread").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ref_lists_of_a_sha256_repository_equal_those_of_git() {
    let farrier = TestDaemon::start().await;
    let token = farrier.token("admin", &["all"]).await;
    let body = r#"{"name":"long","object_format_name":"sha256"}"#;
    let authorization = format!("token {token}");
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let created = send(&farrier.tcp(), Method::POST, "/api/v1/user/repos", &headers, body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let bare = GitDir { path: farrier.data_dir().join("repositories/1.git"), api: String::new() };
    let compare = async |state| compare(&farrier, &token, "long", &bare, "sha256", state).await;
    compare("empty").await;
    bare.import(&Import::default().commit("main", 1, &[], "one").file("100644", "a", b"a").tag("v1", 1, "v1"));
    compare("loose").await;
    run(&bare.path, &["pack-refs", "--all"], b"");
    compare("packed").await;
}
