//! Typed commands and where they are listed.

use super::{super::*, story::*};
use crate::ui::{key::Key, net::Reconnect, times::Times};

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
        |effect: &Effect| matches!(effect, Effect::Reconnect(Reconnect::To(place)) if place == "/run/other.sock");
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
