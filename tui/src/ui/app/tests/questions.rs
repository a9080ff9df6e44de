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
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(listed_hooks(Vec::new())));
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

#[test]
fn enter_confirms_a_deletion_as_soon_as_the_word_is_complete() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.keys("data/lak\n");
    assert!(screen.take_requests().is_empty() && screen.text().contains("[>Cancel<]"), "{}", screen.text());
    screen.keys("e");
    assert!(!screen.text().contains("[>Cancel<]"), "the mark is on the button that Enter presses: {}", screen.text());
    // The line of the copy that can be saved first has the focus.
    screen.press(Key::Down);
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [], "Enter leaves this line");
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [Request::DeleteRepository("data/lake".parse().unwrap())]);
}

/// Returns the repositories that the last change was sent with.
fn expected(screen: &TestScreen) -> Vec<(String, i64)> {
    let last = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Expect(_, expected) => Some(expected),
        _ => None,
    });
    last.into_iter().flatten().map(|one| (one.path.to_string(), one.id)).collect()
}

#[test]
fn a_change_is_only_for_the_repository_that_its_question_or_form_was_opened_for() {
    let mut screen = TestScreen::loaded(80, 24);
    let id = screen.app.screens.repositories.identified(&[&"data/lake".parse().unwrap()])[0].id;
    let another = || {
        let mut items: Vec<_> = NAMES.iter().zip(1..).map(|(name, id)| repository(id, name)).collect();
        items.iter_mut().find(|one| one.full_name == "data/lake").unwrap().id = 77;
        listed(None, items)
    };
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(another()));
    screen.take_requests();
    confirm(&mut screen);
    assert_eq!(expected(&screen), [("data/lake".to_owned(), id)], "not the repository that has this name now");

    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("e");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(another()));
    screen.take_requests();
    let form = screen.app.layers.last().expect("the form is open");
    assert_eq!(form.expected.iter().map(|one| one.id).collect::<Vec<_>>(), [id]);
    // A new repository has no ID yet.
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("n\ttool");
    screen.press(Key::Ctrl('s'));
    assert!(expected(&screen).is_empty());
}

#[test]
fn a_change_that_waits_for_a_copy_keeps_its_repository() {
    let mut screen = TestScreen::loaded(80, 24);
    let id = screen.app.screens.repositories.identified(&[&"data/lake".parse().unwrap()])[0].id;
    screen.keys("D");
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Down);
    screen.keys(" ");
    confirm(&mut screen);
    assert!(expected(&screen).is_empty(), "the copy is saved first");
    screen.take_requests();
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Saved("/tmp/data-lake.bundle".into()))));
    assert_eq!(expected(&screen), [("data/lake".to_owned(), id)]);
    assert!(asks_to_delete(&mut screen));
}

#[test]
fn keys_for_a_question_that_a_response_closed_do_not_act_on_the_list_behind_it() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("jD");
    assert_eq!(screen.app.layers.len(), 1, "{}", screen.text());
    screen.advance(Duration::from_secs(6));
    let Answer::Hooks(mut left) = hooks() else { unreachable!() };
    left.items.retain(|hook| hook.id != 12);
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(Answer::Hooks(left)));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    screen.take_requests();
    // The answer to the question would turn the next hook off, open its deliveries, or clear what is marked.
    screen.keys("t\n\x1b2");
    assert_eq!(screen.app.current, ScreenId::Hooks, "{}", screen.text());
    assert!(!screen.take_requests().iter().any(Request::changes), "{}", screen.text());
    assert!(screen.text().contains("Ignored the keys for the question that has closed"), "{}", screen.text());
    screen.advance(Duration::from_millis(500));
    screen.keys("2");
    assert_eq!(screen.app.current, ScreenId::Hooks, "the user has not paused");
    screen.advance(Duration::from_millis(600));
    screen.keys("2");
    assert_eq!(screen.app.current, ScreenId::Repositories);
}
