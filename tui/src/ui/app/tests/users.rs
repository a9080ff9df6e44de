//! Accounts and tokens.

use super::prelude::*;

/// Returns the screen with the tokens of the second account in focus.
fn tokens_of_mia() -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("j\n");
    screen.rest_cursor();
    screen.answer_last_of(|request| matches!(request, Request::Tokens(_)), Ok(tokens()));
    screen.take_requests();
    screen
}

#[test]
fn a_new_token_is_shown_once_and_copied_with_y() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jNlaptop");
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let Some(Request::CreateToken(login, request)) = requests.last() else { panic!("{requests:?} {}", screen.text()) };
    assert_eq!((login.as_str(), request.name.as_str()), ("mia", "laptop"));
    assert_eq!(request.scopes, ["write:repository"]);
    assert!(request.expires_at.is_some(), "a new token expires");
    screen.answer_last_of(|request| matches!(request, Request::CreateToken(..)), Ok(new_token()));
    assert!(screen.text().contains("frr_4WmTq9yZk0LxVb7RnC2sEaHd8JfUg5PoIi31"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.starts_with("frr_"))));
    screen.press(Key::Esc);
    assert!(!screen.text().contains("frr_"), "the token is not shown again: {}", screen.text());
    assert!(screen.app.messages.iter().all(|(_, text)| !text.contains("frr_")), "{:?}", screen.app.messages);
}

#[test]
fn revoking_a_token_requires_a_confirmation() {
    let mut screen = tokens_of_mia();
    screen.keys("D");
    assert!(screen.text().contains("Revoke 1 token"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::DeleteToken { user, id: 1, .. } if user == "mia")),
        "{requests:?}"
    );
}

/// Returns whether a request turns the account on or off.
fn switches_mia(request: &Request, on: bool) -> bool {
    matches!(request, Request::EditUser(login, edit) if login == "mia" && edit.active == Some(on))
}

#[test]
fn an_account_is_turned_off_and_on_again_with_undo() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jt");
    assert!(screen.take_requests().iter().any(|request| switches_mia(request, false)));
    screen.answer_last_of(|request| switches_mia(request, false), Ok(Answer::Done));
    assert!(screen.text().contains("Account mia turned off - z undoes"), "{}", screen.text());
    screen.keys("z");
    assert!(screen.take_requests().iter().any(|request| switches_mia(request, true)));
}

#[test]
fn the_audit_trail_of_an_account_is_the_filtered_audit_log() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jo");
    assert_eq!(screen.app.current, ScreenId::Audit);
    assert!(screen.text().contains("actor:mia"), "{}", screen.text());
}

#[test]
fn commands_about_accounts_work_as_in_the_shell() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":user list\n");
    assert_eq!(screen.app.current, ScreenId::Users, "{}", screen.text());
    screen.answer(|request| *request == Request::Users, Ok(users()));
    screen.keys(":user off ops-a\n");
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::EditUser(login, _) if login == "ops-a")),
        "{requests:?}"
    );
    screen.advance(Duration::from_secs(1));
    screen.keys(":user delete tomas\n");
    assert!(screen.text().contains("Type tomas to confirm"), "{}", screen.text());
}
