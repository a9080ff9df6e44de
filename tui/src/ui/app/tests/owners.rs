//! Responses reach the owners of their requests.

use ratatui::buffer::Buffer;

use super::prelude::*;
use crate::ui::net::Ticket;

/// The key of a screen, the request for its rows, and the response.
type Load = (&'static str, fn(&Ask) -> bool, fn() -> Answer);

const LOADS: [Load; 5] = [
    ("1", |ask| matches!(ask, Ask::Tasks), tasks),
    ("2", |ask| matches!(ask, Ask::Repositories), || repositories(&NAMES)),
    ("3", |ask| matches!(ask, Ask::Hooks(_)), hooks),
    ("4", |ask| matches!(ask, Ask::Deliveries { .. }), deliveries),
    ("5", |ask| matches!(ask, Ask::Runs(_)), tree),
];

/// Returns the newest request of a kind.
#[track_caller]
fn sent(story: &Story, which: impl Fn(&Ask) -> bool) -> Ticket {
    let tickets = story.effects.iter().rev().find_map(|effect| match effect {
        Effect::Ask(ticket, ask) if which(ask) => Some(*ticket),
        _ => None,
    });
    tickets.expect("the request was sent")
}

fn is_cancelled(story: &Story, ticket: Ticket) -> bool {
    story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(one) if *one == ticket))
}

/// Answers a request and returns the picture before and after.
fn around(story: &mut Story, ticket: Ticket, result: Result<Answer, Problem>) -> (Buffer, Buffer) {
    let before = story.picture();
    story.tell(Msg::Answer(ticket, result));
    (before, story.picture())
}

#[test]
fn a_response_for_one_screen_never_changes_another() {
    for (from, is_load, answer) in LOADS {
        for (to, is_shown, shown) in LOADS.into_iter().filter(|(to, ..)| *to != from) {
            for result in [Ok(answer()), Err(refusal("internal error (500)"))] {
                let mut story = Story::settled(120, 40);
                story.keys(from);
                story.keys("r");
                let late = sent(&story, is_load);
                story.keys(to);
                story.answer(is_shown, Ok(shown()));
                let (before, after) = around(&mut story, late, result);
                assert_eq!(before, after, "the response for screen {from} changed screen {to}");
            }
        }
    }
}

#[test]
fn two_screens_with_the_same_request_get_their_own_responses() {
    let mut story = Story::settled(120, 40);
    on_deliveries(&mut story);
    story.keys("H");
    let of_deliveries = sent(&story, |ask| *ask == Ask::Hooks(HookOwner::Any));
    story.keys("3");
    let of_hooks = sent(&story, |ask| *ask == Ask::Hooks(HookOwner::Any));
    assert_ne!(of_deliveries, of_hooks);
    let (before, after) = around(&mut story, of_deliveries, Ok(hooks()));
    assert_eq!(before, after, "the hooks for the menu of the other screen are not rows of this one");
    assert!(story.app.layers.is_empty(), "a menu of a screen that was left does not open");
    story.tell(Msg::Answer(of_hooks, Ok(hooks())));
    assert!(story.text().contains("ci.example.net"), "{}", story.text());
}

#[test]
fn a_late_response_to_an_earlier_query_changes_nothing() {
    let mut story = Story::settled(120, 40);
    story.keys("4");
    let all = sent(&story, |ask| matches!(ask, Ask::Deliveries { .. }));
    story.keys("]");
    let failed = sent(&story, |ask| matches!(ask, Ask::Deliveries { status: "failure", .. }));
    assert!(is_cancelled(&story, all) && all != failed);
    let (before, after) = around(&mut story, all, Ok(deliveries()));
    assert_eq!(before, after);
    story.tell(Msg::Answer(failed, Ok(deliveries())));
    assert_ne!(story.picture(), after);
}

#[test]
fn a_requested_view_does_not_open_after_its_screen_was_left() {
    let mut story = Story::settled(120, 40);
    on_artifacts(&mut story);
    story.keys("jjo");
    let Some(content) = story.effects.iter().find_map(|effect| match effect {
        Effect::Ask(ticket, Ask::ZipContent { .. }) => Some(*ticket),
        _ => None,
    }) else {
        panic!("{}", story.text());
    };
    story.keys("2");
    let (before, after) = around(&mut story, content, Ok(Answer::Content(vec!["a.txt".into()])));
    assert_eq!(before, after);
    assert!(story.app.layers.is_empty());
}

#[test]
fn the_result_of_a_change_is_reported_after_its_screen_was_left() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("jt");
    let change = sent(&story, |ask| matches!(ask, Ask::EditHook(..)));
    story.keys("2");
    story.tell(Msg::Answer(change, Ok(Answer::Done)));
    assert!(story.text().contains("Hook 12 turned off"), "{}", story.text());
}

#[test]
fn a_closed_confirmation_dialog_cancels_its_request_and_drops_the_response() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    let count = sent(&story, |ask| matches!(ask, Ask::RepositoryCounts(_)));
    // Keys are dropped until the dialog has been visible for a moment.
    story.pass(Duration::from_millis(300));
    story.press(Key::Esc);
    assert!(story.app.layers.is_empty() && is_cancelled(&story, count));
    story.keys("D");
    let (before, after) = around(&mut story, count, Ok(facts()));
    assert_eq!(before, after, "the response for the first dialog is not used by the second one");
    story.answer(|ask| matches!(ask, Ask::RepositoryCounts(_)), Ok(facts()));
    assert!(story.text().contains("14 branches"), "{}", story.text());
}

#[test]
fn a_closed_form_ignores_late_responses() {
    let mut story = Story::settled(80, 24);
    story.keys("n");
    let names = sent(&story, |ask| *ask == Ask::OwnOrganizations);
    story.press(Key::Esc);
    assert!(is_cancelled(&story, names));
    let (before, after) = around(&mut story, names, Ok(Answer::Organizations(vec!["infra".into()])));
    assert_eq!(before, after);
}
