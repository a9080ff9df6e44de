//! The repositories screen: creating and importing repositories, and copying addresses.

use farrier_common::api::MigrationProgress;

use super::prelude::*;

#[test]
fn the_cursor_moves_to_a_new_repository() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("n\ttool");
    screen.press(Key::Ctrl('s'));
    let created = repository(77, "admin/tool");
    screen.answer(
        |request| matches!(request, Request::CreateRepository { .. }),
        Ok(Answer::Repository(Box::new(created.clone()))),
    );
    assert!(screen.app.layers.is_empty());
    let items = vec![repository(1, "infra/gateway"), created, repository(2, "data/lake")];
    screen.answer(|request| *request == Request::Repositories, Ok(listed(None, items)));
    let text = screen.text();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("admin/tool")), "{text}");
}

#[test]
fn a_migration_shows_its_progress_and_is_polled_often_until_it_ends() {
    let mut screen = TestScreen::loaded(80, 24);
    let going = migrating(MigrationProgress {
        phase: "receiving objects".into(),
        objects_received: 412_204,
        ..MigrationProgress::default()
    });
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(going));
    screen.keys("\n");
    let text = screen.text();
    assert!(text.contains("receiving objects") && text.contains("X cancels it"), "{text}");
    screen.answer(|request| *request == Request::Tasks, Ok(tasks()));
    let text = screen.text();
    for line in [
        "connecting            done      0.4 s",
        "[█████·····] 56 %",
        "412 204 of 733 120 objects   38.2 MiB received   18.2 MiB/s   ETA 00:01",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for seconds in [1, 1] {
        screen.take_requests();
        screen.advance(Duration::from_secs(seconds));
        screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    }
    screen.take_requests();
    screen.advance(Duration::from_secs(4));
    assert_eq!(screen.take_requests(), [], "without a migration the list is polled less often");
}

#[test]
fn a_migration_is_canceled_after_confirmation() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(migrating(MigrationProgress::default())));
    screen.keys("X");
    assert!(screen.text().contains("Cancel the import of data/lake2"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::CancelTask(9)]);
}

#[test]
fn copying_a_repository_as_json_requests_the_whole_object() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("yj");
    let load = Request::Repository("data/lake".parse().unwrap());
    let loaded = repository(2, "data/lake");
    let text = serde_json::to_string(&loaded).unwrap();
    screen.answer(|request| *request == load, Ok(Answer::Repository(Box::new(loaded))));
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(copied) if copied.0 == text)));
}

/// Returns repositories with different permissions of the caller.
fn with_access(push: bool, admin: bool) -> Answer {
    let permissions = farrier_common::api::Permissions { pull: true, push, admin };
    let items =
        (1..).zip(NAMES).map(|(id, name)| farrier_common::api::Repository { permissions, ..repository(id, name) });
    listed(None, items.collect())
}

#[test]
fn actions_without_sufficient_access_are_not_offered() {
    let mut screen = TestScreen::new(120, 24);
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| *request == Request::Repositories, Ok(with_access(false, false)));
    let hints = |screen: &TestScreen| screen.text().lines().last().unwrap().to_owned();
    assert!(!hints(&screen).contains("D delete"), "{}", screen.text());
    screen.keys("D");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("needs admin access to data/lake; you have read access"), "{}", screen.text());
    screen.keys("e");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    screen.keys("r");
    screen.answer(|request| *request == Request::Repositories, Ok(with_access(true, true)));
    assert!(hints(&screen).contains("D delete"), "{}", screen.text());
    screen.keys("e");
    assert_eq!(screen.app.layers.len(), 1);
}

#[test]
fn a_new_repository_that_the_filter_hides_is_reported() {
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys("/gateway\nn\t");
    screen.send(Msg::Paste("tool".into()));
    screen.press(Key::Ctrl('s'));
    let created = Answer::Repository(Box::new(repository(7, "admin/tool")));
    screen.answer(|request| matches!(request, Request::CreateRepository { .. }), Ok(created));
    assert!(screen.text().contains("admin/tool does not match the filter gateway; Esc shows it"), "{}", screen.text());
}

#[test]
fn brackets_switch_the_tabs_of_the_pane_while_the_list_has_focus() {
    let mut screen = TestScreen::loaded(120, 40);
    assert!(screen.text().contains("[Overview]"), "{}", screen.text());
    screen.keys("]");
    assert!(screen.text().contains("[Files]"), "{}", screen.text());
    screen.keys("j");
    screen.rest_cursor();
    assert!(screen.take_requests().iter().any(|request| matches!(request, Request::Directory { .. })));
}
