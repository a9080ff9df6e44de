//! Text fields take every printable key as text. Typed commands act only on visible or named objects.

use proptest::prelude::*;

use super::prelude::*;
use crate::ui::{keymap::BINDINGS, layer::Layer, net::ProblemKind};

/// The name of a text field, and the function that opens it.
type Context = (&'static str, fn() -> Story);

fn repositories_with(keys: &str) -> Story {
    let mut story = Story::settled(120, 40);
    story.keys(keys);
    story.pass(Duration::from_secs(1));
    story.asked();
    story
}

fn hooks_with(keys: &str) -> Story {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys(keys);
    story.pass(Duration::from_secs(1));
    story.asked();
    story
}

const CONTEXTS: &[Context] = &[
    ("help", || hooks_with("?")),
    ("help on repositories", || repositories_with("?")),
    ("palette", || hooks_with(":")),
    ("palette with an argument", || hooks_with(":hook off ")),
    ("filter", || hooks_with("/")),
    ("search in a delivery", || {
        let mut story = Story::settled(120, 40);
        reading(&mut story);
        story.keys("/");
        story.asked();
        story
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
        let mut story = hooks_with("n");
        while !story.text().contains("> Chosen") {
            story.press(Key::Tab);
        }
        story.press(Key::Enter);
        story
    }),
    ("expiry of an artifact", || {
        let mut story = Story::settled(120, 40);
        on_artifacts(&mut story);
        story.keys("jjeo");
        story.asked();
        story
    }),
];

fn typed(story: &Story) -> String {
    story.app.top_layer().and_then(Layer::typed).map(str::to_owned).unwrap_or_default()
}

/// Checks that only the text has changed.
fn is_only_text(story: &mut Story, name: &str, what: &str, layers: usize, screen: ScreenId) {
    assert_eq!(story.app.layers.len(), layers, "{name}: {what} opened or closed something");
    assert_eq!(story.app.current, screen, "{name}: {what} changed the screen");
    let acts = |effect: &Effect| {
        matches!(effect, Effect::Quit(_) | Effect::Copy(_) | Effect::Page(_) | Effect::Reconnect(_) | Effect::Suspend)
    };
    assert!(!story.effects.iter().any(acts), "{name}: {what} led to {:?}", story.effects);
    let asked = story.asked();
    // If not all repositories are loaded, a filter requests the matching ones.
    let asks: Vec<&Ask> =
        asked.iter().filter(|ask| !matches!(ask, Ask::FindRepositories(_) | Ask::Delivery(_))).collect();
    assert!(asks.is_empty(), "{name}: {what} asked {asks:?}");
}

#[test]
fn every_printable_key_types_text_in_every_text_field() {
    for (name, context) in CONTEXTS {
        let mut story = context();
        let (layers, screen) = (story.app.layers.len(), story.app.current);
        assert!(story.app.top_layer().is_some_and(Layer::takes_text), "{name} takes text: {}", story.text());
        for c in (' '..='~').chain(['ß', '日', 'é']) {
            let before = typed(&story);
            story.press(Key::Char(c));
            let after = typed(&story);
            let is_list = *name == "events of a hook";
            let has_it = after.chars().count() == before.chars().count() + 1
                && after.to_lowercase().contains(c.to_lowercase().next().unwrap_or(c));
            assert!(has_it || (is_list && matches!(c, ' ' | '*')), "{name}: {c:?} is typed: {before:?} {after:?}");
            is_only_text(&mut story, name, &format!("{c:?}"), layers, screen);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn typing_and_pasting_run_no_command(at in 0..CONTEXTS.len(), text in "[^\\p{C}]{1,24}", pastes in any::<bool>()) {
        let (name, context) = &CONTEXTS[at];
        let mut story = context();
        let (layers, screen) = (story.app.layers.len(), story.app.current);
        if pastes {
            story.tell(Msg::Paste(text.clone()));
        } else {
            text.chars().for_each(|c| story.press(Key::Char(c)));
        }
        is_only_text(&mut story, name, &text, layers, screen);
    }
}

#[test]
fn a_word_typed_into_help_is_searched_for_and_runs_no_command() {
    let mut story = hooks_with("?");
    story.keys("quiet");
    assert_eq!((story.asked(), story.app.layers.len()), (Vec::new(), 1));
    assert!(story.text().contains("Search: quiet"), "{}", story.text());
}

#[test]
fn keys_typed_when_a_confirmation_dialog_disappears_are_dropped() {
    let mut story = Story::settled(80, 24);
    story.keys("D");
    story.pass(Duration::from_secs(6));
    story.keys("data/");
    story.answer(|ask| *ask == Ask::Repositories, Ok(repositories(&["infra/gateway"])));
    assert!(story.app.layers.is_empty(), "{}", story.text());
    story.asked();
    story.keys("lakeD\n");
    assert!(story.app.layers.is_empty() && story.asked().is_empty(), "{}", story.text());
    story.pass(Duration::from_secs(1));
    story.keys("?");
    assert_eq!(story.app.layers.len(), 1, "later keys work again");
}

#[test]
fn a_menu_opened_by_a_response_waits_until_the_form_is_closed() {
    let mut story = Story::settled(80, 24);
    on_artifacts(&mut story);
    story.keys("jjd2n");
    let exists = Problem::new(ProblemKind::Exists, "fetching: dist-linux.zip exists");
    story.answer(|ask| matches!(ask, Ask::Download { .. }), Err(exists));
    story.asked();
    story.keys("\to");
    assert_eq!(story.asked(), [], "the letter is typed into the form: {}", story.text());
    assert!(story.text().contains("New repository"), "{}", story.text());
    story.keys("\x1by");
    assert!(story.text().contains("dist-linux.zip exists"), "{}", story.text());
}

#[test]
fn keys_except_quit_do_nothing_on_a_terminal_that_is_too_small() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.tell(Msg::Resized(Size::new(20, 5)));
    story.asked();
    story.keys("tDy");
    assert!(story.asked().is_empty() && story.app.layers.is_empty());
    story.keys("q");
    assert_eq!(story.quits(), Some(0));
}

/// Returns the object that a request changes, as it is written on the screen or in the command.
fn objects_of(ask: &Ask) -> Vec<String> {
    match ask {
        Ask::EditHook(_, id, _)
        | Ask::DeleteHook(_, id)
        | Ask::TestHook(_, id)
        | Ask::ApplyHook(id)
        | Ask::Recover(id) => vec![id.to_string()],
        Ask::DeleteRepository(path) | Ask::EditRepository(path, _) => vec![path.to_string()],
        Ask::Archive { repo, .. } => vec![repo.to_string()],
        Ask::DeleteArtifacts(ids) => ids.iter().map(ToString::to_string).collect(),
        Ask::EditArtifacts(each) => each.iter().map(|(id, _)| id.to_string()).collect(),
        Ask::Download { name, .. }
        | Ask::RestoreRepository { name, .. }
        | Ask::RestoreArtifact { name, .. }
        | Ask::PurgeRepository { name, .. }
        | Ask::PurgeArtifact { name, .. } => vec![name.clone()],
        Ask::Redeliver(ids) => ids.iter().map(|id| id.get(..8).unwrap_or(id).to_owned()).collect(),
        Ask::Batch(batch) => batch.items.iter().flat_map(|(_, ask)| objects_of(ask)).collect(),
        _ => Vec::new(),
    }
}

/// Every screen with rows, and the cursor on the second row.
fn on_every_screen() -> Vec<(&'static str, Story)> {
    let on = |keys: &str, open: fn(&mut Story)| {
        let mut story = Story::settled(120, 40);
        // All screens were shown before: commands must not act on objects of hidden screens.
        on_hooks(&mut story);
        on_deliveries(&mut story);
        on_artifacts(&mut story);
        open(&mut story);
        story.keys(keys);
        story
    };
    vec![
        ("dashboard", on("", |story| story.keys("1"))),
        ("repositories", on("j", |story| story.keys("2"))),
        ("a repository", on("j\n]", |story| story.keys("2"))),
        ("hooks", on("j", |story| story.keys("3"))),
        ("filtered hooks", on("j /audit\n", |story| story.keys("3"))),
        ("deliveries", on("j", |story| story.keys("4"))),
        ("artifacts", on("jj", |story| story.keys("5"))),
        ("deleted repositories", {
            let mut story = on_deleted_repositories(120, 40);
            story.keys("j");
            story
        }),
        ("deleted artifacts", on_deleted_artifacts(120, 40)),
    ]
}

#[test]
fn no_command_acts_on_an_object_that_is_neither_visible_nor_named() {
    for command in BINDINGS.iter().filter(|binding| !binding.words.is_empty()) {
        for (screen, mut story) in on_every_screen() {
            let seen = story.text();
            story.asked();
            story.keys(&format!(":{}\n", command.words));
            let pending: Vec<Ask> = story
                .app
                .layers
                .iter()
                .filter_map(|open| match &open.layer {
                    Layer::Confirm(question) => Some(question.ask().clone()),
                    _ => None,
                })
                .collect();
            for ask in story.asked().iter().chain(&pending) {
                for object in objects_of(ask) {
                    assert!(seen.contains(&object), "`{}` on {screen} acts on {object}:\n{seen}", command.words);
                }
            }
        }
    }
}

#[test]
fn a_command_without_an_object_asks_which_one() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("1:hook off\n");
    assert!(story.text().contains("Which hook?") && story.text().contains("https://ci.example.net/hook"));
    story.asked();
    story.keys("\n");
    assert_eq!(story.asked(), [], "Enter alone selects no hook");
    story.press(Key::Down);
    story.press(Key::Down);
    story.keys("\n");
    assert!(story.text().contains(": hook off 12"), "{}", story.text());
    story.keys("\n");
    let asked = story.asked();
    assert!(matches!(asked.as_slice(), [Ask::EditHook(_, 12, request)] if request.active == Some(false)), "{asked:?}");
}

#[test]
fn hook_on_and_hook_off_set_the_state_and_never_toggle_it() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    for (line, id, active) in [("hook off 15", 15, false), ("hook on 15", 15, true), ("hook on 12", 12, true)] {
        story.asked();
        story.keys(&format!("1:{line}\n"));
        let asked = story.asked();
        let is_switch =
            |ask: &Ask| matches!(ask, Ask::EditHook(_, of, edit) if *of == id && edit.active == Some(active));
        assert!(asked.iter().any(is_switch), "{line}: {asked:?}");
    }
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    assert!(story.text().contains("Hook 12 was already on"), "{}", story.text());
    // On the hooks screen the command applies to the row under the cursor; a hook that is off stays off.
    story.keys("3");
    story.answer(|ask| matches!(ask, Ask::Hooks(_)), Ok(hooks()));
    story.asked();
    story.keys("gjj:hook off\n");
    assert_eq!(story.asked(), [], "{}", story.text());
    assert!(story.text().contains("already off"), "{}", story.text());
}

