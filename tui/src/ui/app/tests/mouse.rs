//! The mouse: columns, panes, hints, menus, double clicks and the line between panes.

use super::prelude::*;
use crate::ui::{app::Mouse, net::ProblemKind, saved_state::SavedState};

/// Opens the screen of hooks with the mouse turned on.
fn hooks_with_mouse(width: u16, height: u16) -> TestScreen {
    let mut screen = TestScreen::loaded(width, height);
    open_hooks(&mut screen);
    screen.keys("m");
    screen.take_requests();
    screen
}

/// Returns the position of the first cell of `text`.
fn position(screen: &TestScreen, text: &str) -> (u16, u16) {
    let shown = screen.text();
    let found = shown.lines().enumerate().find_map(|(y, line)| Some((line.find(text).map(|at| (line, at))?, y)));
    let ((line, at), y) = found.unwrap_or_else(|| panic!("{text} is not shown: {shown}"));
    (u16::try_from(line[..at].chars().count()).unwrap(), u16::try_from(y).unwrap())
}

fn click(screen: &mut TestScreen, text: &str) {
    let (x, y) = position(screen, text);
    screen.send(Msg::Mouse(Mouse::Click { x, y }));
}

fn cursor(screen: &TestScreen) -> String {
    let text = screen.text();
    let line = text.lines().find(|line| line.starts_with('>')).unwrap_or_default();
    line.split('│').next().unwrap_or_default().to_owned()
}

/// Returns the column of the line between the panes.
fn divider(screen: &TestScreen) -> u16 {
    screen.text();
    screen.app.world.divider.get().x
}

#[test]
fn a_click_on_a_column_title_sorts_and_a_second_one_reverses() {
    let mut screen = hooks_with_mouse(120, 40);
    screen.keys("g");
    click(&mut screen, "URL");
    assert_eq!(screen.app.saved_state().sorts["hooks"], ("URL".to_owned(), false));
    assert!(screen.text().contains("URL ▲"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    click(&mut screen, "URL");
    assert_eq!(screen.app.saved_state().sorts["hooks"], ("URL".to_owned(), true));
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn a_double_click_opens_the_row_and_two_slow_clicks_do_not() {
    let mut screen = hooks_with_mouse(80, 24);
    click(&mut screen, "https://audit.lan/in");
    screen.advance(Duration::from_millis(500));
    click(&mut screen, "https://audit.lan/in");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.advance(Duration::from_millis(500));
    click(&mut screen, "https://lint.lan/r");
    screen.advance(Duration::from_millis(100));
    click(&mut screen, "https://lint.lan/r");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
    let is_of_hook = |request: &Request| matches!(request, Request::Deliveries { hook: Some(21), .. });
    assert!(screen.take_requests().iter().any(is_of_hook));
}

#[test]
fn a_double_click_changes_nothing_where_enter_would() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("mu");
    screen.answer(|request| *request == Request::DeletedRepositories, Ok(deleted_repositories()));
    for _ in 0..2 {
        click(&mut screen, "data/lake-old");
    }
    assert!(screen.app.layers.is_empty(), "no form to restore the repository is open: {}", screen.text());
}

#[test]
fn the_wheel_scrolls_the_pane_below_the_pointer_and_keeps_the_focus() {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("m\n");
    let (before, line) = (cursor(&screen), divider(&screen));
    screen.send(Msg::Mouse(Mouse::Down { x: line - 5 }));
    assert_ne!(cursor(&screen), before, "the list of users was scrolled");
    assert_eq!(screen.app.screen().right_has_focus(), Some(true));
    screen.send(Msg::Mouse(Mouse::Up { x: line - 5 }));
    assert_eq!(cursor(&screen), before);
    screen.send(Msg::Mouse(Mouse::Down { x: line + 5 }));
    assert_eq!(cursor(&screen), before, "the list of tokens was scrolled");
    // The pane beside the hooks cannot have the focus.
    let mut screen = hooks_with_mouse(120, 40);
    let (before, line) = (cursor(&screen), divider(&screen));
    screen.send(Msg::Mouse(Mouse::Down { x: line + 5 }));
    assert_eq!(cursor(&screen), before);
}

#[test]
fn a_click_moves_the_focus_to_the_pane_below_the_pointer() {
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("m");
    let line = divider(&screen);
    screen.send(Msg::Mouse(Mouse::Click { x: line + 5, y: 20 }));
    assert_eq!(screen.app.screen().right_has_focus(), Some(true));
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 20 }));
    assert_eq!(screen.app.screen().right_has_focus(), Some(false));
}

