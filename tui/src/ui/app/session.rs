//! Connects to another daemon, changes credentials and starts a daemon.

use super::{App, Effect, RequestOwner};
use crate::config;
use crate::ui::{
    form::{Field, Form},
    key::Key,
    layer::{
        Confirm, Layer, Menu, Offer,
        menu::{Item, Pick},
    },
    net::{Reconnect, Request},
    saved_state::SavedState,
    screens::{FormKind, Screens},
    transfers::Transfers,
    world::{Cmd, Link, Tone, UNKNOWN_ADDRESS},
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

    /// Connects to the context, socket or URL of `:connect`. A word with a `/` is a path or a URL, because a name of a
    /// context has none. Asks first if downloads or changes would be stopped.
    pub(super) fn connect(&mut self, word: &str) -> Result<(), String> {
        let target = if word.contains('/') {
            Reconnect::To(word.to_owned())
        } else {
            Reconnect::Context(Box::new(config::named(&self.contexts, word)?.clone()))
        };
        let Some(what) = self.unfinished() else {
            self.reconnect(target);
            return Ok(());
        };
        let item = |key: char, title: String, cmd: Cmd| Item {
            key: Some(Key::Char(key)),
            title,
            off: None,
            pick: Pick::Do(cmd),
        };
        let stay = Cmd::Notify(Tone::Plain, format!("Still connected to {}", self.server()));
        let items = vec![
            item('w', "Wait: stay connected".to_owned(), stay),
            item('s', format!("Stop and connect to {word}: partial files are kept"), Cmd::Reconnect(target)),
        ];
        self.open_own(Layer::Menu(Menu::new(what, items)));
        Ok(())
    }

    /// Describes the downloads and changes that have not ended.
    fn unfinished(&self) -> Option<String> {
        let changes = self.pending.values().filter(|one| one.request.changes() && !one.request.is_load()).count();
        let changes = match changes {
            0 => None,
            1 => Some("1 change has no response yet".to_owned()),
            many => Some(format!("{many} changes have no response yet")),
        };
        let both: Vec<String> = self.world.transfers.losses().into_iter().chain(changes).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// Returns the contexts whose name or address contains `typed`.
    pub(super) fn context_offers(&self, typed: &str) -> Vec<Offer> {
        let offers = self.contexts.iter().map(|one| Offer { value: one.name.clone(), about: one.describe() });
        let mut found: Vec<Offer> =
            offers.filter(|one| one.value.contains(typed) || one.about.contains(typed)).collect();
        found.sort_by_key(|one| !one.value.starts_with(typed));
        found
    }

    /// Connects to another daemon or with other credentials. Drops everything that was loaded before, stops downloads
    /// and forgets what could be undone. With other credentials, the same place is shown again.
    pub(super) fn reconnect(&mut self, target: Reconnect) {
        let pending: Vec<_> = self.pending.drain().map(|(ticket, _)| ticket).collect();
        self.effects.extend(pending.into_iter().map(Effect::Cancel));
        self.reconnections += 1;
        self.layers.clear();
        self.afterwards.clear();
        self.undo = None;
        (self.quits_later, self.was_silent, self.refused) = (false, false, 0);
        self.world.transfers = Transfers::default();
        (self.world.link, self.world.status, self.world.token) = (Link::Connecting, None, None);
        let is_other_daemon = target.selects_daemon();
        if is_other_daemon {
            self.forget_daemon(&target);
        }
        self.effects.push(Effect::Reconnect(target));
        // Sort orders are preferences of the user, which are saved at the end.
        let (preferences, place) = (self.saved_state(), self.place());
        self.screens = Screens::default();
        self.recall(&SavedState { place: None, ..preferences });
        self.send(RequestOwner::App, Request::Status);
        if is_other_daemon {
            self.forget_places();
            self.go(self.current);
            self.forget_jump();
        } else {
            self.return_to(place);
        }
    }

    /// Drops the name, the limits, the messages and the typed commands of the previous daemon.
    fn forget_daemon(&mut self, target: &Reconnect) {
        self.world.context = match target {
            Reconnect::Context(context) => Some((**context).clone()),
            _ => None,
        };
        self.world.read_only = self.read_only || self.world.context.as_ref().is_some_and(|one| one.server.read_only);
        UNKNOWN_ADDRESS.clone_into(&mut self.world.address);
        self.messages.clear();
        // An ID in an earlier command belongs to another object on the next daemon.
        self.commands.retain(|line| line.starts_with("connect "));
        self.notice = None;
    }
}
