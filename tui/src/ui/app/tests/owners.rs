//! Responses reach the owners of their requests.

use ratatui::buffer::Buffer;

use super::prelude::*;
use crate::ui::net::Ticket;

/// The key of a screen, the request for its rows, and the response.
type Load = (&'static str, fn(&Request) -> bool, fn() -> Answer);

const LOADS: [Load; 5] = [
    ("1", |request| matches!(request, Request::Tasks), tasks),
    ("2", |request| matches!(request, Request::Repositories), || repositories(&NAMES)),
    ("3", |request| matches!(request, Request::Hooks(_)), hooks),
    ("4", |request| matches!(request, Request::Deliveries { .. }), deliveries),
    ("5", |request| matches!(request, Request::Runs(_)), tree),
];

/// Returns the newest request of a kind.
#[track_caller]
fn sent(screen: &TestScreen, which: impl Fn(&Request) -> bool) -> Ticket {
    let tickets = screen.effects.iter().rev().find_map(|effect| match effect {
        Effect::Send(ticket, request) if which(request) => Some(*ticket),
        _ => None,
    });
    tickets.expect("the request was sent")
}

fn is_cancelled(screen: &TestScreen, ticket: Ticket) -> bool {
    screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(one) if *one == ticket))
}

/// Answers a request and returns the picture before and after.
fn around(screen: &mut TestScreen, ticket: Ticket, result: Result<Answer, Problem>) -> (Buffer, Buffer) {
    let before = screen.picture();
    screen.send(Msg::Answer(ticket, result));
    (before, screen.picture())
}

#[test]
fn a_response_for_one_screen_never_changes_another() {
    for (from, is_load, answer) in LOADS {
        for (to, is_shown, shown) in LOADS.into_iter().filter(|(to, ..)| *to != from) {
            for result in [Ok(answer()), Err(refusal("internal error (500)"))] {
                let mut screen = TestScreen::loaded(120, 40);
                screen.keys(from);
                screen.keys("r");
                let late = sent(&screen, is_load);
                screen.keys(to);
                screen.answer(is_shown, Ok(shown()));
                let (before, after) = around(&mut screen, late, result);
                assert_eq!(before, after, "the response for screen {from} changed screen {to}");
            }
        }
    }
}

#[test]
fn two_screens_with_the_same_request_get_their_own_responses() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("H");
    let of_deliveries = sent(&screen, |request| *request == Request::Hooks(HookOwner::Any));
    screen.keys("3");
    let of_hooks = sent(&screen, |request| *request == Request::Hooks(HookOwner::Any));
    assert_ne!(of_deliveries, of_hooks);
    let (before, after) = around(&mut screen, of_deliveries, Ok(hooks()));
    assert_eq!(before, after, "the hooks for the menu of the other screen are not rows of this one");
    assert!(screen.app.layers.is_empty(), "a menu of a screen that was left does not open");
    screen.send(Msg::Answer(of_hooks, Ok(hooks())));
    assert!(screen.text().contains("ci.example.net"), "{}", screen.text());
}

#[test]
fn a_late_response_to_an_earlier_query_changes_nothing() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("4");
    let all = sent(&screen, |request| matches!(request, Request::Deliveries { .. }));
    screen.keys("]");
    let failed = sent(&screen, |request| matches!(request, Request::Deliveries { status: "failure", .. }));
    assert!(is_cancelled(&screen, all) && all != failed);
    let (before, after) = around(&mut screen, all, Ok(deliveries()));
    assert_eq!(before, after);
    screen.send(Msg::Answer(failed, Ok(deliveries())));
    assert_ne!(screen.picture(), after);
}

#[test]
fn a_requested_view_does_not_open_after_its_screen_was_left() {
    let mut screen = TestScreen::loaded(120, 40);
    open_artifacts(&mut screen);
    screen.keys("jjo");
    let Some(content) = screen.effects.iter().find_map(|effect| match effect {
        Effect::Send(ticket, Request::ZipContent { .. }) => Some(*ticket),
        _ => None,
    }) else {
        panic!("{}", screen.text());
    };
    screen.keys("2");
    let (before, after) = around(&mut screen, content, Ok(Answer::Content(vec!["a.txt".into()])));
    assert_eq!(before, after);
    assert!(screen.app.layers.is_empty());
}

#[test]
fn the_result_of_a_change_is_reported_after_its_screen_was_left() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("jt");
    let change = sent(&screen, |request| matches!(request, Request::EditHook(..)));
    screen.keys("2");
    screen.send(Msg::Answer(change, Ok(Answer::Done)));
    assert!(screen.text().contains("Hook 12 turned off"), "{}", screen.text());
}

#[test]
fn a_closed_confirmation_dialog_cancels_its_request_and_drops_the_response() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("D");
    let count = sent(&screen, |request| matches!(request, Request::RepositoryCounts(_)));
    // Keys are dropped until the dialog has been visible for a moment.
    screen.advance(Duration::from_millis(300));
    screen.press(Key::Esc);
    assert!(screen.app.layers.is_empty() && is_cancelled(&screen, count));
    screen.keys("D");
    let (before, after) = around(&mut screen, count, Ok(repository_counts()));
    assert_eq!(before, after, "the response for the first dialog is not used by the second one");
    screen.answer(|request| matches!(request, Request::RepositoryCounts(_)), Ok(repository_counts()));
    assert!(screen.text().contains("14 branches"), "{}", screen.text());
}

#[test]
fn a_closed_form_ignores_late_responses() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("n");
    let names = sent(&screen, |request| *request == Request::OwnOrganizations);
    screen.press(Key::Esc);
    assert!(is_cancelled(&screen, names));
    let (before, after) = around(&mut screen, names, Ok(Answer::Organizations(vec!["infra".into()])));
    assert_eq!(before, after);
}
