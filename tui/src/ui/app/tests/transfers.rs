//! Archives and downloads: progress, cancellation, quitting while they run, and existing files.

use super::prelude::*;
use crate::{
    transfer::copy::Content,
    ui::net::{Existing, ProblemKind},
};

fn archive(story: &mut Story) -> Ask {
    story.asked();
    story.keys("a");
    assert!(story.text().contains("lake-main.tar.gz"), "{}", story.text());
    story.keys("g");
    let asked = story.asked();
    assert!(
        matches!(
            asked.as_slice(),
            [Ask::Archive { content: Content::Reference { format: "tar.gz", .. }, existing: Existing::Keep, .. }]
        ),
        "{asked:?}"
    );
    asked.into_iter().next().unwrap()
}

#[test]
fn an_archive_download_shows_its_progress_and_can_be_stopped() {
    let mut story = Story::settled(80, 24);
    archive(&mut story);
    let ticket = story.app.tickets;
    story.tell(Msg::Answer(ticket, Ok(Answer::Progress { have: 3 << 20, size: None })));
    assert!(story.text().contains("lake-main.tar.gz 3.0 MiB"), "{}", story.text());
    story.press(Key::Ctrl('c'));
    assert!(story.quits().is_none() && story.text().contains("again quits"));
    story.press(Key::Esc);
    story.keys("X");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(stopped) if *stopped == ticket)));
    assert!(!story.text().contains("3.0 MiB"), "{}", story.text());
    story.keys("X");
    assert!(story.text().contains("no import is running here"), "{}", story.text());
}

#[test]
fn quitting_during_a_download_offers_to_wait_stop_or_stay() {
    let saved = || Ok(Answer::Saved("/tmp/lake-main.tar.gz".into()));
    let mut story = Story::settled(80, 24);
    archive(&mut story);
    let ticket = story.app.tickets;
    story.keys("q");
    let text = story.text();
    assert!(text.contains("1 download is running; Ctrl-C again quits") && text.contains("s  Stop and quit"), "{text}");
    story.press(Key::Esc);
    assert_eq!(story.quits(), None, "Esc cancels quitting");
    story.pass(Duration::from_secs(6));
    story.keys("qw");
    assert!(story.quits().is_none() && story.text().contains("Quitting when everything is saved"), "{}", story.text());
    story.tell(Msg::Answer(ticket, saved()));
    assert_eq!(story.quits(), Some(0));
    // A failed download is reported and prevents quitting.
    let mut story = Story::settled(80, 24);
    archive(&mut story);
    let ticket = story.app.tickets;
    story.keys("qw");
    story.tell(Msg::Answer(ticket, Err(refusal("fetching: no room on the disk"))));
    assert!(story.quits().is_none() && story.text().contains("no room on the disk"), "{}", story.text());
    archive(&mut story);
    story.pass(Duration::from_secs(6));
    story.keys("qs");
    assert_eq!(story.quits(), Some(0));
}

#[test]
fn a_download_asks_before_it_overwrites_an_existing_file() {
    let mut story = Story::settled(80, 24);
    let ask = archive(&mut story);
    let exists = Problem::new(ProblemKind::Exists, "fetching: lake-main.tar.gz exists");
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    assert!(story.text().contains("Overwrite the file"), "{}", story.text());
    story.press(Key::Esc);
    assert_eq!(story.asked(), [], "the download is skipped");
    let again = archive(&mut story);
    assert_eq!(again, ask);
    let exists = Problem::new(ProblemKind::Exists, "fetching: lake-main.tar.gz exists");
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    story.keys("o");
    assert_eq!(story.asked(), [], "keys are dropped just after the menu opens");
    story.pass(Duration::from_secs(1));
    story.keys("b");
    assert_eq!(story.asked(), [ask.with_existing(Existing::Beside)]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Saved("/tmp/lake-main.tar-2.gz".into()))));
    assert!(story.text().contains("saved: /tmp/lake-main.tar-2.gz"), "{}", story.text());
}

#[test]
fn a_repository_is_deleted_only_after_its_bundle_was_saved() {
    let bundle = |story: &mut Story| {
        story.keys("D");
        story.pass(Duration::from_millis(300));
        story.press(Key::Down);
        story.keys(" ");
        assert!(story.text().contains("[x] Save data-lake.bundle first"), "{}", story.text());
        story.press(Key::Up);
        story.asked();
        story.keys("data/lake\t\n");
        let asked = story.asked();
        assert!(matches!(asked.as_slice(), [Ask::Archive { content: Content::All, .. }]), "{asked:?}");
    };
    let deleted = |story: &mut Story| story.asked().iter().any(|ask| matches!(ask, Ask::DeleteRepository(_)));
    let mut story = Story::settled(80, 24);
    bundle(&mut story);
    story.tell(Msg::Answer(story.app.tickets, Err(refusal("fetching: no room on the disk"))));
    assert!(!deleted(&mut story), "a failed download prevents the deletion");
    bundle(&mut story);
    let exists = Problem::new(ProblemKind::Exists, "data-lake.bundle exists");
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    assert!(!deleted(&mut story));
    story.pass(Duration::from_secs(1));
    story.keys("b");
    assert!(!deleted(&mut story));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Saved("/tmp/data-lake-2.bundle".into()))));
    assert!(deleted(&mut story));
}
