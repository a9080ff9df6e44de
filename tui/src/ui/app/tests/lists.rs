//! Lists: new rows above the cursor, searches by the daemon, saved filters, kept positions, and failed requests.

use super::prelude::*;
use crate::ui::net::ProblemKind;

fn poll(story: &mut Story, answer: Answer) {
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Ok(answer));
}

/// The usual repositories with others before them.
fn with_more(others: &[&str]) -> Answer {
    let usual = (1..).zip(NAMES).map(|(id, name)| repository(id, name));
    let others = (7..).zip(others).map(|(id, name)| repository(id, name));
    listed(None, usual.chain(others).collect())
}

fn status_row(story: &Story) -> String {
    story.text().lines().rev().nth(1).unwrap_or_default().to_owned()
}

fn names(story: &Story) -> Vec<String> {
    let text = story.text();
    let name =
        |line: &str| line.get(3..)?.split_whitespace().next().filter(|word| word.contains('/')).map(str::to_owned);
    let rows = text.lines().count().saturating_sub(2);
    text.lines().take(rows).filter_map(name).collect()
}

#[test]
fn new_rows_above_the_view_are_counted_and_g_shows_them() {
    let mut story = Story::settled(80, 10);
    assert_eq!(names(&story)[0], "data/lake");
    poll(&mut story, with_more(&["a/one", "a/two"]));
    assert!(status_row(&story).ends_with("^ 2 new"), "{}", story.text());
    assert_eq!(names(&story)[0], "data/lake", "the view does not scroll");
    story.keys("g");
    assert_eq!(names(&story)[..2], ["a/one", "a/two"]);
    assert!(!status_row(&story).contains("new"), "{}", story.text());
}

#[test]
fn rows_keep_their_positions_while_a_dialog_is_open() {
    let mut story = Story::settled(80, 24);
    let before = names(&story);
    story.keys("?");
    poll(&mut story, with_more(&["a/one"]));
    story.keys("\x1b");
    assert_eq!(names(&story), before);
    poll(&mut story, with_more(&["a/one"]));
    assert_eq!(names(&story)[0], "a/one", "rows move again after the dialog is closed");
}

#[test]
fn a_list_too_long_to_load_is_filtered_by_the_daemon() {
    let mut story = Story::settled(120, 24);
    story.keys("/gat\x1b");
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::FindRepositories(_))), "all rows are loaded");
    poll(&mut story, listed(Some(250_000), (1..).zip(NAMES).map(|(id, name)| repository(id, name)).collect()));
    assert!(status_row(&story).contains("of 250 000  sort name  / searches on the daemon"), "{}", story.text());
    story.asked();
    story.keys("/infra/gat");
    let asked = story.asked();
    let finds = |text: &str| Ask::FindRepositories(text.to_owned());
    assert_eq!(asked.last(), Some(&finds("gat")), "{asked:?}");
    story.effects.push(Effect::Ask(story.app.tickets, finds("gat")));
    assert!(story.text().contains("infra/gateway"), "loaded rows are shown: {}", story.text());
    let found = vec![repository(1, "infra/gateway"), repository(900, "infra/gatling"), repository(901, "web/gate")];
    story.answer(|ask| *ask == finds("gat"), Ok(listed(Some(3), found)));
    assert_eq!(names(&story), ["infra/gateway", "infra/gatling"], "the whole filter applies to the response");
    story.keys("\n");
    // A refresh repeats the search.
    story.asked();
    story.pass(Duration::from_secs(6));
    assert_eq!(story.asked(), [finds("gat")]);
    story.press(Key::Esc);
    assert_eq!(names(&story).len(), NAMES.len());
    story.keys("/");
    story.tell(Msg::Paste("size:>1k".into()));
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::FindRepositories(_))), "there is no name in it");
}

#[test]
fn the_up_key_recalls_earlier_filters() {
    let mut story = Story::settled(80, 24);
    story.keys("/data\n/");
    story.press(Key::Ctrl('u'));
    story.keys("web\n/");
    story.press(Key::Ctrl('u'));
    story.keys("infra\x1b/");
    let typed = |story: &Story| status_row(story).split_whitespace().next().unwrap_or_default().to_owned();
    let mut seen = Vec::new();
    for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down] {
        story.press(key);
        seen.push(typed(&story));
    }
    assert_eq!(seen, ["/web", "/data", "/data", "/web", "/"], "a discarded filter is not recalled");
    story.press(Key::Up);
    assert_eq!(names(&story), ["web/site"], "a recalled filter is applied at once");
    story.press(Key::Enter);
    assert!(story.app.layers.is_empty());
}

#[test]
fn matches_of_the_filter_are_underlined() {
    let mut story = Story::settled(80, 24);
    let underlined = |story: &Story| story.styles().matches('U').count();
    assert_eq!(underlined(&story), 0);
    story.keys("/a");
    let (text, styles) = (story.text(), story.styles());
    let row = text.lines().position(|line| line.contains("infra/auth")).unwrap();
    assert_eq!(styles.lines().nth(row).unwrap().get(3..13), Some("....U.U..."));
    story.keys(" state:em");
    let rows = story.text().lines().position(|line| line.contains("empty"));
    assert_eq!(rows, None, "no empty repository has an a in its name");
    story.press(Key::Ctrl('u'));
    story.keys("state:ok\n");
    assert_eq!(underlined(&story), 2 * (names(&story).len() - 1), "except in the row under the cursor");
}

