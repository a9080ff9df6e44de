//! The repositories screen: creating and importing repositories, and copying addresses.

use farrier_common::api::MigrationProgress;

use super::prelude::*;

#[test]
fn the_cursor_moves_to_a_new_repository() {
    let mut story = Story::settled(80, 24);
    story.keys("n\ttool");
    story.press(Key::Ctrl('s'));
    let made = repository(77, "admin/tool");
    story.answer(|ask| matches!(ask, Ask::CreateRepository { .. }), Ok(Answer::Repository(Box::new(made.clone()))));
    assert!(story.app.layers.is_empty());
    let items = vec![repository(1, "infra/gateway"), made, repository(2, "data/lake")];
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, items)));
    let text = story.text();
    assert!(text.lines().any(|line| line.starts_with('>') && line.contains("admin/tool")), "{text}");
}

#[test]
fn a_migration_shows_its_progress_and_is_polled_often_until_it_ends() {
    let mut story = Story::settled(80, 24);
    let going = migrating(MigrationProgress {
        phase: "receiving objects".into(),
        objects_received: 412_204,
        ..MigrationProgress::default()
    });
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(going));
    story.keys("\n");
    let text = story.text();
    assert!(text.contains("receiving objects") && text.contains("X cancels it"), "{text}");
    story.answer(|ask| *ask == Ask::Tasks, Ok(tasks()));
    let text = story.text();
    for line in [
        "connecting            done      0.4 s",
        "[█████·····] 56 %",
        "412 204 of 733 120 objects   38.2 MiB received   18.2 MiB/s   ETA 00:01",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for seconds in [1, 1] {
        story.asked();
        story.pass(Duration::from_secs(seconds));
        story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    }
    story.asked();
    story.pass(Duration::from_secs(4));
    assert_eq!(story.asked(), [], "without a migration the list is polled less often");
}

#[test]
fn a_migration_is_canceled_after_confirmation() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(migrating(MigrationProgress::default())));
    story.keys("X");
    assert!(story.text().contains("Cancel the import of data/lake2"), "{}", story.text());
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y");
    assert_eq!(story.asked(), [Ask::CancelTask(9)]);
}

#[test]
fn copying_a_repository_as_json_requests_the_whole_object() {
    let mut story = Story::settled(80, 24);
    story.keys("yj");
    let asked = Ask::Repository("data/lake".parse().unwrap());
    let whole = repository(2, "data/lake");
    let text = serde_json::to_string(&whole).unwrap();
    story.answer(|ask| *ask == asked, Ok(Answer::Repository(Box::new(whole))));
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Copy(copied) if *copied == text)));
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
    let mut story = Story::new(120, 24);
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.answer(|ask| *ask == Ask::Repositories, Ok(with_access(false, false)));
    let hints = |story: &Story| story.text().lines().last().unwrap().to_owned();
    assert!(!hints(&story).contains("D delete"), "{}", story.text());
    story.keys("D");
    assert!(story.app.layers.is_empty(), "{}", story.text());
    assert!(story.text().contains("needs admin access to data/lake; you have read access"), "{}", story.text());
    story.keys("e");
    assert!(story.app.layers.is_empty(), "{}", story.text());
    story.keys("r");
    story.answer(|ask| *ask == Ask::Repositories, Ok(with_access(true, true)));
    assert!(hints(&story).contains("D delete"), "{}", story.text());
    story.keys("e");
    assert_eq!(story.app.layers.len(), 1);
}

#[test]
fn a_new_repository_that_the_filter_hides_is_reported() {
    let mut story = Story::settled(120, 24);
    story.keys("/gateway\nn\t");
    story.tell(Msg::Paste("tool".into()));
    story.press(Key::Ctrl('s'));
    let made = Answer::Repository(Box::new(repository(7, "admin/tool")));
    story.answer(|ask| matches!(ask, Ask::CreateRepository { .. }), Ok(made));
    assert!(story.text().contains("admin/tool does not match the filter gateway; Esc shows it"), "{}", story.text());
}

#[test]
fn brackets_switch_the_tabs_of_the_pane_while_the_list_has_focus() {
    let mut story = Story::settled(120, 40);
    assert!(story.text().contains("[Overview]"), "{}", story.text());
    story.keys("]");
    assert!(story.text().contains("[Branches]"), "{}", story.text());
    story.keys("j");
    story.rest();
    assert!(story.asked().iter().any(|ask| matches!(ask, Ask::Branches(_))));
}
