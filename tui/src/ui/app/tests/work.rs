//! Work that goes on: archives, downloads, migrations.

use super::prelude::*;
use crate::{
    transfer::copy::Content,
    ui::net::{Existing, Kind},
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
            [Ask::Archive { content: Content::Of { format: "tar.gz", .. }, existing: Existing::Keep, .. }]
        ),
        "{asked:?}"
    );
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
    story.press(Key::Esc);
    story.keys("X");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Cancel(stopped) if *stopped == ticket)));
    assert!(!story.text().contains("3.0 MiB"), "{}", story.text());
    story.keys("X");
    assert!(story.text().contains("nothing is being fetched here"), "{}", story.text());
}

#[test]
fn who_quits_while_something_is_fetched_waits_stops_or_stays() {
    let saved = || Ok(Answer::Saved("/tmp/lake-main.tar.gz".into()));
    let mut story = Story::settled(80, 24);
    archive(&mut story);
    let ticket = story.app.tickets;
    story.keys("q");
    let text = story.text();
    assert!(
        text.contains("1 download is running; Ctrl-C once more quits") && text.contains("s  stop and quit"),
        "{text}"
    );
    story.press(Key::Esc);
    assert_eq!(story.quits(), None, "it was taken back");
    story.pass(Duration::from_secs(6));
    story.keys("qw");
    assert!(story.quits().is_none() && story.text().contains("it ends when everything is saved"), "{}", story.text());
    story.tell(Msg::Answer(ticket, saved()));
    assert_eq!(story.quits(), Some(0));
    // What fails is to be seen before the end.
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
fn a_file_that_is_there_is_asked_about_and_never_lost() {
    let mut story = Story::settled(80, 24);
    let ask = archive(&mut story);
    let exists = Problem::new(Kind::Exists, "fetching: lake-main.tar.gz exists");
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    assert!(story.text().contains("overwrite what is there"), "{}", story.text());
    story.press(Key::Esc);
    assert_eq!(story.asked(), [], "it is skipped");
    let again = archive(&mut story);
    assert_eq!(again, ask);
    let exists = Problem::new(Kind::Exists, "fetching: lake-main.tar.gz exists");
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
    story.answer(|ask| *ask == Ask::Repositories, Ok(listed(None, vec![going])));
    story.keys("X");
    assert!(story.text().contains("Cancel the migration of data/lake2"), "{}", story.text());
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y");
    assert_eq!(story.asked(), [Ask::CancelTask(9)]);
}

#[test]
fn all_that_is_known_of_a_repository_is_asked_for_when_it_is_copied() {
    let mut story = Story::settled(80, 24);
    story.keys("yj");
    let asked = Ask::Repository("data/lake".parse().unwrap());
    let whole = repository(2, "data/lake");
    let text = serde_json::to_string(&whole).unwrap();
    story.answer(|ask| *ask == asked, Ok(Answer::Repository(Box::new(whole))));
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Copy(copied) if *copied == text)));
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
fn a_body_goes_to_the_pager_and_what_is_wrong_with_that_is_said() {
    let mut story = reading(80, 24);
    let text = story.text();
    assert!(text.contains("next try 12:04:07 - R now") && text.contains("FAIL in 38 ms  try 4"), "{text}");
    let paged = |story: &mut Story| {
        story.asked();
        story.keys("o");
        story.effects.iter().find_map(|e| if let Effect::Page(text) = e { Some(text.clone()) } else { None }).unwrap()
    };
    assert!(paged(&mut story).contains("connection refused"), "the lines of a part that has no body");
    story.keys("]");
    assert!(story.text().contains("── body 25 bytes, as text, wrap on ──"), "{}", story.text());
    assert_eq!(paged(&mut story), "{\n  \"ref\": \"refs/heads/main\"\n}\n");
    story.keys("bw");
    assert!(story.text().contains("── body 25 bytes, as bytes, wrap off ──"), "{}", story.text());
    assert!(paged(&mut story).contains("00000000  7b 0a"));
    story.tell(Msg::Paged(Err("there is no less; PAGER says what is used".into())));
    assert!(story.text().contains("there is no less; PAGER says what is used"), "{}", story.text());
    let Answer::Delivery(mut steering) = detail(delivery(13, "success", 200)) else { unreachable!() };
    steering.response.payload = "a\x1b[2Jb\tc\n".into();
    let mut story = reading(80, 24);
    story.keys("qj\n");
    story.answer(|ask| matches!(ask, Ask::Delivery(_)), Ok(Answer::Delivery(steering)));
    story.keys("]]");
    assert_eq!(paged(&mut story), "a\u{fffd}[2Jb    c\n", "nothing steers a terminal");
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
    on_hooks(&mut story);
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

#[test]
fn what_is_wrong_is_opened_from_the_dashboard() {
    let mut story = Story::settled(80, 24);
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.answer(|ask| *ask == Ask::Series, Ok(series()));
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    let text = story.text();
    assert!(text.contains("hook 12 failed 22 times in a row") && text.contains("p50 2 ms"), "{text}");
    story.keys("\n");
    assert!(story.text().contains("this is about the whole daemon"), "{}", story.text());
    story.keys("jj\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    assert!(story.asked().iter().any(|ask| matches!(ask, Ask::Deliveries { hook: Some(12), .. })));
}

#[test]
fn who_may_not_see_figures_sees_the_rest() {
    let mut story = Story::settled(80, 24);
    story.keys("1");
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    let forbidden = Problem::new(Kind::Forbidden, "asking: user should be the site admin (403)");
    story.answer(|ask| *ask == Ask::Series, Err(forbidden));
    let text = story.text();
    assert!(text.contains("memory 14.0 MiB") && !text.contains("requests"), "{text}");
    assert_eq!(story.app.notice(), None);
}

#[test]
fn commands_with_a_name_behind_them_lead_there() {
    let mut story = Story::settled(80, 24);
    story.keys(":hook show 12\n");
    assert_eq!(story.app.current, ScreenId::Deliveries);
    assert!(story.asked().iter().any(|ask| matches!(ask, Ask::Deliveries { hook: Some(12), .. })));
    story.keys(":repo show web/site\n");
    assert!(story.text().lines().any(|line| line.starts_with('>') && line.contains("web/site")), "{}", story.text());
    story.keys(":hook sh");
    assert!(story.text().contains("deliveries of a hook: its number"), "{}", story.text());
}

#[test]
fn a_repository_is_deleted_only_after_its_copy_was_saved() {
    let bundle = |story: &mut Story| {
        story.keys("D");
        story.pass(Duration::from_millis(300));
        story.press(Key::Down);
        story.keys(" ");
        assert!(story.text().contains("[x] write data-lake.bundle first"), "{}", story.text());
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
    assert!(!deleted(&mut story), "a copy that failed deletes nothing");
    bundle(&mut story);
    let exists = Problem::new(Kind::Exists, "data-lake.bundle exists");
    story.tell(Msg::Answer(story.app.tickets, Err(exists)));
    assert!(!deleted(&mut story));
    story.keys("b");
    assert!(!deleted(&mut story));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Saved("/tmp/data-lake-2.bundle".into()))));
    assert!(deleted(&mut story));
}

