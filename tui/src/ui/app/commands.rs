//! Runs the commands of screens, menus and forms, and sends and cancels requests.
//!
//! Makes no decisions: the sender of a command has made them.

use super::{App, Effect, Pending};
use crate::ui::{
    net::{Ask, Ticket},
    screens::ScreenId,
    world::{Cmd, Tone},
};

impl App {
    /// Runs commands in their order.
    pub(super) fn run_commands(&mut self, commands: Vec<Cmd>) {
        for cmd in commands {
            match cmd {
                Cmd::Ask(ask) => {
                    self.ask(ask);
                }
                Cmd::After(first, then) => {
                    self.say(Tone::Plain, format!("{} first", first.doing()));
                    self.ask(first.clone());
                    self.afterwards.push((first, then));
                }
                Cmd::Cancel(ask) => self.cancel(&ask),
                Cmd::WhenRested => self.awaits_rest = true,
                Cmd::Tell(tone, text) => self.say(tone, text),
                Cmd::Open(layer) => self.open(*layer),
                Cmd::Screen(id) => self.go(id),
                Cmd::Artifacts(path, at) => self.show_artifacts(Some(path), at),
                Cmd::Repository(id) => {
                    self.screens.repositories.show(id);
                    self.go(ScreenId::Repositories);
                }
                Cmd::Hooks(path, at) => self.show_hooks(path, at),
                Cmd::Deliveries(hook) => self.show_deliveries(|screen, env| screen.choose(hook, env)),
                Cmd::DeliveriesOf(event) => self.show_deliveries(|screen, env| screen.choose_event(event, env)),
                Cmd::Undo(cmd) => self.undo = Some((self.world.now, *cmd)),
                Cmd::Inspect(hook, id) => self.show_deliveries(|screen, env| screen.inspect(hook, id, env)),
                Cmd::Reconnect(target) => self.reconnect(target),
                Cmd::Quit { wait: true } => {
                    self.quits_later = true;
                    self.say(Tone::Plain, "Quitting when everything is saved; Ctrl-C quits now".to_owned());
                }
                Cmd::Quit { wait: false } => self.effects.push(Effect::Quit(0)),
                Cmd::Page(text) => self.effects.push(Effect::Page(text)),
                Cmd::Copy(text, what) => {
                    self.say(Tone::Plain, format!("{what} copied: {}", text.lines().next().unwrap_or_default()));
                    self.effects.push(Effect::Copy(text));
                }
            }
        }
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, ask: Ask) -> Ticket {
        if let Some(name) = ask.file() {
            self.world.transfers.begin(&ask, name, self.world.now);
        }
        self.tickets += 1;
        self.pending.insert(self.tickets, Pending { ask: ask.clone(), since: self.world.now });
        self.effects.push(Effect::Ask(self.tickets, ask));
        self.tickets
    }

    /// Cancels all pending requests that equal `ask`.
    pub(super) fn cancel(&mut self, ask: &Ask) {
        let tickets: Vec<Ticket> = self.pending.iter().filter(|(_, one)| one.ask == *ask).map(|(at, _)| *at).collect();
        for ticket in tickets {
            self.cancel_ticket(ticket);
        }
    }

    pub(super) fn cancel_ticket(&mut self, ticket: Ticket) {
        self.pending.remove(&ticket);
        self.effects.push(Effect::Cancel(ticket));
    }
}
