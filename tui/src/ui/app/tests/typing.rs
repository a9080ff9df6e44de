//! Text fields take every printable key as text. Typed commands act only on visible or named objects.

use proptest::prelude::*;

use super::prelude::*;
use crate::ui::{keymap::BINDINGS, layer::Layer, net::ProblemKind};

/// The name of a text field, and the function that opens it.
type Context = (&'static str, fn() -> TestScreen);

fn repositories_with(keys: &str) -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(keys);
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen
}

fn hooks_with(keys: &str) -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys(keys);
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen
}

const CONTEXTS: &[Context] = &[
    ("help", || hooks_with("?")),
    ("help on repositories", || repositories_with("?")),
    ("palette", || hooks_with(":")),
    ("palette with an argument", || hooks_with(":hook off ")),
    ("filter", || hooks_with("/")),
    ("search in a delivery", || {
        let mut screen = TestScreen::loaded(120, 40);
        open_delivery(&mut screen);
        screen.keys("/");
        screen.take_requests();
        screen
    }),
    ("typed confirmation of a repository", || repositories_with("D")),
    ("typed confirmation of a hook", || hooks_with("jD")),
    ("typed confirmation of many", || hooks_with("*D")),
    ("owner of a new repository", || repositories_with("n")),
    ("name of a new repository", || repositories_with("n\t")),
    ("source of an import", || repositories_with("M")),
    ("secret of an import", || repositories_with("M\t\t\t\t\t \t")),
    ("URL of a hook", || hooks_with("n\t\t")),
    ("events of a hook", || {
        let mut screen = hooks_with("n");
        while !screen.text().contains("> Chosen") {
            screen.press(Key::Tab);
        }
        screen.press(Key::Enter);
        screen
    }),
    ("expiry of an artifact", || {
        let mut screen = TestScreen::loaded(120, 40);
        open_artifacts(&mut screen);
        screen.keys("jjeo");
        screen.take_requests();
        screen
    }),
];

fn typed(screen: &TestScreen) -> String {
    screen.app.top_layer().and_then(Layer::typed).map(str::to_owned).unwrap_or_default()
}

/// Checks that only the text has changed.
fn is_only_text(screen: &mut TestScreen, name: &str, what: &str, layers: usize, current: ScreenId) {
    assert_eq!(screen.app.layers.len(), layers, "{name}: {what} opened or closed something");
    assert_eq!(screen.app.current, current, "{name}: {what} changed the screen");
    let acts = |effect: &Effect| {
        matches!(effect, Effect::Quit(_) | Effect::Copy(_) | Effect::Page(_) | Effect::Reconnect(_) | Effect::Suspend)
    };
    assert!(!screen.effects.iter().any(acts), "{name}: {what} led to {:?}", screen.effects);
    let requests = screen.take_requests();
    // If not all repositories are loaded, a filter requests the matching ones.
    let sent: Vec<&Request> = requests
        .iter()
        .filter(|request| {
            !matches!(request, Request::FindRepositories(_) | Request::FindObjects(_) | Request::Delivery(_))
        })
        .collect();
    assert!(sent.is_empty(), "{name}: {what} sent {sent:?}");
}

