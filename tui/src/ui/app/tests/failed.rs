//! What could not be shown, in place of it.

use super::prelude::*;
use crate::ui::net::ProblemKind;

#[test]
fn a_failed_list_offers_retry_details_and_copying_the_request_id() {
    let mut story = stage(80, 24).started();
    let text = "listing repositories: internal error (500, request 7d1e)";
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text == "7d1e");
    let problem = Problem { request: Some("7d1e".into()), ..Problem::new(ProblemKind::Other, text) };
    story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    let shown = story.text();
    assert!(shown.contains("Enter shows details   y copies the request id"), "{shown}");
    assert!(shown.contains(" r retry  Enter details  y copy request ID"), "{shown}");
    story.keys("y");
    assert!(story.effects.iter().any(copied), "{:?}", story.effects);
    assert!(story.text().contains("request ID copied: 7d1e"), "{}", story.text());
    story.effects.clear();
    story.keys("\n");
    assert!(story.text().contains("┌─ Error ") && story.text().contains(" y copy the request ID"));
    story.keys("y");
    assert!(story.effects.iter().any(copied), "{:?}", story.effects);
    assert!(!story.text().contains("┌─ Error "), "{}", story.text());
    story.effects.clear();
    story.keys("r");
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    story.keys("\n");
    assert!(story.text().contains("[Overview]"), "Enter opens rows again: {}", story.text());
}

#[test]
fn an_error_without_a_request_id_does_not_offer_to_copy_it() {
    let mut story = stage(80, 24).started();
    let problem = Problem::new(ProblemKind::Other, "listing repositories: internal error (500)");
    story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    assert!(!story.text().contains("y copies"), "{}", story.text());
    assert!(!story.text().contains("request id"), "{}", story.text());
    story.keys("y");
    assert!(!story.effects.iter().any(|effect| matches!(effect, Effect::Copy(_))), "{:?}", story.effects);
}
