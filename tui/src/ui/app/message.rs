//! Messages to the model and effects that it returns.

use ratatui::layout::Size;

use super::Mouse;
use crate::ui::{
    key::Key,
    layer::LayerId,
    net::{Answer, ExpectedRepository, Problem, Reconnect, Request, Ticket},
    redacted::Redacted,
};

/// An input of the model.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The pager ended, or could not be started.
    Paged(Result<(), String>),
    /// The editor ended: the layer that opened it, and the text of the file.
    Edited(LayerId, Result<Redacted, String>),
    /// Whether the terminal supports synchronized output.
    Sync(bool),
    /// The connection to the terminal has become slow, or fast again.
    Slow(bool),
    /// A problem that was found before the first frame.
    Warning(String),
    Resized(Size),
    Answer(Ticket, Result<Answer, Problem>),
    /// The number of reconnections before this connection, the address of the daemon, and a description of the token.
    Endpoint(u64, String, Option<String>),
    /// The number of reconnections, and the address on another host to which the token is sent unencrypted.
    ExposedToken(u64, String),
    /// A signal that ends the program.
    Signal(u8),
    /// The program was continued after a stop.
    Continued,
    /// Time has passed.
    Tick,
}

/// An action that the event loop carries out.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Send(Ticket, Request),
    /// The next request has this ticket. Send it only if these names belong to these repositories.
    Expect(Ticket, Vec<ExpectedRepository>),
    Cancel(Ticket),
    Reconnect(Reconnect),
    /// Close idle connections: no request follows soon.
    Rest,
    Copy(Redacted),
    /// Show a text in the user's pager.
    Page(String),
    /// Open a text of this layer in the user's editor.
    Edit(LayerId, Redacted),
    /// Turn mouse reports of the terminal on or off.
    Mouse(bool),
    Bell,
    /// Turn synchronized output on or off.
    Sync(bool),
    /// Detect the terminal again.
    Redetect,
    Repaint,
    Suspend,
    Quit(u8),
}
