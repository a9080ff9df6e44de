//! A daemon that accepts requests and answers none: the notice, cancellation, and further requests.

use super::prelude::*;

fn header(screen: &TestScreen) -> String {
    screen.text().lines().next().unwrap_or_default().to_owned()
}

/// Requests the repositories again, and lets `seconds` pass without a response.
fn silent_for(seconds: u64) -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(5));
    screen.is_silent = true;
    screen.take_requests();
    for _ in 0..seconds {
        screen.advance(Duration::from_secs(1));
    }
    screen
}

#[test]
fn the_header_counts_seconds_without_a_response_and_rows_are_stale() {
    let screen = silent_for(2);
    assert!(header(&screen).ends_with("forge01.lan ok"), "{}", screen.text());
    let mut screen = silent_for(3);
    let rows = screen.app.tickets - 1;
    assert!(header(&screen).ends_with("no answer for 3 s"), "{}", screen.text());
    assert!(screen.text().contains(" stale 3 s  ") && screen.text().contains("infra/gateway"), "{}", screen.text());
    assert!(screen.styles().lines().nth(4).unwrap().contains("dddd"), "rows are dim: {}", screen.styles());
    assert_eq!(screen.take_requests(), [Request::Status], "only a heartbeat is sent, and no request for rows");
    screen.advance(Duration::from_secs(4));
    assert!(header(&screen).ends_with("no answer for 7 s"), "{}", screen.text());
    assert!(screen.app.wake_at().is_some_and(|at| at <= screen.now + Duration::from_secs(1)), "a timer is set");
    screen.send(Msg::Answer(rows, Ok(repositories(&NAMES))));
    assert!(header(&screen).ends_with("forge01.lan ok"), "{}", screen.text());
    assert!(!screen.text().contains("stale"), "{}", screen.text());
    assert!(screen.text().contains("The daemon responds again"), "{}", screen.text());
}

#[test]
fn narrow_terminals_keep_the_tabs_and_the_name_of_the_server_beside_the_warning() {
    let mut screen = TestScreen::loaded(40, 10);
    screen.is_silent = true;
    for _ in 0..12 {
        screen.advance(Duration::from_secs(1));
    }
    // The first request without a response was sent after three seconds.
    assert_eq!(header(&screen), "1[2 Repos]34567890 forge01.l… silent 9 s");
}

#[test]
fn a_slow_request_is_not_reported_while_other_responses_arrive() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(5));
    screen.is_silent = true;
    for _ in 0..4 {
        screen.advance(Duration::from_secs(2));
        screen.answer(|request| *request == Request::Status, Ok(status()));
        assert!(header(&screen).ends_with("ok"), "{}", screen.text());
    }
}

#[test]
fn a_heartbeat_without_a_response_is_canceled_and_sent_again() {
    let mut screen = silent_for(3);
    let cancelled = |screen: &TestScreen| screen.effects.iter().filter(|one| matches!(one, Effect::Cancel(_))).count();
    assert_eq!((cancelled(&screen), screen.take_requests()), (0, vec![Request::Status]));
    screen.advance(Duration::from_secs(10));
    assert_eq!((cancelled(&screen), screen.take_requests()), (1, vec![Request::Status]));
}

#[test]
fn a_pending_action_shows_its_waiting_time_and_esc_cancels_it() {
    let mut screen = TestScreen::loaded(120, 24);
    open_hooks(&mut screen);
    screen.keys("jt");
    screen.advance(Duration::from_secs(4));
    assert!(screen.text().contains("changing hook 12: waiting for 4 s, Esc cancels"), "{}", screen.text());
    screen.effects.clear();
    screen.press(Key::Esc);
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{:?}", screen.effects);
    let text = screen.text();
    assert!(text.contains("cancelled: changing hook 12; the daemon may have done it"), "{text}");
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn a_submitted_form_shows_its_waiting_time_and_esc_cancels_the_request() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("n\t");
    screen.send(Msg::Paste("tool".into()));
    screen.press(Key::Ctrl('s'));
    screen.advance(Duration::from_secs(5));
    assert!(screen.text().contains("waiting for the daemon … 5 s, Esc cancels"), "{}", screen.text());
    screen.effects.clear();
    screen.press(Key::Esc);
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{:?}", screen.effects);
    let text = screen.text();
    assert!(text.contains("Cancelled while waiting") && text.contains("[tool"), "the form stays: {text}");
}

#[test]
fn a_paused_screen_without_pending_requests_sets_no_timer() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.is_silent = true;
    screen.keys("p");
    screen.take_requests();
    screen.advance(Duration::from_secs(60));
    assert_eq!((screen.app.wake_at(), screen.take_requests()), (None, Vec::new()));
    screen.keys("r");
    screen.advance(Duration::from_secs(3));
    assert!(header(&screen).ends_with("no answer for 3 s"), "{}", screen.text());
}