#[test]
fn every_printable_key_types_text_in_every_text_field() {
    for (name, context) in CONTEXTS {
        let mut screen = context();
        let (layers, current) = (screen.app.layers.len(), screen.app.current);
        assert!(screen.app.top_layer().is_some_and(Layer::takes_text), "{name} takes text: {}", screen.text());
        for c in (' '..='~').chain(['ß', '日', 'é']) {
            let before = typed(&screen);
            screen.press(Key::Char(c));
            let after = typed(&screen);
            let is_list = *name == "events of a hook";
            let has_it = after.chars().count() == before.chars().count() + 1
                && after.to_lowercase().contains(c.to_lowercase().next().unwrap_or(c));
            assert!(has_it || (is_list && matches!(c, ' ' | '*')), "{name}: {c:?} is typed: {before:?} {after:?}");
            is_only_text(&mut screen, name, &format!("{c:?}"), layers, current);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn typing_and_pasting_run_no_command(at in 0..CONTEXTS.len(), text in "[^\\p{C}]{1,24}", pastes in any::<bool>()) {
        let (name, context) = &CONTEXTS[at];
        let mut screen = context();
        let (layers, current) = (screen.app.layers.len(), screen.app.current);
        if pastes {
            screen.send(Msg::Paste(text.clone()));
        } else {
            text.chars().for_each(|c| screen.press(Key::Char(c)));
        }
        is_only_text(&mut screen, name, &text, layers, current);
    }
}

#[test]
fn a_word_typed_into_help_is_searched_for_and_runs_no_command() {
    let mut screen = hooks_with("?");
    screen.keys("quiet");
    assert_eq!((screen.take_requests(), screen.app.layers.len()), (Vec::new(), 1));
    assert!(screen.text().contains("Search: quiet"), "{}", screen.text());
}

#[test]
fn keys_typed_when_a_confirmation_dialog_disappears_are_dropped() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("D");
    screen.advance(Duration::from_secs(6));
    screen.keys("data/");
    screen.answer(|request| *request == Request::Repositories, Ok(repositories(&["infra/gateway"])));
    assert!(screen.app.layers.is_empty(), "{}", screen.text());
    screen.take_requests();
    screen.keys("lakeD\n");
    assert!(screen.app.layers.is_empty() && screen.take_requests().is_empty(), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("?");
    assert_eq!(screen.app.layers.len(), 1, "later keys work again");
}

#[test]
fn a_menu_opened_by_a_response_waits_until_the_form_is_closed() {
    let mut screen = TestScreen::loaded(80, 24);
    open_artifacts(&mut screen);
    screen.keys("jjd2n");
    let exists = Problem::new(ProblemKind::Exists, "fetching: dist-linux.zip exists");
    screen.answer(|request| matches!(request, Request::Download { .. }), Err(exists));
    screen.take_requests();
    screen.keys("\to");
    assert_eq!(screen.take_requests(), [], "the letter is typed into the form: {}", screen.text());
    assert!(screen.text().contains("New repository"), "{}", screen.text());
    screen.keys("\x1by");
    assert!(screen.text().contains("dist-linux.zip exists"), "{}", screen.text());
}

#[test]
fn keys_except_quit_do_nothing_on_a_terminal_that_is_too_small() {
    let mut screen = TestScreen::loaded(80, 24);
    open_hooks(&mut screen);
    screen.send(Msg::Resized(Size::new(20, 5)));
    screen.take_requests();
    screen.keys("tDy");
    assert!(screen.take_requests().is_empty() && screen.app.layers.is_empty());
    screen.keys("q");
    assert_eq!(screen.exit_code(), Some(0));
}

/// Returns the object that a request changes, as it is written on the screen or in the command.
fn objects_of(request: &Request) -> Vec<String> {
    match request {
        Request::EditHook(_, id, _)
        | Request::DeleteHook(_, id)
        | Request::TestHook(_, id)
        | Request::ApplyHook(id) => vec![id.to_string()],
        Request::Recover(hooks) => hooks.iter().map(ToString::to_string).collect(),
        Request::DeleteRepository(path) | Request::EditRepository(path, _) => vec![path.to_string()],
        Request::Archive { repo, .. } => vec![repo.to_string()],
        Request::DeleteArtifacts(ids) => ids.iter().map(ToString::to_string).collect(),
        Request::EditArtifacts(each) => each.iter().map(|(id, _)| id.to_string()).collect(),
        Request::Download { name, .. }
        | Request::RestoreRepository { name, .. }
        | Request::RestoreArtifact { name, .. }
        | Request::PurgeRepository { name, .. }
        | Request::PurgeArtifact { name, .. } => vec![name.clone()],
        Request::Redeliver(ids) => ids.iter().map(|id| id.get(..8).unwrap_or(id).to_owned()).collect(),
        Request::Batch(batch) => batch.items.iter().flat_map(|(_, request)| objects_of(request)).collect(),
        _ => Vec::new(),
    }
}

/// Every screen with rows, and the cursor on the second row.
fn open_every_screen() -> Vec<(&'static str, TestScreen)> {
    let on = |keys: &str, open: fn(&mut TestScreen)| {
        let mut screen = TestScreen::loaded(120, 40);
        // All screens were shown before: commands must not act on objects of hidden screens.
        open_hooks(&mut screen);
        open_deliveries(&mut screen);
        open_artifacts(&mut screen);
        open(&mut screen);
        screen.keys(keys);
        screen
    };
    vec![
        ("dashboard", on("", |screen| screen.keys("1"))),
        ("repositories", on("j", |screen| screen.keys("2"))),
        ("a repository", on("j\n]]]", |screen| screen.keys("2"))),
        ("hooks", on("j", |screen| screen.keys("3"))),
        ("filtered hooks", on("j /audit\n", |screen| screen.keys("3"))),
        ("deliveries", on("j", |screen| screen.keys("4"))),
        ("artifacts", on("jj", |screen| screen.keys("5"))),
        ("deleted repositories", {
            let mut screen = open_deleted_repositories(120, 40);
            screen.keys("j");
            screen
        }),
        ("deleted artifacts", open_deleted_artifacts(120, 40)),
    ]
}

#[test]
fn no_command_acts_on_an_object_that_is_neither_visible_nor_named() {
    for command in BINDINGS.iter().filter(|binding| !binding.words.is_empty()) {
        for (current, mut screen) in open_every_screen() {
            let seen = screen.text();
            screen.take_requests();
            screen.keys(&format!(":{}\n", command.words));
            let pending: Vec<Request> = screen
                .app
                .layers
                .iter()
                .filter_map(|open| match &open.layer {
                    Layer::Confirm(question) => Some(question.request().clone()),
                    _ => None,
                })
                .collect();
            for request in screen.take_requests().iter().chain(&pending) {
                for object in objects_of(request) {
                    assert!(seen.contains(&object), "`{}` on {current} acts on {object}:\n{seen}", command.words);
                }
            }
        }
    }
}

#[test]
fn a_command_without_an_object_asks_which_one() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("1:hook off\n");
    assert!(screen.text().contains("Which hook?") && screen.text().contains("https://ci.example.net/hook"));
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(screen.take_requests(), [], "Enter alone selects no hook");
    screen.press(Key::Down);
    screen.press(Key::Down);
    screen.keys("\n");
    assert!(screen.text().contains(": hook off 12"), "{}", screen.text());
    screen.keys("\n");
    let requests = screen.take_requests();
    assert!(
        matches!(requests.as_slice(), [Request::EditHook(_, 12, request)] if request.active == Some(false)),
        "{requests:?}"
    );
}

#[test]
fn hook_on_and_hook_off_set_the_state_and_never_toggle_it() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    for (line, id, active) in [("hook off 15", 15, false), ("hook on 15", 15, true), ("hook on 12", 12, true)] {
        screen.take_requests();
        screen.keys(&format!("1:{line}\n"));
        let requests = screen.take_requests();
        let is_switch = |request: &Request| matches!(request, Request::EditHook(_, of, edit) if *of == id && edit.active == Some(active));
        assert!(requests.iter().any(is_switch), "{line}: {requests:?}");
    }
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Done)));
    assert!(screen.text().contains("Hook 12 was already on"), "{}", screen.text());
    // On the hooks screen the command applies to the row under the cursor; a hook that is off stays off.
    screen.keys("3");
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    screen.take_requests();
    screen.keys("gjj:hook off\n");
    assert_eq!(screen.take_requests(), [], "{}", screen.text());
    assert!(screen.text().contains("already off"), "{}", screen.text());
}

