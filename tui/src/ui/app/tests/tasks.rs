//! The screen of background tasks: list, progress, cancellation.

use farrier_common::api::{BackgroundTask, LfsCollectionFigures};

use super::prelude::*;
use crate::ui::net::ProblemKind;

fn is_tasks(request: &Request) -> bool {
    *request == Request::Tasks
}

/// Opens the screen of tasks with a response to its first request.
fn open_tasks(width: u16, height: u16, list: Answer) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    screen.keys("9");
    screen.answer_last_of(is_tasks, Ok(list));
    screen
}

fn is_waiting(screen: &TestScreen) -> bool {
    screen.app.pending.values().any(|one| is_tasks(&one.request))
}

#[test]
fn tasks_are_shown_with_their_phases_and_progress() {
    for way in ["9", ":task list\n"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys(way);
        screen.answer_last_of(is_tasks, Ok(tasks()));
        let text = screen.text();
        for part in ["[9 Tasks]", "data/lake2", "56 %  Receiving objects", "data/old", "done", "1 running"] {
            assert!(text.contains(part), "{way}, {part}: {text}");
        }
        assert!(text.contains("Counting objects") && text.contains("412 204 of 733 120 objects"), "{text}");
        assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(2)), "a task runs");
    }
}

#[test]
fn a_running_task_is_cancelled_after_a_question() {
    let mut screen = open_tasks(80, 24, tasks());
    screen.keys("X");
    assert!(screen.text().contains("Cancel the import of data/lake2"), "{}", screen.text());
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y");
    assert_eq!(screen.take_requests(), [Request::CancelTask(9)]);
    screen.answer_last(Ok(Answer::Done));
    assert!(screen.text().contains("Cancelling the import of data/lake2"), "{}", screen.text());
    assert!(is_waiting(&screen), "the list is loaded again");
    screen.answer_last_of(is_tasks, Ok(tasks()));
    screen.keys("jX");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("no running task selected"), "{}", screen.text());
    screen.keys(":task cancel 31\n");
    assert!(screen.text().contains("Cancel task 31"), "{}", screen.text());
}

#[test]
fn a_search_for_unused_lfs_objects_is_shown_and_cancelled_without_words_about_an_import() {
    let search = BackgroundTask {
        id: 1_768_471_200_000,
        kind: "lfs_collection".into(),
        state: "running".into(),
        phase: "Searching repositories".into(),
        lfs: Some(LfsCollectionFigures {
            dry_run: true,
            unreferenced: 3,
            unreferenced_bytes: 3 << 20,
            removed: 1,
            removed_bytes: 1 << 20,
            ..LfsCollectionFigures::default()
        }),
        ..BackgroundTask::default()
    };
    let mut screen = open_tasks(120, 40, Answer::Tasks(vec![search]));
    for part in ["3 objects, 3.0 MiB", "1 object, 1.0 MiB", "This is a dry run: nothing is removed."] {
        assert!(screen.text().contains(part), "{part}: {}", screen.text());
    }
    screen.keys("X");
    let text = screen.text();
    assert!(text.contains("Cancel the search for unused LFS objects") && !text.contains("fetched"), "{text}");
}

#[test]
fn a_refused_cancellation_is_reported_and_the_tasks_are_loaded_again() {
    let mut screen = open_tasks(80, 24, tasks());
    screen.keys("X");
    screen.advance(Duration::from_millis(300));
    screen.keys("y");
    screen.answer_last(Err(Problem::new(ProblemKind::Invalid, "cancelling task 9: it has ended already (409)")));
    assert!(screen.text().contains("ended already"), "{}", screen.text());
    assert!(is_waiting(&screen));
}

#[test]
fn a_failed_task_shows_its_error_without_control_characters() {
    let failed = BackgroundTask {
        id: 4,
        kind: "migration".into(),
        repository: "data/lost".into(),
        state: "failed".into(),
        error: "remote: \x1b[31mnot found\x07\nfatal: could not read from the source".into(),
        ..BackgroundTask::default()
    };
    let mut screen = open_tasks(120, 40, Answer::Tasks(vec![failed]));
    for keys in ["", "\n"] {
        screen.keys(keys);
        let text = screen.text();
        assert!(text.contains("could not read from the source"), "{text}");
        for cell in &screen.picture().content {
            assert!(!cell.symbol().chars().any(char::is_control), "{:?}", cell.symbol());
        }
    }
    screen.press(Key::Esc);
    assert!(screen.text().lines().any(|line| line.starts_with(">!")), "a failure is a problem: {}", screen.text());
    assert_eq!(screen.app.screen().refresh_interval(), Some(Duration::from_secs(10)), "no task runs");
}

#[test]
fn a_list_without_tasks_says_what_is_listed() {
    let screen = open_tasks(80, 24, Answer::Tasks(Vec::new()));
    assert!(screen.text().contains("No tasks.") && screen.text().contains("an hour"), "{}", screen.text());
}

#[test]
fn a_command_shows_one_task() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(":task show 8\n");
    screen.answer_last_of(is_tasks, Ok(tasks()));
    let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains("data/old")), "{row:?}");
    screen.keys(":task show 77\n");
    screen.answer_last_of(is_tasks, Ok(tasks()));
    assert!(screen.text().contains("Task 77 is not among the listed tasks"), "{}", screen.text());
    screen.keys("fr");
    assert!(screen.text().contains("data/old is not in the list"), "f goes to the repository: {}", screen.text());
}

#[test]
fn tasks_are_drawn_at_every_size() {
    let mut screen = open_tasks(120, 40, tasks());
    for (width, height) in (1..=200).map(|width| (width, width * 7 % 61 + 1)).chain([(40, 10), (80, 24)]) {
        screen.send(Msg::Resized(Size::new(width, height)));
        assert_eq!(screen.picture().area.as_size(), Size::new(width, height));
    }
}

#[test]
fn a_failed_import_is_repeated_from_its_task() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("9");
    let Answer::Tasks(mut all) = tasks() else { unreachable!() };
    all[0] = BackgroundTask {
        kind: "migration".into(),
        repository: "data/lake".into(),
        state: "failed".into(),
        ..all[0].clone()
    };
    screen.answer(|request| *request == Request::Tasks, Ok(Answer::Tasks(all)));
    screen.keys("g");
    screen.take_requests();
    screen.keys("R");
    let request = Request::FailedImport("data/lake".parse().expect("a path"));
    // An import that a client waited for leaves no repository.
    let gone = Problem::new(ProblemKind::NotFound, "loading data/lake: the repository does not exist (404)");
    screen.answer(|sent| *sent == request, Err(gone));
    let text = screen.text();
    assert!(text.contains("Import a repository") && text.contains("[lake "), "{text}");
    assert!(text.contains("The source of data/lake is not known"), "{text}");
}
