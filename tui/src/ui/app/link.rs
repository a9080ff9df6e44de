//! Answers, and the link that they come over.
//!
//! The program never ends because the daemon is away: it says so, tries again, and asks for what is
//! seen once it is back.

use std::time::Duration;

use super::{App, Effect};
use crate::ui::{
    key::Key,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    net::{Answer, Ask, Existing, Kind, Page, Problem, Ticket},
    transfers::TransferNotice,
    world::{Cmd, Link, Tone},
};

/// Waits between tries, milliseconds; the last one repeats.
const TRIES: [u64; 7] = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000];

/// Only lists that are too long to be asked for often have such a pace.
const LONG: Duration = Duration::from_secs(10);

fn is_part(answer: &Answer) -> bool {
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
        let more = matches!(result, Ok(answer) if is_part(answer));
        // An answer to what was cancelled comes too late.
        let one = if more { self.pending.get(&ticket).cloned() } else { self.pending.remove(&ticket) };
        let Some(ask) = one.map(|one| one.ask) else { return };
        self.heard = self.world.now;
        if std::mem::take(&mut self.was_silent) && !matches!(result, Err(problem) if problem.is_away()) {
            self.say(Tone::Plain, "the daemon answers again".to_owned());
        }
        self.judge_link(result);
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
        self.hold_rows();
        if let Err(problem) = result
            && !formed
            && ask.changes()
        {
            self.say(Tone::Error, problem.line().to_owned());
        }
        if let Some(news) = self.world.transfers.take(&ask, result, self.world.now) {
            self.tell_transfer(&ask, news);
        }
        self.with_all(|screens, env| {
            for screen in screens.all_mut() {
                screen.answered(&ask, result, env);
            }
        });
        if !more {
            self.drop_question();
            // What came may want to be followed more closely, and a long list less closely.
            let pace = self.pace();
            let soon = pace.map(|pace| self.world.now + pace);
            let long = matches!(ask, Ask::Repositories | Ask::Runs(_)) && pace >= Some(LONG);
            self.poll_at = if long { soon } else { self.poll_at.min(soon).or(soon) };
        }
    }

    /// A question about what is not there any more needs no answer.
    fn drop_question(&mut self) {
        let Some(Layer::Confirm(question)) = self.layers.last() else { return };
        if let Some(lost) = self.screen().missing_target(question.ask()) {
            let top = self.layers.len() - 1;
            self.close_by_answer(top);
            self.say(Tone::Plain, format!("{lost} was removed meanwhile; nothing was done"));
        }
    }

    fn tell_transfer(&mut self, ask: &Ask, news: TransferNotice) {
        let waiting = self.afterwards.iter().position(|(first, _)| first == ask);
        let then = waiting.map(|at| self.afterwards.remove(at).1);
        if then.is_some() {
            // What was to follow has not happened yet.
            self.quits_later = false;
        }
        self.quit_when_saved(&news);
        if let (Some(then), TransferNotice::Saved(_)) = (&then, &news) {
            self.ask(then.clone());
        }
        if let (Some(then), TransferNotice::Exists) = (&then, &news) {
            // Whichever file is chosen, it comes first.
            for existing in [Existing::Beside, Existing::Replace] {
                self.afterwards.push((ask.although(existing), then.clone()));
            }
        }
        match news {
            TransferNotice::Saved(text) => self.say(Tone::Plain, text),
            TransferNotice::Failed(text) => self.say(Tone::Error, text),
            TransferNotice::Exists => {
                // What is still to be decided is not to be lost by ending.
                self.quits_later = false;
                let item = |key: char, title: &str, existing: Existing| Item {
                    key: Some(Key::Char(key)),
                    title: title.to_owned(),
                    off: None,
                    pick: Pick::Do(Cmd::Ask(ask.although(existing))),
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

    /// Ends when that was wanted and nothing is left to wait for; not when something failed.
    fn quit_when_saved(&mut self, news: &TransferNotice) {
        match news {
            TransferNotice::Failed(_) => self.quits_later = false,
            _ if self.quits_later && self.world.transfers.losses().is_none() => self.effects.push(Effect::Quit(0)),
            _ => {}
        }
    }

    /// A form that waits for this answer closes, or shows what is wrong.
    fn answer_form(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) -> bool {
        for layer in &mut self.layers {
            if let Layer::Form(form) = layer
                && form.told(ticket, result)
            {
                return true;
            }
        }
        let Some(at) = self.layers.iter().position(|layer| layer.ticket() == Some(ticket)) else { return false };
        match (result, &mut self.layers[at]) {
            (Err(problem), Layer::Form(form)) => {
                form.refused(problem);
                // The other change is loaded and shown; nothing of either is lost.
                let load = form.kind.load().filter(|_| problem.kind == Kind::Changed);
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

    fn judge_link(&mut self, result: &Result<Answer, Problem>) {
        let now = self.world.now;
        match result {
            Err(problem) if problem.is_away() || matches!(problem.kind, Kind::Busy(_)) => {
                let (since, tries) = match &self.world.link {
                    Link::Down { since, tries, again_at, .. } if *again_at > now => (*since, *tries),
                    Link::Down { since, tries, .. } => (*since, tries + 1),
                    _ => (now, 1),
                };
                // Who says how long to wait is believed, within reason.
                let asked = if let Kind::Busy(Some(seconds)) = problem.kind { seconds.min(600) * 1_000 } else { 0 };
                let wait = TRIES[usize::try_from(tries - 1).unwrap_or(0).min(TRIES.len() - 1)];
                // Programs that lost the daemon together must not come back together.
                let jitter = u64::from(now.subsec_micros()) % (wait / 5);
                let again_at = now + Duration::from_millis(wait.max(asked) + jitter);
                self.world.link = Link::Down { since, tries, again_at, problem: problem.clone() };
            }
            Err(problem) if problem.kind == Kind::Unauthorised => {
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

    /// Asks again whether somebody is there, when it is time.
    pub(super) fn try_link(&mut self) {
        let Link::Down { again_at, .. } = &self.world.link else { return };
        if self.world.now >= *again_at && !self.is_asking_for_life() {
            self.cancel(&Ask::Status);
            self.ask(Ask::Status);
        }
    }

    /// Asks at once.
    pub(super) fn try_link_now(&mut self) {
        if let Link::Down { again_at, .. } = &mut self.world.link {
            *again_at = self.world.now;
        }
        self.try_link();
    }
}
