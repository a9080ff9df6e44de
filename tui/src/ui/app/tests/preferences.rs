//! Settings of the user: keys, themes, columns, formats of times, saved state.

use jiff::Timestamp;

use super::prelude::*;
use crate::{
    config::Config,
    ui::{
        app::Mouse,
        caps::{Appearance, Colors},
        saved_state::SavedState,
    },
};

/// Returns the settings of a configuration file, without variables of the environment.
fn with(text: &str, width: u16, height: u16) -> TestScreen {
    let (config, problems) = Config::parse(text);
    assert_eq!(problems, []);
    let (settings, problems) = Settings::of(&crate::args::DisplayArgs::default(), &config, |_| None);
    assert_eq!(problems, []);
    TestScreen::with(Settings { look: Appearance { theme: settings.look.theme, ..rich() }, ..settings }, width, height)
}

#[test]
fn a_shortcut_from_the_config_file_works_and_is_shown() {
    let file = "[keys.repositories]\ndelete = [\"f8\"]\nunbind = [\"D\"]\n";
    let mut screen = with(file, 120, 40);
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    screen.keys("D");
    assert!(screen.app.layers.is_empty() && screen.text().contains("D has no action here"), "{}", screen.text());
    assert!(screen.text().contains("F8 delete"), "{}", screen.text());
    screen.press(Key::F(8));
    assert!(screen.text().contains("Delete repository data/lake"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.keys("?");
    assert!(screen.text().contains("F8 "), "{}", screen.text());
}

#[test]
fn the_config_file_sets_the_columns_and_the_start_screen() {
    let mut screen = with("[ui]\nstart = \"hooks\"\n[columns.hooks]\nshow = [\"url\", \"id\"]\n", 80, 24);
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    assert_eq!(screen.app.current, ScreenId::Hooks);
    let text = screen.text();
    let header = text.lines().find(|line| line.contains("URL")).unwrap();
    assert!(header.find("URL") < header.find("ID") && !header.contains("LAST"), "{header}");
}

#[test]
fn the_config_file_sets_the_columns_of_every_documented_list() {
    let documented = "repositories files commits branches tags releases rules collaborators deploy_keys mirrors hooks \
                      deliveries workflow_runs runs tasks logs audit caches users tokens keys organizations teams \
                      members";
    for list in documented.split_whitespace() {
        let columns = crate::ui::screens::columns_of(list);
        assert!(columns.len() > 1, "{list}: {columns:?}");
        let (config, problems) = Config::parse(&format!("[columns.{list}]\nshow = [\"{}\"]\n", columns[0]));
        assert_eq!((config.columns.len(), problems), (1, Vec::new()), "{list}");
    }
    let is_runs = |request: &Request| matches!(request, Request::RunList { .. });
    let is_audit = |request: &Request| matches!(request, Request::Audit { .. });
    let shown = |list: &str, start: &str, columns: [&str; 2], open: &dyn Fn(&mut TestScreen)| {
        let [first, second] = columns;
        let file = format!("[ui]\nstart = \"{start}\"\n[columns.{list}]\nshow = [\"{first}\", \"{second}\"]\n");
        let mut screen = with(&file, 80, 24);
        screen.answer(|request| *request == Request::Status, Ok(status()));
        open(&mut screen);
        let text = screen.text();
        let is_header = |line: &&str| columns.iter().all(|title| line.contains(&title.to_uppercase()));
        let header = text.lines().find(is_header).unwrap_or_else(|| panic!("{list}: {text}"));
        let titles: Vec<&str> = header.split_whitespace().filter(|word| word.len() > 2).collect();
        assert_eq!(titles, columns.map(str::to_uppercase), "{list}: {text}");
    };
    shown("audit", "audit", ["action", "age"], &|screen: &mut TestScreen| screen.answer(is_audit, Ok(audit())));
    shown("caches", "repositories", ["size", "key"], &show_caches);
    shown("workflow_runs", "runs", ["state", "run"], &|screen: &mut TestScreen| screen.answer(is_runs, Ok(run_list())));
    let open_tasks = |screen: &mut TestScreen| screen.answer_last_of(|request| *request == Request::Tasks, Ok(tasks()));
    shown("tasks", "tasks", ["age", "kind"], &open_tasks);
    let is_logs = |request: &Request| matches!(request, Request::Logs(..));
    shown("logs", "logs", ["level", "time"], &|screen: &mut TestScreen| screen.answer(is_logs, Ok(logs())));
}

#[test]
fn wide_mode_shows_more_columns() {
    let mut screen = TestScreen::loaded(120, 40);
    assert!(!screen.text().contains("CREATED"));
    screen.keys("+W");
    assert!(screen.text().contains("CREATED"), "{}", screen.text());
}

#[test]
fn the_config_file_and_the_palette_set_the_time_format() {
    let mut screen = with("[ui]\ntime = \"iso\"\n", 120, 40);
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(screen.text().matches("2026-11-19T11:00:00Z").count(), 1, "only in the pane: {}", screen.text());
    screen.keys("+");
    assert!(screen.text().contains("  2026-11-19T11:00:00Z  ok"), "{}", screen.text());
    screen.app.world.clock.zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(5));
    screen.keys(":time local\n");
    assert!(screen.text().contains("  2026-11-19 16:00  ok"), "{}", screen.text());
    screen.keys("+");
    assert!(screen.text().contains("2026-11-19 16:00:00  (2d ago)"), "{}", screen.text());
    screen.keys("+");
    screen.keys(":time relative\n");
    assert!(screen.text().contains(" 2d ") && !screen.text().contains("16:00"), "{}", screen.text());
    screen.keys(":time soon\n");
    assert!(screen.text().contains("styles: relative, iso, local"), "{}", screen.text());
}

#[test]
fn a_wall_clock_change_updates_ages_and_does_not_affect_timers() {
    let mut screen = TestScreen::loaded(80, 24);
    assert!(screen.text().contains(" 25h "), "{}", screen.text());
    let (before, wakes) = (screen.app.world.clock.now, screen.app.wake_at());
    // The wall clock jumps ahead, as after a suspend of the machine.
    let effects = screen.app.update(Msg::Tick, screen.now, before + Duration::from_secs(10 * 86_400));
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(screen.app.wake_at(), wakes);
    assert!(screen.text().contains(" 11d ") && !screen.text().contains(" 25h "), "{}", screen.text());
    screen.app.update(Msg::Tick, screen.now, before - Duration::from_secs(30 * 86_400));
    assert!(screen.text().contains(" now "), "a time in the future is shown as now: {}", screen.text());
}

#[test]
fn the_palette_sets_the_theme_by_name() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.app.world.look.colors = Colors::Many;
    screen.keys(":theme dark\n");
    assert_eq!(screen.app.world.look.theme, Theme::named("dark").unwrap());
    let indexed = |screen: &TestScreen| {
        screen.picture().content.iter().any(|cell| matches!(cell.fg, ratatui::style::Color::Indexed(_)))
    };
    assert!(indexed(&screen));
    screen.keys(":theme pink\n");
    assert!(screen.text().contains("unknown theme 'pink'; themes: default, mono"), "{}", screen.text());
}

