//! The hooks screen: creating, editing, enabling and deleting hooks, and their last deliveries.

use super::prelude::*;

#[test]
fn a_hook_is_created_from_the_form_with_a_generated_secret() {
    let mut story = Story::settled(80, 24);
    on_hooks(&mut story);
    story.asked();
    story.keys("n\t\t");
    story.tell(Msg::Paste("https//ci.example.net/hook".into()));
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), []);
    let text = story.text();
    assert!(text.contains("did you mean") && text.contains("https://ci.example.net/hook ?"), "{text}");
    story.press(Key::Ctrl('u'));
    story.tell(Msg::Paste("https://ci.example.net/hook".into()));
    story.keys("\t\t  ");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [.., Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    let request = &new.request;
    assert!(!new.test && new.unless_above.is_none());
    let config = request.config.as_ref().unwrap();
    assert_eq!((request.events_exact.as_slice(), request.active), (["push".to_owned()].as_slice(), true));
    assert_eq!((config["url"].as_str(), config["is_system_webhook"].as_str()), ("https://ci.example.net/hook", "true"));
    assert!(config["secret"].starts_with("whsec_"));
    assert!(!story.text().contains("whsec_"));
}

/// Returns the second hook of the list as the daemon returns it, with its version.
fn loaded(change: impl Fn(&mut farrier_common::api::Hook), version: &str) -> Answer {
    let Answer::Hooks(all) = hooks() else { unreachable!() };
    let mut hook = all[1].clone();
    change(&mut hook);
    let tag = Some(farrier_common::client::EntityTag::new(version.parse().unwrap()));
    Answer::LoadedHook(Box::new(farrier_common::client::Tagged { value: hook, tag }))
}

/// Opens the form of hook 12, with the cursor on the URL.
fn editing() -> Story {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("je");
    story.answer(|ask| matches!(ask, Ask::LoadHook(_, 12)), Ok(loaded(|_| {}, "\"1\"")));
    story.press(Key::Tab);
    story.asked();
    story
}

fn saved(story: &mut Story) -> Vec<crate::ui::net::SaveHook> {
    story.press(Key::Ctrl('s'));
    let asked = story.asked().into_iter();
    asked.filter_map(|ask| if let Ask::SaveHook(save) = ask { Some(*save) } else { None }).collect()
}

#[test]
fn an_edit_form_sends_only_changed_fields_and_the_loaded_version() {
    let mut story = editing();
    assert!(saved(&mut story).is_empty() && story.text().contains("Nothing was changed"), "{}", story.text());
    story.keys("/v2");
    let all = saved(&mut story);
    let [save] = all.as_slice() else { panic!("{all:?} {}", story.text()) };
    let config = save.request.config.as_ref().unwrap();
    assert_eq!(config.iter().collect::<Vec<_>>(), [(&"url".to_owned(), &"https://ci.example.net/hook/v2".to_owned())]);
    let only_config = farrier_common::api::EditHook { config: Some(config.clone()), ..Default::default() };
    assert_eq!((save.id, &save.request, save.tag.is_some()), (12, &only_config, true));
}

#[test]
fn an_edit_form_is_not_sent_before_the_current_version_is_loaded() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("je\t/v2");
    assert!(saved(&mut story).is_empty() && story.text().contains("not loaded yet"), "{}", story.text());
    // A change that another client made after the list was loaded is not reverted.
    let other = |hook: &mut farrier_common::api::Hook| hook.branch_filter = "main".into();
    story.press(Key::Ctrl('s'));
    story.answer(|ask| matches!(ask, Ask::LoadHook(_, 12)), Ok(loaded(other, "\"2\"")));
    let all = saved(&mut story);
    let [save] = all.as_slice() else { panic!("{all:?} {}", story.text()) };
    assert_eq!((save.request.branch_filter.as_ref(), story.text().contains("[main")), (None, true));
}

#[test]
fn conflicting_changes_to_a_hook_are_resolved_field_by_field() {
    for (key, sent) in [('o', Some("https://ci.example.net/hook/v2")), ('t', None)] {
        let mut story = editing();
        story.keys("/v2");
        assert_eq!(saved(&mut story).len(), 1);
        let problem = Problem::new(crate::ui::net::ProblemKind::Changed, "changing hook 12: changed meanwhile (412)");
        story.tell(Msg::Answer(story.app.tickets, Err(problem)));
        assert!(story.text().contains("Another client changed the object"), "{}", story.text());
        let theirs = |hook: &mut farrier_common::api::Hook| {
            hook.url = "https://elsewhere.lan/hook".into();
            hook.active = false;
        };
        story.answer(|ask| matches!(ask, Ask::LoadHook(_, 12)), Ok(loaded(theirs, "\"2\"")));
        let text = story.text();
        assert!(text.contains("https://elsewhere.lan/hook") && text.contains("hook/v2"), "both are shown: {text}");
        assert!(saved(&mut story).is_empty(), "the conflict must be resolved first");
        story.press(Key::Ctrl(key));
        let all = saved(&mut story);
        let url = |save: &crate::ui::net::SaveHook| save.request.config.as_ref().map(|config| config["url"].clone());
        assert_eq!(all.first().and_then(url).as_deref(), sent, "{}", story.text());
        assert!(all.iter().all(|save| save.request.active.is_none()), "the other change of that client is kept");
    }
}

