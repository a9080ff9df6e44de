//! The history of places: back, forward, places whose object is gone, and the return after a restart.

use super::prelude::*;
use crate::ui::net::{FoundObject, FoundObjects, Reconnect};

fn current_row(screen: &TestScreen) -> String {
    screen.text().lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

fn is_hooks(request: &Request) -> bool {
    matches!(request, Request::Hooks(_))
}

fn is_deliveries(request: &Request) -> bool {
    matches!(request, Request::Deliveries { .. })
}

#[test]
fn back_and_forward_return_to_the_object_the_tab_and_the_filter() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("j/hook\n");
    let (row, filter) = (current_row(&screen), screen.app.screen().filter_text());
    assert_eq!(filter, "hook", "{}", screen.text());
    screen.keys("2");
    screen.keys(":infra/auth\n");
    assert!(current_row(&screen).contains("infra/auth"), "{}", screen.text());
    screen.keys("4");
    screen.answer(is_deliveries, Ok(deliveries()));
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Repositories);
    assert!(current_row(&screen).contains("infra/auth"), "{}", screen.text());
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Repositories, "the place before the jump: {}", screen.text());
    assert!(!current_row(&screen).contains("infra/auth"), "{}", screen.text());
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    assert_eq!((current_row(&screen), screen.app.screen().filter_text()), (row, filter));
    screen.keys("___");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    screen.keys("_");
    assert!(screen.text().contains("No later place"), "{}", screen.text());
    screen.keys("----");
    assert_eq!(screen.app.current, ScreenId::Repositories);
    screen.keys("-");
    assert!(screen.text().contains("No earlier place"), "{}", screen.text());
}

#[test]
fn a_jump_after_going_back_drops_the_later_places() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("34-");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys("9_");
    assert_eq!(screen.app.current, ScreenId::Tasks);
    assert!(screen.text().contains("No later place"), "{}", screen.text());
    screen.keys("9");
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Hooks, "the same screen is no other place");
}

#[test]
fn a_place_whose_object_is_gone_is_left_out() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("j5");
    screen.take_requests();
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    let Answer::Hooks(mut left) = hooks() else { unreachable!() };
    left.items.retain(|hook| hook.id != 12);
    screen.answer(is_hooks, Ok(Answer::Hooks(left)));
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    let text = screen.text();
    assert!(text.contains("hook 12 is no longer listed; this is the place before it"), "{text}");
}

#[test]
fn the_screen_of_an_opened_object_that_is_gone_shows_its_list_later() {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    let first = screen.app.screen().subject();
    screen.keys("\n");
    assert_eq!(screen.app.screen().right_has_focus(), Some(true), "{}", screen.text());
    screen.keys("3-");
    let Answer::Users(mut left) = users() else { unreachable!() };
    left.items.retain(|user| Some(user.login()) != first.as_deref());
    screen.answer(|request| *request == Request::Users, Ok(Answer::Users(left)));
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    screen.keys("7");
    assert_eq!(screen.app.screen().right_has_focus(), Some(false), "another user is not opened: {}", screen.text());
}

#[test]
fn a_key_after_going_back_ends_the_search_for_the_object() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("j5-");
    screen.keys("k");
    let Answer::Hooks(mut left) = hooks() else { unreachable!() };
    left.items.retain(|hook| hook.id != 12);
    screen.answer(is_hooks, Ok(Answer::Hooks(left)));
    assert_eq!(screen.app.current, ScreenId::Hooks, "{}", screen.text());
}

#[test]
fn a_delivery_is_open_at_the_same_tab_after_going_back() {
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    screen.keys("]");
    let before = screen.text();
    screen.keys("H");
    assert_eq!(screen.app.current, ScreenId::Hooks, "{}", screen.text());
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    let shown = |text: &str| text.lines().skip(1).take(8).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shown(&screen.text()), shown(&before));
}

fn is_runs(request: &Request) -> bool {
    matches!(request, Request::RunList { .. })
}

#[test]
fn a_response_that_shows_another_object_of_the_same_screen_keeps_the_place_before_it() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("8");
    screen.answer(is_runs, Ok(run_list()));
    assert_eq!(screen.app.screen().subject().as_deref(), Some("run 12"), "{}", screen.text());
    screen.keys(":nightly\n");
    let (name, line) = ("nightly".to_owned(), "run show 8".to_owned());
    let job = FoundObject { kind: "job", name: name.clone(), about: String::new(), line, exact: true };
    let found = FoundObjects { word: name, objects: vec![job], searched: vec!["runs"], failed: Vec::new() };
    let is_search = |request: &Request| matches!(request, Request::FindObjects(_));
    screen.answer_last_of(is_search, Ok(Answer::FoundObjects(Box::new(found))));
    assert_eq!(screen.app.screen().subject().as_deref(), Some("run 8"), "{}", screen.text());
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Runs, "{}", screen.text());
    assert_eq!(screen.app.screen().subject().as_deref(), Some("run 12"), "{}", screen.text());
}

