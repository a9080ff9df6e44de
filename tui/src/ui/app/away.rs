//! Other daemons, other callers, and a daemon where there is none.

use farrier_common::client::RepositoryPath;

use super::{App, Effect};
use crate::ui::{
    form::{Field, Form},
    layer::{Confirm, Layer},
    net::{Ask, Turn},
    screens::{Purpose, ScreenId, Screens},
    world::{Cmd, Link, Tone},
};

impl App {
    /// Offers to start a daemon: what it is, where its data and its log are.
    pub(super) fn offer_start(&mut self) {
        let Some(starter) = self.world.starter.clone() else { return };
        let lines = vec![
            starter.program.display().to_string(),
            "It serves this user on a socket of their own and on 127.0.0.1:3000, and keeps its data in ~/.local/share/farrier.".to_owned(),
            "It goes on when this terminal closes; `kill` ends it in order.".to_owned(),
            format!("Its log: {}", starter.log.display()),
        ];
        let ask = Ask::StartDaemon(Box::new(starter));
        let question = Confirm::local("Start a daemon for this user".to_owned(), lines, "Start", ask, &self.world);
        self.layers.push(Layer::Confirm(question));
    }

    /// Asks for a token, which is shown to nobody.
    pub(super) fn ask_token(&mut self) {
        let field = Field::secret("token", "Token").required().help("used until this program ends; kept nowhere");
        let form = Form::new("Another token", "Use", Purpose::Token, vec![field]);
        self.layers.push(Layer::Form(Box::new(form)));
    }

    /// Speaks to another daemon or as another caller. What was seen belongs to the one before.
    pub(super) fn turn(&mut self, turn: Turn) {
        let pending: Vec<_> = self.pending.drain().map(|(ticket, _)| ticket).collect();
        self.effects.extend(pending.into_iter().map(Effect::Cancel));
        self.effects.push(Effect::Turn(turn));
        self.layers.clear();
        (self.world.link, self.world.status, self.world.token) = (Link::Connecting, None, None);
        self.screens = Screens::default();
        self.ask(Ask::Status);
        self.go(self.current);
    }

    /// Carries out a command that has an argument.
    pub(super) fn run_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["time", style] => self.write_times(style),
            ["theme", name] => self.wear(name),
            ["connect", place] => self.turn(Turn::To((*place).to_owned())),
            ["hook", "show", id] if id.parse::<u64>().is_ok() => {
                self.carry_out(vec![Cmd::Deliveries(id.parse().ok())]);
            }
            ["repo", "show", name] => {
                self.screens.repositories.show_named(name);
                self.go(ScreenId::Repositories);
            }
            ["artifacts"] => self.show_artifacts(None, None),
            ["artifacts", of] if of.parse::<RepositoryPath>().is_ok() => self.show_artifacts(of.parse().ok(), None),
            [noun @ ("artifact" | "run"), id] if id.parse::<i64>().is_ok() => {
                self.show_artifacts(None, None);
                let id = id.parse().unwrap_or_default();
                if *noun == "run" {
                    self.screens.artifacts.show_run(id);
                } else {
                    self.screens.artifacts.show_artifact(id);
                }
            }
            ["delivery", "list", "--event", event] => {
                self.carry_out(vec![Cmd::DeliveriesOf((*event).to_owned())]);
            }
            _ => self.say(Tone::Plain, format!("no such command: {line}")),
        }
    }
}
