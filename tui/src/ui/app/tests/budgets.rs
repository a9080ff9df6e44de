//! What a picture costs on a slow line: bytes, which are the same on every machine.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use ratatui::Terminal;

use super::{super::*, story::*};
use crate::ui::{net::Page, term::Wire, view};

/// A terminal that counts.
#[derive(Clone, Default)]
struct Line(Arc<Mutex<(usize, usize)>>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut counted = self.0.lock().unwrap();
        *counted = (counted.0 + bytes.len(), counted.1 + 1);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a terminal may not know its size")]
fn small() -> io::Result<Size> {
    Ok(Size::new(80, 24))
}

#[expect(clippy::unnecessary_wraps, reason = "a terminal may not know its size")]
fn wide() -> io::Result<Size> {
    Ok(Size::new(120, 40))
}

/// Draws and answers bytes and writes.
fn drawn(story: &Story, terminal: &mut Terminal<Wire<Line>>, line: &Line) -> (usize, usize) {
    *line.0.lock().unwrap() = (0, 0);
    terminal
        .draw(|frame| {
            view::draw(&story.app, frame.buffer_mut());
        })
        .unwrap();
    *line.0.lock().unwrap()
}

fn many() -> Answer {
    let items = (0..100_000).map(|id| repository(id % 20 + id * 20, &format!("infra/service-{id:06}"))).collect();
    Answer::Repositories(Page { items, total: Some(100_000), last: true })
}

#[test]
fn a_long_list_costs_as_little_as_a_short_one() {
    // First picture, a step, a page, and the same once more.
    let cases = [(small as fn() -> io::Result<Size>, [3_000, 300, 1_700]), (wide, [5_000, 900, 3_600])];
    for (size, [first, step, page]) in cases {
        let Size { width, height } = size().unwrap();
        let mut story = Story::new(width, height);
        story.answer(|ask| matches!(ask, Ask::Status), Ok(status()));
        story.answer(|ask| matches!(ask, Ask::Repositories), Ok(many()));
        let line = Line::default();
        let mut terminal = Terminal::new(Wire::new(line.clone(), size)).unwrap();
        let mut within = |story: &Story, limit: usize, what: &str| {
            let (bytes, writes) = drawn(story, &mut terminal, &line);
            assert!(bytes <= limit && writes <= 1, "{what} at {width}x{height}: {bytes} bytes in {writes} writes");
        };
        within(&story, first, "the first picture");
        within(&story, 0, "the same picture");
        story.keys("j");
        within(&story, step, "a step");
        story.press(Key::PageDown);
        within(&story, page, "a page");
        story.keys(&"j".repeat(400));
        within(&story, page, "four hundred steps at once");
    }
}
