//! The network thread: requests to the daemon and signals of the process.
//!
//! It has its own runtime, so that requests, signals and timeouts never wait for a blocked terminal, and
//! drawing never waits for the network. Responses go through a channel; every request can be cancelled.

mod account_keys;
mod answer;
mod archive;
mod artifacts;
mod audit;
mod caches;
mod changes;
mod checks;
mod compact_page;
mod connection;
mod content;
mod counts;
mod deleted;
mod deliveries;
mod expected;
mod fetch;
mod found;
mod hooks;
mod logs;
mod management;
mod objects;
mod organizations;
mod replays;
mod request;
mod request_text;
mod runs;
mod series;
mod shell;
mod users;
mod zip_listing;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use farrier_common::client::{ClientError, Token};
use futures_util::{
    StreamExt as _,
    future::{AbortHandle, Abortable},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;

use self::connection::Connection;
pub(crate) use self::{
    account_keys::KeyRequest,
    answer::{Answer, Page, SearchProgress},
    archive::Existing,
    changes::{Batch, NewHook, SaveHook, SaveRepository},
    content::{CONTENT_MAX_BYTES, CommitSummary, Directory, Excerpt, PushedCommits},
    counts::RepositoryCounts,
    deliveries::ROWS_STEP as DELIVERIES_STEP,
    expected::ExpectedRepository,
    found::{FoundObject, FoundObjects, ObjectSearch},
    logs::OwnRequests,
    management::{Collaborator, ManagementRequest},
    organizations::{OrganizationKey, OrganizationMember, OrganizationRequest, TeamKey},
    replays::{ReplayRequest, read_payload},
    request::Request,
    series::{ResultsSpan, SeriesSpan},
    shell::ShellCommand,
};
use crate::{args::Global, child::Signals, config::Context, exit::Failure};

/// The ID of a request; later requests have higher numbers.
pub(crate) type Ticket = u64;

/// A command of the event loop to the network thread.
#[derive(Debug)]
pub(crate) enum NetworkCommand {
    Send(Ticket, Box<Request>),
    /// Send the request with this ticket, which follows, only if these names belong to these repositories.
    Expect(Ticket, Vec<ExpectedRepository>),
    Cancel(Ticket),
    /// Use another daemon or other credentials from now on.
    Reconnect(Reconnect),
    /// Close idle connections: no request follows soon.
    Rest,
}

/// A change of the daemon or of the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reconnect {
    /// The path of a socket, or a URL.
    To(String),
    /// The daemon and the credentials of a context.
    Context(Box<Context>),
    /// Use this token.
    WithToken(Token),
    /// Use no token: the daemon identifies the caller by the socket.
    WithoutToken,
}

/// A message of the network thread to the event loop.
#[derive(Debug)]
pub(crate) enum NetworkEvent {
    /// A response, or one page of it.
    Answer(Ticket, Result<Answer, Problem>),
    /// The number of reconnections before this connection, the address of the daemon, and a description of the token.
    Endpoint(u64, String, Option<String>),
    /// The number of reconnections, and the address on another host to which the token is sent unencrypted.
    ExposedToken(u64, String),
    /// A signal, by its number.
    Signal(u8),
    /// The program was continued after a stop.
    Continued,
    /// The terminal was resized.
    Resized,
}

/// How a request failed, as far as screens distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// No daemon listens on any of the default sockets.
    NoDaemon,
    Unreachable,
    /// The daemon is overloaded; with the seconds of `Retry-After` if it sends them.
    Busy(Option<u64>),
    Unauthorized,
    Forbidden,
    NotFound,
    /// A file with that name exists.
    Exists,
    Invalid,
    /// Another client changed the object after it was loaded.
    Changed,
    Other,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    /// One or more lines; advice is at the end.
    pub(crate) text: String,
    /// The request ID in the daemon's log.
    pub(crate) request: Option<String>,
}

impl Reconnect {
    /// Returns whether it selects a daemon. Otherwise, only the credentials change.
    pub(crate) fn selects_daemon(&self) -> bool {
        matches!(self, Self::To(_) | Self::Context(_))
    }
}

impl Problem {
    /// Returns a problem without a request ID.
    #[cfg(test)]
    pub(crate) fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), request: None }
    }

    /// Returns the first line.
    pub(crate) fn line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// Returns the key hints for a screen that shows only this problem.
    pub(crate) fn helps(&self) -> &'static str {
        match self.request {
            Some(_) => "r refreshes   Enter shows details   y copies the request ID",
            None => "r refreshes   Enter shows details",
        }
    }

    /// Returns how long a busy daemon asked to wait, at most ten minutes.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let ProblemKind::Busy(Some(seconds)) = self.kind else { return None };
        Some(Duration::from_secs(seconds.min(600)))
    }

    /// Returns whether the daemon could not be reached.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self.kind, ProblemKind::NoDaemon | ProblemKind::Unreachable)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let kind = match &failure {
            Failure::NoDaemon(_) => ProblemKind::NoDaemon,
            Failure::Conflict(_) => ProblemKind::Exists,
            Failure::Call { source, .. } => kind(source),
            _ => ProblemKind::Other,
        };
        let request = match &failure {
            Failure::Call { source: ClientError::Status { request_id, .. }, .. } => request_id.clone(),
            _ => None,
        };
        Self { kind, text: failure.report(), request }
    }
}

