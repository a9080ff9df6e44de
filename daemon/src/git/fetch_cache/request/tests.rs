mod recorded;

use super::{dependence::NAMED_MAX, *};

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// Encodes lines; `0000` and `0001` stay as they are.
fn lines(lines: &[&str]) -> Vec<u8> {
    let encode = |line: &&str| match *line {
        "0000" | "0001" => (*line).to_owned(),
        line => format!("{:04x}{line}", line.len() + 4),
    };
    lines.iter().map(encode).collect::<String>().into_bytes()
}

fn v2(arguments: &[&str]) -> Option<FetchRequest> {
    let all = [&["command=fetch", "agent=git/2.39.5", "object-format=sha1", "0001"], arguments, &["0000"]].concat();
    FetchRequest::parse("version=2", &lines(&all), false)
}

fn v0(all: &[&str]) -> Option<FetchRequest> {
    FetchRequest::parse("", &lines(all), false)
}

#[test]
fn requests_of_different_clients_for_the_same_objects_are_equal() {
    let (want_a, want_b) = (format!("want {A}\n"), format!("want {B}"));
    let git = v2(&["thin-pack", "no-progress", "include-tag", "ofs-delta\n", &want_b, &want_a, &want_b, "done\n"]);
    let git = git.expect("canonical");
    let with_progress = v2(&["ofs-delta", "include-tag", "thin-pack", &want_a, &want_b, "done"]);
    assert_eq!(with_progress.as_ref(), Some(&git));
    let plain =
        lines(&["command=fetch", "0001", "ofs-delta", "include-tag", "thin-pack", &want_a, &want_b, "done", "0000"]);
    assert_eq!(FetchRequest::parse("version=2", &plain, false), Some(git.clone()));
    assert_eq!(FetchRequest::parse("version=2", &git.body(), false), Some(git.clone()), "it is its own canonical form");
    assert_eq!((git.digest(1), git.protocol()), (with_progress.expect("canonical").digest(1), "version=2"));
    assert_ne!(git.digest(1), git.digest(2));
}

#[test]
fn what_changes_the_answer_changes_the_digest() {
    let want = format!("want {A}");
    let (have_a, have_b, shallow) = (format!("have {A}"), format!("have {B}"), format!("shallow {B}"));
    let base: &[&str] = &[&want, "done"];
    let others: [&[&str]; 14] = [
        &[&want],
        &[&want, "ofs-delta", "done"],
        &[&want, "thin-pack", "done"],
        &[&want, "include-tag", "done"],
        &[&want, "deepen 1", "done"],
        &[&want, "deepen 2", "done"],
        &[&want, "deepen-since 5", "done"],
        &[&want, "deepen-not refs/heads/x", "done"],
        &[&want, "deepen 1", "deepen-relative", "done"],
        &[&want, "filter blob:none", "done"],
        &[&want, "filter blob:limit=1k", "done"],
        &[&want, &shallow, "done"],
        &[&want, &have_a, &have_b, "done"],
        &[&want, &have_b, &have_a, "done"],
    ];
    let mut digests: Vec<_> = others.iter().map(|other| v2(other).expect("canonical").digest(1)).collect();
    digests.push(v2(base).expect("canonical").digest(1));
    digests.push(v0(&[&format!("want {A} ofs-delta"), "0000", "done\n"]).expect("canonical").digest(1));
    let different: BTreeSet<_> = digests.iter().collect();
    assert_eq!(different.len(), digests.len());
}

