//! Talking to the daemon, away from the screen.
//!
//! Owns one thread with a runtime of its own: requests, signals and their time limits never wait for
//! a terminal that nobody reads, and drawing never waits for the network. What comes back is told
//! through a channel; every request can be dropped at any time.

mod answer;
mod archive;
mod artifacts;
mod ask;
mod checks;
mod deleted;
mod deliveries;
mod facts;
mod fetch;
mod hooks;
mod inside;
mod lane;
mod tasks;

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

use self::lane::Lane;
pub(crate) use self::{
    answer::{Answer, Page},
    ask::{Ask, Batch, Existing, NewHook, SaveHook, SaveRepository},
    deliveries::ROWS_STEP as DELIVERIES_STEP,
    facts::Facts,
};
use crate::{args::Global, child::Signals, exit::Failure};

/// A request, by the order in which they were made.
pub(crate) type Ticket = u64;

/// What the loop wants of the network.
#[derive(Debug)]
pub(crate) enum Order {
    Ask(Ticket, Box<Ask>),
    Cancel(Ticket),
    /// Speak to another daemon, or as somebody else, from now on.
    Turn(Turn),
    /// Keep no connection that is not used: nothing is asked soon.
    Rest,
}

/// Another daemon, or another caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A path of a socket, or an address.
    To(String),
    /// The caller that this token is for.
    With(Token),
    /// The caller that the socket sees.
    Bare,
}

/// What the network tells.
#[derive(Debug)]
pub(crate) enum Told {
    /// An answer, or a part of one.
    Answer(Ticket, Result<Answer, Problem>),
    /// Where the daemon is, and which token it is shown, in words.
    Place(String, Option<String>),
    /// The token is sent unencrypted to this address of another machine.
    ExposedToken(String),
    /// A signal, by its number.
    Signal(u8),
    /// The program goes on after it was stopped.
    Continued,
    /// The terminal has another size.
    Resized,
}

/// How a request failed, for a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// None of the usual sockets has a daemon behind it.
    Nowhere,
    Unreachable,
    /// The daemon asks to wait, so many seconds when it says how long.
    Busy(Option<u64>),
    Unauthorised,
    Forbidden,
    NotFound,
    /// A file of that name is there.
    Exists,
    Invalid,
    /// Somebody else changed the object meanwhile.
    Changed,
    Other,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    /// One line or several, what may help at the end.
    pub(crate) text: String,
    /// Finds the request in the daemon's log.
    pub(crate) request: Option<String>,
}

impl Problem {
    /// One that the daemon did not tell of itself.
    #[cfg(test)]
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), request: None }
    }

    /// The first line.
    pub(crate) fn line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// What can be done where it stands in place of everything.
    pub(crate) fn helps(&self) -> &'static str {
        match self.request {
            Some(_) => "r asks again   Enter shows details   y copies the request id",
            None => "r asks again   Enter shows details",
        }
    }

    /// Whether nobody answered.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self.kind, Kind::Nowhere | Kind::Unreachable)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let kind = match &failure {
            Failure::Nowhere(_) => Kind::Nowhere,
            Failure::Conflict(_) => Kind::Exists,
            Failure::Call { source, .. } => kind(source),
            _ => Kind::Other,
        };
        let request = match &failure {
            Failure::Call { source: ClientError::Status { request_id, .. }, .. } => request_id.clone(),
            _ => None,
        };
        Self { kind, text: failure.report(), request }
    }
}

fn kind(error: &ClientError) -> Kind {
    match error {
        ClientError::Unreachable { .. }
        | ClientError::Tls { .. }
        | ClientError::Lost { .. }
        | ClientError::Silent { .. } => Kind::Unreachable,
        ClientError::Status { status, retry_after_secs, .. } => match status.as_u16() {
            429 | 503 => Kind::Busy(*retry_after_secs),
            401 => Kind::Unauthorised,
            403 => Kind::Forbidden,
            404 => Kind::NotFound,
            400 | 409 | 422 => Kind::Invalid,
            412 => Kind::Changed,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// How long an orderly end may take after a signal.
const GRACE: Duration = Duration::from_millis(400);

/// Serves orders until there are no more, and signals as long as the process lives. `tell` says whether anybody still listens.
pub(crate) fn serve(
    global: &Global,
    orders: mpsc::UnboundedReceiver<Order>,
    tell: impl Fn(Told) -> bool + Clone + 'static,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Signals are heeded to the very end: giving back a terminal that nobody reads may take for ever.
    let ((), heeded) = runtime.block_on(async { tokio::join!(requests(global, orders, &tell), signals(tell.clone())) });
    runtime.shutdown_background();
    heeded
}

async fn requests(
    global: &Global,
    mut orders: mpsc::UnboundedReceiver<Order>,
    tell: &(impl Fn(Told) -> bool + Clone + 'static),
) {
    let lane = Lane::new(global);
    let mut running = FuturesUnordered::new();
    let mut handles: HashMap<Ticket, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(Order::Cancel(ticket)) => {
                    if let Some(handle) = handles.remove(&ticket) {
                        handle.abort();
                    }
                }
                Some(Order::Turn(turn)) => lane.turn(turn),
                Some(Order::Rest) => lane.rest(),
                Some(Order::Ask(ticket, ask)) => {
                    let (handle, registration) = AbortHandle::new_pair();
                    handles.insert(ticket, handle);
                    let lane = &lane;
                    running.push(async move {
                        let answered = Abortable::new(lane.answer(ticket, *ask, tell), registration).await;
                        (ticket, answered)
                    });
                }
            },
            Some((ticket, answered)) = running.next() => {
                handles.remove(&ticket);
                if let Ok(result) = answered && !tell(Told::Answer(ticket, result)) {
                    return;
                }
            }
        }
    }
}

/// Another program has the terminal, and with it the keys that interrupt: until then, as far as known.
static ELSEWHERE: Mutex<Option<Instant>> = Mutex::new(None);
/// A key that ended the other program is heard here later, on a busy machine much later. Nothing is lost
/// meanwhile: while this program has the terminal, no key is a signal.
const LATE: Duration = Duration::from_secs(2);
/// No program is read in for so long.
const LONG: Duration = Duration::from_secs(100 * 86_400);

/// Does `work`, during which interrupting is not meant for this program.
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let elsewhere =
        |time: Duration| *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + time);
    elsewhere(LONG);
    let done = work();
    elsewhere(LATE);
    done
}

/// Whether keys that interrupt are meant for another program.
fn is_elsewhere() -> bool {
    ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
}

/// Tells of signals. After one that ends the program the end comes in any case, whether or not the
/// screen can still be written to.
async fn signals(tell: impl Fn(Told) -> bool) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut ends = Signals::caught()?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut continued = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
    loop {
        tokio::select! {
            ended = ends.next() => {
                let number = u8::try_from(ended.as_raw()).unwrap_or_default();
                let by_key = ended == rustix::process::Signal::INT || ended == rustix::process::Signal::QUIT;
                if by_key && is_elsewhere() {
                    continue;
                }
                if ended == rustix::process::Signal::HUP {
                    super::exit_for_signal(number);
                }
                tell(Told::Signal(number));
                tokio::time::sleep(GRACE).await;
                super::exit_for_signal(number);
            }
            _ = continued.recv() => {
                tell(Told::Continued);
                // Nobody tells a stopped program of another size.
                tell(Told::Resized);
            }
            _ = resized.recv() => {
                tell(Told::Resized);
            }
        }
    }
}

/// Where a download goes.
pub(crate) fn download_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}
