//! Lists: new rows above the cursor, searches by the daemon, saved filters, kept positions, and failed requests.

use super::prelude::*;
use crate::ui::net::ProblemKind;

fn poll(screen: &mut TestScreen, answer: Answer) {
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Ok(answer));
}

/// The usual repositories with others before them.
fn with_more(others: &[&str]) -> Answer {
    let usual = (1..).zip(NAMES).map(|(id, name)| repository(id, name));
    let others = (7..).zip(others).map(|(id, name)| repository(id, name));
    listed(None, usual.chain(others).collect())
}

fn status_row(screen: &TestScreen) -> String {
    screen.text().lines().rev().nth(1).unwrap_or_default().to_owned()
}

fn names(screen: &TestScreen) -> Vec<String> {
    let text = screen.text();
    let name =
        |line: &str| line.get(3..)?.split_whitespace().next().filter(|word| word.contains('/')).map(str::to_owned);
    let rows = text.lines().count().saturating_sub(2);
    text.lines().take(rows).filter_map(name).collect()
}

#[test]
fn new_rows_above_the_view_are_counted_and_g_shows_them() {
    let mut screen = TestScreen::loaded(80, 10);
    assert_eq!(names(&screen)[0], "data/lake");
    poll(&mut screen, with_more(&["a/one", "a/two"]));
    assert!(status_row(&screen).ends_with("^ 2 new"), "{}", screen.text());
    assert_eq!(names(&screen)[0], "data/lake", "the view does not scroll");
    screen.keys("g");
    assert_eq!(names(&screen)[..2], ["a/one", "a/two"]);
    assert!(!status_row(&screen).contains("new"), "{}", screen.text());
}

#[test]
fn rows_keep_their_positions_while_a_dialog_is_open() {
    let mut screen = TestScreen::loaded(80, 24);
    let before = names(&screen);
    screen.keys("?");
    poll(&mut screen, with_more(&["a/one"]));
    screen.keys("\x1b");
    assert_eq!(names(&screen), before);
    poll(&mut screen, with_more(&["a/one"]));
    assert_eq!(names(&screen)[0], "a/one", "rows move again after the dialog is closed");
}

#[test]
fn a_list_too_long_to_load_is_filtered_by_the_daemon() {
    let mut screen = TestScreen::loaded(120, 24);
    screen.keys("/gat\x1b");
    assert!(
        !screen.take_requests().iter().any(|request| matches!(request, Request::FindRepositories(_))),
        "all rows are loaded"
    );
    poll(&mut screen, listed(Some(250_000), (1..).zip(NAMES).map(|(id, name)| repository(id, name)).collect()));
    assert!(status_row(&screen).contains("of 250 000  sort name  / searches on the daemon"), "{}", screen.text());
    screen.take_requests();
    screen.keys("/infra/gat");
    let requests = screen.take_requests();
    let finds = |text: &str| Request::FindRepositories(text.to_owned());
    assert_eq!(requests.last(), Some(&finds("gat")), "{requests:?}");
    screen.effects.push(Effect::Send(screen.app.tickets, finds("gat")));
    assert!(screen.text().contains("infra/gateway"), "loaded rows are shown: {}", screen.text());
    let found = vec![repository(1, "infra/gateway"), repository(900, "infra/gatling"), repository(901, "web/gate")];
    screen.answer(|request| *request == finds("gat"), Ok(listed(Some(3), found)));
    assert_eq!(names(&screen), ["infra/gateway", "infra/gatling"], "the whole filter applies to the response");
    screen.keys("\n");
    // A refresh repeats the search.
    screen.take_requests();
    screen.advance(Duration::from_secs(6));
    assert_eq!(screen.take_requests(), [finds("gat")]);
    screen.press(Key::Esc);
    assert_eq!(names(&screen).len(), NAMES.len());
    screen.keys("/");
    screen.send(Msg::Paste("size:>1k".into()));
    assert!(
        !screen.take_requests().iter().any(|request| matches!(request, Request::FindRepositories(_))),
        "there is no name in it"
    );
}

