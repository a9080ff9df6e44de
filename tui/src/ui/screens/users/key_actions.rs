//! Actions on the SSH keys and OpenPGP keys of a user, with their confirmations.

use super::{KeyRow, Users, actions::is_own, form};
use crate::{
    output::clean_line,
    ui::{
        keymap::Action,
        layer::{Confirm, Layer, Menu, TextView},
        net::{KeyRequest, Request},
        world::{Env, World},
    },
};

impl Users {
    /// Returns the key of an action: the marked one, or the one under the cursor.
    fn key(&self) -> Option<&KeyRow> {
        self.keys.list.target().ok().flatten()
    }

    /// Carries out an action on the keys of a user. Returns whether the action is one of them.
    pub(super) fn change_keys(&self, login: &str, action: Action, env: &mut Env) -> bool {
        match action {
            Action::Open => {
                if let Some(key) = self.keys.list.current() {
                    let text = key.details(&env.world.clock);
                    env.open(Layer::TextView(TextView::new(format!("{} key of {login}", key.kind()), text)));
                }
            }
            Action::AddEntry => {
                let is_own = is_own(login, env.world);
                env.open(Layer::Form(Box::new(form::add_key(login, is_own))));
            }
            Action::DeleteEntry => match self.key() {
                Some(KeyRow::Gpg(_)) if !is_own(login, env.world) => {
                    env.warn("users delete their OpenPGP keys themselves");
                }
                Some(key) => {
                    let question = delete_question(login, key, env.world);
                    env.open(Layer::Confirm(question));
                }
                None => {}
            },
            Action::Copy => {
                let Some(key) = self.key() else { return true };
                // Titles and keys can contain characters that must not reach the shell that they are pasted into.
                let clean = |text: &str| clean_line(text).into_owned();
                let mut texts =
                    vec![('f', "fingerprint", clean(key.fingerprint())), ('t', "title", clean(&key.title()))];
                if let KeyRow::Ssh(key) = key {
                    texts.push(('p', "public key", clean(&key.key)));
                }
                env.open(Layer::Menu(Menu::copies("Copy", texts)));
            }
            _ => return false,
        }
        true
    }

    /// Returns why an action on the keys is not available now.
    pub(super) fn keys_unavailable(&self, action: Action) -> Option<String> {
        match action {
            Action::Open if self.keys.list.current().is_none() => Some("no key selected".to_owned()),
            Action::DeleteEntry | Action::Copy => match self.keys.list.target() {
                Err(why) => Some(why),
                Ok(None) => Some("no key selected".to_owned()),
                Ok(Some(_)) => None,
            },
            _ => None,
        }
    }
}

/// Returns the confirmation before a key is deleted.
fn delete_question(login: &str, key: &KeyRow, world: &World) -> Confirm {
    let (request, lines) = match key {
        KeyRow::Ssh(key) => {
            let is_own = is_own(login, world);
            let request = KeyRequest::DeleteSsh { is_own, id: key.id, title: key.title.clone() };
            (request, ["Clones, fetches and pushes with it are refused.", "Signatures with it are no longer verified."])
        }
        KeyRow::Gpg(key) => {
            let request = KeyRequest::DeleteGpg { id: key.id, key: key.key_id.clone() };
            (request, ["Signatures with it are no longer verified.", "Add it again to verify them."])
        }
    };
    let named = if key.title().is_empty() { key.fingerprint().to_owned() } else { key.title() };
    let lines = [key.fingerprint()].into_iter().chain(lines).map(str::to_owned).collect();
    let title = format!("Delete {} key {named} of {login}", key.kind());
    Confirm::simple(title, lines, "Delete", Request::AccountKeys(login.to_owned(), request), world)
}