#[test]
fn requests_that_differ_in_objects_only_have_the_same_shape() {
    let (want_a, want_b, have) = (format!("want {A}"), format!("want {B}"), format!("have {A}"));
    let shape = |arguments: &[&str]| v2(arguments).expect("canonical").shape(1);
    assert_eq!(shape(&["deepen 1", &want_a, "done"]), shape(&[&want_b, &want_a, "deepen 1", "done"]));
    assert_eq!(shape(&[&want_a, &have, "done"]), shape(&[&want_b, &have, &have, "done"]));
    let v0 = |capability: &str| v0(&[&format!("{want_a} {capability}"), "0000", "done"]).expect("canonical").shape(1);
    let shapes = [
        shape(&[&want_a, "done"]),
        shape(&[&want_a]),
        shape(&[&want_a, "deepen 1", "done"]),
        shape(&[&want_a, "deepen 2", "done"]),
        shape(&[&want_a, "thin-pack", "done"]),
        shape(&[&want_a, &have, "done"]),
        shape(&[&want_a, &format!("shallow {B}"), "done"]),
        v0("ofs-delta"),
        v0("side-band"),
        v2(&[&want_a, "done"]).expect("canonical").shape(2),
    ];
    assert_eq!(shapes.iter().collect::<BTreeSet<_>>().len(), shapes.len());
}