#[test]
fn a_click_on_a_hint_presses_its_key() {
    let mut screen = hooks_with_mouse(120, 40);
    click(&mut screen, "n new");
    assert!(screen.text().contains("New hook"), "{}", screen.text());
    click(&mut screen, "Esc cancel");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    click(&mut screen, "? help");
    assert!(screen.text().contains("Help: Hooks"), "{}", screen.text());
    // This hint is about all keys that are text.
    click(&mut screen, "type to search");
    assert_eq!(screen.app.layers.len(), 1);
}

#[test]
fn a_double_click_on_a_hint_does_not_press_a_key_of_the_layer_that_it_opens() {
    let mut screen = hooks_with_mouse(120, 40);
    let (x, y) = position(&screen, "? help");
    screen.send(Msg::Mouse(Mouse::Click { x, y }));
    assert_eq!(screen.app.layers.len(), 1);
    let (x, y) = position(&screen, "scroll  Esc close");
    let x = x + 8;
    screen.advance(Duration::from_secs(1));
    screen.send(Msg::Mouse(Mouse::Click { x, y }));
    assert!(screen.app.layers.is_empty());
    // The hint that is now at this cell, if any, has another key.
    for _ in 0..2 {
        screen.advance(Duration::from_millis(100));
        screen.send(Msg::Mouse(Mouse::Click { x, y }));
    }
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn a_lost_release_does_not_keep_dragging() {
    let mut screen = hooks_with_mouse(120, 40);
    let line = divider(&screen);
    screen.send(Msg::Mouse(Mouse::Click { x: line, y: 10 }));
    // While the mouse is off, the release is not reported.
    screen.keys("mm");
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 10 }));
    screen.send(Msg::Mouse(Mouse::Drag { x: 40 }));
    assert_eq!(divider(&screen), line);
}

#[test]
fn a_right_click_opens_the_actions_of_the_row_and_a_click_outside_closes_them() {
    let mut screen = hooks_with_mouse(120, 40);
    let (x, y) = position(&screen, "https://lint.lan/r");
    screen.send(Msg::Mouse(Mouse::RightClick { x, y }));
    assert!(screen.text().contains("Actions: hook 21"), "{}", screen.text());
    screen.send(Msg::Mouse(Mouse::Click { x: 0, y: 30 }));
    assert!(screen.app.layers.is_empty() && cursor(&screen).contains("lint.lan"), "{}", screen.text());
    screen.send(Msg::Mouse(Mouse::RightClick { x, y }));
    screen.take_requests();
    click(&mut screen, "Edit the hook");
    assert!(screen.text().contains("Edit hook 21"), "{}", screen.text());
}

