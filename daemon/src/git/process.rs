//! A running git process: its pipes, its end, and the end of its whole group when it is dropped.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, ReadBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
};

use super::{GitError, Slot, error::cleaned};

/// What git may write before anybody reads it: as much as a process without privileges gets.
const PIPE_BYTES: usize = 1 << 20;
/// Of standard error this much is kept; the rest is read and dropped.
const STDERR_MAX_BYTES: usize = 16 * 1024;

/// A running git process. Reading it reads its standard output; dropping it kills it and what it
/// has started.
#[derive(Debug)]
pub struct GitProcess {
    command: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    said: Vec<u8>,
    ended: bool,
    _slot: Slot,
}

/// How a process ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The git command.
    pub command: String,
    /// The exit status; `None`: a signal ended it.
    pub status: Option<i32>,
    /// Standard error as one line without control characters.
    pub stderr: String,
}

impl GitProcess {
    pub(super) fn new(command: String, mut child: Child, slot: Slot) -> Self {
        let stdout = child.stdout.take().expect("piped");
        // A wish: where the kernel grants less, git and the daemon only take turns more often.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
        Self {
            command,
            stdin: child.stdin.take(),
            stdout,
            stderr: child.stderr.take(),
            child,
            said: Vec::new(),
            ended: false,
            _slot: slot,
        }
    }

    /// The git command, for messages.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Where to write its input. It ends when what is taken here is dropped.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Standard error, for a caller who reads it line by line. It is not kept then.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits for the end. Unread output is dropped, so read it first.
    pub async fn wait(mut self) -> Result<Ended, GitError> {
        drop(self.stdin.take());
        std::future::poll_fn(|cx| self.poll_stderr(cx)).await;
        let status = self.child.wait().await.map_err(GitError::io("waiting for its end"))?;
        self.ended = true;
        Ok(Ended { command: std::mem::take(&mut self.command), status: status.code(), stderr: cleaned(&self.said) })
    }

    /// Reads what there is of standard error; ready at its end.
    fn poll_stderr(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        while let Some(stderr) = &mut self.stderr {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(stderr).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                self.stderr = None;
                break;
            }
            let room = STDERR_MAX_BYTES - self.said.len();
            let kept = &buffer.filled()[..buffer.filled().len().min(room)];
            self.said.extend_from_slice(kept);
        }
        Poll::Ready(())
    }
}

impl AsyncRead for GitProcess {
    /// Standard error is read along: a process that complains a lot must not stand still.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let _ = self.poll_stderr(cx);
        Pin::new(&mut self.stdout).poll_read(cx, buffer)
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // Before the process is waited for, its number cannot belong to anything else.
        let pid = self.child.id().filter(|_| !self.ended).and_then(|id| i32::try_from(id).ok());
        if let Some(group) = pid.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
