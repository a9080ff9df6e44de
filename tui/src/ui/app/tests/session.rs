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
pub(super) fn alone(stage: Stage) -> Story {
    let mut story = stage.started();
    story.app.world.starter = Some(starter());
    story.answer(|ask| *ask == Ask::Repositories, Err(nowhere()));
    story.answer(|ask| *ask == Ask::Status, Err(nowhere()));
    story
}

pub(super) fn unknown(stage: Stage) -> Story {
    let mut story = stage.started();
    story.tell(Msg::Endpoint(
        "http://forge01.lan:3000".into(),
        Some("from /home/ops/token  (ends with ...9f2c)".into()),
    ));
    story.answer(|ask| *ask == Ask::Repositories, Err(refused()));
    story
}

#[test]
fn a_missing_daemon_is_started_after_confirmation() {
    let mut story = alone(stage(80, 24));
    let text = story.text();
    for part in ["looked at", "/run/farrier/farrier.sock", "U   start a daemon for this user", "log:", "connect"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    story.asked();
    story.keys("U");
    assert!(story.text().contains("Start a daemon for this user"), "{}", story.text());
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("\n");
    assert_eq!(story.asked(), [], "Enter alone starts nothing");
    story.keys("U");
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y");
    assert_eq!(story.asked(), [Ask::StartDaemon(Box::new(starter()))]);
    story.pass(Duration::from_secs(1));
    assert_eq!(story.asked(), [], "no connection is attempted while it starts");
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Started("/l.log".into()))));
    assert_eq!(story.app.world.link, Link::Up);
    assert!(story.text().contains("Daemon started; log: /l.log"), "{}", story.text());
    assert!(story.asked().contains(&Ask::Repositories));
}

#[test]
fn sending_a_token_unencrypted_warns_once_for_each_address() {
    let mut story = Story::settled(120, 40);
    story.tell(Msg::ExposedToken("http://forge01.lan:3000".into()));
    let warning = "warning: token sent unencrypted to http://forge01.lan:3000; use https";
    assert!(story.text().contains(warning), "{}", story.text());
    story.keys("j");
    assert!(!story.text().contains("unencrypted"), "{}", story.text());
    story.tell(Msg::ExposedToken("http://forge01.lan:3000".into()));
    assert!(!story.text().contains("unencrypted"), "a new connection does not repeat the warning: {}", story.text());
    story.tell(Msg::ExposedToken("http://forge02.lan:3000".into()));
    assert!(story.text().contains("http://forge02.lan:3000"), "{}", story.text());
}

#[test]
fn starting_a_daemon_is_refused_without_its_program() {
    let mut story = alone(stage(80, 24));
    story.app.world.starter = None;
    story.keys("U");
    assert!(story.app.layers.is_empty());
    assert!(story.text().contains("no farrierd next to this program"), "{}", story.text());
}

#[test]
fn connecting_to_another_daemon_clears_the_rows_of_the_previous_one() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys(":connect /tmp/other.sock\n");
    assert!(story.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::To(to)) if to == "/tmp/other.sock")));
    assert!(!story.text().contains("infra/gateway"), "{}", story.text());
    assert_eq!(story.asked(), [Ask::Status, Ask::Repositories]);
    story.keys(":conn");
    assert!(story.text().contains("connect PATH|URL"), "{}", story.text());
}

#[test]
fn after_a_rejected_token_another_token_or_none_can_be_used() {
    let mut story = unknown(stage(80, 24));
    let text = story.text();
    assert!(text.contains("ends with ...9f2c") && text.contains("token expired"), "{text}");
    story.keys("N");
    story.keys("s3cret-token");
    assert!(!story.text().contains("s3cret"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    let token = farrier_common::client::Token::new("s3cret-token").unwrap();
    assert!(story.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::WithToken(with)) if *with == token)));
    assert!(!format!("{:?}", story.effects).contains("s3cret"));
    story.answer(|ask| *ask == Ask::Status, Err(refused()));
    story.keys("i");
    assert!(story.effects.iter().any(|e| matches!(e, Effect::Reconnect(Reconnect::WithoutToken))));
}

#[test]
fn a_daemon_with_another_api_level_is_read_only() {
    let mut story = Story::new(80, 24);
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.0.api_level = farrier_common::API_LEVEL + 1;
    story.answer(|ask| *ask == Ask::Status, Ok(Answer::Status(now)));
    let words = format!(
        "daemon 0.1.0 has API level {}, this farrier {}",
        farrier_common::API_LEVEL + 1,
        farrier_common::API_LEVEL
    );
    let text = story.text();
    assert!(text.contains(&format!("!! {words}")) && text.contains(" RO  ") && text.contains("data/lake"), "{text}");
    story.asked();
    story.keys("D");
    assert!(
        story.app.layers.is_empty() && story.text().contains("Delete the repository: off: daemon 0.1.0 has API"),
        "{}",
        story.text()
    );
    // A daemon that was replaced by one with the same API level accepts changes again.
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.keys("2D");
    assert_eq!(story.app.layers.len(), 1);
}

