//! The hooks screen: creating, editing, enabling and deleting hooks, and their last deliveries.

use super::prelude::*;

#[test]
fn a_hook_is_created_from_the_form_with_a_generated_secret() {
    let mut screen = TestScreen::loaded(80, 24);
    open_hooks(&mut screen);
    screen.take_requests();
    screen.keys("n\t\t");
    screen.send(Msg::Paste("https//ci.example.net/hook".into()));
    screen.press(Key::Ctrl('s'));
    assert_eq!(screen.take_requests(), []);
    let text = screen.text();
    assert!(text.contains("did you mean") && text.contains("https://ci.example.net/hook ?"), "{text}");
    screen.press(Key::Ctrl('u'));
    screen.send(Msg::Paste("https://ci.example.net/hook".into()));
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let [.., Request::CreateHook(new)] = requests.as_slice() else { panic!("{requests:?}") };
    let request = &new.request;
    assert!(!new.test && new.unless_above.is_none());
    let config = request.config.as_ref().unwrap();
    assert_eq!((request.events_exact.as_slice(), request.active), (["push".to_owned()].as_slice(), true));
    assert_eq!((config["url"].as_str(), config["is_system_webhook"].as_str()), ("https://ci.example.net/hook", "true"));
    assert!(config["secret"].starts_with("whsec_"));
    assert!(!screen.text().contains("whsec_"));
}

/// Returns the second hook of the list as the daemon returns it, with its version.
pub(super) fn loaded(change: impl Fn(&mut farrier_common::api::Hook), version: &str) -> Answer {
    let mut hook = api_hooks()[1].clone();
    change(&mut hook);
    let tag = Some(farrier_common::client::EntityTag::new(version.parse().unwrap()));
    Answer::LoadedHook(Box::new(farrier_common::client::Tagged { value: hook, tag }))
}

/// Opens the form of hook 12, with the cursor on the URL.
fn editing() -> TestScreen {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("je");
    screen.answer(|request| matches!(request, Request::LoadHook(_, 12)), Ok(loaded(|_| {}, "\"1\"")));
    screen.press(Key::Tab);
    screen.take_requests();
    screen
}

fn saved(screen: &mut TestScreen) -> Vec<crate::ui::net::SaveHook> {
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests().into_iter();
    requests.filter_map(|request| if let Request::SaveHook(save) = request { Some(*save) } else { None }).collect()
}

#[test]
fn an_edit_form_sends_only_changed_fields_and_the_loaded_version() {
    let mut screen = editing();
    assert!(saved(&mut screen).is_empty() && screen.text().contains("Nothing was changed"), "{}", screen.text());
    screen.keys("/v2");
    let all = saved(&mut screen);
    let [save] = all.as_slice() else { panic!("{all:?} {}", screen.text()) };
    let config = save.request.config.as_ref().unwrap();
    assert_eq!(config.iter().collect::<Vec<_>>(), [(&"url".to_owned(), &"https://ci.example.net/hook/v2".to_owned())]);
    let only_config = farrier_common::api::EditHook { config: Some(config.clone()), ..Default::default() };
    assert_eq!((save.id, &save.request, save.tag.is_some()), (12, &only_config, true));
}

#[test]
fn an_edit_form_is_not_sent_before_the_current_version_is_loaded() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("je\t/v2");
    assert!(saved(&mut screen).is_empty() && screen.text().contains("not loaded yet"), "{}", screen.text());
    // A change that another client made after the list was loaded is not reverted.
    let other = |hook: &mut farrier_common::api::Hook| hook.branch_filter = "main".into();
    screen.press(Key::Ctrl('s'));
    screen.answer(|request| matches!(request, Request::LoadHook(_, 12)), Ok(loaded(other, "\"2\"")));
    let all = saved(&mut screen);
    let [save] = all.as_slice() else { panic!("{all:?} {}", screen.text()) };
    assert_eq!((save.request.branch_filter.as_ref(), screen.text().contains("[main")), (None, true));
}

