//! What a service manager gives to the program that it starts.

use std::{
    ffi::OsString,
    os::fd::{AsRawFd as _, OwnedFd},
};

use tokio::process::Command;

use super::process::command;

/// Environment and sockets of the next start; none by default.
#[derive(Default)]
pub struct Manager {
    /// Variables.
    pub env: Vec<(&'static str, OsString)>,
    /// Listening sockets, which outlive the process: TCP, then Unix.
    pub sockets: Option<[OwnedFd; 2]>,
    /// Most files and sockets that it may have open.
    pub files_max: Option<u32>,
}

impl Manager {
    /// `farrierd`, not started yet.
    pub fn program(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_farrierd");
        // The variable names the process that the sockets are for: a shell knows it.
        let listen = self.sockets.as_ref().map_or("", |_| "LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=tcp:unix");
        let limit = self.files_max.map(|most| format!("ulimit -n {most} && ")).unwrap_or_default();
        let mut command = command("sh");
        command.args(["-c", &format!("{limit}{listen} exec \"$0\" \"$@\""), program]);
        if let Some(sockets) = &self.sockets {
            pass(&mut command, sockets);
        }
        command.envs(self.env.clone());
        command
    }
}

/// Gives the process `sockets` as its descriptors 3 and 4.
#[expect(unsafe_code, reason = "what runs between fork and exec has no safe wrapper")]
fn pass(command: &mut Command, sockets: &[OwnedFd; 2]) {
    // Away from the places that they are to have.
    let away = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 10).expect("a descriptor");
    let sockets = [away(&sockets[0]), away(&sockets[1])];
    let place = move || {
        for (socket, place) in sockets.iter().zip(3..) {
            // SAFETY: it only makes a number mean another file, in a process that is about to be another.
            if unsafe { libc::dup2(socket.as_raw_fd(), place) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: `place` only calls dup2, which may be called between fork and exec.
    unsafe { command.pre_exec(place) };
}
