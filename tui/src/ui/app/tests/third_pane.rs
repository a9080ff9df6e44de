//! The third pane of wide terminals: content, focus, position and requests.

use farrier_common::api::{Delivery, LogRecord};

use super::prelude::*;
use crate::ui::app::Mouse;

/// Returns the rows of the third pane of a terminal with 200 columns.
fn third(screen: &TestScreen) -> Vec<String> {
    screen.text().lines().map(|line| line.chars().skip(146).collect::<String>().trim_end().to_owned()).collect()
}

fn has(screen: &TestScreen, part: &str) -> bool {
    third(screen).iter().any(|line| line.contains(part))
}

fn cursor(screen: &TestScreen) -> String {
    let text = screen.text();
    let line = text.lines().find(|line| line.starts_with('>')).unwrap_or_default();
    line.split('│').next().unwrap_or_default().to_owned()
}

/// Opens the hooks. The first one has 100 deliveries.
fn hooks_with_deliveries() -> TestScreen {
    let mut screen = TestScreen::loaded(200, 60);
    open_hooks(&mut screen);
    let sent = |id: i64| Delivery { event: format!("sent{id}"), ..delivery(12, "failed", 500) };
    let all: Vec<Delivery> = (1..=100).map(sent).collect();
    screen.answer_last_of(|request| matches!(request, Request::LastDeliveries(_)), Ok(last_deliveries(&all)));
    screen
}

#[test]
fn only_wide_terminals_have_a_third_pane_and_the_whole_width_replaces_it() {
    let is_shown = |screen: &TestScreen| {
        screen.text();
        !screen.app.third.area().is_empty()
    };
    let mut screen = hooks_with_deliveries();
    assert!(is_shown(&screen) && has(&screen, "Last deliveries") && has(&screen, "sent1"), "{}", screen.text());
    screen.keys("+");
    assert!(!is_shown(&screen), "{}", screen.text());
    screen.keys("+");
    assert!(is_shown(&screen));
    for (width, shown) in [(179, false), (180, true), (120, false)] {
        screen.send(Msg::Resized(Size::new(width, 60)));
        assert_eq!(is_shown(&screen), shown, "{width}");
    }
}

#[test]
fn tab_moves_the_focus_through_all_three_panes() {
    let mut screen = TestScreen::loaded(200, 60);
    open_deliveries(&mut screen);
    let focus =
        |screen: &TestScreen| (screen.app.screen().right_has_focus() == Some(true), screen.app.world.third_has_focus);
    for expected in [(true, false), (false, true), (false, false), (true, false), (false, true)] {
        screen.press(Key::Tab);
        assert_eq!(focus(&screen), expected, "{}", screen.text());
    }
    // Esc goes back to the list. Enter on the list opens the second pane.
    screen.press(Key::Esc);
    assert_eq!(focus(&screen), (false, false));
    screen.keys("\t\t\n");
    assert_eq!(focus(&screen), (true, false));
    screen.keys("\t3");
    assert_eq!(focus(&screen), (false, false), "another screen begins with its list");
}

#[test]
fn keys_scroll_the_third_pane_while_it_has_the_focus() {
    let mut screen = hooks_with_deliveries();
    let before = cursor(&screen);
    screen.keys("\tjj");
    assert!(has(&screen, "line 3/100") && has(&screen, "sent3 "), "{}", screen.text());
    assert!(!has(&screen, "sent2 "), "{}", screen.text());
    assert_eq!(cursor(&screen), before, "the cursor of the list stays");
    screen.keys("G");
    assert!(has(&screen, "sent100"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.keys("j");
    assert_ne!(cursor(&screen), before);
    assert!(has(&screen, "loading …") && !has(&screen, "sent1"), "the deliveries belong to another hook");
}

#[test]
fn the_mouse_gives_the_focus_to_the_third_pane_and_the_wheel_scrolls_it() {
    let mut screen = hooks_with_deliveries();
    screen.keys("m");
    screen.text();
    let before = cursor(&screen);
    screen.send(Msg::Mouse(Mouse::Down { x: 170 }));
    assert!(has(&screen, "line 4/100") && !screen.app.world.third_has_focus, "{}", screen.text());
    assert_eq!(cursor(&screen), before);
    screen.send(Msg::Mouse(Mouse::Click { x: 170, y: 20 }));
    assert!(screen.app.world.third_has_focus, "{}", screen.text());
    assert_eq!(cursor(&screen), before);
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 4 }));
    assert!(!screen.app.world.third_has_focus, "{}", screen.text());
}

#[test]
fn commits_are_requested_for_one_repository_at_a_time_and_beside_every_tab() {
    let is_count = |request: &Request| matches!(request, Request::RepositoryCounts(_));
    let mut screen = TestScreen::loaded(200, 60);
    screen.keys("\n]");
    screen.keys("\t\t");
    screen.take_requests();
    screen.keys("jjjj");
    assert!(screen.app.pending.values().filter(|one| is_count(&one.request)).count() <= 1);
    for _ in 0..4 {
        screen.rest_cursor();
        if screen.app.pending.values().any(|one| is_count(&one.request)) {
            screen.answer_last_of(is_count, Ok(repository_counts()));
        }
    }
    assert!(has(&screen, "Last commits of main") && has(&screen, "fix: change 0"), "{}", screen.text());
    assert!(screen.text().contains("[Files]"), "{}", screen.text());
}

#[test]
fn the_response_is_beside_the_summary_of_a_delivery_and_the_request_beside_the_response() {
    let mut screen = TestScreen::loaded(200, 60);
    open_delivery(&mut screen);
    assert!(has(&screen, "── Response ─") && has(&screen, "no response received"), "{}", screen.text());
    screen.keys("]]");
    assert!(screen.text().contains("[Response]") && has(&screen, "── Request ─"), "{}", screen.text());
}

#[test]
fn the_log_shows_the_other_records_of_a_request() {
    let of = |sequence, message, request: &str| LogRecord {
        request_id: request.into(),
        ..log_record(sequence, "info", message)
    };
    let records = vec![of(1, "first", "7d1e"), of(2, "of another request", "0b44"), of(3, "second", "7d1e")];
    let mut screen = TestScreen::loaded(200, 60);
    screen.keys("0");
    screen.answer(|request| matches!(request, Request::Logs(..)), Ok(log_page(records, 3)));
    assert!(has(&screen, "  first") && has(&screen, "  second"), "{}", screen.text());
    assert!(!has(&screen, "of another request"), "{}", screen.text());
}

#[test]
fn users_and_teams_have_their_details_in_the_third_pane() {
    let mut screen = TestScreen::loaded(200, 60);
    open_users(&mut screen);
    screen.answer_last_of(|request| matches!(request, Request::Tokens(_)), Ok(tokens()));
    for part in ["admin@example.org", "administrator", "Token under the cursor", "write:repository"] {
        assert!(has(&screen, part), "{part}: {}", screen.text());
    }
    let mut screen = TestScreen::loaded(200, 60);
    open_organization(&mut screen, Ok(teams()));
    assert!(has(&screen, "Rights of the team") && has(&screen, "Units"), "{}", screen.text());
}

#[test]
fn the_audit_log_shows_the_loaded_entries_about_the_same_object() {
    let mut screen = TestScreen::loaded(200, 60);
    screen.keys("6");
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(audit()));
    assert!(has(&screen, "Loaded entries about the same object"), "{}", screen.text());
}
