//! The commands of pushes on the wire: which refs move, and what the report says about each.

use http::Method;
use serde_json::json;

use super::demo;
use crate::support::{Answer, TestDaemon, git::Client, send};

/// The pack without objects.
const EMPTY_PACK: &str = "5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e";
pub(super) const ZERO: &str = "0000000000000000000000000000000000000000";
const UNKNOWN: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// An update: the expected and the new value, and the name.
pub(super) type Update<'a> = (&'a str, &'a str, &'a str);

fn empty_pack() -> Vec<u8> {
    hex::decode(EMPTY_PACK).expect("digits")
}

/// Returns the request body for a list of updates, without a pack.
pub(super) fn list(capabilities: &str, updates: &[Update<'_>]) -> Vec<u8> {
    let mut lines: Vec<String> = updates.iter().map(|(old, new, name)| format!("{old} {new} {name}")).collect();
    lines[0] = format!("{}\0{capabilities}", lines[0]);
    let packets: Vec<String> = lines.iter().map(|line| format!("{:04x}{line}", line.len() + 4)).collect();
    (packets.concat() + "0000").into_bytes()
}

async fn post(farrier: &TestDaemon, remote: &str, repository: &str, body: Vec<u8>) -> Answer {
    let token = remote.split(['@', ':']).nth(2).expect("a token");
    let authorization = format!("token {token}");
    let headers =
        [("authorization", authorization.as_str()), ("content-type", "application/x-git-receive-pack-request")];
    send(&farrier.tcp(), Method::POST, &format!("/admin/{repository}.git/git-receive-pack"), &headers, body).await
}

/// Pushes to the repository `demo`. Returns the lines of the report.
pub(super) async fn push(
    farrier: &TestDaemon,
    remote: &str,
    capabilities: &str,
    updates: &[Update<'_>],
    pack: &[u8],
) -> Vec<String> {
    let body = [&list(&format!("report-status {capabilities}"), updates)[..], pack].concat();
    let answer = post(farrier, remote, "demo", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.text();
    let lines = text.strip_suffix("0000").expect("a flush packet").lines();
    // Each line is a packet that begins with four digits.
    lines.map(|line| line[4..].to_owned()).collect()
}

/// Returns the pack of the commits of `tip` that `base` does not have. It lacks the bases of its deltas.
pub(super) fn pack_of(work: &Client, tip: &str, base: Option<&str>) -> Vec<u8> {
    let file = work.dir().join("bundle");
    let _ = std::fs::remove_file(&file);
    let exclude = base.map(|base| format!("^{base}"));
    work.done(&["branch", "-f", "packed", tip]);
    let mut args = vec!["bundle", "create", "-q", "bundle", "packed"];
    args.extend(exclude.as_deref());
    work.done(&args);
    let bundle = std::fs::read(&file).expect("a bundle");
    std::fs::remove_file(&file).expect("a file");
    let start = bundle.windows(4).position(|bytes| bytes == b"PACK").expect("a pack");
    bundle[start..].to_vec()
}

/// Returns the refs of the repository `demo`, with their values.
fn refs(work: &Client, remote: &str) -> Vec<String> {
    let all = work.done(&["ls-remote", remote]);
    all.lines().filter(|line| !line.ends_with("\tHEAD")).map(str::to_owned).collect()
}

/// A repository with the branch `main` of three commits, of which the last two are not pushed. Returns the commits.
pub(super) fn pushed(farrier: &TestDaemon, remote: &str) -> (Client, [String; 3]) {
    let work = Client::init(farrier.scratch().join("work"));
    let text = |last: &str| format!("{}{last}\n", "a line\n".repeat(200));
    let commits = ["1", "2", "3"].map(|number| work.commit("file", text(number)));
    work.done(&["push", "-q", remote, &format!("{}:refs/heads/main", commits[0])]);
    (work, commits)
}

fn packs(farrier: &TestDaemon) -> Vec<String> {
    let directory = farrier.data_dir().join("repositories/1.git/objects/pack");
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn every_ref_of_a_push_has_its_own_outcome_in_the_words_of_git() {
    let (farrier, remote) = demo().await;
    let (work, [first, second, third]) = pushed(&farrier, &remote);
    let blob = work.done(&["rev-parse", &format!("{second}:file")]);
    let pack = pack_of(&work, &third, Some(&first));
    let updates: &[Update<'_>] = &[
        (ZERO, &third, "refs/heads/new"),
        (&second, &third, "refs/heads/main"),
        (ZERO, &first, "refs/heads/main"),
        (ZERO, &third, "refs/heads/there"),
        (ZERO, UNKNOWN, "refs/heads/unknown"),
        (ZERO, &blob, "refs/heads/blob"),
        (ZERO, &blob, "refs/tags/blob"),
        (ZERO, &second, "refs/farrier/x"),
        (ZERO, &second, "refs/notes/x"),
        (ZERO, UNKNOWN, "refs/heads/twice"),
        (ZERO, &third, "refs/heads/twice"),
        (ZERO, &second, "refs/notes"),
        (ZERO, &second, "refs/short"),
        (ZERO, ZERO, "refs/heads/absent"),
        (&first, ZERO, "refs/heads/missing"),
        (&first, &second, "refs/heads/missing2"),
    ];
    let report = push(&farrier, &remote, "", updates, &pack).await;
    assert_eq!(
        report,
        [
            "unpack ok",
            "ok refs/heads/new",
            "ng refs/heads/main a push can update a ref only once",
            "ng refs/heads/main a push can update a ref only once",
            "ok refs/heads/there",
            "ng refs/heads/unknown missing necessary objects",
            "ng refs/heads/blob failed to update ref",
            "ok refs/tags/blob",
            "ng refs/farrier/x deny updating a hidden ref",
            "ok refs/notes/x",
            "ng refs/heads/twice a push can update a ref only once",
            "ng refs/heads/twice a push can update a ref only once",
            "ng refs/notes funny refname",
            "ng refs/short funny refname",
            "ok refs/heads/absent",
            "ng refs/heads/missing failed to update ref",
            "ng refs/heads/missing2 failed to update ref",
        ]
    );
    let expected = [
        (&first, "refs/heads/main"),
        (&third, "refs/heads/new"),
        (&third, "refs/heads/there"),
        (&second, "refs/notes/x"),
        (&blob, "refs/tags/blob"),
    ];
    assert_eq!(refs(&work, &remote), expected.map(|(id, name)| format!("{id}\t{name}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_atomic_push_moves_all_refs_or_none() {
    let (farrier, remote) = demo().await;
    let (work, [first, second, third]) = pushed(&farrier, &remote);
    let (before, stored) = (refs(&work, &remote), packs(&farrier));
    let pack = pack_of(&work, &third, Some(&first));
    for (update, reason) in [
        ((second.as_str(), third.as_str(), "refs/heads/main"), "failed to update ref"),
        ((ZERO, UNKNOWN, "refs/heads/x"), "missing necessary objects"),
    ] {
        let updates = [(ZERO, third.as_str(), "refs/heads/new"), update];
        let report = push(&farrier, &remote, "atomic", &updates, &pack).await;
        let refused = format!("ng {} {reason}", update.2);
        assert_eq!(report, ["unpack ok", "ng refs/heads/new atomic transaction failed", &refused]);
        assert_eq!((refs(&work, &remote), packs(&farrier)), (before.clone(), stored.clone()), "nothing is stored");
    }
    let updates: &[Update<'_>] = &[(ZERO, &third, "refs/heads/new"), (&first, &second, "refs/heads/main")];
    let report = push(&farrier, &remote, "atomic", updates, &pack).await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/new", "ok refs/heads/main"]);
    assert_eq!(refs(&work, &remote), [format!("{second}\trefs/heads/main"), format!("{third}\trefs/heads/new")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ref_cannot_be_a_directory_of_another_one() {
    let (farrier, remote) = demo().await;
    let (work, [first, _, third]) = pushed(&farrier, &remote);
    let first = first.as_str();
    let (stored, new) = (packs(&farrier), pack_of(&work, &third, Some(first)));
    for capabilities in ["", "atomic"] {
        let updates = [(ZERO, third.as_str(), "refs/heads/main/x")];
        let report = push(&farrier, &remote, capabilities, &updates, &new).await;
        assert_eq!(report, ["unpack ok", "ng refs/heads/main/x failed to update ref"]);
        assert_eq!(packs(&farrier), stored, "nothing is stored");
    }
    let pack = empty_pack();
    let updates = [(ZERO, first, "refs/heads/a"), (ZERO, first, "refs/heads/a/b")];
    let report = push(&farrier, &remote, "", &updates, &pack).await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/a", "ng refs/heads/a/b failed to update ref"]);
    let updates = [(ZERO, first, "refs/heads/c/d"), (ZERO, first, "refs/heads/c")];
    let report = push(&farrier, &remote, "", &updates, &pack).await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/c/d", "ng refs/heads/c failed to update ref"]);
    let report = push(&farrier, &remote, "", &[(ZERO, first, "refs/heads/main/x")], &pack).await;
    assert_eq!(report, ["unpack ok", "ng refs/heads/main/x failed to update ref"]);
    // One push can delete a ref and create another one below its name, or the reverse.
    for (gone, new) in [("refs/heads/a", "refs/heads/a/b"), ("refs/heads/c/d", "refs/heads/c")] {
        let updates = [(ZERO, first, new), (first, ZERO, gone)];
        let report = push(&farrier, &remote, "atomic", &updates, &pack).await;
        assert_eq!(report, ["unpack ok".to_owned(), format!("ok {new}"), format!("ok {gone}")]);
    }
    let names = ["refs/heads/a/b", "refs/heads/c", "refs/heads/main"];
    assert_eq!(refs(&work, &remote), names.map(|name| format!("{first}\t{name}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_push_that_deletes_needs_no_pack() {
    let (farrier, remote) = demo().await;
    let (work, [first, ..]) = pushed(&farrier, &remote);
    let first = first.as_str();
    let stored = packs(&farrier);
    let updates = [(ZERO, first, "refs/heads/a"), (ZERO, first, "refs/heads/b"), (ZERO, first, "refs/tags/c")];
    let incomplete: [(&[u8], &str); 3] = [
        (b"", "eof before pack header"),
        (b"PACK", "eof before pack header"),
        (b"PACK\0\0\0\x02\0\0\0\0", "empty pack"),
    ];
    for (nothing, problem) in incomplete {
        let report = push(&farrier, &remote, "", &updates, nothing).await;
        assert!(report[0].starts_with("unpack ") && report[0].contains(problem), "{report:?}");
        let refused = ["heads/a", "heads/b", "tags/c"].map(|name| format!("ng refs/{name} unpacker error"));
        assert_eq!(report[1..], refused, "{problem}");
    }
    let report = push(&farrier, &remote, "", &updates, &empty_pack()).await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/a", "ok refs/heads/b", "ok refs/tags/c"]);
    let report = push(&farrier, &remote, "", &[(first, ZERO, "refs/heads/a")], b"").await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/a"]);
    // As in git, data after the list is not read.
    let updates = [(first, ZERO, "refs/heads/b"), (first, ZERO, "refs/tags/c")];
    let report = push(&farrier, &remote, "", &updates, b"PACK and something else").await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/b", "ok refs/tags/c"]);
    assert_eq!(refs(&work, &remote), [format!("{first}\trefs/heads/main")]);
    assert_eq!(packs(&farrier), stored, "no pack was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_is_refused_stores_nothing_and_the_next_push_works() {
    let (farrier, remote) = demo().await;
    let (work, [first, second, third]) = pushed(&farrier, &remote);
    let stored = packs(&farrier);
    let pack = pack_of(&work, &third, Some(&first));
    let lacks_parent = pack_of(&work, &third, Some(&second));
    let mut damaged = pack.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let updates = [(first.as_str(), third.as_str(), "refs/heads/main"), (ZERO, first.as_str(), "refs/heads/x")];
    for (bad, problem) in [
        (pack[..pack.len() - 1].to_vec(), "early EOF"),
        (pack[..12].to_vec(), "early EOF"),
        (damaged, ""),
        (lacks_parent, ""),
        (b"something else".to_vec(), "pack signature mismatch"),
        ([&b"PACK\0\0\0\x09\0\0\0\x01"[..], &pack[12..]].concat(), "pack version 9 unsupported"),
    ] {
        let report = push(&farrier, &remote, "", &updates, &bad).await;
        assert!(report[0].starts_with("unpack ") && report[0].contains(problem), "{problem}: {report:?}");
        assert_eq!(report[1..], ["ng refs/heads/main unpacker error", "ng refs/heads/x unpacker error"], "{problem}");
        assert_eq!(packs(&farrier), stored, "{problem}");
    }
    assert_eq!(refs(&work, &remote), [format!("{first}\trefs/heads/main")]);
    let incoming = std::fs::read_dir(farrier.data_dir().join("incoming")).expect("a directory");
    assert_eq!(incoming.count(), 0, "nothing is left");
    // The pack is thin: the bases of its deltas are in the repository only.
    let report = push(&farrier, &remote, "ofs-delta quiet", &updates, &pack).await;
    assert_eq!(report, ["unpack ok", "ok refs/heads/main", "ok refs/heads/x"]);
    let clone = Client::at(farrier.scratch());
    clone.done(&["clone", "-q", &remote, "clone"]);
    clone.below("clone").done(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_clone_can_push_what_the_repository_completes() {
    let (farrier, remote) = demo().await;
    let (work, [_, _, third]) = pushed(&farrier, &remote);
    work.done(&["push", "-q", &remote, &format!("{third}:refs/heads/main")]);
    let clones = Client::at(farrier.scratch().join("clones"));
    clones.done(&["clone", "-q", "--depth", "1", &remote, "shallow"]);
    let shallow = clones.below("shallow");
    let tip = shallow.commit("file", "new");
    shallow.done(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    assert_eq!(refs(&work, &remote), [format!("{tip}\trefs/heads/main")]);
    // Another repository lacks the earlier commits.
    farrier.repository("other").await;
    let other = remote.replace("admin/demo", "admin/other");
    let refused = shallow.refused(&["push", &other, "HEAD:refs/heads/main"]);
    assert!(refused.contains("shallow update not allowed"), "{refused}");
    assert_eq!(work.done(&["ls-remote", &other]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_capabilities_that_pushes_serve_are_advertised() {
    let (farrier, remote) = demo().await;
    let token = remote.split(['@', ':']).nth(2).expect("a token");
    let authorization = format!("token {token}");
    let path = "/admin/demo.git/info/refs?service=git-receive-pack";
    let answer = send(&farrier.tcp(), Method::GET, path, &[("authorization", authorization.as_str())], "").await;
    let text = answer.text();
    let (_, capabilities) = text.split_once('\0').expect("capabilities");
    let names = capabilities.split_ascii_whitespace().map(|word| word.split('=').next().unwrap_or_default());
    let served = [
        "report-status",
        "report-status-v2",
        "delete-refs",
        "side-band-64k",
        "quiet",
        "atomic",
        "ofs-delta",
        "push-options",
        "object-format",
        "agent",
    ];
    let unserved: Vec<&str> = names.filter(|name| *name != "0000" && !served.contains(name)).collect();
    assert!(unserved.is_empty(), "{unserved:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_is_in_the_requested_form() {
    let (farrier, remote) = demo().await;
    let (_, [first, ..]) = pushed(&farrier, &remote);
    let updates = [(ZERO, ZERO, "refs/heads/absent"), (ZERO, first.as_str(), "refs/heads/main")];
    let report = "000eunpack ok\n0019ok refs/heads/absent\n002cng refs/heads/main failed to update ref\n0000";
    let warning = "warning: deleting a non-existent ref\n";
    let error = "error: cannot update ref 'refs/heads/main': it does not have the expected value, or another ref's name \
                 is in the way\n";
    let band = |band: u8, text: &str| format!("{:04x}{}{text}", text.len() + 5, char::from(band));
    for (capabilities, expected) in [
        ("report-status", report.to_owned()),
        ("report-status-v2 object-format=sha1", report.to_owned()),
        ("quiet", String::new()),
        (
            "report-status-v2 side-band-64k",
            [band(2, warning), band(2, error), band(1, report), "0000".to_owned()].concat(),
        ),
    ] {
        let body = [list(capabilities, &updates), empty_pack()].concat();
        let answer = post(&farrier, &remote, "demo", body).await;
        assert_eq!((answer.status, answer.text()), (200, expected), "{capabilities}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_do_not_fit_the_repository_are_refused() {
    let (farrier, remote) = demo().await;
    let created = json!({ "name": "long", "object_format_name": "sha256" });
    assert_eq!(farrier.admin(Method::POST, "/api/v1/user/repos", created).await.status, 201);
    let (zero, id) = ("0".repeat(64), "a".repeat(64));
    for (repository, update) in
        [("demo", (zero.as_str(), id.as_str(), "refs/heads/x")), ("long", (ZERO, UNKNOWN, "refs/heads/x"))]
    {
        let body = [list("report-status", &[update]), empty_pack()].concat();
        let answer = post(&farrier, &remote, repository, body).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.text().starts_with("the object format of the repository is sha"), "{answer:?}");
    }
    let certificate = format!("push-cert\0report-status {ZERO}");
    let body = format!("{:04x}{certificate}0000", certificate.len() + 4);
    let answer = post(&farrier, &remote, "demo", body.into_bytes()).await;
    assert_eq!((answer.status, answer.text()), (400, "signed pushes are not offered\n".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_refs_are_pushed_and_deleted_at_once() {
    let (farrier, remote) = demo().await;
    let (work, [first, ..]) = pushed(&farrier, &remote);
    let lines: Vec<String> = (0..2_000).map(|number| format!("{first} refs/many/{number:05}\n")).collect();
    let lines = lines.concat();
    std::fs::write(work.dir().join(".git/packed-refs"), format!("# pack-refs with: sorted\n{lines}")).expect("a file");
    work.done(&["push", "-q", &remote, "refs/many/*"]);
    let expected: Vec<String> = lines.lines().map(|line| line.replace(' ', "\t")).collect();
    let main = format!("{first}\trefs/heads/main");
    assert_eq!(refs(&work, &remote), [vec![main.clone()], expected].concat());
    work.done(&["push", "-q", "--prune", &remote, "refs/none/*:refs/many/*"]);
    assert_eq!(refs(&work, &remote), [main]);
}
