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
