//! Keys that `ssh-keygen` made.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Scene;
use crate::support::process::{command, output};

/// The kinds of keys, as arguments of `ssh-keygen`.
const KINDS: [&[&str]; 6] = [
    &["-t", "ed25519"],
    &["-t", "ecdsa", "-b", "256"],
    &["-t", "ecdsa", "-b", "384"],
    &["-t", "ecdsa", "-b", "521"],
    &["-t", "rsa", "-b", "2048"],
    &["-t", "rsa", "-b", "3072"],
];

async fn ssh_keygen(args: &[&str]) -> Option<String> {
    let mut program = command("ssh-keygen");
    program.args(args);
    let done = output(program).await?;
    done.status.success().then(|| String::from_utf8(done.stdout).expect("text"))
}

/// Makes a key and returns the file with the public part. `None` if this ssh-keygen cannot make it.
async fn made(directory: &Path, kind: &[&str]) -> Option<PathBuf> {
    let file = directory.join(kind.concat());
    let path = file.to_str().expect("a path");
    ssh_keygen(&[kind, &["-q", "-N", "", "-C", "ann@laptop", "-f", path]].concat()).await?;
    Some(file.with_extension("pub"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_key_of_ssh_keygen_is_accepted_with_its_fingerprint() {
    if output(command("ssh-keygen")).await.is_none() {
        return; // not installed
    }
    let scene = Scene::new().await;
    let directory = scene.world.farrier.scratch();
    for kind in KINDS {
        let file = made(&directory, kind).await.unwrap_or_else(|| panic!("ssh-keygen {kind:?}"));
        let path = file.to_str().expect("a path");
        let text = std::fs::read_to_string(&file).expect("a file");
        let shown = ssh_keygen(&["-l", "-f", path]).await.expect("a fingerprint");
        let rfc_4716 = ssh_keygen(&["-e", "-f", path]).await.expect("the other format");
        let body = json!({ "title": kind.concat(), "key": text });
        let key = scene.expect(&scene.ann, "post", "/user/keys", body, 201).await;
        assert_eq!(key["key"], text.trim_end());
        assert_eq!(Some(key["fingerprint"].as_str().expect("text")), shown.split(' ').nth(1), "{shown}");
        scene.expect(&scene.ann, "delete", &format!("/user/keys/{}", key["id"]), Value::Null, 204).await;
        let body = json!({ "title": "other format", "key": rfc_4716 });
        let other = scene.expect(&scene.ann, "post", "/user/keys", body, 201).await;
        assert_eq!(other["fingerprint"], key["fingerprint"], "{rfc_4716}");
        scene.expect(&scene.ann, "delete", &format!("/user/keys/{}", other["id"]), Value::Null, 204).await;
        let private = std::fs::read_to_string(file.with_extension("")).expect("the private key");
        let body = json!({ "title": "private", "key": private });
        let refused = scene.expect(&scene.ann, "post", "/user/keys", body, 422).await.to_string();
        assert!(refused.contains("is a private key") && !refused.contains(&private[40..80]), "{refused}");
    }
    for (kind, message) in [(&["-t", "dsa"][..], "is a DSA key"), (&["-t", "rsa", "-b", "1024"][..], "with 1024 bits")]
    {
        // Newer versions make no such keys.
        let Some(file) = made(&directory, kind).await else { continue };
        let body = json!({ "title": "weak", "key": std::fs::read_to_string(&file).expect("a file") });
        scene.refused(&scene.ann, "/user/keys", body, message).await;
    }
}
