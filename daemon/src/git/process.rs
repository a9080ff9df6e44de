//! A running git process: its pipes and exit status. Dropping it kills its process group.

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

use super::{Git, GitError, Slot, error::cleaned, uses::CopyUse};

/// Requested size of the standard output pipe, bytes: the largest that an unprivileged process may set.
const PIPE_BYTES: usize = 1 << 20;
/// Limit of the standard error that is kept, bytes. The rest is read and dropped.
const STDERR_MAX_BYTES: usize = 16 * 1024;

/// A running git process. Reading from it reads standard output. Dropping it kills the process and its child
/// processes.
#[derive(Debug)]
pub struct GitProcess {
    git: Git,
    repository: u64,
    command: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    stderr_kept: Vec<u8>,
    ended: bool,
    _slot: (Slot, CopyUse),
}

/// The exit of a process.
#[derive(Clone, Debug)]
pub struct GitExit {
    /// The git command.
    pub command: String,
    /// The exit status; `None` if a signal ended the process.
    pub status: Option<i32>,
    /// Standard error as one line without control characters.
    pub stderr: String,
}

impl GitProcess {
    pub(super) fn new((git, repository): (Git, u64), command: String, mut child: Child, slot: (Slot, CopyUse)) -> Self {
        let stdout = child.stdout.take().expect("piped");
        // The kernel may refuse a larger pipe. The process then blocks on a full pipe more often, nothing else
        // changes.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
        Self {
            git,
            repository,
            command,
            stdin: child.stdin.take(),
            stdout,
            stderr: child.stderr.take(),
            child,
            stderr_kept: Vec::new(),
            ended: false,
            _slot: slot,
        }
    }

    /// Returns the git command, for messages.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Takes the pipe to standard input. Dropping the returned value closes it.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Takes standard error for a caller that reads it line by line. The result of the process then has no stderr.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits until the process exits. Drops unread output, so callers read standard output first.
    pub async fn wait(mut self) -> Result<GitExit, GitError> {
        drop(self.stdin.take());
        std::future::poll_fn(|cx| self.poll_stderr(cx)).await;
        let status = self.child.wait().await.map_err(GitError::io("waiting for its end"))?;
        self.ended = true;
        self.git.note_exit(self.repository, status.code());
        Ok(GitExit {
            command: std::mem::take(&mut self.command),
            status: status.code(),
            stderr: cleaned(&self.stderr_kept),
        })
    }

    /// Reads the available standard error; ready when it ends.
    fn poll_stderr(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        while let Some(stderr) = &mut self.stderr {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(stderr).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                self.stderr = None;
                break;
            }
            let room = STDERR_MAX_BYTES - self.stderr_kept.len();
            let stored = &buffer.filled()[..buffer.filled().len().min(room)];
            self.stderr_kept.extend_from_slice(stored);
        }
        Poll::Ready(())
    }
}

impl AsyncRead for GitProcess {
    /// Reads standard output, and drains standard error so that a process with many warnings does not block on
    /// a full pipe.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let _ = self.poll_stderr(cx);
        Pin::new(&mut self.stdout).poll_read(cx, buffer)
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // The process has not been waited for, so its id cannot belong to another process yet.
        let pid = self.child.id().filter(|_| !self.ended).and_then(|id| i32::try_from(id).ok());
        if let Some(group) = pid.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
