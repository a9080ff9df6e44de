//! Requests that real clients sent to `git http-backend`: each is understood, and those for the same objects share an
//! answer.

use super::*;

/// The newest commit of the recorded repository, and the commit that was pushed afterwards.
const TIP: &str = "1e62adcd553b57f2bc1c57d5b9d611ac3474fb60";
const NEXT: &str = "0a6105965eeabbd44e6b79d2ce033e21c242d221";
/// An annotated tag.
const TAG: &str = "e715dd7a1d5e39a663b9d6f745c0ac2bbb00b781";

/// Parses a request in protocol version 2 of `agent`. `ends_lines`: whether its lines end in line breaks.
fn recorded(agent: &str, ends_lines: bool, arguments: &[&str]) -> FetchRequest {
    let end = if ends_lines { "\n" } else { "" };
    let (command, agent) = (format!("command=fetch{end}"), format!("agent={agent}"));
    let head = [command.as_str(), &agent, "object-format=sha1", "0001"];
    let all = [&head[..], arguments, &["0000"]].concat();
    FetchRequest::parse("version=2", &lines(&all), false).unwrap_or_else(|| panic!("{all:?}"))
}

fn git(arguments: &[&str]) -> FetchRequest {
    recorded("git/2.39.5", false, arguments)
}

#[test]
fn recorded_clones_of_git_share_an_answer_whether_they_show_progress_or_not() {
    let (want, tag) = (format!("want {TIP}\n"), format!("want {TAG}\n"));
    // git clone -q
    let quiet = git(&["thin-pack", "no-progress", "ofs-delta", &want, &want, &tag, "done\n"]);
    // git clone --progress
    let progress = git(&["thin-pack", "ofs-delta", &want, &want, &tag, "done\n"]);
    assert_eq!(quiet, progress);
    assert!(quiet.is_full_clone() && !quiet.has_haves());
    // dulwich 1.2.21 takes no offset deltas.
    let dulwich = recorded("dulwich/1.2.21", true, &["thin-pack\n", &want, &want, &tag, "done\n"]);
    assert!(dulwich.is_full_clone());
    assert_ne!(dulwich.digest(1), quiet.digest(1));
}

#[test]
fn recorded_fetches_of_jobs_are_understood() {
    let (want, next, have) = (format!("want {TIP}\n"), format!("want {NEXT}\n"), format!("have {TIP}\n"));
    // git clone -q --depth 1
    let shallow = git(&["thin-pack", "no-progress", "include-tag", "ofs-delta", "deepen 1", &want, &want, "done\n"]);
    assert_eq!(shallow.scope(), StateScope::Tags);
    // git fetch --no-tags --depth=1 URL +COMMIT:REF, as actions/checkout does.
    let checkout = git(&["thin-pack", "no-progress", "ofs-delta", "deepen 1", &want, "done\n"]);
    assert_eq!(checkout.scope(), StateScope::Objects);
    assert!(!shallow.is_full_clone() && !checkout.is_full_clone());
    // git fetch -q, in a clone with the parent of the new commit: one request without "done".
    let fetch = git(&["thin-pack", "no-progress", "include-tag", "ofs-delta", &next, &have]);
    assert!(fetch.has_haves() && !fetch.is_full_clone());
}

#[test]
fn a_recorded_clone_of_libgit2_is_understood() {
    let first = format!("want {NEXT} multi_ack_detailed side-band-64k include-tag thin-pack ofs-delta \n");
    let clone = v0(&[&first, &format!("want {TAG}\n"), "0000", "done\n"]).expect("canonical");
    assert!(clone.is_full_clone());
}
