//! Confirmation dialogs: typeahead, objects that disappear, lost connections.

use super::prelude::*;

fn asks_to_delete(story: &mut Story) -> bool {
    story.asked().iter().any(|ask| matches!(ask, Ask::DeleteRepository(_)))
}

/// Types everything that confirms the open dialog.
fn yes(story: &mut Story) {
    story.keys("data/lake\t\n");
}

#[test]
fn a_confirmation_dialog_closes_with_a_notice_if_its_object_is_gone() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(story.app.layers.len(), 1, "the repository still exists");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&["infra/gateway"])));
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("data/lake was removed meanwhile; nothing was done"), "{}", story.text());
    story.asked();
    yes(&mut story);
    assert!(!asks_to_delete(&mut story));
}

#[test]
fn the_confirmation_dialog_of_a_removed_hook_closes() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("jD");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(Answer::Hooks(Vec::new())));
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("hook 12 was removed meanwhile"), "{}", story.text());
}

#[test]
fn a_confirmation_dialog_keeps_its_object_when_the_rows_change() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    // The rows change, and another one is in the row of the cursor.
    let items = vec![repository(9, "a/first"), repository(2, "data/lake"), repository(1, "infra/gateway")];
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, items)));
    story.asked();
    yes(&mut story);
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake".parse().unwrap())]);
}

#[test]
fn a_confirmation_dialog_cannot_be_confirmed_without_a_connection() {
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
    assert!(asks_to_delete(&mut story), "the dialog kept its input");
}

#[test]
fn enter_alone_typeahead_and_pastes_do_not_confirm_a_deletion() {
    let mut story = Story::settled(80, 24);
    story.asked();
    // Typed before the dialog could be read.
    story.keys("Ddata/lake\n\t\n");
    assert_eq!(story.asked(), []);
    assert_eq!(story.app.layers.len(), 1);
    story.pass(Duration::from_millis(300));
    story.keys("data/lak\n\t\n");
    assert_eq!(story.asked(), [], "the name is not complete");
    story.tell(Msg::Paste("e".into()));
    story.keys("\n");
    assert_eq!(story.asked(), [], "a paste does not confirm");
    story.keys("\te\t\n");
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake".parse().unwrap())]);
    assert!(story.app.layers.is_empty());
}
