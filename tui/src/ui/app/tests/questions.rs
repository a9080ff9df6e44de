//! Questions: what is typed ahead, what vanishes, what cannot be answered.

use super::prelude::*;

fn asks_to_delete(story: &mut Story) -> bool {
    story.asked().iter().any(|ask| matches!(ask, Ask::DeleteRepository(_)))
}

/// Everything that makes the open question one with the answer yes.
fn yes(story: &mut Story) {
    story.keys("data/lake\t\n");
}

#[test]
fn a_question_whose_thing_vanishes_closes_and_says_so() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(story.app.layers.len(), 1, "it is still there");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&["infra/gateway"])));
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("data/lake was removed meanwhile; nothing was done"), "{}", story.text());
    story.asked();
    yes(&mut story);
    assert!(!asks_to_delete(&mut story));
}

#[test]
fn a_hook_that_vanishes_takes_its_question_with_it() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("jD");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(Answer::Hooks(Vec::new())));
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("hook 12 was removed meanwhile"), "{}", story.text());
}

#[test]
fn what_a_question_is_about_is_fixed_when_it_is_asked() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    // Other rows, and another one where the cursor was.
    let items = vec![repository(9, "a/first"), repository(2, "data/lake"), repository(1, "infra/gateway")];
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, items)));
    story.asked();
    yes(&mut story);
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake".parse().unwrap())]);
}

#[test]
fn no_question_is_answered_while_nobody_would_hear_it() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    yes(&mut story);
    assert!(!asks_to_delete(&mut story));
    assert!(story.text().contains("daemon not reachable"), "{}", story.text());
    story.pass(Duration::from_secs(1));
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.keys("\n");
    assert!(asks_to_delete(&mut story), "it was kept as it was");
}

#[test]
fn nothing_is_deleted_by_enter_and_nothing_by_what_was_typed_ahead() {
    let mut story = Story::settled(80, 24);
    story.asked();
    // Typed before the question could be read.
    story.keys("Ddata/lake\n\t\n");
    assert_eq!(story.asked(), []);
    assert_eq!(story.app.layers.len(), 1);
    story.pass(Duration::from_millis(300));
    story.keys("data/lak\n\t\n");
    assert_eq!(story.asked(), [], "the name is not complete");
    story.tell(Msg::Paste("e".into()));
    story.keys("\n");
    assert_eq!(story.asked(), [], "a paste answers no question");
    story.keys("\te\t\n");
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake".parse().unwrap())]);
    assert!(story.app.layers.is_empty());
}
