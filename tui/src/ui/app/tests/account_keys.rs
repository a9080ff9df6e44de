//! SSH keys and OpenPGP keys of users.

use super::prelude::*;
use crate::ui::net::{KeyRequest, ProblemKind};

const PUBLIC_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB ann@laptop";

/// Returns the screen with the keys of the caller in focus.
fn own_keys() -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    open_keys(&mut screen, Ok(account_keys()));
    screen.take_requests();
    screen
}

/// Returns the screen with the keys of another user in focus.
fn keys_of_mia() -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    open_users(&mut screen);
    screen.keys("j\n]");
    screen.answer_last_of(is_key_list, Ok(account_keys()));
    screen.take_requests();
    screen
}

fn changes_of(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.changes()).collect()
}

#[test]
fn an_own_ssh_key_is_added_and_the_list_is_loaded_again() {
    let mut screen = own_keys();
    screen.keys("nlaptop\t");
    screen.send(Msg::Paste(format!("{PUBLIC_KEY}\n")));
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let changes = changes_of(&requests);
    let [Request::AccountKeys(login, KeyRequest::AddSsh { is_own: true, key })] = changes.as_slice() else {
        panic!("{requests:?} {}", screen.text())
    };
    assert_eq!((login.as_str(), key.title.as_str(), key.key.as_str()), ("admin", "laptop", PUBLIC_KEY));
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("SSH key laptop added to admin"), "{}", screen.text());
    assert!(screen.take_requests().iter().any(is_key_list), "{}", screen.text());
}

#[test]
fn the_ssh_key_of_another_user_is_deleted_by_the_route_for_administrators() {
    let mut screen = keys_of_mia();
    screen.keys("D");
    assert!(screen.text().contains("Delete SSH key laptop of mia"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("y");
    let delete = KeyRequest::DeleteSsh { is_own: false, id: 7, title: "laptop".into() };
    assert!(screen.take_requests().contains(&Request::AccountKeys("mia".into(), delete)), "{}", screen.text());
    screen.answer_last_of(Request::changes, Ok(Answer::Done));
    assert!(screen.text().contains("SSH key laptop of mia deleted"), "{}", screen.text());
}

#[test]
fn a_key_that_is_already_gone_is_removed_from_the_list() {
    let mut screen = own_keys();
    screen.keys("D");
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    screen.take_requests();
    let gone = Problem::new(ProblemKind::NotFound, "deleting SSH key laptop of admin: not found (404)");
    screen.answer_last_of(Request::changes, Err(gone));
    assert!(screen.text().contains("not found (404)"), "{}", screen.text());
    assert!(screen.take_requests().iter().any(is_key_list), "{}", screen.text());
}

#[test]
fn only_own_openpgp_keys_can_be_deleted() {
    let mut screen = keys_of_mia();
    screen.keys("GD");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("users delete their OpenPGP keys themselves"), "{}", screen.text());
    let mut screen = own_keys();
    screen.keys("GD");
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("y");
    let delete = KeyRequest::DeleteGpg { id: 3, key: "5D1E0B9A7C3F2E64".into() };
    assert!(screen.take_requests().contains(&Request::AccountKeys("admin".into(), delete)), "{}", screen.text());
}

#[test]
fn brackets_switch_between_tokens_and_keys_of_a_user() {
    let mut screen = own_keys();
    assert!(screen.text().contains("keys of admin") && screen.text().contains("OpenPGP"), "{}", screen.text());
    screen.keys("[");
    assert!(screen.text().contains("tokens of admin"), "{}", screen.text());
    screen.keys("]");
    assert!(screen.text().contains("keys of admin"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.keys("]");
    assert!(screen.text().contains("Enter opens the user"), "{}", screen.text());
}

#[test]
fn the_keys_of_the_user_before_are_not_shown_for_the_next_one() {
    let mut screen = TestScreen::loaded(120, 40);
    open_keys(&mut screen, Ok(account_keys()));
    assert!(screen.text().contains("spare"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.keys("j");
    assert!(!screen.text().contains("spare"), "{}", screen.text());
}
