//! Handles responses and the state of the connection.
//!
//! A lost connection never ends the program: it shows the problem, retries, and refreshes the visible screen
//! when the daemon responds again.

use std::time::Duration;

use super::{App, Effect};
use crate::ui::{
    key::Key,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    net::{Answer, Ask, Existing, Page, Problem, ProblemKind, Ticket},
    transfers::TransferNotice,
    world::{Cmd, Link, Tone},
};

/// Delays between connection attempts in milliseconds; the last one repeats.
const TRIES: [u64; 7] = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000];

/// Poll interval from which on a list counts as too long to be polled often.
const LONG: Duration = Duration::from_secs(10);

fn is_partial(answer: &Answer) -> bool {
    fn open<T>(page: &Page<T>) -> bool {
        !page.last
    }
    match answer {
        Answer::Repositories(page) => open(page),
        Answer::Branches(page) => open(page),
        Answer::Runs(part) => !part.last,
        Answer::ArtifactsOf(page) => open(page),
        Answer::DeletedRepositories(page) => open(page),
        Answer::DeletedArtifacts(page) => open(page),
        Answer::Progress { .. } | Answer::Event(_) => true,
        _ => false,
    }
}

impl App {
    pub(super) fn answer(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) {
        let more = matches!(result, Ok(answer) if is_partial(answer));
        // Ignore the response to a cancelled request.
        let request = if more { self.pending.get(&ticket).cloned() } else { self.pending.remove(&ticket) };
        let Some(ask) = request.map(|request| request.ask) else { return };
        self.heard = self.world.now;
        if std::mem::take(&mut self.was_silent) && !matches!(result, Err(problem) if problem.is_away()) {
            self.say(Tone::Plain, "The daemon responds again".to_owned());
        }
        self.update_link(result);
        match result {
            Ok(Answer::Status(now)) => self.world.status = Some(now.0.clone()),
            Ok(Answer::Started(log)) => {
                self.say(Tone::Plain, format!("Daemon started; log: {}", log.display()));
                self.ask(Ask::Status);
                self.refresh();
            }
            _ => {}
        }
        if let Ok(answer) = result {
            for layer in &mut self.layers {
                if let Layer::Form(form) = layer {
                    let kind = form.kind.clone();
                    kind.loaded(form, &ask, answer);
                }
            }
        }
        let formed = self.answer_form(ticket, result);
        for layer in &mut self.layers {
            if let Layer::Confirm(question) = layer {
                question.learn(&ask, result, &self.world.clock);
            }
        }
        self.freeze_rows();
        if let Err(problem) = result
            && !formed
            && ask.changes()
        {
            self.say(Tone::Error, problem.line().to_owned());
        }
        if let Some(news) = self.world.transfers.take(&ask, result, self.world.now) {
            self.report_transfer(&ask, news);
        }
        self.with_screens(|screens, env| {
            for screen in screens.all_mut() {
                screen.answered(&ask, result, env);
            }
        });
        if !more {
            self.close_outdated_question();
            // The response may change the poll interval: shorter for running work, longer for a long list.
            let pace = self.pace();
            let soon = pace.map(|pace| self.world.now + pace);
            let long = matches!(ask, Ask::Repositories | Ask::Runs(_)) && pace >= Some(LONG);
            self.poll_at = if long { soon } else { self.poll_at.min(soon).or(soon) };
        }
    }

    /// Closes a question about an object that was removed meanwhile.
    fn close_outdated_question(&mut self) {
        let Some(Layer::Confirm(question)) = self.layers.last() else { return };
        if let Some(lost) = self.screen().missing_target(question.ask()) {
            let top = self.layers.len() - 1;
            self.close_by_answer(top);
            self.say(Tone::Plain, format!("{lost} was removed meanwhile; nothing was done"));
        }
    }

