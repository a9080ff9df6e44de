//! Commands: which ones exist, and what the others answer.

use http::Method;
use serde_json::json;

use super::{SshClient, add_key, demo, demo_with};
use crate::{
    hostile::traced::TracedDaemon,
    support::{Source, eventually, send},
};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_command_the_client_reads_who_it_is() {
    let (_farrier, client) = demo().await;
    let greeted = client.run("admin", &["-T"], &[]).await;
    let expected = "farrier: you are signed in as admin; this server has no shell, only git";
    assert_eq!((greeted.status, greeted.out.as_str()), (0, ""));
    assert!(greeted.err.lines().any(|line| line == expected), "{greeted:?}");
    let greeted = client.run("admin", &["-tt"], &[]).await;
    assert_eq!(greeted.status, 0, "{greeted:?}");
    assert!(format!("{}{}", greeted.out, greeted.err).contains(&format!("{expected}\r\n")), "{greeted:?}");
}

/// Sends commands that other servers pass to a shell. They would create the file `made`.
async fn send_hostile_commands(client: &SshClient, made: &std::path::Path) {
    let touch = format!("touch {}", made.display());
    for line in [
        touch.clone(),
        format!("sh -c '{touch}'"),
        format!("git-upload-pack; {touch}"),
        "git upload-pack admin/demo".to_owned(),
        "bash".to_owned(),
        "scp -t /tmp".to_owned(),
        "/bin/sh".to_owned(),
        "sftp-server".to_owned(),
    ] {
        let ended = client.run("admin", &["-T"], &[&line]).await;
        assert!(ended.status == 127 || ended.status == 1, "{line}: {ended:?}");
        assert!(ended.err.contains("farrier: "), "{line}: {ended:?}");
    }
    for path in [
        format!("'$({touch})'"),
        format!("'`{touch}`'"),
        format!("'admin/demo.git; {touch}'"),
        format!("'admin/demo.git' '--exec={touch}'"),
        format!("'--upload-pack={touch}'"),
        "'../../etc/passwd'".to_owned(),
        "'/admin/../admin/demo.git'".to_owned(),
        "'admin/demo.git/../demo.git'".to_owned(),
        "'/../repositories/1.git'".to_owned(),
        "'admin/demo.git\u{1b}[31m'".to_owned(),
        format!("'{}'", "a/".repeat(2_500)),
        "'admin/demo".to_owned(),
        "''".to_owned(),
    ] {
        for command in ["git-upload-pack", "git-receive-pack", "git-upload-archive"] {
            let ended = client.run("admin", &["-T"], &[&format!("{command} {path}")]).await;
            assert_eq!(ended.status, 1, "{command} {path}: {ended:?}");
            assert!(ended.err.contains("farrier: ") && !ended.err.contains('\u{1b}'), "{path}: {ended:?}");
            assert_eq!(ended.out, "", "{command} {path}");
        }
    }
    assert!(!made.exists());
    assert_eq!(client.run("admin", &["-T"], &[]).await.status, 0, "the daemon is alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_commands_end_with_127_and_no_shell_runs() {
    let (farrier, client) = demo().await;
    send_hostile_commands(&client, &farrier.scratch().join("made")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_commands_start_no_program_but_git() {
    let (mut farrier, mut client) = demo().await;
    let work = client.work(&farrier, "work", "admin");
    work.commit("a", "a");
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    farrier.stop().await;
    let Some(traced) = TracedDaemon::start(&farrier, &["--ssh-listen", "127.0.0.1:0"]).await else { return };
    client.connect_to(&farrier).await;
    send_hostile_commands(&client, &farrier.scratch().join("made")).await;
    for line in ["git-lfs-authenticate /admin/demo.git download", "git-lfs-transfer /admin/demo.git upload"] {
        client.run("admin", &["-T"], &[line]).await;
    }
    client.run("admin", &["-T", "-s"], &["sftp"]).await;
    work.done(&["-c", "protocol.version=0", "fetch", "-q", &client.url("admin/demo"), "main"]);
    traced.end().await.assert_only_git();
}

#[tokio::test(flavor = "multi_thread")]
async fn environment_variables_of_clients_have_no_effect() {
    let (farrier, client) = demo().await;
    let made = farrier.scratch().join("made");
    let variables = [
        "GIT_CONFIG_COUNT=1".to_owned(),
        "GIT_CONFIG_KEY_0=uploadpack.packObjectsHook".to_owned(),
        format!("GIT_CONFIG_VALUE_0=touch {}", made.display()),
        format!("GIT_TRACE={}", made.display()),
        format!("GIT_TRACE_PACKET={}", made.display()),
        "LD_PRELOAD=/nonexistent.so".to_owned(),
        "GIT_DIR=/tmp".to_owned(),
        "GIT_PROTOCOL=version=2:x;y".to_owned(),
    ];
    let work = client.work(&farrier, "work", "admin");
    work.commit("a", "a");
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    let set = format!("SetEnv={}", variables.map(|pair| format!("'{pair}'")).join(" "));
    let ended = client.run("admin", &["-T", "-o", &set], &["git-upload-pack 'admin/demo.git'"]).await;
    assert!(ended.out.contains("refs/heads/main"), "{ended:?}");
    assert!(!made.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn private_and_missing_repositories_cannot_be_told_apart() {
    let (farrier, client) = demo().await;
    let private = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "private": true })).await;
    assert_eq!(private.status, 200, "{}", private.text());
    farrier.user("alice").await;
    let key = client.key("alice", &["-t", "ed25519"]).await;
    add_key(&farrier, "alice", &key).await;
    for command in ["git-upload-pack", "git-receive-pack", "git-upload-archive"] {
        let hidden = client.run("alice", &["-T"], &[&format!("{command} 'admin/demo.git'")]).await;
        let missing = client.run("alice", &["-T"], &[&format!("{command} 'admin/none.git'")]).await;
        let nobody = client.run("alice", &["-T"], &[&format!("{command} 'nobody/none.git'")]).await;
        assert_eq!((hidden.status, missing.status, nobody.status), (1, 1, 1));
        assert_eq!(hidden.err.replace("demo", "none"), missing.err);
        assert_eq!(nobody.err.replace("nobody", "admin"), missing.err);
        assert_eq!(hidden.err, "farrier: the repository admin/demo.git does not exist, or you have no access to it\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_without_the_right_and_to_archived_repositories_say_why() {
    let (farrier, client) = demo().await;
    farrier.user("alice").await;
    let key = client.key("alice", &["-t", "ed25519"]).await;
    add_key(&farrier, "alice", &key).await;
    let work = client.work(&farrier, "work", "alice");
    work.commit("a", "a");
    let err = work.refused(&["push", &client.url("admin/demo"), "main"]);
    assert!(err.contains("farrier: you have no right to push to /admin/demo.git"), "{err}");
    let archived = farrier.admin(Method::PATCH, "/api/v1/repos/admin/demo", json!({ "archived": true })).await;
    assert_eq!(archived.status, 200, "{}", archived.text());
    let admin = client.work(&farrier, "admin-work", "admin");
    admin.commit("a", "a");
    let err = admin.refused(&["push", &client.url("admin/demo"), "main"]);
    assert!(err.contains("farrier: the repository is archived"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_to_mirrors_and_transfers_of_running_imports_say_why() {
    let (farrier, client) = demo_with(|config| config.migration.allowed_hosts = "loopback".into()).await;
    let work = client.work(&farrier, "work", "admin");
    work.commit("a", "a");
    work.done(&["push", "-q", &client.url("admin/demo"), "main"]);
    let stalled = Source::answering(|_| None).await;
    for (name, address, mirror) in
        [("copy", format!("{}/admin/demo", farrier.url), true), ("slow", stalled.url("x"), false)]
    {
        let body = json!({ "clone_addr": address, "repo_name": name, "mirror": mirror }).to_string();
        let headers = [("content-type", "application/json"), ("prefer", "respond-async")];
        let started = send(&farrier.unix(), Method::POST, "/api/v1/repos/migrate", &headers, body).await;
        assert_eq!(started.status, 202, "{started:?}");
    }
    eventually("the mirror is complete", async || work.run(&["ls-remote", &client.url("admin/copy"), "main"]).ok).await;
    let err = work.refused(&["push", &client.url("admin/copy"), "main:mine"]);
    assert!(err.contains("farrier: mirror repository is read-only"), "{err}");
    assert!(work.done(&["ls-remote", &client.url("admin/copy")]).contains("refs/heads/main"), "it can be fetched");
    let slow = client.url("admin/slow");
    for words in [&["ls-remote", slow.as_str()][..], &["push", &slow, "main"]] {
        let err = work.refused(words);
        assert!(err.contains("farrier: the repository is being migrated"), "{words:?}: {err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lfs_over_ssh_alone_is_refused_at_once() {
    let (_farrier, client) = demo().await;
    let ended = client.run("admin", &["-T"], &["git-lfs-transfer /admin/demo.git upload"]).await;
    assert!(ended.status == 1 && ended.err.contains("farrier: LFS"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_lfs_the_client_is_told_so() {
    let (_farrier, client) = demo_with(|config| config.lfs.enabled = false).await;
    let refused = client.run("admin", &["-T"], &["git-lfs-authenticate /admin/demo.git download"]).await;
    assert!(refused.status == 1 && refused.err.contains("farrier: Git LFS is disabled"), "{refused:?}");
}
