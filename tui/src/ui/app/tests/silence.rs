//! A daemon that accepts requests and answers none: the notice, cancellation, and further requests.

use super::prelude::*;

fn header(story: &Story) -> String {
    story.text().lines().next().unwrap_or_default().to_owned()
}

/// Requests the repositories again, and lets `seconds` pass without a response.
fn silent_for(seconds: u64) -> Story {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(5));
    story.hangs = true;
    story.asked();
    for _ in 0..seconds {
        story.pass(Duration::from_secs(1));
    }
    story
}

#[test]
fn the_header_counts_seconds_without_a_response_and_rows_are_stale() {
    let story = silent_for(2);
    assert!(header(&story).ends_with("forge01.lan ok"), "{}", story.text());
    let mut story = silent_for(3);
    let rows = story.app.tickets - 1;
    assert!(header(&story).ends_with("no answer for 3 s"), "{}", story.text());
    assert!(story.text().contains(" stale 3 s  ") && story.text().contains("infra/gateway"), "{}", story.text());
    assert!(story.styles().lines().nth(4).unwrap().contains("dddd"), "rows are dim: {}", story.styles());
    assert_eq!(story.asked(), [Ask::Status], "only a heartbeat is sent, and no request for rows");
    story.pass(Duration::from_secs(4));
    assert!(header(&story).ends_with("no answer for 7 s"), "{}", story.text());
    assert!(story.app.wake_at().is_some_and(|at| at <= story.now + Duration::from_secs(1)), "a timer is set");
    story.tell(Msg::Answer(rows, Ok(repositories(&NAMES))));
    assert!(header(&story).ends_with("forge01.lan ok"), "{}", story.text());
    assert!(!story.text().contains("stale"), "{}", story.text());
    assert!(story.text().contains("The daemon responds again"), "{}", story.text());
}

#[test]
fn narrow_terminals_keep_the_tab_beside_the_warning() {
    let mut story = Story::settled(40, 10);
    story.hangs = true;
    for _ in 0..12 {
        story.pass(Duration::from_secs(1));
    }
    // The first request without a response was sent after three seconds.
    assert_eq!(header(&story), " 1 [2 Repos] 3  4  5 … no answer for 9 s");
}

#[test]
fn a_slow_request_is_not_reported_while_other_responses_arrive() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(5));
    story.hangs = true;
    for _ in 0..4 {
        story.pass(Duration::from_secs(2));
        story.answer(|ask| *ask == Ask::Status, Ok(status()));
        assert!(header(&story).ends_with("ok"), "{}", story.text());
    }
}

#[test]
fn a_heartbeat_without_a_response_is_canceled_and_sent_again() {
    let mut story = silent_for(3);
    let cancelled = |story: &Story| story.effects.iter().filter(|one| matches!(one, Effect::Cancel(_))).count();
    assert_eq!((cancelled(&story), story.asked()), (0, vec![Ask::Status]));
    story.pass(Duration::from_secs(10));
    assert_eq!((cancelled(&story), story.asked()), (1, vec![Ask::Status]));
}

#[test]
fn a_pending_action_shows_its_waiting_time_and_esc_cancels_it() {
    let mut story = Story::settled(120, 24);
    on_hooks(&mut story);
    story.keys("jt");
    story.pass(Duration::from_secs(4));
    assert!(story.text().contains("changing hook 12: waiting for 4 s, Esc cancels"), "{}", story.text());
    story.effects.clear();
    story.press(Key::Esc);
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{:?}", story.effects);
    let text = story.text();
    assert!(text.contains("cancelled: changing hook 12; the daemon may have done it"), "{text}");
    assert_eq!(story.app.current, ScreenId::Hooks);
}

#[test]
fn a_submitted_form_shows_its_waiting_time_and_esc_cancels_the_request() {
    let mut story = Story::settled(80, 24);
    story.keys("n\t");
    story.tell(Msg::Paste("tool".into()));
    story.press(Key::Ctrl('s'));
    story.pass(Duration::from_secs(5));
    assert!(story.text().contains("waiting for the daemon … 5 s, Esc cancels"), "{}", story.text());
    story.effects.clear();
    story.press(Key::Esc);
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{:?}", story.effects);
    let text = story.text();
    assert!(text.contains("Cancelled while waiting") && text.contains("[tool"), "the form stays: {text}");
}

#[test]
fn a_paused_screen_without_pending_requests_sets_no_timer() {
    let mut story = Story::settled(80, 24);
    story.hangs = true;
    story.keys("p");
    story.asked();
    story.pass(Duration::from_secs(60));
    assert_eq!((story.app.wake_at(), story.asked()), (None, Vec::new()));
    story.keys("r");
    story.pass(Duration::from_secs(3));
    assert!(header(&story).ends_with("no answer for 3 s"), "{}", story.text());
}
