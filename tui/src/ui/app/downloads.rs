//! Reports the results of downloads, and sends the requests that wait for one.

use super::{App, Effect, RequestOwner};
use crate::ui::{
    key::Key,
    layer::{
        Layer, Menu,
        menu::{Item, Pick},
    },
    net::{Answer, Existing, ExpectedRepository, Problem, Request},
    transfers::TransferNotice,
    world::{Cmd, Tone},
};

/// A request that is sent when a download has saved its file.
#[derive(Debug)]
pub(super) struct AfterDownload {
    download: Request,
    sender: RequestOwner,
    request: Request,
    /// The repositories that the request must be about.
    expected: Vec<ExpectedRepository>,
}

impl App {
    /// Downloads a file, then sends a request.
    pub(super) fn send_after(&mut self, download: Request, sender: RequestOwner, request: Request) {
        self.notify(Tone::Plain, format!("{} first", download.doing()));
        self.send(RequestOwner::Transfers, download.clone());
        let expected = self.expected_by(&request);
        self.afterwards.push(AfterDownload { download, sender, request, expected });
    }

    pub(super) fn answer_transfer(&mut self, request: &Request, result: &Result<Answer, Problem>) {
        let Some(notice) = self.world.transfers.take(request, result, self.world.now) else { return };
        let waiting = self.afterwards.iter().position(|after| after.download == *request);
        let then = waiting.map(|at| self.afterwards.remove(at));
        if then.is_some() {
            // The request that follows the download is still to be sent.
            self.quits_later = false;
        }
        self.quit_when_saved(&notice);
        match notice {
            TransferNotice::Saved(text) => {
                if let Some(then) = then {
                    self.expected = then.expected;
                    self.send(then.sender, then.request);
                    self.expected.clear();
                }
                self.notify(Tone::Plain, text);
            }
            TransferNotice::Failed(text) => self.notify(Tone::Error, text),
            TransferNotice::Exists => {
                if let Some(AfterDownload { sender, request: then, expected, .. }) = then {
                    // The request follows the download that the user chooses in the menu.
                    for existing in [Existing::Beside, Existing::Replace] {
                        let download = request.with_existing(existing);
                        let (request, expected) = (then.clone(), expected.clone());
                        self.afterwards.push(AfterDownload { download, sender, request, expected });
                    }
                }
                self.offer_existing(request);
            }
        }
    }

    /// Opens the menu for a file that exists.
    fn offer_existing(&mut self, request: &Request) {
        // Do not quit before the user has decided about the file.
        self.quits_later = false;
        let item = |key: char, title: &str, existing: Existing| Item {
            key: Some(Key::Char(key)),
            title: title.to_owned(),
            off: None,
            pick: Pick::Do(Cmd::Send(request.with_existing(existing))),
        };
        let items = vec![
            item('b', "Save under another name", Existing::Beside),
            item('o', "Overwrite the file", Existing::Replace),
        ];
        let name = request.file().unwrap_or_default();
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
