//! The main loop: waits for messages, handles all that are queued, and draws once.
//!
//! Owns the threads and the frame rate. Only this thread writes to the terminal. It waits only for the channel that
//! all other threads send to.

use std::{
    ffi::OsString,
    io,
    process::ExitCode,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use ratatui::Terminal;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    app::{App, Effect, Msg},
    copy, editor,
    frame_rate::FrameRate,
    net, pager,
    saved_state::{self, SavedState},
    settings::{Clipboard, Settings, Sync},
    starter::Starter,
    term, view,
};
use crate::{
    args::Global,
    clock,
    config::{ConfigProblem, Context},
    endpoint::variable,
};

/// How long an escape byte waits for the rest of a key sequence: locally and over a network.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(40);
const ESCAPE_TIMEOUT_REMOTE: Duration = Duration::from_millis(100);

type Screen = Terminal<term::AnsiBackend<std::fs::File>>;

/// Runs the full screen until the user quits.
pub(super) fn run(global: &Global, settings: Settings, problems: &[ConfigProblem]) -> io::Result<ExitCode> {
    let (sender, inbox) = channel();
    let _held = term::TerminalGuard::acquire()?;
    let (mut input_pause, pause_point) = term::pausable_input()?;
    let options = TerminalOptions::of(&settings);
    options.query_terminal()?;
    let orders = threads(global, settings.context.as_ref(), &sender, pause_point)?;
    let mut terminal = Terminal::new(term::AnsiBackend::new(term::stream()?, term::size))?;
    terminal.backend_mut().sync(settings.sync == Sync::On);
    let mut frame_rate = FrameRate::new(settings.slow);
    let saved_state = saved_state::path(variable);
    if settings.mouse {
        term::mouse(true)?;
    }
    let mut app = App::new(term::size()?, settings, clock::now());
    app.world.clock.zone = clock::zone();
    let beside = std::env::current_exe().ok();
    app.world.starter = Starter::find(variable, beside.as_deref().and_then(std::path::Path::parent));
    app.recall(&saved_state.as_deref().map(SavedState::load).unwrap_or_default());
    let started = Instant::now();
    let mut todo = app.begin();
    for problem in problems.iter().filter(|problem| !problem.is_warning).take(1) {
        let text = format!("config.toml line {}: {}; `farrier config check` shows all", problem.line, problem.text);
        todo.extend(app.update(Msg::Warning(text), started.elapsed(), clock::now()));
    }
    let mut drawn: Option<Instant> = None;
    let mut title = String::new();
    // Messages received while the program was suspended.
    let mut kept: Vec<Msg> = Vec::new();
    // Whether only a timer has woken the loop.
    let mut is_timer = false;
    loop {
        for effect in std::mem::take(&mut todo) {
            match effect {
                Effect::Quit(code) => {
                    // An error is ignored: the saved state is only a convenience.
                    let _ = saved_state.as_deref().map(|path| app.saved_state().save(path));
                    return Ok(ExitCode::from(code));
                }
                effect @ (Effect::Page(_) | Effect::Edit(..)) => {
                    let ended = run_program(effect, &mut terminal, &mut input_pause)?;
                    todo.extend(app.update(ended, started.elapsed(), clock::now()));
                }
                Effect::Suspend => kept.extend(suspend(&mut terminal, &inbox)?),
                Effect::Sync(known) => terminal.backend_mut().sync(known),
                Effect::Redetect => {
                    frame_rate = frame_rate.for_new_line();
                    todo.extend(app.update(Msg::Slow(frame_rate.is_slow()), started.elapsed(), clock::now()));
                    term::acquire()?;
                    options.query_terminal()?;
                    repaint(&mut terminal)?;
                    let size = term::size()?;
                    todo.extend(app.update(Msg::Resized(size), started.elapsed(), clock::now()));
                }
                other => carry_out(other, options, &orders, &mut terminal)?,
            }
        }
        // The first frame after a change is drawn at once; the next ones are limited to the frame rate.
        let early = drawn.map_or(Duration::ZERO, |at| frame_rate.frame().saturating_sub(at.elapsed()));
        let dirty = if early.is_zero() {
            let before = Instant::now();
            paint(&app, &mut terminal)?;
            if options.title && app.title() != title {
                title = app.title();
                term::title(&title)?;
            }
            // The frame of a timer that changes nothing must not delay the frame of a key that follows soon.
            if terminal.backend_mut().take_wrote() || !is_timer {
                drawn = Some(Instant::now());
            }
            if let Some(slow) = frame_rate.drawn(before.elapsed(), started.elapsed()) {
                todo.extend(app.update(Msg::Slow(slow), started.elapsed(), clock::now()));
            }
            false
        } else {
            true
        };
        let wake = app.wake_at().map(|at| at.saturating_sub(started.elapsed()));
        let wait = if dirty { Some(early.min(wake.unwrap_or(early))) } else { wake };
        let first = if kept.is_empty() { receive(&inbox, wait) } else { None };
        let messages: Vec<Msg> = kept.drain(..).chain(first).chain(inbox.try_iter()).collect();
        is_timer = messages.is_empty();
        for msg in messages.into_iter().chain([Msg::Tick]) {
            todo.extend(app.update(msg, started.elapsed(), clock::now()));
        }
    }
}

