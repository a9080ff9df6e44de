//! Commands of the shell that no screen shows: they run with the connection of the full screen, and their output is
//! shown.

use super::prelude::*;
use crate::ui::{
    layer::Layer,
    net::{ProblemKind, ShellCommand},
};

/// Returns the only command that was sent.
fn sent(screen: &mut TestScreen) -> ShellCommand {
    let mut requests = screen.take_requests();
    requests.retain(is_shell);
    match requests.as_slice() {
        [Request::Shell(command)] => (**command).clone(),
        _ => panic!("{requests:?}\n{}", screen.text()),
    }
}

fn is_shell(request: &Request) -> bool {
    matches!(request, Request::Shell(_))
}

fn printed(text: &str, failed: bool) -> Answer {
    Answer::Printed { text: text.to_owned(), failed }
}

#[test]
fn the_output_of_a_shell_command_is_a_notice_or_a_text() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":cache usage\n");
    let command = sent(&mut screen);
    assert_eq!((command.name.as_str(), command.changes), ("cache usage", false));
    assert!(screen.text().contains("Running farrier cache usage"), "{}", screen.text());
    screen.answer_last(Ok(printed("REPOSITORY  SIZE\ninfra/auth  3.0 GiB\n", false)));
    let text = screen.text();
    assert!(text.contains("farrier cache usage") && text.contains("infra/auth  3.0 GiB"), "{text}");
    assert!(!text.contains("Running"), "{text}");
    screen.keys("\x1b:repo fork infra/auth --org tools\n");
    assert!(sent(&mut screen).changes);
    screen.answer_last(Ok(printed("tools/auth\n", false)));
    assert!(screen.text().contains("tools/auth") && screen.app.layers.is_empty(), "{}", screen.text());
}

#[test]
fn a_failed_shell_command_is_reported() {
    for line in ["audit list --own", "task run sweep"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.take_requests();
        screen.keys(&format!(":{line}\n"));
        assert_eq!(&*sent(&mut screen).line, line);
        screen.answer_last(Err(Problem::new(ProblemKind::Invalid, "it is forbidden")));
        assert!(screen.text().contains("it is forbidden"), "{line}: {}", screen.text());
    }
}

#[test]
fn a_shell_command_that_asks_in_the_shell_asks_here_too() {
    for line in ["release delete web/site v1", "release delete web/site v1 --yes"] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.take_requests();
        screen.keys(&format!(":{line}\n"));
        assert!(screen.text().contains("Run release delete?"), "{}", screen.text());
        assert!(!screen.take_requests().iter().any(is_shell), "nothing is sent before the answer");
        screen.advance(Duration::from_millis(300));
        screen.keys("delete\n");
        assert_eq!(&*sent(&mut screen).line, "release delete web/site v1 --yes");
    }
}

#[test]
fn a_read_only_screen_runs_only_shell_commands_that_change_nothing() {
    let mut screen = test_terminal(120, 40).read_only();
    screen.take_requests();
    screen.keys(":repo fork infra/auth\n");
    assert!(screen.text().contains("--read-only was given"), "{}", screen.text());
    screen.keys("\x1b:repo --time iso deploy-key delete web/site 1 --yes\n");
    assert!(screen.app.layers.iter().all(|open| matches!(open.layer, Layer::Palette(_))), "{}", screen.text());
    screen.keys("\x1b:release show web/site v1\n");
    assert_eq!(sent(&mut screen).name, "release show");
}

#[test]
fn a_command_with_the_option_read_only_changes_nothing() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":hook off 12 --read-only\n");
    let requests = screen.take_requests();
    assert!(!requests.iter().any(|one| matches!(one, Request::EditHook(..))), "{requests:?}");
    let refused: Vec<_> = requests.into_iter().filter(is_shell).collect();
    assert!(
        matches!(refused.as_slice(), [Request::Shell(command)] if command.line.ends_with("--read-only")),
        "the client refuses the change: {refused:?}"
    );
}

#[test]
fn a_command_asks_whatever_is_between_its_words() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":repo --time iso deploy-key delete web/site 1\n");
    assert!(screen.text().contains("Run repo deploy-key delete?"), "{}", screen.text());
    assert!(!screen.take_requests().iter().any(is_shell), "nothing is sent before the answer");
}

#[test]
fn a_new_token_is_created_with_the_options_of_the_shell_and_shown_once() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":token create --user mia --name ci --scopes read:repository,write:user --repo infra/auth\n");
    let requests = screen.take_requests();
    let created = requests.iter().find_map(|one| match one {
        Request::CreateToken(user, request) => Some((user, request)),
        _ => None,
    });
    let Some((user, request)) = created else { panic!("{requests:?}") };
    assert_eq!((user.as_str(), request.name.as_str()), ("mia", "ci"));
    assert_eq!(request.scopes, ["read:repository", "write:user"]);
    assert_eq!(request.repositories.as_ref().map(Vec::len), Some(1));
    screen.keys(":token create --user mia --name ci --scopes all --expires yesterday\n");
    assert!(screen.text().contains("is not a valid time"), "{}", screen.text());
}

#[test]
fn commands_and_options_of_the_shell_are_completed() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":repo for");
    assert!(screen.text().contains("repo fork OWNER/NAME"), "{}", screen.text());
    screen.keys("\tinfra/au");
    assert!(screen.text().contains("infra/auth"), "{}", screen.text());
    screen.keys("\t");
    screen.keys("--na");
    assert!(screen.text().contains("--name"), "{}", screen.text());
    screen.keys("\tgateway2");
    assert!(screen.text().contains(": repo fork infra/auth --name gateway2"), "{}", screen.text());
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(&*sent(&mut screen).line, "repo fork infra/auth --name gateway2");
}

#[test]
fn keys_without_a_command_are_found_with_their_screen() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":delete the tag");
    let text = screen.text();
    assert!(text.contains("Delete the tag") && text.contains("key D on Repositories"), "{text}");
}

#[test]
fn commands_are_suggested_again_in_the_next_session() {
    let socket = || Msg::Endpoint(0, "the socket /run/farrier.sock".into(), None);
    let mut screen = TestScreen::loaded(120, 40);
    screen.send(socket());
    screen.keys(":theme dark\n:token create --user mia --name ci --scopes all\n");
    let saved = serde_json::to_string(&screen.app.saved_state()).unwrap();
    assert!(saved.contains("theme dark") && !saved.contains("token create"), "{saved}");
    let mut again = TestScreen::loaded(120, 40);
    again.send(socket());
    again.app.recall(&serde_json::from_str(&saved).unwrap());
    again.keys(":");
    again.press(Key::Up);
    assert!(again.text().contains(": theme dark"), "{}", again.text());
    let mut other = TestScreen::loaded(120, 40);
    other.app.recall(&serde_json::from_str(&saved).unwrap());
    other.keys(":");
    other.press(Key::Up);
    assert!(!other.text().contains("theme dark"), "the daemon is not known: {}", other.text());
    other.keys("\x1b:theme dark\n");
    assert_eq!(other.app.saved_state().commands, screen.app.saved_state().commands);
    // This session still has both.
    screen.keys(":");
    screen.press(Key::Up);
    assert!(screen.text().contains(": token create"), "{}", screen.text());
}
