//! A local CI agent: a process of another user that belongs to the group in `socket.ci_group`.
//!
//! The daemon asks the kernel for the peer's credentials, so a thread must change its user id. That needs root.

use std::{
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
};

/// A group that exists with the same id on every Linux system.
pub(super) const GROUP: &str = "daemon";
const GROUP_ID: u32 = 1;
const USER_ID: u32 = 65_534;

/// The status that the agent gets; `None` if this process may not change its user id.
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

/// Gives the socket and its directories the permissions of an installed daemon. `None` if not root.
fn open_to_all(socket: &Path) -> Option<()> {
    // SAFETY: geteuid takes no arguments and cannot fail.
    #[expect(unsafe_code, reason = "no safe wrapper exists")]
    let root = unsafe { libc::geteuid() } == 0;
    let mut ancestors = socket.ancestors().take(3);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions to change");
    };
    if root {
        allow(ancestors.next()?, 0o666);
        ancestors.for_each(|directory| allow(directory, 0o711));
    }
    root.then_some(())
}

/// Changes the ids of this thread only. The libc wrappers would change all threads, so it makes raw system calls.
fn become_agent() -> Option<()> {
    // SAFETY: all arguments are numbers; the list of groups is empty.
    #[expect(unsafe_code, reason = "the wrappers would change all threads")]
    let done = unsafe {
        libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) == 0
            && libc::syscall(libc::SYS_setresgid, GROUP_ID, GROUP_ID, GROUP_ID) == 0
            && libc::syscall(libc::SYS_setresuid, USER_ID, USER_ID, USER_ID) == 0
    };
    done.then_some(())
}
