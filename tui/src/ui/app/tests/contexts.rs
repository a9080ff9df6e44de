//! Contexts: `:connect NAME`, the header, and the limits of a context.

use super::prelude::*;
use crate::{
    config::{Config, Context},
    ui::net::Reconnect,
};

/// Returns three contexts: `broken` is invalid, `lab` has no limits, `prod` is read-only and marked as production.
pub(super) fn contexts() -> Vec<Context> {
    let text = "[contexts.broken]\nurl = \"http://h\"\nread_only = 1\n[contexts.lab]\nsocket = \"/run/lab.sock\"\n\
         [contexts.prod]\nurl = \"https://forge.example\"\nread_only = true\nproduction = true\n";
    Config::parse(text).0.contexts
}

/// Starts in the context `name`, or without one.
fn started(name: Option<&str>, width: u16, height: u16) -> TestScreen {
    let context = name.map(|name| contexts().into_iter().find(|one| one.name == name).unwrap());
    let settings = Settings { contexts: contexts(), context, ..test_terminal(width, height).settings() };
    let mut screen = TestScreen::with(settings, width, height);
    screen.answer(|request| matches!(request, Request::Status), Ok(status()));
    screen.answer(|request| matches!(request, Request::Repositories), Ok(repositories(&NAMES)));
    screen
}

fn header(screen: &TestScreen) -> String {
    screen.text().lines().next().unwrap_or_default().to_owned()
}

/// Returns whether the program connected to the context `name`.
fn connected_to(screen: &TestScreen, name: &str) -> bool {
    screen
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::Reconnect(Reconnect::Context(context)) if context.name == name))
}

#[test]
fn the_header_names_the_context_at_every_width() {
    for width in [40, 60, 80, 120, 200] {
        let lab = started(Some("lab"), width, 24);
        assert!(header(&lab).ends_with(" lab ok"), "{}", lab.text());
        let prod = started(Some("prod"), width, 24);
        assert!(header(&prod).ends_with("PROD prod ok"), "{}", prod.text());
        let styles = prod.styles();
        let styles = styles.lines().next().unwrap_or_default();
        assert!(styles.contains("EEEE") && styles.ends_with("222"), "the mark has its own color: {styles}");
    }
    assert!(started(Some("prod"), 80, 24).app.title().starts_with("farrier prod: "));
}

#[test]
fn connecting_to_a_context_drops_everything_of_the_previous_daemon() {
    let mut screen = started(None, 120, 40);
    screen.send(Msg::Endpoint(0, "the socket /run/old.sock".into(), None));
    let old_tickets: Vec<u64> = (1..=screen.app.tickets).collect();
    screen.take_requests();
    screen.keys(":connect prod\n");
    assert!(connected_to(&screen, "prod"), "{:?}", screen.effects);
    assert_eq!(screen.take_requests(), [Request::Status, Request::Repositories]);
    // Responses and addresses of the old daemon may still be on their way.
    for ticket in old_tickets {
        screen.send(Msg::Answer(ticket, Ok(repositories(&NAMES))));
    }
    screen.send(Msg::Endpoint(0, "the socket /run/old.sock".into(), None));
    screen.send(Msg::ExposedToken(0, "http://old.example".into()));
    let text = screen.text();
    assert!(!text.contains("infra/gateway") && text.contains("PROD prod"), "{text}");
    assert_eq!(screen.app.world.address, "the daemon");
    screen.send(Msg::Endpoint(1, "https://forge.example".into(), None));
    assert_eq!(screen.app.world.address, "https://forge.example");
    screen.keys(":messages\n");
    assert!(screen.text().contains("No messages yet"), "{}", screen.text());
}

#[test]
fn a_change_of_the_previous_daemon_cannot_be_undone_on_the_next_one() {
    let mut screen = started(Some("lab"), 120, 40);
    open_hooks(&mut screen);
    screen.keys("jt");
    screen.answer(|request| matches!(request, Request::EditHook(..)), Ok(Answer::Done));
    assert!(screen.text().contains("z undoes"), "{}", screen.text());
    screen.keys(":connect /run/other.sock\n");
    screen.take_requests();
    screen.keys("z");
    assert!(screen.text().contains("Nothing to undo"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::EditHook(..))));
}

