//! A local CI agent: a process of another user in the group that `socket.ci_group` names.
//!
//! The kernel tells the daemon who connects, so a thread has to become that user. Only root can.

use std::{
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

/// A group that every Linux system has, with the same number.
pub(super) const GROUP: &str = "daemon";
const GROUP_ID: u32 = 1;
const USER_ID: u32 = 65_534;

/// The status that the agent gets; `None` when nobody here can become it.
pub(super) fn ask(socket: PathBuf, method: &str, path: &str, body: &str) -> Option<String> {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    open_to_all(&socket)?;
    #[expect(clippy::disallowed_methods, reason = "a thread of its own becomes another user")]
    let thread = std::thread::spawn(move || {
        become_agent()?;
        let mut stream = UnixStream::connect(socket).expect("the daemon listens");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        Some(answer.split(' ').nth(1).expect("a status").to_owned())
    });
    tokio::task::block_in_place(|| thread.join().expect("no panic"))
}

/// The socket and the directories above it, as an installed daemon would have them.
fn open_to_all(socket: &Path) -> Option<()> {
    // SAFETY: takes nothing and cannot fail.
    #[expect(unsafe_code, reason = "no safe wrapper at hand")]
    let root = unsafe { libc::geteuid() } == 0;
    let mut places = socket.ancestors().take(3);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the test's own files");
    };
    if root {
        allow(places.next()?, 0o666);
        places.for_each(|directory| allow(directory, 0o711));
    }
    root.then_some(())
}

/// Changes the identity of this thread alone: the system calls, not their wrappers, do that.
fn become_agent() -> Option<()> {
    // SAFETY: numbers only; the list of groups is empty.
    #[expect(unsafe_code, reason = "the wrappers would change all threads")]
    let done = unsafe {
        libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) == 0
            && libc::syscall(libc::SYS_setresgid, GROUP_ID, GROUP_ID, GROUP_ID) == 0
            && libc::syscall(libc::SYS_setresuid, USER_ID, USER_ID, USER_ID) == 0
    };
    done.then_some(())
}
