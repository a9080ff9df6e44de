//! The activity of the dashboard: sentences about events, and their order and place.

use super::{dashboard::status_with, prelude::*};

/// Returns the event with the ID `id`: the repository `tools/r<id>` was created.
fn created(id: i64) -> Answer {
    Answer::Event(Box::new(farrier_common::api::Event {
        id,
        kind: "repository".into(),
        action: "created".into(),
        actor: "mia".into(),
        repository: format!("tools/r{id}"),
        repository_id: id,
        at: "2026-11-21T12:00:00Z".into(),
        ..Default::default()
    }))
}

#[test]
fn the_event_stream_resumes_after_the_last_event_and_can_be_paused() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let event = farrier_common::api::Event {
        id: 7,
        kind: "push".into(),
        at: "2026-11-21T12:00:00Z".into(),
        repository: "infra/gateway".into(),
        r#ref: "refs/heads/main".into(),
        ..Default::default()
    };
    let following = |request: &Request| matches!(request, Request::Events { .. });
    screen.answer(following, Ok(Answer::Event(Box::new(event))));
    let text = screen.text();
    assert!(text.contains("12:00:00  an agent pushed to main of infra/gateway"), "{text}");
    screen.answer(following, Ok(Answer::Done));
    screen.take_requests();
    screen.advance(Duration::from_secs(2));
    assert!(screen.take_requests().contains(&Request::Events { after: Some(7) }));
    // While paused nothing is requested; then the stream resumes after the last event.
    let ticket = screen.app.tickets;
    screen.keys("p");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))), "{ticket}");
    screen.take_requests();
    screen.advance(Duration::from_secs(9));
    assert_eq!(screen.take_requests(), []);
    screen.keys("p");
    screen.advance(Duration::from_secs(9));
    assert!(screen.take_requests().contains(&Request::Events { after: Some(7) }));
}

#[test]
fn the_activity_is_visible_below_many_problems() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("1");
    let problems: Vec<String> = (1..=12).map(|number| format!("check {number} failed")).collect();
    let problems: Vec<&str> = problems.iter().map(String::as_str).collect();
    screen.answer(|request| *request == Request::Status, Ok(status_with(&problems)));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    screen.answer(|request| *request == Request::Tasks, Ok(tasks()));
    for id in 1..=3 {
        screen.answer(|request| matches!(request, Request::Events { .. }), Ok(created(id)));
    }
    let text = screen.text();
    assert!((1..=3).all(|id| text.contains(&format!("mia created the repository tools/r{id}"))), "{text}");
    assert!(
        text.contains("Problems (4 of 1") && text.contains("disk") && text.contains("3 clients connected"),
        "{text}"
    );
    screen.keys("jjjjjjjj");
    assert!(screen.text().contains(">! check 9 failed"), "{}", screen.text());
}

#[test]
fn long_sentences_continue_on_the_next_line_in_columns() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    let problem = "the store answers slowly: 99 % of the transactions of the last minute took 812 ms";
    screen.answer(|request| *request == Request::Status, Ok(status_with(&[problem, "second"])));
    let text = screen.text();
    assert!(text.contains(">! the store answers slowly") && !text.contains('…'), "{text}");
    assert!(text.contains("   last minute took 812 ms"), "{text}");
    screen.keys("j");
    assert!(screen.text().contains(">! second"), "{}", screen.text());
}

#[test]
fn the_cursor_stays_on_an_activity_while_problems_and_events_come() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status_with(&["first"])));
    let is_events = |request: &Request| matches!(request, Request::Events { .. });
    for id in 1..=2 {
        screen.answer(is_events, Ok(created(id)));
    }
    screen.keys("G");
    let row = |screen: &TestScreen| screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row(&screen).is_some_and(|row| row.contains("tools/r1")), "{}", screen.text());
    screen.answer(is_events, Ok(created(3)));
    screen.advance(Duration::from_secs(2));
    screen.answer_last_of(|request| *request == Request::Status, Ok(status_with(&["first", "second"])));
    assert!(row(&screen).is_some_and(|row| row.contains("tools/r1")), "{}", screen.text());
}

#[test]
fn an_event_shows_the_results_of_its_deliveries() {
    // In both layouts, the sentence fits into one line.
    for (columns, rows) in [(80, 40), (200, 60)] {
        shows_the_results_of_an_event(columns, rows);
    }
}

fn shows_the_results_of_an_event(columns: u16, rows: u16) {
    let mut screen = TestScreen::loaded(columns, rows);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let event = farrier_common::api::Event {
        id: 7,
        kind: "push".into(),
        actor: "mia".into(),
        at: "2026-11-21T12:00:00Z".into(),
        repository: "tools/cli".into(),
        r#ref: "refs/heads/main".into(),
        ..Default::default()
    };
    screen.answer(|request| matches!(request, Request::Events { .. }), Ok(Answer::Event(Box::new(event))));
    let of_event = |mut delivery: farrier_common::api::Delivery| {
        delivery.event_id = Some(7);
        delivery.hook_id = delivery.id;
        delivery
    };
    let items = [
        of_event(delivery(1, "success", 200)),
        of_event(delivery(2, "success", 200)),
        of_event(delivery(3, "failed", 500)),
    ];
    screen.answer(|request| matches!(request, Request::Deliveries { .. }), Ok(listed_deliveries(&items, None)));
    let text = screen.text();
    assert!(text.contains("mia pushed to main of tools/cli; 2 hooks notified, 1 failed"), "{text}");
}

#[test]
fn the_commits_of_a_push_are_counted_once() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let event = farrier_common::api::Event {
        id: 7,
        kind: "push".into(),
        actor: "mia".into(),
        at: "2026-11-21T12:00:00Z".into(),
        repository: "tools/cli".into(),
        r#ref: "refs/heads/main".into(),
        before: "1".repeat(40),
        after: "2".repeat(40),
        ..Default::default()
    };
    screen.answer(|request| matches!(request, Request::Events { .. }), Ok(Answer::Event(Box::new(event))));
    screen.take_requests();
    screen.advance(Duration::from_secs(2));
    let is_count = |request: &Request| matches!(request, Request::PushedCommits { .. });
    let size = crate::ui::net::PushedCommits { added: 3, removed: 0 };
    screen.answer(is_count, Ok(Answer::PushedCommits(size)));
    assert!(screen.text().contains("mia pushed 3 commits to main of tools/cli"), "{}", screen.text());
    screen.take_requests();
    screen.advance(Duration::from_secs(2));
    assert!(!screen.take_requests().iter().any(is_count), "the number does not change");
}
