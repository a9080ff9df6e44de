//! Sessions: no daemon, another daemon, another caller.

use super::prelude::*;
use crate::ui::{
    net::{ProblemKind, Reconnect},
    starter::Starter,
};

fn starter() -> Starter {
    Starter { program: "/usr/bin/farrierd".into(), log: "/home/ops/.local/state/farrier/farrierd.log".into() }
}

/// Starts without a daemon and without saved state.
pub(super) fn alone(terminal: TestTerminal) -> TestScreen {
    let mut screen = terminal.start();
    screen.app.world.starter = Some(starter());
    screen.answer(|request| *request == Request::Repositories, Err(no_daemon()));
    screen.answer(|request| *request == Request::Status, Err(no_daemon()));
    screen
}

pub(super) fn unknown(terminal: TestTerminal) -> TestScreen {
    let mut screen = terminal.start();
    screen.send(Msg::Endpoint(
        0,
        "http://forge01.lan:3000".into(),
        Some("from /home/ops/token  (ends with ...9f2c)".into()),
    ));
    screen.answer(|request| *request == Request::Repositories, Err(refused()));
    screen
}

#[test]
fn a_missing_daemon_is_started_after_confirmation() {
    let mut screen = alone(test_terminal(80, 24));
    let text = screen.text();
    for part in ["looked at", "/run/farrier/farrier.sock", "U   start a daemon for this user", "log:", "connect"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    screen.take_requests();
    screen.keys("U");
    assert!(screen.text().contains("Start a daemon for this user"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [], "Enter alone starts nothing");
    screen.keys("U");
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::StartDaemon(Box::new(starter()))]);
    screen.advance(Duration::from_secs(1));
    assert_eq!(screen.take_requests(), [], "no connection is attempted while it starts");
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Started("/l.log".into()))));
    assert_eq!(screen.app.world.link, Link::Up);
    assert!(screen.text().contains("Daemon started; log: /l.log"), "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Repositories));
}

#[test]
fn sending_a_token_unencrypted_warns_once_for_each_address() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.send(Msg::ExposedToken(0, "http://forge01.lan:3000".into()));
    let warning = "warning: token sent unencrypted to http://forge01.lan:3000; use https";
    assert!(screen.text().contains(warning), "{}", screen.text());
    screen.keys("j");
    assert!(!screen.text().contains("unencrypted"), "{}", screen.text());
    screen.send(Msg::ExposedToken(0, "http://forge01.lan:3000".into()));
    assert!(!screen.text().contains("unencrypted"), "a new connection does not repeat the warning: {}", screen.text());
    screen.send(Msg::ExposedToken(0, "http://forge02.lan:3000".into()));
    assert!(screen.text().contains("http://forge02.lan:3000"), "{}", screen.text());
}

#[test]
fn starting_a_daemon_is_refused_without_its_program() {
    let mut screen = alone(test_terminal(80, 24));
    screen.app.world.starter = None;
    screen.keys("U");
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("no farrierd next to this program"), "{}", screen.text());
}

#[test]
fn connecting_to_another_daemon_clears_the_rows_of_the_previous_one() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.take_requests();
    screen.keys(":connect /tmp/other.sock\n");
    assert!(
        screen.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::To(to)) if to == "/tmp/other.sock"))
    );
    assert!(!screen.text().contains("infra/gateway"), "{}", screen.text());
    assert_eq!(screen.take_requests(), [Request::Status, Request::Repositories]);
    screen.keys(":conn");
    assert!(screen.text().contains("connect NAME|PATH|URL"), "{}", screen.text());
}

#[test]
fn after_a_rejected_token_another_token_or_none_can_be_used() {
    let mut screen = unknown(test_terminal(80, 24));
    let text = screen.text();
    assert!(text.contains("ends with ...9f2c") && text.contains("token expired"), "{text}");
    screen.keys("N");
    screen.keys("s3cret-token");
    assert!(!screen.text().contains("s3cret"), "{}", screen.text());
    screen.press(Key::Ctrl('s'));
    let token = farrier_common::client::Token::new("s3cret-token").unwrap();
    assert!(
        screen.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::WithToken(with)) if *with == token))
    );
    assert!(!format!("{:?}", screen.effects).contains("s3cret"));
    screen.answer(|request| *request == Request::Status, Err(refused()));
    screen.keys("i");
    assert!(screen.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::WithoutToken))));
}

