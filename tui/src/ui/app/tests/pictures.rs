//! Snapshots of every scene at four sizes, in Unicode and ASCII, with colors and without.
//!
//! One snapshot per scene and size, for reviewers: the text as shown on the screen, then how
//! its cells look, then only those rows that ASCII or a terminal without colors makes different.

use std::fmt::Write as _;

use super::{prelude::*, scenes};
use crate::ui::{
    caps::{Appearance, Colors, Glyphs},
    view,
};

pub(super) const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (120, 40), (200, 60)];

/// Returns the snapshot of a scene.
fn described(scene: &scenes::Scene, terminal: TestTerminal) -> String {
    let rich = scene.play(terminal);
    let ascii = scene.play(TestTerminal { look: Appearance { glyphs: Glyphs::Ascii, ..terminal.look }, ..terminal });
    let mono = scene.play(TestTerminal { look: Appearance { colors: Colors::Never, ..terminal.look }, ..terminal });
    let (text, looks) = (rich.text(), rich.styles());
    assert_eq!(mono.text(), text, "{}: colors do not change the text", scene.name);
    let plain = "\n".repeat(looks.lines().count());
    format!(
        "{text}\n-- looks\n{}-- in ASCII\n{}-- without colors\n{}",
        other_rows(&plain, &looks),
        other_rows(&text, &ascii.text()),
        other_rows(&looks, &mono.styles()),
    )
}

/// Returns the rows of `other` that differ from those of `text`, with their numbers. Equal rows in succession are
/// shown once.
fn other_rows(text: &str, other: &str) -> String {
    let both = text.lines().zip(other.lines()).map(|(one, two)| (one, two.trim_end_matches('.'))).enumerate();
    let mut rows: Vec<(usize, usize, &str)> = Vec::new();
    for (y, (_, row)) in both.filter(|(_, (one, two))| one.trim_end_matches('.') != *two) {
        match rows.last_mut() {
            Some((_, last, same)) if *last + 1 == y && *same == row => *last = y,
            _ => rows.push((y, y, row)),
        }
    }
    let mut changes = String::new();
    for (first, last, row) in rows {
        let range = if first == last { format!("{first}") } else { format!("{first}-{last}") };
        let _ = writeln!(changes, "{range:>5} {row}");
    }
    changes
}

#[test]
fn every_scene_matches_its_snapshots_at_every_size() {
    for scene in scenes::all() {
        for (width, height) in SIZES {
            let name = format!("{}-{width}x{height}", scene.name);
            insta::assert_snapshot!(name, described(scene, test_terminal(width, height)));
        }
    }
}

#[test]
fn a_terminal_that_is_too_small_shows_the_required_size() {
    let scene = &scenes::REPOSITORIES[0];
    insta::assert_snapshot!("too-small-38x9", described(scene, test_terminal(38, 9)));
    for (width, height) in [(39, 10), (40, 9), (300, 9), (39, 300)] {
        let text = scene.play(test_terminal(width, height)).text();
        assert!(text.contains("terminal too small") && text.contains("q quits"), "{text}");
    }
}

#[test]
fn no_two_scenes_look_the_same() {
    let names: Vec<&str> = scenes::all().map(|scene| scene.name).collect();
    let pictures: Vec<String> = scenes::all().map(|scene| scene.play(test_terminal(80, 24)).text()).collect();
    for (at, picture) in pictures.iter().enumerate() {
        let twin = pictures[..at].iter().position(|other| other == picture);
        assert_eq!(twin.map(|twin| names[twin]), None, "{}", names[at]);
    }
}

#[test]
fn the_cursor_row_has_a_marker_character_and_is_reversed() {
    let screen = scenes::REPOSITORIES[0].play(test_terminal(80, 24));
    let marked: Vec<String> = screen.text().lines().filter(|line| line.starts_with('>')).map(str::to_owned).collect();
    assert_eq!(marked.len(), 1);
    let styles = screen.styles();
    let row = styles.lines().find(|line| line.starts_with('R')).unwrap();
    assert!(row.chars().all(|c| c == 'R'), "every cell of the cursor row is reversed: {row}");
}

#[test]
fn control_and_bidi_characters_in_names_do_not_reach_the_terminal() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    let evil = ["a/\x1b]0;owned\x07", "b/\u{202e}gnp.exe", "c/line\nbreak"];
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&evil)));
    let picture = screen.picture();
    for cell in &picture.content {
        assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", cell.symbol());
    }
    let mut buffer = ratatui::buffer::Buffer::empty(picture.area);
    view::draw(&screen.app, &mut buffer);
    assert_eq!(buffer, picture, "drawing again gives the same picture");
}

#[test]
fn the_pane_follows_the_cursor_when_a_filter_hides_its_row() {
    let branches = scenes::all().find(|scene| scene.name == "branches").unwrap();
    let mut screen = branches.play(test_terminal(120, 40));
    assert!(screen.text().contains("release/2.4"), "{}", screen.text());
    screen.keys("q");
    screen.take_requests();
    screen.keys("/site");
    assert!(!screen.text().contains("release/2.4"), "{}", screen.text());
    screen.keys("\n");
    screen.press(Key::Esc);
    screen.keys("/lake");
    screen.rest_cursor();
    assert!(screen.take_requests().contains(&Request::Branches("data/lake".parse().unwrap())));
}
