//! SSH keys and OpenPGP keys on the command line, with a real daemon and gpg.

use std::{
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

use crate::{repos::demo, session::Daemon};

/// A public key that nobody has the private key of.
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB ann@laptop";
const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC";

#[test]
fn keys_and_deploy_keys_are_added_listed_and_deleted() {
    let daemon = demo();
    std::fs::write(daemon.work("id.pub"), format!("{KEY}\n")).unwrap();
    std::fs::write(daemon.work("ci.pub"), OTHER).unwrap();
    std::fs::write(daemon.work("id"), "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n").unwrap();
    let key = |words: &[&str]| daemon.farrier(&[&["key"][..], words].concat());
    let added = key(&["add", "id.pub", "--json"]).json();
    assert_eq!((&added["title"], &added["key"]), (&"ann@laptop".into(), &KEY.into()));
    let id = added["id"].to_string();
    assert_eq!(key(&["list", "-q"]).ok().stdout, format!("{id}\n"));
    let listed = key(&["list"]).ok().stdout;
    assert!(listed.contains("ann@laptop") && listed.contains("never") && listed.contains("SHA256:"), "{listed}");
    let refused = key(&["add", "id"]);
    assert!(refused.code == 2 && refused.stderr.contains("is a private key"), "{refused:?}");
    assert_eq!(key(&["add", "ci.pub"]).code, 2, "no title");
    assert_eq!(key(&["add", "id.pub", "--title", "again"]).code, 9, "the key is used");
    assert_eq!(key(&["delete", "nothing", "--yes"]).code, 3);
    assert_eq!(key(&["delete", "ann@laptop"]).code, 2, "a deletion is confirmed");

    let deploy = |words: &[&str]| daemon.farrier(&[&["repo", "deploy-key"][..], words].concat());
    let added = deploy(&["add", "admin/demo", "ci.pub", "--title", "ci", "--json"]).json();
    assert_eq!((&added["title"], &added["read_only"]), (&"ci".into(), &true.into()));
    let listed = deploy(&["list", "admin/demo"]).ok().stdout;
    assert!(listed.contains("read") && listed.contains("SHA256:"), "{listed}");
    deploy(&["delete", "admin/demo", "ci", "--yes"]).ok();
    let added = deploy(&["add", "admin/demo", "ci.pub", "--title", "ci", "--write", "--json"]).json();
    assert_eq!(added["read_only"], false);
    let id = added["id"].to_string();
    deploy(&["delete", "admin/demo", &id, "--yes"]).ok();
    assert_eq!(deploy(&["list", "admin/demo", "-q"]).ok().stdout, "");
    key(&["delete", "ann@laptop", "--yes"]).ok();
    assert_eq!(key(&["list", "-q"]).ok().stdout, "");
}

/// Runs a program of gpg with keys in the working directory. `None` if it is not installed.
#[expect(clippy::disallowed_methods, reason = "the test uses gpg like a user")]
fn gpg(daemon: &Daemon, program: &str, words: &[&str]) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(words).env("HOME", daemon.work("g")).env_remove("GNUPGHOME").current_dir(daemon.work("."));
    match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "no {program}");
            None
        }
        done => Some(done.unwrap()),
    }
}

/// Like [`gpg`], for `gpg` without questions. Returns its output.
fn batch(daemon: &Daemon, words: &[&str]) -> Option<Vec<u8>> {
    let all = [&["--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"][..], words].concat();
    let done = gpg(daemon, "gpg", &all)?;
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    Some(done.stdout)
}

/// Signs the text of `gpg-key token` and returns the name of a file with the signature.
fn proof(daemon: &Daemon) -> &'static str {
    let token = daemon.farrier(&["gpg-key", "token"]).ok().stdout;
    assert!(token.trim_end().len() == 64 && token.ends_with('\n'), "{token:?}");
    std::fs::write(daemon.work("token"), token).unwrap();
    batch(daemon, &["--yes", "--armor", "--output", "proof.asc", "--detach-sign", "token"]).unwrap();
    "proof.asc"
}

#[test]
fn openpgp_keys_are_added_verified_listed_and_deleted() {
    let daemon = Daemon::start();
    let home = daemon.work("g/.gnupg");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    // The administrator has another address.
    let generate = ["--quick-gen-key", "Ann <ann@laptop.example>", "ed25519", "cert,sign", "never"];
    if batch(&daemon, &generate).is_none() {
        return;
    }
    let export =
        |file: &str, words: &[&str]| std::fs::write(daemon.work(file), batch(&daemon, words).unwrap()).unwrap();
    export("ann.asc", &["--armor", "--export"]);
    export("ann.gpg", &["--export"]);
    export("private.asc", &["--armor", "--export-secret-keys"]);
    std::fs::write(daemon.work("long.asc"), "x".repeat((256 << 10) + 1)).unwrap();
    let key = |words: &[&str]| daemon.farrier(&[&["gpg-key"][..], words].concat());

    let refused = key(&["add", "ann.asc"]);
    assert!(refused.code != 0 && refused.stderr.contains("no user ID with the address"), "{refused:?}");
    for (file, problem) in
        [("private.asc", "is a private key"), ("ann.gpg", "is not text"), ("long.asc", "is too long")]
    {
        let refused = key(&["add", file]);
        assert!(refused.code == 2 && refused.stderr.contains(problem), "{file}: {refused:?}");
    }
    assert_eq!(key(&["add", "-", "--signature", "-"]).code, 2, "one standard input");
    assert_eq!(key(&["list", "-q"]).ok().stdout, "");

    let added = key(&["add", "ann.asc", "--signature", proof(&daemon), "--json"]).json();
    assert_eq!(added["verified"], true);
    let (id, key_id) = (added["id"].to_string(), added["key_id"].as_str().unwrap().to_owned());
    assert_eq!(key(&["list", "-q"]).ok().stdout, format!("{id}\n"));
    let listed = key(&["list"]).ok().stdout;
    for part in [&*key_id, "never", "yes", "ann@laptop.example"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    assert_eq!(key(&["list", "--user", "admin", "--json"]).json()["keys"][0]["key_id"], *key_id);

    let verified = key(&["verify", &id, proof(&daemon)]).ok().stdout;
    assert!(verified.contains(&key_id), "{verified}");
    assert_ne!(key(&["verify", &key_id, "ann.asc"]).code, 0, "a key is no signature");
    let refused = key(&["verify", &id, "private.asc"]);
    assert!(refused.code == 2 && refused.stderr.contains("is a private key"), "{refused:?}");
    assert_eq!(key(&["verify", "nothing", "proof.asc"]).code, 3);

    assert_eq!(key(&["delete", &key_id]).code, 2, "a deletion is confirmed");
    key(&["delete", &key_id.to_lowercase(), "--yes"]).ok();
    assert_eq!(key(&["delete", &id, "--yes"]).code, 3, "it was deleted");
    gpg(&daemon, "gpgconf", &["--kill", "gpg-agent"]);
}