#[test]
fn a_click_is_not_for_a_menu_that_a_response_has_just_opened() {
    let mut screen = TestScreen::loaded(80, 24);
    open_artifacts(&mut screen);
    screen.keys("mjjd");
    let exists = Problem::new(ProblemKind::Exists, "fetching: dist-linux.zip exists");
    screen.answer(|request| matches!(request, Request::Download { .. }), Err(exists));
    assert_eq!(screen.app.layers.len(), 1, "{}", screen.text());
    let outside = Mouse::Click { x: 0, y: 5 };
    screen.send(Msg::Mouse(outside));
    assert_eq!(screen.app.layers.len(), 1, "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.send(Msg::Mouse(outside));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
}

#[test]
fn clicks_do_not_answer_questions_or_close_forms() {
    let mut screen = hooks_with_mouse(120, 40);
    screen.keys("D");
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    for (x, y) in [(0, 5), (60, 20), (3, 0)] {
        screen.send(Msg::Mouse(Mouse::Click { x, y }));
    }
    assert_eq!((screen.app.layers.len(), screen.take_requests().len()), (1, 0), "{}", screen.text());
    assert_eq!(screen.app.current, ScreenId::Hooks);
}

#[test]
fn dragging_moves_the_line_between_the_panes_and_the_position_is_saved() {
    let mut screen = hooks_with_mouse(120, 40);
    let usual = divider(&screen);
    screen.send(Msg::Mouse(Mouse::Drag { x: 40 }));
    assert_eq!(divider(&screen), usual, "the drag did not begin at the line");
    screen.send(Msg::Mouse(Mouse::Click { x: usual, y: 10 }));
    for x in [50, 40] {
        screen.send(Msg::Mouse(Mouse::Drag { x }));
        assert_eq!(divider(&screen), x, "the panes change while the line is dragged");
    }
    screen.send(Msg::Mouse(Mouse::Drag { x: 0 }));
    assert_eq!(divider(&screen), 24, "both panes keep a fifth of the width");
    screen.send(Msg::Mouse(Mouse::Drag { x: 119 }));
    assert_eq!(divider(&screen), 96);
    screen.send(Msg::Mouse(Mouse::Drag { x: 40 }));
    screen.send(Msg::Mouse(Mouse::Release));
    screen.send(Msg::Mouse(Mouse::Drag { x: 60 }));
    assert_eq!(divider(&screen), 40, "the line was released");

    let memory = screen.app.saved_state();
    let mut again = TestScreen::loaded(120, 40);
    again.app.recall(&memory);
    again.keys("3m");
    assert_eq!(divider(&again), 40);
    for _ in 0..2 {
        again.send(Msg::Mouse(Mouse::Click { x: 40, y: 10 }));
    }
    assert_eq!(divider(&again), usual, "a double click restores the usual position");
    assert_eq!(again.app.saved_state().pane_share, None);
    // A file that was edited by hand does not hide a pane.
    again.app.recall(&SavedState { pane_share: Some(u16::MAX), ..SavedState::default() });
    assert_eq!(divider(&again), 96);
}

#[test]
fn a_click_on_a_tab_of_a_list_shows_it_and_gives_the_list_the_focus() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("m\n");
    assert_eq!(screen.app.screen().right_has_focus(), Some(true));
    screen.take_requests();
    click(&mut screen, " failed ");
    assert!(screen.text().contains("[failed]"), "{}", screen.text());
    assert_eq!(screen.app.screen().right_has_focus(), Some(false));
    let is_failed = |request: &Request| matches!(request, Request::Deliveries { status: "failure", .. });
    assert!(screen.take_requests().iter().any(is_failed));
    // A click on the shown tab requests nothing.
    screen.advance(Duration::from_millis(500));
    click(&mut screen, "[failed]");
    assert!(!screen.take_requests().iter().any(is_failed), "{}", screen.text());
}

#[test]
fn a_click_on_a_tab_of_a_pane_shows_it_and_gives_the_pane_the_focus() {
    let mut screen = TestScreen::loaded(120, 40);
    open_organizations(&mut screen);
    screen.rest_cursor();
    screen.keys("m");
    click(&mut screen, " Members ");
    assert!(screen.text().contains("[Members]"), "{}", screen.text());
    assert_eq!(screen.app.screen().right_has_focus(), Some(true));
    click(&mut screen, " Repositories");
    assert!(screen.text().contains("[Repositories]"), "{}", screen.text());
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("m");
    click(&mut screen, " Files ");
    assert!(screen.text().contains("[Files]"), "{}", screen.text());
    assert_eq!(screen.app.screen().right_has_focus(), Some(true));
}

#[test]
fn tabs_of_hooks_users_runs_and_logs_are_clicked() {
    let mut screen = hooks_with_mouse(120, 40);
    click(&mut screen, " default ");
    assert!(screen.text().contains("[default "), "{}", screen.text());
    let mut screen = TestScreen::loaded(120, 40);
    open_users(&mut screen);
    screen.keys("m");
    click(&mut screen, "] keys");
    assert!(screen.text().contains("] tokens"), "{}", screen.text());
    screen.keys("8");
    click(&mut screen, " failed ");
    assert!(screen.text().contains("[failed]"), "{}", screen.text());
    screen.keys("0");
    click(&mut screen, " error ");
    assert!(screen.text().contains("[error]"), "{}", screen.text());
}

#[test]
fn a_question_covers_the_tabs() {
    let mut screen = hooks_with_mouse(120, 40);
    let (x, y) = position(&screen, " default ");
    screen.keys("D");
    screen.advance(Duration::from_secs(1));
    screen.send(Msg::Mouse(Mouse::Click { x, y }));
    assert_eq!(screen.app.layers.len(), 1);
    assert!(!screen.text().contains("[default "), "{}", screen.text());
}

#[test]
fn a_click_on_a_suggestion_chooses_it_and_a_second_one_is_enter() {
    let mut screen = hooks_with_mouse(120, 40);
    let before = screen.app.world.look.theme;
    screen.keys(":theme ");
    click(&mut screen, "gruvbox");
    assert_eq!(Some(screen.app.world.look.theme), Theme::named("gruvbox"), "the chosen theme is shown");
    click(&mut screen, "gruvbox");
    assert!(screen.text().contains(": theme gruvbox"), "{}", screen.text());
    screen.press(Key::Esc);
    assert_eq!(screen.app.world.look.theme, before);
}
