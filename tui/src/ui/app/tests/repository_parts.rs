//! Actions on the hooks and artifacts in the tabs of a repository.

use farrier_common::api::{MigrationProgress, Repository};

use super::prelude::*;

const REPOSITORY: &str = "infra/gateway";

fn owner() -> HookOwner {
    HookOwner::Repository(REPOSITORY.parse().expect("a path"))
}

/// Opens the tab with the hooks of a repository; the cursor is on the hook 12.
fn open_hooks(screen: &mut TestScreen) {
    screen.keys("jj\n[[");
    screen.answer(|request| matches!(request, Request::Hooks(HookOwner::Repository(_))), Ok(hooks()));
    screen.keys("j");
    assert!(screen.text().contains(">!    12"), "{}", screen.text());
    screen.take_requests();
}

#[test]
fn a_hook_is_turned_off_tested_recovered_and_deleted_in_the_tab_of_its_repository() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("t");
    let is_switch = |request: &Request| matches!(request, Request::EditHook(of, 12, _) if *of == owner());
    assert!(screen.take_requests().iter().any(is_switch), "{}", screen.text());
    screen.answer_last_of(is_switch, Ok(Answer::Done));
    assert_eq!(screen.app.current, ScreenId::Repositories);
    assert_eq!(screen.app.notice().map(|(_, text)| text), Some("Hook 12 turned off - z undoes"));
    let is_list = |request: &Request| *request == Request::Hooks(owner());
    assert!(screen.take_requests().iter().any(is_list), "the tab is loaded again");

    screen.keys("R");
    assert!(screen.take_requests().contains(&Request::Recoverable(vec![12])), "{}", screen.text());
    // A question drops keys that are pressed before it can be read.
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.keys("D");
    assert!(screen.text().contains("Delete hook 12"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.keys("T");
    assert!(screen.take_requests().contains(&Request::TestHook(owner(), 12)), "{}", screen.text());
}

#[test]
fn artifacts_are_downloaded_and_deleted_in_the_tab_of_their_repository() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("jj\n[");
    screen.answer(|request| matches!(request, Request::ArtifactsOf(_)), Ok(artifacts()));
    screen.take_requests();
    screen.keys("  ");
    screen.keys("d");
    let requests = screen.take_requests();
    let downloads = requests.iter().filter(|request| matches!(request, Request::Download { .. }));
    assert_eq!(downloads.count(), 2, "{requests:?}");
    screen.keys("D");
    let text = screen.text();
    assert!(text.contains("Delete 2 artifacts") && text.contains("run 9   artifact 21"), "{text}");
    screen.advance(Duration::from_secs(1));
    screen.keys("2");
    screen.press(Key::Enter);
    let is_deletion = |request: &Request| matches!(request, Request::DeleteArtifacts(ids) if ids.len() == 2);
    assert!(screen.take_requests().iter().any(is_deletion), "{}", screen.text());
}

#[test]
fn the_import_of_a_repository_whose_import_failed_is_repeated_with_its_values() {
    let mut screen = TestScreen::loaded(120, 40);
    let failed = MigrationProgress { state: "failed".into(), ..MigrationProgress::default() };
    let failed = Repository { farrier_migration: Some(failed), ..repository(1, REPOSITORY) };
    screen.keys("r");
    screen.answer_last_of(|request| *request == Request::Repositories, Ok(listed(Some(1), vec![failed])));
    screen.take_requests();
    screen.keys("M");
    let request = Request::FailedImport(REPOSITORY.parse().expect("a path"));
    assert!(screen.take_requests().contains(&request), "{}", screen.text());
}
