//! The screen of runs: list, tabs, jobs and artifacts of a run, cancellation.

use super::prelude::*;
use crate::ui::net::{ProblemKind, SearchProgress};

fn is_list(request: &Request) -> bool {
    matches!(request, Request::RunList { .. })
}

fn is_artifacts(request: &Request) -> bool {
    matches!(request, Request::RunArtifacts(_))
}

fn listing(repo: Option<&str>, status: &'static str, conclusion: &'static str, rows: usize) -> Request {
    Request::RunList { of: repo.map(|path| path.parse().unwrap()), status, conclusion, text: String::new(), rows }
}

/// Opens the screen of runs with a response to its first request.
fn open_runs(width: u16, height: u16, list: Answer) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    screen.keys("8");
    screen.answer(is_list, Ok(list));
    screen
}

/// Waits until an open question accepts keys, and forgets the requests before it.
fn await_question(screen: &mut TestScreen) {
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
}

#[test]
fn runs_of_all_repositories_are_shown_with_the_jobs_and_artifacts_of_one() {
    for way in ["8", ":run list\n"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.take_requests();
        screen.keys(way);
        assert_eq!(screen.take_requests(), [listing(None, "", "", 500)], "{way}");
        screen.answer_last_of(is_list, Ok(run_list()));
        assert!(screen.text().contains("job build"), "the jobs need no request: {}", screen.text());
        screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
        let text = screen.text();
        for part in ["[8 Runs]", "[all]", "all repositories", "web/site", "FAILURE", "run 12  infra/gateway"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (job, artifact) = (text.find("job build"), text.find("dist.zip"));
        assert!(job.is_some() && job < artifact && text.contains("uploading"), "{text}");
        assert!(text.contains("a1b2c3d4e5f6") && !text.contains("only the newest"), "{text}");
    }
}

#[test]
fn the_daemon_filters_by_the_tab() {
    let mut screen = open_runs(80, 24, run_list());
    screen.take_requests();
    screen.keys("]");
    screen.press(Key::Esc);
    assert!(screen.text().contains("stopped; r refreshes"), "Esc stops the first load: {}", screen.text());
    screen.keys("[");
    screen.take_requests();
    for (key, status, conclusion) in [("]", "in_progress", ""), ("]", "completed", ""), ("]", "", "failure")] {
        screen.keys(key);
        assert!(screen.take_requests().contains(&listing(None, status, conclusion, 500)), "{status}{conclusion}");
    }
    assert!(screen.text().contains("[failed]") && !screen.text().contains("infra/gateway"), "{}", screen.text());
    screen.answer_last_of(is_list, Ok(run_page(Vec::new(), false)));
    assert!(screen.text().contains("No failed runs."), "{}", screen.text());
    screen.keys("]");
    assert!(screen.take_requests().contains(&listing(None, "", "", 500)), "the first tab follows the last one");
    screen.keys("[");
    assert!(screen.take_requests().contains(&listing(None, "", "failure", 500)));
    screen.answer_last_of(is_list, Ok(run_page(Vec::new(), false)));
    screen.press(Key::Esc);
    assert!(screen.text().contains("[all]"), "{}", screen.text());
}

#[test]
fn commands_show_runs_of_a_repository_with_a_result() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":run list --repo web/site --status completed --conclusion failure\n");
    assert_eq!(screen.app.current, ScreenId::Runs, "{}", screen.text());
    assert!(screen.take_requests().contains(&listing(Some("web/site"), "", "failure", 500)));
    assert!(screen.text().contains("web/site"), "{}", screen.text());
    screen.keys(":run list --conclusion skipped\n");
    // The screen has no tab for skipped runs.
    let is_shell = |request: &Request| matches!(request, Request::Shell(command) if command.name == "run list");
    assert!(screen.take_requests().iter().any(is_shell), "{}", screen.text());
    screen.keys(":run show 9\n");
    assert!(screen.take_requests().contains(&listing(None, "", "", 500)), "the run may be of any repository");
    screen.answer_last_of(is_list, Ok(run_list()));
    let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains(" 9 ")), "{row:?}");
    assert!(!screen.text().contains("not among the listed runs"), "{}", screen.text());
    screen.keys(":run show 3\n");
    screen.answer_last_of(is_list, Ok(run_list()));
    assert!(screen.text().contains("Run 3 is not among the listed runs"), "{}", screen.text());
}

