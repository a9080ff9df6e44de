//! Plays the service manager: passes environment, sockets and limits to the program.

use std::{
    ffi::OsString,
    os::fd::{AsRawFd as _, OwnedFd},
};

use tokio::process::Command;

use super::process::command;

/// Environment, sockets and limits for the next start. Empty by default.
#[derive(Default)]
pub struct Manager {
    /// Environment variables.
    pub env: Vec<(&'static str, OsString)>,
    /// Listening sockets that outlive the process: first TCP, then Unix.
    pub sockets: Option<[OwnedFd; 2]>,
    /// Limit of open files and sockets.
    pub files_max: Option<u32>,
}

impl Manager {
    /// The command that starts `farrierd`.
    pub fn program(&self) -> Command {
        let program = env!("CARGO_BIN_EXE_farrierd");
        // LISTEN_PID must be the id of the final process. Only the shell that execs it knows the id.
        let listen = self.sockets.as_ref().map_or("", |_| "LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=tcp:unix");
        let limit = self.files_max.map(|max| format!("ulimit -n {max} && ")).unwrap_or_default();
        let mut command = command("sh");
        command.args(["-c", &format!("{limit}{listen} exec \"$0\" \"$@\""), program]);
        if let Some(sockets) = &self.sockets {
            pass(&mut command, sockets);
        }
        command.envs(self.env.clone());
        command
    }
}

/// Passes `sockets` to the process as file descriptors 3 and 4.
#[expect(unsafe_code, reason = "what runs between fork and exec has no safe wrapper")]
fn pass(command: &mut Command, sockets: &[OwnedFd; 2]) {
    // Duplicate the sockets above 3 and 4 first: one of them could already have such a number.
    let duplicate = |fd: &OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, 10).expect("a descriptor");
    let sockets = [duplicate(&sockets[0]), duplicate(&sockets[1])];
    let install = move || {
        for (socket, target) in sockets.iter().zip(3..) {
            // SAFETY: dup2 only changes the descriptor table of the forked child, which calls exec next.
            if unsafe { libc::dup2(socket.as_raw_fd(), target) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: `install` only calls dup2, which is allowed between fork and exec.
    unsafe { command.pre_exec(install) };
}
