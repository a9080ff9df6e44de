//! The dashboard: problems, running tasks, and the permissions that they need.

use farrier_common::api::{RecentFailures, RecoveredDeliveries, WorkLimit};

use super::prelude::*;
use crate::ui::net::ProblemKind;

#[test]
fn enter_on_a_hook_problem_opens_the_deliveries_of_the_hook() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
    let text = screen.text();
    assert!(text.contains("hook 12 failed 22 times in a row") && text.contains("p50 2 ms"), "{text}");
    screen.keys("\n");
    assert!(screen.text().contains("─ Problem ─"), "{}", screen.text());
    screen.press(Key::Esc);
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
    screen.answer(|request| matches!(request, Request::Series(_)), Err(forbidden));
    let text = screen.text();
    assert!(text.contains("memory 14.0 MiB") && !text.contains("requests"), "{text}");
    assert_eq!(screen.app.notice(), None);
    assert!(text.contains("? metrics not checked: asking: user should be the site admin (403)"), "{text}");
    assert!(text.contains("live  2 problems"), "{text}");
    screen.advance(Duration::from_secs(2));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
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
    let mut screen = TestScreen::loaded(80, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(answer)));
    let text = screen.text();
    assert!(text.contains("24/24 git   2 waiting   17 refused") && !text.contains("24/24 upload"), "{text}");
    assert!(text.contains("96.0 MiB/256.0 MiB request_memory   3 refused"), "{text}");
}

/// Returns a status with problems.
pub(super) fn status_with(problems: &[&str]) -> Answer {
    let Answer::Status(mut now) = status() else { unreachable!() };
    now.0.problems = problems.iter().map(ToString::to_string).collect();
    Answer::Status(now)
}

#[test]
fn wide_terminals_show_long_problems_in_one_line_and_running_tasks_beside_them() {
    let mut screen = TestScreen::loaded(200, 60);
    screen.keys("1");
    let problem = "the store answers slowly: 99 % of the transactions of the last minute took 812 ms";
    screen.answer(|request| *request == Request::Status, Ok(status_with(&[problem, "second"])));
    assert!(screen.text().contains(problem), "{}", screen.text());
    screen.answer(|request| *request == Request::Tasks, Ok(tasks()));
    let text = screen.text();
    let beside = text.lines().any(|line| line.contains("Problems (") && line.contains("Tasks (1 running)"));
    assert!(beside && text.contains("took 812 ms"), "{text}");
}

#[test]
fn each_status_problem_is_shown_once() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    let problems = ["the store is read-only", "1.2 GiB free on the disk, less than 5 %"];
    let Answer::Status(mut now) = status_with(&problems) else { unreachable!() };
    let failed = farrier_common::api::HealthCheck { status: "fail".into(), ..Default::default() };
    now.1.checks.insert("disk".into(), vec![failed]);
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now)));
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
    let all = api_hooks();
    let off = |id: i64| farrier_common::api::Hook {
        id,
        state: "disabled".into(),
        url: "https://ci.example.net/hook".into(),
        disabled_reason: "failed for 3 days".into(),
        ..all[1].clone()
    };
    screen.answer(|request| *request == Request::FailingHooks, Ok(listed_hooks((31..38).map(off).collect())));
    let text = screen.text();
    let line = "7 hooks (31, 32, 33, 34, 35, 2 more) are off: failed for 3 days";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("failed for 3 days").count(), 1, "{text}");
    screen.keys("G\n");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    assert!(screen.text().contains("url:ci.example.net state:disabled"), "{}", screen.text());
}

#[test]
fn an_action_applies_to_the_same_hook_after_a_problem_appears_above_it() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status_with(&[])));
    let all = api_hooks();
    let failing = |id: i64| farrier_common::api::Hook {
        id,
        state: "failing".into(),
        active: true,
        url: format!("https://host-{id}.example.net/hook"),
        disabled_reason: String::new(),
        ..all[1].clone()
    };
    let is_hooks = |request: &Request| *request == Request::FailingHooks;
    screen.answer(is_hooks, Ok(listed_hooks(vec![failing(31), failing(32)])));
    screen.keys("G");
    assert!(screen.text().contains(">! hook 32"), "{}", screen.text());
    screen.advance(Duration::from_secs(11));
    screen.answer_last_of(|request| *request == Request::Status, Ok(status_with(&["the store is read-only"])));
    screen.answer_last_of(is_hooks, Ok(listed_hooks(vec![failing(30), failing(31), failing(32)])));
    assert!(screen.text().contains(">! hook 32"), "{}", screen.text());
    screen.take_requests();
    screen.keys("t");
    let requests = screen.take_requests();
    assert!(requests.iter().any(|request| matches!(request, Request::EditHook(_, 32, _))), "{requests:?}");
}

