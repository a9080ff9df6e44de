//! Maps keys to actions and runs them.

use std::time::Duration;

use super::{App, Effect, RequestOwner, UNDO, history::Way};
use crate::ui::{
    key::Key,
    keymap::{Action, Binding, Scope},
    layer::{
        Help, Layer, Menu, Search, Step, TextView,
        menu::{Item, Pick},
    },
    net::{Problem, Reconnect},
    screens::{Relation, ScreenId, Selection},
    view::{self, page},
    world::{Cmd, Link, Tone},
};

/// Shortest interval between two notices about the same unknown key.
const UNKNOWN_EVERY: Duration = Duration::from_secs(1);
/// How long the cursor must not move before details of its row are requested.
const REST: Duration = Duration::from_millis(120);
/// When the list is prepared for a filter: after its input is drawn, and before a typist presses the first key.
const PREPARE_AFTER: Duration = Duration::from_millis(1);
/// How long a second request to quit skips the question.
const SURE: Duration = Duration::from_secs(5);

/// Label of the ID that finds a request in the daemon's log.
const REQUEST: &str = "request ID";

impl App {
    pub(super) fn key(&mut self, key: Key) {
        // An error is shown until the next key.
        if self.notice.as_ref().is_some_and(|(tone, ..)| *tone == Tone::Error) {
            self.notice = None;
        }
        if key == Key::Ctrl('c') {
            return self.quit();
        }
        if matches!(key, Key::Ctrl('l' | 'z')) {
            return self.act(if key == Key::Ctrl('l') { Action::Repaint } else { Action::Suspend });
        }
        if key == Key::Esc && self.cancel_waiting() {
            return;
        }
        if self.drops(key) {
            return;
        }
        if !view::fits(self.world.size) {
            // The terminal is too small to show the screen, so no key may act on it.
            if key == Key::Char('q') {
                self.quit();
            }
            return;
        }
        if let Some(open) = self.layers.last_mut() {
            let step = open.layer.key(key, &self.world);
            self.step(step);
            return self.suggest();
        }
        let scopes = self.scopes();
        match self.world.keymap.find(&scopes, key) {
            Some(binding) => self.press(binding),
            None => self.unknown(key),
        }
    }

    /// Reports a key without an action; not again for each repetition of a key that is held down.
    fn unknown(&mut self, key: Key) {
        let text = format!("{} has no action here; ? shows the keys", key.name());
        let lately = |since: Duration| self.world.now < since + UNKNOWN_EVERY;
        if !self.notice.as_ref().is_some_and(|(_, shown, since)| *shown == text && lately(*since)) {
            self.notify(Tone::Plain, text);
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        let is_shown = view::fits(self.world.size);
        if let Some(layer) = self.top_layer_mut().filter(|_| is_shown) {
            let step = layer.paste(text);
            self.step(step);
            self.suggest();
        }
    }

    /// Carries out the result of a key in the top layer. Its changes apply only to the repositories for which the layer
    /// was opened.
    pub(super) fn step(&mut self, step: Step) {
        self.expected = self.layers.last().map(|open| open.expected.clone()).unwrap_or_default();
        self.carry_out(step);
        self.expected.clear();
    }

    fn carry_out(&mut self, step: Step) {
        let Some((id, opener)) = self.layers.last().map(|open| (open.id, open.opener)) else { return };
        match step {
            Step::Stay => {}
            Step::Close => {
                if let Some(Layer::Search(search)) = self.close_top() {
                    self.keep_filter(search.typed());
                    self.end_filter();
                }
            }
            Step::Then(cmds) => {
                if let Some(Layer::Search(_)) = self.close_top() {
                    self.filter("");
                    self.end_filter();
                }
                self.run_commands(opener, cmds);
            }
            Step::Do(cmds) => self.run_commands(opener, cmds),
            Step::Load(request) => {
                self.send(RequestOwner::Layer(id), request);
            }
            Step::Press(binding, selection) => {
                if let Some(Layer::Palette(palette)) = self.close_top() {
                    self.remember_command(palette.typed().to_owned());
                }
                self.press_on(binding, selection.as_ref());
            }
            Step::Run(line) => {
                let at = self.layers.len();
                match self.run_line(&line) {
                    Ok(()) => {
                        // Close only the palette: the command may have opened layers, or `connect` closed all.
                        if self.layers.len() >= at {
                            self.layers.remove(at - 1);
                        }
                        self.remember_command(line);
                    }
                    Err(why) => {
                        if let Some(Layer::Palette(palette)) = self.top_layer_mut() {
                            palette.refuse(why);
                        }
                    }
                }
            }
            Step::Sort(column) => {
                self.layers.pop();
                self.with_screen(|screen, _| screen.sort(column));
            }
            Step::Filter(text) => self.filter(&text),
            Step::CheckField(name, request) => {
                let ticket = self.send(RequestOwner::Layer(id), request.clone());
                if let Some(Layer::Form(form)) = self.top_layer_mut() {
                    form.check_started(name, request, ticket);
                }
            }
            Step::Edit(text) => self.effects.push(Effect::Edit(id, text)),
            Step::Submit(request) => {
                let (ticket, now) = (self.send(opener, request), self.world.now);
                if let Some(Layer::Form(form)) = self.top_layer_mut() {
                    form.waits_for(ticket, now);
                }
            }
        }
    }

    /// Adds a filter to the history of this run, each once.
    fn keep_filter(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.filters.retain(|earlier| earlier != text);
            self.filters.push(text.to_owned());
        }
    }

