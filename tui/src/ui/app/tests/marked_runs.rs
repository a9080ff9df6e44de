//! Actions on the artifacts of marked runs.

use super::prelude::*;
use crate::ui::runs::{RunCompactor, RunsBatch};

/// Ten runs with an artifact of 1 MiB each.
fn ten_runs() -> Answer {
    let mut compactor = RunCompactor::default();
    let run = |id: i64| farrier_common::api::FoundRun {
        id,
        repository: "infra/gateway".into(),
        status: "completed".into(),
        conclusion: "success".into(),
        ..Default::default()
    };
    let artifact = |id: i64| farrier_common::api::FoundArtifact {
        id: 100 + id,
        name: format!("dist-{id}.zip"),
        size_in_bytes: 1 << 20,
        workflow_run: farrier_common::api::ArtifactRun { id, ..Default::default() },
        repository: "infra/gateway".into(),
        state: "ready".into(),
        expires_at: "2027-02-19T11:59:00Z".into(),
        ..Default::default()
    };
    let ids = (1..=10).rev();
    Answer::Runs(Box::new(RunsBatch {
        runs: ids.clone().map(|id| compactor.run(run(id))).collect(),
        artifacts: ids.map(|id| compactor.artifact(&artifact(id))).collect(),
        last: true,
        cut: false,
    }))
}

#[test]
fn deleting_marked_runs_shows_the_count_and_size_of_their_artifacts() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("5");
    screen.answer(|request| matches!(request, Request::Runs(_)), Ok(ten_runs()));
    // All runs are collapsed, so that each row is a run.
    screen.keys("g");
    for _ in 0..10 {
        screen.keys("hj");
    }
    screen.keys("g          ");
    assert!(screen.text().contains("marked 10 (10 artifacts, 10.0 MiB)"), "{}", screen.text());
    screen.keys("D");
    assert!(screen.text().contains("Delete 10 artifacts (10.0 MiB)"), "{}", screen.text());
    assert!(screen.text().contains("Type 10 to confirm"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y\t\n");
    assert_eq!(screen.take_requests(), [], "the number was not typed");
    screen.press(Key::Tab);
    screen.press(Key::Ctrl('u'));
    screen.keys("10\t\n");
    let ids: Vec<i64> = (101..=110).rev().collect();
    assert_eq!(screen.take_requests(), [Request::DeleteArtifacts(ids.clone())]);
    let each = ids.into_iter().map(|id| (id, None)).collect();
    screen.answer_last(Ok(Answer::Each(each)));
    assert!(screen.text().contains("10 artifacts deleted"), "{}", screen.text());
}
