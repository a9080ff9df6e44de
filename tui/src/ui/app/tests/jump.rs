//! The command line shows the object that is typed: by name, number, UUID or commit.

use super::prelude::*;
use crate::ui::net::{FoundObject, FoundObjects, ProblemKind};

fn is_search(request: &Request) -> bool {
    matches!(request, Request::FindObjects(_))
}

/// Returns an object of the daemon: its kind, its name and the line that shows it.
fn object(kind: &'static str, name: &str, line: &str, exact: bool) -> FoundObject {
    let (name, line) = (name.to_owned(), line.to_owned());
    FoundObject { kind, name, about: "about it".to_owned(), line, exact }
}

/// Answers the newest search for `word`.
fn found(screen: &mut TestScreen, word: &str, objects: Vec<FoundObject>) {
    let searched = vec!["repositories", "users"];
    let found = FoundObjects { word: word.to_owned(), objects, searched, failed: vec!["hooks"] };
    screen.answer_last_of(is_search, Ok(Answer::FoundObjects(Box::new(found))));
}

#[test]
fn a_path_in_the_command_line_shows_the_repository() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3:infra/auth\n");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains("infra/auth")), "{row:?}");
}

#[test]
fn a_name_in_the_command_line_shows_the_only_object_with_this_name() {
    for (typed, kind, line, expected) in [
        ("auth", "repository", "repo show infra/auth", ScreenId::Repositories),
        ("zeta", "user", "user show zeta", ScreenId::Users),
        ("toolmakers", "organization", "org show toolmakers", ScreenId::Organizations),
        ("https://ci.example.net/hook", "hook", "hook show 12", ScreenId::Hooks),
        ("dist-linux.zip", "artifact", "artifact 7", ScreenId::Artifacts),
        ("nightly", "job", "run show 51", ScreenId::Runs),
    ] {
        let mut screen = TestScreen::loaded(120, 40);
        screen.keys("6");
        screen.keys(&format!(":{typed}\n"));
        let other = object("repository", "data/other", "repo show data/other", false);
        found(&mut screen, typed, vec![object(kind, typed, line, true), other]);
        assert_eq!(screen.app.current, expected, "{typed}: {}", screen.text());
        assert!(screen.app.layers.is_empty(), "{typed}: {}", screen.text());
        assert_eq!(screen.app.commands, [line]);
    }
}

#[test]
fn an_ambiguous_name_shows_a_choice_with_the_kinds() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3:infra\n");
    let both =
        vec![object("organization", "infra", "org show infra", true), object("user", "infra", "user show infra", true)];
    found(&mut screen, "infra", both);
    let text = screen.text();
    assert!(text.contains("2 objects match 'infra'"), "{text}");
    assert!(text.contains("organization infra") && text.contains("user infra"), "{text}");
    assert_eq!(screen.app.current, ScreenId::Hooks, "nothing is guessed");
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Hooks, "Enter alone chooses nothing");
    screen.press(Key::Down);
    screen.press(Key::Down);
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Users, "{}", screen.text());
}

#[test]
fn objects_are_suggested_while_their_name_is_typed() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.take_requests();
    screen.keys(":zet");
    let searches = screen.take_requests().into_iter().filter(is_search).count();
    assert_eq!(searches, 1, "one search at a time");
    found(&mut screen, "zet", vec![object("user", "zeta", "user show zeta", false)]);
    assert!(screen.text().contains("user zeta"), "{}", screen.text());
    screen.keys("a");
    assert!(!screen.text().contains("user zeta"), "objects of another word are not shown: {}", screen.text());
    assert!(screen.take_requests().iter().any(is_search));
    found(&mut screen, "zeta", vec![object("user", "zeta", "user show zeta", true)]);
    screen.take_requests();
    screen.keys("\n");
    assert_eq!(screen.app.current, ScreenId::Users, "{}", screen.text());
    assert!(!screen.take_requests().iter().any(is_search), "the word is not looked up again");
    // Words that begin a command are not looked up.
    screen.keys(":repo create infra/tool");
    assert!(!screen.take_requests().iter().any(is_search));
}

#[test]
fn branches_tags_and_commits_of_the_open_repository_are_found() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("\n");
    screen.take_requests();
    screen.keys(":3F2A9C10\n");
    let requests = screen.take_requests();
    let repository = requests.iter().rev().find_map(|request| match request {
        Request::FindObjects(search) => search.repository.clone(),
        _ => None,
    });
    let repository = repository.expect("the open repository is searched").to_string();
    let line = format!("commit {repository} 3f2a9c10aa");
    found(&mut screen, "3F2A9C10", vec![object("commit", "3f2a9c10aa", &line, true)]);
    assert!(
        screen.take_requests().iter().any(|request| matches!(request, Request::Commit(_, sha) if sha == "3f2a9c10aa")),
        "{}",
        screen.text()
    );
    screen.keys(&format!(":files {repository} release/1.0\n"));
    let is_listed =
        |request: &Request| matches!(request, Request::Directory { reference, .. } if reference == "release/1.0");
    assert!(screen.take_requests().iter().any(is_listed), "{}", screen.text());
}

