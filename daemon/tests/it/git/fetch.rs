//! Pushes of different sizes, and all kinds of fetches.

use super::demo;
use crate::support::git::{Client, noise};

#[tokio::test(flavor = "multi_thread")]
async fn large_and_small_pushes_can_be_cloned_in_every_way() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("large", noise(3 << 20));
    work.done(&["push", "-q", &remote, "main"]);
    work.commit("small", "0123456789");
    work.done(&["push", "-q", &remote, "main"]);
    let tip = work.commit("small", "changed");
    work.done(&["push", "-q", &remote, "main"]);

    let anonymous = format!("{}/admin/demo", farrier.url);
    let clones = Client::at(farrier.scratch().join("clones"));
    for (n, args) in [
        &["clone", "-q"][..],
        &["-c", "protocol.version=0", "clone", "-q"],
        &["-c", "protocol.version=1", "clone", "-q"],
        &["clone", "-q", "--depth", "1"],
        &["-c", "protocol.version=0", "clone", "-q", "--depth", "1"],
        &["clone", "-q", "--filter=blob:none"],
        &["-c", "protocol.version=0", "clone", "-q", "--filter=blob:none"],
        &["clone", "-q", "--bare", "--single-branch"],
    ]
    .into_iter()
    .enumerate()
    {
        let name = n.to_string();
        clones.done(&[args, &[anonymous.as_str(), name.as_str()]].concat());
        let copy = clones.below(&name);
        assert_eq!(copy.done(&["rev-parse", "HEAD"]), tip, "{args:?}");
        if args.contains(&"--filter=blob:none") {
            copy.done(&["checkout", "-q", "HEAD~1"]);
            assert_eq!(std::fs::read(copy.dir().join("small")).expect("a file"), b"0123456789");
        }
    }
    let shallow = clones.below("3");
    assert_eq!(shallow.done(&["rev-list", "--count", "HEAD"]), "1");
    shallow.done(&["fetch", "-q", "--unshallow"]);
    assert_eq!(shallow.done(&["rev-list", "--count", "HEAD"]), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_with_many_refs_is_negotiated() {
    let (farrier, remote) = demo().await;
    let work = Client::init(farrier.scratch().join("work"));
    work.commit("a", "a");
    work.done(&["push", "-q", &remote, "main"]);
    let copies = Client::at(farrier.scratch().join("copies"));
    copies.done(&["clone", "-q", &remote, "copy"]);
    // Enough haves and wants that git compresses the request body.
    for n in 0..60 {
        let name = format!("b{n}");
        work.done(&["checkout", "-q", "--orphan", &name]);
        work.commit("a", &name);
    }
    work.done(&["push", "-q", &remote, "--all"]);
    let copy = copies.below("copy");
    copy.done(&["fetch", "-q"]);
    copy.done(&["-c", "protocol.version=0", "fetch", "-q", "--prune"]);
    assert_eq!(copy.done(&["branch", "-r"]).lines().count(), 62);
    copy.done(&["fsck"]);
}
