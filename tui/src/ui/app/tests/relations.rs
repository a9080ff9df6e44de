//! One key goes from an object to each object that belongs to it, and back.

use super::prelude::*;

/// The newest commit of the runs in the test data.
const SHA: &str = "a1b2c3d4e5f6";

fn open_runs(screen: &mut TestScreen) {
    screen.keys("8");
    screen.answer(|request| matches!(request, Request::RunList { .. }), Ok(run_list()));
}

fn is_commit(request: &Request, sha: &str) -> bool {
    matches!(request, Request::Commit(_, of) if of == sha)
}

#[test]
fn one_key_goes_from_an_opened_delivery_to_its_hook_and_its_repository() {
    for (key, to) in [("H", ScreenId::Hooks), ("C", ScreenId::Repositories), ("B", ScreenId::Runs)] {
        let mut screen = TestScreen::loaded(80, 24);
        open_delivery(&mut screen);
        screen.keys(key);
        assert_eq!(screen.app.current, to, "{key}: {}", screen.text());
        screen.keys("-");
        assert_eq!(screen.app.current, ScreenId::Deliveries, "{key}");
    }
}

#[test]
fn one_key_goes_from_a_delivery_to_the_run_and_the_push_in_its_payload() {
    let opened = || {
        let mut screen = TestScreen::loaded(80, 24);
        open_deliveries(&mut screen);
        screen.keys("\n");
        let Answer::Delivery(mut found) = detail(delivery(14, "pending", 0)) else { unreachable!() };
        found.request.payload = serde_json::json!({ "workflow_run": { "id": 9, "head_sha": SHA } });
        screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(Answer::Delivery(found)));
        screen
    };
    let mut screen = opened();
    screen.keys("B");
    screen.answer(|request| matches!(request, Request::RunList { .. }), Ok(run_list()));
    assert_eq!(screen.app.screen().subject().as_deref(), Some("run 9"), "{}", screen.text());
    let mut screen = opened();
    screen.keys("Y");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    assert!(screen.take_requests().iter().any(|request| is_commit(request, SHA)), "{}", screen.text());
}

#[test]
fn one_key_goes_along_the_chain_from_a_run() {
    for (key, to) in [("C", ScreenId::Repositories), ("Z", ScreenId::Artifacts), ("Y", ScreenId::Repositories)] {
        let mut screen = TestScreen::loaded(120, 40);
        open_runs(&mut screen);
        screen.take_requests();
        screen.keys(key);
        assert_eq!(screen.app.current, to, "{key}: {}", screen.text());
        let shows_commit = screen.take_requests().iter().any(|request| is_commit(request, SHA));
        assert_eq!(shows_commit, key == "Y", "{key}");
    }
}

#[test]
fn one_key_goes_from_an_artifact_to_its_run_and_its_repository() {
    for (key, to) in [("B", ScreenId::Runs), ("C", ScreenId::Repositories)] {
        let mut screen = TestScreen::loaded(120, 40);
        open_artifacts(&mut screen);
        screen.keys(key);
        assert_eq!(screen.app.current, to, "{key}: {}", screen.text());
    }
}

#[test]
fn a_row_without_such_an_object_says_so() {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("H");
    assert_eq!(screen.app.current, ScreenId::Users);
    assert!(screen.text().contains("No hook belongs to this row"), "{}", screen.text());
}

#[test]
fn caches_and_deleted_objects_lead_to_their_repository_or_the_audit_log() {
    let mut screen = open_caches(120, 40);
    screen.keys("C");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    let mut screen = open_deleted_repositories(120, 40);
    screen.keys("fl");
    assert_eq!(screen.app.current, ScreenId::Audit, "{}", screen.text());
    let mut screen = open_deleted_artifacts(120, 40);
    screen.keys("fl");
    assert_eq!(screen.app.current, ScreenId::Audit, "{}", screen.text());
}

#[test]
fn a_jump_to_a_hook_shows_it_although_a_filter_or_a_tab_hides_it() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("/nothinglikeit\n");
    screen.keys(":hook show 12\n");
    assert_eq!(screen.app.screen().subject().as_deref(), Some("hook 12"), "{}", screen.text());
    screen.keys("]]");
    screen.keys(":hook show 12\n");
    assert_eq!(screen.app.screen().subject().as_deref(), Some("hook 12"), "{}", screen.text());
}
