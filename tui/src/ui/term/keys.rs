//! Decodes bytes to keys.
//!
//! A pure state machine: takes bytes one by one, so it does not matter where a read or a network splits a sequence.
//! Unknown sequences are dropped completely, because their letters were not typed. It has no clock: the caller
//! reports a timeout with [`Decoder::quiet`].

use std::time::Duration;

use super::InputEvent;
use crate::ui::{app::Mouse, key::Key};

const PASTE_BEGINS: &[u8] = b"200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Maximum length of a paste; the rest is dropped.
const PASTE_MAX: usize = 1 << 20;
/// Maximum length of a sequence; anything longer is not a sequence.
const SEQUENCE_MAX: usize = 32;
/// Maximum delay between the parts of a split answer.
const REST: Duration = Duration::from_secs(1);
/// The answer to the DECRQM query without its escape byte; the letter is a placeholder for a digit.
const ANSWER: &[u8] = b"[?2026;N$y";
/// After this time a paste ends even without its end marker, so that it does not swallow all later keys.
const PASTE_QUIET: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After an escape byte, which may be a key or the beginning of a sequence.
    Escape,
    /// After `ESC [`.
    Control,
    /// After `ESC O`.
    Single,
    Paste,
    /// Within a multi-byte character.
    Character,
    /// After an escape byte that was reported as a key, while the rest of an answer may follow.
    Rest,
}

/// Bytes that were read and not decoded yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    state: State,
    held: Vec<u8>,
    /// Whether a query was sent and may be answered.
    expects: bool,
}

impl Decoder {
    /// Sets whether a query was sent recently.
    pub(super) fn expect(&mut self, expects: bool) {
        self.expects = expects;
    }

    /// Returns how long to wait for more before [`Decoder::quiet`], if the sequence may be incomplete.
    pub(super) fn waits(&self, escape_timeout: Duration) -> Option<Duration> {
        match self.state {
            State::Ground => None,
            // It is certainly not a key, and its remaining bytes must not be decoded as keys.
            State::Control if self.expects && self.held.first() == Some(&b'?') => Some(REST),
            State::Rest => Some(REST),
            State::Paste => Some(PASTE_QUIET),
            _ => Some(escape_timeout),
        }
    }

    /// Reports a timeout: no more bytes arrived.
    pub(super) fn quiet(&mut self) -> Vec<InputEvent> {
        let held = std::mem::take(&mut self.held);
        match std::mem::take(&mut self.state) {
            State::Escape if self.expects => {
                self.state = State::Rest;
                vec![InputEvent::Key(Key::Esc)]
            }
            State::Control if self.expects && held.is_empty() => {
                (self.state, self.held) = (State::Rest, vec![b'[']);
                vec![InputEvent::Key(Key::Esc)]
            }
            State::Rest => held.iter().map(|byte| InputEvent::Key(Key::Char(char::from(*byte)))).collect(),
            State::Escape => vec![InputEvent::Key(Key::Esc)],
            State::Control if held.is_empty() => vec![InputEvent::Key(Key::Esc), InputEvent::Key(Key::Char('['))],
            State::Single => vec![InputEvent::Key(Key::Esc), InputEvent::Key(Key::Char('O'))],
            State::Paste => vec![InputEvent::Paste(String::from_utf8_lossy(&held).into_owned())],
            State::Ground | State::Control | State::Character => Vec::new(),
        }
    }