#[test]
fn sort_orders_of_the_user_outlast_a_change_of_the_daemon() {
    let mut screen = started(None, 80, 24);
    open_hooks(&mut screen);
    screen.keys("s");
    screen.press(Key::Down);
    screen.keys("\n");
    let sorts = screen.app.saved_state().sorts;
    assert!(sorts.contains_key("hooks"), "{sorts:?}");
    screen.keys(":connect lab\n");
    assert!(connected_to(&screen, "lab"), "{}", screen.text());
    assert_eq!(screen.app.saved_state().sorts, sorts);
}

#[test]
fn the_history_of_commands_keeps_no_ids_of_the_previous_daemon() {
    let mut screen = started(None, 120, 40);
    screen.keys(":connect lab\n:run 7\n");
    assert_eq!(screen.app.commands, ["connect lab", "run 7"]);
    screen.keys(":connect prod\n");
    assert_eq!(screen.app.commands, ["connect lab", "connect prod"]);
}

#[test]
fn a_read_only_context_refuses_changes_until_another_daemon_is_selected() {
    let mut screen = started(Some("prod"), 80, 24);
    assert!(screen.text().contains(" RO  "), "{}", screen.text());
    screen.keys("D");
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    assert!(screen.text().contains("Delete the repository: the context prod is"), "{}", screen.text());
    screen.keys(":repo create infra/tool\n");
    assert!(screen.text().contains("the context prod is read-only"), "{}", screen.text());
    screen.keys("\x1b:connect lab\n");
    assert!(connected_to(&screen, "lab") && !screen.text().contains(" RO  "), "{}", screen.text());
    // The flag applies to every daemon.
    let mut screen = TestScreen::with(
        Settings { contexts: contexts(), read_only: true, ..test_terminal(80, 24).settings() },
        80,
        24,
    );
    screen.keys(":connect lab\n");
    assert!(screen.app.world.read_only, "{}", screen.text());
}

#[test]
fn the_last_row_offers_no_key_that_a_read_only_screen_refuses() {
    let hints = |screen: &TestScreen| screen.text().lines().last().unwrap_or_default().to_owned();
    let (lab, prod) = (hints(&started(Some("lab"), 120, 24)), hints(&started(Some("prod"), 120, 24)));
    for change in [" n new", " M import", " D delete"] {
        assert!(lab.contains(change) && !prod.contains(change), "{lab}\n{prod}");
    }
    for other in ["Enter open", "y copy", "a archive", "/ filter"] {
        assert!(prod.contains(other), "{prod}");
    }
}

#[test]
fn unknown_and_invalid_contexts_are_refused_with_the_reason() {
    let mut screen = started(Some("lab"), 120, 40);
    screen.keys(":connect staging\n");
    assert!(screen.text().contains("unknown context 'staging'; known contexts: broken, lab,"), "{}", screen.text());
    screen.keys("\x1b:connect broken\n");
    assert!(screen.text().contains("cannot be used: config.toml line 3:"), "{}", screen.text());
    assert!(!screen.effects.iter().any(|effect| matches!(effect, Effect::Reconnect(_))));
    assert!(header(&screen).ends_with(" lab ok"), "the connection is unchanged: {}", screen.text());
}

#[test]
fn names_of_contexts_are_completed() {
    let mut screen = started(None, 120, 40);
    screen.keys(":connect p");
    let text = screen.text();
    assert!(text.contains("prod") && text.contains("production, read-only, https://forge"), "{text}");
    screen.press(Key::Down);
    screen.keys("\n");
    assert!(screen.text().contains(": connect prod"), "{}", screen.text());
    screen.keys("\n");
    assert!(connected_to(&screen, "prod"), "{}", screen.text());
}

#[test]
fn a_running_download_is_stopped_only_after_a_question() {
    let mut screen = started(Some("lab"), 80, 24);
    screen.keys("ag");
    let running = |screen: &TestScreen| screen.app.world.transfers.losses().is_some();
    assert!(running(&screen), "{}", screen.text());
    screen.keys(":connect prod\n");
    assert!(!connected_to(&screen, "prod") && screen.text().contains("1 download is running"), "{}", screen.text());
    screen.keys("\n");
    assert!(!connected_to(&screen, "prod") && running(&screen), "Enter alone stays connected: {}", screen.text());
    screen.keys(":connect prod\n");
    screen.keys("s");
    assert!(connected_to(&screen, "prod") && !running(&screen), "{}", screen.text());
    assert!(screen.effects.iter().any(|effect| matches!(effect, Effect::Cancel(_))));
}