#[test]
fn a_running_run_is_cancelled_after_a_question() {
    let mut screen = open_runs(120, 40, run_list());
    screen.keys("X");
    let text = screen.text();
    assert!(text.contains("Cancel run 12") && text.contains("run 12 of infra/gateway"), "{text}");
    await_question(&mut screen);
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::CancelRun(12)]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("Run 12 cancelled"), "{}", screen.text());
    assert!(screen.take_requests().iter().any(is_list), "the list is loaded again");
    screen.keys("jX");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("no run here that is still running"), "{}", screen.text());
    screen.keys(":run cancel 77\n");
    assert!(screen.text().contains("Cancel run 77"), "{}", screen.text());
}

#[test]
fn a_refused_cancellation_is_reported_and_the_list_is_loaded_again() {
    let mut screen = open_runs(80, 24, run_list());
    screen.keys("X");
    await_question(&mut screen);
    screen.keys("y");
    let refused = Problem::new(ProblemKind::Invalid, "cancelling run 12: it has already completed (409)");
    screen.answer_last(Err(refused));
    assert!(screen.text().contains("already completed"), "{}", screen.text());
    assert!(screen.take_requests().iter().any(is_list));
}

#[test]
fn marked_runs_are_cancelled_together_and_those_that_failed_stay_marked() {
    let runs = [21, 20, 19].map(|id| found_run(id, "infra/gateway", ""));
    let runs = || [runs.to_vec(), vec![found_run(8, "web/site", "failure")]].concat();
    let mut screen = open_runs(120, 40, run_page(runs(), false));
    screen.keys("*X");
    let text = screen.text();
    assert!(text.contains("Cancel 3 runs") && text.contains("1 run skipped: completed already"), "{text}");
    await_question(&mut screen);
    screen.keys("y");
    let requests = screen.take_requests();
    assert!(matches!(requests.as_slice(), [Request::Batch(batch)] if batch.items.len() == 3), "{requests:?}");
    screen.answer_last(Ok(Answer::Batch(vec![None, Some("it has completed (409)".into()), None])));
    assert!(screen.text().contains("2 runs cancelled, 1 failed and stays marked"), "{}", screen.text());
    screen.answer_last_of(is_list, Ok(run_page(runs(), false)));
    screen.press(Key::Esc);
    assert!(screen.text().contains("marked 1"), "{}", screen.text());
}

#[test]
fn jobs_open_as_text_and_artifacts_on_their_own_screen() {
    let mut screen = open_runs(80, 24, run_list());
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [Request::RunArtifacts(12)]);
    screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
    screen.keys("\n");
    let text = screen.text();
    assert!(text.contains("ID         120") && text.contains("name       build"), "{text}");
    screen.press(Key::Esc);
    screen.keys("jj\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts, "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Runs(None)));
    screen.keys("-");
    screen.press(Key::Esc);
    assert!(screen.text().contains("web/site"), "Esc goes back to the runs: {}", screen.text());
    screen.keys("fr");
    assert_eq!(screen.app.current, ScreenId::Repositories, "f goes to the repository: {}", screen.text());
}

#[test]
fn jobs_stay_visible_when_artifacts_cannot_be_listed() {
    let mut screen = open_runs(120, 40, run_list());
    let refused = Problem::new(ProblemKind::Forbidden, "artifacts: you may not (403)");
    screen.answer_last_of(is_artifacts, Err(refused));
    let text = screen.text();
    assert!(text.contains("job build") && text.contains("you may not (403)"), "{text}");
}

#[test]
fn a_run_that_leaves_the_list_closes_its_jobs() {
    let mut screen = open_runs(80, 24, run_list());
    screen.keys("\n");
    screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
    screen.advance(Duration::from_secs(6));
    screen.answer_last_of(is_list, Ok(run_page(vec![found_run(8, "web/site", "failure")], false)));
    let text = screen.text();
    assert!(text.contains("Run 12 is no longer in the list"), "{text}");
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("web/site")), "{text}");
}