#[test]
fn a_daemon_with_another_api_level_is_read_only() {
    let mut screen = TestScreen::new(80, 24);
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.0.api_level = farrier_common::API_LEVEL + 1;
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now)));
    let words = format!(
        "daemon 0.1.0 has API level {}, this farrier {}",
        farrier_common::API_LEVEL + 1,
        farrier_common::API_LEVEL
    );
    let text = screen.text();
    assert!(text.contains(&format!("!! {words}")) && text.contains(" RO  ") && text.contains("data/lake"), "{text}");
    screen.take_requests();
    screen.keys("D");
    assert!(
        screen.app.layers.is_empty() && screen.text().contains("Delete the repository: daemon 0.1.0 has API"),
        "{}",
        screen.text()
    );
    // A daemon that was replaced by one with the same API level accepts changes again.
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.keys("2D");
    assert_eq!(screen.app.layers.len(), 1);
}

#[test]
fn retry_delays_grow_to_ten_seconds_and_refused_changes_are_counted() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    let mut waits = Vec::new();
    for _ in 0..9 {
        let Link::Down { again_at, .. } = &screen.app.world.link else { panic!("it is away") };
        let wait = again_at.saturating_sub(screen.now);
        waits.push(wait.as_millis());
        screen.take_requests();
        screen.advance(wait);
        assert_eq!(screen.take_requests(), [Request::Status]);
        let ticket = screen.app.tickets;
        screen.send(Msg::Answer(ticket, Err(unreachable())));
    }
    for (wait, least) in waits.iter().zip([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]) {
        assert!((least..=least * 6 / 5).contains(wait), "{waits:?}");
    }
    let text = screen.text();
    assert!(text.contains("!! No connection to the daemon for 00:") && text.contains(" - retry 10 in 1"), "{text}");
    assert!(text.contains("rows are from 12:00:00, changes are disabled until the daemon responds"), "{text}");
    assert!(
        text.contains("journalctl -u farrierd -n 50") && text.contains("r retry now  : connect PATH|URL"),
        "{text}"
    );
    screen.keys("DnD");
    screen.advance(Duration::from_millis(100));
    screen.advance(Duration::from_secs(4));
    assert!(screen.text().contains("3 changes refused"), "{}", screen.text());
    screen.keys("r");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.advance(Duration::from_secs(4));
    assert!(!screen.text().contains("refused"), "{}", screen.text());
}

#[test]
fn a_long_socket_path_does_not_hide_the_duration_of_the_outage() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.send(Msg::Endpoint(0, format!("the socket /home/{}/farrier.sock", "o".repeat(60)), None));
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    let text = screen.text();
    let banner = text.lines().nth(1).unwrap();
    assert!(banner.starts_with("!! No connection to the socket /home/oo") && banner.contains("… for 00:00"), "{text}");
    assert!(banner.ends_with("retry 1 in 0 s  r now"), "{text}");
    let styles = screen.styles();
    let red: Vec<bool> = styles.lines().take(2).map(|line| line.contains('A')).collect();
    assert_eq!(red, [false, true], "a lost connection is red once, in the banner: {styles}");
}

#[test]
fn a_failed_refresh_shows_the_error_and_the_count_and_age_of_the_rows() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    let problem = Problem {
        request: Some("7d1e".into()),
        ..Problem::new(ProblemKind::Other, "listing repositories: internal error (500, request 7d1e)")
    };
    screen.answer(|request| *request == Request::Repositories, Err(problem));
    let text = screen.text();
    assert!(text.contains("! listing repositories: internal error (500, request 7d1e)"), "{text}");
    assert!(text.contains("shown: 6 rows, as of 12:00:00    r refreshes, i shows details"), "{text}");
    assert!(text.contains("infra/gateway"), "{text}");
}

/// Requests the repositories again and, because no response arrives, the status.
fn awaiting_heartbeat() -> TestScreen {
    let mut screen = TestScreen::loaded(80, 24);
    screen.is_silent = true;
    screen.advance(Duration::from_secs(6));
    screen.advance(Duration::from_secs(2));
    screen
}

#[test]
fn a_refused_request_of_a_busy_daemon_is_shown_in_its_list_and_disables_nothing() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    let busy = Problem::new(ProblemKind::Busy(Some(30)), "listing repositories: too many requests (503)");
    screen.answer(|request| *request == Request::Repositories, Err(busy));
    assert_eq!(screen.app.world.link, Link::Up);
    let text = screen.text();
    assert!(text.contains("! listing repositories: too many requests (503)"), "{text}");
    assert!(text.contains("shown: 6 rows, as of 12:00:00    r refreshes, i shows details"), "{text}");
    assert!(!text.contains("is busy") && !text.contains("stale"), "{text}");
    screen.keys("D");
    assert_eq!(screen.app.layers.len(), 1, "changes stay possible: {}", screen.text());
    screen.press(Key::Esc);
    screen.take_requests();
    screen.advance(Duration::from_secs(29));
    assert!(!screen.take_requests().contains(&Request::Repositories), "the delay of the daemon is obeyed");
    screen.advance(Duration::from_secs(2));
    assert!(screen.take_requests().contains(&Request::Repositories));
}

