//! What the terminal says: keys, pastes, sizes.
//!
//! Owns the reading thread's loop and the mending of keys whose bytes came in two pieces: over a
//! network the escape byte of an arrow key may arrive alone and must not count as Escape.

use std::{io, time::Duration};

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind, poll, read,
};

use crate::ui::{app::Mouse, key::Key};

/// What the terminal said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Key(Key),
    Paste(String),
    Mouse(Mouse),
    Resized,
}

/// Reads until nobody listens. `patience` is how long an escape byte waits for what may belong to it.
pub(crate) fn listen(patience: Duration, mut tell: impl FnMut(Said) -> bool) -> io::Result<()> {
    let mut mender = Mender::default();
    loop {
        let said = if mender.waits() && !poll(patience)? { mender.give_up() } else { mender.take(read()?) };
        for one in said {
            if !tell(one) {
                return Ok(());
            }
        }
    }
}

fn mouse(event: MouseEvent) -> Option<Mouse> {
    match event.kind {
        MouseEventKind::ScrollUp => Some(Mouse::Up),
        MouseEventKind::ScrollDown => Some(Mouse::Down),
        MouseEventKind::Down(MouseButton::Left) => Some(Mouse::Click { x: event.column, y: event.row }),
        _ => None,
    }
}

/// Puts torn sequences together again.
#[derive(Debug, Default)]
struct Mender {
    /// What came after an escape byte and may be the beginning of a sequence.
    held: Option<String>,
}

impl Mender {
    fn waits(&self) -> bool {
        self.held.is_some()
    }

    /// Nothing follows: it was the Escape key, and whatever came after it.
    fn give_up(&mut self) -> Vec<Said> {
        let Some(text) = self.held.take() else { return Vec::new() };
        std::iter::once(Key::Esc).chain(text.chars().map(Key::Char)).map(Said::Key).collect()
    }

    fn take(&mut self, event: Event) -> Vec<Said> {
        let key = match event {
            Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => return Vec::new(),
            Event::Key(key) => key,
            other => {
                let mut said = self.give_up();
                said.extend(match other {
                    Event::Paste(text) => Some(Said::Paste(text)),
                    Event::Resize(..) => Some(Said::Resized),
                    Event::Mouse(event) => mouse(event).map(Said::Mouse),
                    _ => None,
                });
                return said;
            }
        };
        let Some(held) = &mut self.held else { return self.fresh(&key) };
        match key.code {
            KeyCode::Char(c) if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() && fits(held, c) => {
                held.push(c);
                if !ends(held) {
                    return Vec::new();
                }
                let text = self.held.take().unwrap_or_default();
                // A sequence that means nothing here is dropped: its letters were never typed.
                meaning(&text).map(Said::Key).into_iter().collect()
            }
            _ => {
                let mut said = self.give_up();
                said.extend(self.fresh(&key));
                said
            }
        }
    }

    fn fresh(&mut self, key: &KeyEvent) -> Vec<Said> {
        if key.code == KeyCode::Esc && key.modifiers.is_empty() {
            self.held = Some(String::new());
            return Vec::new();
        }
        // Escape and a key in one packet look like Alt.
        let alt = key.modifiers.contains(KeyModifiers::ALT).then_some(Key::Esc);
        alt.into_iter().chain(Key::of(key)).map(Said::Key).collect()
    }
}

/// Whether `c` may follow `held` in a sequence.
fn fits(held: &str, c: char) -> bool {
    if held.is_empty() { matches!(c, '[' | 'O') } else { held.len() < 12 && (' '..='~').contains(&c) }
}

/// Whether the sequence is complete: `[` takes parameters, `O` one letter.
fn ends(held: &str) -> bool {
    held.len() > 1 && held.ends_with(|c: char| ('@'..='~').contains(&c))
}

fn meaning(text: &str) -> Option<Key> {
    Some(match text {
        "[A" | "OA" => Key::Up,
        "[B" | "OB" => Key::Down,
        "[C" | "OC" => Key::Right,
        "[D" | "OD" => Key::Left,
        "[H" | "OH" | "[1~" | "[7~" => Key::Home,
        "[F" | "OF" | "[4~" | "[8~" => Key::End,
        "[5~" => Key::PageUp,
        "[6~" => Key::PageDown,
        "[3~" => Key::Delete,
        "[Z" => Key::BackTab,
        "OP" | "[11~" => Key::F(1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn typed(mender: &mut Mender, text: &str) -> Vec<Said> {
        text.chars()
            .flat_map(|c| mender.take(press(if c == '\x1b' { KeyCode::Esc } else { KeyCode::Char(c) })))
            .collect()
    }

    #[test]
    fn a_torn_arrow_is_an_arrow() {
        let mut mender = Mender::default();
        for (bytes, key) in
            [("\x1b[B", Key::Down), ("\x1bOA", Key::Up), ("\x1b[5~", Key::PageUp), ("\x1b[Z", Key::BackTab)]
        {
            assert_eq!(typed(&mut mender, bytes), [Said::Key(key)], "{bytes:?}");
            assert!(!mender.waits());
        }
        assert_eq!(typed(&mut mender, "\x1b[1;5A"), [], "a sequence that means nothing types nothing");
        assert_eq!(typed(&mut mender, "x"), [Said::Key(Key::Char('x'))]);
    }

    #[test]
    fn a_lone_escape_is_one_and_what_follows_is_typed() {
        let mut mender = Mender::default();
        assert_eq!(typed(&mut mender, "\x1b"), []);
        assert_eq!(mender.give_up(), [Said::Key(Key::Esc)]);
        assert_eq!(typed(&mut mender, "\x1bq"), [Said::Key(Key::Esc), Said::Key(Key::Char('q'))]);
        assert_eq!(typed(&mut mender, "\x1b\x1b"), [Said::Key(Key::Esc)]);
        assert!(mender.waits());
        let pasted = mender.take(Event::Paste("p".into()));
        assert_eq!(pasted, [Said::Key(Key::Esc), Said::Paste("p".into())]);
        let alt = Event::Key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::ALT));
        assert_eq!(mender.take(alt), [Said::Key(Key::Esc), Said::Key(Key::Char('k'))]);
    }
}
