//! Forms: checks while typing, the requests they send, and protection against sending twice.

use farrier_common::api::CheckBranchFilter;

use super::prelude::*;

fn hook_form(width: u16, height: u16) -> Story {
    let mut story = Story::settled(width, height);
    on_hooks(&mut story);
    story.asked();
    story.keys("n\t\t");
    story.tell(Msg::Paste("https://ci.example.net/hook".into()));
    story
}

fn tabs(story: &mut Story, many: usize) {
    for _ in 0..many {
        story.press(Key::Tab);
    }
}

/// Moves to the button that is `back` buttons before the last one.
fn button(story: &mut Story, back: usize) {
    story.press(Key::Ctrl('a'));
    while !story.text().contains(">Cancel<") {
        story.press(Key::Tab);
    }
    tabs(story, 2 - back);
}

#[test]
fn create_and_test_opens_the_test_delivery_of_the_new_hook() {
    let mut story = hook_form(80, 24);
    button(&mut story, 1);
    assert!(story.text().contains("[>Create + test<]"), "{}", story.text());
    story.asked();
    story.keys("\n");
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(new.test);
    let made = Answer::Tested { hook: 22, delivery: Ok(delivery(14, "pending", 0).guid) };
    story.tell(Msg::Answer(story.app.tickets, Ok(made)));
    assert!(story.app.layers.is_empty());
    assert_eq!(story.app.current, ScreenId::Deliveries);
    story.answer(
        |ask| {
            *ask == Ask::Deliveries {
                status: "",
                hook: Some(22),
                event: String::new(),
                since: String::new(),
                rows: 500,
            }
        },
        Ok(deliveries()),
    );
    story.answer(|ask| matches!(ask, Ask::Delivery(id) if id.ends_with("14")), Ok(detail(delivery(14, "pending", 0))));
    assert!(story.text().contains("connection refused"), "{}", story.text());
}

#[test]
fn a_hook_is_created_even_if_its_test_fails() {
    let mut story = hook_form(80, 24);
    button(&mut story, 1);
    story.keys("\n");
    let made = Answer::Tested { hook: 22, delivery: Err("it is switched off".into()) };
    story.tell(Msg::Answer(story.app.tickets, Ok(made)));
    assert!(story.text().contains("Hook 22 created, but not tested: it is switched off"), "{}", story.text());
    assert_eq!(story.app.current, ScreenId::Hooks);
}

#[test]
fn creating_a_hook_again_after_a_lost_response_checks_for_a_duplicate() {
    let mut story = hook_form(80, 24);
    story.press(Key::Ctrl('s'));
    story.tell(Msg::Answer(story.app.tickets, Err(unreachable())));
    assert_eq!(story.app.layers.len(), 1, "the form stays open");
    story.pass(Duration::from_secs(1));
    story.answer(|ask| *ask == Ask::Status, Ok(status()));
    story.asked();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(new.unless_above, Some(21), "the retry first looks for a hook with a higher number");
}

#[test]
fn a_branch_filter_is_checked_when_its_field_loses_focus() {
    let mut story = hook_form(120, 40);
    tabs(&mut story, 4);
    story.keys("main");
    assert_eq!(story.asked(), []);
    story.press(Key::Tab);
    let filter = CheckBranchFilter { branch_filter: "main".into(), repository: String::new() };
    assert_eq!(story.asked(), [Ask::CheckBranchFilter(Box::new(filter))]);
    let said = Answer::Verdict(true, "matches 2 of the last 5 pushed branches".into());
    story.tell(Msg::Answer(story.app.tickets, Ok(said)));
    assert!(story.text().contains("ok: matches 2 of the last 5"), "{}", story.text());
    story.press(Key::BackTab);
    story.press(Key::Tab);
    assert_eq!(story.asked(), [], "an unchanged filter is not checked again");
    story.press(Key::BackTab);
    story.keys("{");
    story.press(Key::Tab);
    let refused = refusal("checking the branch filter: [branch_filter]: a { has no } (422)");
    story.tell(Msg::Answer(story.app.tickets, Err(refused)));
    assert!(story.text().contains("a { has no }"), "{}", story.text());
    assert_eq!(story.app.notice(), None, "the error is shown at its field and not as a notice");
}