#[test]
fn the_key_of_a_problem_is_shown_in_narrow_columns() {
    for width in [110, 114, 180] {
        let mut screen = TestScreen::loaded(width, 40);
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(status()));
        screen.answer(|request| *request == Request::FailingHooks, Ok(hooks()));
        assert!(screen.text().contains("R redeliver"), "{width}: {}", screen.text());
    }
}

#[test]
fn checks_that_fail_for_the_same_reason_share_one_line() {
    let mut screen = TestScreen::loaded(100, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    for request in [Request::Series(SeriesSpan::Minute), Request::Tasks, Request::FailingHooks] {
        let text = format!("{}: token needs the scope read:admin (403)", request.doing());
        screen.answer(|one| *one == request, Err(Problem::new(ProblemKind::Forbidden, text)));
    }
    let text = screen.text();
    assert!(text.contains("? hooks, metrics, tasks not checked: token needs the scope read:admin (403)"), "{text}");
    assert_eq!(text.matches("read:admin").count(), 1, "{text}");
}

/// Returns the dashboard without problems.
pub(super) fn without_problems(columns: u16, rows: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(columns, rows);
    screen.keys("1");
    let Answer::Status(mut now) = status_with(&[]) else { unreachable!() };
    now.1.problems.clear();
    now.0.disk.free_bytes = now.0.disk.total_bytes;
    screen.answer(|request| *request == Request::Status, Ok(Answer::Status(now)));
    screen
}

/// Returns the dashboard with one problem: two hooks of a host that fail for the same reason.
fn failing_together() -> TestScreen {
    let mut screen = without_problems(120, 40);
    let all = api_hooks();
    let failing = |id: i64| farrier_common::api::Hook {
        id,
        state: "failing".into(),
        active: true,
        url: format!("https://ci.example.net/{id}"),
        disabled_reason: String::new(),
        last_status: 503,
        failing_since: Some("2026-11-21T10:00:00Z".into()),
        recent_failures: Some(RecentFailures { last_hour: 6, hour_before: 2 }),
        ..all[1].clone()
    };
    screen.answer(|request| *request == Request::FailingHooks, Ok(listed_hooks(vec![failing(31), failing(32)])));
    screen
}

#[test]
fn a_problem_shows_its_trend_its_age_and_the_key_that_redelivers_for_all_its_hooks() {
    let mut screen = failing_together();
    let text = screen.text();
    let line = text
        .lines()
        .find(|line| line.contains("2 hooks (31, 32) fail: status 503"))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("^    2h  R redeliver"), "{line}");
    screen.keys("R");
    assert!(screen.text().contains("Redeliver failed deliveries of 2 hooks"), "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![31, 32])));
    screen.answer_last_of(|request| matches!(request, Request::Recoverable(_)), Ok(recoverable(3, 5)));
    let text = screen.text();
    assert!(text.contains("3 failed deliveries are redelivered."), "{text}");
    assert!(text.contains("5 waiting deliveries are retried now."), "{text}");
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let request = Request::Recover(vec![31, 32]);
    assert!(screen.take_requests().contains(&request), "{}", screen.text());
    let of = |count, retried| RecoveredDeliveries { count, retried };
    let each = vec![Ok(of(1, 3)), Ok(of(2, 2))];
    screen.answer_last_of(|sent| *sent == request, Ok(Answer::Recovered(each)));
    let notice = screen.app.notice().map(|(_, text)| text);
    assert_eq!(notice, Some("2 hooks: 3 redelivered, 5 retried now"));
}

#[test]
fn hooks_whose_deliveries_only_wait_for_a_retry_are_retried() {
    let mut screen = failing_together();
    screen.keys("R");
    screen.answer_last_of(|request| matches!(request, Request::Recoverable(_)), Ok(recoverable(0, 1)));
    assert!(screen.text().contains("1 waiting delivery is retried now."), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let request = Request::Recover(vec![31, 32]);
    assert!(screen.take_requests().contains(&request), "{}", screen.text());
    let refused = Err("hook 32 is switched off".to_owned());
    let each = vec![Ok(RecoveredDeliveries { count: 0, retried: 1 }), refused];
    screen.answer_last_of(|sent| *sent == request, Ok(Answer::Recovered(each)));
    let text = screen.text();
    assert!(text.contains("hook 32 is switched off"), "{text}");
    assert!(text.contains("1 hook: 0 redelivered, 1 retried now"), "{text}");
}

#[test]
fn hooks_without_failed_and_waiting_deliveries_are_not_recovered() {
    let mut screen = failing_together();
    screen.keys("R");
    screen.answer_last_of(|request| matches!(request, Request::Recoverable(_)), Ok(recoverable(0, 0)));
    assert!(screen.text().contains("No delivery has failed or waits for a retry."), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::Recover(_))));
}

