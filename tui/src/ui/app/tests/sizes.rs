//! Every screen and everything that lies over one, in every size and on every kind of terminal; and
//! what a paste does there.

use ratatui::style::{Color, Modifier};

use super::{
    super::*,
    pictures::{SCENES, Scene, on_hooks},
    story::*,
};
use crate::ui::caps::{Colors, Glyphs, Look};

/// What the pictures of screens do not show.
const LAYERS: [Scene; 11] = [
    ("menu", |story| story.keys("x")),
    ("sort", |story| story.keys("s")),
    ("filter", |story| story.keys("/da")),
    ("wrong filter", |story| story.keys("/size:>")),
    ("messages", |story| story.keys("Qy\n:mess\n")),
    ("migrate", |story| story.keys("M")),
    ("discard", |story| story.keys("ntool\x1b")),
    ("redeliver", |story| {
        story.keys("4");
        story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
        story.keys("R");
    }),
    ("delete hook", |story| {
        on_hooks(story);
        story.keys("jD");
    }),
    ("new hook", |story| {
        on_hooks(story);
        story.keys("n");
    }),
    ("nobody", |story| {
        *story = Story::new(story.app.world.size.width, story.app.world.size.height);
        story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    }),
];

fn scenes() -> impl Iterator<Item = Scene> {
    SCENES.into_iter().chain(LAYERS)
}

fn played((_, play): Scene, width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    play(&mut story);
    story
}

#[test]
fn no_size_is_too_odd() {
    for scene in scenes() {
        let mut story = played(scene, 120, 40);
        let all = (1..=300).map(|width| (width, width * 7 % 61 + 1));
        let tall = (1..=300).map(|height| (height * 11 % 131 + 1, height));
        let tiny = (1..=44).flat_map(|width| (1..=13).map(move |height| (width, height)));
        for (width, height) in all.chain(tall).chain(tiny).chain([(300, 300), (1, 1)]) {
            story.tell(Msg::Resized(Size::new(width, height)));
            let picture = story.picture();
            assert_eq!((picture.area.width, picture.area.height), (width, height));
        }
    }
}

#[test]
fn plain_terminals_get_the_same_picture_plain() {
    for scene in scenes() {
        for (width, height) in [(40, 10), (80, 24), (120, 40), (200, 60)] {
            let mut story = played(scene, width, height);
            let whole = story.picture();
            story.app.world.look = Look { colors: Colors::Never, glyphs: Glyphs::Ascii, ..rich() };
            let plain = story.picture();
            for (rich, plain) in whole.content.iter().zip(&plain.content) {
                assert_eq!((plain.fg, plain.bg), (Color::Reset, Color::Reset), "{}", scene.0);
                // How muted text in the cursor's row looks is a matter of taste.
                assert_eq!(plain.modifier - Modifier::DIM, rich.modifier - Modifier::DIM, "{}", scene.0);
                assert!(plain.symbol().is_ascii(), "{}: {}", scene.0, plain.symbol());
                if rich.symbol().is_ascii() {
                    assert_eq!(plain.symbol(), rich.symbol(), "{}", scene.0);
                }
            }
        }
    }
}

#[test]
fn plain_pictures() {
    for scene in scenes() {
        let mut story = played(scene, 80, 24);
        story.app.world.look = Look { colors: Colors::Never, glyphs: Glyphs::Ascii, ..rich() };
        let name = scene.0.replace(' ', "-");
        insta::assert_snapshot!(format!("plain-{name}"), format!("{}\n\n{}", story.text(), story.styles()));
    }
}

#[test]
fn only_colours_that_every_terminal_shows() {
    let safe = [Color::Reset, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan];
    for scene in scenes() {
        for cell in &played(scene, 120, 40).picture().content {
            // Dark grey is black on terminals of eight colours, and white is nothing on a light one.
            assert!(safe.contains(&cell.fg) && cell.bg == Color::Reset, "{}: {cell:?}", scene.0);
        }
    }
}

#[test]
fn a_paste_never_answers_chooses_or_leaves() {
    for scene in scenes() {
        let mut story = played(scene, 80, 24);
        let layers = story.app.layers.len();
        story.pass(Duration::from_secs(1));
        story.effects.clear();
        for pasted in ["y", "D", "q", "\n", "y\n\x03\x1b[201~q\x1b", "infra/gateway\n", "12\n\n"] {
            story.tell(Msg::Paste(pasted.into()));
            let harmless = |effect: &Effect| matches!(effect, Effect::Ask(_, ask) if is_question(ask));
            let done = std::mem::take(&mut story.effects);
            assert!(done.iter().all(harmless), "{}: {pasted:?}: {done:?}", scene.0);
            assert_eq!(story.app.layers.len(), layers, "{}: {pasted:?}", scene.0);
        }
    }
}

/// Whether a request only looks.
fn is_question(ask: &Ask) -> bool {
    matches!(ask, Ask::Status | Ask::Repositories | Ask::Hooks(_) | Ask::Deliveries { .. } | Ask::Runs(_))
}