    fn report_transfer(&mut self, ask: &Ask, news: TransferNotice) {
        let waiting = self.afterwards.iter().position(|(first, _)| first == ask);
        let then = waiting.map(|at| self.afterwards.remove(at).1);
        if then.is_some() {
            // The request that follows the download is still to be sent.
            self.quits_later = false;
        }
        self.quit_when_saved(&news);
        if let (Some(then), TransferNotice::Saved(_)) = (&then, &news) {
            self.ask(then.clone());
        }
        if let (Some(then), TransferNotice::Exists) = (&then, &news) {
            // The request follows the download that the user chooses in the menu.
            for existing in [Existing::Beside, Existing::Replace] {
                self.afterwards.push((ask.with_existing(existing), then.clone()));
            }
        }
        match news {
            TransferNotice::Saved(text) => self.say(Tone::Plain, text),
            TransferNotice::Failed(text) => self.say(Tone::Error, text),
            TransferNotice::Exists => {
                // Do not quit before the user has decided about the file.
                self.quits_later = false;
                let item = |key: char, title: &str, existing: Existing| Item {
                    key: Some(Key::Char(key)),
                    title: title.to_owned(),
                    off: None,
                    pick: Pick::Do(Cmd::Ask(ask.with_existing(existing))),
                };
                let items = vec![
                    item('b', "Save under another name", Existing::Beside),
                    item('o', "Overwrite the file", Existing::Replace),
                ];
                let name = ask.file().unwrap_or_default();
                self.open(Layer::Menu(Menu::new(format!("{name} exists; Esc skips it"), items)));
            }
        }
    }

    /// Quits if the user asked to quit after the downloads and none is left. A failure cancels this.
    fn quit_when_saved(&mut self, news: &TransferNotice) {
        match news {
            TransferNotice::Failed(_) => self.quits_later = false,
            _ if self.quits_later && self.world.transfers.losses().is_none() => self.effects.push(Effect::Quit(0)),
            _ => {}
        }
    }

    /// Closes the form that waits for this response, or shows the error in it. Returns whether a form waited.
    fn answer_form(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) -> bool {
        for layer in &mut self.layers {
            if let Layer::Form(form) = layer
                && form.check_answered(ticket, result)
            {
                return true;
            }
        }
        let Some(at) = self.layers.iter().position(|layer| layer.ticket() == Some(ticket)) else { return false };
        match (result, &mut self.layers[at]) {
            (Err(problem), Layer::Form(form)) => {
                form.refused(problem);
                // Load the other change and merge it; the values of both are kept.
                let load = form.kind.load().filter(|_| problem.kind == ProblemKind::Changed);
                if let Some(load) = load {
                    form.outdated();
                    self.ask(load);
                }
            }
            _ => {
                self.close_by_answer(at);
            }
        }
        true
    }

    fn update_link(&mut self, result: &Result<Answer, Problem>) {
        let now = self.world.now;
        match result {
            Err(problem) if problem.is_away() || matches!(problem.kind, ProblemKind::Busy(_)) => {
                let (since, tries) = match &self.world.link {
                    Link::Down { since, tries, again_at, .. } if *again_at > now => (*since, *tries),
                    Link::Down { since, tries, .. } => (*since, tries + 1),
                    _ => (now, 1),
                };
                // Obey Retry-After, up to ten minutes.
                let retry_after =
                    if let ProblemKind::Busy(Some(seconds)) = problem.kind { seconds.min(600) * 1_000 } else { 0 };
                let wait = TRIES[usize::try_from(tries - 1).unwrap_or(0).min(TRIES.len() - 1)];
                // Jitter, so that clients that lost the connection together do not reconnect together.
                let jitter = u64::from(now.subsec_micros()) % (wait / 5);
                let again_at = now + Duration::from_millis(wait.max(retry_after) + jitter);
                self.world.link = Link::Down { since, tries, again_at, problem: problem.clone() };
            }
            Err(problem) if problem.kind == ProblemKind::Unauthorised => {
                self.world.link = Link::Refused { problem: problem.clone() };
            }
            _ => {
                let before = std::mem::replace(&mut self.world.link, Link::Up);
                if matches!(before, Link::Down { .. } | Link::Refused { .. }) {
                    self.refused = 0;
                    self.say(Tone::Plain, "Connected again".to_owned());
                    self.refresh();
                }
            }
        }
    }

    /// Starts a connection attempt when it is due.
    pub(super) fn try_link(&mut self) {
        let Link::Down { again_at, .. } = &self.world.link else { return };
        if self.world.now >= *again_at && !self.is_asking_for_life() {
            self.cancel(&Ask::Status);
            self.ask(Ask::Status);
        }
    }

    /// Starts a connection attempt now.
    pub(super) fn try_link_now(&mut self) {
        if let Link::Down { again_at, .. } = &mut self.world.link {
            *again_at = self.world.now;
        }
        self.try_link();
    }
}