#[test]
fn enter_on_hooks_that_fail_together_shows_their_deliveries_with_the_newest_failure() {
    let mut screen = failing_together();
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    let is_list = |request: &Request| match request {
        Request::Deliveries { hook: None, reason, host, .. } => {
            (reason.as_str(), host.as_str()) == ("http 503", "ci.example.net")
        }
        _ => false,
    };
    let requests = screen.take_requests();
    assert!(requests.iter().any(is_list), "{requests:?}");
    // The newest one waits behind the failure.
    let waiting = farrier_common::api::Delivery { attempts: 0, ..delivery(31, "pending", 0) };
    let listed = listed_deliveries(&[waiting, delivery(32, "failed", 503)], None);
    screen.answer_last_of(is_list, Ok(listed));
    let text = screen.text();
    let row = text.lines().find(|line| line.starts_with('>')).unwrap_or_default();
    assert!(row.contains("503"), "{text}");
}

#[test]
fn the_hooks_of_a_problem_are_turned_off_after_a_confirmation() {
    let mut screen = failing_together();
    screen.keys("t");
    assert!(screen.text().contains("Turn off 2 hooks"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::Batch(batch) if batch.items.len() == 2)),
        "{requests:?}"
    );
}

#[test]
fn wide_columns_show_the_trend_of_a_problem_as_a_word() {
    let mut screen = failing_together();
    screen.send(Msg::Resized(Size::new(200, 60)));
    assert!(screen.text().contains("growing    2h  R redeliver"), "{}", screen.text());
}

#[test]
fn artifacts_that_expire_within_a_day_are_a_problem_that_opens_their_list() {
    let mut screen = failing_together();
    let artifact = |repository: &str| farrier_common::api::FoundArtifact {
        name: "dist.zip".into(),
        repository: repository.into(),
        ..Default::default()
    };
    let found = vec![artifact("web/site"), artifact("tools/cli"), artifact("web/shop")];
    screen.answer(|request| *request == Request::ExpiringArtifacts, Ok(Answer::ExpiringArtifacts(found, false)));
    let text = screen.text();
    assert!(text.contains("3 artifacts expire within a day"), "{text}");
    assert!(text.contains("live  2 problems"), "{text}");
    screen.keys("j\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
    assert!(screen.text().contains("expires:<1d"), "{}", screen.text());
}

#[test]
fn the_charts_show_the_last_minute_hour_or_day() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    assert!(screen.text().contains("60 s ago"), "{}", screen.text());
    screen.keys("]");
    assert!(screen.take_requests().contains(&Request::Series(SeriesSpan::Hour)));
    let Answer::Series(mut hour) = series() else { unreachable!() };
    hour.step_secs = 60;
    screen.answer_last_of(|request| *request == Request::Series(SeriesSpan::Hour), Ok(Answer::Series(hour)));
    let text = screen.text();
    assert!(text.contains("Load, last hour") && text.contains("60 min ago") && text.contains("/min"), "{text}");
    screen.keys("[[");
    assert!(screen.take_requests().contains(&Request::Series(SeriesSpan::Day)));
}

#[test]
fn the_dashboard_shows_the_owners_that_use_most_storage() {
    for (columns, rows) in [(120, 40), (200, 60), (80, 40)] {
        let mut screen = TestScreen::loaded(columns, rows);
        screen.keys("1");
        screen.answer(|request| *request == Request::Status, Ok(status_with_owners(2)));
        screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
        let text = screen.text();
        assert!(text.contains("Storage by owner, as of 11:58:00"), "{columns}x{rows}: {text}");
        assert!(text.contains("owner1") && text.contains("22.0 GiB [") && text.contains("4 others"), "{text}");
        assert!(text.contains("requests") && text.contains("Activity (live)"), "{text}");
    }
}

#[test]
fn owners_leave_the_rows_of_the_activity_on_a_small_screen() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status_with_owners(10)));
    screen.answer(|request| matches!(request, Request::Series(_)), Ok(series()));
    for id in 1..=20 {
        let event = farrier_common::api::Event {
            id,
            kind: "repository".into(),
            action: "created".into(),
            actor: "mia".into(),
            repository: format!("tools/r{id}"),
            repository_id: id,
            at: "2026-11-21T12:00:00Z".into(),
            ..Default::default()
        };
        screen.answer(|request| matches!(request, Request::Events { .. }), Ok(Answer::Event(Box::new(event))));
    }
    let text = screen.text();
    assert!(!text.contains("Storage by owner") && text.contains("tools/r20"), "{text}");
}
