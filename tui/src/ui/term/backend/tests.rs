use super::*;
use ratatui::{
    Terminal,
    style::{Color, Modifier, Style},
};

#[expect(clippy::unnecessary_wraps, reason = "a terminal may not know its size")]
fn eighty() -> io::Result<Size> {
    Ok(Size::new(80, 24))
}

fn terminal() -> Terminal<AnsiBackend<Vec<u8>>> {
    Terminal::new(AnsiBackend::new(Vec::new(), eighty)).unwrap()
}

fn bytes(terminal: &mut Terminal<AnsiBackend<Vec<u8>>>) -> Vec<u8> {
    std::mem::take(&mut terminal.backend_mut().out)
}

fn red(frame: &mut ratatui::Frame) {
    frame.buffer_mut().set_string(3, 2, "text", Style::new().red());
}

#[test]
fn an_unchanged_frame_writes_no_bytes() {
    let mut terminal = terminal();
    for _ in 0..2 {
        terminal.draw(red).unwrap();
    }
    let first = bytes(&mut terminal);
    assert!(!first.is_empty());
    assert!(terminal.backend_mut().take_wrote());
    terminal.draw(red).unwrap();
    assert_eq!(bytes(&mut terminal), b"");
    assert!(!terminal.backend_mut().take_wrote());
}

#[test]
fn invisible_styles_of_blanks_are_not_written() {
    let mut terminal = terminal();
    let with = |frame: &mut ratatui::Frame, style: Style| {
        frame.buffer_mut().set_string(0, 0, "a b", style);
        frame.buffer_mut().set_string(9, 0, "   ", style);
    };
    terminal.draw(|frame| with(frame, Style::new())).unwrap();
    bytes(&mut terminal);
    terminal.draw(|frame| with(frame, Style::new().red().bold())).unwrap();
    assert_eq!(bytes(&mut terminal), b"\x1b[1;1H\x1b[1;31ma b");
    terminal.draw(|frame| with(frame, Style::new().reversed())).unwrap();
    assert_eq!(bytes(&mut terminal), b"\x1b[1;1H\x1b[;7ma b\x1b[6C   ", "a reversed blank is visible");
    terminal.draw(|_| {}).unwrap();
    assert_eq!(bytes(&mut terminal), b"\x1b[1;1H\x1b[m\x1b[K");
}

/// Draws random frames over one another and checks each with a terminal emulator.
#[test]
fn random_frames_are_shown_correctly_over_earlier_frames() {
    let styles = [
        Style::new(),
        Style::new().red(),
        Style::new().bold(),
        Style::new().reversed(),
        Style::new().on_blue(),
        Style::new().underlined().green(),
    ];
    let texts = ["infra/gateway", "日本語", "ok", "       ", "─────", "é", "a b c d", "x", "语 x 语"];
    let mut terminal = terminal();
    let mut parser = vt100::Parser::default();
    // Any pseudo-random sequence is sufficient.
    let mut odd = 1_u64;
    let mut pick = |below: usize| {
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(odd >> 33).unwrap() % below
    };
    for _ in 0..300 {
        // Never overwrite half of a wide character.
        let positions = (0..20).map(|index| (index % 5 * 16 + pick(4), index / 5));
        let positions: Vec<_> = positions.collect();
        let strokes: Vec<_> = positions.into_iter().map(|(x, y)| (x, y, texts[pick(9)], styles[pick(6)])).collect();
        let mut drawn = Buffer::default();
        terminal
            .draw(|frame| {
                for (x, y, text, style) in &strokes {
                    let (x, y) = (u16::try_from(*x).unwrap(), u16::try_from(*y).unwrap());
                    frame.buffer_mut().set_string(x, y, *text, *style);
                }
                drawn = frame.buffer_mut().clone();
            })
            .unwrap();
        parser.process(&bytes(&mut terminal));
        same(parser.screen(), &drawn);
    }
}

fn same(screen: &vt100::Screen, drawn: &Buffer) {
    for y in 0..24 {
        let mut x = 0;
        while x < 80 {
            let (is, expected) = (screen.cell(y, x).unwrap(), drawn.cell((x, y)).unwrap());
            let width = u16::try_from(expected.symbol().width()).unwrap();
            // Never draw half of a wide character at the edge.
            if x + width <= 80 && (x + width == 80 || drawn.cell((x + width, y)).is_some()) {
                assert_eq!(is.contents().trim_end(), expected.symbol().trim_end(), "at {x},{y}");
                let look = CellStyle::of(expected);
                assert_eq!(is.inverse(), look.modifier.contains(Modifier::REVERSED), "at {x},{y}");
                assert_eq!(is.underline(), look.modifier.contains(Modifier::UNDERLINED), "at {x},{y}");
                assert_eq!(is.bgcolor() == vt100::Color::Default, look.bg == Color::Reset, "at {x},{y}");
                if expected.symbol() != " " {
                    assert_eq!(is.bold(), look.modifier.contains(Modifier::BOLD), "at {x},{y}");
                    assert_eq!(is.fgcolor() == vt100::Color::Default, look.fg == Color::Reset, "at {x},{y}");
                }
            }
            x += width.max(1);
        }
    }
}

#[test]
fn a_terminal_shows_the_drawn_text_and_styles() {
    let mut terminal = terminal();
    let mut parser = vt100::Parser::default();
    let frames: [&[(u16, u16, &str, Style)]; 2] = [
        &[(0, 0, "tabs", Style::new().reversed()), (5, 0, "日本", Style::new()), (79, 3, "x", Style::new().red())],
        &[(0, 0, "tubs", Style::new()), (9, 0, "é", Style::new().dim()), (0, 4, "y", Style::new().bold().cyan())],
    ];
    for texts in frames {
        terminal
            .draw(|frame| {
                for (x, y, text, style) in texts {
                    frame.buffer_mut().set_string(*x, *y, *text, *style);
                }
            })
            .unwrap();
        parser.process(&bytes(&mut terminal));
        let screen = parser.screen();
        for (x, y, text, style) in texts {
            let cell = screen.cell(*y, *x).unwrap();
            assert!(text.starts_with(cell.contents()), "{text}: {}", cell.contents());
            assert_eq!(cell.inverse(), style.add_modifier.contains(Modifier::REVERSED), "{text}");
            assert_eq!(cell.bold(), style.add_modifier.contains(Modifier::BOLD), "{text}");
        }
    }
    assert_eq!(parser.screen().rows(0, 80).next().unwrap(), "tubs     é");
}