#[test]
fn the_palette_accepts_the_commands_and_flags_of_the_shell() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":repo create infra/tool --private --description 'an edge tool'\n");
    let requests = screen.take_requests();
    let [Request::CreateRepository { owner, request }] = requests.as_slice() else {
        panic!("{requests:?} {}", screen.text())
    };
    assert_eq!((owner.as_str(), request.name.as_str(), request.private), ("infra", "tool", Some(true)));
    assert_eq!(request.description, "an edge tool");
    screen.keys(":repo create nonsense\n");
    assert!(screen.take_requests().is_empty() && screen.app.layers.len() == 1, "{}", screen.text());
    assert!(screen.text().contains("invalid value 'nonsense'"), "{}", screen.text());
    screen.keys("\x1b:user create zeta --email z@example.org\n");
    let requests = screen.take_requests();
    let [Request::Shell(command)] = requests.as_slice() else { panic!("{requests:?} {}", screen.text()) };
    assert_eq!((command.name.as_str(), &*command.line), ("user create", "user create zeta --email z@example.org"));
    assert!(command.changes && screen.app.layers.is_empty(), "{}", screen.text());
    screen.keys(":repo delete web/site --yes\n");
    assert!(screen.text().contains("Type web/site to confirm"), "{}", screen.text());
    screen.press(Key::Esc);
    screen.advance(Duration::from_secs(1));
    screen.press(Key::Esc);
    screen.app.world.read_only = true;
    screen.take_requests();
    screen.keys(":hook off 7\n");
    assert!(!screen.take_requests().iter().any(|request| matches!(request, Request::EditHook(..))));
    assert!(screen.text().contains("--read-only was given"), "{}", screen.text());
}

#[test]
fn help_and_palette_find_commands_of_any_screen_by_synonyms() {
    for (word, found) in [
        ("undo", "Undo"),
        ("resend", "Redeliver"),
        ("remove", "Delete the hook"),
        ("refresh", "Refresh"),
        ("pause", "Pause or resume live updates"),
        ("enable", "Turn the hook on"),
        ("remove webhook", "Delete the hook"),
        ("log out", "Quit now"),
        ("members", "members of a team"),
    ] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys("?");
        screen.keys(word);
        assert!(screen.text().contains(found), "help, {word}: {}", screen.text());
        screen.keys("\x1b:");
        screen.keys(word);
        assert!(screen.text().contains(found), "palette, {word}: {}", screen.text());
    }
}