#[test]
fn the_cursor_follows_its_repository_when_rows_move() {
    let mut story = Story::settled(80, 24);
    story.keys("jj");
    let under = |story: &Story| story.text().lines().find(|line| line.starts_with('>')).unwrap().to_owned();
    assert!(under(&story).contains("infra/gateway"));
    story.pass(Duration::from_secs(6));
    let names = ["infra/gateway", "a/first", "a/second", "b/third"];
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&names)));
    assert!(under(&story).contains("infra/gateway"));
    story.pass(Duration::from_secs(6));
    let rest = listed(None, vec![repository(2, "a/first"), repository(4, "b/third")]);
    story.answer(|ask| *ask == Ask::Repositories, Ok(rest));
    assert!(story.text().contains("infra/gateway was removed"), "{}", story.text());
    assert!(under(&story).contains("b/third"));
}

#[test]
fn actions_apply_to_marked_rows_and_not_to_the_row_under_the_cursor() {
    let mut story = Story::settled(80, 24);
    story.keys(" D");
    assert!(story.text().contains("Delete repository data/lake"), "{}", story.text());
    story.press(Key::Esc);
    story.pass(Duration::from_millis(300));
    story.press(Key::Esc);
    story.keys("  D");
    let text = story.text();
    assert!(text.contains("Delete 3 repositories (") && text.contains("Type 3 to confirm"), "{text}");
    story.press(Key::Esc);
    story.pass(Duration::from_millis(300));
    story.press(Key::Esc);
    story.keys("e");
    assert!(story.text().contains("needs one row, but 3 are"), "{}", story.text());
    on_hooks(&mut story);
    story.asked();
    story.keys(" t");
    assert!(matches!(story.asked().as_slice(), [Ask::EditHook(_, 3, _)]));
    story.keys(" t");
    assert_eq!(story.asked(), []);
    assert!(story.text().contains("Turn off 2 hooks"), "{}", story.text());
}

#[test]
fn a_loading_message_is_shown_only_after_a_delay() {
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
fn stale_rows_show_their_age() {
    let mut story = Story::settled(80, 24);
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    story.pass(Duration::from_secs(23));
    assert!(story.text().contains("stale 23 s"), "{}", story.text());
}

#[test]
fn a_long_list_is_polled_for_changes_and_reloaded_less_often() {
    let long: Vec<_> = (1..=2_500).map(|id| repository(if id > 20 { 1_000 + id } else { id }, "x/y")).collect();
    let named = |(at, whole): (usize, farrier_common::api::Repository)| farrier_common::api::Repository {
        full_name: format!("many/r{at:04}"),
        ..whole
    };
    let long: Vec<_> = long.into_iter().enumerate().map(named).collect();
    let mut story = Story::settled(80, 24);
    poll(&mut story, listed(Some(2_500), long));
    story.asked();
    assert!(story.text().contains("many/r0002") && !story.text().contains("many/r0002-now"));
    story.pass(Duration::from_secs(6));
    assert_eq!(story.asked(), [Ask::ChangedRepositories]);
    let changed = vec![repository(3, "many/r0002-now"), repository(9_999, "many/r0001-new")];
    let ticket = story.app.tickets;
    story.tell(Msg::Answer(ticket, Ok(listed(Some(2_501), changed))));
    let text = story.text();
    assert!(text.contains("many/r0002-now") && text.contains("many/r0001-new"), "{text}");
    assert!(status_row(&story).contains("501"), "{text}");
    story.pass(Duration::from_secs(6));
    assert_eq!(story.asked(), [Ask::Repositories], "the whole list is requested less often");
}

#[test]
fn a_failed_list_offers_retry_details_and_copying_the_request_id() {
    let mut story = stage(80, 24).started();
    let text = "listing repositories: internal error (500, request 7d1e)";
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text == "7d1e");
    let problem = Problem { request: Some("7d1e".into()), ..Problem::new(ProblemKind::Other, text) };
    story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    let shown = story.text();
    assert!(shown.contains("Enter shows details   y copies the request id"), "{shown}");
    assert!(shown.contains(" r retry  Enter details  y copy request ID"), "{shown}");
    story.keys("y");
    assert!(story.effects.iter().any(copied), "{:?}", story.effects);
    assert!(story.text().contains("request ID copied: 7d1e"), "{}", story.text());
    story.effects.clear();
    story.keys("\n");
    assert!(story.text().contains("┌─ Error ") && story.text().contains(" y copy the request ID"));
    story.keys("y");
    assert!(story.effects.iter().any(copied), "{:?}", story.effects);
    assert!(!story.text().contains("┌─ Error "), "{}", story.text());
    story.effects.clear();
    story.keys("r");
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    story.keys("\n");
    assert!(story.text().contains("[Overview]"), "Enter opens rows again: {}", story.text());
}

#[test]
fn an_error_without_a_request_id_does_not_offer_to_copy_it() {
    let mut story = stage(80, 24).started();
    let problem = Problem::new(ProblemKind::Other, "listing repositories: internal error (500)");
    story.answer(|ask| *ask == Ask::Repositories, Err(problem));
    assert!(!story.text().contains("y copies"), "{}", story.text());
    assert!(!story.text().contains("request id"), "{}", story.text());
    story.keys("y");
    assert!(!story.effects.iter().any(|effect| matches!(effect, Effect::Copy(_))), "{:?}", story.effects);
}
