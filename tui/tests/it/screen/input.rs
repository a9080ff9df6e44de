//! What is typed: in pieces, all at once, and pasted.

use rustix::process::Signal;

use super::Start;
use crate::program::World;

/// Patient enough for a machine that does something else in the middle of a key.
const PATIENT: &[(&str, &str)] = &[("ESCDELAY", "2000")];

#[test]
fn a_key_is_a_key_wherever_its_bytes_are_torn() {
    let world = World::new();
    world.fake.state().repositories = 60;
    let mut session = Start { env: PATIENT, ..world.start() }.session();
    session.wait_at("repo-00000");
    // Each pair goes somewhere and back, so that a key that was lost or torn is seen at once.
    let pairs = [
        ("\x1b[B", "repo-00001", "\x1b[A"),
        ("\x1bOB", "repo-00001", "\x1bOA"),
        ("\x1b[6~", "repo-00020", "\x1b[5~"),
        ("\x1b[F", "repo-00059", "\x1b[H"),
        ("\x1bOF", "repo-00059", "\x1bOH"),
        ("\x1b[4~", "repo-00059", "\x1b[1~"),
    ];
    for (there, row, back) in pairs {
        for at in 1..there.len() {
            for (key, row) in [(there, row), (back, "repo-00000")] {
                let (one, two) = key.split_at(at);
                session.type_apart(one);
                session.type_apart(two);
                session.wait_at(row);
            }
        }
    }
    session.wait("no message about an unknown key", |screen| !screen.contents().contains("No action"));
    session.leave();
}

#[test]
fn a_paste_is_no_command_wherever_its_bytes_are_torn() {
    let world = World::new();
    let mut session = Start { env: &[("ESCDELAY", "300")], ..world.start() }.session();
    session.wait_for("octo/tool");
    let paste = "\x1b[200~?D\rq\x03\x1b[201~";
    for at in 1..paste.len() {
        let (one, two) = paste.split_at(at);
        session.type_apart(one);
        session.type_apart(two);
    }
    // In a text field it is text, and its line's end sends nothing.
    session.type_("/");
    session.wait_for("Enter keep");
    for at in [1, 3, 8, 12] {
        let (one, two) = "\x1b[200~to\ro\x1b[201~".split_at(at);
        session.type_apart(one);
        session.type_apart(two);
        session.wait("what was pasted", |screen| screen.contents().contains("to o"));
        session.type_("\x15");
        session.wait_at("octo/tool");
    }
    let seen = world.fake.state().seen.clone();
    assert!(seen.iter().all(|one| one.starts_with("GET ")), "{seen:?}");
    session.leave();
}

#[test]
fn a_paste_commands_nothing_whatever_lies_over_the_screen() {
    let world = World::new();
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    // What opens it, what is seen then, and whether what is pasted is seen as text.
    let places = [
        ("", "[2 Repos]", false),
        ("?", "Help: Repositories", true),
        ("x", "Actions: octo/tool", false),
        ("y", "Copy", false),
        ("s", "Sort by", false),
        ("D", "Delete repository", false),
        (":", "Command", true),
        ("/", "Enter keep", true),
        ("n", "New repository", true),
        ("M", "Import a repository", true),
    ];
    for (keys, title, typed) in places {
        session.type_(keys);
        session.wait_for(title);
        // It begins with what would answer, and ends with what would leave.
        session.type_("\x1b[200~y\rDq\x03octo/tool\r\x1b[201~");
        if typed {
            session.wait("it as text", |screen| screen.contents().contains("Dq"));
        }
        session.wait_for(title);
        if keys == "D" {
            // A question takes nothing that may have been typed ahead of it.
            let begun = std::time::Instant::now();
            super::until("the question's patience", || begun.elapsed().as_millis() > 300);
        }
        session.type_("\x1b");
        if keys == "n" || keys == "M" {
            session.wait_for("discard changes?");
            session.type_("y");
        }
        if !keys.is_empty() {
            session.wait("it closed", |screen| !screen.contents().contains(title));
        }
        session.wait_at("octo/tool");
    }
    let seen = world.fake.state().seen.clone();
    assert!(seen.iter().all(|one| one.starts_with("GET ")), "{seen:?}");
    session.leave();
}

#[test]
fn keys_that_wait_are_drawn_once_and_the_next_one_is_heard() {
    let world = World::new();
    world.fake.state().repositories = 500;
    let mut session = world.start().session();
    session.wait("all rows", |screen| screen.contents().contains("1/500"));
    session.signal(Signal::STOP);
    session.type_("j".repeat(400));
    let before = session.count();
    session.signal(Signal::CONT);
    session.wait_at("repo-00400");
    let sent = session.count() - before;
    assert!(sent <= 6_000, "{sent} bytes for 400 keys");
    session.type_("g");
    session.wait_at("repo-00000");
    session.leave();
}

#[test]
fn keys_that_come_in_pieces_are_keys_and_pastes_are_not() {
    let world = World::new();
    let mut session = Start { env: PATIENT, ..world.start() }.session();
    session.wait_for("octo/tool");
    session.type_("\x1b[200~q\nD\x03\x1b[201~?");
    session.wait_for("Help: Repositories");
    for piece in ["\x1b", "[", "B"] {
        session.type_apart(piece);
    }
    session.type_("filter");
    // A torn arrow that counted as Escape would have closed the help.
    session.wait_for("Search: filter");
    session.leave();
}

#[test]
fn a_lone_escape_is_heard_without_another_key() {
    let world = World::new();
    let mut session = world.start().session();
    session.wait_for("octo/tool");
    session.type_("?");
    session.wait_for("Help: Repositories");
    session.type_("\x1b");
    session.wait("the help to close", |screen| !screen.contents().contains("Help: Repositories"));
    session.leave();
}
