//! Number of bytes per frame. It is the same on every machine, and decides how fast the screen is on a slow line.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use farrier_common::api::Repository;
use ratatui::Terminal;

use super::prelude::*;
use crate::ui::{term::AnsiBackend, view};

/// A terminal that counts the bytes written to it.
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

/// Draws a frame. Returns the number of bytes and of writes.
fn drawn(screen: &TestScreen, terminal: &mut Terminal<AnsiBackend<Line>>, line: &Line) -> (usize, usize) {
    *line.0.lock().unwrap() = (0, 0);
    terminal
        .draw(|frame| {
            view::draw(&screen.app, frame.buffer_mut());
        })
        .unwrap();
    *line.0.lock().unwrap()
}

/// Returns rows that differ from one another like real ones.
fn many() -> Answer {
    const OWNERS: [&str; 6] = ["infra", "data", "mobile", "web", "platform-team", "ops"];
    const NAMES: [&str; 9] =
        ["gateway", "lake", "auth", "billing", "design-system", "docs", "agent", "proxy", "storefront"];
    const ABOUT: [&str; 4] =
        ["edge proxy for the CI farm", "", "what the mobile teams share", "nightly loads and their schedules"];
    let items = (0..100_000_u64).map(|id| {
        // Any pseudo-random sequence is sufficient.
        let odd = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let pick = |of: &[&'static str], by: u64| of[usize::try_from(odd / by).unwrap() % of.len()];
        let name = format!("{}/{}-{id}", pick(&OWNERS, 1), pick(&NAMES, 7));
        let day = odd / 11 % 28 + 1;
        Repository {
            id: i64::try_from(id).unwrap() + 1,
            private: odd / 3 % 2 == 0,
            size: i64::try_from(odd / 17 % 4_000_000).unwrap(),
            description: pick(&ABOUT, 13).to_owned(),
            updated_at: format!("2026-{:02}-{day:02}T11:00:00Z", odd / 5 % 11 + 1),
            ..repository(1, &name)
        }
    });
    listed(Some(100_000), items.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "a terminal may not know its size")]
fn large() -> io::Result<Size> {
    Ok(Size::new(200, 60))
}

#[test]
fn drawing_a_long_list_stays_within_its_byte_budget() {
    // Byte limits for the first frame, one step and one page.
    let cases = [
        (small as fn() -> io::Result<Size>, [3_000, 300, 1_700]),
        (wide, [5_000, 400, 3_000]),
        (large, [9_000, 600, 4_800]),
    ];
    for (size, [first, step, page]) in cases {
        let Size { width, height } = size().unwrap();
        let mut screen = TestScreen::new(width, height);
        screen.answer(|request| matches!(request, Request::Status), Ok(status()));
        screen.answer(|request| matches!(request, Request::Repositories), Ok(many()));
        let line = Line::default();
        let mut terminal = Terminal::new(AnsiBackend::new(line.clone(), size)).unwrap();
        let mut within = |screen: &TestScreen, limit: usize, what: &str| {
            let (bytes, writes) = drawn(screen, &mut terminal, &line);
            assert!(bytes <= limit && writes <= 1, "{what} at {width}x{height}: {bytes} bytes in {writes} writes");
        };
        within(&screen, first, "the first frame");
        within(&screen, 0, "an unchanged frame");
        for _ in 0..height - 5 {
            screen.keys("j");
            within(&screen, step, "a step");
        }
        for _ in 0..20 {
            screen.keys("j");
            within(&screen, page, "one more row");
            screen.press(Key::PageDown);
            within(&screen, page, "a page");
        }
        screen.keys(&"j".repeat(400));
        within(&screen, page, "400 steps at once");
        screen.keys("G");
        within(&screen, page, "the end");
    }
}

#[test]
fn an_unchanged_screen_writes_no_bytes() {
    let mut screen = TestScreen::loaded(80, 24);
    let line = Line::default();
    let mut terminal = Terminal::new(AnsiBackend::new(line.clone(), small)).unwrap();
    drawn(&screen, &mut terminal, &line);
    // Each refresh returns the same rows.
    for _ in 0..3 {
        screen.advance(Duration::from_secs(6));
        screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
        assert_eq!(drawn(&screen, &mut terminal, &line), (0, 0));
    }
}
