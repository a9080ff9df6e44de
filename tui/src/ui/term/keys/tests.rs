//! Tests of keys, pastes and answers, complete and split.

use super::*;

fn keys(bytes: &[u8]) -> Vec<InputEvent> {
    let mut decoder = Decoder::default();
    let mut events = decoder.feed(bytes);
    events.extend(decoder.quiet());
    events
}

fn key(key: Key) -> InputEvent {
    InputEvent::Key(key)
}

#[test]
fn key_sequences_are_decoded_even_if_split_between_reads() {
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
    for (bytes, expected) in cases {
        assert_eq!(keys(bytes), [key(expected)], "{bytes:?}");
        for at in 1..bytes.len() {
            let mut decoder = Decoder::default();
            assert_eq!(decoder.feed(&bytes[..at]), [], "{bytes:?} at {at}");
            assert_eq!(decoder.waits(Duration::ZERO), Some(Duration::ZERO));
            assert_eq!(decoder.feed(&bytes[at..]), [key(expected)], "{bytes:?} at {at}");
            assert_eq!(decoder.waits(Duration::ZERO), None);
        }
    }
}

#[test]
fn unknown_escape_sequences_type_nothing() {
    for bytes in [
        "\x1b[?2027;2$y",
        "\x1b[5;1R",
        "\x1b[I",
        "\x1b[<3;3;4M",
        "\x1b[<2;3;4m",
        "\x1b[<0;0;4M",
        "\x1bOx",
        "\x1b[99~",
        "\x1b[M",
    ] {
        assert_eq!(keys(bytes.as_bytes()), [], "{bytes:?}");
    }
    assert_eq!(keys(b"\xff\xc3xy"), [key(Key::Char('x')), key(Key::Char('y'))]);
    assert_eq!(keys(b"\x1b[12\x03"), [key(Key::Ctrl('c'))], "Ctrl+C works inside an incomplete sequence");
}

#[test]
fn a_terminal_response_is_not_decoded_as_keys_even_if_split() {
    for (answer, known) in [("\x1b[?2026;2$y", true), ("\x1b[?2026;1$y", true), ("\x1b[?2026;0$y", false)] {
        assert_eq!(keys(answer.as_bytes()), [InputEvent::Sync(known)]);
        for at in 1..answer.len() {
            let mut decoder = Decoder::default();
            decoder.expect(true);
            let mut events = decoder.feed(&answer.as_bytes()[..at]);
            // A timeout between the two parts, as on a slow connection.
            if decoder.waits(Duration::ZERO) == Some(Duration::ZERO) {
                events.extend(decoder.quiet());
            }
            events.extend(decoder.feed(&answer.as_bytes()[at..]));
            events.retain(|one| *one != key(Key::Esc));
            assert_eq!(events, [InputEvent::Sync(known)], "split at {at}");
            assert_eq!(decoder.feed(b"x"), [key(Key::Char('x'))]);
        }
    }
}

#[test]
fn keys_are_decoded_while_a_terminal_response_is_expected() {
    let mut decoder = Decoder::default();
    decoder.expect(true);
    decoder.feed(b"\x1b");
    assert_eq!(decoder.quiet(), [key(Key::Esc)]);
    assert_eq!(decoder.feed(b"j"), [key(Key::Char('j'))]);
    decoder.feed(b"\x1b");
    decoder.quiet();
    assert_eq!(decoder.feed(b"[?x"), ['[', '?', 'x'].map(|c| key(Key::Char(c))));
    decoder.feed(b"\x1b");
    decoder.quiet();
    assert_eq!(decoder.feed(b"[?"), []);
    assert_eq!(decoder.quiet(), ['[', '?'].map(|c| key(Key::Char(c))), "no response follows");
    decoder.feed(b"\x1b");
    decoder.quiet();
    assert_eq!(decoder.feed(b"\x1b[A"), [key(Key::Up)]);
}

#[test]
fn wheel_and_click_sequences_are_mouse_events() {
    assert_eq!(keys(b"\x1b[<64;10;5M"), [InputEvent::Mouse(Mouse::Up { x: 9 })]);
    assert_eq!(keys(b"\x1b[<65;10;5M"), [InputEvent::Mouse(Mouse::Down { x: 9 })]);
    assert_eq!(keys(b"\x1b[<2;10;5M"), [InputEvent::Mouse(Mouse::RightClick { x: 9, y: 4 })]);
    assert_eq!(keys(b"\x1b[<32;10;5M"), [InputEvent::Mouse(Mouse::Drag { x: 9 })]);
    assert_eq!(keys(b"\x1b[<0;10;5m"), [InputEvent::Mouse(Mouse::Release)]);
    for ignored in [&b"\x1b[<2;10;5m"[..], b"\x1b[<0;0;5M", b"\x1b[<0;70000;5M", b"\x1b[<0;5M", b"\x1b[<35;1;1M"] {
        assert_eq!(keys(ignored), [], "{ignored:?}");
    }
    assert_eq!(keys(b"\x1b[<0;200;5M"), [InputEvent::Mouse(Mouse::Click { x: 199, y: 4 })]);
}

#[test]
fn escape_is_a_key_unless_it_begins_a_sequence() {
    let esc = || key(Key::Esc);
    assert_eq!(keys(b"\x1b"), [esc()]);
    assert_eq!(keys(b"\x1bq"), [esc(), key(Key::Char('q'))]);
    assert_eq!(keys(b"\x1b\x1b"), [esc(), esc()]);
    assert_eq!(keys(b"\x1b["), [esc(), key(Key::Char('['))]);
    assert_eq!(keys(b"\x1bO"), [esc(), key(Key::Char('O'))]);
    assert_eq!(keys(b"\x1b[5"), [], "an incomplete sequence is dropped");
}

#[test]
fn a_paste_is_one_event_even_if_split_between_reads() {
    let bytes = "\x1b[200~D\rq\x03 é \x1b[Ay\n\x1b[201~".as_bytes();
    let expected = [InputEvent::Paste("D\rq\x03 é \x1b[Ay\n".into())];
    for at in 0..=bytes.len() {
        let mut decoder = Decoder::default();
        let mut events = decoder.feed(&bytes[..at]);
        events.extend(decoder.feed(&bytes[at..]));
        assert_eq!(events, expected, "split at {at}");
        assert_eq!(decoder.feed(b"x"), [key(Key::Char('x'))]);
    }
    let mut decoder = Decoder::default();
    decoder.feed(b"\x1b[200~");
    decoder.feed(&vec![b'x'; PASTE_MAX + 100]);
    let [InputEvent::Paste(text)] = &decoder.feed(b"\x1b[201~")[..] else { panic!("no paste") };
    assert!(text.len() <= PASTE_MAX);
}
