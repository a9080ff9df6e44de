//! What the terminal is asked, and where it is: in time, late, never; inside of tmux.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use super::{Session, Start, until};
use crate::program::World;

const QUESTION: &[u8] = b"\x1b[?2026$p";
const BEGINS: &[u8] = b"\x1b[?2026h";
const ANSWER: &str = "\x1b[?2026;2$y";

fn has(session: &Session, bytes: &[u8]) -> bool {
    session.shown.0.lock().unwrap().bytes.windows(bytes.len()).any(|part| part == bytes)
}

/// How often the terminal was asked.
fn asked(session: &Session) -> usize {
    let seen = session.shown.0.lock().unwrap();
    seen.bytes.windows(QUESTION.len()).filter(|part| *part == QUESTION).count()
}

/// A person goes on as if nothing was: no byte of an answer was a key.
#[track_caller]
fn goes_on(session: &mut Session) {
    session.type_("?");
    session.wait_for("Help: Repositories");
    session.type_("\x1b");
    session.wait("the list", |screen| !screen.contents().contains("Help: Repositories"));
    session.wait_at("octo/tool");
    session.wait("no message about a key", |screen| !screen.contents().contains("No action"));
}

#[test]
fn frames_are_marked_for_a_terminal_that_says_at_once_that_it_knows_the_marks() {
    let world = World::new();
    let mut session = world.start().session();
    // A machine that is busy may take too long to answer; it is asked again then.
    for question in 1..50 {
        until("the question", || asked(&session) == question);
        session.type_(ANSWER);
        session.wait_for("octo/tool");
        goes_on(&mut session);
        if has(&session, BEGINS) {
            break;
        }
        session.type_(":redetect\r");
    }
    assert!(has(&session, BEGINS));
    session.leave();
}

#[test]
fn a_terminal_that_says_nothing_or_that_it_does_not_know_gets_no_marks() {
    for answer in ["", "\x1b[?2026;0$y"] {
        let world = World::new();
        let mut session = world.start().session();
        until("the question", || has(&session, QUESTION));
        session.type_(answer);
        session.wait_for("octo/tool");
        goes_on(&mut session);
        assert!(!has(&session, BEGINS));
        session.leave();
    }
}

#[test]
fn an_answer_that_comes_late_or_torn_changes_nothing_and_types_nothing() {
    let world = World::new();
    let mut session = world.start().session();
    until("the question", || has(&session, QUESTION));
    session.wait_for("octo/tool");
    // A terminal that is far away.
    std::thread::sleep(Duration::from_millis(300));
    let (one, two) = ANSWER.split_at(6);
    session.type_apart(one);
    std::thread::sleep(Duration::from_millis(200));
    session.type_apart(two);
    goes_on(&mut session);
    assert!(!has(&session, BEGINS));
    session.leave();
}

#[test]
fn who_decided_is_not_asked_about_and_a_terminal_can_be_looked_at_anew() {
    let world = World::new();
    for (word, marked) in [("on", true), ("off", false)] {
        world.write(".config/farrier/config.toml", format!("[ui]\nsync = \"{word}\"\n"));
        let mut session = world.start().session();
        session.wait_for("octo/tool");
        goes_on(&mut session);
        assert_eq!((has(&session, QUESTION), has(&session, BEGINS)), (false, marked));
        session.leave();
    }
    world.write(".config/farrier/config.toml", "");
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    session.type_(":redetect\r");
    session.wait_for("Terminal detected again");
    until("the question once more", || asked(&session) == 2);
    session.type_(ANSWER);
    goes_on(&mut session);
    session.leave();
}

/// A tmux with a server of its own.
struct Tmux(std::path::PathBuf);

impl Tmux {
    fn run(&self, words: &[&str]) -> Option<String> {
        #[expect(clippy::disallowed_methods, reason = "the terminal that the test is about")]
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.0).args(["-f", "/dev/null"]).args(words).env_remove("TMUX").stdin(Stdio::null());
        let ran = tmux.output().ok()?;
        ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn what_is_copied_inside_of_tmux_is_in_its_buffer() {
    let world = World::new();
    let tmux = Tmux(world.dir.path().join("tmux.sock"));
    if tmux.run(&["new-session", "-d", "sleep 600"]).is_none() {
        assert!(std::env::var_os("FARRIER_REQUIRE_CLIENTS").is_none(), "there is no tmux");
        println!("skipped: there is no tmux");
        return;
    }
    let inside = format!("{},1,0", tmux.0.display());
    let mut session = Start { env: &[("TMUX", &inside)], ..world.start() }.session();
    session.wait_at("octo/tool");
    session.type_("yn");
    session.wait_for("copied: octo/tool");
    until("the text in the buffer", || tmux.run(&["show-buffer"]).as_deref() == Some("octo/tool"));
    assert!(!has(&session, b"\x1b]52;"), "the terminal is not told what tmux passes on");
    session.leave();
}