fn kind(error: &ClientError) -> ProblemKind {
    match error {
        ClientError::Unreachable { .. }
        | ClientError::Tls { .. }
        | ClientError::Lost { .. }
        | ClientError::Silent { .. } => ProblemKind::Unreachable,
        ClientError::Status { status, retry_after_secs, .. } => match status.as_u16() {
            429 | 503 => ProblemKind::Busy(*retry_after_secs),
            401 => ProblemKind::Unauthorized,
            403 => ProblemKind::Forbidden,
            404 => ProblemKind::NotFound,
            400 | 409 | 422 => ProblemKind::Invalid,
            412 => ProblemKind::Changed,
            _ => ProblemKind::Other,
        },
        _ => ProblemKind::Other,
    }
}

/// How long a clean exit may take after a signal.
const GRACE: Duration = Duration::from_millis(400);

/// Runs the network thread: handles commands until the channel closes, and signals as long as the process runs.
/// `send` returns false when the receiver is gone.
pub(crate) fn serve(
    global: &Global,
    context: Option<&Context>,
    orders: mpsc::UnboundedReceiver<NetworkCommand>,
    send: impl Fn(NetworkEvent) -> bool + Clone + 'static,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Signals are handled to the end, because restoring a blocked terminal may never return.
    let requests = requests(Connection::new(global, context), orders, &send);
    let ((), handled) = runtime.block_on(async { tokio::join!(requests, signals(send.clone())) });
    runtime.shutdown_background();
    handled
}

async fn requests(
    connection: Connection,
    mut orders: mpsc::UnboundedReceiver<NetworkCommand>,
    send: &(impl Fn(NetworkEvent) -> bool + Clone + 'static),
) {
    let mut running = FuturesUnordered::new();
    let mut handles: HashMap<Ticket, AbortHandle> = HashMap::new();
    let mut expectations: HashMap<Ticket, Vec<ExpectedRepository>> = HashMap::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(NetworkCommand::Cancel(ticket)) => {
                    if let Some(handle) = handles.remove(&ticket) {
                        handle.abort();
                    }
                }
                Some(NetworkCommand::Reconnect(target)) => connection.reconnect(target),
                Some(NetworkCommand::Rest) => connection.rest(),
                Some(NetworkCommand::Expect(ticket, expected)) => {
                    expectations.insert(ticket, expected);
                }
                Some(NetworkCommand::Send(ticket, request)) => {
                    let expected = expectations.remove(&ticket).unwrap_or_default();
                    let (handle, registration) = AbortHandle::new_pair();
                    handles.insert(ticket, handle);
                    let connection = &connection;
                    running.push(async move {
                        let work = connection.answer(ticket, *request, &expected, send);
                        (ticket, Abortable::new(work, registration).await)
                    });
                }
            },
            Some((ticket, answered)) = running.next() => {
                handles.remove(&ticket);
                if let Ok(result) = answered && !send(NetworkEvent::Answer(ticket, result)) {
                    return;
                }
            }
        }
    }
}

/// Until when another program, such as a pager, probably has the terminal and receives the interrupt keys.
static INTERRUPTS_IGNORED_UNTIL: Mutex<Option<Instant>> = Mutex::new(None);
/// The signal of a key that ended the other program may arrive late on a busy machine. It is safe to ignore such
/// signals for this long: while this program has the terminal, no key sends a signal.
const LATE: Duration = Duration::from_secs(2);
/// Longer than any other program has the terminal.
const LONG: Duration = Duration::from_secs(100 * 86_400);

/// Runs `work`; ignores the signals of interrupt keys while it runs and shortly after.
pub(crate) fn ignoring_interrupts<T>(work: impl FnOnce() -> T) -> T {
    let ignore_for = |time: Duration| {
        *INTERRUPTS_IGNORED_UNTIL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + time);
    };
    ignore_for(LONG);
    let done = work();
    ignore_for(LATE);
    done
}

/// Returns whether the signals of interrupt keys are ignored, because they are meant for another program.
fn are_interrupts_ignored() -> bool {
    INTERRUPTS_IGNORED_UNTIL.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
}

/// Forwards signals. After a terminating signal and a grace period it ends the process, even if the terminal is
/// blocked.
async fn signals(send: impl Fn(NetworkEvent) -> bool) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut ends = Signals::caught()?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut continued = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
    loop {
        tokio::select! {
            ended = ends.next() => {
                let number = u8::try_from(ended.as_raw()).unwrap_or_default();
                let by_key = ended == rustix::process::Signal::INT || ended == rustix::process::Signal::QUIT;
                if by_key && are_interrupts_ignored() {
                    continue;
                }
                if ended == rustix::process::Signal::HUP {
                    super::exit_for_signal(number);
                }
                send(NetworkEvent::Signal(number));
                tokio::time::sleep(GRACE).await;
                super::exit_for_signal(number);
            }
            _ = continued.recv() => {
                send(NetworkEvent::Continued);
                // A stopped program receives no resize signal.
                send(NetworkEvent::Resized);
            }
            _ = resized.recv() => {
                send(NetworkEvent::Resized);
            }
        }
    }
}

/// Returns the directory for downloads: the current one.
pub(crate) fn download_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}