#[test]
fn the_saved_state_restores_screen_sort_columns_and_filter() {
    let mut screen = TestScreen::loaded(80, 24);
    open_hooks(&mut screen);
    screen.keys("s");
    screen.press(Key::Down);
    screen.keys("\nSW/push\n");
    let memory = screen.app.saved_state();
    assert_eq!(memory.screen, "hooks");
    assert_eq!(memory.place.as_ref().map(|place| place.shown.list.filter.as_str()), Some("push"));
    let mut again = TestScreen::with(Settings { look: rich(), ..Settings::default() }, 80, 24);
    again.app.recall(&memory);
    let effects = again.app.begin();
    again.effects.extend(effects);
    again.send(Msg::Endpoint(0, memory.daemon.clone(), None));
    again.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    assert_eq!(again.app.screen().filter_text(), "push");
    assert_eq!((again.app.current, again.app.world.wide), (ScreenId::Hooks, true));
    assert_eq!(again.app.saved_state().sorts["hooks"], memory.sorts["hooks"]);
    let chosen = Settings { start: Some(ScreenId::Artifacts), ..Settings::default() };
    let mut flagged = App::new(Size::new(80, 24), chosen, Timestamp::UNIX_EPOCH);
    flagged.recall(&SavedState { screen: "hooks".into(), ..SavedState::default() });
    flagged.begin();
    assert_eq!(flagged.current, ScreenId::Artifacts, "a given start screen takes precedence");
}

#[test]
fn the_mouse_selects_and_scrolls_only_after_it_is_turned_on() {
    let mut screen = TestScreen::loaded(80, 24);
    let under = |screen: &TestScreen| screen.text().lines().find(|line| line.starts_with('>')).unwrap().to_owned();
    let before = under(&screen);
    screen.send(Msg::Mouse(Mouse::Down { x: 5 }));
    assert_eq!(under(&screen), before);
    screen.keys("m");
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Mouse(true))));
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 5 }));
    assert!(under(&screen).contains("ops/"), "{}", screen.text());
    screen.send(Msg::Mouse(Mouse::Up { x: 5 }));
    assert_eq!(under(&screen), before);
    screen.send(Msg::Mouse(Mouse::Click { x: 5, y: 20 }));
    assert_eq!(under(&screen), before, "there is no row at this position");
    screen.send(Msg::Mouse(Mouse::Click { x: 20, y: 0 }));
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys(":");
    screen.send(Msg::Mouse(Mouse::Click { x: 3, y: 0 }));
    assert_eq!(screen.app.current, ScreenId::Hooks, "the open palette blocks clicks on the tabs");
}

#[test]
fn the_title_shows_the_host_the_screen_and_a_lost_connection() {
    let mut screen = TestScreen::loaded(80, 24);
    assert_eq!(screen.app.title(), "farrier forge01.lan: Repositories");
    screen.advance(Duration::from_secs(6));
    screen.answer(|request| *request == Request::Repositories, Err(unreachable()));
    assert_eq!(screen.app.title(), "farrier forge01.lan: Repositories (no answer)");
}

#[test]
fn a_theme_is_shown_while_its_name_is_typed_and_esc_restores_the_one_before() {
    let mut screen = TestScreen::loaded(80, 24);
    let before = screen.app.world.look.theme;
    let nord = Theme::named("nord").unwrap();
    screen.keys(":theme nord");
    assert_eq!(screen.app.world.look.theme, nord);
    screen.keys("x");
    assert_eq!(screen.app.world.look.theme, before, "no theme has this name");
    screen.press(Key::Backspace);
    assert_eq!(screen.app.world.look.theme, nord);
    screen.press(Key::Esc);
    assert_eq!(screen.app.world.look.theme, before);
    screen.keys(":theme nord\n");
    assert_eq!(screen.app.world.look.theme, nord);
    screen.keys(":theme dark");
    screen.press(Key::Esc);
    assert_eq!(screen.app.world.look.theme, nord, "the chosen theme stays");
}