#[test]
fn a_generated_secret_can_be_revealed_and_is_sent_with_the_form() {
    let mut story = hook_form(120, 40);
    tabs(&mut story, 2);
    story.keys("  ");
    assert!(story.text().contains("********") && !story.text().contains("whsec_"), "{}", story.text());
    tabs(&mut story, 2);
    story.keys(" ");
    let text = story.text();
    let shown = text.split('[').find(|part| part.starts_with("whsec_")).unwrap().split(']').next().unwrap().trim();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [.., Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(new.request.config.as_ref().unwrap()["secret"], shown);
}

#[test]
fn an_insecure_url_or_short_secret_shows_a_warning_but_can_be_saved() {
    let mut story = hook_form(120, 40);
    story.press(Key::Ctrl('u'));
    story.tell(Msg::Paste("http://ci.example.net/hook".into()));
    story.press(Key::Tab);
    assert!(story.text().contains("warning: HTTP is not encrypted"), "{}", story.text());
    tabs(&mut story, 1);
    story.keys(" \tshort\t");
    assert!(story.text().contains("shorter than 16 characters"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    assert!(matches!(story.asked().as_slice(), [.., Ask::CreateHook(_)]));
}

#[test]
fn the_check_button_checks_a_migration_without_starting_it() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys("M");
    story.tell(Msg::Paste("https://h/a.git".into()));
    story.keys("\t\t");
    story.press(Key::Ctrl('u'));
    story.keys("lake2\t");
    assert_eq!(story.asked(), [Ask::CheckName("admin/lake2".parse().unwrap())]);
    story.tell(Msg::Answer(story.app.tickets, Ok(Answer::Verdict(true, "admin/lake2 is free".into()))));
    assert!(story.text().contains("ok: admin/lake2 is free"), "{}", story.text());
    button(&mut story, 1);
    assert!(story.text().contains("[>Check<]"), "{}", story.text());
    story.keys("\n");
    assert!(matches!(story.asked().as_slice(), [Ask::CheckMigration(request)] if request.repo_name == "lake2"));
    assert!(story.text().contains(".."), "{}", story.text());
    let said = Answer::Verdict(true, "the source responds: 12 branches".into());
    story.tell(Msg::Answer(story.app.tickets, Ok(said)));
    assert!(story.text().contains("the source responds: 12 branches") && story.app.layers.len() == 1);
    story.keys("\n");
    let refused = refusal("checking https://h/a.git: [CloneAddr]: authentication failed at the source (422)");
    story.tell(Msg::Answer(story.app.tickets, Err(refused)));
    assert!(story.text().contains("! checking https://h/a.git"), "{}", story.text());
    story.press(Key::Ctrl('s'));
    assert!(matches!(story.asked().as_slice(), [.., Ask::MigrateRepository(request)] if request.repo_name == "lake2"));
}

#[test]
fn a_form_keeps_its_input_when_the_daemon_rejects_the_request() {
    let mut story = Story::settled(80, 24);
    story.asked();
    story.keys("n\t\n");
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), []);
    assert!(story.text().contains("! required"), "{}", story.text());
    story.keys("tool");
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateRepository { owner, request }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((owner.as_str(), request.name.as_str(), request.private), ("admin", "tool", None));
    story.press(Key::Ctrl('s'));
    assert_eq!(story.asked(), [], "the form is not submitted twice");
    let ticket = story.app.layers[0].layer.ticket().unwrap();
    story.tell(Msg::Answer(ticket, Err(refusal("creating admin/tool: [Name]: it is taken (409)"))));
    let text = story.text();
    assert!(text.contains("[tool") && text.contains("it is taken"), "{text}");
    story.press(Key::Esc);
    assert!(story.text().contains("discard changes?"));
    story.keys("ny");
    assert_eq!(story.app.layers.len(), 1);
    story.press(Key::Esc);
    story.keys("y");
    assert!(story.app.layers.is_empty());
}

#[test]
fn migration_secrets_are_masked_on_screen_and_in_debug_output() {
    let mut story = Story::settled(80, 24);
    story.keys("M");
    story.tell(Msg::Paste("https://h/a.git\n".into()));
    story.keys("\t\t\t\t\t  \t");
    story.press(Key::Up);
    story.press(Key::Left);
    story.press(Key::Tab);
    story.keys("s3cret");
    let text = story.text();
    assert!(!text.contains("s3cret") && text.contains("********"), "{text}");
    assert!(!format!("{:?}", story.effects).contains("s3cret"));
}

#[test]
fn the_owner_is_chosen_from_the_organizations_of_the_caller() {
    for (open, owner) in [("n", "Owner"), ("M\t", "Owner")] {
        let mut story = Story::settled(80, 24);
        story.keys(open);
        let own = Answer::Organizations(vec!["data".into(), "infra".into()]);
        story.answer(|ask| *ask == Ask::OwnOrganizations, Ok(own));
        assert!(story.text().contains("C-n chooses: admin, data, infra"), "{open}: {}", story.text());
        story.press(Key::Ctrl('n'));
        story.press(Key::Ctrl('n'));
        let text = story.text();
        let line = text.lines().find(|line| line.contains(&format!("> {owner}"))).unwrap();
        assert!(line.contains("[infra "), "{open}: {line}");
        story.press(Key::Ctrl('n'));
        story.keys("x");
        assert!(story.text().contains("[adminx "), "other owners can be typed: {}", story.text());
    }
}

#[test]
fn forms_leave_the_visibility_of_new_repositories_to_the_daemon() {
    for open in ["n", "M"] {
        let mut story = Story::settled(80, 24);
        story.keys(open);
        let text = story.text();
        let line = text.lines().find(|line| line.contains("Visibility")).unwrap();
        assert!(line.contains("(o) default"), "{open}: {line}");
    }
}

#[test]
fn chat_hook_types_show_and_send_their_own_fields() {
    let mut story = Story::settled(120, 40);
    on_hooks(&mut story);
    story.keys("n\t");
    for _ in 0..7 {
        story.press(Key::Right);
    }
    let text = story.text();
    assert!(text.contains("telegram") && text.contains("Chat ID") && !text.contains("URL *"), "{text}");
    story.press(Key::Right);
    let text = story.text();
    assert!(text.contains("Homeserver") && !text.contains("Chat ID"), "{text}");
    story.keys("\thttps://matrix.example.net\t!ops:example.net\tsecret-token");
    assert!(!story.text().contains("secret-token"), "{}", story.text());
    story.asked();
    story.press(Key::Ctrl('s'));
    let asked = story.asked();
    let [Ask::CreateHook(new)] = asked.as_slice() else { panic!("{asked:?} {}", story.text()) };
    let config = new.request.config.clone().unwrap();
    assert_eq!(new.request.r#type, "matrix");
    assert_eq!((config["room_id"].as_str(), config["access_token"].as_str()), ("!ops:example.net", "secret-token"));
    assert!(!config.contains_key("url") && !config.contains_key("chat_id"), "{config:?}");
}