#[test]
fn a_run_that_a_filter_hides_after_a_refresh_closes_its_jobs() {
    let mut screen =
        open_runs(80, 24, run_page(vec![found_run(12, "infra/gateway", ""), found_run(9, "a/b", "")], false));
    screen.keys("/state:running\n\n");
    screen.rest_cursor();
    screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
    screen.advance(Duration::from_secs(6));
    let ended = run_page(vec![found_run(12, "infra/gateway", "success"), found_run(9, "a/b", "")], false);
    screen.answer_last_of(is_list, Ok(ended));
    assert!(screen.text().contains("Run 12 is no longer in the list"), "{}", screen.text());
    assert!(screen.text().contains("REPOSITORY"), "the list of runs has the focus: {}", screen.text());
}

#[test]
fn older_runs_are_loaded_when_the_cursor_comes_near_the_end() {
    let many = |count: i64| (1..=count).rev().map(|id| found_run(id, "infra/gateway", "success")).collect::<Vec<_>>();
    let mut screen = open_runs(80, 24, run_page(many(500), true));
    assert!(screen.text().contains("only the newest 500 loaded"), "{}", screen.text());
    assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(5)));
    screen.take_requests();
    screen.keys("G");
    assert!(screen.take_requests().contains(&listing(None, "", "", 1_000)));
    screen.answer_last_of(is_list, Ok(run_page(many(700), false)));
    assert!(!screen.text().contains("only the newest"), "{}", screen.text());
    assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(10)), "long lists are polled less");

    // The daemon left most runs out: more requests would not fill the list.
    let mut screen = open_runs(80, 24, run_page(many(3), true));
    assert!(screen.text().contains("only the newest 3 loaded"), "{}", screen.text());
    screen.take_requests();
    screen.keys("G");
    assert!(!screen.take_requests().iter().any(is_list));
}

#[test]
fn the_daemon_searches_runs_that_are_not_loaded() {
    let with_text = |text: &str| {
        let Request::RunList { of, status, conclusion, rows, .. } = listing(None, "", "", 500) else { unreachable!() };
        Request::RunList { of, status, conclusion, text: text.to_owned(), rows }
    };
    let lists = |screen: &mut TestScreen| screen.take_requests().into_iter().filter(is_list).collect::<Vec<_>>();
    let mut screen = open_runs(80, 24, run_list());
    lists(&mut screen);
    screen.keys("/gate\n");
    assert!(lists(&mut screen).is_empty(), "all runs are loaded");

    let mut screen = open_runs(80, 24, run_page(vec![found_run(12, "infra/gateway", "success")], true));
    lists(&mut screen);
    screen.keys("/w");
    assert_eq!(lists(&mut screen), [with_text("w")]);
    screen.keys(" state:fail\n");
    assert_eq!(lists(&mut screen).last(), Some(&with_text("w")), "states are not words of the daemon");
    assert!(screen.text().contains("searching on the daemon"), "{}", screen.text());
    let Answer::RunList(page, searched) = run_page(vec![found_run(3, "web/site", "failure")], false) else {
        unreachable!()
    };
    let found = Answer::RunList(page, SearchProgress { examined: Some(81_920), ..searched });
    screen.answer_last_of(is_list, Ok(found));
    let text = screen.text();
    assert!(text.contains("searched all runs") && text.contains("web/site"), "{text}");
    screen.press(Key::Esc);
    assert_eq!(lists(&mut screen), [with_text("")]);
    screen.keys(":run list --text site\n");
    assert_eq!(lists(&mut screen).last(), Some(&with_text("site")));
}

#[test]
fn runs_are_drawn_at_every_size() {
    let mut screen = open_runs(120, 40, run_list());
    screen.answer_last_of(is_artifacts, Ok(run_artifacts()));
    for focus in ["", "\n"] {
        screen.keys(focus);
        for (width, height) in (1..=200).map(|width| (width, width * 7 % 61 + 1)).chain([(40, 10), (80, 24)]) {
            screen.send(Msg::Resized(Size::new(width, height)));
            assert_eq!(screen.picture().area.as_size(), Size::new(width, height));
        }
        screen.send(Msg::Resized(Size::new(120, 40)));
    }
}

#[test]
fn text_of_agents_reaches_the_terminal_without_control_characters() {
    let mut run = found_run(7, "infra/gateway", "failure");
    run.display_title = "\x1b]0;owned\x07ci".into();
    run.head_branch = "\u{202e}niam\nnext".into();
    run.jobs[0].name = "build\x1b[31m".into();
    let screen = open_runs(120, 40, run_page(vec![run], false));
    for cell in &screen.picture().content {
        assert!(!cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}'), "{:?}", cell.symbol());
    }
}
