//! The number of keys that frequent tasks need, from any screen. The numbers may only go down.
//!
//! A typed text counts as one key.

use super::prelude::*;

/// Presses keys, and returns their number. `^S` submits a form.
fn press_all(screen: &mut TestScreen, keys: &[&str]) -> usize {
    for key in keys {
        // A question drops keys that are pressed before it can be read.
        screen.advance(Duration::from_secs(1));
        match *key {
            "^S" => screen.press(Key::Ctrl('s')),
            key => screen.keys(key),
        }
    }
    keys.len()
}

fn sent(screen: &mut TestScreen, which: impl Fn(&Request) -> bool) -> bool {
    screen.take_requests().iter().any(which)
}

/// Returns the dashboard's responses with one failing hook as the only problem, given after `1`.
fn with_failing_hook(screen: &mut TestScreen) -> usize {
    let count = press_all(screen, &["1"]);
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.1.problems.clear();
    now.0.disk.free_bytes = now.0.disk.total_bytes;
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now)));
    screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
    count
}

#[test]
fn creating_a_repository_takes_four_keys() {
    let mut screen = TestScreen::loaded(80, 24);
    let count = press_all(&mut screen, &["n", "\t", "tool", "^S"]);
    assert!(sent(&mut screen, |request| matches!(request, Request::CreateRepository { .. })), "{}", screen.text());
    assert_eq!(count, 4);
}

#[test]
fn finding_why_deliveries_fail_takes_two_keys() {
    let mut screen = TestScreen::loaded(80, 24);
    let count = with_failing_hook(&mut screen) + press_all(&mut screen, &["\n"]);
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert_eq!(count, 2);
}

#[test]
fn redelivering_all_of_one_cause_takes_three_keys() {
    let mut screen = TestScreen::loaded(80, 24);
    let mut count = with_failing_hook(&mut screen) + press_all(&mut screen, &["R"]);
    screen.answer(|request| matches!(request, Request::Recoverable(_)), Ok(recoverable(3, 0)));
    count += press_all(&mut screen, &["y"]);
    assert!(sent(&mut screen, |request| *request == Request::Recover(vec![12])), "{}", screen.text());
    assert_eq!(count, 3);
}

#[test]
fn turning_off_a_failing_hook_takes_two_keys_and_undo_one() {
    let mut screen = TestScreen::loaded(80, 24);
    let count = with_failing_hook(&mut screen) + press_all(&mut screen, &["t"]);
    let is_switch = |request: &Request| matches!(request, Request::EditHook(_, 12, _));
    screen.answer(is_switch, Ok(Answer::Done));
    assert_eq!(count, 2);
    assert_eq!(press_all(&mut screen, &["z"]), 1);
    assert!(sent(&mut screen, is_switch), "{}", screen.text());
}

#[test]
fn creating_and_copying_a_token_takes_five_keys() {
    let mut screen = TestScreen::loaded(80, 24);
    let mut count = press_all(&mut screen, &["7"]);
    screen.answer(|request| *request == Request::Users, Ok(users()));
    count += press_all(&mut screen, &["N", "laptop", "^S"]);
    screen.answer(|request| matches!(request, Request::CreateToken(..)), Ok(new_token()));
    count += press_all(&mut screen, &["y"]);
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.starts_with("frr_"))));
    assert_eq!(count, 5);
}