#[test]
fn conflicting_changes_to_a_hook_are_resolved_field_by_field() {
    for (key, sent) in [('o', Some("https://ci.example.net/hook/v2")), ('t', None)] {
        let mut screen = editing();
        screen.keys("/v2");
        assert_eq!(saved(&mut screen).len(), 1);
        let problem = Problem::new(crate::ui::net::ProblemKind::Changed, "changing hook 12: changed meanwhile (412)");
        screen.send(Msg::Answer(screen.app.tickets, Err(problem)));
        assert!(screen.text().contains("Another client changed the object"), "{}", screen.text());
        let theirs = |hook: &mut farrier_common::api::Hook| {
            hook.url = "https://elsewhere.lan/hook".into();
            hook.active = false;
        };
        screen.answer(|request| matches!(request, Request::LoadHook(_, 12)), Ok(loaded(theirs, "\"2\"")));
        let text = screen.text();
        assert!(text.contains("https://elsewhere.lan/hook") && text.contains("hook/v2"), "both are shown: {text}");
        assert!(saved(&mut screen).is_empty(), "the conflict must be resolved first");
        screen.press(Key::Ctrl(key));
        let all = saved(&mut screen);
        let url = |save: &crate::ui::net::SaveHook| save.request.config.as_ref().map(|config| config["url"].clone());
        assert_eq!(all.first().and_then(url).as_deref(), sent, "{}", screen.text());
        assert!(all.iter().all(|save| save.request.active.is_none()), "the other change of that client is kept");
    }
}

#[test]
fn a_generated_secret_is_shown_until_its_dialog_is_closed() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("n\t\t");
    screen.send(Msg::Paste("https://ci.example.net/hook".into()));
    screen.press(Key::Ctrl('s'));
    let created = Answer::Hook(Box::new(api_hooks()[0].clone()));
    screen.answer(|request| matches!(request, Request::CreateHook(_)), Ok(created));
    assert!(screen.text().contains("Secret of hook 3") && screen.text().contains("whsec_"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.keys("jtDy");
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text.starts_with("whsec_"));
    assert!(screen.effects.iter().any(copied) && screen.text().contains("whsec_"), "{}", screen.text());
    screen.press(Key::Esc);
    assert!(screen.app.layers.is_empty());
    assert!(screen.text().contains("secret copied") && !screen.text().contains("whsec_"), "{}", screen.text());
    assert!(screen.app.messages.iter().all(|(_, text)| !text.contains("whsec_")), "{:?}", screen.app.messages);
}

#[test]
fn turning_off_a_hook_needs_one_key_and_deleting_it_needs_its_number() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.take_requests();
    screen.keys("jt");
    let requests = screen.take_requests();
    let [Request::EditHook(_, 12, request)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((request.active, &request.config), (Some(false), &None));
    screen.keys("D");
    screen.advance(Duration::from_millis(300));
    screen.take_requests();
    screen.keys("y\n");
    assert_eq!(screen.take_requests(), [], "the number of a hook with deliveries must be typed");
    screen.press(Key::Ctrl('u'));
    screen.keys("12\t\n");
    assert_eq!(screen.take_requests(), [Request::DeleteHook(HookOwner::Admin, 12)]);
    screen.keys("jjT");
    assert!(screen.text().contains("default hooks receive no events themselves"), "{}", screen.text());
    screen.keys("w");
    assert_eq!(screen.app.current, ScreenId::Hooks, "the key has no action on this screen");
}

#[test]
fn turning_off_a_hook_can_be_undone_for_30_seconds_and_marks_for_longer() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("j");
    let switched = |screen: &mut TestScreen| {
        let requests = screen.take_requests();
        let [Request::EditHook(_, 12, request)] = requests.as_slice() else { panic!("{requests:?}") };
        request.active
    };
    screen.take_requests();
    screen.keys("t");
    assert_eq!(switched(&mut screen), Some(false));
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Done)));
    assert!(screen.text().contains("turned off - z undoes"), "{}", screen.text());
    screen.take_requests();
    screen.keys("z");
    assert_eq!(switched(&mut screen), Some(true));
    screen.send(Msg::Answer(screen.app.tickets, Ok(Answer::Done)));
    screen.advance(Duration::from_secs(31));
    screen.take_requests();
    screen.keys("z");
    assert!(
        !screen.take_requests().iter().any(|request| matches!(request, Request::EditHook(..))),
        "the time to undo is over"
    );
    screen.keys("2  ");
    screen.press(Key::Esc);
    assert!(!screen.text().contains("marked"));
    screen.keys("z");
    assert!(screen.text().contains("marked 2"), "{}", screen.text());
}

