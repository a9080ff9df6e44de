//! The effects of keys, pastes and typed commands.

use super::prelude::*;
use crate::ui::{net::Reconnect, times::Times};

#[test]
fn the_palette_goes_to_the_screen_of_the_command() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":stat\n");
    assert_eq!(screen.app.current, ScreenId::Dashboard);
    screen.keys(":repo cr\n");
    assert_eq!((screen.app.current, screen.app.layers.len()), (ScreenId::Repositories, 1));
    assert!(screen.text().contains("New repository"));
    screen.keys("\x1b-");
    assert_eq!(screen.app.current, ScreenId::Dashboard);
}

#[test]
fn palette_commands_with_an_argument_open_that_object() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":hook show 12\n");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    assert!(screen.text().lines().any(|line| line.starts_with('>') && line.contains("12")), "{}", screen.text());
    screen.keys(":delivery list --hook 12\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert!(screen.take_requests().iter().any(|request| matches!(request, Request::Deliveries { hook: Some(12), .. })));
    screen.keys(":repo show web/site\n");
    assert!(screen.text().lines().any(|line| line.starts_with('>') && line.contains("web/site")), "{}", screen.text());
    screen.keys(":hook sh");
    assert!(screen.text().contains("hook show ID"), "{}", screen.text());
}

#[test]
fn read_only_mode_refuses_changes_and_gives_the_reason() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.app.world.read_only = true;
    screen.take_requests();
    screen.keys("Dn");
    assert!(screen.app.layers.is_empty() && screen.take_requests().is_empty());
    assert!(screen.text().contains("--read-only was given"));
    screen.keys("x");
    assert!(screen.text().contains("--read-only was given"), "{}", screen.text());
}

#[test]
fn a_question_that_does_not_fit_scrolls_to_its_consequence() {
    let mut screen = TestScreen::loaded(40, 10);
    screen.keys("D");
    screen.advance(Duration::from_secs(1));
    assert!(screen.text().contains("PgDn more"), "{}", screen.text());
    let mut read = screen.text();
    for _ in 0..12 {
        screen.press(Key::PageDown);
        read.push_str(&screen.text());
    }
    assert!(read.contains("Everything in it is deleted"), "{read}");
    assert!(screen.text().contains("Type data/lake to confirm:"), "{}", screen.text());
}

#[test]
fn an_unknown_key_is_reported_at_most_once_a_second() {
    let mut screen = TestScreen::loaded(80, 24);
    let before = screen.app.messages.len();
    screen.keys(&"Q".repeat(50));
    assert!(screen.text().contains("Q has no action here; ? shows the keys"), "{}", screen.text());
    assert_eq!(screen.app.messages.len(), before + 1);
    screen.advance(Duration::from_secs(1));
    screen.keys("QQE");
    assert_eq!(screen.app.messages.len(), before + 3, "the same key again after a second, and another key at once");
}

#[test]
fn a_paste_outside_a_text_field_does_nothing() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.send(Msg::Paste("D\nq\n".into()));
    assert!(screen.app.layers.is_empty() && screen.take_requests().is_empty() && screen.exit_code().is_none());
    screen.keys("/");
    screen.send(Msg::Paste("data\n".into()));
    assert!(screen.text().contains("data/lake") && !screen.text().contains("web/site"));
}

#[test]
fn q_goes_back_before_it_quits_and_a_signal_quits_at_once() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("/data\n\nqq");
    assert_eq!(screen.exit_code(), None, "q closes the details and the filter first: {}", screen.text());
    screen.keys("q");
    assert_eq!(screen.exit_code(), Some(0));
    let mut screen = TestScreen::loaded(80, 24);
    screen.send(Msg::Signal(15));
    assert_eq!(screen.exit_code(), Some(143));
}

#[test]
fn a_command_with_an_argument_is_completed_run_and_kept_in_the_history() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":");
    screen.take_requests();
    screen.keys("conn");
    assert!(screen.text().contains("> connect NAME|PATH|URL  Connect to another daemon"), "{}", screen.text());
    screen.press(Key::Tab);
    screen.keys("/run/other.sock");
    screen.effects.clear();
    screen.press(Key::Enter);
    let turned =
        |effect: &Effect| matches!(effect, Effect::Reconnect(Reconnect::To(address)) if address == "/run/other.sock");
    assert!(screen.effects.iter().any(turned), "{:?}", screen.effects);
    screen.keys(":");
    screen.press(Key::Up);
    assert!(screen.text().contains(": connect /run/other.sock"), "{}", screen.text());
    screen.keys("\x1b:ti\niso\n");
    assert_eq!(screen.app.world.clock.style, Times::Iso);
    screen.keys(":messa\n");
    assert!(screen.text().contains("─ Messages "), "{}", screen.text());
}

#[test]
fn help_lists_commands_without_a_key() {
    let mut screen = TestScreen::loaded(80, 24);
    for (word, what) in [("conn", "Connect to another daemon"), ("messa", "Show recent"), ("redet", "Detect the")] {
        screen.keys("?");
        screen.keys(word);
        assert!(screen.text().contains("Commands without a key") && screen.text().contains(what), "{}", screen.text());
        screen.keys("\x1b");
    }
}

#[test]
fn the_hints_of_an_empty_list_offer_neither_marks_nor_sorting() {
    let hints = |names: &[&str]| {
        let mut screen = TestScreen::new(140, 24);
        screen.answer(|request| *request == Request::Status, Ok(status()));
        screen.answer(|request| *request == Request::Repositories, Ok(repositories(names)));
        screen.text().lines().last().unwrap_or_default().to_owned()
    };
    let (some, none) = (hints(&["a/b"]), hints(&[]));
    assert!(some.contains("Space mark") && some.contains("s sort"), "{some}");
    assert!(none.contains("n new") && !none.contains("mark") && !none.contains("sort"), "{none}");
}
