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
fn with(text: &str, width: u16, height: u16) -> Story {
    let (config, problems) = Config::parse(text);
    assert_eq!(problems, []);
    let (settings, problems) = Settings::of(&crate::args::DisplayArgs::default(), &config, |_| None);
    assert_eq!(problems, []);
    Story::with(Settings { look: Appearance { theme: settings.look.theme, ..rich() }, ..settings }, width, height)
}

#[test]
fn a_shortcut_from_the_config_file_works_and_is_shown() {
    let file = "[keys.repositories]\ndelete = [\"f8\"]\nunbind = [\"D\"]\n";
    let mut story = with(file, 120, 40);
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    story.keys("D");
    assert!(story.app.layers.is_empty() && story.text().contains("No action on 'D' here"), "{}", story.text());
    assert!(story.text().contains("F8 delete"), "{}", story.text());
    story.press(Key::F(8));
    assert!(story.text().contains("Delete repository data/lake"), "{}", story.text());
    story.press(Key::Esc);
    story.pass(Duration::from_secs(1));
    story.press(Key::Esc);
    story.keys("?");
    assert!(story.text().contains("F8 "), "{}", story.text());
}

#[test]
fn the_config_file_sets_the_columns_and_the_start_screen() {
    let mut story = with("[ui]\nstart = \"hooks\"\n[columns.hooks]\nshow = [\"url\", \"id\"]\n", 80, 24);
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    assert_eq!(story.app.current, ScreenId::Hooks);
    let text = story.text();
    let header = text.lines().find(|line| line.contains("URL")).unwrap();
    assert!(header.find("URL") < header.find("ID") && !header.contains("LAST"), "{header}");
}

#[test]
fn wide_mode_shows_more_columns() {
    let mut story = Story::settled(120, 40);
    assert!(!story.text().contains("CREATED"));
    story.keys("+W");
    assert!(story.text().contains("CREATED"), "{}", story.text());
}

#[test]
fn the_config_file_and_the_palette_set_the_time_format() {
    let mut story = with("[ui]\ntime = \"iso\"\n", 120, 40);
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&NAMES)));
    assert_eq!(story.text().matches("2026-11-19T11:00:00Z").count(), 1, "only in the pane: {}", story.text());
    story.keys("+");
    assert!(story.text().contains("  2026-11-19T11:00:00Z  ok"), "{}", story.text());
    story.app.world.clock.zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(5));
    story.keys(":time local\n");
    assert!(story.text().contains("  2026-11-19 16:00  ok"), "{}", story.text());
    story.keys("+");
    assert!(story.text().contains("2026-11-19 16:00:00  (2d ago)"), "{}", story.text());
    story.keys("+");
    story.keys(":time relative\n");
    assert!(story.text().contains(" 2d ") && !story.text().contains("16:00"), "{}", story.text());
    story.keys(":time soon\n");
    assert!(story.text().contains("styles: relative, iso, local"), "{}", story.text());
}

#[test]
fn a_wall_clock_change_updates_ages_and_does_not_affect_timers() {
    let mut story = Story::settled(80, 24);
    assert!(story.text().contains(" 25h "), "{}", story.text());
    let (before, wakes) = (story.app.world.clock.now, story.app.wake_at());
    // The wall clock jumps ahead, as after a suspend of the machine.
    let effects = story.app.update(Msg::Tick, story.now, before + Duration::from_secs(10 * 86_400));
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(story.app.wake_at(), wakes);
    assert!(story.text().contains(" 11d ") && !story.text().contains(" 25h "), "{}", story.text());
    story.app.update(Msg::Tick, story.now, before - Duration::from_secs(30 * 86_400));
    assert!(story.text().contains(" now "), "a time in the future is shown as now: {}", story.text());
}

#[test]
fn the_palette_sets_the_theme_by_name() {
    let mut story = Story::settled(80, 24);
    story.app.world.look.colors = Colors::Many;
    story.keys(":theme dark\n");
    assert_eq!(story.app.world.look.theme, Theme::named("dark").unwrap());
    let indexed =
        |story: &Story| story.picture().content.iter().any(|cell| matches!(cell.fg, ratatui::style::Color::Indexed(_)));
    assert!(indexed(&story));
    story.keys(":theme pink\n");
    assert!(story.text().contains("unknown theme 'pink'; themes: default, mono"), "{}", story.text());
}

#[test]
fn the_saved_state_restores_screen_sort_and_columns_but_no_filter() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.keys("s");
    story.press(Key::Down);
    story.keys("\nSW/push\n");
    let memory = story.app.saved_state();
    assert_eq!(memory.screen, "hooks");
    assert!(!serde_json::to_string(&memory).unwrap().contains("push"));
    let mut again = Story::with(Settings { look: rich(), ..Settings::default() }, 80, 24);
    again.app.recall(&memory);
    let effects = again.app.begin();
    again.effects.extend(effects);
    again.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
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
    let mut story = Story::settled(80, 24);
    let under = |story: &Story| story.text().lines().find(|line| line.starts_with('>')).unwrap().to_owned();
    let before = under(&story);
    story.tell(Msg::Mouse(Mouse::Down));
    assert_eq!(under(&story), before);
    story.keys("m");
    assert!(story.effects.iter().any(|effect| matches!(effect, Effect::Mouse(true))));
    story.tell(Msg::Mouse(Mouse::Click { x: 5, y: 5 }));
    assert!(under(&story).contains("ops/"), "{}", story.text());
    story.tell(Msg::Mouse(Mouse::Up));
    assert_eq!(under(&story), before);
    story.tell(Msg::Mouse(Mouse::Click { x: 5, y: 20 }));
    assert_eq!(under(&story), before, "there is no row at this position");
    story.tell(Msg::Mouse(Mouse::Click { x: 20, y: 0 }));
    assert_eq!(story.app.current, ScreenId::Hooks);
    story.keys(":");
    story.tell(Msg::Mouse(Mouse::Click { x: 3, y: 0 }));
    assert_eq!(story.app.current, ScreenId::Hooks, "the open palette blocks clicks on the tabs");
}

#[test]
fn the_title_shows_the_host_the_screen_and_a_lost_connection() {
    let mut story = Story::settled(80, 24);
    assert_eq!(story.app.title(), "farrier forge01.lan: Repositories");
    story.pass(Duration::from_secs(6));
    story.answer(|ask| *ask == Ask::Repositories, Err(unreachable()));
    assert_eq!(story.app.title(), "farrier forge01.lan: Repositories (no answer)");
}