#[test]
fn the_palette_accepts_the_commands_and_flags_of_the_shell() {
    let mut story = Story::settled(120, 40);
    story.asked();
    story.keys(":repo create infra/tool --private --description 'an edge tool'\n");
    let asked = story.asked();
    let [Ask::CreateRepository { owner, request }] = asked.as_slice() else { panic!("{asked:?} {}", story.text()) };
    assert_eq!((owner.as_str(), request.name.as_str(), request.private), ("infra", "tool", Some(true)));
    assert_eq!(request.description, "an edge tool");
    story.keys(":repo create nonsense\n");
    assert!(story.asked().is_empty() && story.app.layers.len() == 1, "{}", story.text());
    assert!(story.text().contains("invalid value 'nonsense'"), "{}", story.text());
    story.keys("\x1b:user list\n");
    assert!(story.text().contains("runs only in the shell: farrier user list"), "{}", story.text());
    story.keys("\x1b:repo delete web/site --yes\n");
    assert!(story.text().contains("Type web/site to confirm"), "{}", story.text());
    story.press(Key::Esc);
    story.pass(Duration::from_secs(1));
    story.press(Key::Esc);
    story.app.world.read_only = true;
    story.asked();
    story.keys(":hook off 7\n");
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::EditHook(..))));
    assert!(story.text().contains("--read-only was given"), "{}", story.text());
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
    ] {
        let mut story = Story::settled(120, 40);
        story.keys("?");
        story.keys(word);
        assert!(story.text().contains(found), "help, {word}: {}", story.text());
        story.keys("\x1b:");
        story.keys(word);
        assert!(story.text().contains(found), "palette, {word}: {}", story.text());
    }
}
