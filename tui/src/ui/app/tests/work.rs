//! Work that goes on: archives, downloads, migrations.

use super::{super::*, story::*};
use crate::ui::net::{Existing, Kind, Page};

fn archive(story: &mut Story) -> Ask {
    story.asked();
    story.keys("a");
    assert!(story.text().contains("lake-main.tar.gz"), "{}", story.text());
    story.keys("g");
    let asked = story.asked();
    assert!(matches!(asked.as_slice(), [Ask::Archive { format: "tar.gz", existing: Existing::Keep, .. }]), "{asked:?}");
    asked.into_iter().next().unwrap()
}

#[test]
fn an_archive_is_fetched_counted_and_stopped() {
    let mut story = Story::settled(80, 24);
    archive(&mut story);
    let ticket = story.app.tickets;
    story.tell(Msg::Answer(ticket, Ok(Answer::Progress { have: 3 << 20, size: None })));
    assert!(story.text().contains("lake-main.tar.gz 3.0 MiB"), "{}", story.text());
    story.press(Key::Ctrl('c'));
    assert!(story.quits().is_none() && story.text().contains("once more quits"));
    story.keys("X");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(stopped) if *stopped == ticket)));
    assert!(!story.text().contains("3.0 MiB"), "{}", story.text());
    story.keys("X");
    assert!(story.text().contains("nothing is being fetched here"), "{}", story.text());
}

#[test]
fn a_file_that_is_there_is_asked_about_and_never_lost() {
    let mut story = Story::settled(80, 24);
    let ask = archive(&mut story);
    let exists = Problem { kind: Kind::Exists, text: "fetching: lake-main.tar.gz exists".into() };
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    assert!(story.text().contains("overwrite what is there"), "{}", story.text());
    story.press(Key::Esc);
    assert_eq!(story.asked(), [], "it is skipped");
    let again = archive(&mut story);
    assert_eq!(again, ask);
    let exists = Problem { kind: Kind::Exists, text: "fetching: lake-main.tar.gz exists".into() };
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    story.keys("b");
    assert_eq!(story.asked(), [ask.although(Existing::Beside)]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Saved("/tmp/lake-main.tar-2.gz".into()))));
    assert!(story.text().contains("saved: /tmp/lake-main.tar-2.gz"), "{}", story.text());
}

#[test]
fn a_migration_is_cancelled_after_a_question_and_nothing_else_is() {
    let mut story = Story::settled(80, 24);
    let mut going = repository(9, "data/lake2");
    going.farrier_migration =
        Some(farrier_common::api::MigrationProgress { state: "running".into(), ..Default::default() });
    story.pass(Duration::from_secs(6));
    let page = Page { items: vec![going], total: None, last: true };
    story.answer(|ask| *ask == Ask::Repositories, Ok(Answer::Repositories(page)));
    story.keys("X");
    assert!(story.text().contains("Cancel the migration of data/lake2"), "{}", story.text());
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y");
    assert_eq!(story.asked(), [Ask::DeleteRepository("data/lake2".parse().unwrap())]);
}

fn reading(width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    story.keys("\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    story.text();
    story
}

#[test]
fn a_text_is_searched_and_shown_as_bytes() {
    let mut story = reading(80, 24);
    story.keys("/refused\n");
    assert!(story.text().contains("1 of 3 with refused"), "{}", story.text());
    story.keys("nnn");
    assert!(story.text().contains("1 of 3"), "it begins again: {}", story.text());
    story.keys("N");
    assert!(story.text().contains("3 of 3"), "{}", story.text());
    let underlined = |story: &Story| story.styles().matches('U').count();
    assert_eq!(underlined(&story), 3 * "refused".len());
    story.press(Key::Esc);
    assert_eq!((underlined(&story), story.text().contains("[Summary]")), (0, true), "the search went first");
    story.keys("]b");
    assert!(story.text().contains("00000000  7b 0a 20 20 22 72 65 66"), "{}", story.text());
    story.keys("yc");
    let copied = story.effects.iter().find_map(|e| if let Effect::Copy(text) = e { Some(text.clone()) } else { None });
    assert!(copied.unwrap().starts_with("curl -i -X POST 'https://ci.example.net/hook'"));
}

#[test]
fn deliveries_of_one_event_are_asked_for() {
    let mut story = Story::settled(80, 24);
    story.keys("4");
    story.answer(|ask| matches!(ask, Ask::Deliveries { .. }), Ok(deliveries()));
    story.asked();
    story.keys("E");
    story.press(Key::Down);
    story.keys("\n");
    assert_eq!(story.asked(), [Ask::Deliveries { status: "", hook: None, event: "push".into() }]);
    assert!(story.text().contains("event: push"), "{}", story.text());
    story.keys("q");
    assert_eq!(story.asked(), [Ask::Deliveries { status: "", hook: None, event: String::new() }]);
}

#[test]
fn a_switch_is_taken_back_for_half_a_minute_and_marks_for_longer() {
    let mut story = Story::settled(120, 40);
    super::pictures::on_hooks(&mut story);
    story.keys("jt");
    let switched = |story: &mut Story| {
        let asked = story.asked();
        let [Ask::EditHook(_, 12, wanted)] = asked.as_slice() else { panic!("{asked:?}") };
        wanted.active
    };
    story.asked();
    story.keys("t");
    assert_eq!(switched(&mut story), Some(false));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    assert!(story.text().contains("switched off - z undo"), "{}", story.text());
    story.asked();
    story.keys("z");
    assert_eq!(switched(&mut story), Some(true));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    story.pass(Duration::from_secs(31));
    story.asked();
    story.keys("z");
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::EditHook(..))), "too late");
    story.keys("2  ");
    story.press(Key::Esc);
    assert!(!story.text().contains("marked"));
    story.keys("z");
    assert!(story.text().contains("marked 2"), "{}", story.text());
}