#[test]
fn the_up_key_recalls_earlier_filters() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("/data\n/");
    screen.press(Key::Ctrl('u'));
    screen.keys("web\n/");
    screen.press(Key::Ctrl('u'));
    screen.keys("infra\x1b/");
    let typed = |screen: &TestScreen| status_row(screen).split_whitespace().next().unwrap_or_default().to_owned();
    let mut seen = Vec::new();
    for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down] {
        screen.press(key);
        seen.push(typed(&screen));
    }
    assert_eq!(seen, ["/web", "/data", "/data", "/web", "/"], "a discarded filter is not recalled");
    screen.press(Key::Up);
    assert_eq!(names(&screen), ["web/site"], "a recalled filter is applied at once");
    screen.press(Key::Enter);
    assert!(screen.app.layers.is_empty());
}

#[test]
fn matches_of_the_filter_are_underlined() {
    let mut screen = TestScreen::loaded(80, 24);
    let underlined = |screen: &TestScreen| screen.styles().matches('U').count();
    assert_eq!(underlined(&screen), 0);
    screen.keys("/a");
    let (text, styles) = (screen.text(), screen.styles());
    let row = text.lines().position(|line| line.contains("infra/auth")).unwrap();
    assert_eq!(styles.lines().nth(row).unwrap().get(3..13), Some("....U.U..."));
    screen.keys(" state:em");
    let rows = screen.text().lines().position(|line| line.contains("empty"));
    assert_eq!(rows, None, "no empty repository has an a in its name");
    screen.press(Key::Ctrl('u'));
    screen.keys("state:ok\n");
    assert_eq!(underlined(&screen), 2 * (names(&screen).len() - 1), "except in the row under the cursor");
}

#[test]
fn the_cursor_follows_its_repository_when_rows_move() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("jj");
    let under = |screen: &TestScreen| screen.text().lines().find(|line| line.starts_with('>')).unwrap().to_owned();
    assert!(under(&screen).contains("infra/gateway"));
    screen.advance(Duration::from_secs(6));
    let names = ["infra/gateway", "a/first", "a/second", "b/third"];
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&names)));
    assert!(under(&screen).contains("infra/gateway"));
    screen.advance(Duration::from_secs(6));
    let rest = listed(None, vec![repository(2, "a/first"), repository(4, "b/third")]);
    screen.answer(|request| *request == Request::Repositories, Ok(rest));
    assert!(screen.text().contains("infra/gateway was removed"), "{}", screen.text());
    assert!(under(&screen).contains("b/third"));
}