    /// Decodes bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<InputEvent> {
        let mut events = Vec::new();
        for byte in bytes {
            self.take(*byte, &mut events);
        }
        events
    }

    fn take(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match self.state {
            State::Ground => self.ground(byte, events),
            State::Escape => match byte {
                b'[' => self.state = State::Control,
                b'O' => self.state = State::Single,
                // Escape and a key in one packet are Alt and the key.
                _ => {
                    events.push(InputEvent::Key(Key::Esc));
                    self.again(byte, events);
                }
            },
            State::Single => {
                self.state = State::Ground;
                events.extend(letter(byte).map(InputEvent::Key));
            }
            State::Control => self.control(byte, events),
            State::Rest => self.rest(byte, events),
            State::Paste => {
                self.held.push(byte);
                if self.held.ends_with(PASTE_ENDS) {
                    self.held.truncate(self.held.len() - PASTE_ENDS.len());
                    events.extend(self.quiet());
                } else if self.held.len() > PASTE_MAX {
                    // The end marker must still be recognized.
                    self.held.drain(PASTE_MAX - PASTE_ENDS.len()..self.held.len() - PASTE_ENDS.len());
                }
            }
            State::Character => {
                if byte & 0xc0 != 0x80 {
                    return self.again(byte, events);
                }
                self.held.push(byte);
                self.character(events);
            }
        }
    }

    /// Drops the incomplete sequence and decodes the byte on its own.
    fn again(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        self.held.clear();
        self.state = State::Ground;
        self.ground(byte, events);
    }

    /// Decodes the rest of an answer, or keys.
    fn rest(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        let index = self.held.len();
        let fits =
            ANSWER.get(index).is_some_and(|expected| *expected == byte || *expected == b'N' && byte.is_ascii_digit());
        if !fits {
            for byte in std::mem::take(&mut self.held) {
                events.push(InputEvent::Key(Key::Char(char::from(byte))));
            }
            return self.again(byte, events);
        }
        self.held.push(byte);
        if self.held.len() == ANSWER.len() {
            let held = std::mem::take(&mut self.held);
            self.state = State::Ground;
            events.extend(synchronized(&held[1..]).map(InputEvent::Sync));
        }
    }

    fn ground(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        let key = match byte {
            0x1b => {
                self.state = State::Escape;
                return;
            }
            0x80.. => {
                self.held.push(byte);
                self.state = State::Character;
                return self.character(events);
            }
            b'\r' => Key::Enter,
            b'\t' => Key::Tab,
            0x7f => Key::Backspace,
            0 => Key::Ctrl(' '),
            0x01..=0x1a => Key::Ctrl(char::from(byte - 1 + b'a')),
            0x1c..=0x1f => Key::Ctrl(char::from(byte - 0x1c + b'4')),
            _ => Key::Char(char::from(byte)),
        };
        events.push(InputEvent::Key(key));
    }

    fn character(&mut self, events: &mut Vec<InputEvent>) {
        match std::str::from_utf8(&self.held) {
            Ok(text) => events.extend(text.chars().map(|c| InputEvent::Key(Key::Char(c)))),
            Err(error) if error.error_len().is_none() => return,
            Err(_) => {}
        }
        self.held.clear();
        self.state = State::Ground;
    }

    fn control(&mut self, byte: u8, events: &mut Vec<InputEvent>) {
        match byte {
            // The function keys of the Linux console have a second bracket.
            b'[' if self.held.is_empty() => self.held.push(byte),
            b' '..=b'?' if self.held.len() < SEQUENCE_MAX => self.held.push(byte),
            b'@'..=b'~' => {
                self.held.push(byte);
                self.state = State::Ground;
                let held = std::mem::take(&mut self.held);
                if held == PASTE_BEGINS {
                    self.state = State::Paste;
                } else if let Some(known) = synchronized(&held) {
                    events.push(InputEvent::Sync(known));
                } else {
                    events.extend(mouse(&held).map(InputEvent::Mouse).or_else(|| sequence(&held).map(InputEvent::Key)));
                }
            }
            _ => self.again(byte, events),
        }
    }
}

/// Returns the key of a final letter after `ESC [` or `ESC O`.
fn letter(byte: u8) -> Option<Key> {
    Some(match byte {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        b'M' => Key::Enter,
        b'P'..=b'S' => Key::F(byte - b'P' + 1),
        _ => return None,
    })
}

/// Returns the key of a sequence after `ESC [`. Modifiers are ignored: an arrow with Ctrl is an arrow.
fn sequence(held: &[u8]) -> Option<Key> {
    let (last, parameters) = held.split_last()?;
    if let [b'['] = parameters {
        return (b'A'..=b'E').contains(last).then(|| Key::F(last - b'A' + 1));
    }
    let text = std::str::from_utf8(parameters).ok()?;
    let first = text.split(';').next().unwrap_or_default();
    if *last != b'~' {
        // A sequence with other parameters is a report of the terminal, not a key.
        return matches!(first, "" | "1").then(|| letter(*last)).flatten().filter(|key| *key != Key::Enter);
    }
    Some(match first.parse::<u8>().ok()? {
        1 | 7 => Key::Home,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        n @ 11..=15 => Key::F(n - 10),
        n @ 17..=21 => Key::F(n - 11),
        n @ 23..=24 => Key::F(n - 12),
        _ => return None,
    })
}

/// Returns whether a terminal supports mode 2026, by its answer: `?2026;1$y` (set), 2 (reset), or 3 (permanently
/// set).
fn synchronized(held: &[u8]) -> Option<bool> {
    let [state] = held.strip_prefix(b"?2026;")?.strip_suffix(b"$y")? else { return None };
    Some(matches!(state, b'1'..=b'3'))
}

/// Decodes a mouse event in SGR form: `<BUTTON;COLUMN;ROWM`, or with `m` at the end when the button is released.
fn mouse(held: &[u8]) -> Option<Mouse> {
    let text = std::str::from_utf8(held).ok()?.strip_prefix('<')?;
    let pressed = text.strip_suffix('M');
    let mut numbers = pressed.or_else(|| text.strip_suffix('m'))?.split(';').map(str::parse::<u16>);
    let (button, column, row) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    let (x, y) = (column.checked_sub(1)?, row.checked_sub(1)?);
    match button {
        0 if pressed.is_none() => Some(Mouse::Release),
        _ if pressed.is_none() => None,
        0 => Some(Mouse::Click { x, y }),
        2 => Some(Mouse::RightClick { x, y }),
        32 => Some(Mouse::Drag { x }),
        64 => Some(Mouse::Up { x }),
        65 => Some(Mouse::Down { x }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
