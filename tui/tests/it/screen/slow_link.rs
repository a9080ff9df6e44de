//! A link with latency between the terminal of a user and the pseudo-terminal of the program.
//!
//! A relay holds the bytes of both directions for the same time and keeps their order, as SSH does. A change of the
//! size travels between the keys. What the tests see is what the user sees.

use std::{
    fs::File,
    io::Write as _,
    ops::Deref,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Session, SessionOptions, set_size, show, start_reader};
use crate::program::Sandbox;

/// The time that bytes need in each direction of a link with a latency of 300 ms.
const ONE_WAY: Duration = Duration::from_millis(150);
const FRAME_BEGINS: &str = "\x1b[?2026h";

/// What the user sends, with the time at which it was sent.
enum Input {
    Keys(Vec<u8>),
    Size((u16, u16)),
}

/// A session behind a slow link.
pub(super) struct SlowLink {
    session: Session,
    /// Dropping it ends the relay of the keys, which then closes the terminal.
    input: Option<Sender<(Instant, Input)>>,
    keys: Option<JoinHandle<()>>,
}

impl Deref for SlowLink {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl SessionOptions<'_> {
    /// Starts the program behind a slow link.
    pub(super) fn behind_slow_link(&self) -> SlowLink {
        let (master, mut session) = self.start();
        let (sent, received) = channel::<(Instant, Vec<u8>)>();
        session.reading = Some(start_reader(master.try_clone().unwrap(), move |bytes| {
            // The receiver is gone if the test has ended.
            let _ = sent.send((Instant::now(), bytes.to_vec()));
        }));
        let output = Arc::clone(&session.output);
        relay(received, move |bytes| show(&output, &bytes));
        let (input, inputs) = channel();
        let program = Pid::from_child(&session.child);
        let keys = relay(inputs, move |one| deliver(&master, program, one));
        SlowLink { session, input: Some(input), keys: Some(keys) }
    }
}

/// Passes on what it receives, each item [`ONE_WAY`] after it was sent. Ends when all senders are dropped.
#[expect(clippy::disallowed_methods, reason = "the link needs threads beside the test")]
fn relay<T: Send + 'static>(
    received: Receiver<(Instant, T)>,
    mut take: impl FnMut(T) + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for (sent, item) in received {
            std::thread::sleep((sent + ONE_WAY).saturating_duration_since(Instant::now()));
            take(item);
        }
    })
}

fn deliver(mut terminal: &File, program: Pid, input: Input) {
    match input {
        Input::Keys(bytes) => terminal.write_all(&bytes).unwrap(),
        Input::Size(size) => {
            set_size(terminal, size);
            // The program may have ended.
            let _ = kill_process(program, Signal::WINCH);
        }
    }
}

impl SlowLink {
    fn send(&self, input: Input) {
        self.input.as_ref().unwrap().send((Instant::now(), input)).unwrap();
    }

    pub(super) fn type_keys(&self, keys: impl AsRef<[u8]>) {
        self.send(Input::Keys(keys.as_ref().to_vec()));
    }

    /// Changes the size of the user's terminal at once, and that of the program's terminal when the change arrives.
    fn resize(&self, size: (u16, u16)) {
        self.session.resize_shown(size);
        self.send(Input::Size(size));
    }

    /// Ends the link: the keys on the way still arrive, then the terminal of the program is gone.
    fn cut(&mut self) {
        self.session.stop_reading();
        self.input = None;
        self.keys.take().unwrap().join().unwrap();
    }

    #[track_caller]
    fn wait_for_exit(&mut self) -> ExitStatus {
        self.session.wait_for_exit()
    }

    /// Leaves the program, which must exit with code 0.
    #[track_caller]
    pub(super) fn leave(mut self) {
        self.type_keys("\x03");
        assert_eq!(self.wait_for_exit().code(), Some(0));
    }

    /// Number of frames that the user has seen.
    fn frames(&self) -> usize {
        self.written().matches(FRAME_BEGINS).count()
    }
}

/// A fake daemon with 60 repositories, and a configuration that marks frames.
fn many_repositories() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fake.state().repositories = 60;
    sandbox.write(".config/farrier/config.toml", "[ui]\nsync = \"on\"\n");
    sandbox
}

fn start(sandbox: &Sandbox) -> SlowLink {
    let env = &[("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")];
    let link = SessionOptions { env, ..sandbox.session_options() }.behind_slow_link();
    link.wait_for_cursor_row("repo-00000");
    link.wait("all rows", |screen| screen.contents().contains("1/60"));
    link
}

