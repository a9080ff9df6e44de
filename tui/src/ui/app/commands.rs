//! Runs the commands of screens, menus and forms.
//!
//! The sender of a command has decided that it is run; this module only runs it.

use super::{App, Effect, RequestOwner};
use crate::ui::{
    layer::{Layer, LayerId},
    redacted::Redacted,
    screens::ScreenId,
    world::{Cmd, Tone},
};

impl App {
    /// Runs commands in their order. The sender owns their requests, and those of the layers that they open.
    pub(super) fn run_commands(&mut self, sender: RequestOwner, commands: Vec<Cmd>) {
        for cmd in commands {
            match cmd {
                Cmd::Send(request) => {
                    self.send(sender, request);
                }
                Cmd::After(both) => {
                    let (download, request) = *both;
                    self.send_after(download, sender, request);
                }
                Cmd::Cancel(request) => self.cancel(sender, &request),
                Cmd::WhenRested => self.awaits_cursor_rest = true,
                Cmd::Notify(tone, text) => self.notify(tone, text),
                Cmd::SendFor(id, request) => {
                    self.send(RequestOwner::Screen(id), request);
                }
                Cmd::Open(layer) => self.open(sender, *layer),
                Cmd::OpenFor(id, layer) => self.open(RequestOwner::Screen(id), *layer),
                Cmd::Line(line) => {
                    if let Err(why) = self.run_line(&line) {
                        self.notify(Tone::Error, why);
                    }
                }
                Cmd::Screen(id) => self.go(id),
                Cmd::Filtered(id, filter) => {
                    self.go(id);
                    self.filter(&filter);
                }
                Cmd::ReloadRepositories(id) => {
                    self.with_screens(ScreenId::Repositories, |screens, env| screens.repositories.reload(id, env));
                }
                Cmd::Artifacts(path, at) => self.show_artifacts(Some(path), at),
                Cmd::Repository(id) => {
                    self.screens.repositories.show(id);
                    self.go(ScreenId::Repositories);
                }
                Cmd::Run(id) => self.show_run(id),
                Cmd::Hooks(path, at) => self.show_hooks(path, at),
                Cmd::Deliveries(hook) => self.show_deliveries(|screen, env| screen.choose(hook, env)),
                Cmd::DeliveriesOf(event) => self.show_deliveries(|screen, env| screen.choose_event(event, env)),
                Cmd::DeliveriesOfHost(host) => self.show_deliveries(|screen, env| screen.choose_host(host, env)),
                Cmd::DeliveriesOfGroup(group) => self.show_deliveries(|screen, env| screen.choose_group(group, env)),
                Cmd::DeliveriesOfProblem(group) => {
                    self.show_deliveries(|screen, env| screen.choose_problem(group, env));
                }
                Cmd::Undo(cmd) => self.undo = Some((self.world.now, sender, *cmd)),
                Cmd::Inspect(hook, id) => self.show_deliveries(|screen, env| screen.inspect(hook, &id, env)),
                Cmd::Reconnect(target) => self.reconnect(target),
                Cmd::Quit { wait: true } => {
                    self.quits_later = true;
                    self.notify(Tone::Plain, "Quitting when everything is saved; Ctrl-C quits now".to_owned());
                }
                Cmd::Quit { wait: false } => self.effects.push(Effect::Quit(0)),
                Cmd::Page(text) => self.effects.push(Effect::Page(text)),
                Cmd::Copy(text, what) => {
                    self.notify(Tone::Plain, format!("{what} copied: {}", text.lines().next().unwrap_or_default()));
                    self.effects.push(Effect::Copy(Redacted(text)));
                }
                Cmd::CopySecret(text, what) => {
                    self.notify(Tone::Plain, format!("{what} copied"));
                    self.effects.push(Effect::Copy(text));
                }
            }
        }
    }
    /// Passes the text of the editor to the form that opened it.
    pub(super) fn take_edited(&mut self, id: LayerId, edited: Result<Redacted, String>) {
        let open = self.layers.iter_mut().find(|open| open.id == id).map(|open| &mut open.layer);
        match (edited, open) {
            (Ok(text), Some(Layer::Form(form))) => form.take_edited(text),
            (Ok(_), _) => {}
            (Err(why), _) => self.notify(Tone::Error, why),
        }
    }
}