    pub(super) fn filter(&mut self, text: &str) {
        let error = self.with_screen(|screen, env| screen.filter(text, env)).err();
        self.world.moving_until = Some(self.world.now + REST);
        if let Some(Layer::Search(search)) = self.top_layer_mut() {
            search.error = error;
        } else if let Some(error) = error {
            self.notify(Tone::Error, error.text);
        }
    }

    /// Returns why a binding cannot be used now.
    pub(crate) fn off(&self, binding: &Binding) -> Option<String> {
        if binding.action == Action::StartDaemon && self.world.starter.is_none() {
            return Some("no farrierd next to this program or in PATH".to_owned());
        }
        let changes = binding.changes.then(|| self.world.no_changes()).flatten();
        changes.or_else(|| self.screen().unavailable(binding.action))
    }

    /// Returns the selection that actions of the visible screen use; nothing while its rows are hidden.
    pub(super) fn selection(&self) -> Option<Selection> {
        let is_hidden = self.screen().is_failed() || page::instead(&self.world).is_some();
        self.screen().selection().filter(|_| !is_hidden)
    }

    /// Runs a binding on its own screen. Does nothing if the selection has changed since it was taken.
    fn press_on(&mut self, binding: &'static Binding, selection: Option<&Selection>) {
        let expected = selection.filter(|_| binding.object.is_some());
        if let Some(before) = expected.filter(|before| self.selection().as_ref() != Some(before)) {
            return self.notify(Tone::Plain, format!("{} is no longer selected; nothing was done", before.name));
        }
        if let Some(id) = ScreenId::of(binding.scope).filter(|id| *id != self.current) {
            self.go(id);
        }
        self.press(binding);
    }