#[test]
fn actions_apply_to_marked_rows_and_not_to_the_row_under_the_cursor() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys(" D");
    assert!(screen.text().contains("Delete repository data/lake"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.advance(Duration::from_millis(300));
    screen.press(Key::Esc);
    screen.keys("  D");
    let text = screen.text();
    assert!(text.contains("Delete 3 repositories (") && text.contains("Type 3 to confirm"), "{text}");
    screen.press(Key::Esc);
    screen.advance(Duration::from_millis(300));
    screen.press(Key::Esc);
    screen.keys("e");
    assert!(screen.text().contains("needs one row, but 3 are"), "{}", screen.text());
    open_hooks(&mut screen);
    screen.take_requests();
    screen.keys(" t");
    assert!(matches!(screen.take_requests().as_slice(), [Request::EditHook(_, 3, _)]));
    screen.keys(" t");
    assert_eq!(screen.take_requests(), []);
    assert!(screen.text().contains("Turn off 2 hooks"), "{}", screen.text());
}

#[test]
fn a_loading_message_is_shown_only_after_a_delay() {
    let mut screen = TestScreen::new(80, 24);
    assert!(!screen.text().contains("loading") && !screen.text().contains("──"), "{}", screen.text());
    screen.advance(Duration::from_millis(200));
    assert!(screen.text().contains("loading repositories") && screen.text().contains("──"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    assert!(screen.text().contains("1.2 s"), "{}", screen.text());
    screen.advance(Duration::from_secs(10));
    assert!(screen.text().contains("slow, Esc stops"), "{}", screen.text());
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert!(!screen.text().contains("──"), "{}", screen.text());
}

#[test]
fn stale_rows_show_their_age() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    screen.advance(Duration::from_secs(23));
    assert!(screen.text().contains("stale 23 s"), "{}", screen.text());
}

#[test]
fn a_long_list_is_polled_for_changes_and_reloaded_less_often() {
    let long: Vec<_> = (1..=2_500).map(|id| repository(if id > 20 { 1_000 + id } else { id }, "x/y")).collect();
    let named = |(at, repository): (usize, farrier_common::api::Repository)| farrier_common::api::Repository {
        full_name: format!("many/r{at:04}"),
        ..repository
    };
    let long: Vec<_> = long.into_iter().enumerate().map(named).collect();
    let mut screen = TestScreen::loaded(80, 24);
    poll(&mut screen, listed(Some(2_500), long));
    screen.take_requests();
    assert!(screen.text().contains("many/r0002") && !screen.text().contains("many/r0002-now"));
    screen.advance(Duration::from_secs(6));
    assert_eq!(screen.take_requests(), [Request::ChangedRepositories]);
    let changed = vec![repository(3, "many/r0002-now"), repository(9_999, "many/r0001-new")];
    let ticket = screen.app.tickets;
    screen.send(Msg::Answer(ticket, Ok(listed(Some(2_501), changed))));
    let text = screen.text();
    assert!(text.contains("many/r0002-now") && text.contains("many/r0001-new"), "{text}");
    assert!(status_row(&screen).contains("501"), "{text}");
    screen.advance(Duration::from_secs(6));
    assert_eq!(screen.take_requests(), [Request::Repositories], "the whole list is requested less often");
}

#[test]
fn a_failed_list_offers_retry_details_and_copying_the_request_id() {
    let mut screen = test_terminal(80, 24).start();
    let text = "listing repositories: internal error (500, request 7d1e)";
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text.0 == "7d1e");
    let problem = Problem { request: Some("7d1e".into()), ..Problem::new(ProblemKind::Other, text) };
    screen.answer(|request| *request == Request::Repositories, Err(problem));
    let shown = screen.text();
    assert!(shown.contains("Enter shows details   y copies the request ID"), "{shown}");
    assert!(shown.contains(" r retry  Enter details  y copy request ID"), "{shown}");
    screen.keys("y");
    assert!(screen.effects.iter().any(copied), "{:?}", screen.effects);
    assert!(screen.text().contains("request ID copied: 7d1e"), "{}", screen.text());
    screen.effects.clear();
    screen.keys("\n");
    assert!(screen.text().contains("┌─ Error ") && screen.text().contains(" y copy the request ID"));
    screen.keys("y");
    assert!(screen.effects.iter().any(copied), "{:?}", screen.effects);
    assert!(!screen.text().contains("┌─ Error "), "{}", screen.text());
    screen.effects.clear();
    screen.keys("r");
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    screen.keys("\n");
    assert!(screen.text().contains("[Overview]"), "Enter opens rows again: {}", screen.text());
}

#[test]
fn an_error_without_a_request_id_does_not_offer_to_copy_it() {
    let mut screen = test_terminal(80, 24).start();
    let problem = Problem::new(ProblemKind::Other, "listing repositories: internal error (500)");
    screen.answer(|request| *request == Request::Repositories, Err(problem));
    assert!(!screen.text().contains("y copies"), "{}", screen.text());
    assert!(!screen.text().contains("request ID"), "{}", screen.text());
    screen.keys("y");
    assert!(!screen.effects.iter().any(|effect| matches!(effect, Effect::Copy(_))), "{:?}", screen.effects);
}
