//! Sends and cancels requests, and routes each response to the owner of its request.
//!
//! Every request has one owner: the application, a screen, an open layer or the downloads. Only the owner gets the
//! responses. A response is dropped if its request was cancelled or its owner is gone.

use std::time::Duration;

use super::{App, Effect};
use crate::ui::{
    layer::{Layer, LayerId},
    net::{Answer, ExpectedRepository, Page, Problem, ProblemKind, Request, Ticket},
    screens::ScreenId,
    world::{Cmd, Env, Tone},
};

/// Poll interval from which on a list counts as too long to be polled often.
const LONG: Duration = Duration::from_secs(10);

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOwner {
    /// The application: heartbeats and the start of a daemon.
    App,
    Screen(ScreenId),
    /// Data that an open layer shows.
    Layer(LayerId),
    /// Downloads and archives, whichever screen starts them.
    Transfers,
}

/// A request without a complete response.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) owner: RequestOwner,
    pub(super) request: Request,
    /// When it was sent.
    pub(super) since: Duration,
}

/// Returns whether more pages or events follow.
fn is_partial(answer: &Answer) -> bool {
    fn open<T>(page: &Page<T>) -> bool {
        !page.last
    }
    match answer {
        Answer::Repositories(page) => open(page),
        Answer::Hooks(page) => open(page),
        Answer::Deliveries(page) => open(page),
        Answer::Audit(page, _) => open(page),
        Answer::Directory(directory) => open(&directory.entries),
        Answer::Tags(page) => open(page),
        Answer::Branches(page) => open(page),
        Answer::Collaborators(page) => open(page),
        Answer::DeployKeys(page) => open(page),
        Answer::Releases(page) => open(page),
        Answer::Runs(part) => !part.last,
        Answer::ArtifactsOf(page) => open(page),
        Answer::DeletedRepositories(page) => open(page),
        Answer::DeletedArtifacts(page) => open(page),
        Answer::Caches(page) => open(page),
        Answer::Users(page) => open(page),
        Answer::Tokens(page) => open(page),
        Answer::AllOrganizations(page) => open(page),
        Answer::Teams(page) => open(page),
        Answer::Members(page) => open(page),
        Answer::Progress { .. } | Answer::Event(_) => true,
        _ => false,
    }
}

impl App {
    /// Sends a request. Files that are saved belong to the downloads, not to the sender.
    pub(super) fn send(&mut self, sender: RequestOwner, request: Request) -> Ticket {
        let mut owner = sender;
        if let Some(name) = request.file() {
            owner = RequestOwner::Transfers;
            self.world.transfers.begin(&request, name, self.world.now);
        }
        self.tickets += 1;
        self.pending.insert(self.tickets, Pending { owner, request: request.clone(), since: self.world.now });
        let expected = self.expected_by(&request);
        if !expected.is_empty() {
            self.effects.push(Effect::Expect(self.tickets, expected));
        }
        self.effects.push(Effect::Send(self.tickets, request));
        self.tickets
    }

    /// Returns the repositories of the top layer that a request changes.
    pub(super) fn expected_by(&self, request: &Request) -> Vec<ExpectedRepository> {
        if self.expected.is_empty() {
            return Vec::new();
        }
        let changed = request.changed_repositories();
        self.expected.iter().filter(|one| changed.contains(&&one.path)).cloned().collect()
    }

    /// Cancels the pending requests of an owner that equal `request`.
    pub(super) fn cancel(&mut self, owner: RequestOwner, request: &Request) {
        self.cancel_where(|one| one.owner == owner && one.request == *request);
    }

    /// Cancels the requests of layers that are closed.
    pub(super) fn cancel_for_closed_layers(&mut self) {
        let open: Vec<LayerId> = self.layers.iter().map(|layer| layer.id).collect();
        self.cancel_where(|one| matches!(one.owner, RequestOwner::Layer(id) if !open.contains(&id)));
    }

    pub(super) fn cancel_where(&mut self, is_cancelled: impl Fn(&Pending) -> bool) {
        let mut tickets: Vec<Ticket> =
            self.pending.iter().filter(|(_, one)| is_cancelled(one)).map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        for ticket in tickets {
            self.cancel_ticket(ticket);
        }
    }

    pub(super) fn cancel_ticket(&mut self, ticket: Ticket) {
        self.pending.remove(&ticket);
        self.effects.push(Effect::Cancel(ticket));
    }

    /// Fills in the owner in forms that were opened before the daemon named the caller.
    fn name_owners(&mut self, login: &str) {
        for open in &mut self.layers {
            if let Layer::Form(form) = &mut open.layer {
                form.name_owner(login);
            }
        }
    }