    pub(super) fn press(&mut self, binding: &'static Binding) {
        match self.off(binding) {
            Some(_)
                if matches!(binding.action, Action::CancelMigration | Action::CancelRun | Action::CancelTask)
                    && self.world.transfers.word().is_some() =>
            {
                self.act(Action::StopTransfer);
            }
            Some(why) => {
                self.refused += usize::from(binding.changes && matches!(self.world.link, Link::Down { .. }));
                self.notify(Tone::Plain, format!("{}: {why}", binding.title));
            }
            None => self.act(binding.action),
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        if self.act_on_third_pane(action) {
            return;
        }
        match action {
            Action::Screen(id) => self.go(id),
            Action::PreviousPlace => self.travel(Way::Back),
            Action::NextPlace => self.travel(Way::Forward),
            Action::Palette => self.open_palette(),
            Action::Related => self.related(),
            Action::GoToHook => self.go_to(Relation::Hook),
            Action::GoToRepository => self.go_to(Relation::Repository),
            Action::GoToRun => self.go_to(Relation::Run),
            Action::GoToArtifacts => self.go_to(Relation::Artifacts),
            Action::GoToPush => self.go_to(Relation::Push),
            Action::Help => {
                let scopes = self.scopes();
                self.open_own(Layer::Help(Help::new(self.screen().id().name(), &scopes, self.world.keymap)));
            }
            Action::Menu => self.menu(),
            Action::Filter => {
                self.open_own(Layer::Search(Search::new(&self.screen().filter_text(), self.filters.clone())));
                self.prepare_filter_at = Some(self.world.now + PREPARE_AFTER);
            }
            Action::Sort => self.sort_menu(),
            Action::Refresh if matches!(self.world.link, Link::Down { .. }) => self.try_link_now(),
            Action::Refresh => self.refresh(),
            Action::Pause => self.pause(),
            Action::FullPane => {
                self.world.full_pane = !self.world.full_pane;
                self.world.third_has_focus = false;
            }
            Action::Undo => self.take_back(),
            Action::Wide => self.world.wide = !self.world.wide,
            Action::Mouse => self.toggle_mouse(),
            Action::Messages => self.messages(),
            Action::Details => self.details(),
            Action::CopyRequest => {
                let copied = self.problem().and_then(|problem| problem.request.clone());
                self.run_commands(
                    RequestOwner::App,
                    copied.into_iter().map(|id| Cmd::Copy(id, REQUEST.to_owned())).collect(),
                );
            }
            Action::Redetect => {
                self.effects.push(Effect::Redetect);
                self.notify(Tone::Plain, "Terminal detected again".to_owned());
            }
            Action::Repaint => self.effects.push(Effect::Repaint),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::Quit => self.quit(),
            Action::Leave => {
                // Quits from the top level of a screen.
                if !self.with_screen(|screen, env| screen.act(Action::Back, env)) {
                    self.quit();
                }
            }
            Action::StopTransfer => match self.world.transfers.stop() {
                Some(request) => {
                    self.cancel(RequestOwner::Transfers, &request);
                    self.notify(Tone::Plain, format!("Stopped {}", request.doing()));
                }
                None => self.notify(Tone::Plain, "No download is running".to_owned()),
            },
            Action::StartDaemon => self.offer_start(),
            Action::TypeToken => self.open_token_form(),
            Action::SocketIdentity => self.reconnect(Reconnect::WithoutToken),
            action => {
                // The first step loads details at once; repeated steps load them when the cursor stops.
                self.world.moving_until = self.world.moving_until.filter(|_| action.moves());
                self.with_screen(|screen, env| screen.act(action, env));
                self.world.moving_until = action.moves().then(|| self.world.now + REST);
                self.restart_third_pane();
            }
        }
    }

    /// Quits. Asks first if downloads are running, unless the last question was asked seconds ago.
    fn quit(&mut self) {
        let running = self.world.transfers.losses().filter(|_| self.world.now >= self.quit_confirmed_until);
        let Some(what) = running else { return self.effects.push(Effect::Quit(0)) };
        self.quit_confirmed_until = self.world.now + SURE;
        let item = |key: char, title: &str, wait: bool| Item {
            key: Some(Key::Char(key)),
            title: title.to_owned(),
            off: None,
            pick: Pick::Do(Cmd::Quit { wait }),
        };
        let items = vec![
            item('w', "Wait until everything is saved", true),
            item('s', "Quit now: partial files are kept and continued later", false),
        ];
        self.open_own(Layer::Menu(Menu::new(format!("{what}; C-c again quits"), items)));
    }

    /// Undoes the last switch, else the last change of marks.
    fn take_back(&mut self) {
        let fresh = self.undo.take().filter(|(since, ..)| self.world.now.saturating_sub(*since) <= UNDO);
        match fresh {
            Some((_, sender, cmd)) => match self.world.no_changes() {
                Some(why) => self.notify(Tone::Plain, why),
                None => self.run_commands(sender, vec![cmd]),
            },
            None if self.with_screen(|screen, env| screen.act(Action::Undo, env)) => {}
            None => self.notify(Tone::Plain, "Nothing to undo".to_owned()),
        }
    }

    pub(super) fn menu(&mut self) {
        let scopes = self.scopes();
        let keymap = self.world.keymap;
        let own = keymap
            .reachable(&scopes)
            .filter(|binding| {
                !matches!(binding.scope, Scope::Everywhere | Scope::List | Scope::Moves)
                    || binding.action == Action::Refresh
            })
            .map(|binding| Item {
                key: binding.keys.first().copied(),
                title: binding.title.to_owned(),
                off: self.off(binding),
                pick: Pick::Press(binding),
            });
        let about = self.screen().subject().unwrap_or_else(|| self.screen().id().name().to_owned());
        let menu = Menu::new(format!("Actions: {about}"), own.collect()).about(self.selection());
        self.open_own(Layer::Menu(menu));
    }

    fn sort_menu(&mut self) {
        let item = |(column, title): (usize, &str)| Item {
            key: None,
            title: title.to_lowercase(),
            off: None,
            pick: Pick::Sort(column),
        };
        let items: Vec<Item> = self.screen().sortable().into_iter().map(item).collect();
        if !items.is_empty() {
            self.open_own(Layer::Menu(Menu::new("Sort by", items)));
        }
    }

    fn messages(&mut self) {
        let time = |wall: &jiff::Timestamp| self.world.clock.time(&wall.to_string());
        let lines: Vec<String> =
            self.messages.iter().rev().map(|(wall, text)| format!("{}  {text}", time(wall))).collect();
        let text = if lines.is_empty() { "No messages yet".to_owned() } else { lines.join("\n") };
        self.open_own(Layer::TextView(TextView::new("Messages", text)));
    }

    /// Returns the last error of the connection or of the visible screen.
    pub(super) fn problem(&self) -> Option<&Problem> {
        match &self.world.link {
            Link::Down { problem, .. } | Link::Refused { problem } => Some(problem),
            _ => self.screen().problem(),
        }
    }

    fn details(&mut self) {
        let view = match self.problem() {
            Some(problem) => TextView::new("Error", problem.text.clone()).with_copy(problem.request.clone(), REQUEST),
            None => TextView::new("Error", "No error on this screen"),
        };
        self.open_own(Layer::TextView(view));
    }
}
