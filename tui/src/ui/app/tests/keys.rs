//! The effects of keys, pastes and typed commands.

use super::prelude::*;
use crate::ui::{net::Reconnect, times::Times};

#[test]
fn the_palette_goes_to_the_screen_of_the_command() {
    let mut story = Story::settled(80, 24);
    story.keys(":stat\n");
    assert_eq!(story.app.current, ScreenId::Dashboard);
    story.keys(":repo cr\n");
    assert_eq!((story.app.current, story.app.layers.len()), (ScreenId::Repositories, 1));
    assert!(story.text().contains("New repository"));
    story.keys("\x1b-");
    assert_eq!(story.app.current, ScreenId::Dashboard);
}

#[test]
fn palette_commands_with_an_argument_open_that_object() {
    let mut story = Story::settled(80, 24);
    story.keys(":hook show 12\n");
    assert_eq!(story.app.current, ScreenId::Hooks);
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    assert!(story.text().lines().any(|line| line.starts_with('>') && line.contains("12")), "{}", story.text());
    story.keys(":delivery list --hook 12\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    assert!(story.asked().iter().any(|ask| matches!(ask, Ask::Deliveries { hook: Some(12), .. })));
    story.keys(":repo show web/site\n");
    assert!(story.text().lines().any(|line| line.starts_with('>') && line.contains("web/site")), "{}", story.text());
    story.keys(":hook sh");
    assert!(story.text().contains("hook show ID"), "{}", story.text());
}

#[test]
fn read_only_mode_refuses_changes_and_gives_the_reason() {
    let mut story = Story::settled(80, 24);
    story.app.world.read_only = true;
    story.asked();
    story.keys("Dn");
    assert!(story.app.layers.is_empty() && story.asked().is_empty());
    assert!(story.text().contains("--read-only was given"));
    story.keys("x");
    assert!(story.text().contains("off: --read-only"), "{}", story.text());
}

#[test]
fn an_unknown_key_is_reported_at_most_once_a_second() {
    let mut story = Story::settled(80, 24);
    let before = story.app.messages.len();
    story.keys(&"Q".repeat(50));
    assert!(story.text().contains("No action on 'Q' here, ? help"), "{}", story.text());
    assert_eq!(story.app.messages.len(), before + 1);
    story.pass(Duration::from_secs(1));
    story.keys("QQE");
    assert_eq!(story.app.messages.len(), before + 3, "the same key again after a second, and another key at once");
}

#[test]
fn a_paste_outside_a_text_field_does_nothing() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.tell(Msg::Paste("D\nq\n".into()));
    assert!(story.app.layers.is_empty() && story.asked().is_empty() && story.quits().is_none());
    story.keys("/");
    story.tell(Msg::Paste("data\n".into()));
    assert!(story.text().contains("data/lake") && !story.text().contains("web/site"));
}

#[test]
fn q_goes_back_before_it_quits_and_a_signal_quits_at_once() {
    let mut story = Story::settled(80, 24);
    story.keys("/data\n\nqq");
    assert_eq!(story.quits(), None, "q closes the details and the filter first: {}", story.text());
    story.keys("q");
    assert_eq!(story.quits(), Some(0));
    let mut story = Story::settled(80, 24);
    story.tell(Msg::Signal(15));
    assert_eq!(story.quits(), Some(143));
}

#[test]
fn a_command_with_an_argument_is_completed_run_and_kept_in_the_history() {
    let mut story = Story::settled(80, 24);
    story.keys(":");
    story.asked();
    story.keys("conn");
    assert!(story.text().contains("> connect PATH|URL       Connect to another daemon"), "{}", story.text());
    story.press(Key::Tab);
    story.keys("/run/other.sock");
    story.effects.clear();
    story.press(Key::Enter);
    let turned =
        |effect: &Effect| matches!(effect, Effect::Reconnect(Reconnect::To(address)) if address == "/run/other.sock");
    assert!(story.effects.iter().any(turned), "{:?}", story.effects);
    story.keys(":");
    story.press(Key::Up);
    assert!(story.text().contains(": connect /run/other.sock"), "{}", story.text());
    story.keys("\x1b:ti\niso\n");
    assert_eq!(story.app.world.clock.style, Times::Iso);
    story.keys(":messa\n");
    assert!(story.text().contains("─ Messages "), "{}", story.text());
}

#[test]
fn help_lists_commands_without_a_key() {
    let mut story = Story::settled(80, 24);
    for (word, what) in [("conn", "Connect to another daemon"), ("messa", "Show recent"), ("redet", "Detect the")] {
        story.keys("?");
        story.keys(word);
        assert!(story.text().contains("Commands without a key") && story.text().contains(what), "{}", story.text());
        story.keys("\x1b");
    }
}