#[test]
fn a_generated_secret_is_shown_until_its_dialog_is_closed() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("n\t\t");
    story.tell(Msg::Paste("https://ci.example.net/hook".into()));
    story.keys("\t\t  ");
    story.press(Key::Ctrl('s'));
    let Answer::Hooks(all) = hooks() else { unreachable!() };
    story.answer(|ask| matches!(ask, Ask::CreateHook(_)), Ok(Answer::Hook(Box::new(all[0].clone()))));
    assert!(story.text().contains("Secret of hook 3") && story.text().contains("whsec_"), "{}", story.text());
    story.pass(Duration::from_secs(1));
    story.keys("jtDy");
    let copied = |effect: &Effect| matches!(effect, Effect::Copy(text) if text.starts_with("whsec_"));
    assert!(story.effects.iter().any(copied) && story.text().contains("whsec_"), "{}", story.text());
    story.press(Key::Esc);
    assert!(story.app.layers.is_empty());
}

#[test]
fn turning_off_a_hook_needs_one_key_and_deleting_it_needs_its_number() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.asked();
    story.keys("jt");
    let asked = story.asked();
    let [Ask::EditHook(_, 12, request)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((request.active, &request.config), (Some(false), &None));
    story.keys("D");
    story.pass(Duration::from_millis(300));
    story.asked();
    story.keys("y\n");
    assert_eq!(story.asked(), [], "the number of a hook with deliveries must be typed");
    story.press(Key::Ctrl('u'));
    story.keys("12\t\n");
    assert_eq!(story.asked(), [Ask::DeleteHook(HookOwner::Admin, 12)]);
    story.keys("jjT");
    assert!(story.text().contains("default hooks receive no events themselves"), "{}", story.text());
    story.keys("w");
    assert_eq!(story.app.current, ScreenId::Hooks, "the key has no action on this screen");
}

#[test]
fn turning_off_a_hook_can_be_undone_for_30_seconds_and_marks_for_longer() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("j");
    let switched = |story: &mut Story| {
        let asked = story.asked();
        let [Ask::EditHook(_, 12, request)] = asked.as_slice() else { panic!("{asked:?}") };
        request.active
    };
    story.asked();
    story.keys("t");
    assert_eq!(switched(&mut story), Some(false));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    assert!(story.text().contains("turned off - z undoes"), "{}", story.text());
    story.asked();
    story.keys("z");
    assert_eq!(switched(&mut story), Some(true));
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Done)));
    story.pass(Duration::from_secs(31));
    story.asked();
    story.keys("z");
    assert!(!story.asked().iter().any(|ask| matches!(ask, Ask::EditHook(..))), "the time to undo is over");
    story.keys("2  ");
    story.press(Key::Esc);
    assert!(!story.text().contains("marked"));
    story.keys("z");
    assert!(story.text().contains("marked 2"), "{}", story.text());
}

#[test]
fn the_pane_shows_the_last_deliveries_of_the_hook_under_the_cursor() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    let last = |ask: &Ask| matches!(ask, Ask::LastDeliveries(_));
    story.keys("jj");
    let asked = story.effects.iter().filter(|e| matches!(e, Effect::Ask(_, ask) if last(ask))).count();
    assert_eq!(asked, 1, "only one request is pending while the cursor moves");
    story.answer(last, Ok(Answer::LastDeliveries(vec![delivery(13, "success", 200)])));
    let passed = story.effects.iter().any(|e| matches!(e, Effect::Ask(_, Ask::LastDeliveries(15))));
    assert!(!passed, "no request is sent for a hook that the cursor only passes");
    story.rest();
    story.answer(|ask| *ask == Ask::LastDeliveries(15), Ok(Answer::LastDeliveries(vec![delivery(12, "failed", 500)])));
    let text = story.text();
    assert!(text.contains("Last deliveries") && text.contains("11:58:12  push"), "{text}");
}

#[test]
fn hooks_of_all_owners_are_listed_together_and_filtered_by_scope() {
    let mut story = Story::settled(120, 40);
    story.keys("3");
    assert!(story.asked().contains(&Ask::Hooks(HookOwner::Any)));
    let Answer::Hooks(mut all) = hooks() else { unreachable!() };
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
    story.effects.push(Effect::Ask(story.app.tickets, Ask::Hooks(HookOwner::Any)));
    let ticket = story.app.pending.iter().find(|(_, one)| matches!(one.ask, Ask::Hooks(_))).map(|(ticket, _)| *ticket);
    story.tell(Msg::Answer(ticket.unwrap(), Ok(Answer::Hooks(all))));
    let text = story.text();
    assert!(text.contains("[all 7]") && text.contains("repo 1") && text.contains("failing 2"), "{text}");
    assert!(text.contains("infra/gateway") && text.contains("off 2"), "{text}");
    story.keys("]]]]");
    let text = story.text();
    assert!(text.contains("[repo 1]") && text.contains("of31.lan") && !text.contains("of32.lan"), "{text}");
    story.asked();
    story.keys("t");
    assert!(matches!(story.asked().as_slice(), [Ask::EditHook(HookOwner::Any, 31, _)]), "identified by its number");
    story.keys("]");
    assert!(story.text().contains("ci.example.net") && story.text().contains("of31.lan"), "{}", story.text());
}