#[test]
fn an_answer_depends_on_refs_only_if_an_argument_does() {
    let want = format!("want {A}");
    let of = |arguments: &[&str]| {
        let all = [&[want.as_str()], arguments].concat();
        let request = v2(&all).expect("canonical");
        (request.scope(), request.named().len())
    };
    let (have, shallow) = (format!("have {B}"), format!("shallow {B}"));
    assert_eq!(of(&["ofs-delta", "thin-pack", "no-progress", "done"]), (StateScope::Objects, 1));
    assert_eq!(of(&["deepen 1", &shallow, &have, &have, "done"]), (StateScope::Objects, 4));
    assert_eq!(of(&["filter blob:none", "include-tag", "done"]), (StateScope::Tags, 1));
    for filter in ["filter blob:limit=1k", "filter tree:0", "filter object:type=commit"] {
        assert_eq!(of(&[filter, "done"]), (StateScope::Objects, 1), "{filter}");
    }
    for argument in [
        "deepen-not refs/heads/x",
        "deepen-since 5",
        "deepen-relative",
        "filter sparse:oid=main:file",
        "filter combine:blob:none+sparse:oid=main:file",
    ] {
        assert_eq!(of(&["deepen 1", "include-tag", argument, "done"]), (StateScope::Refs, 0), "{argument}");
    }
    let many: Vec<String> = (0..NAMED_MAX).map(|n| format!("have {n:040x}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).chain(["done"]).collect();
    assert_eq!(of(&many), (StateScope::Refs, 0));
    assert_eq!(v0(&[&want, "0000", "done"]).expect("canonical").scope(), StateScope::Refs);
}

#[test]
fn requests_of_version_0_are_equal_without_the_name_of_the_client() {
    let (first, second) =
        (format!("want {B} side-band-64k ofs-delta agent=a object-format=sha1\n"), format!("want {A}\n"));
    let one = v0(&[&first, &second, &second, "0000", "done\n"]).expect("canonical");
    let other = format!("want {A} no-progress ofs-delta agent=b/1 side-band-64k");
    assert_eq!(v0(&[&other, &format!("want {B}"), "0000", "done"]), Some(one.clone()));
    assert_eq!(FetchRequest::parse("", &one.body(), false), Some(one.clone()), "it is its own canonical form");
    assert_eq!(one.protocol(), "");
    let deep = v0(&[&other, "deepen 1", "0000", "done"]).expect("canonical");
    assert_eq!(FetchRequest::parse("version=0", &deep.body(), false), Some(deep.clone()));
    assert_ne!(one.digest(1), deep.digest(1));
}

#[test]
fn requests_that_are_not_understood_are_not_shared() {
    let (want, long) = (format!("want {A}"), format!("want {}", "a".repeat(64)));
    let arguments: [&[&str]; 22] = [
        &[],
        &["done"],
        &[&want, "wait-for-done"],
        &[&want, "sideband-all", "done"],
        &[&want, "packfile-uris https", "done"],
        &[&want, "want-ref refs/heads/main", "done"],
        &[&want, "unknown", "done"],
        &[&want, "unknown x", "done"],
        &[&want, "", "done"],
        &[&want, "done", "0001"],
        &[&want, "done", "0000"],
        &[&want, "deepen 1", "deepen 2", "done"],
        &[&want, "deepen -1", "done"],
        &[&want, "deepen ", "done"],
        &[&want, "deepen-since 1", "deepen-since 2", "done"],
        &[&want, "filter blob:none", "filter tree:0", "done"],
        &[&long, "done"],
        &["want HEAD", "done"],
        &["want  ", "done"],
        &[&want, "have x", "done"],
        &[&want, "shallow x", "done"],
        &[&want, "done x"],
    ];
    for arguments in arguments {
        assert_eq!(v2(arguments), None, "{arguments:?}");
    }
    for capability in ["server-option=x", "unknown=1", "odd", "object-format=sha256"] {
        let body = lines(&["command=fetch", capability, "0001", &want, "done", "0000"]);
        assert_eq!(FetchRequest::parse("version=2", &body, false), None, "{capability}");
    }
    for all in [
        &[want.as_str()][..],
        &[&want, "0000"],
        &[&want, "0000", "done", "0000"],
        &[&want, "0000", "have x", "done"],
        &[&want, "0000", &format!("have {A}"), "done"],
        &[&format!("{want} unknown"), "0000", "done"],
        &[&format!("{want} agent"), "0000", "done"],
        &["0000"],
        &["wantx", "0000", "done"],
        &["want", "0000", "done"],
    ] {
        assert_eq!(v0(all), None, "{all:?}");
    }
    let body = lines(&["command=fetch", "0001", &want, "done", "0000"]);
    assert!(FetchRequest::parse("version=2", &body, false).is_some());
    for protocol in ["version=1", "version=2:x=y", "x", ""] {
        assert_eq!(FetchRequest::parse(protocol, &body, false), None, "{protocol}");
    }
    assert_eq!(FetchRequest::parse("version=2", &body, true), None, "ids of the other format");
    for cut in 0..body.len() {
        assert_eq!(FetchRequest::parse("version=2", &body[..cut], false), None, "{cut}");
    }
    assert_eq!(FetchRequest::parse("version=2", &[&body[..], b"x"].concat(), false), None);
}

#[test]
fn long_negotiations_and_long_requests_are_not_shared() {
    let haves: Vec<String> = (0..65).map(|n| format!("have {n:040x}")).collect();
    let with = |count: usize, done: bool| {
        let want = format!("want {A}");
        let mut all = vec![want.as_str()];
        all.extend(haves[..count].iter().map(String::as_str));
        all.extend(done.then_some("done"));
        v2(&all).is_some()
    };
    assert_eq!((with(64, false), with(65, false), with(65, true)), (true, false, true));
    let wants: Vec<String> = (0..30_000).map(|n| format!("want {n:040x}")).collect();
    let wants: Vec<&str> = wants.iter().map(String::as_str).chain(["done"]).collect();
    assert_eq!(v2(&wants), None);
    // The longest line that a packet can have.
    let filter = format!("filter {}", "x".repeat(pkt::PAYLOAD_MAX_BYTES - 7));
    let request = v2(&[&format!("want {A}"), &filter, "done"]).expect("canonical");
    assert_eq!(FetchRequest::parse("version=2", &request.body(), false), Some(request));
}

#[test]
fn the_beginning_of_a_request_shows_whether_it_may_be_a_fetch() {
    assert!(FetchRequest::may_begin_with(b"0011command=fetch0001"));
    assert!(FetchRequest::may_begin_with(b"0032want aaa"));
    for other in [&b""[..], b"00", b"0014command=ls-refs", b"0000"] {
        assert!(!FetchRequest::may_begin_with(other), "{}", other.escape_ascii());
    }
}
