//! SSH keys on the command line, with a real daemon.

use crate::repos::demo;

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