#[test]
fn the_pane_shows_the_last_deliveries_of_the_hook_under_the_cursor() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    let last = |request: &Request| matches!(request, Request::LastDeliveries(_));
    screen.keys("jj");
    let pending = screen.effects.iter().filter(|e| matches!(e, Effect::Send(_, request) if last(request))).count();
    assert_eq!(pending, 1, "only one request is pending while the cursor moves");
    screen.answer(last, Ok(last_deliveries(&[delivery(13, "success", 200)])));
    let passed = screen.effects.iter().any(|e| matches!(e, Effect::Send(_, Request::LastDeliveries(15))));
    assert!(!passed, "no request is sent for a hook that the cursor only passes");
    screen.rest_cursor();
    screen
        .answer(|request| *request == Request::LastDeliveries(15), Ok(last_deliveries(&[delivery(12, "failed", 500)])));
    let text = screen.text();
    assert!(text.contains("Last deliveries") && text.contains("11:58:12  push"), "{text}");
}

#[test]
fn hooks_of_all_owners_are_listed_together_and_filtered_by_scope() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3");
    assert!(screen.take_requests().contains(&Request::Hooks(HookOwner::Any)));
    let mut all = api_hooks();
    let of = |id: i64, scope: &str, owner: &str, repository: &str, state: &str| farrier_common::api::Hook {
        id,
        scope: scope.into(),
        owner: owner.into(),
        repository: repository.into(),
        state: state.into(),
        active: state != "off",
        url: format!("https://of{id}.lan/"),
        ..all[0].clone()
    };
    let more = [
        of(31, "repository", "infra", "infra/gateway", "failing"),
        of(32, "organization", "data", "", "ok"),
        of(33, "user", "bob", "", "off"),
    ];
    all.extend(more);
    screen.effects.push(Effect::Send(screen.app.tickets, Request::Hooks(HookOwner::Any)));
    let ticket =
        screen.app.pending.iter().find(|(_, one)| matches!(one.request, Request::Hooks(_))).map(|(ticket, _)| *ticket);
    screen.send(Msg::Answer(ticket.unwrap(), Ok(listed_hooks(all))));
    let text = screen.text();
    assert!(text.contains("[all 7]") && text.contains("repo 1") && text.contains("failing 2"), "{text}");
    assert!(text.contains("infra/gateway") && text.contains("off 2"), "{text}");
    screen.keys("]]]]");
    let text = screen.text();
    assert!(text.contains("[repo 1]") && text.contains("of31.lan") && !text.contains("of32.lan"), "{text}");
    screen.take_requests();
    screen.keys("t");
    assert!(
        matches!(screen.take_requests().as_slice(), [Request::EditHook(HookOwner::Any, 31, _)]),
        "identified by its number"
    );
    screen.keys("]");
    assert!(screen.text().contains("ci.example.net") && screen.text().contains("of31.lan"), "{}", screen.text());
}

#[test]
fn tabs_show_their_hooks_and_no_hook_is_lost() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    let tabs = |screen: &TestScreen| screen.text().lines().nth(1).unwrap_or_default().to_owned();
    let urls = ["https://audit.lan/in", "https://lint.lan/r"];
    let before = tabs(&screen);
    // All tabs, and back to the first one.
    screen.keys("]]]]]]]");
    assert_eq!(tabs(&screen), before);
    for url in urls {
        assert!(screen.text().contains(url), "{url}: {}", screen.text());
    }
    // The rows are requested again while a tab leaves some out.
    screen.keys("]r");
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(hooks()));
    screen.keys("[");
    assert_eq!(tabs(&screen), before);
    for url in urls {
        assert!(screen.text().contains(url), "{url}: {}", screen.text());
    }
}

/// Returns some of the hooks as a page.
fn part(which: std::ops::Range<usize>, last: bool) -> Answer {
    let Answer::Hooks(all) = hooks() else { unreachable!() };
    Answer::Hooks(crate::ui::net::Page { items: all.items[which].to_vec(), total: None, last })
}