/// Draws one frame.
fn paint(app: &App, terminal: &mut Screen) -> io::Result<()> {
    let picture = terminal.draw(|frame| {
        if let Some(at) = view::draw(app, frame.buffer_mut()) {
            frame.set_cursor_position(at);
        }
    });
    picture.map(drop)
}

/// Settings that control the terminal.
#[derive(Clone, Copy, Debug)]
struct TerminalOptions {
    clipboard: Clipboard,
    bell: bool,
    title: bool,
    sync: Sync,
}

impl TerminalOptions {
    fn of(settings: &Settings) -> Self {
        Self { clipboard: settings.clipboard, bell: settings.bell, title: settings.title, sync: settings.sync }
    }

    /// Queries the terminal for its capabilities.
    fn query_terminal(self) -> io::Result<()> {
        // The Linux console prints queries that it does not understand.
        let can_reply = variable("TERM").is_some_and(|term| term != "linux");
        if self.sync == Sync::Auto && can_reply { term::query_sync() } else { Ok(()) }
    }
}

/// Returns how long an escape byte waits: the value of `ESCDELAY`, which other programs also use, or the default.
fn escape_timeout(variable: impl Fn(&str) -> Option<OsString>) -> Duration {
    let configured = variable("ESCDELAY").and_then(|text| text.to_str()?.parse().ok()).map(Duration::from_millis);
    configured.unwrap_or(if variable("SSH_CONNECTION").is_some() { ESCAPE_TIMEOUT_REMOTE } else { ESCAPE_TIMEOUT })
}

fn receive(inbox: &Receiver<Msg>, wait: Option<Duration>) -> Option<Msg> {
    match wait {
        None => inbox.recv().ok(),
        Some(wait) => inbox.recv_timeout(wait).ok(),
    }
}

fn carry_out(
    effect: Effect,
    options: TerminalOptions,
    orders: &UnboundedSender<net::NetworkCommand>,
    terminal: &mut Screen,
) -> io::Result<()> {
    match effect {
        // The network thread runs as long as the process.
        Effect::Send(ticket, request) => drop(orders.send(net::NetworkCommand::Send(ticket, Box::new(request)))),
        Effect::Expect(ticket, expected) => drop(orders.send(net::NetworkCommand::Expect(ticket, expected))),
        Effect::Rest => drop(orders.send(net::NetworkCommand::Rest)),
        Effect::Reconnect(target) => drop(orders.send(net::NetworkCommand::Reconnect(target))),
        Effect::Cancel(ticket) => drop(orders.send(net::NetworkCommand::Cancel(ticket))),
        // If copying fails, the text is still shown on the screen.
        Effect::Copy(text) => {
            drop(copy::copy(&text, options.clipboard, variable("TMUX").is_some(), &mut term::stream()?));
        }
        Effect::Mouse(on) => term::mouse(on)?,
        Effect::Bell if options.bell => term::bell()?,
        Effect::Repaint => repaint(terminal)?,
        // The loop carries out the others.
        Effect::Bell
        | Effect::Page(_)
        | Effect::Edit(..)
        | Effect::Suspend
        | Effect::Sync(_)
        | Effect::Redetect
        | Effect::Quit(_) => {}
    }
    Ok(())
}

