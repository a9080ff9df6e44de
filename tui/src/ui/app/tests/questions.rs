//! Confirmation dialogs: typeahead, objects that disappear, lost connections.

use super::prelude::*;

fn asks_to_delete(screen: &mut TestScreen) -> bool {
    screen.take_requests().iter().any(|request| matches!(request, Request::DeleteRepository(_)))
}

/// Types everything that confirms the open dialog.
fn confirm(screen: &mut TestScreen) {
    screen.keys("data/lake\t\n");
}

#[test]
fn a_confirmation_dialog_closes_with_a_notice_if_its_object_is_gone() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(screen.app.layers.len(), 1, "the repository still exists");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&["infra/gateway"])));
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("data/lake was removed meanwhile; nothing was done"), "{}", screen.text());
    screen.take_requests();
    confirm(&mut screen);
    assert!(!asks_to_delete(&mut screen));
}

#[test]
fn the_confirmation_dialog_of_a_removed_hook_closes() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("jD");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(Answer::Hooks(Vec::new())));
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("hook 12 was removed meanwhile"), "{}", screen.text());
}

#[test]
fn a_confirmation_dialog_keeps_its_object_when_the_rows_change() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    // The rows change, and another one is in the row of the cursor.
    let items = vec![repository(9, "a/first"), repository(2, "data/lake"), repository(1, "infra/gateway")];
    screen.answer(|request| *request == Request::Repositories, Ok(listed(None, items)));
    screen.take_requests();
    confirm(&mut screen);
    assert_eq!(screen.take_requests(), [Request::DeleteRepository("data/lake".parse().unwrap())]);
}

#[test]
fn a_confirmation_dialog_cannot_be_confirmed_without_a_connection() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    confirm(&mut screen);
    assert!(!asks_to_delete(&mut screen));
    assert!(screen.text().contains("daemon not reachable"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.keys("\n");
    assert!(asks_to_delete(&mut screen), "the dialog kept its input");
}

#[test]
fn enter_alone_typeahead_and_pastes_do_not_confirm_a_deletion() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    // Typed before the dialog could be read.
    screen.keys("Ddata/lake\n\t\n");
    assert_eq!(screen.take_requests(), []);
    assert_eq!(screen.app.layers.len(), 1);
    screen.advance(Duration::from_millis(300));
    screen.keys("data/lak\n\t\n");
    assert_eq!(screen.take_requests(), [], "the name is not complete");
    screen.send(Msg::Paste("e".into()));
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [], "a paste does not confirm");
    screen.keys("\te\t\n");
    assert_eq!(screen.take_requests(), [Request::DeleteRepository("data/lake".parse().unwrap())]);
    assert!(screen.app.layers.is_empty());
}