#[test]
fn hooks_that_arrive_in_parts_are_counted_and_divided_among_the_tabs() {
    let is_list = |request: &Request| matches!(request, Request::Hooks(_));
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3");
    screen.answer_last_of(is_list, Ok(part(0..2, false)));
    assert!(screen.text().contains("[all 2]") && screen.text().contains("ci.example.net"), "{}", screen.text());
    screen.answer_last_of(is_list, Ok(part(2..4, true)));
    assert!(screen.text().contains("[all 4]") && screen.text().contains("lint.lan"), "{}", screen.text());
    // During a refresh the old rows and counts stay until the last part has arrived.
    screen.keys("]r");
    screen.answer_last_of(is_list, Ok(part(1..2, false)));
    assert!(screen.text().contains("[system 3]") && screen.text().contains("audit.lan"), "{}", screen.text());
    screen.answer_last_of(is_list, Ok(part(3..4, true)));
    assert!(screen.text().contains("[system 1]") && !screen.text().contains("audit.lan"), "{}", screen.text());
    screen.keys("]");
    assert!(screen.text().contains("[default 1]") && screen.text().contains("lint.lan"), "{}", screen.text());
}

#[test]
fn no_listed_hook_is_taken_for_a_new_one_while_the_list_is_incomplete() {
    let mut screen = TestScreen::loaded(80, 24);
    screen.keys("3");
    screen.answer(|request| *request == Request::HookEvents, Ok(hook_events()));
    screen.answer_last_of(|request| matches!(request, Request::Hooks(_)), Ok(part(0..2, false)));
    screen.keys("n\t\t");
    screen.send(Msg::Paste("https://ci.example.net/hook".into()));
    screen.press(Key::Ctrl('s'));
    screen.answer_last_of(|request| matches!(request, Request::CreateHook(_)), Err(unreachable()));
    screen.advance(Duration::from_secs(1));
    screen.answer(|request| *request == Request::Status, Ok(status()));
    screen.take_requests();
    screen.press(Key::Ctrl('s'));
    let requests = screen.take_requests();
    let again = |request: &Request| matches!(request, Request::CreateHook(new) if new.unless_above == Some(i64::MAX));
    assert!(requests.iter().any(again), "the ID of an existing hook may be higher: {requests:?}");
}

#[test]
fn another_tab_requests_incomplete_hooks_again() {
    let is_list = |request: &Request| matches!(request, Request::Hooks(_));
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.keys("r");
    screen.answer_last_of(is_list, Ok(part(0..2, false)));
    screen.take_requests();
    screen.keys("]]");
    assert!(screen.take_requests().iter().any(is_list));
    screen.answer_last_of(is_list, Ok(hooks()));
    assert!(screen.text().contains("[default 1]") && screen.text().contains("all 4"), "{}", screen.text());
    assert!(screen.text().contains("lint.lan") && !screen.text().contains("audit.lan"), "{}", screen.text());
}

#[test]
fn the_json_of_hooks_is_requested_when_it_is_copied() {
    let mut screen = TestScreen::loaded(120, 40);
    open_hooks(&mut screen);
    screen.take_requests();
    screen.keys("j");
    screen.keys("y");
    screen.advance(Duration::from_secs(1));
    screen.keys("j");
    let requested = Request::HookJson(vec![(HookOwner::Admin, 12)]);
    assert!(screen.take_requests().contains(&requested));
    screen.answer_last_of(|request| *request == requested, Ok(Answer::HookJson("{\"id\":12}".into())));
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text.0 == "{\"id\":12}");
    assert!(screen.effects.iter().any(copied), "{:?}", screen.effects);
}

#[test]
fn the_json_of_very_many_hooks_is_not_requested() {
    let mut screen = TestScreen::loaded(120, 40);
    screen.keys("3");
    let hook = |id: i64| farrier_common::api::Hook { id, ..api_hooks()[1].clone() };
    screen.answer(|request| matches!(request, Request::Hooks(_)), Ok(listed_hooks((1..=201).map(hook).collect())));
    screen.keys("*y");
    assert!(screen.text().contains("at most 200 hooks at once"), "{}", screen.text());
    screen.advance(Duration::from_secs(1));
    screen.take_requests();
    screen.keys("j");
    let requests = screen.take_requests();
    assert!(!requests.iter().any(|request| matches!(request, Request::HookJson(_))), "{requests:?}");
}