    /// Handles a response, or one page of it.
    pub(super) fn answer(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) {
        let more = matches!(result, Ok(answer) if is_partial(answer));
        // Ignore the response to a cancelled request.
        let request = if more { self.pending.get(&ticket).cloned() } else { self.pending.remove(&ticket) };
        let Some(Pending { owner, request, .. }) = request else { return };
        self.last_response = self.world.now;
        if std::mem::take(&mut self.was_silent) && !matches!(result, Err(problem) if problem.is_unreachable()) {
            self.notify(Tone::Plain, "The daemon responds again".to_owned());
        }
        self.update_link(&request, result);
        if let Ok(Answer::Status(now)) = result
            && self.world.status.replace(now.0.clone()).is_none()
        {
            self.name_owners(&now.0.identity);
        }
        let is_of_form = self.answer_form(ticket, result);
        self.freeze_rows();
        if let Err(problem) = result
            && !is_of_form
            && request.changes()
        {
            self.notify(Tone::Error, problem.line().to_owned());
        }
        match owner {
            RequestOwner::App => self.answer_app(&request, result),
            RequestOwner::Screen(id) => self.answer_screen(id, &request, result),
            RequestOwner::Layer(id) => self.answer_layer(id, &request, result),
            RequestOwner::Transfers => self.answer_transfer(&request, result),
        }
        if !more {
            self.close_outdated_question();
            // The response may change the poll interval: shorter for running work, longer for a long list.
            let pace = self.pace();
            let soon = pace.map(|pace| self.world.now + pace);
            let long = matches!(request, Request::Repositories | Request::Runs(_)) && pace >= Some(LONG);
            self.poll_at = if long { soon } else { self.poll_at.min(soon).or(soon) };
            if let Err(problem) = result
                && owner == RequestOwner::Screen(self.current)
                && let Some(wait) = problem.retry_after()
            {
                self.no_poll_before = self.world.now + wait;
            }
        }
    }

    fn answer_app(&mut self, request: &Request, result: &Result<Answer, Problem>) {
        match (request, result) {
            (_, Ok(Answer::Started(log))) => {
                self.notify(Tone::Plain, format!("Daemon started; log: {}", log.display()));
                self.send(RequestOwner::App, Request::Status);
                self.refresh();
            }
            (Request::Shell(command), Ok(Answer::Printed { text, failed })) => self.show_output(command, text, *failed),
            // Failures of changes are reported for all owners.
            (Request::Shell(command), Err(problem)) if !command.changes => {
                self.notify(Tone::Error, problem.line().to_owned());
            }
            _ => {}
        }
    }

    /// Passes a response to its screen. A hidden screen keeps the data, but opens, reports and copies nothing, unless
    /// the request changed something on the daemon.
    pub(super) fn answer_screen(&mut self, id: ScreenId, request: &Request, result: &Result<Answer, Problem>) {
        let mut env = Env::new(&self.world);
        self.screens.get_mut(id).answered(request, result, &mut env);
        let mut commands = env.commands;
        if id != self.current && request.is_load() {
            commands.retain(Cmd::is_unseen);
        }
        self.run_commands(RequestOwner::Screen(id), commands);
        if id != self.current && request.changes() && result.is_ok() && !self.world.paused {
            // A key on the visible screen may have changed objects of the other one.
            self.with_screen(|screen, env| screen.changed_elsewhere(env));
        }
    }

    fn answer_layer(&mut self, id: LayerId, request: &Request, result: &Result<Answer, Problem>) {
        let Some(open) = self.layers.iter_mut().find(|open| open.id == id) else { return };
        match &mut open.layer {
            Layer::Form(form) => {
                if let Ok(answer) = result {
                    let kind = form.kind.clone();
                    kind.loaded(form, request, answer);
                }
            }
            Layer::Confirm(question) => question.learn(request, result, &self.world.clock),
            Layer::Palette(palette) if matches!(request, Request::FindObjects(_)) => match result {
                Ok(Answer::FoundObjects(found)) => {
                    if let Some(line) = palette.take_found(found) {
                        self.show_found(id, line);
                    }
                }
                Err(problem) => palette.lookup_failed(problem.line()),
                Ok(_) => {}
            },
            _ => {}
        }
    }

    /// Closes the form that waits for this response, or shows the error in it. Returns whether a form waited.
    fn answer_form(&mut self, ticket: Ticket, result: &Result<Answer, Problem>) -> bool {
        for open in &mut self.layers {
            if let Layer::Form(form) = &mut open.layer
                && form.check_answered(ticket, result)
            {
                return true;
            }
        }
        let Some(at) = self.layers.iter().position(|open| open.layer.ticket() == Some(ticket)) else { return false };
        let open = &mut self.layers[at];
        match (result, &mut open.layer) {
            (Err(problem), Layer::Form(form)) => {
                form.refused(problem);
                // Load the other change and merge it; the values of both are kept.
                let load = form.kind.load().filter(|_| problem.kind == ProblemKind::Changed);
                if let Some(load) = load {
                    form.outdated();
                    let owner = RequestOwner::Layer(open.id);
                    self.send(owner, load);
                }
            }
            _ => self.close_by_answer(at),
        }
        true
    }

    /// Closes a question about an object that was removed meanwhile.
    fn close_outdated_question(&mut self) {
        let Some(Layer::Confirm(question)) = self.top_layer() else { return };
        if let Some(lost) = self.screen().missing_target(question.request()) {
            let top = self.layers.len() - 1;
            self.close_by_answer(top);
            self.notify(Tone::Plain, format!("{lost} was removed meanwhile; nothing was done"));
        }
    }
}