#[test]
fn a_row_that_may_be_older_than_the_loaded_ones_is_not_reported_as_gone() {
    let mut screen = TestScreen::loaded(120, 40);
    let newest = || found_run(12, "infra/gateway", "success");
    screen.keys("8");
    screen.answer(is_runs, Ok(run_page(vec![newest(), found_run(8, "web/site", "failure")], true)));
    screen.keys("j");
    assert_eq!(screen.app.screen().subject().as_deref(), Some("run 8"), "{}", screen.text());
    screen.keys(":run list --repo infra/auth\n");
    screen.answer(is_runs, Ok(run_page(Vec::new(), false)));
    screen.keys("-");
    screen.answer(is_runs, Ok(run_page(vec![newest()], true)));
    let text = screen.text();
    assert_eq!(screen.app.current, ScreenId::Runs, "{text}");
    assert!(text.contains("run 8 is not among the loaded rows"), "{text}");
}

/// Quits and starts again with the saved state. The daemon has the address of `of`.
fn restart(screen: &TestScreen, of: &str) -> TestScreen {
    let memory = screen.app.saved_state();
    let mut again = TestScreen::new(80, 24);
    again.app.start = None;
    again.app.recall(&memory);
    again.effects.clear();
    let effects = again.app.begin();
    again.effects.extend(effects);
    again.send(Msg::Endpoint(0, of.into(), None));
    again
}

const SOCKET: &str = "the socket /run/farrier/farrier.sock";

#[test]
fn the_next_session_begins_at_the_same_delivery_tab_and_filter() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.send(Msg::Endpoint(0, SOCKET.into(), None));
    open_deliveries(&mut screen);
    screen.keys("j/push\n\n");
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(13, "success", 200))));
    screen.keys("]");
    let before = screen.text();
    let mut again = restart(&screen, SOCKET);
    again.answer(|request| matches!(request, Request::Status), Ok(status()));
    again.answer(is_deliveries, Ok(deliveries()));
    again.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(13, "success", 200))));
    let shown = |text: &str| text.lines().skip(1).take(8).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shown(&again.text()), shown(&before), "{}", again.text());
    again.press(Key::Esc);
    assert_eq!(again.app.screen().filter_text(), "push");
}

#[test]
fn the_next_session_with_another_daemon_begins_with_the_screen_only() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.send(Msg::Endpoint(0, SOCKET.into(), None));
    open_deliveries(&mut screen);
    screen.keys("/push\n\n");
    let mut again = restart(&screen, "https://other.example");
    assert_eq!(again.app.current, ScreenId::Deliveries);
    again.answer(is_deliveries, Ok(deliveries()));
    assert_eq!(again.app.screen().filter_text(), "");
    assert_eq!(again.app.screen().right_has_focus(), Some(false));
}

#[test]
fn a_lost_connection_and_another_token_do_not_move_the_user() {
    let mut screen = TestScreen::loaded(80, 24);
    open_delivery(&mut screen);
    screen.keys("]");
    let before: Vec<String> = screen.text().lines().skip(1).take(6).map(str::to_owned).collect();
    screen.advance(Duration::from_secs(6));
    screen.answer(is_deliveries, Err(unreachable()));
    assert!(matches!(screen.app.world.link, Link::Down { .. }));
    screen.keys("r");
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(is_deliveries, Ok(deliveries()));
    let after: Vec<String> = screen.text().lines().skip(1).take(6).map(str::to_owned).collect();
    assert_eq!(after, before, "after a lost connection");
    screen.app.reconnect(Reconnect::WithoutToken);
    let effects = std::mem::take(&mut screen.app.effects);
    screen.effects.extend(effects);
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(is_deliveries, Ok(deliveries()));
    screen.answer(|request| matches!(request, Request::Delivery(_)), Ok(detail(delivery(14, "pending", 0))));
    let after: Vec<String> = screen.text().lines().skip(1).take(6).map(str::to_owned).collect();
    assert_eq!(after, before, "with other credentials");
}

#[test]
fn the_history_does_not_lead_to_objects_of_another_daemon() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("34");
    screen.keys(":connect /tmp/other.sock\n");
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    assert!(screen.text().contains("No earlier place"), "{}", screen.text());
}
