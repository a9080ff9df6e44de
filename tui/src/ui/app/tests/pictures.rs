//! Every screen at four sizes, and what holds on all of them.

use super::{
    super::*,
    away::{alone, unknown},
    story::*,
};
use crate::ui::view;

pub(super) type Scene = (&'static str, fn(&mut Story));

pub(super) const SCENES: [Scene; 15] = [
    ("repositories", |story| story.keys("jj ")),
    ("repository", |story| story.keys("jj\n")),
    ("delete", |story| story.keys("D")),
    ("form", |story| story.keys("n")),
    ("help", |story| story.keys("?")),
    ("palette", |story| story.keys(":repo")),
    ("dashboard", |story| {
        story.keys("1");
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        story.answer(|ask| *ask == Ask::Series, Ok(series()));
        story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    }),
    ("artifacts", |story| {
        story.keys("o");
        story.answer(|ask| matches!(ask, Ask::Runs(_)), Ok(tree()));
        story.keys("jj");
    }),
    ("hooks", |story| {
        on_hooks(story);
        story.keys("j");
    }),
    ("hook-form", |story| {
        on_hooks(story);
        story.keys("e");
        for _ in 0..9 {
            story.press(Key::Tab);
        }
        story.keys("\n");
    }),
    ("deliveries", |story| {
        story.keys("4");
        story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    }),
    ("inspector", |story| {
        story.keys("4");
        story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
        story.keys("\n");
        story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    }),
    ("nowhere", |story| {
        let Size { width, height } = story.app.world.size;
        *story = alone(width, height);
    }),
    ("refused", |story| {
        let Size { width, height } = story.app.world.size;
        *story = unknown(width, height);
    }),
    ("lost", |story| {
        story.pass(Duration::from_secs(6));
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
];

pub(super) fn on_hooks(story: &mut Story) {
    story.keys("3");
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    story.answer(|ask| *ask == Ask::HookEvents, Ok(hook_events()));
}

fn scene(width: u16, height: u16, play: fn(&mut Story)) -> Story {
    let mut story = Story::settled(width, height);
    play(&mut story);
    story
}

#[test]
fn every_screen_at_every_size() {
    for (name, play) in SCENES {
        for (width, height) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
            let story = scene(width, height, play);
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), story.text());
        }
        let story = scene(80, 24, play);
        insta::assert_snapshot!(format!("{name}-styles"), story.styles());
    }
}

#[test]
fn the_cursors_row_is_marked_without_any_style() {
    let story = scene(80, 24, SCENES[0].1);
    let marked: Vec<String> = story.text().lines().filter(|line| line.starts_with('>')).map(str::to_owned).collect();
    assert_eq!(marked.len(), 1);
    let styles = story.styles();
    let row = styles.lines().find(|line| line.starts_with('R')).unwrap();
    assert!(row.chars().all(|c| c == 'R'), "within the cursor's row no cell has a colour: {row}");
}

#[test]
fn a_name_that_steers_terminals_steers_nothing() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    let evil = ["a/\x1b]0;owned\x07", "b/\u{202e}gnp.exe", "c/line\nbreak"];
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&evil)));
    let picture = story.picture();
    for cell in &picture.content {
        assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", cell.symbol());
    }
    let mut buffer = ratatui::buffer::Buffer::empty(picture.area);
    view::draw(&story.app, &mut buffer);
    assert_eq!(buffer, picture, "drawing changes nothing");
}
