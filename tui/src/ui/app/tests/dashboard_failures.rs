//! Failed runs, mirrors and imports among the problems of the dashboard.

use farrier_common::api::{BackgroundTask, FailingWorkflow, FailingWorkflows, FoundMirror, Repository};

use super::{dashboard::without_problems, prelude::*};

#[test]
fn a_run_that_failed_is_a_problem_that_enter_opens() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("1");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    let workflow = FailingWorkflow {
        repository: "infra/gateway".into(),
        head_branch: "main".into(),
        run_id: 51,
        failures: 1,
        failing_since: "2026-11-21T11:00:00Z".into(),
        ..FailingWorkflow::default()
    };
    let found = FailingWorkflows { workflows: vec![workflow], ..FailingWorkflows::default() };
    let answer = Answer::FailingWorkflows(Box::new(found));
    screen.answer(|request| *request == Request::FailingWorkflows, Ok(answer));
    assert!(screen.text().contains("run 51 of infra/gateway on main"), "{}", screen.text());
    screen.keys("G\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
}

/// Returns the dashboard with failing mirrors as the only problem.
fn with_mirrors(mirrors: Vec<FoundMirror>) -> TestScreen {
    let mut screen = without_problems(120, 40);
    let answer = Answer::FailingMirrors(mirrors, false);
    screen.answer(|request| *request == Request::FailingMirrors, Ok(answer));
    screen
}

fn failing_mirror(repository: &str, name: &str) -> FoundMirror {
    FoundMirror {
        repository: repository.into(),
        name: name.into(),
        address: "https://git.example.net/x".into(),
        error: "the host cannot be resolved".into(),
        failures: 3,
        failing_since: Some("2026-11-21T10:00:00Z".into()),
        ..FoundMirror::default()
    }
}

#[test]
fn a_failing_mirror_is_a_problem_that_is_synced_and_opened() {
    let mut screen = with_mirrors(vec![failing_mirror("infra/gateway", "")]);
    let text = screen.text();
    assert!(text.contains("pull mirror infra/gateway failed 3"), "{text}");
    assert!(text.contains("2h  R sync"), "{text}");
    screen.keys("R");
    let request = Request::Manage("infra/gateway".parse().expect("a path"), ManagementRequest::SyncPullMirror);
    assert!(screen.take_requests().contains(&request), "{}", screen.text());
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Repositories);
}

#[test]
fn mirrors_that_fail_together_are_synced_after_a_confirmation() {
    let mirrors = [("infra/gateway", ""), ("data/lake", "m1"), ("data/lake", "m2")];
    let mut screen = with_mirrors(mirrors.map(|(repository, name)| failing_mirror(repository, name)).into());
    assert!(screen.text().contains("3 mirrors (infra/gateway, data/lake)"), "{}", screen.text());
    screen.keys("\n");
    assert!(screen.text().contains("push mirror of data/lake: the host cannot be resolved"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.keys("R");
    assert!(screen.text().contains("Sync 2 repositories"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("y");
    let is_batch = |request: &Request| matches!(request, Request::Batch(batch) if batch.items.len() == 2);
    assert!(screen.take_requests().iter().any(is_batch), "{}", screen.text());
    let each = vec![None, Some("syncing data/lake: the host cannot be resolved (500)".to_owned())];
    screen.answer_last_of(is_batch, Ok(Answer::Batch(each)));
    let text = screen.text();
    assert!(text.contains("1 failed, 1 synced") && text.contains("data/lake"), "{text}");
}

#[test]
fn a_failed_import_is_repeated_with_the_values_of_the_first_attempt() {
    let mut screen = without_problems(120, 40);
    let task = BackgroundTask {
        id: 7,
        kind: "migration".into(),
        repository: "data/lake".into(),
        repository_id: 7,
        state: "failed".into(),
        error: "the source refused the password".into(),
        ended_at: Some("2026-11-21T11:00:00Z".into()),
        ..BackgroundTask::default()
    };
    screen.answer(|request| *request == Request::Tasks, Ok(Answer::Tasks(vec![task])));
    assert!(screen.text().contains("R retry"), "{}", screen.text());
    screen.keys("R");
    let request = Request::FailedImport("data/lake".parse().expect("a path"));
    let repository = Repository {
        full_name: "data/lake".into(),
        original_url: "https://git.example.net/lake.git".into(),
        private: true,
        ..Repository::default()
    };
    screen.answer(|sent| *sent == request, Ok(Answer::Repository(Box::new(repository))));
    let text = screen.text();
    assert!(text.contains("Import a repository") && text.contains("https://git.example.net/lake.git"), "{text}");
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let is_import = |request: &Request| match request {
        Request::MigrateRepository(input) => {
            (input.repo_owner.as_str(), input.repo_name.as_str(), input.private) == ("data", "lake", Some(true))
        }
        _ => false,
    };
    assert!(requests.iter().any(is_import), "{requests:?}: {}", screen.text());
}
