//! Users and tokens.

use super::prelude::*;
use crate::ui::net::Page;

/// Returns the screen with the tokens of the second user in focus.
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
fn a_new_token_has_the_chosen_scopes_expiry_and_repositories() {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("jNdeploy\n");
    // The scopes are found by typing: the chosen one is removed, and two others are chosen.
    screen.keys("\n");
    assert!(screen.text().contains("[x] write:repository"), "{}", screen.text());
    screen.keys("write:rep \n\nread: ");
    assert!(screen.text().contains("[x] read:repository"), "{}", screen.text());
    screen.press(Key::Down);
    screen.keys(" \n");
    screen.press(Key::Tab);
    assert!(screen.text().contains("C-n chooses: 30d, 7d, 90d, 1 year"), "{}", screen.text());
    screen.press(Key::Ctrl('u'));
    screen.keys("2 soons");
    screen.press(Key::Tab);
    assert!(screen.text().contains("is not a valid time"), "{}", screen.text());
    screen.press(Key::BackTab);
    screen.press(Key::Ctrl('u'));
    screen.keys("2999-01-02");
    screen.press(Key::Tab);
    screen.keys("tools/cli, infra/gateway");
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let Some(Request::CreateToken(login, request)) = requests.last() else { panic!("{requests:?} {}", screen.text()) };
    assert_eq!((login.as_str(), request.name.as_str()), ("mia", "deploy"));
    assert_eq!(request.scopes, ["read:repository", "read:organization"]);
    assert_eq!(request.expires_at.as_deref(), Some("2999-01-02T00:00:00Z"));
    let limited = request.repositories.as_ref().expect("repositories");
    let limited: Vec<(&str, &str)> = limited.iter().map(|one| (one.owner.as_str(), one.name.as_str())).collect();
    assert_eq!(limited, [("tools", "cli"), ("infra", "gateway")]);
}

#[test]
fn a_token_without_scopes_is_not_requested_and_errors_of_the_daemon_stay_in_the_form() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jNlaptop\n\nwrite:rep \n");
    screen.press(Key::Ctrl('s'));
    assert!(screen.text().contains("! required"), "{}", screen.text());
    let is_creation = |request: &Request| matches!(request, Request::CreateToken(..));
    assert!(!screen.take_requests().iter().any(is_creation));
    screen.keys("\nwrite:rep \n");
    screen.press(Key::Ctrl('s'));
    screen.answer(is_creation, Err(refusal("[Name]: the name is in use")));
    let text = screen.text();
    assert!(text.contains("the name is in use") && text.contains("laptop"), "{text}");
}

#[test]
fn a_user_is_copied_as_json() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jy");
    screen.advance(Duration::from_secs(1));
    screen.keys("j");
    let copied =
        screen.effects.iter().find_map(|effect| if let Effect::Copy(text) = effect { Some(text) } else { None });
    let copied: farrier_common::api::User = serde_json::from_str(&copied.unwrap().0).unwrap();
    assert_eq!((copied.id, copied.login.as_str(), copied.full_name.as_str()), (2, "mia", "Mia Okafor"));
    assert_eq!((copied.email.as_str(), copied.last_login.as_str()), ("mia@example.org", "2026-11-21T09:30:00Z"));
}

#[test]
fn revoking_a_token_requires_a_confirmation() {
    let mut screen = tokens_of_mia();
    screen.keys("D");
    let text = screen.text();
    assert!(text.contains("Revoke 1 token") && text.contains(" of mia"), "{text}");
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::DeleteToken { user, id: 1, .. } if user == "mia")),
        "{requests:?}"
    );
}

/// Returns whether a request turns the user on or off.
fn switches_mia(request: &Request, on: bool) -> bool {
    matches!(request, Request::EditUser(login, edit) if login == "mia" && edit.active == Some(on))
}

#[test]
fn a_user_is_turned_off_after_a_confirmation_and_on_again_with_undo() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jt");
    let text = screen.text();
    assert!(text.contains("Turn off mia") && !text.contains("your own account"), "{text}");
    assert!(!screen.take_requests().iter().any(|request| switches_mia(request, false)));
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    assert!(screen.take_requests().iter().any(|request| switches_mia(request, false)));
    screen.answer_last_of(|request| switches_mia(request, false), Ok(Answer::Done));
    assert!(screen.text().contains("User mia turned off - z undoes"), "{}", screen.text());
    screen.keys("z");
    assert!(screen.take_requests().iter().any(|request| switches_mia(request, true)));
}

#[test]
fn the_audit_trail_of_a_user_is_the_filtered_audit_log() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("jo");
    assert_eq!(screen.app.current, ScreenId::Audit);
    assert!(screen.text().contains("user:=mia"), "{}", screen.text());
    let filter = farrier_common::client::AuditFilter { user: "mia".into(), ..Default::default() };
    let of_mia = Request::Audit { filter: Box::new(filter), entry: None, rows: 500 };
    assert_eq!(screen.take_requests().last(), Some(&of_mia), "the daemon searches all entries");
    screen.answer_last_of(|request| *request == of_mia, Ok(audit()));
    assert!(screen.text().contains("0/0"), "entries about others are not shown: {}", screen.text());
}

#[test]
fn commands_about_users_work_as_in_the_shell() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":user list\n");
    assert_eq!(screen.app.current, ScreenId::Users, "{}", screen.text());
    screen.answer(|request| *request == Request::Users, Ok(users()));
    screen.keys(":user off ops-a\n");
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::EditUser(login, _) if login == "ops-a")),
        "{requests:?}"
    );
    screen.advance(Duration::from_secs(1));
    screen.keys(":user delete tomas\n");
    assert!(screen.text().contains("Type tomas to confirm"), "{}", screen.text());
}

#[test]
fn the_question_before_the_own_account_is_turned_off_says_so() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys(":user off admin\n");
    assert!(screen.text().contains("This is your own account."), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.keys("*t");
    assert!(screen.text().contains("admin   your own account"), "{}", screen.text());
}

#[test]
fn an_action_on_marks_that_a_filter_hides_is_refused() {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("j /admin\n");
    screen.take_requests();
    screen.keys("t");
    assert!(screen.text().contains("1 marked row is hidden"), "{}", screen.text());
    assert_eq!(screen.take_requests(), []);
}

#[test]
fn enter_on_a_token_shows_its_scopes_and_repositories() {
    let mut screen = tokens_of_mia();
    screen.keys("\n");
    let text = screen.text();
    assert!(text.contains("scopes") && text.contains("repositories  all that the user can access"), "{text}");
}

#[test]
fn users_and_tokens_of_all_pages_are_listed() {
    let (Answer::Users(all), Answer::Tokens(all_tokens)) = (users(), tokens()) else { panic!("no pages") };
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("7");
    for (at, user) in all.items.iter().enumerate() {
        let page = Page { items: vec![user.clone()], total: Some(4), last: at == 3 };
        screen.answer_last_of(|request| *request == Request::Users, Ok(Answer::Users(page)));
    }
    assert!(screen.text().contains("admin") && screen.text().contains("tomas"), "{}", screen.text());
    assert!(!screen.app.pending.values().any(|one| one.request == Request::Users));
    screen.keys("j");
    screen.rest_cursor();
    for (at, token) in all_tokens.items.iter().enumerate() {
        let page = Page { items: vec![token.clone()], total: Some(3), last: at == 2 };
        let of_mia = |request: &Request| matches!(request, Request::Tokens(login) if login == "mia");
        screen.answer_last_of(of_mia, Ok(Answer::Tokens(page)));
    }
    assert!(screen.text().contains("laptop") && screen.text().contains("spare"), "{}", screen.text());
}
