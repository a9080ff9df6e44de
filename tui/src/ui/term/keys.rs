//! From bytes to keys.
//!
//! Pure: takes bytes one by one, so that it does not matter where a read or a network tears them.
//! A sequence that means nothing here is dropped whole: its letters were never typed. Owns no time;
//! who feeds it says when nothing more has come.

use std::time::Duration;

use super::Said;
use crate::ui::{app::Mouse, key::Key};

const PASTE_BEGINS: &[u8] = b"200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Of a longer paste only the beginning is kept.
const PASTE_MAX: usize = 1 << 20;
/// No sequence is longer; what goes on so long is none.
const SEQUENCE_MAX: usize = 32;
/// A paste whose end was lost must not swallow keys for ever.
const PASTE_QUIET: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After an escape byte, which may be a key or the beginning of one.
    Escape,
    /// After `ESC [`.
    Control,
    /// After `ESC O`.
    Single,
    Paste,
    /// Within a character of more than one byte.
    Character,
}

/// What was read and is not understood yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    state: State,
    held: Vec<u8>,
}

impl Decoder {
    /// How long to wait for more before [`Decoder::quiet`], if what came may go on.
    pub(super) fn waits(&self, patience: Duration) -> Option<Duration> {
        match self.state {
            State::Ground => None,
            State::Paste => Some(PASTE_QUIET),
            _ => Some(patience),
        }
    }

    /// Nothing more comes.
    pub(super) fn quiet(&mut self) -> Vec<Said> {
        let held = std::mem::take(&mut self.held);
        match std::mem::take(&mut self.state) {
            State::Escape => vec![Said::Key(Key::Esc)],
            State::Control if held.is_empty() => vec![Said::Key(Key::Esc), Said::Key(Key::Char('['))],
            State::Single => vec![Said::Key(Key::Esc), Said::Key(Key::Char('O'))],
            State::Paste => vec![Said::Paste(String::from_utf8_lossy(&held).into_owned())],
            State::Ground | State::Control | State::Character => Vec::new(),
        }
    }

    /// Takes bytes as they come.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Said> {
        let mut said = Vec::new();
        for byte in bytes {
            self.take(*byte, &mut said);
        }
        said
    }

    fn take(&mut self, byte: u8, said: &mut Vec<Said>) {
        match self.state {
            State::Ground => self.ground(byte, said),
            State::Escape => match byte {
                b'[' => self.state = State::Control,
                b'O' => self.state = State::Single,
                // Escape and a key in one packet are what some call Alt.
                _ => {
                    said.push(Said::Key(Key::Esc));
                    self.again(byte, said);
                }
            },
            State::Single => {
                self.state = State::Ground;
                said.extend(letter(byte).map(Said::Key));
            }
            State::Control => self.control(byte, said),
            State::Paste => {
                self.held.push(byte);
                if self.held.ends_with(PASTE_ENDS) {
                    self.held.truncate(self.held.len() - PASTE_ENDS.len());
                    said.extend(self.quiet());
                } else if self.held.len() > PASTE_MAX {
                    // The end is still to be recognised.
                    self.held.drain(PASTE_MAX - PASTE_ENDS.len()..self.held.len() - PASTE_ENDS.len());
                }
            }
            State::Character => {
                if byte & 0xc0 != 0x80 {
                    return self.again(byte, said);
                }
                self.held.push(byte);
                self.character(said);
            }
        }
    }

    /// What was held is not gone on with; the byte stands for itself.
    fn again(&mut self, byte: u8, said: &mut Vec<Said>) {
        self.held.clear();
        self.state = State::Ground;
        self.ground(byte, said);
    }

    fn ground(&mut self, byte: u8, said: &mut Vec<Said>) {
        let key = match byte {
            0x1b => {
                self.state = State::Escape;
                return;
            }
            0x80.. => {
                self.held.push(byte);
                self.state = State::Character;
                return self.character(said);
            }
            b'\r' => Key::Enter,
            b'\t' => Key::Tab,
            0x7f => Key::Backspace,
            0 => Key::Ctrl(' '),
            0x01..=0x1a => Key::Ctrl(char::from(byte - 1 + b'a')),
            0x1c..=0x1f => Key::Ctrl(char::from(byte - 0x1c + b'4')),
            _ => Key::Char(char::from(byte)),
        };
        said.push(Said::Key(key));
    }

    fn character(&mut self, said: &mut Vec<Said>) {
        match std::str::from_utf8(&self.held) {
            Ok(text) => said.extend(text.chars().map(|c| Said::Key(Key::Char(c)))),
            Err(error) if error.error_len().is_none() => return,
            Err(_) => {}
        }
        self.held.clear();
        self.state = State::Ground;
    }

    fn control(&mut self, byte: u8, said: &mut Vec<Said>) {
        match byte {
            // The console's function keys have a second bracket.
            b'[' if self.held.is_empty() => self.held.push(byte),
            b' '..=b'?' if self.held.len() < SEQUENCE_MAX => self.held.push(byte),
            b'@'..=b'~' => {
                self.held.push(byte);
                self.state = State::Ground;
                let held = std::mem::take(&mut self.held);
                if held == PASTE_BEGINS {
                    self.state = State::Paste;
                } else {
                    said.extend(mouse(&held).map(Said::Mouse).or_else(|| sequence(&held).map(Said::Key)));
                }
            }
            _ => self.again(byte, said),
        }
    }
}

/// The key of a last letter, after `ESC [` or `ESC O`.
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