/// Suspends the process until a shell continues it. Returns the messages received in the meantime.
fn suspend(terminal: &mut Screen, inbox: &Receiver<Msg>) -> io::Result<Vec<Msg>> {
    term::release();
    rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
    let mut kept = Vec::new();
    // The process may stop a little later than the signal is sent.
    for msg in inbox {
        let over = matches!(msg, Msg::Continued | Msg::Signal(_));
        kept.push(msg);
        if over {
            break;
        }
    }
    term::acquire()?;
    repaint(terminal)?;
    Ok(kept)
}

/// Runs the user's pager or editor on this terminal. Returns the message about its end.
fn run_program(effect: Effect, terminal: &mut Screen, input_pause: &mut term::InputPause) -> io::Result<Msg> {
    term::release();
    let run = || match effect {
        Effect::Page(text) => Msg::Paged(pager::show(&pager::command(variable), &text)),
        Effect::Edit(layer, text) => Msg::Edited(layer, editor::edit(&editor::command(variable), &text)),
        _ => Msg::Tick,
    };
    // While the program has the terminal, signals from keys are meant for it.
    let ended = input_pause.during(|| net::ignoring_interrupts(run))?;
    term::acquire()?;
    repaint(terminal)?;
    Ok(ended)
}

fn repaint(terminal: &mut Screen) -> io::Result<()> {
    terminal.clear()
}

/// Starts the threads beside the loop. They end with the process, which does not wait for them.
fn threads(
    global: &Global,
    context: Option<&Context>,
    sender: &Sender<Msg>,
    pause_point: term::PausePoint,
) -> io::Result<UnboundedSender<net::NetworkCommand>> {
    let (orders, received) = tokio::sync::mpsc::unbounded_channel();
    let (global, context, messages) = (global.clone(), context.cloned(), sender.clone());
    spawn("network", move || {
        let send = move |event| {
            let msg = match event {
                net::NetworkEvent::Answer(ticket, result) => Msg::Answer(ticket, result),
                net::NetworkEvent::Endpoint(number, address, token) => Msg::Endpoint(number, address, token),
                net::NetworkEvent::ExposedToken(number, address) => Msg::ExposedToken(number, address),
                net::NetworkEvent::Signal(number) => Msg::Signal(number),
                net::NetworkEvent::Continued => Msg::Continued,
                net::NetworkEvent::Resized => Msg::Resized(term::size().unwrap_or_default()),
            };
            messages.send(msg).is_ok()
        };
        let _ = net::serve(&global, context.as_ref(), received, send);
    })?;
    let escape_timeout = escape_timeout(variable);
    let messages = sender.clone();
    spawn("input", move || {
        let _ = term::listen(escape_timeout, pause_point, |event| {
            let msg = match event {
                term::InputEvent::Key(key) => Msg::Key(key),
                term::InputEvent::Paste(text) => Msg::Paste(text),
                term::InputEvent::Mouse(mouse) => Msg::Mouse(mouse),
                term::InputEvent::Sync(known) if term::is_sync_answer_in_time() => Msg::Sync(known),
                term::InputEvent::Sync(_) => return true,
            };
            messages.send(msg).is_ok()
        });
    })?;
    spawn("hang-up", || {
        term::wait_for_hangup();
        super::exit_for_signal(1);
    })?;
    Ok(orders)
}

#[expect(clippy::disallowed_methods, reason = "only this function starts the three threads of the full screen")]
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_timeout_is_longer_over_a_network() {
        let with = |set: &'static [(&str, &str)]| {
            escape_timeout(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(*value)))
        };
        assert_eq!(with(&[]), ESCAPE_TIMEOUT);
        assert_eq!(with(&[("SSH_CONNECTION", "::1 1 ::1 22")]), ESCAPE_TIMEOUT_REMOTE);
        assert_eq!(with(&[("SSH_CONNECTION", ""), ("ESCDELAY", "25")]), Duration::from_millis(25));
        assert_eq!(with(&[("ESCDELAY", "soon")]), ESCAPE_TIMEOUT);
    }
}
