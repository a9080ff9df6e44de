//! The screen of the log: live records, levels, following, and the objects of a record.

use farrier_common::api::LogRecords;

use super::prelude::*;
use crate::ui::net::{OwnRequests, ProblemKind};

fn is_logs(request: &Request) -> bool {
    matches!(request, Request::Logs(..))
}

/// Opens the log with a response to its first request.
fn open_logs(width: u16, height: u16, answer: Answer) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    screen.keys("0");
    screen.answer_last_of(is_logs, Ok(answer));
    screen.take_requests();
    screen
}

/// Returns the text of the row under the cursor.
fn current(screen: &TestScreen) -> String {
    screen.text().lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

fn log_requests(screen: &mut TestScreen) -> Vec<Request> {
    screen.take_requests().into_iter().filter(is_logs).collect()
}

#[test]
fn records_are_listed_newest_first_with_their_fields() {
    for way in ["0", ":logs\n"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys(way);
        screen.answer_last_of(is_logs, Ok(logs()));
        let text = screen.text();
        for part in ["[0 Logs]", "[all]", "follow", "11:59:02.074", "WARN", "delivery::worker", "1 error  1 warn"] {
            assert!(text.contains(part), "{way}, {part}: {text}");
        }
        assert!(current(&screen).contains("writing a block failed"), "{text}");
        assert!(text.find("writing a block") < text.find("a hook was switched off hook=12"), "{text}");
    }
}

#[test]
fn new_records_are_requested_after_the_last_one_and_added_above() {
    let mut screen = open_logs(120, 40, logs());
    screen.advance(Duration::from_secs(2));
    assert_eq!(log_requests(&mut screen), [Request::Logs("", Some(4), OwnRequests::Hidden)]);
    screen.answer_last_of(is_logs, Ok(log_page(vec![log_record(5, "info", "the fifth")], 9)));
    assert!(current(&screen).contains("the fifth"), "the cursor follows: {}", screen.text());
    assert!(screen.text().contains("writing a block failed"), "{}", screen.text());
    screen.keys("j");
    screen.advance(Duration::from_secs(2));
    assert_eq!(log_requests(&mut screen), [Request::Logs("", Some(9), OwnRequests::Hidden)]);
    screen.answer_last_of(is_logs, Ok(log_page(vec![log_record(10, "info", "the tenth")], 10)));
    assert!(current(&screen).contains("writing a block"), "a reader stays: {}", screen.text());
    screen.keys("F");
    assert!(current(&screen).contains("the tenth"), "{}", screen.text());
    screen.keys("p");
    screen.advance(Duration::from_secs(10));
    assert!(log_requests(&mut screen).is_empty(), "paused");
    assert!(screen.text().contains("paused"), "{}", screen.text());
}

#[test]
fn marking_a_record_ends_following() {
    let mut screen = open_logs(120, 40, logs());
    screen.keys(" ");
    screen.advance(Duration::from_secs(2));
    screen.answer_last_of(is_logs, Ok(log_page(vec![log_record(5, "info", "the fifth")], 5)));
    assert!(current(&screen).contains("a read is left to git"), "the next mark is below: {}", screen.text());
    assert!(screen.text().contains("F follow"), "{}", screen.text());
}

#[test]
fn a_level_is_chosen_on_the_daemon_and_begins_a_new_list() {
    let mut screen = open_logs(120, 40, logs());
    screen.keys("L");
    assert_eq!(log_requests(&mut screen), [Request::Logs("debug", None, OwnRequests::Hidden)]);
    screen.keys("LL");
    assert_eq!(log_requests(&mut screen).last(), Some(&Request::Logs("warn", None, OwnRequests::Hidden)));
    screen.answer_last_of(is_logs, Ok(log_page(Vec::new(), 4)));
    let text = screen.text();
    assert!(text.contains("[warn]") && text.contains("No records of this level."), "{text}");
    screen.keys("[[[");
    assert_eq!(log_requests(&mut screen).last(), Some(&Request::Logs("", None, OwnRequests::Hidden)));
    screen.keys(":logs --level error --grep disk\n");
    assert_eq!(log_requests(&mut screen).last(), Some(&Request::Logs("error", None, OwnRequests::Hidden)));
    assert_eq!(screen.app.screen().filter_text(), "disk");
}

#[test]
fn requests_of_the_program_are_hidden_until_a_key_shows_them() {
    let mut screen = open_logs(120, 40, logs());
    assert!(screen.text().contains("o show requests of full screens"), "{}", screen.text());
    screen.keys("o");
    assert_eq!(log_requests(&mut screen), [Request::Logs("", None, OwnRequests::Shown)]);
    screen.answer_last_of(is_logs, Ok(log_page(vec![log_record(5, "info", "request")], 5)));
    assert!(screen.text().contains("o hide requests of full screens"), "{}", screen.text());
    assert!(!screen.text().contains("writing a block failed"), "the list begins again: {}", screen.text());
    screen.keys("o");
    assert_eq!(log_requests(&mut screen), [Request::Logs("", None, OwnRequests::Hidden)]);
}

#[test]
fn a_command_replaces_the_filter() {
    let mut screen = open_logs(120, 40, logs());
    screen.keys(":logs --grep Disk\n");
    assert_eq!(screen.app.screen().filter_text(), "disk", "case is ignored");
    screen.keys(":logs --grep farrierd::http\n");
    assert_eq!(screen.app.screen().filter_text(), "disk", "only the shell has this filter");
    screen.keys("\x1b:logs --level warn\n");
    assert_eq!(screen.app.screen().filter_text(), "");
}

#[test]
fn missing_records_and_restarts_are_reported_and_further_pages_are_loaded_at_once() {
    let mut screen = open_logs(120, 40, logs());
    screen.advance(Duration::from_secs(2));
    let records = vec![log_record(90, "info", "later")];
    let page = LogRecords { records, next: 90, more: true, dropped: 85, restarted: false };
    screen.answer_last_of(is_logs, Ok(Answer::Logs(Box::new(page))));
    assert!(screen.text().contains("85 records were replaced by newer ones"), "{}", screen.text());
    assert_eq!(log_requests(&mut screen).last(), Some(&Request::Logs("", Some(90), OwnRequests::Hidden)));
    let page = LogRecords { next: 200, restarted: true, ..LogRecords::default() };
    screen.answer_last_of(is_logs, Ok(Answer::Logs(Box::new(page))));
    assert!(screen.text().contains("the daemon was restarted"), "{}", screen.text());
    assert!(screen.text().contains("later"), "older records stay: {}", screen.text());
}

#[test]
fn text_of_others_cannot_control_the_terminal() {
    let mut screen = open_logs(120, 40, logs());
    screen.keys("j");
    for keys in ["", "\n"] {
        screen.keys(keys);
        assert!(screen.text().contains("remote:"), "{}", screen.text());
        for cell in &screen.picture().content {
            let steers = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!cell.symbol().chars().any(steers), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn one_key_goes_to_the_objects_of_a_record_and_to_its_request_in_the_audit_log() {
    let mut screen = open_logs(120, 40, logs());
    screen.keys("jjjf");
    let text = screen.text();
    for part in ["repository infra/gateway", "user ops", "audit log of request 7d1e00000000000a"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.keys("r");
    assert_eq!(screen.app.current, ScreenId::Repositories);
    screen.keys("0fl");
    assert_eq!(screen.app.current, ScreenId::Audit);
    assert_eq!(screen.app.screen().filter_text(), "request:=7d1e00000000000a");
}

#[test]
fn a_caller_who_may_not_read_the_log_sees_why() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("0");
    let refused = Problem::new(ProblemKind::Forbidden, "listing log records: administrators only (403)");
    screen.answer_last_of(is_logs, Err(refused));
    assert!(screen.text().contains("administrators only"), "{}", screen.text());
}

#[test]
fn the_log_is_drawn_at_every_size() {
    let mut screen = open_logs(120, 40, logs());
    for (width, height) in (1..=200).map(|width| (width, width * 7 % 61 + 1)).chain([(40, 10), (80, 24)]) {
        screen.send(Msg::Resized(Size::new(width, height)));
        assert_eq!(screen.picture().area.as_size(), Size::new(width, height));
    }
}
