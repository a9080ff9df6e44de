//! Archives and downloads: progress, cancellation, quitting while they run, and existing files.

use super::prelude::*;
use crate::{
    transfer::copy::Content,
    ui::net::{Existing, ProblemKind},
};

fn archive(screen: &mut TestScreen) -> Request {
    screen.take_requests();
    screen.keys("a");
    assert!(screen.text().contains("lake-main.tar.gz"), "{}", screen.text());
    screen.keys("g");
    let requests = screen.take_requests();
    assert!(
        matches!(
            requests.as_slice(),
            [Request::Archive { content: Content::Reference { format: "tar.gz", .. }, existing: Existing::Keep, .. }]
        ),
        "{requests:?}"
    );
    requests.into_iter().next().unwrap()
}

#[test]
fn an_archive_download_shows_its_progress_and_can_be_stopped() {
    let mut screen = TestScreen::loaded(80, 24);
    archive(&mut screen);
    let ticket = screen.app.tickets;
    screen.send(Msg::Answer(ticket, Ok(Answer::Progress { have: 3 << 20, size: None })));
    assert!(screen.text().contains("lake-main.tar.gz 3.0 MiB"), "{}", screen.text());
    screen.press(Key::Ctrl('c'));
    assert!(screen.exit_code().is_none() && screen.text().contains("again quits"));
    screen.press(Key::Esc);
    screen.keys("X");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(stopped) if *stopped == ticket)));
    assert!(!screen.text().contains("3.0 MiB"), "{}", screen.text());
    screen.keys("X");
    assert!(screen.text().contains("no import is running here"), "{}", screen.text());
}

#[test]
fn quitting_during_a_download_offers_to_wait_stop_or_stay() {
    let saved = || Ok(Answer::Saved("/tmp/lake-main.tar.gz".into()));
    let mut screen = TestScreen::loaded(80, 24);
    archive(&mut screen);
    let ticket = screen.app.tickets;
    screen.keys("q");
    let text = screen.text();
    assert!(text.contains("1 download is running; C-c again quits") && text.contains("s  Quit now"), "{text}");
    screen.press(Key::Esc);
    assert_eq!(screen.exit_code(), None, "Esc cancels quitting");
    screen.advance(Duration::from_secs(6));
    screen.keys("qw");
    assert!(
        screen.exit_code().is_none() && screen.text().contains("Quitting when everything is saved"),
        "{}",
        screen.text()
    );
    screen.send(Msg::Answer(ticket, saved()));
    assert_eq!(screen.exit_code(), Some(0));
    // A failed download is reported and prevents quitting.
    let mut screen = TestScreen::loaded(80, 24);
    archive(&mut screen);
    let ticket = screen.app.tickets;
    screen.keys("qw");
    screen.send(Msg::Answer(ticket, Err(refusal("fetching: no room on the disk"))));
    assert!(screen.exit_code().is_none() && screen.text().contains("no room on the disk"), "{}", screen.text());
    archive(&mut screen);
    screen.advance(Duration::from_secs(6));
    screen.keys("qs");
    assert_eq!(screen.exit_code(), Some(0));
}

#[test]
fn a_download_asks_before_it_overwrites_an_existing_file() {
    let mut screen = TestScreen::loaded(80, 24);
    let request = archive(&mut screen);
    let exists = Problem::new(ProblemKind::Exists, "fetching: lake-main.tar.gz exists");
    screen.send(Msg::Answer(screen.app.tickets, Err(exists)));
    assert!(screen.text().contains("Overwrite the file"), "{}", screen.text());
    screen.press(Key::Esc);
    assert_eq!(screen.take_requests(), [], "the download is skipped");
    let again = archive(&mut screen);
    assert_eq!(again, request);
    let exists = Problem::new(ProblemKind::Exists, "fetching: lake-main.tar.gz exists");
    screen.send(Msg::Answer(screen.app.tickets, Err(exists)));
    screen.keys("o");
    assert_eq!(screen.take_requests(), [], "keys are dropped just after the menu opens");
    screen.advance(Duration::from_secs(1));
    screen.keys("b");
    assert_eq!(screen.take_requests(), [request.with_existing(Existing::Beside)]);
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Saved("/tmp/lake-main.tar-2.gz".into()))));
    assert!(screen.text().contains("saved: /tmp/lake-main.tar-2.gz"), "{}", screen.text());
}

#[test]
fn a_repository_is_deleted_only_after_its_bundle_was_saved() {
    let bundle = |screen: &mut TestScreen| {
        screen.keys("D");
        screen.advance(Duration::from_millis(300));
        screen.press(Key::Down);
        screen.keys(" ");
        assert!(screen.text().contains("[x] Save data-lake.bundle first"), "{}", screen.text());
        screen.press(Key::Up);
        screen.take_requests();
        screen.keys("data/lake\t\n");
        let requests = screen.take_requests();
        assert!(matches!(requests.as_slice(), [Request::Archive { content: Content::All, .. }]), "{requests:?}");
    };
    let deleted = |screen: &mut TestScreen| {
        screen.take_requests().iter().any(|request| matches!(request, Request::DeleteRepository(_)))
    };
    let mut screen = TestScreen::loaded(80, 24);
    bundle(&mut screen);
    screen.send(Msg::Answer(screen.app.tickets, Err(refusal("fetching: no room on the disk"))));
    assert!(!deleted(&mut screen), "a failed download prevents the deletion");
    bundle(&mut screen);
    let exists = Problem::new(ProblemKind::Exists, "data-lake.bundle exists");
    screen.send(Msg::Answer(screen.app.tickets, Err(exists)));
    assert!(!deleted(&mut screen));
    screen.advance(Duration::from_secs(1));
    screen.keys("b");
    assert!(!deleted(&mut screen));
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Saved("/tmp/data-lake-2.bundle".into()))));
    assert!(deleted(&mut screen));
}
