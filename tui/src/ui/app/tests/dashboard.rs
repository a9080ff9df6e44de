//! The dashboard: problems, events, running tasks, and the permissions that they need.

use farrier_common::api::WorkLimit;

use super::prelude::*;
use crate::ui::net::ProblemKind;

#[test]
fn enter_on_a_hook_problem_opens_the_deliveries_of_the_hook() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| *request == Request::Series, Ok(series()));
    screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
    let text = screen.text();
    assert!(text.contains("hook 12 failed 22 times in a row") && text.contains("p50 2 ms"), "{text}");
    screen.keys("\n");
    assert!(screen.text().contains("this problem concerns the whole daemon"), "{}", screen.text());
    screen.keys("jj\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert!(screen.take_requests().iter().any(|request| matches!(request, Request::Deliveries { hook: Some(12), .. })));
}

#[test]
fn the_dashboard_shows_the_rest_if_metrics_are_forbidden() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let forbidden = Problem::new(ProblemKind::Forbidden, "asking: user should be the site admin (403)");
    screen.answer(|request| *request == Request::Series, Err(forbidden));
    let text = screen.text();
    assert!(text.contains("memory 14.0 MiB") && !text.contains("requests"), "{text}");
    assert_eq!(screen.app.notice(), None);
    assert!(text.contains("? figures not checked: asking: user should be the site admin (403)"), "{text}");
    assert!(text.contains("live  2 problems"), "{text}");
    screen.advance(Duration::from_secs(2));
    screen.answer(|request| *request == Request::Series, Ok(series()));
    assert!(!screen.text().contains("not checked"), "{}", screen.text());
}

#[test]
fn the_dashboard_shows_limits_that_callers_exceed() {
    let limit = |kind: &str, waiting, refused| WorkLimit {
        kind: kind.into(),
        running: 24,
        max: 24,
        waiting,
        refused,
        ..WorkLimit::default()
    };
    let Answer::Status(mut answer) = status() else { panic!("a status") };
    let memory = WorkLimit { unit: "bytes".into(), running: 96 << 20, max: 256 << 20, ..limit("request_memory", 0, 3) };
    answer.0.limits = vec![limit("git", 2, 17), limit("upload", 0, 0), memory];
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(answer)));
    let text = screen.text();
    assert!(text.contains("24/24 git   2 waiting   17 refused") && !text.contains("24/24 upload"), "{text}");
    assert!(text.contains("96.0 MiB/256.0 MiB request_memory   3 refused"), "{text}");
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
    assert!(text.contains("12:00:00  push") && text.contains("infra/gateway  main"), "{text}");
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

/// Returns a status with problems.
fn status_with(problems: &[&str]) -> Answer {
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.0.problems = problems.iter().map(ToString::to_string).collect();
    Answer::Status(now)
}

#[test]
fn each_status_problem_is_shown_once() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    let problems = ["the store is read-only", "1.2 GiB free on the disk, less than 5 %"];
    screen.answer(|request| *request == Request::Status, Ok(status_with(&problems)));
    let text = screen.text();
    for problem in problems {
        assert_eq!(text.matches(problem).count(), 1, "{problem}: {text}");
    }
    assert!(text.contains("live  2 problems"), "{text}");
}

#[test]
fn hooks_turned_off_for_the_same_reason_share_one_line_with_a_count() {
    let mut screen = TestScreen::loaded(100, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status_with(&[])));
    let Answer::Hooks(all) = hooks() else { unreachable!() };
    let off = |id: i64| farrier_common::api::Hook {
        id,
        state: "disabled".into(),
        url: "https://ci.example.net/hook".into(),
        disabled_reason: "failed for 3 days".into(),
        ..all[1].clone()
    };
    screen.answer(|request| *request == Request::FailingHooks, Ok(Answer::Hooks((31..38).map(off).collect())));
    let text = screen.text();
    let line = "7 hooks (31, 32, 33, 34, 35, 2 more) are off: failed for 3 days";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("failed for 3 days").count(), 1, "{text}");
    screen.keys("G\n");
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn checks_that_fail_for_the_same_reason_share_one_line() {
    let mut screen = TestScreen::loaded(100, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    for request in [Request::Series, Request::Tasks, Request::FailingHooks] {
        let text = format!("{}: token needs the scope read:admin (403)", request.doing());
        screen.answer(|one| *one == request, Err(Problem::new(ProblemKind::Forbidden, text)));
    }
    let text = screen.text();
    assert!(text.contains("? figures, hooks, tasks not checked: token needs the scope read:admin (403)"), "{text}");
    assert_eq!(text.matches("read:admin").count(), 1, "{text}");
}