/// The key of what came after `ESC [`. Modifiers are let pass: an arrow with Ctrl is an arrow.
fn sequence(held: &[u8]) -> Option<Key> {
    let (last, parameters) = held.split_last()?;
    if let [b'['] = parameters {
        return (b'A'..=b'E').contains(last).then(|| Key::F(last - b'A' + 1));
    }
    let text = std::str::from_utf8(parameters).ok()?;
    let first = text.split(';').next().unwrap_or_default();
    if *last != b'~' {
        // What has other parameters is no key but a report of the terminal.
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

/// What the mouse did, as it is told when it was asked for: `<BUTTON;COLUMN;ROWM`.
fn mouse(held: &[u8]) -> Option<Mouse> {
    let text = std::str::from_utf8(held).ok()?.strip_prefix('<')?.strip_suffix('M')?;
    let mut numbers = text.split(';').map(str::parse::<u16>);
    let (button, column, row) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    match button {
        64 => Some(Mouse::Up),
        65 => Some(Mouse::Down),
        0 => Some(Mouse::Click { x: column.checked_sub(1)?, y: row.checked_sub(1)? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Said> {
        let mut decoder = Decoder::default();
        let mut said = decoder.feed(bytes);
        said.extend(decoder.quiet());
        said
    }

    fn key(key: Key) -> Said {
        Said::Key(key)
    }

    #[test]
    fn every_key_is_one_key_wherever_it_is_torn() {
        let cases: [(&[u8], Key); 24] = [
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[C", Key::Right),
            (b"\x1bOD", Key::Left),
            (b"\x1b[1;5A", Key::Up),
            (b"\x1b[H", Key::Home),
            (b"\x1b[1~", Key::Home),
            (b"\x1b[7~", Key::Home),
            (b"\x1bOF", Key::End),
            (b"\x1b[4~", Key::End),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[6~", Key::PageDown),
            (b"\x1b[6;2~", Key::PageDown),
            (b"\x1b[3~", Key::Delete),
            (b"\x1b[Z", Key::BackTab),
            (b"\x1bOP", Key::F(1)),
            (b"\x1b[[A", Key::F(1)),
            (b"\x1b[24~", Key::F(12)),
            (b"\r", Key::Enter),
            (b"\t", Key::Tab),
            (b"\x7f", Key::Backspace),
            (b"\x03", Key::Ctrl('c')),
            ("é".as_bytes(), Key::Char('é')),
            ("語".as_bytes(), Key::Char('語')),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(keys(bytes), [key(wanted)], "{bytes:?}");
            for at in 1..bytes.len() {
                let mut decoder = Decoder::default();
                assert_eq!(decoder.feed(&bytes[..at]), [], "{bytes:?} at {at}");
                assert_eq!(decoder.waits(Duration::ZERO), Some(Duration::ZERO));
                assert_eq!(decoder.feed(&bytes[at..]), [key(wanted)], "{bytes:?} at {at}");
                assert_eq!(decoder.waits(Duration::ZERO), None);
            }
        }
    }

    #[test]
    fn what_means_nothing_types_nothing() {
        for bytes in [
            "\x1b[?2026;2$y",
            "\x1b[5;1R",
            "\x1b[I",
            "\x1b[<2;3;4M",
            "\x1b[<0;3;4m",
            "\x1b[<0;0;4M",
            "\x1bOx",
            "\x1b[99~",
            "\x1b[M",
        ] {
            assert_eq!(keys(bytes.as_bytes()), [], "{bytes:?}");
        }
        assert_eq!(keys(b"\xff\xc3xy"), [key(Key::Char('x')), key(Key::Char('y'))]);
        assert_eq!(keys(b"\x1b[12\x03"), [key(Key::Ctrl('c'))], "a way out of everything");
    }

    #[test]
    fn the_mouse_is_told_from_keys() {
        assert_eq!(keys(b"\x1b[<64;10;5M"), [Said::Mouse(Mouse::Up)]);
        assert_eq!(keys(b"\x1b[<65;10;5M"), [Said::Mouse(Mouse::Down)]);
        assert_eq!(keys(b"\x1b[<0;200;5M"), [Said::Mouse(Mouse::Click { x: 199, y: 4 })]);
    }

    #[test]
    fn escape_is_a_key_when_nothing_follows() {
        let esc = || key(Key::Esc);
        assert_eq!(keys(b"\x1b"), [esc()]);
        assert_eq!(keys(b"\x1bq"), [esc(), key(Key::Char('q'))]);
        assert_eq!(keys(b"\x1b\x1b"), [esc(), esc()]);
        assert_eq!(keys(b"\x1b["), [esc(), key(Key::Char('['))]);
        assert_eq!(keys(b"\x1bO"), [esc(), key(Key::Char('O'))]);
        assert_eq!(keys(b"\x1b[5"), [], "the rest of a sequence that was lost");
    }

    #[test]
    fn a_paste_is_one_wherever_it_is_torn() {
        let bytes = "\x1b[200~D\rq\x03 é \x1b[Ay\n\x1b[201~".as_bytes();
        let wanted = [Said::Paste("D\rq\x03 é \x1b[Ay\n".into())];
        for at in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut said = decoder.feed(&bytes[..at]);
            said.extend(decoder.feed(&bytes[at..]));
            assert_eq!(said, wanted, "torn at {at}");
            assert_eq!(decoder.feed(b"x"), [key(Key::Char('x'))]);
        }
        let mut decoder = Decoder::default();
        decoder.feed(b"\x1b[200~");
        decoder.feed(&vec![b'x'; PASTE_MAX + 100]);
        let [Said::Paste(text)] = &decoder.feed(b"\x1b[201~")[..] else { panic!("no paste") };
        assert!(text.len() <= PASTE_MAX);
    }
}
