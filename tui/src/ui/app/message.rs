//! What the model hears and what it answers.

use ratatui::layout::Size;

use super::Mouse;
use crate::ui::{
    key::Key,
    net::{Answer, Ask, Problem, Ticket, Turn},
};

/// Something happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    /// The pager was left, or could not be shown.
    Paged(Result<(), String>),
    /// Whether the terminal can be told where a frame begins and ends.
    Sync(bool),
    /// The line to the terminal has become slow, or fast again.
    Slow(bool),
    /// Something is wrong that was found before the first picture.
    Warning(String),
    Resized(Size),
    Answer(Ticket, Result<Answer, Problem>),
    /// Where the daemon is, and which token it is shown.
    Place(String, Option<String>),
    /// The token is sent unencrypted to this address of another machine.
    ExposedToken(String),
    /// A signal that ends the program.
    Signal(u8),
    /// The program goes on after it was stopped.
    Continued,
    /// Time has passed.
    Tick,
}

/// Something is to be done.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Ask(Ticket, Ask),
    Cancel(Ticket),
    Turn(Turn),
    /// Nothing is asked soon.
    Rest,
    Copy(String),
    /// Give the terminal to the user's pager, with a text.
    Page(String),
    /// Let the terminal tell of the mouse, or not.
    Mouse(bool),
    Bell,
    /// Tell the terminal where frames begin and end, or not.
    Sync(bool),
    /// Find out anew what the terminal is.
    Redetect,
    Repaint,
    Suspend,
    Quit(u8),
}
