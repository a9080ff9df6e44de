//! Signatures that git makes with real keys, as the API shows them.

use std::path::PathBuf;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::{Gpg, Scene, new_key, path};
use crate::support::{
    eventually,
    git::Client,
    process::{command, output},
    send,
};

/// The address of the committer in the tests.
const COMMITTER: &str = "a@example.com";

/// A scene in which `signer` has the address of the committer, the token of `signer`, and a working copy of `ann/demo`.
async fn signing_scene() -> (Scene, String, Client) {
    let scene = Scene::new().await;
    scene.world.user_with("signer", json!({ "email": COMMITTER })).await;
    let signer = scene.world.token("signer", &["all"]).await;
    scene.expect(&scene.ann, "post", "/user/repos", json!({ "name": "demo" }), 201).await;
    let scratch = scene.world.farrier.scratch();
    let work = Client::init(scratch.join("work")).with_home(&scratch);
    (scene, signer, work)
}

impl Scene {
    fn push(&self, work: &Client) {
        work.done(&["push", "-q", "-f", &self.world.farrier.remote("ann/demo", &self.ann), "main", "--tags"]);
    }

    /// The `verification` of the last commit, after checking that all routes show the same.
    async fn verification(&self, work: &Client) -> Value {
        let id = work.done(&["rev-parse", "HEAD"]);
        let mut shown = Vec::new();
        for (path, pointer) in [
            ("commits?limit=1".to_owned(), "/0/commit/verification"),
            (format!("git/commits/{id}"), "/commit/verification"),
            ("branches/main".into(), "/commit/verification"),
            ("branches".into(), "/0/commit/verification"),
        ] {
            let body = self.expect(&self.bob, "get", &format!("/repos/ann/demo/{path}"), Value::Null, 200).await;
            shown.push(body.pointer(pointer).unwrap_or_else(|| panic!("{path}: {body}")).clone());
        }
        assert!(shown.windows(2).all(|pair| pair[0] == pair[1]), "{shown:?}");
        shown.remove(0)
    }
}

/// Makes an SSH key of this kind. `None` if ssh-keygen is not installed.
async fn ssh_key(scene: &Scene, kind: &[&str]) -> Option<PathBuf> {
    let file = scene.world.farrier.scratch().join(kind.concat());
    let mut program = command("ssh-keygen");
    program.args(["-q", "-N", "", "-C", "", "-f", path(&file), "-t"]).args(kind);
    output(program).await.map(|_| file)
}

