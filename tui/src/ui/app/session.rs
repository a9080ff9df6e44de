//! Connects to another daemon, changes credentials and starts a daemon.

use super::{App, Effect, RequestOwner};
use crate::ui::{
    form::{Field, Form},
    layer::{Confirm, Layer},
    net::{Reconnect, Request},
    screens::{FormKind, Screens},
    world::Link,
};

impl App {
    /// Opens the question whether to start a daemon. It shows the program, its data directory and its log.
    pub(super) fn offer_start(&mut self) {
        let Some(starter) = self.world.starter.clone() else { return };
        let lines = vec![
            starter.program.display().to_string(),
            "It listens on a socket of this user and on 127.0.0.1:3000. Its data is in ~/.local/share/farrier."
                .to_owned(),
            "It keeps running when this terminal closes; `kill` stops it.".to_owned(),
            format!("Log: {}", starter.log.display()),
        ];
        let request = Request::StartDaemon(Box::new(starter));
        let question = Confirm::local("Start a daemon for this user".to_owned(), lines, "Start", request, &self.world);
        self.open_own(Layer::Confirm(question));
    }

    /// Opens the form for a token. The field is never shown.
    pub(super) fn open_token_form(&mut self) {
        let field = Field::secret("token", "Token").required().help("used until this program ends; not saved");
        let form = Form::new("Use another token", "Use", FormKind::Token, vec![field]);
        self.open_own(Layer::Form(Box::new(form)));
    }

    /// Connects to another daemon or with other credentials. Drops everything that was loaded before.
    pub(super) fn reconnect(&mut self, target: Reconnect) {
        let pending: Vec<_> = self.pending.drain().map(|(ticket, _)| ticket).collect();
        self.effects.extend(pending.into_iter().map(Effect::Cancel));
        self.effects.push(Effect::Reconnect(target));
        self.layers.clear();
        (self.world.link, self.world.status, self.world.token) = (Link::Connecting, None, None);
        self.screens = Screens::default();
        self.send(RequestOwner::App, Request::Status);
        self.go(self.current);
    }
}
