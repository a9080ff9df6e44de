//! Rules that hold for every scene, in every size and on every kind of terminal; and pastes in every scene.

use ratatui::style::{Color, Modifier};

use super::{pictures::SIZES, prelude::*, scenes};
use crate::ui::{
    caps::{Appearance, Colors, Glyphs},
    view,
};

/// Draws every scene in one size after the other.
fn drawn_in(sizes: impl Iterator<Item = (u16, u16)>) {
    let sizes: Vec<_> = sizes.collect();
    for scene in scenes::all() {
        let mut screen = scene.play(test_terminal(120, 40));
        for (width, height) in &sizes {
            screen.send(Msg::Resized(Size::new(*width, *height)));
            let picture = screen.picture();
            assert_eq!((picture.area.width, picture.area.height), (*width, *height));
        }
    }
}

#[test]
fn every_scene_draws_at_every_width_up_to_300() {
    drawn_in((1..=300).map(|width| (width, width * 7 % 61 + 1)).chain([(300, 300), (1, 1)]));
}

#[test]
fn every_scene_draws_at_every_height_up_to_300() {
    drawn_in((1..=300).map(|height| (height * 11 % 131 + 1, height)));
}

#[test]
fn every_scene_draws_at_every_size_up_to_44x13() {
    drawn_in((1..=44).flat_map(|width| (1..=13).map(move |height| (width, height))));
}

#[test]
fn the_header_shows_all_tabs_beside_a_server_with_a_long_name() {
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.0.root_url = "https://forge.production.example.org".into();
    for width in [40, 79, 80, 120] {
        let mut screen = TestScreen::loaded(width, 24);
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now.clone())));
        for digit in '0'..='9' {
            screen.keys(&digit.to_string());
            let header = screen.text().lines().next().unwrap_or_default().to_owned();
            assert!(('0'..='9').all(|tab| header.contains(tab)), "{header}");
            assert!(header.contains(" forg") && header.ends_with(" ok"), "{header}");
            assert!(header.contains(&format!("[{digit} {}]", screen.app.current.tab())), "{header}");
        }
    }
}

#[test]
fn the_header_shows_the_whole_name_of_the_server_and_as_many_names_of_tabs_as_fit() {
    let header = |width, name: &str| {
        let Answer::Status(mut now) = status() else { unreachable!() };
        now.0.root_url = format!("https://{name}:3000");
        let mut screen = TestScreen::loaded(width, 24);
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now)));
        screen.text().lines().next().unwrap_or_default().to_owned()
    };
    for width in [40, 41, 50, 60, 79, 80, 81, 100, 120, 139, 140, 200] {
        let header = header(width, "forge01.lan");
        assert!(header.ends_with(" forge01.lan ok"), "{width}: {header}");
    }
    for width in [80, 100, 140] {
        let header = header(width, "forge01.example.internal");
        assert!(header.ends_with(" forge01.example.internal ok"), "{width}: {header}");
    }
    assert_eq!(
        header(80, "forge01.lan"),
        "[1 Dash] 2Repos 3Hooks 4Deliv 5Artif 6Audit 7Users 8Runs 9Tasks 0 forge01.lan ok"
    );
    assert_eq!(header(40, "forge01.lan"), "[1 Dash]234567890         forge01.lan ok");
}

#[test]
fn wide_terminals_show_the_full_names_of_tabs() {
    let header = |width| TestScreen::loaded(width, 24).text().lines().next().unwrap_or_default().to_owned();
    let (narrow, wide) = (header(139), header(140));
    assert!(narrow.contains("[2 Repos]") && narrow.contains(" 5 Artif "), "{narrow}");
    assert!(wide.contains("[2 Repositories]") && wide.contains(" 5 Artifacts "), "{wide}");
    assert!(wide.ends_with("forge01.lan ok"), "{wide}");
}

#[test]
fn resizing_before_each_message_does_not_change_the_final_screen() {
    for (width, height) in [(80, 24), (120, 40)] {
        for scene in scenes::all() {
            let Some(resizes) = scene.play_with_resizes(test_terminal(width, height)) else { continue };
            assert_eq!(resizes.text(), scene.play(test_terminal(width, height)).text(), "{}", scene.name);
        }
    }
}

#[test]
fn terminals_without_colors_and_unicode_show_the_same_layout() {
    for scene in scenes::all() {
        for (width, height) in SIZES {
            let full = scene.play(test_terminal(width, height)).picture();
            let look = Appearance { colors: Colors::Never, glyphs: Glyphs::Ascii, ..rich() };
            let picture = scene.play(TestTerminal { look, ..test_terminal(width, height) }).picture();
            for (at, (rich, plain)) in full.content.iter().zip(&picture.content).enumerate() {
                if at > 0 && view::width(full.content[at - 1].symbol()) > 1 {
                    assert_eq!(plain, &picture.content[at - 1], "{}: the second cell of a wide character", scene.name);
                    continue;
                }
                assert_eq!((plain.fg, plain.bg), (Color::Reset, Color::Reset), "{}", scene.name);
                // Muted text in the cursor row may look different.
                assert_eq!(plain.modifier - Modifier::DIM, rich.modifier - Modifier::DIM, "{}", scene.name);
                assert!(plain.symbol().is_ascii(), "{}: {}", scene.name, plain.symbol());
                if rich.symbol().is_ascii() {
                    assert_eq!(plain.symbol(), rich.symbol(), "{}", scene.name);
                }
            }
        }
    }
}

#[test]
fn scenes_use_only_colors_that_every_terminal_shows() {
    let safe = [Color::Reset, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan];
    for scene in scenes::all() {
        for cell in &scene.play(test_terminal(120, 40)).picture().content {
            // Dark gray is black on terminals with eight colors, and white is invisible on a light background.
            assert!(safe.contains(&cell.fg) && cell.bg == Color::Reset, "{}: {cell:?}", scene.name);
        }
    }
}

#[test]
fn a_paste_never_confirms_selects_or_closes_anything() {
    for scene in scenes::all() {
        let mut screen = scene.play(test_terminal(80, 24));
        let layers = screen.app.layers.len();
        screen.advance(Duration::from_secs(1));
        screen.effects.clear();
        for pasted in ["y", "D", "q", "\n", "y\n\x03\x1b[201~q\x1b", "infra/gateway\n", "12\n\n"] {
            screen.send(Msg::Paste(pasted.into()));
            let harmless = |effect: &Effect| matches!(effect, Effect::Send(_, request) if is_question(request));
            let done = std::mem::take(&mut screen.effects);
            assert!(done.iter().all(harmless), "{}: {pasted:?}: {done:?}", scene.name);
            assert_eq!(screen.app.layers.len(), layers, "{}: {pasted:?}", scene.name);
        }
    }
}

/// Returns whether a request only reads.
fn is_question(request: &Request) -> bool {
    matches!(
        request,
        Request::Status | Request::Repositories | Request::Hooks(_) | Request::Deliveries { .. } | Request::Runs(_)
    ) || matches!(request, Request::DeletedRepositories | Request::DeletedArtifacts | Request::FindObjects(_))
}