#[test]
fn a_number_opens_a_menu_of_the_kinds_of_objects() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":12\n");
    let text = screen.text();
    assert!(text.contains("Show number 12 as") && text.contains("hook 12") && text.contains("run 12"), "{text}");
    screen.keys("h");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys(":#51\nr");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
}

#[test]
fn a_uuid_shows_the_delivery_even_if_it_is_not_listed() {
    let mut screen = TestScreen::loaded(120, 40);
    let Answer::Delivery(found) = detail(delivery(14, "failed", 500)) else { unreachable!() };
    let uuid = found.delivery.guid.clone();
    screen.keys(&format!(":{uuid}\n"));
    assert_eq!(screen.app.current, ScreenId::Deliveries, "{}", screen.text());
    assert!(screen.take_requests().contains(&Request::Delivery(uuid.clone())));
    let hook = u64::try_from(found.delivery.hook_id).ok();
    screen.answer_last_of(|request| *request == Request::Delivery(uuid.clone()), Ok(Answer::Delivery(found)));
    let requests = screen.take_requests();
    assert!(
        requests.iter().any(|request| matches!(request, Request::Deliveries { hook: of, .. } if *of == hook)),
        "{requests:?}"
    );
}

#[test]
fn a_commit_shows_its_runs() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":3F2A9C10\n");
    assert_eq!(screen.app.current, ScreenId::Artifacts);
    assert!(screen.text().contains("commit:3f2a9c10"), "{}", screen.text());
}

#[test]
fn a_name_without_an_object_says_what_was_searched() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":nothinglikeit\n");
    found(&mut screen, "nothinglikeit", Vec::new());
    // Without the line breaks and the border of the command line.
    let text = screen.text().split(['│', ' ', '\n']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    assert!(text.contains("'nothinglikeit' is neither a command nor the name"), "{text}");
    assert!(text.contains("Searched: repositories, users.") && text.contains("Not available: hooks."), "{text}");
    screen.keys("\n");
    let why = Problem::new(ProblemKind::Busy(None), "the daemon is busy");
    screen.answer_last_of(is_search, Err(why));
    assert!(screen.text().contains("the daemon is busy"), "{}", screen.text());
}

#[test]
fn a_path_filters_the_repositories_before_they_are_listed() {
    let start = Settings { start: Some(ScreenId::Dashboard), ..Settings::default() };
    let mut screen = TestScreen::with(start, 120, 40);
    screen.answer(|request| matches!(request, Request::Status), Ok(status()));
    screen.keys(":infra/auth\n");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    screen.answer(|request| matches!(request, Request::Repositories), Ok(repositories(&NAMES)));
    let text = screen.text();
    assert!(text.contains("infra/auth") && !text.contains("data/lake"), "{text}");
}

#[test]
fn the_audit_log_of_one_hook_does_not_show_hooks_with_a_longer_id() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys(":audit list --object hook:7\n");
    let Answer::Audit(page, _) = audit() else { unreachable!() };
    let of_hook = |id: i64| {
        let mut entry = page.items[0].entry();
        entry.id = id;
        entry.action = "hook.edit".into();
        entry.object = farrier_common::api::AuditObject { kind: "hook".into(), id, ..Default::default() };
        entry.object.owner = "infra/auth".into();
        entry
    };
    let entries = audit_of(vec![of_hook(70), of_hook(7)]);
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(entries));
    let text = screen.text();
    assert!(text.contains("infra/auth 7 ") && !text.contains("infra/auth 70"), "{text}");
}

#[test]
fn one_key_goes_from_a_delivery_to_its_hook_and_back() {
    let mut screen = TestScreen::loaded(120, 40);
    open_deliveries(&mut screen);
    screen.keys("f");
    let text = screen.text();
    assert!(
        text.contains("Go to") && text.contains("deliveries of hook") && text.contains("repository infra/"),
        "{text}"
    );
    screen.keys("h");
    assert_eq!(screen.app.current, ScreenId::Hooks);
    screen.keys("-");
    assert_eq!(screen.app.current, ScreenId::Deliveries);
}

#[test]
fn one_key_goes_from_an_audit_entry_to_its_object() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("6");
    screen.answer(|request| matches!(request, Request::Audit { .. }), Ok(audit()));
    screen.keys("jfr");
    assert_eq!(screen.app.current, ScreenId::Repositories, "{}", screen.text());
    let row = screen.text().lines().find(|line| line.starts_with('>')).map(str::to_owned);
    assert!(row.as_ref().is_some_and(|row| row.contains("data/lake")), "{row:?}");
}
