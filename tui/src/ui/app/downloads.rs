//! Reports the results of downloads, and sends the requests that wait for one.

use super::{App, Effect, RequestOwner};
use crate::ui::{
    key::Key,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    net::{Answer, Ask, Existing, Problem},
    transfers::TransferNotice,
    world::{Cmd, Tone},
};

/// A request that is sent when a download has saved its file.
#[derive(Debug)]
pub(super) struct AfterDownload {
    download: Ask,
    sender: RequestOwner,
    ask: Ask,
}

impl App {
    /// Downloads a file, then sends a request.
    pub(super) fn ask_after(&mut self, download: Ask, sender: RequestOwner, ask: Ask) {
        self.notify(Tone::Plain, format!("{} first", download.doing()));
        self.ask(RequestOwner::Transfers, download.clone());
        self.afterwards.push(AfterDownload { download, sender, ask });
    }

    pub(super) fn answer_transfer(&mut self, ask: &Ask, result: &Result<Answer, Problem>) {
        let Some(notice) = self.world.transfers.take(ask, result, self.world.now) else { return };
        let waiting = self.afterwards.iter().position(|after| after.download == *ask);
        let then = waiting.map(|at| self.afterwards.remove(at));
        if then.is_some() {
            // The request that follows the download is still to be sent.
            self.quits_later = false;
        }
        self.quit_when_saved(&notice);
        match notice {
            TransferNotice::Saved(text) => {
                if let Some(then) = then {
                    self.ask(then.sender, then.ask);
                }
                self.notify(Tone::Plain, text);
            }
            TransferNotice::Failed(text) => self.notify(Tone::Error, text),
            TransferNotice::Exists => {
                if let Some(AfterDownload { sender, ask: then, .. }) = then {
                    // The request follows the download that the user chooses in the menu.
                    for existing in [Existing::Beside, Existing::Replace] {
                        let download = ask.with_existing(existing);
                        self.afterwards.push(AfterDownload { download, sender, ask: then.clone() });
                    }
                }
                self.offer_existing(ask);
            }
        }
    }

    /// Opens the menu for a file that exists.
    fn offer_existing(&mut self, ask: &Ask) {
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
        self.open(RequestOwner::App, Layer::Menu(Menu::new(format!("{name} exists; Esc skips it"), items)));
    }

    /// Quits if the user asked to quit after the downloads and none is left. A failure cancels this.
    fn quit_when_saved(&mut self, notice: &TransferNotice) {
        match notice {
            TransferNotice::Failed(_) => self.quits_later = false,
            _ if self.quits_later && self.world.transfers.losses().is_none() => self.effects.push(Effect::Quit(0)),
            _ => {}
        }
    }
}