#[test]
fn the_delay_for_one_screen_does_not_delay_another_screen_or_a_refresh() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    let busy = Problem::new(ProblemKind::Busy(Some(600)), "listing repositories: too many requests (429)");
    screen.answer(|request| *request == Request::Repositories, Err(busy));
    screen.take_requests();
    screen.keys("r");
    assert!(screen.take_requests().contains(&Request::Repositories));
    assert_eq!(screen.app.no_poll_before, Duration::ZERO);
}

#[test]
fn a_daemon_that_was_not_reached_before_is_connected_after_it_refuses_one_request() {
    let mut screen = TestScreen::new(80, 24);
    let busy = Problem::new(ProblemKind::Busy(None), "listing repositories: too many requests (503)");
    screen.answer(|request| *request == Request::Repositories, Err(busy));
    assert_eq!(screen.app.world.link, Link::Up);
    let text = screen.text();
    assert!(text.contains("Could not show repositories.") && text.contains("r refreshes"), "{text}");
}

#[test]
fn a_busy_daemon_stays_busy_until_it_answers_the_heartbeat() {
    let mut screen = awaiting_heartbeat();
    let busy = Problem::new(ProblemKind::Busy(None), "reading the status: too many requests (503)");
    screen.answer(|request| *request == Request::Status, Err(busy.clone()));
    screen.answer_last_of(|request| *request == Request::Repositories, Err(busy));
    assert!(matches!(screen.app.world.link, Link::Down { tries: 1, .. }), "{:?}", screen.app.world.link);
}

#[test]
fn a_busy_daemon_is_retried_after_the_delay_it_asked_for() {
    let mut screen = awaiting_heartbeat();
    let busy = Problem::new(ProblemKind::Busy(Some(30)), "reading the status: too many (503)");
    screen.answer(|request| *request == Request::Status, Err(busy));
    assert!(screen.text().contains("is busy - retry 1 in 30 s"), "{}", screen.text());
    screen.take_requests();
    screen.advance(Duration::from_secs(29));
    assert_eq!(screen.take_requests(), []);
    screen.advance(Duration::from_secs(2));
    assert_eq!(screen.take_requests(), [Request::Status]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(status())));
    assert_eq!(screen.app.world.link, Link::Up);
}

#[test]
fn a_busy_daemon_that_gives_no_delay_is_retried_with_growing_delays() {
    let mut screen = awaiting_heartbeat();
    let busy = Problem::new(ProblemKind::Busy(None), "reading the status: too many (429)");
    screen.answer(|request| *request == Request::Status, Err(busy.clone()));
    let text = screen.text();
    assert!(text.contains("is busy - retry 1 in 0 s") && !text.contains("No connection"), "{text}");
    for tries in ["retry 2 in 0 s", "retry 3 in 1 s", "retry 4 in 2 s"] {
        screen.take_requests();
        screen.advance(Duration::from_secs(3));
        assert_eq!(screen.take_requests(), [Request::Status]);
        screen.send(Msg::Answer(screen.app.tickets, Err(busy.clone())));
        assert!(screen.text().contains(tries), "{}", screen.text());
    }
}

#[test]
fn a_lost_connection_is_reported_and_retried_and_keeps_the_rows() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(5));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    let text = screen.text();
    assert!(text.contains("!! No connection to") && text.contains("infra/gateway"), "{text}");
    screen.take_requests();
    screen.keys("D");
    assert!(screen.app.layers.is_empty(), "changes are disabled");
    assert!(screen.text().contains("daemon not reachable"), "{}", screen.text());
    screen.advance(Duration::from_millis(400));
    assert_eq!(screen.take_requests(), [Request::Status]);
    screen.advance(Duration::from_secs(9));
    assert_eq!(screen.take_requests(), [], "one attempt at a time");
    screen.keys("jk/x");
    assert!(screen.text().contains("nothing matches x"), "{}", screen.text());
}

#[test]
fn rows_are_requested_again_after_the_connection_is_restored() {
    let mut screen = TestScreen::new(80, 24);
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    assert!(screen.text().contains("looked at"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.answer(|request| *request == Request::Status, Ok(status()));
    assert_eq!(screen.app.world.link, Link::Up);
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert!(screen.text().contains("data/lake"));
}