#[test]
fn retry_delays_grow_to_ten_seconds_and_refused_changes_are_counted() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    let mut waits = Vec::new();
    for _ in 0..9 {
        let Link::Down { again_at, .. } = &story.app.world.link else { panic!("it is away") };
        let wait = again_at.saturating_sub(story.now);
        waits.push(wait.as_millis());
        story.asked();
        story.pass(wait);
        assert_eq!(story.asked(), [Ask::Status]);
        let ticket = story.app.tickets;
        story.tell(Msg::Answer(ticket, Err(unreachable())));
    }
    for (wait, least) in waits.iter().zip([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]) {
        assert!((least..=least * 6 / 5).contains(wait), "{waits:?}");
    }
    let text = story.text();
    assert!(text.contains("!! No connection to the daemon for 00:") && text.contains(" - retry 10 in 1"), "{text}");
    assert!(text.contains("rows are from 12:00:00, changes are disabled until it is back"), "{text}");
    assert!(
        text.contains("journalctl -u farrierd -n 50") && text.contains("r retry now  : connect PATH|URL"),
        "{text}"
    );
    story.keys("DnD");
    story.pass(Duration::from_millis(100));
    story.pass(Duration::from_secs(4));
    assert!(story.text().contains("3 changes refused"), "{}", story.text());
    story.keys("r");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.pass(Duration::from_secs(4));
    assert!(!story.text().contains("refused"), "{}", story.text());
}

#[test]
fn a_long_socket_path_does_not_hide_the_duration_of_the_outage() {
    let mut story = Story::settled(80, 24);
    story.tell(Msg::Endpoint(format!("the socket /home/{}/farrier.sock", "o".repeat(60)), None));
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    let text = story.text();
    let banner = text.lines().nth(1).unwrap();
    assert!(banner.starts_with("!! No connection to the socket /home/oo") && banner.contains("… for 00:00"), "{text}");
    assert!(banner.ends_with("retry 1 in 0 s  r now"), "{text}");
}

#[test]
fn a_failed_refresh_shows_the_error_and_the_count_and_age_of_the_rows() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    let problem = Problem {
        request: Some("7d1e".into()),
        ..Problem::new(ProblemKind::Other, "listing repositories: internal error (500, request 7d1e)")
    };
    story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    let text = story.text();
    assert!(text.contains("! listing repositories: internal error (500, request 7d1e)"), "{text}");
    assert!(text.contains("shown: 6 rows, as of 12:00:00    r refreshes, i shows details"), "{text}");
    assert!(text.contains("infra/gateway"), "{text}");
}

#[test]
fn a_busy_daemon_is_retried_after_the_delay_it_asked_for() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    let busy = Problem::new(ProblemKind::Busy(Some(30)), "listing repositories: too many (503)");
    story.answer(|ask| *ask == Ask::Repositories, Err(busy));
    assert!(story.text().contains("is busy - retry 1 in 30 s"), "{}", story.text());
    story.asked();
    story.pass(Duration::from_secs(29));
    assert_eq!(story.asked(), []);
    story.pass(Duration::from_secs(2));
    assert_eq!(story.asked(), [Ask::Status]);
    story.tell(Msg::Answer(story.app.tickets, Ok(status())));
    assert_eq!(story.app.world.link, Link::Up);
}

#[test]
fn a_busy_daemon_that_gives_no_delay_is_retried_with_growing_delays() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    let busy = Problem::new(ProblemKind::Busy(None), "listing repositories: too many (429)");
    story.answer(|ask| *ask == Ask::Repositories, Err(busy.clone()));
    let text = story.text();
    assert!(text.contains("is busy - retry 1 in 0 s") && !text.contains("No connection"), "{text}");
    for tries in ["retry 2 in 0 s", "retry 3 in 1 s", "retry 4 in 2 s"] {
        story.asked();
        story.pass(Duration::from_secs(3));
        assert_eq!(story.asked(), [Ask::Status]);
        story.tell(Msg::Answer(story.app.tickets, Err(busy.clone())));
        assert!(story.text().contains(tries), "{}", story.text());
    }
}

#[test]
fn a_lost_connection_is_reported_and_retried_and_keeps_the_rows() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(5));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    let text = story.text();
    assert!(text.contains("!! No connection to") && text.contains("infra/gateway"), "{text}");
    story.asked();
    story.keys("D");
    assert!(story.app.layers.is_empty(), "changes are disabled");
    assert!(story.text().contains("daemon not reachable"), "{}", story.text());
    story.pass(Duration::from_millis(400));
    assert_eq!(story.asked(), [Ask::Status]);
    story.pass(Duration::from_secs(9));
    assert_eq!(story.asked(), [], "one attempt at a time");
    story.keys("jk/x");
    assert!(story.text().contains("nothing matches x"), "{}", story.text());
}

#[test]
fn rows_are_requested_again_after_the_connection_is_restored() {
    let mut story = Story::new(80, 24);
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    assert!(story.text().contains("looked at"), "{}", story.text());
    story.pass(Duration::from_secs(1));
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    assert_eq!(story.app.world.link, Link::Up);
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert!(story.text().contains("data/lake"));
}