#[test]
fn keys_that_are_typed_ahead_apply_in_order_to_their_rows() {
    let sandbox = many_repositories();
    let link = start(&sandbox);
    // Each key is sent by itself, long before the effect of the one before is seen: three rows down, copy the name, two
    // rows down, copy the name.
    for key in ["j", "\x1b[B", "j", "y", "n", "j", "j", "y", "n"] {
        link.type_keys(key);
    }
    link.wait("the second copy", |screen| screen.contents().contains("copied: octo/repo-00005"));
    let written = link.written();
    let copies: Vec<&str> = written.split("\x1b]52;c;").skip(1).map(|copy| &copy[..20]).collect();
    assert_eq!(copies, ["b2N0by9yZXBvLTAwMDAz", "b2N0by9yZXBvLTAwMDA1"], "octo/repo-00003 and octo/repo-00005");

    // No key is lost.
    for _ in 0..20 {
        link.type_keys("j");
    }
    link.wait_for_cursor_row("repo-00025");
    for _ in 0..12 {
        link.type_keys("\x1b[A");
    }
    link.wait_for_cursor_row("repo-00013");
    // To another screen and back, to the top, into the filter, and down in the rows that it shows.
    link.type_keys("3-g/repo-0004\rjj");
    link.wait_for_cursor_row("repo-00042");
    link.wait("no message about an unknown key", |screen| !screen.contents().contains("has no action"));
    link.leave();
}

#[test]
fn a_question_names_the_row_that_keys_typed_ahead_have_reached_and_they_do_not_answer_it() {
    let sandbox = many_repositories();
    let link = start(&sandbox);
    link.type_keys("jjDy\r");
    link.wait_for("Type octo/repo-00002 to confirm");
    link.type_keys("\x1b");
    link.wait("the question to close", |screen| !screen.contents().contains("to confirm"));
    link.wait_for_cursor_row("repo-00002");
    let requests = sandbox.fake.state().requests.clone();
    assert!(requests.iter().all(|one| one.starts_with("GET ")), "{requests:?}");
    link.leave();
}

#[test]
fn a_key_applies_to_the_row_that_was_visible_when_rows_are_added_above_it() {
    let daemon = crate::session::Daemon::start();
    daemon.farrier(&["repo", "create", "admin/beta"]).ok();
    let (socket, directory) = (daemon.socket(), daemon.work("."));
    let options = SessionOptions { socket, directory, words: &[], env: &[], size: (80, 24), script: None };
    let link = options.behind_slow_link();
    link.wait_for_cursor_row("admin/beta");
    // The list may change before the key arrives, or after it.
    daemon.farrier(&["repo", "create", "admin/alpha"]).ok();
    link.type_keys("D");
    link.wait_for("Type admin/beta to confirm");
    link.type_keys("\x1b");
    link.wait("the question to close", |screen| !screen.contents().contains("to confirm"));
    link.wait_for("admin/alpha");
    link.wait_for_cursor_row("admin/beta");
    link.leave();
}

#[test]
fn many_keys_at_once_cause_few_frames() {
    let sandbox = many_repositories();
    let link = start(&sandbox);
    let (bytes, frames) = (link.count(), link.frames());
    link.type_keys("jk".repeat(200));
    link.type_keys("jjj");
    link.wait_for_cursor_row("repo-00003");
    let (bytes, frames) = (link.count() - bytes, link.frames() - frames);
    assert!(frames > 0, "frames are marked");
    // One frame for each key would be 403 frames and more than 70 kB.
    assert!(frames <= 100 && bytes <= 20_000, "{frames} frames, {bytes} bytes");
    link.leave();
}

#[test]
fn pastes_are_text_in_a_field_and_nothing_elsewhere() {
    let sandbox = many_repositories();
    let link = start(&sandbox);
    link.type_keys("\x1b[200~Dq\r\x03");
    link.type_keys("\x1b[201~");
    link.type_keys("/\x1b[200~repo-");
    link.type_keys("00017\x1b[201~\r");
    link.wait_for_cursor_row("repo-00017");
    link.wait("the filter", |screen| !screen.contents().contains("repo-00018"));
    let requests = sandbox.fake.state().requests.clone();
    assert!(requests.iter().all(|one| one.starts_with("GET ")), "{requests:?}");
    link.leave();
}

#[test]
fn a_resize_between_keys_keeps_the_row_of_the_cursor() {
    let sandbox = many_repositories();
    let link = start(&sandbox);
    link.type_keys("jjjj");
    link.resize((120, 40));
    link.type_keys("jjj");
    link.resize((40, 10));
    link.resize((120, 40));
    link.type_keys("jj");
    link.wait_for_cursor_row("repo-00009");
    link.wait("the layout of the last size", |screen| {
        screen.contents().contains("[Overview]") && screen.rows(0, 120).last().is_some_and(|row| row.contains("? help"))
    });
    link.leave();
}

#[test]
fn the_program_ends_when_the_link_ends() {
    let sandbox = many_repositories();
    let options = SessionOptions { script: Some("exec \"$0\" \"$@\""), ..sandbox.session_options() };
    let mut link = options.behind_slow_link();
    link.wait_for_cursor_row("repo-00000");
    // Keys that are on the way do not delay the end.
    link.type_keys("jj?");
    link.cut();
    let status = link.wait_for_exit();
    assert_eq!(status.code().or(status.signal()), Some(129));
}