#[test]
fn what_takes_a_while_is_announced_and_what_comes_at_once_is_not() {
    let mut story = Story::new(80, 24);
    assert!(!story.text().contains("loading") && !story.text().contains("──"), "{}", story.text());
    story.pass(Duration::from_millis(200));
    assert!(story.text().contains("loading repositories") && story.text().contains("──"), "{}", story.text());
    story.pass(Duration::from_secs(1));
    assert!(story.text().contains("1.2 s"), "{}", story.text());
    story.pass(Duration::from_secs(10));
    assert!(story.text().contains("slow, Esc stops"), "{}", story.text());
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert!(!story.text().contains("──"), "{}", story.text());
}

#[test]
fn old_rows_say_how_old_they_are() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    story.pass(Duration::from_secs(23));
    assert!(story.text().contains("stale 23 s"), "{}", story.text());
}

#[test]
fn beside_a_hook_stands_what_it_was_sent_last() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    let last = |ask: &Ask| matches!(ask, Ask::LastDeliveries(_));
    story.keys("jj");
    let asked = story.effects.iter().filter(|e| matches!(e, Effect::Ask(_, ask) if last(ask))).count();
    assert_eq!(asked, 1, "one question at a time, however fast the cursor moves");
    story.answer(last, Ok(Answer::LastDeliveries(vec![delivery(13, "success", 200)])));
    story.answer(|ask| *ask == Ask::LastDeliveries(15), Ok(Answer::LastDeliveries(vec![delivery(12, "failed", 500)])));
    let text = story.text();
    assert!(text.contains("Last deliveries") && text.contains("11:58:12  push"), "{text}");
}