/// Runs git with an SSH key for signatures.
fn sign(work: &Client, key: &std::path::Path, args: &[&str]) {
    let key = format!("user.signingkey={}", key.display());
    work.done(&[&["-c", "gpg.format=ssh", "-c", key.as_str()], args].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_signed_with_an_ssh_key_of_the_committer_is_verified_until_the_key_is_deleted() {
    let (scene, signer, work) = signing_scene().await;
    for (number, kind) in [&["ed25519"][..], &["ecdsa", "-b", "384"], &["rsa", "-b", "2048"]].into_iter().enumerate() {
        let Some(key) = ssh_key(&scene, kind).await else { return };
        sign(&work, &key, &["commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
        sign(&work, &key, &["tag", "-s", "-m", "tagged", &format!("v{number}")]);
        scene.push(&work);
        let before = scene.verification(&work).await;
        assert_eq!((&before["verified"], &before["signer"]), (&false.into(), &Value::Null), "{before}");
        assert_eq!(before["reason"], "gpg.error.no_gpg_keys_found");

        let text = std::fs::read_to_string(key.with_extension("pub")).expect("a public key");
        let body = json!({ "title": kind.concat(), "key": text });
        let added = scene.expect(&signer, "post", "/user/keys", body, 201).await;
        let shown = scene.verification(&work).await;
        assert_eq!(shown["verified"], true, "{kind:?} {shown}");
        let fingerprint = added["fingerprint"].as_str().expect("text");
        assert_eq!(shown["reason"], format!("signer / {fingerprint}"));
        let expected = json!({ "name": "signer", "email": COMMITTER, "username": "signer" });
        assert_eq!(shown["signer"], expected);
        let signature = shown["signature"].as_str().expect("text");
        assert!(signature.starts_with("-----BEGIN SSH SIGNATURE-----\n"), "{signature}");
        let raw = work.done(&["cat-file", "commit", "HEAD"]);
        let payload = shown["payload"].as_str().expect("text");
        assert!(payload.ends_with("\n\nsigned\n") && raw.starts_with(payload.lines().next().expect("a line")));

        let tag = work.done(&["rev-parse", &format!("v{number}")]);
        let tag_path = format!("/repos/ann/demo/git/tags/{tag}");
        let tag = scene.expect(&scene.bob, "get", &tag_path, Value::Null, 200).await;
        assert_eq!((&tag["verification"]["verified"], &tag["message"]), (&true.into(), &json!("tagged\n")), "{tag}");

        scene.expect(&signer, "delete", &format!("/user/keys/{}", added["id"]), Value::Null, 204).await;
        assert_eq!(scene.verification(&work).await["verified"], false, "the key was deleted");
    }
    let hidden = "/repos/ann/demo/commits?verification=false";
    let list = scene.expect(&scene.bob, "get", hidden, Value::Null, 200).await;
    assert!(list[0]["commit"].get("verification").is_none_or(Value::is_null), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_for_signed_commits_share_half_of_the_cores() {
    let (scene, signer, work) = signing_scene().await;
    let Some(key) = ssh_key(&scene, &["ed25519"]).await else { return };
    for _ in 0..3 {
        sign(&work, &key, &["commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
    }
    scene.push(&work);
    let text = std::fs::read_to_string(key.with_extension("pub")).expect("a public key");
    scene.expect(&signer, "post", "/user/keys", json!({ "title": "a", "key": text }), 201).await;
    let list = async || scene.expect(&scene.bob, "get", "/repos/ann/demo/commits?limit=50", Value::Null, 200).await;
    for commits in join_all((0..20).map(|_| list())).await {
        let commits = commits.as_array().expect("a list").clone();
        let is_verified = |commit: &Value| commit["commit"]["verification"]["verified"] == true;
        assert!(commits.len() == 3 && commits.iter().all(is_verified), "{commits:?}");
    }
    let limit = async || {
        let status = send(&scene.world.farrier.unix(), Method::GET, "/api/farrier/v1/status", &[], "").await.json();
        let limits = status["limits"].as_array().expect("a list").clone();
        limits.into_iter().find(|limit| limit["kind"] == "signature_check").expect("a limit")
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let max = (cores / 2).max(1);
    assert_eq!(limit().await["max"], max);
    let requests = async {
        loop {
            join_all((0..8).map(|_| list())).await;
        }
    };
    let is_shared = async || {
        let running = limit().await["running"].as_u64().expect("a number");
        assert!(running <= max as u64, "{running} checks run");
        running > 0
    };
    tokio::select! {
        () = eventually("a check has a share", is_shared) => {}
        () = requests => {}
    }
    eventually("no check runs", async || limit().await["running"] == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_account_or_a_changed_commit_is_not_verified() {
    let (scene, signer, work) = signing_scene().await;
    let Some(key) = ssh_key(&scene, &["ed25519"]).await else { return };
    sign(&work, &key, &["commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
    scene.push(&work);
    let text = std::fs::read_to_string(key.with_extension("pub")).expect("a public key");
    let body = json!({ "title": "laptop", "key": text });
    let other = scene.expect(&scene.bob, "post", "/user/keys", body.clone(), 201).await;
    let shown = scene.verification(&work).await;
    assert_eq!((&shown["verified"], &shown["reason"]), (&false.into(), &json!("gpg.error.no_gpg_keys_found")));
    scene.expect(&scene.bob, "delete", &format!("/user/keys/{}", other["id"]), Value::Null, 204).await;
    scene.expect(&signer, "post", "/user/keys", body, 201).await;
    assert_eq!(scene.verification(&work).await["verified"], true);

    let raw = work.done(&["cat-file", "commit", "HEAD"]) + "\n";
    let end = "-----END SSH SIGNATURE-----";
    for (from, to, reason) in [
        ("signed\n", "forged\n", "gpg.error.probable_bad_signature"),
        (end, "-----END SSH SIGNATURE----", "gpg.error.extract_sign"),
        ("<a@example.com>", "<nobody@example.com>", "gpg.error.no_gpg_keys_found"),
    ] {
        let file = work.dir().join("object");
        let changed = raw.replace(from, to);
        assert_ne!(changed, raw);
        std::fs::write(&file, changed).expect("a file");
        let id = work.done(&["hash-object", "-t", "commit", "-w", path(&file)]);
        work.done(&["reset", "-q", "--soft", &id]);
        scene.push(&work);
        let shown = scene.verification(&work).await;
        assert_eq!((&shown["verified"], &shown["reason"]), (&false.into(), &json!(reason)), "{to}");
        assert_eq!(shown["signer"], Value::Null);
    }
    work.commit("a", "unsigned");
    scene.push(&work);
    let shown = scene.verification(&work).await;
    assert_eq!((&shown["verified"], &shown["reason"]), (&false.into(), &json!("gpg.error.not_signed_commit")));
    assert_eq!((&shown["signature"], &shown["payload"]), (&json!(""), &json!("")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_signed_with_an_openpgp_key_of_the_committer_is_verified() {
    let (scene, signer, work) = signing_scene().await;
    let home = scene.world.farrier.scratch().join("g");
    let Some(gpg) = Gpg::new(home.clone(), &format!("A <{COMMITTER}>")).await else { return };
    let work = work.with_home(&home);
    let text = gpg.public_key().await;
    let key = scene.expect(&signer, "post", "/user/gpg_keys", new_key(&text), 201).await;
    let signing = format!("user.signingkey={}", key["key_id"].as_str().expect("text"));
    work.done(&["-c", &signing, "commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
    work.done(&["-c", &signing, "tag", "-s", "-m", "tagged", "v1"]);
    scene.push(&work);
    let shown = scene.verification(&work).await;
    assert_eq!(shown["verified"], true, "{shown}");
    assert_eq!(shown["reason"], format!("signer / {}", key["key_id"].as_str().expect("text")));
    let tag = work.done(&["rev-parse", "v1"]);
    let tag = scene.expect(&scene.bob, "get", &format!("/repos/ann/demo/git/tags/{tag}"), Value::Null, 200).await;
    assert_eq!(tag["verification"]["verified"], true, "{tag}");

    // The address of the account counts, not that of the key.
    scene.expect(&scene.bob, "post", "/user/gpg_keys", new_key(&text), 422).await;
    let other = json!({ "login_name": "signer", "source_id": 0, "email": "b@example.com" });
    scene.world.admin("patch", "/admin/users/signer", other, 200).await;
    let shown = scene.verification(&work).await;
    assert_eq!((&shown["verified"], &shown["reason"]), (&false.into(), &json!("gpg.error.no_gpg_keys_found")));
    gpg.end().await;
}
